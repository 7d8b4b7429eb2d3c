"""Push-back: a store that is busy gets fewer Select requests, and one that refuses gets none."""

from __future__ import annotations

import threading

#: of the objects for which there is no room, one in so many is asked about anyway, as the store may have recovered
PROBED = 16
#: an answer is slow that takes longer than this, and than an object of its size at this rate
SLOW_S, SLOW_BYTES_PER_S = 10.0, 1e6


class Window:
    """The Select requests that may be under way: half as many after each that fails, one more after each answer."""

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._most, self._room = most, float(most)
        self._taken = self._passed = 0
        self._is_closed = False

    def enter(self) -> bool:
        """Return whether the store may be asked; if so, `leave` follows."""
        with self._lock:
            if self._is_closed:
                return False
            if self._taken >= int(self._room):
                self._passed += 1
                if self._passed % PROBED or self._taken:
                    return False
            self._taken += 1
            return True

    def leave(self, is_calm: bool) -> None:
        """Count an answer. is_calm: it came, and in time."""
        with self._lock:
            self._taken -= 1
            self._room = min(float(self._most), self._room + 1) if is_calm else self._room / 2

    def close(self) -> None:
        """Ask the store nothing more: it does not compute."""
        self._is_closed = True


def is_slow(bytes: int, seconds: float) -> bool:
    """Return whether an answer about an object of so many bytes was slow."""
    return seconds > SLOW_S + bytes / SLOW_BYTES_PER_S
