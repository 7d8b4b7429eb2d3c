"""Skyline of two dimensions, larger being better: w stored points of high score; what one of them dominates is pruned.

Scores: the sum of both coordinates, the approximate product, that is the sum of their logarithms, or the share of
points that a point dominates (`share_table`); the last two differ in the entries of the program's tables only. A
point takes the place of a stored one whose score is lower, which moves on to the next; what moves on is dropped as soon
as a point of higher score is at least as good in both dimensions, and so is the arriving one: it is pruned. The score
grows with either coordinate, so nothing that is dominated by a point replaces it. Equal scores never prune: equal
points both stay. Deterministic.

The paper lets stored points that others dominate move on; they take the place of better ones (of a Zipf pageRank and
7 points, the sum prunes 0.975 instead of 0.994, the product 0.985 instead of 0.993).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

#: beta: 2^26 log2 of a 32-bit number stays below 2^31, and the sum of two of them below 2^32
SCALE = 1 << 26


def log_table(bits: int = 16) -> list[int]:
    """round(beta log2 a) for each a of so many bits, 0 for 0: the entries of the program's table."""
    return [0] + [round(SCALE * math.log2(a)) for a in range(1, 1 << bits)]


LOGS = log_table()


def logarithm(value: int) -> int:
    """Logarithm of a 32-bit number from its 16 leading bits: one rule of a TCAM finds them by the first bit set."""
    shift = max(0, value.bit_length() - 16)
    return LOGS[value >> shift] + SCALE * shift


def sum_score(x: int, y: int) -> int:
    return min(x + y, 0xFFFFFFFF)


def product_score(x: int, y: int) -> int:
    return logarithm(x) + logarithm(y)


def share_table(sample: Sequence[int], bits: int = 16) -> list[int]:
    """Entries for one dimension so that the score is the logarithm of the share of points that a point dominates.

    beta log2 of the sample's distribution function, from 0 for one in 2^16 or less up to beta / 2: the product of
    both dimensions' shares is what a point is worth, however differently they are distributed. Any table that never
    falls is safe, so an old or small sample costs pruning only.
    """
    ordered = sorted(sample)
    step = SCALE / 32
    out = []
    for a in range(1 << bits):
        share = bisect_right(ordered, a) / len(ordered)
        out.append(round(step * max(0.0, 16 + math.log2(share))) if share else 0)
    return out


class Skyline:
    """The reference of `prune` for skyline."""

    def __init__(self, points: int, score: Callable[[int, int], int] = sum_score) -> None:
        self.score = score
        self.points: list[tuple[int, int, int]] = [(0, 0, 0)] * points

    def process(self, x: int, y: int) -> bool:
        """True if the tuple is pruned. A stored point that was pushed out was forwarded when it came."""
        own = True
        carried = (self.score(x, y), x, y)
        for i, stored in enumerate(self.points):
            if carried[0] == stored[0]:
                continue
            if carried[0] > stored[0]:
                self.points[i], carried, stored, own = carried, stored, carried, False
            if carried[1] <= stored[1] and carried[2] <= stored[2]:
                return own
        return False
