"""Restricts nested values: they are passed on, taken apart, and tested for NULL."""

from __future__ import annotations

from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Join,
    Operator,
    Shuffle,
    Skyline,
    Sort,
    Window,
    column,
)

#: measures and window functions that do not inspect the value
_PASSING = (
    "count",
    "count_star",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
    "row_number",
    "rank",
    "dense_rank",
)


def compared_nested(node: Operator) -> list[str]:
    """Return a sentence for each nested value that the operator would have to compare."""
    what, compared = _compared(node)
    return list(dict.fromkeys(f"{what} {_named(e)}: nested values are not compared; name fields of it" for e in compared
                              if e.type.is_nested))  # fmt: skip


def _compared(node: Operator) -> tuple[str, list[Expression]]:
    match node:
        case Join():
            return "a key is", [*node.left_keys, *node.right_keys]
        case Aggregate():
            measured = [e for m in node.measures if m.function != "count" for e in m.expressions]
            return "a key or measure is of", [*node.keys, *measured]
        case Sort() | Skyline():
            return "a key is", [k.expression for k in node.keys]
        case Window():
            measured = [a for f in node.functions if f.function not in _PASSING for a in f.arguments]
            return "a key or function is of", [*node.partition_by, *(k.expression for k in node.order_by), *measured]
        case Distinct():
            return "a column is", [column(node.input.schema, i) for i in range(len(node.input.schema))]
        case Shuffle():
            return "a key is", [column(node.input.schema, k) for k in node.partitioning.keys]
    return "", []


def _named(e: Expression) -> str:
    name = getattr(e, "name", "")
    return f"{name!r}, a {e.type.name}" if name else f"a {e.type.name}"
