"""A statement that runs: it ends when its client goes away, cancels it, or has waited long enough."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import duckdb

from jumpgate.dataflow.request import Request
from jumpgate.errors import Cancelled, JumpgateError, TimedOut
from jumpgate.service.direct import Direct, Run

#: between two looks at whether the client is there
WATCH_S = 0.1
_thread = threading.local()


class Running:
    """A statement on a cursor, whose queries and jobs `end` stops from any thread."""

    def __init__(self, interrupt: Callable[[], None], timeout_ms: int) -> None:
        self.reason: JumpgateError | None = None
        self._interrupt, self._timeout_ms = interrupt, timeout_ms
        self._end_time = time.monotonic() + timeout_ms / 1000 if timeout_ms else None
        self._jobs: list[Callable[[], None]] = []

    def end(self, reason: JumpgateError) -> None:
        """Stop what runs; the first reason is the one that is told. May be called often."""
        self.reason = self.reason or reason
        with suppress(duckdb.Error):  # it has ended by itself
            self._interrupt()
        for cancel in tuple(self._jobs):
            cancel()

    def check(self) -> None:
        """Raises the reason for which it was ended."""
        if self.reason is not None:
            raise self.reason

    @contextmanager
    def watched(self, is_gone: Callable[[], bool]) -> Iterator[None]:
        """Run what is inside for the client; in place of its errors raise the reason, if it was ended."""
        done = threading.Event()
        watch = threading.Thread(target=self._watch, args=(is_gone, done), name="jumpgate-flight-watch", daemon=True)
        watch.start()
        outer, _thread.running = getattr(_thread, "running", None), self
        try:
            self.check()
            yield
            self.check()
        except (duckdb.Error, OSError, ValueError, JumpgateError) as error:
            if self.reason is not None and error is not self.reason:
                raise self.reason from error
            raise
        finally:
            _thread.running = outer
            done.set()
            watch.join()

    def _watch(self, is_gone: Callable[[], bool], done: threading.Event) -> None:
        while not done.wait(WATCH_S):
            if is_gone():
                self.end(Cancelled("the client has gone away, or has cancelled the call"))
            elif self._end_time is not None and time.monotonic() > self._end_time:
                self.end(
                    TimedOut(
                        f"the statement took longer than {self._timeout_ms} ms: raise the session option timeout_ms"
                    )
                )
            elif self.reason is not None:
                self.end(self.reason)  # a query or a job that began meanwhile

    def started(self, cancel: Callable[[], None]) -> None:
        """Note a job of the statement."""
        self.check()
        self._jobs.append(cancel)


class OwnService:
    """The service of this process as a session of jumpgate.client has it, for one client."""

    def __init__(self, calls: StatementCalls, address: str) -> None:
        self.calls, self.address = calls, address

    def close(self) -> None:
        """Leave the service running: it is not the session's."""


class StatementCalls(Direct):
    """A client's calls of the service. Jobs belong to the statement whose thread starts them."""

    def run(self, request: Request, *, explain: bool = False, pull: bool = False, trace: str = "") -> Run:
        """Run a request."""
        events = super().run(request, explain=explain, pull=pull, trace=trace)
        running: Running | None = getattr(_thread, "running", None)
        if running is not None:
            running.started(events.cancel)
        return events
