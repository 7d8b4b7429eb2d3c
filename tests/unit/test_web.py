"""The small HTTP server of operators' pages: what it answers, and that nobody keeps others out."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from jumpgate.errors import ConfigError
from jumpgate.service import web
from jumpgate.service.page import encryption
from jumpgate.service.web import Asked, Page, Web
from jumpgate.trust import certificates
from jumpgate.trust.tls import Identity


async def make(asked: Asked) -> Page | None:
    if asked.path == "/fails":
        raise ZeroDivisionError("a secret")
    if asked.path != "/a":
        return None
    return Page(f"for {asked.headers['accept']}".encode(), "text/html", headers=(("x-more", asked.peer),))


def serving(body: Callable[[Web], Awaitable[None]]) -> None:
    async def run() -> None:
        served = await Web.start("127.0.0.1", 0, make)
        try:
            await asyncio.wait_for(body(served), 60)
        finally:
            await served.close()

    asyncio.run(run())


async def connected(served: Web) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = served.address.rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def answer(served: Web, request: str) -> tuple[str, str]:
    """The head and the body of what is answered."""
    reader, writer = await connected(served)
    writer.write(request.encode())
    found = (await reader.read()).decode()
    writer.close()
    head, _, body = found.partition("\r\n\r\n")
    return head, body


def asked(path: str, method: str = "GET") -> str:
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\n\r\n"


def test_a_page_is_made_for_who_asks() -> None:
    async def body(served: Web) -> None:
        head, text = await answer(served, asked("/a?b=1"))
        assert head.startswith("HTTP/1.1 200") and "content-type: text/html" in head.lower()
        assert text == "for text/plain" and "x-more: 127.0.0.1:" in head.lower()
        head, text = await answer(served, asked("/a", "HEAD"))
        assert head.startswith("HTTP/1.1 200") and "content-length: 14" in head.lower() and not text

    serving(body)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (asked("/b"), 404),
        (asked("/../a"), 404),
        (asked("/a", "POST"), 405),
        (asked("/fails"), 500),
        ("\0\1\2\r\n\r\n", 400),
        ("GET /a HTTP/1.1\r\n\r\n", 400),
        (f"GET /{'a' * web.HEAD_BYTES_MAX * 2} HTTP/1.1\r\n", 431),
    ],
)
def test_what_is_not_a_page_has_a_status(request_: str, status: int) -> None:
    async def body(served: Web) -> None:
        head, text = await answer(served, request_)
        assert head.startswith(f"HTTP/1.1 {status}") and "secret" not in text
        assert (await answer(served, asked("/a")))[0].startswith("HTTP/1.1 200")

    serving(body)


def test_silent_connections_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "CONNECTIONS_MAX", 3)

    async def body(served: Web) -> None:
        silent = [await connected(served) for _ in range(5)]
        assert (await answer(served, asked("/a")))[1]
        for reader, _ in silent[:3]:
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
        for _, writer in silent:
            writer.transport.abort()

    serving(body)


def test_a_connection_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "SECONDS_MAX", 0.01)

    async def body(served: Web) -> None:
        reader, writer = await connected(served)
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()

    serving(body)


def test_pages_over_tls(tmp_path: Path) -> None:
    """For who has no certificate of this authority, but knows it."""
    certificates.init(tmp_path)
    folder = certificates.issue(tmp_path, "here", ["127.0.0.1"])

    async def run() -> None:
        served = await Web.start("127.0.0.1", 0, make, encryption(Identity.load(folder)))
        assert served.url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        host, _, port = served.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), ssl=trusted)
        writer.write(asked("/a").encode())
        assert (await reader.read()).endswith(b"for text/plain")
        writer.close()
        await served.close()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_taken_port_says_so() -> None:
    async def body(served: Web) -> None:
        with pytest.raises(ConfigError, match="choose another port"):
            await Web.start("127.0.0.1", int(served.address.rpartition(":")[2]), make)

    serving(body)
