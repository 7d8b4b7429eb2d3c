"""The control plane's framing: one JSON object a line, requests with an id, answers with the same id."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

from jumpgate import errors
from jumpgate.errors import JumpgateError, Unreachable

LINE_BYTES_MAX = 256 << 20
#: how long a caller waits, after its peer is gone, for the reason
EXPLANATION_WAIT_S = 1.0


class Caller:
    """The calling end of a connection: numbered requests, answers awaited by number, in any order.

    `lost` makes the error that pending and later calls raise once the connection has ended; `on_event` receives
    messages that answer no request.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                 lost: Callable[[], JumpgateError], on_event: Callable[[dict[str, Any]], None] | None = None,
                 explained: asyncio.Future[Any] | None = None) -> None:
        """`explained`: done when the reason of an end is known; `lost` is asked after it, or after a second."""
        self._explained = explained
        self._reader, self._writer = reader, writer
        self._lost, self._on_event = lost, on_event
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.closed = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._read())

    async def call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """One request and its answer. Raises the typed error that was answered, or the one that `lost` makes."""
        if self.closed.done():
            raise self._lost()
        id = next(self._ids)
        answer = asyncio.get_running_loop().create_future()
        self._pending[id] = answer
        self._writer.write(encode({"id": id, "verb": verb, "arguments": arguments}))
        try:
            return await answer
        finally:
            self._pending.pop(id, None)

    async def _read(self) -> None:
        try:
            while line := await self._reader.readline():
                message = json.loads(line)
                answer = self._pending.get(message.get("id", 0))
                if answer is None:
                    if self._on_event is not None and "event" in message:
                        self._on_event(message)
                elif not answer.done():
                    if "error" in message:
                        answer.set_exception(errors.from_dict(message["error"]))
                    else:
                        answer.set_result(message.get("ok", {}))
        except (OSError, ValueError, asyncio.LimitOverrunError):
            pass
        finally:
            if self._explained is not None:
                await asyncio.wait([self._explained], timeout=EXPLANATION_WAIT_S)
            self._end()

    def _end(self) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(self._lost())
                answer.exception()  # its caller may be gone
        self._writer.close()

    async def close(self) -> None:
        self._writer.close()
        await self.closed


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def failure(id: int, error: BaseException) -> bytes:
    """The answer that carries an error; what is not a JumpgateError is a mistake of ours."""
    if not isinstance(error, JumpgateError):
        error = errors.InternalError(f"{type(error).__name__}: {error}")
    return encode({"id": id, "error": error.to_dict()})


async def connect(host: str, port: int, timeout_s: float = 10.0) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        return await asyncio.wait_for(asyncio.open_connection(host, port, limit=LINE_BYTES_MAX), timeout_s)
    except (OSError, TimeoutError) as error:
        raise Unreachable(f"cannot reach {host}:{port}: {error or 'timed out'}", host=f"{host}:{port}") from error
