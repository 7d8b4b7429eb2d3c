"""Bounds waits for DuckDB: `close`, a deadline or Ctrl-C ends what they compute in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from jumpgate.errors import Cancelled, TimedOut

#: seconds between two interrupts of work that does not end: DuckDB forgets one that comes before its statement begins
INTERRUPT_S = 0.01
_CLOSED = "the query was closed"

T = TypeVar("T")


class Stop:
    """Ends the work of one query. Thread-safe; `timeout_s` is for each run of it, 0: no deadline."""

    def __init__(self, timeout_s: float) -> None:
        self.closed = False
        self.timeout_s = timeout_s
        self._end: float | None = None
        self._work: tuple[Future[object], Callable[[], object]] | None = None
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Starts the time of a run."""
        self._end = time.monotonic() + self.timeout_s if self.timeout_s else None

    def close(self) -> None:
        """Ends the work that is waited for, and all to come; may be called twice."""
        with self._lock:
            self.closed = True
            if self._work is not None:
                _end(*self._work)

    @property
    def is_waited_for(self) -> bool:
        """Return whether work runs that it would end."""
        return self._work is not None

    def left_s(self) -> float | None:
        """Seconds until the deadline; None if there is none. Raises Cancelled and TimedOut."""
        if self.closed:
            raise Cancelled(_CLOSED)
        left = None if self._end is None else self._end - time.monotonic()
        if left is not None and left <= 0:
            raise self._timed_out()
        return left

    def result(self, work: Future[T], interrupt: Callable[[], object]) -> T:
        """The value or error of `work`, which `interrupt` asks to end. Raises Cancelled and TimedOut."""
        with self._lock:
            self._work = work, interrupt  # type: ignore[assignment]
        try:
            found = work.result(self.left_s())
        except TimeoutError:
            if work.done():
                raise
            raise self._timed_out() from None
        except CancelledError:
            raise Cancelled(_CLOSED) from None
        finally:
            with self._lock:
                self._work = None
            _end(work, interrupt)
        return found

    def _timed_out(self) -> TimedOut:
        return TimedOut(f"the query did not end within {self.timeout_s:g} s")


@contextmanager
def thread(interrupt: Callable[[], object]) -> Iterator[ThreadPoolExecutor]:
    """A thread that computes in DuckDB. `interrupt` asks its work to end, which does not outlive the block, whatever
    ends that: Ctrl-C may come while work is handed over, before anybody waits for it."""
    pool = ThreadPoolExecutor(1, "jumpgate-duckdb")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in pool._threads:
            worker.join(INTERRUPT_S)
            while worker.is_alive():
                interrupt()
                worker.join(INTERRUPT_S)


def _end(work: Future[T], interrupt: Callable[[], object]) -> None:
    while not work.done():
        interrupt()
        wait([work], INTERRUPT_S)
