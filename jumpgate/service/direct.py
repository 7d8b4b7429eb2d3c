"""The service for clients in the same process, without a network between."""

from __future__ import annotations

import asyncio
import os
import queue
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import aclosing
from typing import Any, TypeVar

from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.request import Request
from jumpgate.errors import Cancelled, InternalError, JumpgateError, Unreachable
from jumpgate.service.facade import Call, Service
from jumpgate.service.guard import Client
from jumpgate.stores.credentials import Credentials
from jumpgate.v1 import service_pb2 as pb

T = TypeVar("T")


class Direct:
    """Calls `service`, in the name of a client, on its event loop and from any other thread: a jumpgate.client.calls of
    this process. Raises the typed errors themselves."""

    is_local = True

    def __init__(self, service: Service, loop: asyncio.AbstractEventLoop, client: Client) -> None:
        self._service, self._loop, self._client, self._pid = service, loop, client, os.getpid()

    def run(self, request: Request, *, explain: bool = False, pull: bool = False, trace: str = "") -> Run:
        """Run a request."""
        call = self._call(trace)
        return Run(lambda see: self._begun(_seen(self._service.run(call, request, explain=explain, pull=pull), see)))

    def explain(self, request: Request, *, verbose: bool = False) -> pb.ExplainResponse:
        """Explain how a request would be run."""
        return self._asked(self._service.explain(self._call(), request, verbose=verbose))

    def explain_job(self, job: str, *, verbose: bool = False) -> pb.ExplainResponse:
        """Explain a job that was executed."""
        return self._asked(self._service.explain_job(self._call(), job, verbose=verbose))

    def estimate(self, request: Request, elsewhere: pb.Speeds) -> pb.Estimate:
        """Estimate a request, and the same work elsewhere."""
        explained = self._service.explain(self._call(), request, elsewhere=elsewhere, estimate_only=True)
        return self._asked(explained).estimate

    def prepare(self, request: Request, patience_s: float) -> float:
        """Return how long a job would wait, and prepare it meanwhile."""
        return self._asked(self._service.prepare(self._call(), request, patience_s))

    def look(
        self, paths: Sequence[str], format: str, options: Mapping[str, str], brought: Credentials | None = None
    ) -> Operator:
        """Return a read of files of hosts."""
        return self._asked(self._service.look(self._call(), list(paths), format, dict(options), None, brought))

    def jobs(self, within_s: float | None = None) -> pb.ListResponse:
        """Return the jobs that the service remembers."""
        return self._asked(self._service.jobs(self._call()))

    def devices(self) -> pb.DevicesResponse:
        """Return the hosts and devices of the service."""
        return self._asked(self._service.devices(self._call()))

    def describe(self, job: str) -> pb.JobDescription:
        """Return a job with its record."""
        return self._asked(self._service.describe(self._call(), job))

    def cancel(self, job: str) -> None:
        """End a job."""
        self._asked(self._service.cancel(self._call(), job))

    def close(self) -> None:
        """Leave the service as it is."""

    def _call(self, trace: str = "") -> Call:
        return Call(self._client, f"pid:{self._pid}", trace)

    def _asked(self, verb: Coroutine[Any, Any, T]) -> T:
        running = self._begun(verb)
        try:
            return running.result()
        except CancelledError:
            raise _ended() from None
        except BaseException as error:
            running.cancel()
            if isinstance(error, Exception):
                raise _typed(error) from error
            raise

    def _begun(self, verb: Coroutine[Any, Any, T]) -> Future[T]:
        try:
            if os.getpid() != self._pid:
                raise Unreachable("this session's service is in the process that forked this one: connect again here")
            return asyncio.run_coroutine_threadsafe(verb, self._loop)
        except (Unreachable, RuntimeError) as error:
            verb.close()
            raise (error if isinstance(error, Unreachable) else _ended()) from None  # else the loop is closed


class Run:
    """A run, which begins with `deliver` or when it is iterated, and happens once. `cancel` may come from any
    thread."""

    def __init__(self, begin: Callable[[Callable[[pb.Event], None]], Future[None]]) -> None:
        self._begin = begin
        self._running: Future[None] | None = None

    def deliver(self, see: Callable[[pb.Event], None], end: Callable[[JumpgateError | None], None]) -> None:
        """Have both called by the service's event loop, which they must not hold up: `see` with each event, and at last
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
        """End the job."""
        if self._running is not None:
            self._running.cancel()


async def _seen(events: AsyncGenerator[pb.Event, None], see: Callable[[pb.Event], None]) -> None:
    async with aclosing(events):
        async for event in events:
            see(event)


def _error(running: Future[None]) -> JumpgateError | None:
    """Return why a call that has ended failed."""
    if running.cancelled():
        return Cancelled("the job was cancelled, or its service has ended")
    error = running.exception()
    return None if error is None else _typed(error)


def _typed(error: BaseException) -> JumpgateError:
    return error if isinstance(error, JumpgateError) else InternalError(f"{type(error).__name__}: {error}")


def _ended() -> JumpgateError:
    return Unreachable("the service of this process has ended: connect again")
