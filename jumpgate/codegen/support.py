"""What the C++ generator cannot do, each with its reason: asked by the software NCAs' operator interfaces."""

from __future__ import annotations

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Call, Expression
from jumpgate.dataflow.functions import FUNCTIONS
from jumpgate.dataflow.operators import Aggregate, Operator, Shuffle, expressions_of
from jumpgate.nca.interface import Unsupported

WRAP = Unsupported(
    "arithmetic that wraps around on overflow is not generated",
    "overflow_wrap",
    "use a dialect with on_overflow = error or null",
)


def unsupported(what: Operator | Expression, dialect: Dialect = DEFAULT) -> Unsupported | None:
    """The first thing about an operator (without its inputs) or an expression that generated C++ cannot compute."""
    if isinstance(what, Operator):
        if isinstance(what, Shuffle) and what.partitioning.kind == "murmur3":
            return Unsupported("Spark's Murmur3 partitioning is not generated", "murmur3", "partition by hash")
        if (
            isinstance(what, Aggregate)
            and what.phase != "full"
            and any(m.function == "count_distinct" for m in what.measures)
        ):
            return Unsupported(
                "count_distinct has no partial state",
                "count_distinct_phase",
                "shuffle by the group keys and aggregate in phase full",
            )
        sums = what.measures if isinstance(what, Aggregate) else ()
        if dialect.on_overflow == "wrap" and any(m.function == "sum" and not m.type.is_float for m in sums):
            return WRAP
        return next((r for e in expressions_of(what) if (r := unsupported(e, dialect)) is not None), None)
    if dialect.on_overflow == "wrap" and any(map(_can_overflow, what.walk())):
        return WRAP
    return None


def _can_overflow(e: Expression) -> bool:
    """Whether the dialect decides what comes out: arithmetic whose exact result may not fit its type."""
    return isinstance(e, Call) and FUNCTIONS[e.function].fallible and not e.type.is_float
