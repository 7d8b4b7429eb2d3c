"""Having sum or count greater than c: a count-min sketch; tuples of keys whose estimate exceeds c pass.

Values are unsigned and counters saturate at 32 bits, so an estimate is never too small and no group that qualifies is
lost. Two passes: the first only adds and forwards nothing; in the second, which adds nothing, all tuples of a key
pass or none. One pass: it adds and forwards the tuples that come when their key's estimate exceeds c, so that the
receiver learns candidate keys. For max and min, filter and distinct do. Deterministic.
"""

from __future__ import annotations

from jumpgate.p4.programs.crc import hash_key

WORD = 0xFFFFFFFF


class CountMin:
    """d rows of w counters; sum adds the value, count adds 1."""

    def __init__(self, threshold: int, width: int = 1024, depth: int = 3) -> None:
        self.threshold, self.mask = threshold, width - 1
        self.counters = [[0] * width for _ in range(depth)]

    def add(self, key: int, value: int) -> None:
        """The first of two passes."""
        for which, row in enumerate(self.counters):
            at = hash_key(which, key) & self.mask
            row[at] = min(WORD, row[at] + value)

    def look_up(self, key: int) -> bool:
        """The second of two passes: True if the tuple is pruned."""
        return min(row[hash_key(which, key) & self.mask] for which, row in enumerate(self.counters)) <= self.threshold

    def process(self, key: int, value: int) -> bool:
        """One pass: True if the tuple is pruned."""
        self.add(key, value)
        return self.look_up(key)
