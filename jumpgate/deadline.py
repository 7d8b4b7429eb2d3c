"""The time by which an answer is wanted. It travels with a request through all tasks and threads that work on it.

Whoever waits bounds that by `left_s`; whoever computes for long calls `check` now and then.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar

from jumpgate.errors import TimedOut

#: the end, and the seconds that there were until it
_current: ContextVar[tuple[float, float] | None] = ContextVar("deadline", default=None)


@contextlib.contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Limit what is done within to so many seconds, and to the time that was left before; None or 0 adds no limit."""
    known = _current.get()
    new = (time.monotonic() + seconds, seconds) if seconds else known
    token = _current.set(new if known is None or new is None or new[0] < known[0] else known)
    try:
        yield
    finally:
        _current.reset(token)


def left_s() -> float | None:
    """Seconds until the deadline, 0 once it has passed; None if there is none."""
    known = _current.get()
    return None if known is None else max(0.0, known[0] - time.monotonic())


def check(doing: str) -> None:
    """Raises TimedOut once the deadline has passed."""
    if left_s() == 0.0:
        raise _passed(doing)


@contextlib.asynccontextmanager
async def bounded(doing: str) -> AsyncIterator[None]:
    """Cancels what is awaited within it at the deadline, and raises TimedOut then."""
    import asyncio  # 0.03 s, for services alone

    try:
        async with asyncio.timeout(left_s()) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise _passed(doing) from None


def _passed(doing: str) -> TimedOut:
    known = _current.get()
    assert known is not None
    return TimedOut(f"the request did not end within {known[1]:g} s: it was still {doing}")
