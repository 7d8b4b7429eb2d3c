"""Finds expressions that can fail. They must not be computed for rows that the request drops earlier."""

from __future__ import annotations

from collections.abc import Callable

from jumpgate.dataflow.expressions import Call, Cast, ColumnRef, Expression, Literal
from jumpgate.dataflow.functions import find

#: more rows than a query can count, and the largest number added to their count that cannot overflow
_COUNT_MAX = 1 << 61


def may_fail(expression: Expression, counts_rows: Callable[[int], bool] = lambda index: False) -> bool:
    """Return whether computing it for some row could raise an error: an overflow, a division by zero, a cast, bad
    text. counts_rows: whether a column holds numbers of rows, which no small sum overflows with."""
    return any(_fails(e, counts_rows) for e in expression.walk())


def _fails(e: Expression, counts_rows: Callable[[int], bool]) -> bool:
    if isinstance(e, Cast):
        return e.on_failure == "error" and not _widening(e)
    return isinstance(e, Call) and find(e.function).may_fail(e) and not _counts(e, counts_rows)


def _counts(call: Call, counts_rows: Callable[[int], bool]) -> bool:
    """Return whether the call adds or subtracts numbers of rows and small literals."""

    def is_small(e: Expression) -> bool:
        if isinstance(e, Literal):
            return isinstance(e.value, int) and abs(e.value) <= _COUNT_MAX
        return isinstance(e, ColumnRef) and counts_rows(e.index)

    return call.function in ("add", "subtract") and call.type.kind == "int64" and all(map(is_small, call.args))


def _widening(cast: Cast) -> bool:
    have, want = cast.input.type, cast.type
    if have.is_numeric and want.kind == "float64" or have.alike(want):
        return True
    if have.is_integer and want.is_integer:
        return want.width >= have.width
    if have.kind == "decimal" and want.kind == "decimal":
        return want.scale >= have.scale and want.precision - want.scale >= have.precision - have.scale
    return have.kind in ("date", "timestamp", "timestamptz") and want.kind in ("timestamp", "timestamptz")
