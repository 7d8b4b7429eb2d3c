"""Web servers by urllib3: what an object is, and its bytes by range."""

from __future__ import annotations

import functools
import random
import time
from typing import TYPE_CHECKING, Any

from jumpgate import extras
from jumpgate.errors import FileChanged, FileUnreadable, Forbidden, JumpgateError
from jumpgate.stores import latency, settings
from jumpgate.stores.names import scheme

if TYPE_CHECKING:
    from jumpgate.stores.objects import Grant

#: attempts of one request, and seconds between the first two, which double
ATTEMPTS, PAUSE_S = 6, 0.05
CONNECT_S, READ_S = 10.0, 30.0
#: requests to a server at once
CONNECTIONS = 8
#: of an answer whose time is that of the request
SMALL_BYTES = 256 << 10
#: answers after which a server may be asked again
BUSY = (429, 500, 502, 503, 504)


def head(name: str) -> tuple[int, str, str, str]:
    """Return size, ETag, Last-Modified, and the URL where redirections lead. Raises FileUnreadable, Forbidden."""
    store = settings.store_of(name)
    settings.check_secure(name, store, name)
    answer = _asked("HEAD", name, name, {})
    final = answer.geturl() or name
    final = final if "://" in final else name
    settings.check_secure(final, store, name)
    if answer.status != 200:
        raise _explained(name, answer.status)
    size = answer.headers.get("Content-Length")
    if size is None or answer.headers.get("Content-Encoding", "identity") != "identity":
        raise FileUnreadable(f"cannot read '{name}': its server does not say how many bytes it has", file=name)
    return int(size), answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", ""), final


def ranged(name: str, grant: Grant, start: int, size: int) -> bytes:
    """Return these bytes of an object. Raises FileChanged for another version of it, FileUnreadable, Forbidden."""
    if scheme(name) == "hdfs":
        from jumpgate.stores import hdfs

        return hdfs.ranged(name, grant, start, size)
    headers = {"Range": f"bytes={start}-{start + size - 1}"}
    if grant.tag and not grant.tag.startswith("W/"):
        headers["If-Match"] = grant.tag
    if grant.authorization:
        headers["Authorization"] = grant.authorization
    begun = time.monotonic()
    answer = _asked("GET", grant.url, name, headers)
    if size <= SMALL_BYTES:
        latency.note(name, time.monotonic() - begun)
    sent, range_ = answer.headers.get("Content-Range", ""), f"bytes {start}-{start + size - 1}"
    is_other_size = sent.startswith(f"{range_}/") and sent != f"{range_}/{grant.size}"
    is_other = answer.status in (200, 206) and (is_other_size or not _is_version(answer.headers, grant))
    if answer.status == 412 or is_other:
        raise FileChanged(f"file '{name}' was replaced while a query read it: run the query again", file=name)
    whole = answer.status == 200 and (start, size) == (0, grant.size)
    if answer.status != 206 and not whole:
        raise _explained(name, answer.status)
    if not whole and sent != f"{range_}/{grant.size}":
        raise FileUnreadable(f"cannot read '{name}': its server sends another range than was asked for", file=name)
    return bytes(answer.data)


def _is_version(headers: Any, grant: Grant) -> bool:
    if grant.tag:
        return bool(headers.get("ETag", "") == grant.tag)
    return bool(headers.get("Last-Modified", "") == grant.modified)


def _explained(name: str, status: int) -> JumpgateError:
    if status == 404:
        return FileUnreadable(f"cannot read '{name}': there is no such object", file=name, missing="true")
    if status in (401, 403):
        return Forbidden(f"'{name}': its server refuses to show it ({status})", file=name)
    if status in (200, 416):
        return FileUnreadable(f"cannot read '{name}': its server does not serve ranges of bytes", file=name)
    return FileUnreadable(f"cannot read '{name}': its server answers {status}", file=name)


def _asked(method: str, url: str, name: str, headers: dict[str, str]) -> Any:
    """Return an answer with its whole body, after pauses where the server is busy or breaks off."""
    with extras.explained():
        import urllib3

    pause, reason = PAUSE_S, ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause *= 2
        try:
            answer = pool().request(
                method, url, headers={"Accept-Encoding": "identity", **headers}, decode_content=False
            )
        except urllib3.exceptions.HTTPError as error:
            check_certificate(name, error)
            reason = type(error).__name__
            continue
        if answer.status not in BUSY:
            return answer
        reason = str(answer.status)
    raise FileUnreadable(
        f"cannot read '{name}': its server did not answer {ATTEMPTS} requests (last: {reason})", file=name
    )


def check_certificate(name: str, error: Exception) -> None:
    """Raise FileUnreadable if a request failed by the server's certificate, which no other request changes."""
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        raise FileUnreadable(
            f"cannot read '{name}': the certificate of its server is not accepted: {_reason(error)}", file=name
        ) from None


def _reason(error: Exception) -> str:
    """Return what OpenSSL says of a certificate."""
    return str(error).partition("certificate verify failed: ")[2].partition(" (_ssl.c")[0] or "it is wrong"


@functools.cache
def pool() -> Any:
    """Return the connections of this process."""
    import urllib3

    timeout = urllib3.Timeout(connect=CONNECT_S, read=READ_S)
    retries = urllib3.Retry(total=5, connect=0, read=0, status=0, other=0, redirect=5, raise_on_redirect=False)
    return urllib3.PoolManager(timeout=timeout, retries=retries, maxsize=CONNECTIONS)
