"""Column statistics after rows are filtered, joined or united."""

from __future__ import annotations

import math
from dataclasses import replace

from jumpgate.compiler.selectivity import NOTHING, share
from jumpgate.nca.interface import ColumnStatistics


def remaining(distinct: float, before: float, after: float) -> float:
    """Estimate the distinct values left when `after` of `before` rows are left."""
    if after >= before or before <= 0:
        return distinct
    if distinct <= 1:
        return distinct
    missed = math.pow(1.0 - after / before, before / distinct)
    return max(1.0, min(after, distinct * (1.0 - missed)))


def thinned(known: ColumnStatistics, before: float, after: float) -> ColumnStatistics:
    """Return the statistics of a column when `after` of `before` rows are left."""
    if known.distinct is None:
        return known
    return replace(known, distinct=remaining(known.distinct, before, after))


def between(known: ColumnStatistics, kept: ColumnStatistics, low: float, high: float) -> ColumnStatistics:
    """Return the statistics of `known` limited to values from `low` to `high`. `kept` is what other conditions
    leave."""
    if kept.low is None or kept.high is None or known.low is None or known.high is None:
        return kept
    distinct = None
    if known.distinct is not None:
        distinct = min(kept.distinct or math.inf, known.distinct * share(low, high, known))
    high = min(kept.high, high)
    return replace(kept, distinct=distinct, low=min(max(kept.low, low), high), high=high)


def united(members: list[ColumnStatistics]) -> ColumnStatistics:
    """Combine the statistics of a union's members: they are mostly alike, except for literals that tell the members
    apart."""
    distinct = [m.distinct for m in members]
    if None in distinct:
        return NOTHING
    values = [d for d in distinct if d is not None]
    lows, highs = [m.low for m in members], [m.high for m in members]
    most = float(len(values)) if max(values) <= 1.0 else max(values)
    low = None if None in lows else min(b for b in lows if b is not None)
    high = None if None in highs else max(b for b in highs if b is not None)
    if low is not None and low == high:
        most = 1.0
    return ColumnStatistics(most, low, high)


def overlap(a: ColumnStatistics, b: ColumnStatistics) -> float:
    """Return the fraction of the values of `a` that lie in the range of `b`."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return 1.0
    low, high = max(a.low, b.low), min(a.high, b.high)
    if a.high <= a.low:  # one value
        return 1.0 if low <= high else 0.0
    step = 1.0 if a.distinct is None or a.high - a.low >= a.distinct - 1 else 0.0
    return min(1.0, max(0.0, high - low + step) / max(a.high - a.low + step, 1e-9))


def met(a: ColumnStatistics, b: ColumnStatistics) -> ColumnStatistics:
    """Return the statistics of the values of `a` that also occur in `b`."""
    low = a.low if b.low is None or a.low is None else max(a.low, b.low)
    high = a.high if b.high is None or a.high is None else min(a.high, b.high)
    if a.distinct is None or b.distinct is None:
        return ColumnStatistics(a.distinct, low, high, 0.0)
    return ColumnStatistics(min(a.distinct * overlap(a, b), b.distinct * overlap(b, a)), low, high, 0.0)
