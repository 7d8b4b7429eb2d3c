"""Push-back: a store that is busy gets fewer Select requests, and one that refuses gets none."""

from __future__ import annotations

import threading

#: objects that an instance asks about at the same time, the most
AT_ONCE = 8
#: of the objects for which there is no room, one in so many is asked about anyway, as the store may have recovered
PROBED = 16
#: an answer is slow that takes longer than this, and so many times what ranges would take; one that is quicker than
#: QUICK_S is not, whatever they take
SLOW_S, SLOW_TIMES, QUICK_S = 1.0, 2.0, 0.1


class Window:
    """The Select requests that may be under way: half as many after each that fails, one more after each answer."""

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._most, self._room = most, float(most)
        self._taken = self._passed = 0
        self._is_closed = False

    def enter(self) -> int:
        """Return how many requests there are with this one, and `leave` follows; 0 if the store may not be asked."""
        with self._lock:
            if self._is_closed:
                return 0
            if self._taken >= int(self._room):
                self._passed += 1
                if self._passed % PROBED or self._taken:
                    return 0
            self._taken += 1
            return self._taken

    def leave(self, is_calm: bool | None) -> None:
        """Count an answer. is_calm: it came, and in time; None: that is hard to say."""
        with self._lock:
            self._taken -= 1
            if is_calm is not None:
                self._room = min(float(self._most), self._room + 1) if is_calm else self._room / 2

    @property
    def taken(self) -> int:
        """Return how many requests are under way."""
        return self._taken

    def close(self) -> None:
        """Ask the store nothing more: it does not compute."""
        self._is_closed = True


def is_calm(seconds: float, at_once: int, ranged_s: float) -> bool | None:
    """Return whether an answer came in time, None if it is hard to say. at_once: requests that shared the store, so
    that it took its part of the seconds for this one; ranged_s: what its link takes to read the object by ranges."""
    if seconds < QUICK_S or seconds / at_once <= SLOW_TIMES * ranged_s:
        return True
    return None if seconds < SLOW_S else False
