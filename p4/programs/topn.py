"""Top-n: prunes values that cannot be among the n largest. For the smallest, the host complements the value.

Values are unsigned 32-bit. Wider ones are mapped by any function that never decreases (the high word, say): a value
is only pruned when it is strictly smaller than enough others, which the mapping cannot make wrong.
"""

from __future__ import annotations

from collections.abc import Callable

WORD = 0xFFFFFFFF


class Deterministic:
    """Thresholds t_i = 2^i t_0, t_0 being the minimum of the first n values; w of them have counters, i = 1 … w.

    t_0 needs none: the first n values are above it. t_i wraps at 32 bits. That is harmless: n counted values at or
    above any constant make it a valid threshold.
    """

    def __init__(self, n: int, thresholds: int) -> None:
        self.n = n
        self.seen, self.least = 0, WORD
        self.counts = [0] * thresholds

    def process(self, value: int) -> bool:
        """True if the tuple is pruned."""
        if self.seen < self.n:
            self.seen += 1
            self.least = min(self.least, value)
            return False
        pruned = value < self.least
        for i in range(len(self.counts)):
            threshold = self.least << i + 1 & WORD
            if value >= threshold:
                self.counts[i] = min(self.counts[i] + 1, WORD)
            elif self.counts[i] >= self.n:
                pruned = True
        return pruned


class Randomised:
    """d rows x w columns, a random row for each tuple, of which the w largest values are kept in falling order.

    A rolling minimum: each column keeps the larger of its value and the arriving one, and hands the other on. The
    last column says whether what arrives there is smaller than what it holds, which is so only for a value smaller
    than all w.
    """

    def __init__(self, rows: int, columns: int, random_row: Callable[[], int]) -> None:
        self.cells = [[0] * rows for _ in range(columns)]
        self.random_row = random_row

    def process(self, value: int) -> bool:
        """True if the tuple is pruned."""
        row, carried = self.random_row(), value
        for column in self.cells[:-1]:
            if carried > column[row]:
                column[row], carried = carried, column[row]
        last = self.cells[-1]
        if carried < last[row]:
            return True
        last[row] = carried
        return False
