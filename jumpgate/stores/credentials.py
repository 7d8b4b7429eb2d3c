"""Credentials of stores that a request brings. They are used for that request alone, in place of this process's own.

They are those of a context (contextvars): whoever plans or runs a request does it within `used`. What is remembered of
objects is remembered by `key` too, so that one's rights never serve another. Nothing here shows a secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from jumpgate.errors import Forbidden, InvalidDataflow
from jumpgate.stores import settings
from jumpgate.stores.names import bucket_and_key, canonical, scheme

#: stores of one request, and characters of each of their texts
STORES_MAX, CHARACTERS_MAX = 32, 8192
#: scheme → the texts that read its stores, and those that may be added
NEEDED: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "s3": (("access_key", "secret_key"), ("session_token",)),
    "gs": (("token",), ()),
    "abfss": (("token",), ()),
    "hdfs": (("token",), ()),
}
#: they stand in headers and URLs
_TEXT = re.compile(r"[\x21-\x7e]*")
#: the end of the year 9999
_EXPIRES_MAX_S = 253_402_300_799
#: of this process: keys tell nobody elsewhere anything
_PROCESS = secrets.token_bytes(32)
_WORDS = {str: "text", float: "number"}
P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Secret:
    """A key or token of the objects whose names begin with `url`, by whole parts. token: of Google an access token
    of OAuth, of Azure a SAS token, of HDFS a delegation token. expires_s: since the epoch; 0: unknown."""

    url: str
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    expires_s: float = 0.0

    def has(self, name: str) -> bool:
        """Return whether it is for the name."""
        return name == self.url or name.startswith(f"{self.url}/")

    def seconds(self, most: int) -> int:
        """Return for how long it may be used from now on, at most so long."""
        return min(most, max(1, int(self.expires_s - time.time()))) if self.expires_s else most


class Credentials:
    """The secrets of one request, for different urls. is_alone: nothing else reads a store, not even where they have
    none for it. `key` is the same for the same secrets, as long as this process lives."""

    def __init__(self, brought: Iterable[Secret] = (), is_alone: bool = False) -> None:
        self.secrets = tuple(sorted(brought, key=lambda secret: (-len(secret.url), secret.url)))
        self.is_alone = is_alone
        self.key = _digest(self.secrets, is_alone)
        self._made: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return f"Credentials({', '.join(secret.url for secret in self.secrets)})"

    def alone(self) -> Credentials:
        """Return the same, beside which nothing else reads a store."""
        return Credentials(self.secrets, is_alone=True)

    def made(self, of: Hashable, make: Callable[[], T]) -> T:
        """Return what was made with them before, else make it. It ends with them."""
        if of not in self._made:
            self._made[of] = make()
        found: T = self._made[of]
        return found


_current: ContextVar[Credentials | None] = ContextVar("jumpgate_credentials", default=None)


@contextlib.contextmanager
def used(brought: Credentials | None) -> Iterator[None]:
    """Read and write stores with these in the block; None: with this process's own."""
    token = _current.set(brought)
    try:
        yield
    finally:
        _current.reset(token)


def carried(function: Callable[[P], T]) -> Callable[[P], T]:
    """Return the function for other threads, where it uses what is used here."""
    brought = _current.get()

    def run(argument: P) -> T:
        with used(brought):
            return function(argument)

    return run


def current() -> Credentials | None:
    """Return what is used here; None: this process's own."""
    return _current.get()


def key_of(brought: Credentials | None) -> str:
    """Return a text that differs for different rights, and tells none of them; empty for this process's own."""
    return "" if brought is None else brought.key


def key() -> str:
    """Return that of the rights that are used here."""
    return key_of(_current.get())


def of(name: str) -> Secret | None:
    """Return what reads an object here; None: this process's own credentials. Raises Forbidden where these may not be
    used, where the store takes none of clients, and for a secret that has expired."""
    brought, policy = _current.get(), settings.store_of(name).credentials
    found = None if brought is None else next((secret for secret in brought.secrets if secret.has(name)), None)
    if found is None:
        if policy == "require" or (brought is not None and brought.is_alone):
            raise Forbidden(
                f"'{name}': the request brings no credentials of {_store(name)}, and those of the service are not used "
                f"for it; {_way(name)}",
                file=name,
            )
        return None
    if policy == "never":
        raise Forbidden(
            f"'{name}': {found.url} is read with the service's own credentials alone, as credentials = \"never\" in "
            "its [[store]] of jumpgate.toml says; bring none",
            file=name,
        )
    if found.expires_s and found.expires_s <= time.time():
        at = datetime.fromtimestamp(found.expires_s, UTC).isoformat(timespec="seconds")
        raise Forbidden(
            f"'{name}': the request's credentials of {found.url} expired at {at}; bring new ones", file=name
        )
    return found


def checked(brought: Iterable[Secret]) -> Credentials | None:
    """Return the credentials of a request; None if it brings none. Raises InvalidDataflow, which shows no secret."""
    found = tuple(brought)
    if not found:
        return None
    if len(found) > STORES_MAX:
        raise InvalidDataflow(f"credentials of {len(found)} stores are too many: a request brings {STORES_MAX} at most")
    named = tuple(map(_checked, found))
    urls = [secret.url for secret in named]
    if twice := next((url for url in urls if urls.count(url) > 1), ""):
        raise InvalidDataflow(f"credentials: there are two of {twice}")
    return Credentials(named)


def parse(given: Mapping[str, Mapping[str, Any]]) -> Credentials | None:
    """Return the credentials that a client's program gives, by url. Raises InvalidDataflow, which shows no secret.

    >>> parse({"s3a://lake": {"access_key": "a", "secret_key": "s"}})
    Credentials(s3://lake)
    """
    for url, values in given.items():
        types = {known.name: float if known.name == "expires_s" else str for known in fields(Secret)[1:]}
        for name, value in values.items():
            if name not in types:
                raise InvalidDataflow(f"credentials of {url}: there is no {name}; there are {', '.join(types)}")
            if not isinstance(value, int | float if types[name] is float else str):
                raise InvalidDataflow(f"credentials of {url}: {name} is no {_WORDS[types[name]]}")
    return checked(Secret(url, **values) for url, values in given.items())


def _checked(secret: Secret) -> Secret:
    """Return a secret under the one name of its store."""
    kind = scheme(secret.url)
    if kind not in NEEDED:
        raise InvalidDataflow(
            f"credentials of {secret.url[:100]!r}: they are of s3://BUCKET, gs://BUCKET, "
            "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net or hdfs://NAMENODE"
        )
    url = canonical(secret.url).rstrip("/")
    needed, more = NEEDED[kind]
    for name in ("access_key", "secret_key", "session_token", "token"):
        text = getattr(secret, name)
        if len(text) > CHARACTERS_MAX or not _TEXT.fullmatch(text):
            raise InvalidDataflow(
                f"credentials of {url}: {name} has a blank, a character that is not ASCII, or more than "
                f"{CHARACTERS_MAX} characters"
            )
        if (name in needed and not text) or (text and name not in (*needed, *more)):
            told = f"is not of {kind}://" if text else "is missing"
            raise InvalidDataflow(f"credentials of {url}: {name} {told}; there are {', '.join((*needed, *more))}")
    if not 0 <= secret.expires_s <= _EXPIRES_MAX_S:
        raise InvalidDataflow(f"credentials of {url}: expires_s is {secret.expires_s!r}, no seconds since the epoch")
    return replace(secret, url=url)


def _digest(brought: Iterable[Secret], is_alone: bool) -> str:
    found = hashlib.blake2b(b"alone" * is_alone, key=_PROCESS, digest_size=20)
    for secret in brought:
        for text in (secret.url, secret.access_key, secret.secret_key, secret.session_token, secret.token):
            found.update(len(text).to_bytes(4, "big") + text.encode())
    return found.hexdigest()


def _store(name: str) -> str:
    return f"{scheme(name)}://{bucket_and_key(name)[0]}"


def _way(name: str) -> str:
    return f"bring {' and '.join(NEEDED[scheme(name)][0])} of it (docs/object-stores.md, Credentials of a request)"
