"""References of the functions of approximate distinct counts (sketches.py): the coupon of a hash, and the estimate.

A hash draws one of 8192 rows and one of 32 columns, each half as probable as the previous: its coupon. The number of
distinct values follows from the number of distinct coupons: the estimate is the number of values expected to draw that
many. (The ICON estimator of the CPC sketch: Lang, "Back to the Future: an Even More Nearly Optimal Cardinality
Estimation Algorithm", arXiv:1708.06839; the coupons are those of Flajolet and Martin, 1985.)
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
#: relative error of the estimate: ln 2 / √rows
RELATIVE_ERROR = 0.0077
#: coupons in the first columns of all rows: as the last columns fill up, the estimate becomes inaccurate
_COUPONS_MAX = ROWS * (COLUMNS - 4)
#: a value draws a coupon of the last column, or of the one before it, in one of this many cases
_LAST = float(ROWS << COLUMNS - 1)
_STEPS_MAX = 8
#: the search ends at a step that changes the estimate by less
_STEP_MIN = 1e-3


def coupon(site: Site, value: Value) -> int:
    """Return the coupon of the fingerprint's fingerprint, which is independent of the hash of tables and partitioning.
    Its upper bits are the row, its trailing zeros the column."""
    word = fingerprint([_fingerprint(value, *site.types)], [int64]) & (1 << 64) - 1
    low = word | 1 << COLUMNS - 1
    return word >> 64 - ROW_BITS << COLUMN_BITS | (low & -low).bit_length() - 1


def _fingerprint(value: Value, type: DataType) -> int:
    """Return the fingerprint; a decimal that is a 64-bit integer has that integer's: unsigned integers of files are
    decimals here."""
    if isinstance(value, Decimal) and type.scale == 0 and -(1 << 63) <= value < 1 << 63:
        return fingerprint([int(value)], [int64])
    return fingerprint([value], [type])


def estimate(site: Site, count: int) -> int:
    return estimated(count)


@functools.lru_cache(1 << 16)
def estimated(coupons: int) -> int:
    """Estimate how many values draw `coupons` coupons; at most 1.7e12. Uses only sums and products of float64 in the
    order of jg_distinct_estimate in jg/sketches.h, so that every machine gets the same number."""
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
    """Return how many coupons `values` values draw, and how many more one more value adds: a coupon of probability p is
    among them with 1 - exp(-p · values), here by Taylor for the last column and by squaring for those before it."""
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
