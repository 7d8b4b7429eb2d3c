"""A small HTTP server for operators' programs: pages that are made when they are asked for, and only read.

A connection has one request and a few seconds in all. Of too many the oldest gives way to the next: silent connections
keep nobody out.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import h11

from jumpgate.errors import ConfigError
from jumpgate.ntf.addresses import joined

CONNECTIONS_MAX = 64
#: for a request to arrive and its answer to be taken
SECONDS_MAX = 10.0
HEAD_BYTES_MAX = 16 << 10


@dataclass(frozen=True)
class Page:
    """An answer, as it is sent."""

    body: bytes
    type: str = "text/plain; charset=utf-8"
    status: int = 200


#: makes a page for who accepts these types (the header of that name)
Maker = Callable[[str], Page]


class Web:
    """Serves pages by their paths at `address`, until `close`."""

    def __init__(self, pages: Mapping[str, Maker]) -> None:
        self._pages = pages
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}  # the oldest first
        self._server: asyncio.Server | None = None
        self.address = ""

    @staticmethod
    async def start(host: str, port: int, pages: Mapping[str, Maker]) -> Web:
        """Raises ConfigError where the port is taken."""
        self = Web(pages)
        try:
            self._server = await asyncio.start_server(self._serve, host, port)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {joined(host, port)}: {error.strerror}; choose another port (0 takes a free one)",
                host=host,
                port=port,
            ) from None
        self.address = joined(host, self._server.sockets[0].getsockname()[1])
        return self

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
            page, has_body = self._page(event), event.method != b"HEAD"
        headers = [("content-type", page.type), ("content-length", str(len(page.body))), ("connection", "close")]
        writer.write(connection.send(h11.Response(status_code=page.status, headers=headers)) or b"")
        if has_body:
            writer.write(connection.send(h11.Data(data=page.body)) or b"")
        writer.write(connection.send(h11.EndOfMessage()) or b"")
        await writer.drain()

    def _page(self, request: h11.Request) -> Page:
        if request.method not in (b"GET", b"HEAD"):
            return Page(b"pages are only read here: GET\n", status=405)
        path = request.target.partition(b"?")[0].decode("ascii", "replace")
        if path not in self._pages:
            return Page(f"there are: {', '.join(self._pages)}\n".encode(), status=404)
        accepted = b", ".join(value for name, value in request.headers if name == b"accept")
        try:
            return self._pages[path](accepted.decode("latin-1"))
        except Exception as error:  # the next one may be made
            return Page(f"{type(error).__name__} while the page was made\n".encode(), status=500)
