"""Parts of plans that S3 Select may compute: a filter over a read and, above it, columns, an aggregate or a top-n."""

from __future__ import annotations

from dataclasses import dataclass

from jumpgate.dataflow.expressions import Cast, ColumnRef, Expression
from jumpgate.dataflow.operators import Aggregate, Filter, Operator, Project, Read, Sort


@dataclass(frozen=True)
class Part:
    """`operators` from the root down, without the read. `columns` are those of the read that the root's input has, or
    the root's own if it only selects columns."""

    operators: tuple[Operator, ...]
    read: Read
    where: Expression | None
    columns: tuple[int, ...]

    @property
    def root(self) -> Operator:
        return self.operators[0]

    def column(self, e: Expression) -> str | None:
        """Return the name of the object's column that an expression of the root is, widened or not; None: it is
        computed."""
        while (
            isinstance(e, Cast) and e.type.is_integer and e.input.type.is_integer and e.type.width >= e.input.type.width
        ):
            e = e.input
        return self.read.schema.names[self.columns[e.index]] if isinstance(e, ColumnRef) else None


def part_of(node: Operator) -> Part | None:
    """Return the part from `node` down; None for another shape."""
    above: list[Operator] = []
    if isinstance(node, Aggregate) or (isinstance(node, Sort) and node.limit is not None):
        above.append(node)
        node = node.inputs[0]
    selected: list[tuple[int, ...]] = []
    while isinstance(node, Project):
        if not all(isinstance(e, ColumnRef) for e in node.expressions):
            return None
        selected.append(tuple(e.index for e in node.expressions if isinstance(e, ColumnRef)))
        above.append(node)
        node = node.input
    where = None
    if isinstance(node, Filter):
        where = node.predicate
        above.append(node)
        node = node.input
    if not isinstance(node, Read) or not above:
        return None
    columns = tuple(range(len(node.schema)))
    for chosen in reversed(selected):
        columns = tuple(columns[i] for i in chosen)
    return Part(tuple(above), node, where, columns)
