"""Lists what the C++ generator cannot do, with reasons, for the operator interface of ncas/cpp."""

from __future__ import annotations

from jumpgate.codegen.lower import LOOKS, RANKS
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression
from jumpgate.dataflow.functions import find
from jumpgate.dataflow.operators import Aggregate, Operator, Shuffle, Window
from jumpgate.nca.interface import Unsupported

WRAP = Unsupported(
    "arithmetic that wraps around on overflow is not generated",
    "overflow_wrap",
    "use a dialect with on_overflow = error or null",
)

WINDOW_FUNCTIONS = (*RANKS, *LOOKS, "sum", "count", "count_star", "min", "max", "avg", "stddev")
#: the most digits of a decimal that orders a range: differences of two have at most 38
RANGE_DIGITS_MAX = 37


def unsupported(what: Operator | Expression, dialect: Dialect = DEFAULT) -> Unsupported | None:
    """Return the first part of an operator (without its inputs) or expression that generated C++ cannot compute."""
    if isinstance(what, Operator):
        if isinstance(what, Shuffle) and what.partitioning.kind == "murmur3":
            return Unsupported("Spark's Murmur3 partitioning is not generated", "murmur3", "partition by hash")
        if isinstance(what, Aggregate) and what.phase != "full":
            whole = next((m.function for m in what.measures if not m.declaration.has_parts), None)
            if whole is not None:
                return Unsupported(
                    f"{whole} has no partial state",
                    f"{whole}_phase",
                    "shuffle by the group keys and aggregate in phase full",
                )
        if isinstance(what, Window) and (found := _window(what)) is not None:
            return found
        sums = what.measures if isinstance(what, Aggregate) else ()
        if dialect.on_overflow == "wrap" and any(
            m.function in ("sum", "sum_distinct") and not m.type.is_float for m in sums
        ):
            return WRAP
        if dialect.on_overflow == "wrap" and any(unsupported(e, dialect) for e in what.own_expressions):
            return WRAP
        return None
    if dialect.on_overflow == "wrap" and any(map(_can_overflow, what.walk())):
        return WRAP
    return None


def _window(node: Window) -> Unsupported | None:
    frame, keys = node.frame, node.order_by
    if frame.unit == "range" and (frame.start or frame.end) and keys[0].expression.type.precision > RANGE_DIGITS_MAX:
        what = f"ranges of values by {keys[0].expression.type.name} are not generated"
        return Unsupported(what, "window_range", f"cast it to at most {RANGE_DIGITS_MAX} digits")
    for f in node.functions:
        if f.function not in WINDOW_FUNCTIONS:
            return Unsupported(f"window function {f.function} is not generated", "window_function")
        if not all(isinstance(a, ColumnRef) for a in f.values):
            return Unsupported("window functions of expressions are not generated", "window_argument")
    return None


def _can_overflow(e: Expression) -> bool:
    """Return whether the dialect decides the result: arithmetic whose exact result may not fit its type."""
    return isinstance(e, Call) and find(e.function).fallible and not e.type.is_float
