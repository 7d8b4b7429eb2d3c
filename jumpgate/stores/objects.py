"""Versions of objects, and how they may be read: asked of its store once, and known for a moment."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from urllib.parse import quote

from jumpgate.errors import FileUnreadable, JumpgateError
from jumpgate.stores import chunks, providers, settings, web
from jumpgate.stores.names import canonical, scheme
from jumpgate.stores.s3 import PROVIDER as S3

#: seconds for which an answer holds: a planning step asks a store once for each object
FRESH_S = 1.0
#: objects that are asked about side by side
ASKED_AT_ONCE = 16
#: the most objects that are remembered
KNOWN_MAX = 200_000
#: characters of a URL that stay as they are; others, which no request may have, are encoded
SAFE = ":/?#[]@!$&'()*+,;=%~"
#: seconds for which a signed URL may be used, unless the credentials expire before
GRANT_S = 12 * 3600
#: seconds for which the store's word that an object may be read is believed for what is on a disk
PROVEN_S = 60.0


@dataclass(frozen=True)
class Object:
    """An object's version: `tag` is its ETag (of HDFS: what hdfs.py makes), `modified` the Last-Modified of a server
    without one. `url`: where a server's redirections lead. is_proven: the store was asked for this object alone, which
    takes the right to read it, as a listing, and a status of HDFS, do not."""

    name: str
    size: int
    tag: str
    modified: str = ""
    url: str = ""
    is_proven: bool = False

    @property
    def number(self) -> int:
        return number(self.tag, self.modified)


@dataclass(frozen=True)
class Grant:
    """A way to read an object for a while, without finding credentials. The URL is a secret, and so is what the header
    Authorization must say (empty: it is not sent). `chunks`: the folder for what is kept of it on this machine's disk;
    empty: nothing is. is_proven: its version and the right to read it were asked for a moment ago."""

    url: str
    tag: str
    modified: str
    size: int
    chunks: str = ""
    is_proven: bool = False
    authorization: str = ""

    def __repr__(self) -> str:
        return f"Grant({self.size} bytes)"


def number(tag: str, modified: str) -> int:
    """Return a number of 63 bits for a version."""
    return int.from_bytes(hashlib.blake2b((tag or modified).encode(), digest_size=8).digest(), "big") >> 1


_known: OrderedDict[str, tuple[Object, float]] = OrderedDict()
_lent: Mapping[str, Grant] | None = None
_lock = threading.Lock()


def note(objects: Iterable[Object]) -> None:
    """Remember what a listing has told."""
    now = time.monotonic()
    with _lock:
        for found in objects:
            _known[found.name] = found, now
            _known.move_to_end(found.name)
        while len(_known) > KNOWN_MAX:
            _known.popitem(last=False)


def ask(name: str) -> Object:
    """Ask the store. Raises FileUnreadable, Forbidden, InvalidDataflow, NotInstalled."""
    name = canonical(name)
    found = Object(name, *(providers.of(name).head(name) if scheme(name) else web.head(name)))
    found = replace(found, is_proven=scheme(name) != "hdfs")
    if not found.tag and not found.modified:
        raise FileUnreadable(
            f"cannot read '{name}': its server sends neither ETag nor Last-Modified, so that a change while a query "
            "reads it would not be seen; copy the file",
            file=name,
        )
    note([found])
    return found


def state(name: str) -> Object:
    """Return what is known of an object, which is a moment old at most. Raises as `ask`."""
    if _lent is not None:
        grant = _granted(name)
        return Object(name, grant.size, grant.tag, grant.modified)
    with _lock:
        found, since = _known.get(name, (None, 0.0))
    if found is not None and time.monotonic() - since < FRESH_S:
        return found
    return ask(name)


def look(names: Iterable[str]) -> None:
    """Ask about objects side by side, so that `state` knows them for a moment. It raises what fails here."""
    if _lent is not None:
        return
    since = time.monotonic() - FRESH_S
    with _lock:
        unknown = [name for name in names if name not in _known or _known[name][1] <= since]
    if len(unknown) < 2:
        return

    def look_at(name: str) -> None:
        with contextlib.suppress(JumpgateError):
            ask(name)

    with ThreadPoolExecutor(min(len(unknown), ASKED_AT_ONCE)) as pool:
        list(pool.map(look_at, unknown))


def known(name: str) -> Object | None:
    """Return an object as it was last known, without a request; None if nothing is known."""
    with _lock:
        return _known.get(name, (None, 0.0))[0]


def forget(name: str) -> None:
    """Ask the store again the next time."""
    with _lock:
        _known.pop(name, None)


def grant(name: str) -> Grant:
    """Return what reads the object now, or as it was last known. Raises as `ask`."""
    if _lent is not None:
        return _granted(name)
    with _lock:
        found, since = _known.get(name, (None, 0.0))
    is_recent = found is None or time.monotonic() - since < PROVEN_S
    found = found or ask(name)
    url, authorization = _readable(name, found.url)
    kept = chunks.folder_of(url, found.tag, found.size)
    return Grant(url, found.tag, found.modified, found.size, kept, found.is_proven and is_recent, authorization)


def version(name: str, tag: str, size: int) -> Grant:
    """Return what reads an object in a version that was noted before, without asking whether it still is."""
    url, authorization = _readable(name)
    return Grant(url, tag, "", size, authorization=authorization)


def _readable(name: str, redirected: str = "") -> tuple[str, str]:
    """Return a URL that reads an object for a while, and what the header Authorization must say. Raises Forbidden."""
    if scheme(name):
        url, authorization = providers.of(name).signed(name, GRANT_S)
    else:
        url, authorization = quote(redirected or name, safe=SAFE), ""
    settings.check_secure(url, settings.store_of(name), name)
    return url, authorization


def kept_in(name: str) -> str:
    """Return the folder for what is kept of the object as it was last known, as its grant has it. Raises as `ask`."""
    if not chunks.bytes_max():
        return ""
    found = known(name) or ask(name)
    url = providers.of(name).address(name) if scheme(name) else quote(found.url or name, safe=SAFE)
    return chunks.folder_of(url, found.tag, found.size)


def selecting(name: str) -> str:
    """Return the URL by which S3 Select is asked about an object, without credentials, for a while. It is a secret."""
    url = S3.signed_select(name, GRANT_S)
    settings.check_secure(url, settings.store_of(name), name)
    return url


def lend(grants: Mapping[str, Grant]) -> None:
    """Make these all that this process, which has no credentials, knows of objects."""
    global _lent
    _lent = grants


def _granted(name: str) -> Grant:
    assert _lent is not None
    if name not in _lent:
        raise FileUnreadable(f"cannot read '{name}': this process was not told how", file=name)
    return _lent[name]
