"""Files of HDFS by WebHDFS and HttpFS, asked of the active one of its namenodes: statuses, listings, and ranges.

`hdfs://namenode:8020/path` and `hdfs://nameservice/path` are read from the `endpoint` of their [[store]], several with
commas between for a pair that stands in for each other; absent: port 9870 of the namenode. Answers to OPEN do not say
which version they are of, so the file's status is asked after each.
"""

from __future__ import annotations

import getpass
import itertools
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

from jumpgate import extras
from jumpgate.errors import FileChanged, FileUnreadable, Forbidden, InvalidDataflow, JumpgateError
from jumpgate.stores import credentials, latency, settings, web
from jumpgate.stores.names import bucket_and_key

if TYPE_CHECKING:
    from jumpgate.stores.objects import Grant

#: begins the version of a file: its id (0 where HttpFS names none) and its time of modification
TAG = "hdfs:"
#: of a namenode's HTTP server
PORT = 9870
#: folders that are listed side by side
LISTED_AT_ONCE = 8
#: times that a namenode is asked for another datanode, and seconds for which one that was lost is passed over
LED_MAX, LOST_S = 16, 60.0
#: exceptions of namenodes that are not the active one, and of those that a later request may not meet
INACTIVE = ("StandbyException", "ObserverRetryOnActiveException")
TRANSIENT = ("SafeModeException", "RetriableException", "ServerTooBusyException")
_AUTHORITY = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?")
T = TypeVar("T")


class Hdfs:
    """The provider of `hdfs://`, which writes nothing."""

    def head(self, name: str) -> tuple[int, str]:
        status = _tried(name, _urls(name), lambda url: _status(name, url))
        if status["type"] != "FILE":
            raise _missing(name)
        return _version(status)

    def content(self, name: str, most: int) -> bytes:
        size = min(most, self.head(name)[0])
        return _tried(name, _urls(name), lambda url: _opened(name, url, 0, size)) if size else b""

    def below(self, name: str, prefix: str, most: int = 0) -> Iterator[tuple[str, int, str]]:
        found = self._walk(name, prefix)
        return itertools.islice(found, most) if most else found

    def _walk(self, name: str, prefix: str) -> Iterator[tuple[str, int, str]]:
        base, start = f"hdfs://{bucket_and_key(name)[0]}/", prefix.rpartition("/")[2]
        folders = [prefix[: len(prefix) - len(start)]]
        ask = credentials.carried(_listed)
        with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:
            while folders:
                deeper = []
                for folder, entries in zip(folders, pool.map(ask, [base + of for of in folders]), strict=True):
                    for entry in entries:
                        if entry["pathSuffix"].startswith(start):
                            path = folder + entry["pathSuffix"]
                            if entry["type"] == "FILE":
                                yield path, *_version(entry)
                            elif entry["type"] == "DIRECTORY":
                                deeper.append(f"{path}/")
                folders, start = deeper, ""

    def address(self, name: str) -> str:
        return _addresses(name)[0]

    def signed(self, name: str, seconds: int) -> tuple[str, str]:
        """The URL is one for each namenode, with a space between, to which a request is appended."""
        return " ".join(_urls(name)), ""

    def access(self, name: str) -> dict[str, str]:
        raise InvalidDataflow(
            f"read: '{name}' is on HDFS, which the package deltalake does not read; query it by Spark with Jumpgate, "
            "or copy it to an object store",
            operator="read",
        )

    def begin(self, name: str) -> str:
        raise unwritten(name)

    def send(self, name: str, upload: str, number: int, part: bytes) -> str:
        raise unwritten(name)

    def complete(self, name: str, upload: str, tags: Sequence[str]) -> None:
        raise unwritten(name)

    def abort(self, name: str, upload: str) -> None:
        raise unwritten(name)

    def remove(self, name: str) -> None:
        raise unwritten(name)

    def forget(self) -> None:
        _turns.clear()


PROVIDER = Hdfs()
#: authority of names → which of its namenodes was the active one, counted on
_turns: dict[str, int] = {}
#: hosts and ports of datanodes → when they were lost
_lost: dict[str, float] = {}


def blocks(name: str) -> list[list[str]]:
    """Return for each block of a file, in their order, the names and addresses of the hosts that have it. Raises what a
    namenode answers, also one that does not tell."""
    found = _tried(name, _urls(name), lambda url: _parsed(name, _get(name, f"{url}op=GETFILEBLOCKLOCATIONS")))
    try:
        told = found["BlockLocations"]["BlockLocation"]
        return [[*of["hosts"], *(text.rpartition(":")[0] for text in of["names"])] for of in told]
    except (KeyError, TypeError, AttributeError):
        raise FileUnreadable(f"'{name}': its namenode does not say where its blocks are", file=name) from None


def ranged(name: str, grant: Grant, start: int, size: int) -> bytes:
    """Return these bytes of a file. Raises FileChanged for another version of it, FileUnreadable, Forbidden."""

    def read(url: str) -> bytes:
        refusal, data = None, b""
        begun = time.monotonic()
        try:
            data = _opened(name, url, start, size)
        except FileUnreadable as error:  # an offset behind the end, among others
            refusal = error
        if size <= web.SMALL_BYTES:
            latency.note(name, time.monotonic() - begun)
        if _version(_status(name, url)) != (grant.size, grant.tag):
            raise FileChanged(f"file '{name}' was replaced while a query read it: run the query again", file=name)
        if refusal is not None:
            raise refusal
        if len(data) != size:
            raise _Again("another number of bytes than was asked for")
        return data

    return _tried(name, grant.url.split(" "), read)


class _Again(Exception):
    """A request that failed and may be made again; is_inactive: to another namenode."""

    def __init__(self, reason: str, is_inactive: bool = False) -> None:
        super().__init__(reason)
        self.is_inactive = is_inactive


def _tried(name: str, urls: Sequence[str], request: Callable[[str], T]) -> T:
    """Return what a request to the active namenode gives, after pauses where it is to be made again."""
    authority, reason = bucket_and_key(name)[0], ""
    for attempt in range(web.ATTEMPTS + len(urls) - 1):
        if attempt >= len(urls):
            time.sleep(web.PAUSE_S * 2 ** (attempt - len(urls)) * random.uniform(0.5, 1.0))
        turn = _turns.get(authority, 0)
        try:
            return request(urls[turn % len(urls)])
        except _Again as error:
            reason = str(error)
            if error.is_inactive:
                _turns[authority] = turn + 1
    way_out = {
        "StandbyException": "; name the active namenode too, in endpoint of its [[store]]",
        "SafeModeException": "; it is in safe mode, in which it cannot say where the blocks are",
    }.get(reason, "")
    raise FileUnreadable(f"cannot read '{name}': no namenode serves it (last: {reason}){way_out}", file=name)


def _get(name: str, url: str, is_namenode: bool = True) -> Any:
    """Return an answer with its whole body. Raises _Again, and what a refusal means."""
    with extras.explained():
        import urllib3

    try:
        answer = web.pool().request(
            "GET", url, headers={"Accept-Encoding": "identity"}, decode_content=False, redirect=False
        )
    except urllib3.exceptions.HTTPError as error:
        web.check_certificate(name, error)
        raise _Again(type(error).__name__, is_namenode) from None
    if answer.status in (200, 307):
        return answer
    exception = _exception(answer.data)
    if exception in INACTIVE:
        raise _Again(exception, True)
    if exception in TRANSIENT or answer.status in web.BUSY:
        raise _Again(exception or str(answer.status))
    raise _explained(name, answer.status, exception, answer.headers.get("WWW-Authenticate", ""))


def _status(name: str, url: str) -> dict[str, Any]:
    found: dict[str, Any] = _parsed(name, _get(name, f"{url}op=GETFILESTATUS"))["FileStatus"]
    return found


def _listed(folder: str) -> list[dict[str, Any]]:
    """Return the statuses of what is in a folder; none if it is no folder, or gone."""
    try:
        found = _tried(
            folder, _urls(folder.rstrip("/")), lambda url: _parsed(folder, _get(folder, f"{url}op=LISTSTATUS"))
        )
    except FileUnreadable as error:
        if error.fields.get("missing"):
            return []
        raise
    return [entry for entry in found["FileStatuses"]["FileStatus"] if entry["pathSuffix"]]  # a file lists itself as ""


def _opened(name: str, url: str, start: int, size: int) -> bytes:
    opening = f"{url}op=OPEN&offset={start}&length={size}"
    answer = _get(name, opening)
    if answer.status != 307:
        return bytes(answer.data)
    for _ in range(LED_MAX):  # not to one that was lost a moment ago: namenodes take minutes to notice
        to = _led(name, url, answer.headers.get("Location", ""))
        if time.monotonic() - _lost.get(urlsplit(to).netloc, -LOST_S) >= LOST_S:
            break
        answer = _get(name, opening)
    try:
        return bytes(_get(name, to, is_namenode=False).data)
    except _Again:
        _lost[urlsplit(to).netloc] = time.monotonic()
        raise


def _led(name: str, url: str, to: str) -> str:
    """Return where a namenode leads a request, if it may be followed: to the same file by WebHDFS of another host. From
    another machine it is never led to what listens on this one or its link alone, nor without leave over an open
    network (ncas/runtime/src/objects/webhdfs.cpp has the same rules)."""
    asked, led = urlsplit(url), urlsplit(to)
    is_file = (asked.scheme, unquote(asked.path)) == (led.scheme, unquote(led.path))
    if is_file and _is_near(asked.hostname or ""):
        settings.check_secure(to, settings.store_of(name), name)
        return to
    if is_file and not _is_near(led.hostname or ""):
        return to
    raise FileUnreadable(
        f"cannot read '{name}': its namenode leads to {led.scheme}://{led.hostname}, which may not be followed",
        file=name,
    )


def _is_near(host: str) -> bool:
    """Return whether this machine, or its link, alone reaches a host."""
    try:
        found = ip_address(host)
    except ValueError:
        return host == "localhost"
    found = getattr(found, "ipv4_mapped", None) or found
    return found.is_loopback or found.is_link_local or found.is_unspecified


def _urls(name: str) -> list[str]:
    """Return the URL of a file at each of its namenodes, to which a request is appended. They are secrets."""
    who = _who(name)
    return [f"{address}?{who}" for address in _addresses(name)]


def _addresses(name: str) -> list[str]:
    """Return where a file is at each of its namenodes. Raises InvalidDataflow, Forbidden."""
    (authority, key), store = bucket_and_key(name), settings.store_of(name)
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise InvalidDataflow(
            f"read: '{name}': '{authority}' is no namenode; write hdfs://NAMENODE:8020/PATH or hdfs://NAMESERVICE/PATH",
            operator="read",
        )
    endpoints = [text.strip().rstrip("/") for text in store.endpoint.split(",") if text.strip()]
    endpoints = endpoints or [f"http://{found[1]}:{PORT}"]
    for endpoint in endpoints:
        settings.check_secure(endpoint, store, name)
    return [f"{endpoint}/webhdfs/v1/{quote(key)}" for endpoint in endpoints]


def _who(name: str) -> str:
    """Return the parameters that say who reads."""
    store = settings.store_of(name)
    if (brought := credentials.of(name)) is not None:
        return f"delegation={quote(brought.token, safe='')}&"
    if store.anonymous:
        return ""
    if not store.credentials_file:
        user = store.user or os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        return f"user.name={quote(user, safe='')}&"
    try:
        with open(store.credentials_file, encoding="ascii") as file:
            return f"delegation={quote(file.read().strip(), safe='')}&"
    except (OSError, ValueError):
        raise FileUnreadable(f"cannot read '{name}': its credentials_file cannot be read", file=name) from None


def _version(status: dict[str, Any]) -> tuple[int, str]:
    return int(status["length"]), f"{TAG}{status.get('fileId', 0)}:{status['modificationTime']}"


def _parsed(name: str, answer: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(answer.data)
    except ValueError:
        raise FileUnreadable(f"cannot read '{name}': what answers at its endpoint is no WebHDFS", file=name) from None
    return found


def _exception(body: bytes) -> str:
    """Return the class of a RemoteException; its message may hold what is not for everybody.

    >>> _exception(b'{"RemoteException": {"exception": "StandbyException"}}'), _exception(b"<html>")
    ('StandbyException', '')
    """
    try:
        return str(json.loads(body)["RemoteException"]["exception"])
    except (ValueError, KeyError, TypeError):
        return ""


def _missing(name: str) -> FileUnreadable:
    return FileUnreadable(f"cannot read '{name}': there is no such object", file=name, missing="true")


def unwritten(name: str) -> InvalidDataflow:
    """Return the error of who writes."""
    return InvalidDataflow(f"write: '{name}' is on HDFS, which is only read; write to a path or an object store")


def _explained(name: str, status: int, exception: str, challenge: str) -> JumpgateError:
    if status == 401 and challenge.lower().startswith("negotiate"):
        return Forbidden(
            f"'{name}': its namenode asks for Kerberos (SPNEGO), which is not spoken here; write credentials_file in a "
            "[[store]] of jumpgate.toml, a file with a delegation token: the urlString of GETDELEGATIONTOKEN",
            file=name,
        )
    if status == 404:
        return _missing(name)
    if exception in ("AccessControlException", "AuthorizationException"):
        return Forbidden(
            f"'{name}': HDFS refuses its user ({exception}); user or credentials_file in a [[store]] of jumpgate.toml "
            "says who reads",
            file=name,
        )
    if status == 401 or exception in ("InvalidToken", "SecurityException", "AuthenticationException"):
        return Forbidden(f"'{name}': the store refuses these credentials ({exception or status})", file=name)
    return FileUnreadable(f"cannot read '{name}': its store answers {status} ({exception or 'no reason'})", file=name)
