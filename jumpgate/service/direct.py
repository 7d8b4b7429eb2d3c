"""RPCs of a service in the same process, without a network between: what a stub of gRPC has, and typed errors."""

from __future__ import annotations

import asyncio
import json
import os
import queue
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any, NoReturn, TypeVar

from jumpgate.errors import Cancelled, InternalError, JumpgateError, Unreachable, from_dict
from jumpgate.service.server import ERROR_KEY, Server
from jumpgate.v1 import service_pb2 as pb

T = TypeVar("T")
Metadata = Sequence[tuple[str, str]]


class Context:
    """A call as its handler sees it; `write` takes the messages of a stream."""

    def __init__(self, metadata: Metadata, write: Callable[[Any], None] | None = None) -> None:
        self._metadata, self._write = metadata, write

    def invocation_metadata(self) -> Metadata:
        return self._metadata

    def peer(self) -> str:
        return f"pid:{os.getpid()}"

    async def write(self, message: Any) -> None:
        assert self._write is not None
        self._write(message)

    async def abort(self, code: object, details: str, trailing_metadata: Metadata) -> NoReturn:
        raise from_dict(json.loads(dict(trailing_metadata)[ERROR_KEY]))


class Stub:
    """Calls the handlers of `server` on its event loop, from any other thread. Raises the typed errors themselves."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._pid = loop, os.getpid()
        self.Cancel = self._unary(server.Cancel)
        self.Describe = self._unary(server.Describe)
        self.List = self._unary(server.List)
        self.Look = self._unary(server.Look)
        self.Explain = self._unary(server.Explain)
        self.Prepare = self._unary(server.Prepare)
        self._run = server.Run

    def _unary(self, handler: Callable[[Any, Any], Awaitable[T]]) -> Callable[..., T]:
        def call(message: Any, metadata: Metadata = ()) -> T:
            running = self._begin(handler, message, Context(metadata))
            try:
                return running.result()
            except CancelledError:
                raise _ended() from None
            except BaseException:
                running.cancel()
                raise

        return call

    def Run(self, message: pb.RunRequest, metadata: Metadata = ()) -> Events:  # noqa: N802
        return Events(lambda write: self._begin(self._run, message, Context(metadata, write)))

    def _begin(self, handler: Callable[[Any, Any], Awaitable[T]], message: Any, context: Context) -> Future[T]:
        own = type(message)()  # handlers change their requests
        own.CopyFrom(message)
        if os.getpid() != self._pid:
            raise Unreachable("this session's service is in the process that forked this one: connect again here")

        async def run() -> T:
            return await handler(own, context)

        coroutine: Coroutine[Any, Any, T] = run()
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:  # the loop is closed
            coroutine.close()
            raise _ended() from None


class Events:
    """A Run, which begins with `deliver` or when it is iterated, and happens once. `cancel` may come from any
    thread."""

    def __init__(self, begin: Callable[[Callable[[pb.Event], None]], Future[None]]) -> None:
        self._begin = begin
        self._running: Future[None] | None = None

    def deliver(self, see: Callable[[pb.Event], None], end: Callable[[JumpgateError | None], None]) -> None:
        """Has both called by the service's event loop, which they must not hold up: `see` with each event, and at last
        `end` with the error."""
        try:
            self._running = self._begin(see)
        except JumpgateError as error:
            end(error)
        else:
            self._running.add_done_callback(lambda running: end(_error(running)))

    def __iter__(self) -> Iterator[pb.Event]:
        arrived: queue.SimpleQueue[pb.Event | None] = queue.SimpleQueue()
        self._running = self._begin(arrived.put)
        self._running.add_done_callback(lambda _: arrived.put(None))
        while (event := arrived.get()) is not None:
            yield event
        if error := _error(self._running):
            raise error

    def cancel(self) -> None:
        if self._running is not None:
            self._running.cancel()


def _error(running: Future[None]) -> JumpgateError | None:
    """Why a call that has ended failed."""
    if running.cancelled():
        return Cancelled("the job was cancelled, or its service has ended")
    error = running.exception()
    if error is None or isinstance(error, JumpgateError):
        return error
    return InternalError(f"{type(error).__name__}: {error}")


def _ended() -> JumpgateError:
    return Unreachable("the service of this process has ended: connect again")
