"""Having sum or count greater than c: a count-min sketch; tuples of keys whose estimate exceeds c pass.

Values are unsigned and counters saturate at 32 bits, so an estimate is never too small and no group that qualifies is
lost. What passes goes through distinct (in the same program): the receiver learns candidate keys, and a second pass
over their tuples only computes the exact answer. For max and min, filter and distinct do. Deterministic.
"""

from __future__ import annotations

from jumpgate.p4.programs.crc import hash_key

WORD = 0xFFFFFFFF


class CountMin:
    """d rows of w counters; sum adds the value, count adds 1."""

    def __init__(self, threshold: int, width: int = 1024, depth: int = 3) -> None:
        self.threshold, self.mask = threshold, width - 1
        self.counters = [[0] * width for _ in range(depth)]

    def process(self, key: int, value: int) -> bool:
        """True if the tuple is pruned."""
        estimate = WORD
        for which, row in enumerate(self.counters):
            at = hash_key(which, key) & self.mask
            row[at] = min(WORD, row[at] + value)
            estimate = min(estimate, row[at])
        return estimate <= self.threshold
