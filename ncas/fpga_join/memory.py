"""How the tables of a job share a card's memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jumpgate.nca.interface import Device
from jumpgate.ncas.fpga_join.kind import bucket_bits, buckets

#: a table that is fuller than this has many buckets that are full
FILL_MAX = 0.5
#: of an address on the card
BITS_MAX = 26


@dataclass(frozen=True)
class Tables:
    """log2 of the buckets of each table of a chain, and the bytes of its values."""

    bucket_bits: tuple[int, ...]
    value_bytes: tuple[int, ...]


def table_bits(entries: Sequence[float | None], slots: Sequence[int], device: Device) -> tuple[int, ...] | None:
    """log2 of each table's buckets for so many expected entries (None: unknown), of which a bucket holds `slots`; None
    if the memory is too small. A table has its equal share, so that other jobs find theirs; or more if it needs that,
    and then others have no more than there is."""
    equal = bucket_bits(device)
    least = [equal if n is None else _least(n / (s * FILL_MAX)) for n, s in zip(entries, slots, strict=True)]
    free = buckets(device) - sum(1 << bits for bits in least)
    if free < 0 or max(least) > BITS_MAX:
        return None
    growing = True
    while growing:  # the smallest first: doubling it takes least of the others
        smallest = min(range(len(least)), key=least.__getitem__)
        growing = least[smallest] < equal and free >= 1 << least[smallest]
        if growing:
            free -= 1 << least[smallest]
            least[smallest] += 1
    return tuple(least)


def _least(buckets: float) -> int:
    return max(0, math.ceil(math.log2(max(1.0, buckets))))
