"""The references of the functions of approximate distinct counts (sketches.py): the coupon of a hash, and the estimate.

A hash draws one of 8192 rows and, with a probability that halves from one to the next, one of 32 columns: its coupon.
How many values there were follows from how many different coupons they drew: the estimate is the number of values
that are expected to draw so many. (The ICON estimator of the CPC sketch: Lang, "Back to the Future: an Even More
Nearly Optimal Cardinality Estimation Algorithm", arXiv:1708.06839; the coupons are those of Flajolet and Martin, 1985.)
"""

from __future__ import annotations

import functools
from decimal import Decimal

from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.fingerprints import fingerprint
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.types import DataType, int64

ROW_BITS, COLUMN_BITS = 13, 5
ROWS, COLUMNS = 1 << ROW_BITS, 1 << COLUMN_BITS
COUPONS = ROWS * COLUMNS
#: of the estimate: ln 2 / √rows
RELATIVE_ERROR = 0.0077
#: coupons in the first columns of all rows: where the last ones fill up, an estimate says little
_COUPONS_MAX = ROWS * (COLUMNS - 4)
#: a value draws a coupon of the last column, or of the one before it, in one of so many cases
_LAST = float(ROWS << COLUMNS - 1)
_STEPS_MAX = 8
#: a step of the search that changes the estimate less is its last one
_STEP_MIN = 1e-3


def coupon(site: Site, value: Value) -> int:
    """Of the fingerprint's fingerprint: what hash tables and hash partitioning use of the first one says nothing about
    the second. Its upper bits say the row, the zeros at its lower end the column."""
    word = fingerprint([_fingerprint(value, *site.types)], [int64]) & (1 << 64) - 1
    low = word | 1 << COLUMNS - 1
    return word >> 64 - ROW_BITS << COLUMN_BITS | (low & -low).bit_length() - 1


def _fingerprint(value: Value, type: DataType) -> int:
    """A decimal that is an integer of 64 bits has that integer's: the unsigned integers of files are decimals here."""
    if isinstance(value, Decimal) and type.scale == 0 and -(1 << 63) <= value < 1 << 63:
        return fingerprint([int(value)], [int64])
    return fingerprint([value], [type])


def estimate(site: Site, count: int) -> int:
    return estimated(count)


@functools.lru_cache(1 << 16)
def estimated(coupons: int) -> int:
    """How many values draw so many coupons; at most 1.7e12. Sums and products of float64 alone, in the order of
    jg_distinct_estimate in jg/sketches.h, so that every machine finds the same number."""
    wanted = float(max(0, min(coupons, _COUPONS_MAX)))
    full = int(wanted) // ROWS
    found = float(ROWS << full - 2) if full >= 2 else wanted
    for _ in range(_STEPS_MAX):
        drawn, rise = _expected(found)
        step = (wanted - drawn) / rise
        found += step
        if abs(step) < _STEP_MIN:
            break
    return int(found + 0.5)


def _expected(values: float) -> tuple[float, float]:
    """How many coupons so many values draw, and how many more one more value: a coupon with the probability p is among
    them with 1 - exp(-p · values), here by Taylor for the last column and by squaring for those before it."""
    x = values / _LAST
    drawn = x * (1.0 - x * (0.5 - x / 6.0))
    rise = 1.0 - drawn
    all_drawn, all_rise = drawn + drawn, rise + rise
    for _ in range(COLUMNS - 2):
        rise = 2.0 * rise * (1.0 - drawn)
        drawn = drawn * (2.0 - drawn)
        all_drawn += drawn
        all_rise += rise
    return ROWS * all_drawn, ROWS * all_rise / _LAST
