"""Finds expressions that can fail. They must not be computed for rows that the request drops earlier."""

from __future__ import annotations

from jumpgate.dataflow.expressions import Call, Cast, Expression
from jumpgate.dataflow.functions import find


def may_fail(expression: Expression) -> bool:
    """Return whether computing it for some row could raise an error: an overflow, a division by zero, a cast, bad
    text."""
    return any(_fails(e) for e in expression.walk())


def _fails(e: Expression) -> bool:
    if isinstance(e, Cast):
        return e.on_failure == "error" and not _widening(e)
    return isinstance(e, Call) and find(e.function).may_fail(e)


def _widening(cast: Cast) -> bool:
    have, want = cast.input.type, cast.type
    if have.is_numeric and want.kind == "float64" or have.same(want):
        return True
    if have.is_integer and want.is_integer:
        return want.width >= have.width
    if have.kind == "decimal" and want.kind == "decimal":
        return want.scale >= have.scale and want.precision - want.scale >= have.precision - have.scale
    return have.kind in ("date", "timestamp", "timestamptz") and want.kind in ("timestamp", "timestamptz")
