"""Aggregate: sum, count, min and max of a 64-bit value for each 64-bit key, in buckets that the first key to come owns.

A tuple whose bucket belongs to another key, or whose key is NULL, stays in the packet; a NULL value only claims the
bucket. Sums are exact: the value is biased by 2^63 and added as two 32-bit limbs, each with a count of its wraps, so
up to 2^32 - 1 values of any size fit. A bucket keeps its key, so a repetition within the flow's window has the fate of
the first: tuples whose buckets are theirs were taken then, and nothing is added again (PROTOCOL.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jumpgate.p4.programs.crc import hash_key

BIAS = 1 << 63
WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Tuple:
    """A row: key and value are 64-bit integers in two's complement or None."""

    key: int | None
    value: int | None


@dataclass
class Group:
    """One bucket's registers."""

    key: int
    count: int = 0
    low: list[int] = field(default_factory=lambda: [0, 0])  # sum, carries
    high: list[int] = field(default_factory=lambda: [0, 0])
    least: int = BIAS * 2 - 1
    least_complement: int = BIAS * 2 - 1

    def add(self, value: int) -> None:
        biased = value + BIAS
        self.count += 1
        for limb, word in ((self.low, biased & WORD), (self.high, biased >> 32)):
            limb[1] += limb[0] + word > WORD
            limb[0] = limb[0] + word & WORD
        self.least = min(self.least, biased)
        self.least_complement = min(self.least_complement, biased ^ (BIAS * 2 - 1))

    @property
    def sum(self) -> int | None:
        """The exact sum; None if all values were NULL."""
        if not self.count:
            return None
        total = self.low[0] + (self.low[1] + self.high[0] << 32) + (self.high[1] << 64)
        return total - self.count * BIAS

    @property
    def min(self) -> int | None:
        return self.least - BIAS if self.count else None

    @property
    def max(self) -> int | None:
        return (self.least_complement ^ (BIAS * 2 - 1)) - BIAS if self.count else None


@dataclass(frozen=True)
class Verdict:
    """The fate of a packet: `left` are the tuples that go on (None: absorbed), or it is acknowledged."""

    left: tuple[Tuple | None, ...]

    @property
    def acknowledged(self) -> bool:
        return all(t is None for t in self.left)


class Aggregate:
    """The program's registers. A packet has a tuple or None in each of `slots` slots; slots share no bucket."""

    def __init__(self, slots: int = 4, bucket_bits: int = 14, window_bits: int = 8) -> None:
        self.bucket_mask, self.window_mask = (1 << bucket_bits) - 1, (1 << window_bits) - 1
        self.slots: list[dict[int, Group]] = [{} for _ in range(slots)]
        self.window: dict[tuple[int, int], int] = {}

    def process(self, flow: int, sequence: int, tuples: tuple[Tuple | None, ...]) -> Verdict:
        """One data packet; sequence numbers begin with 1."""
        cell = flow, sequence & self.window_mask
        highest = self.window.get(cell, 0)
        if sequence < highest:
            return Verdict((None,) * len(tuples))
        self.window[cell] = sequence
        return Verdict(
            tuple(None if t is None or self._absorb(i, t, sequence > highest) else t for i, t in enumerate(tuples))
        )

    def _absorb(self, slot: int, t: Tuple, is_new: bool) -> bool:
        if t.key is None:
            return False
        bucket = hash_key(0, t.key & BIAS * 2 - 1) & self.bucket_mask
        if is_new:
            self.slots[slot].setdefault(bucket, Group(t.key))
        group = self.slots[slot].get(bucket)
        if group is None or group.key != t.key:
            return False
        if is_new and t.value is not None:
            group.add(t.value)
        return True

    def groups(self) -> list[Group]:
        """Return the groups that draining the buckets returns."""
        return [group for slot in self.slots for _, group in sorted(slot.items())]
