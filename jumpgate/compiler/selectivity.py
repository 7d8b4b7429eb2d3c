"""Estimates the fraction of rows that a predicate selects, from column statistics or else textbook numbers (Selinger et
al., SIGMOD 1979)."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Sequence

from jumpgate.dataflow.expressions import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    InList,
    Literal,
    Value,
    conjuncts,
)
from jumpgate.dataflow.functions import find
from jumpgate.dataflow.functions_core import EQUAL, RANGE
from jumpgate.nca.interface import ColumnStatistics

#: returns the statistics of a column of the expression's input
About = Callable[[ColumnRef], ColumnStatistics]

NOTHING = ColumnStatistics()
HALF = 0.5  #: selectivity of an unknown condition


def selectivity(predicate: Expression, about: About = lambda _: NOTHING) -> float:
    """Estimate the fraction of rows for which `predicate` is TRUE; `about` returns the statistics of its columns."""
    if isinstance(predicate, Literal):
        return 1.0 if predicate.value else 0.0
    if isinstance(predicate, InList):
        return min(1.0, _equal(predicate.input, about) * len(predicate.options))
    if isinstance(predicate, ColumnRef):
        known = about(predicate).true_fraction
        return HALF if known is None else known
    if isinstance(predicate, Case) or not isinstance(predicate, Call):
        return HALF
    if predicate.function == "and":
        return _conjunction(conjuncts(predicate), about)
    parts = [selectivity(a, about) for a in predicate.args if a.type.kind == "bool"]
    match predicate.function:
        case "or":
            missed = 1.0
            for part in parts:
                missed *= 1.0 - part
            return 1.0 - missed
        case "not":
            return 1.0 - parts[0] if parts else 0.5
        case "eq" | "is_not_distinct":
            return min(_equal(a, about) for a in predicate.args)
        case "ne" | "is_distinct":
            return 1.0 - min(_equal(a, about) for a in predicate.args)
        case "lt" | "le" | "gt" | "ge":
            found = interval(predicate, about)
            return RANGE if found is None else share(found[1], found[2], about(found[0]))
        case "coalesce" if isinstance(predicate.args[-1], Literal) and not predicate.args[-1].value:
            return parts[0]
        case "is_null" | "is_not_null":
            argument = predicate.args[0]
            known = about(argument).null_fraction if isinstance(argument, ColumnRef) else None
            if known is not None:
                return known if predicate.function == "is_null" else 1.0 - known
    return find(predicate.function).selectivity


def _equal(side: Expression, about: About) -> float:
    """Estimate the fraction of rows in which `side` has one certain value; 1 if it always has."""
    if isinstance(side, Literal):
        return 1.0
    while isinstance(side, Cast):
        side = side.input
    distinct = about(side).distinct if isinstance(side, ColumnRef) else None
    return EQUAL if distinct is None else 1.0 / max(1.0, distinct)


def _conjunction(terms: Sequence[Expression], about: About) -> float:
    """Multiply the terms' selectivities; all bounds of one column count as one range."""
    bounds: dict[ColumnRef, tuple[float, float]] = {}
    product = 1.0
    for term in terms:
        found = interval(term, about)
        if found is None:
            product *= selectivity(term, about)
            continue
        column, low, high = found
        before = bounds.get(column, (-math.inf, math.inf))
        bounds[column] = (max(low, before[0]), min(high, before[1]))
    for column, (low, high) in bounds.items():
        product *= share(low, high, about(column))
    return product


def interval(term: Expression, about: About) -> tuple[ColumnRef, float, float] | None:
    """Return the column and the interval of a comparison with a literal, if the column's bounds are known."""
    if not isinstance(term, Call) or term.function not in ("lt", "le", "gt", "ge"):
        return None
    a, b = term.args
    below = term.function in ("lt", "le")
    if isinstance(a, Literal):
        a, b, below = b, a, not below
    while isinstance(a, Cast):
        a = a.input
    if not isinstance(a, ColumnRef) or not isinstance(b, Literal) or about(a).low is None or about(a).high is None:
        return None
    at = place(b.value)
    if at is None:
        return None
    return (a, -math.inf, at) if below else (a, at, math.inf)


def share(low: float, high: float, known: ColumnStatistics) -> float:
    """Return the fraction of a column's values between two, if they are uniform."""
    assert known.low is not None and known.high is not None
    least = 1.0 / max(1.0, known.distinct or 1 / EQUAL)
    width = known.high - known.low
    inside = min(high, known.high) - max(low, known.low)
    return max(least, min(1.0, inside / width)) if width > 0 else 1.0


def place(value: Value) -> float | None:
    """Return a literal in the unit of ColumnStatistics: a number, days, microseconds."""
    match value:
        case bool() | None:
            return None
        case int() | float() | decimal.Decimal():
            return float(value)
        case datetime.datetime():
            return (value - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1)
        case datetime.date():
            return float((value - datetime.date(1970, 1, 1)).days)
    return None
