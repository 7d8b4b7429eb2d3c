"""Converts set operations of Substrait to joins and unions; rows are equal if all columns are, NULL equals NULL."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.dataflow.casts import common_type
from jumpgate.dataflow.expressions import Expression, conjunction
from jumpgate.dataflow.functions import cast_to
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Frame,
    Operator,
    Project,
    SortKey,
    UnionAll,
    Window,
    WindowFunction,
    column,
    window_type,
)
from jumpgate.dataflow.substrait import joins
from jumpgate.dataflow.substrait.types import Unmapped

#: operation → meaning (Substrait, "Set Operation Types")
OPERATIONS = {
    "UNION_ALL": "all rows of all inputs",
    "UNION_DISTINCT": "all rows of all inputs, without duplicates",
    "MINUS_PRIMARY": "rows of the first input that no other one has, without duplicates (EXCEPT)",
    "MINUS_PRIMARY_ALL": "as many copies as the first input has more than the others together (EXCEPT ALL)",
    "INTERSECTION_PRIMARY": "rows of the first input that any other one has, without duplicates",
    "INTERSECTION_MULTISET": "rows that all inputs have, without duplicates (INTERSECT)",
    "INTERSECTION_MULTISET_ALL": "as many copies as each input has (INTERSECT ALL)",
}


def read_set(operation: str, inputs: Sequence[Operator]) -> Operator:
    """Convert the operation (its name without the prefix) over inputs, of which the first is the primary one."""
    if operation not in OPERATIONS:
        raise Unmapped(f"set operation {operation.lower().replace('_', ' ')} is not known")
    if len(inputs) < 2 or len({len(i.schema) for i in inputs}) != 1:
        raise Unmapped("a set operation needs inputs with equally many columns")
    first, *others = _same_types(inputs)
    if operation.startswith("UNION"):
        union = UnionAll((first, *others))
        return union if operation == "UNION_ALL" else Distinct(union)
    width = len(first.schema)
    if operation in ("INTERSECTION_PRIMARY", "MINUS_PRIMARY_ALL") and len(others) > 1:
        others = [UnionAll(tuple(others))]
    if operation.endswith("_ALL"):
        first, others = _numbered(first), [_numbered(o) for o in others]
    type = "JOIN_TYPE_LEFT_ANTI" if operation.startswith("MINUS") else "JOIN_TYPE_LEFT_SEMI"
    for other in others:
        condition = conjunction(joins.equal_rows(first.schema, other.schema))
        first = joins.read_join(first, other, type, condition, datafusion=False)
    columns = tuple(column(first.schema, i) for i in range(width))
    names = first.schema.names[:width]
    return Project(first, columns, names) if operation.endswith("_ALL") else Aggregate(first, columns, names, ())


def _numbered(node: Operator) -> Operator:
    """Return the rows with a column that numbers copies of one row: 1, 2, …"""
    return with_number(node, tuple(column(node.schema, i) for i in range(len(node.schema))))


def with_number(node: Operator, partition_by: tuple[Expression, ...], order_by: tuple[SortKey, ...] = ()) -> Operator:
    """Return the rows with a column that numbers those of a partition in that order: 1, 2, …"""
    number = WindowFunction("row_number", (), window_type("row_number", ()), "number")
    return Window(node, partition_by, order_by, (number,), Frame("rows", None, 0))


def _same_types(inputs: Sequence[Operator]) -> list[Operator]:
    """The inputs with the columns' common types."""
    types = [common_type(column) for column in zip(*([f.type for f in i.schema] for i in inputs), strict=True)]
    members = []
    for node in inputs:
        fields = node.schema.fields
        if all(f.type.same(t) for f, t in zip(fields, types, strict=True)):
            members.append(node)
            continue
        expressions: tuple[Expression, ...] = tuple(cast_to(column(node.schema, i), t) for i, t in enumerate(types))
        members.append(Project(node, expressions, tuple(f.name for f in fields)))
    return members
