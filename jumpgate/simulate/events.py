"""Discrete events: a clock, and servers that serve who asks one after the other."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable

Then = Callable[[], None]


class Clock:
    """Calls what is due, in the order of its time; `now` is in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events = 0
        self._serial = itertools.count()
        self._due: list[tuple[float, int, Then]] = []

    def after(self, seconds: float, then: Then) -> None:
        heapq.heappush(self._due, (self.now + seconds, next(self._serial), then))

    def run(self) -> None:
        """Until nothing is due any more."""
        while self._due:
            self.now, _, then = heapq.heappop(self._due)
            self.events += 1
            then()


class Server:
    """Serves `units` at a time, in the order in which they ask. `busy_s`: of all its units."""

    def __init__(self, clock: Clock, units: int = 1) -> None:
        self._clock, self._free = clock, units
        self._waiting: deque[tuple[float, Then]] = deque()
        self.busy_s = 0.0

    def ask(self, seconds: float, then: Then) -> None:
        """`then` is called once it was served for so long."""
        if self._free:
            self._free -= 1
            self._serve(seconds, then)
        else:
            self._waiting.append((seconds, then))

    def _serve(self, seconds: float, then: Then) -> None:
        self.busy_s += seconds

        def done() -> None:
            if self._waiting:
                self._serve(*self._waiting.popleft())
            else:
                self._free += 1
            then()

        self._clock.after(seconds, done)
