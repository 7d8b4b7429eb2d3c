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
from jumpgate.stores import chunks, credentials, providers, settings, web
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
    empty: nothing is. is_proven: its version and the right to read it were asked for a moment ago. owner: who may read
    it thereby (credentials.key)."""

    url: str
    tag: str
    modified: str
    size: int
    chunks: str = ""
    is_proven: bool = False
    authorization: str = ""
    owner: str = ""

    def __repr__(self) -> str:
        return f"Grant({self.size} bytes)"


def number(tag: str, modified: str) -> int:
    """Return a number of 63 bits for a version."""
    return int.from_bytes(hashlib.blake2b((tag or modified).encode(), digest_size=8).digest(), "big") >> 1


#: by who asked, as one may see, and read, what another may not, and by name
_known: OrderedDict[tuple[str, str], tuple[Object, float]] = OrderedDict()
_lent: Mapping[str, Grant] | None = None
_lock = threading.Lock()


def note(objects: Iterable[Object]) -> None:
    """Remember what a listing has told."""
    now, who = time.monotonic(), credentials.key()
    with _lock:
        for found in objects:
            _known[who, found.name] = found, now
            _known.move_to_end((who, found.name))
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
    found, since = _remembered(name)
    if found is not None and time.monotonic() - since < FRESH_S:
        return found
    return ask(name)


def stamp(name: str) -> tuple[int, int]:
    """Return a number under which what is found in an object may be remembered, which is of its version and of who
    reads it; and its size. Raises as `ask`."""
    found = state(name)
    owner = credentials.key() if _lent is None else _granted(name).owner
    return number(f"{owner} {found.tag or found.modified}", "") if owner else found.number, found.size


def _remembered(name: str) -> tuple[Object | None, float]:
    """Return what was told who asks here, and when."""
    with _lock:
        return _known.get((credentials.key(), name), (None, 0.0))


def look(names: Iterable[str]) -> None:
    """Ask about objects side by side, so that `state` knows them for a moment. It raises what fails here."""
    if _lent is not None:
        return
    since = time.monotonic() - FRESH_S
    unknown = [name for name in names if _remembered(name)[1] <= since]
    if len(unknown) < 2:
        return

    def look_at(name: str) -> None:
        with contextlib.suppress(JumpgateError):
            ask(name)

    with ThreadPoolExecutor(min(len(unknown), ASKED_AT_ONCE)) as pool:
        list(pool.map(credentials.carried(look_at), unknown))


def known(name: str) -> Object | None:
    """Return an object as it was last known, without a request; None if nothing is known."""
    return _remembered(name)[0]


def forget(name: str) -> None:
    """Ask the store again the next time."""
    with _lock:
        _known.pop((credentials.key(), name), None)


def grant(name: str) -> Grant:
    """Return what reads the object now, or as it was last known. Raises as `ask`."""
    if _lent is not None:
        return _granted(name)
    found, since = _remembered(name)
    is_recent = found is None or time.monotonic() - since < PROVEN_S
    found = found or ask(name)
    url, authorization = _readable(name, found.url)
    kept = chunks.folder_of(url, found.tag, found.size)
    is_proven = found.is_proven and is_recent
    return Grant(url, found.tag, found.modified, found.size, kept, is_proven, authorization, owner=credentials.key())


def version(name: str, tag: str, size: int) -> Grant:
    """Return what reads an object in a version that was noted before, without asking whether it still is."""
    url, authorization = _readable(name)
    return Grant(url, tag, "", size, authorization=authorization)


def _readable(name: str, redirected: str = "") -> tuple[str, str]:
    """Return a URL that reads an object for a while, and what the header Authorization must say. Raises Forbidden."""
    if scheme(name):
        url, authorization = providers.of(name).signed(name, _grant_s(name))
    else:
        url, authorization = quote(redirected or name, safe=SAFE), ""
    settings.check_secure(url, settings.store_of(name), name)
    return url, authorization


def _grant_s(name: str) -> int:
    """Return for how long an object is granted: what is brought may expire."""
    secret = credentials.of(name)
    return GRANT_S if secret is None else secret.seconds(GRANT_S)


def kept_in(name: str) -> str:
    """Return the folder for what is kept of the object as it was last known, as its grant has it. Raises as `ask`."""
    if not chunks.bytes_max():
        return ""
    found = known(name) or ask(name)
    url = providers.of(name).address(name) if scheme(name) else quote(found.url or name, safe=SAFE)
    return chunks.folder_of(url, found.tag, found.size)


def selecting(name: str) -> str:
    """Return the URL by which S3 Select is asked about an object, without credentials, for a while. It is a secret."""
    url = S3.signed_select(name, _grant_s(name))
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
