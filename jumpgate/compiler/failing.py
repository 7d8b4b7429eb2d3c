"""Which expressions can fail. They must not be computed for rows that the request would have dropped before."""

from __future__ import annotations

from jumpgate.dataflow.expressions import Call, Cast, Expression, Literal
from jumpgate.dataflow.functions import FUNCTIONS

#: fail by zero, whatever the type
DIVIDING = frozenset(("divide", "int_divide", "modulo"))


def may_fail(expression: Expression) -> bool:
    """Whether computing it for some row could raise an error: an overflow, a division by zero, a cast, bad text."""
    return any(_fails(e) for e in expression.walk())


def _fails(e: Expression) -> bool:
    if isinstance(e, Cast):
        return e.on_failure == "error" and not _widening(e)
    if not isinstance(e, Call):
        return False
    if e.function in DIVIDING:
        divisor = e.args[1]
        safe = isinstance(divisor, Literal) and bool(divisor.value) and divisor.value != -1
        return not safe
    function = FUNCTIONS[e.function]
    return function.fails or (function.fallible and not (e.type.is_float or _has_room(e)))


def _has_room(e: Call) -> bool:
    """Decimals whose type was widened for the result: a product always, a sum below the most digits."""
    if e.type.kind != "decimal":
        return False
    if e.function == "multiply":
        return sum(a.type.precision for a in e.args) <= e.type.precision
    return e.function in ("add", "subtract") and e.type.precision > max(a.type.precision for a in e.args)


def _widening(cast: Cast) -> bool:
    have, want = cast.input.type, cast.type
    if have.is_numeric and want.kind == "float64" or have.same(want):
        return True
    if have.is_integer and want.is_integer:
        return want.width >= have.width
    if have.kind == "decimal" and want.kind == "decimal":
        return want.scale >= have.scale and want.precision - want.scale >= have.precision - have.scale
    return have.kind in ("date", "timestamp", "timestamptz") and want.kind in ("timestamp", "timestamptz")
