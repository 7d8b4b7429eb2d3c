"""A small HTTP server for operators' programs: pages that are made when they are asked for, and only read.

A connection has one request and a few seconds in all. Of too many the oldest gives way to the next: silent connections
keep nobody out.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import h11

from jumpgate.errors import ConfigError
from jumpgate.ntf.addresses import joined

CONNECTIONS_MAX = 64
#: for a request to arrive and its answer to be taken
SECONDS_MAX = 10.0
HEAD_BYTES_MAX = 16 << 10
#: for TLS to begin on a connection
HANDSHAKE_S = 5.0


@dataclass(frozen=True)
class Page:
    """An answer, as it is sent."""

    body: bytes
    type: str = "text/plain; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Asked:
    """A request: its path without what follows `?`, who sends it, and its headers by their names in lower case."""

    path: str
    peer: str
    headers: dict[str, str]


#: makes the page that is asked for; None: there is none
Answer = Callable[[Asked], Awaitable[Page | None]]


class Web:
    """Serves pages at `address`, until `close`."""

    def __init__(self, answer: Answer) -> None:
        self._make = answer
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}  # the oldest first
        self._server: asyncio.Server | None = None
        self.address, self._scheme = "", "http"

    @staticmethod
    async def start(host: str, port: int, answer: Answer, encryption: ssl.SSLContext | None = None) -> Web:
        """Raises ConfigError where the port is taken."""
        self = Web(answer)
        handshake: dict[str, Any] = {} if encryption is None else {"ssl_handshake_timeout": HANDSHAKE_S}
        try:
            self._server = await asyncio.start_server(self._serve, host, port, ssl=encryption, **handshake)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {joined(host, port)}: {error.strerror}; choose another port (0 takes a free one)",
                host=host,
                port=port,
            ) from None
        self._scheme = "http" if encryption is None else "https"
        self.address = joined(host, self._server.sockets[0].getsockname()[1])
        return self

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.address}/"

    async def close(self) -> None:
        """Ends every connection."""
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        await asyncio.gather(*(task for task in self._open.values() if task is not None), return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= CONNECTIONS_MAX:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.transport.abort()
        self._open[writer] = asyncio.current_task()
        try:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(SECONDS_MAX):
                    await self._answer(reader, writer)
                    writer.close()
                    await writer.wait_closed()
        finally:
            self._open.pop(writer, None)
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Reads a request, and writes its page; nothing to who hangs up first."""
        connection = h11.Connection(h11.SERVER, HEAD_BYTES_MAX)
        event: object = h11.NEED_DATA
        try:
            while event is h11.NEED_DATA:
                connection.receive_data(await reader.read(HEAD_BYTES_MAX))
                event = connection.next_event()
        except h11.RemoteProtocolError as error:
            page, has_body = Page(f"{error}\n".encode(), status=error.error_status_hint), True
        else:
            if not isinstance(event, h11.Request):
                return
            peer = writer.get_extra_info("peername")
            page, has_body = await self._page(event, joined(*peer[:2])), event.method != b"HEAD"
        headers = [
            ("content-type", page.type),
            ("content-length", str(len(page.body))),
            ("connection", "close"),
            *page.headers,
        ]
        writer.write(connection.send(h11.Response(status_code=page.status, headers=headers)) or b"")
        if has_body:
            writer.write(connection.send(h11.Data(data=page.body)) or b"")
        writer.write(connection.send(h11.EndOfMessage()) or b"")
        await writer.drain()

    async def _page(self, request: h11.Request, peer: str) -> Page:
        if request.method not in (b"GET", b"HEAD"):
            return Page(b"pages are only read here: GET\n", status=405)
        path = request.target.partition(b"?")[0].decode("ascii", "replace")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
        try:
            return await self._make(Asked(path, peer, headers)) or Page(b"there is no such page\n", status=404)
        except Exception as error:  # the next one may be made
            return Page(f"{type(error).__name__} while the page was made\n".encode(), status=500)
