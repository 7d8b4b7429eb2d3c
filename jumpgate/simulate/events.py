"""Discrete events: a clock, and servers that serve requests in order."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable

Then = Callable[[], None]


class Clock:
    """Calls events in the order of their time; `now` is in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events = 0
        self._serial = itertools.count()
        self._due: list[tuple[float, int, Then]] = []

    def after(self, seconds: float, then: Then) -> None:
        heapq.heappush(self._due, (self.now + seconds, next(self._serial), then))

    def run(self) -> None:
        """Run until no event is left."""
        while self._due:
            self.now, _, then = heapq.heappop(self._due)
            self.events += 1
            then()


class Server:
    """Serves `units` requests at a time, in the order of arrival. `busy_s` is summed over its units."""

    def __init__(self, clock: Clock, units: int = 1) -> None:
        self._clock, self._free = clock, units
        self._waiting: deque[tuple[float, Then]] = deque()
        self.busy_s = 0.0

    def ask(self, seconds: float, then: Then) -> None:
        """Call `then` after a service of `seconds`."""
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
