"""Parts of plans that S3 Select may compute: a filter over a read and, above it, columns, semi joins with keys that
arrive over filter edges, an aggregate or a top-n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumpgate.dataflow.expressions import Cast, ColumnRef, Expression
from jumpgate.dataflow.operators import Aggregate, Filter, Join, Operator, Project, Read, Sort


@dataclass(frozen=True)
class Keys:
    """The keys of a semi join: names of the object's columns, None for one that is computed, and what gives them."""

    columns: tuple[str | None, ...]
    source: Operator


@dataclass(frozen=True)
class Part:
    """`operators` from the root down, without the read. `columns` are those of the read that the root's input has, or
    the root's own if it only selects columns."""

    operators: tuple[Operator, ...]
    read: Read
    where: Expression | None
    columns: tuple[int, ...]
    filters: tuple[Keys, ...] = ()

    @property
    def root(self) -> Operator:
        return self.operators[0] if self.operators else self.read

    def column(self, e: Expression) -> str | None:
        """Return the name of the object's column that an expression of the root is, widened or not; None: it is
        computed."""
        return _column(e, self.read, self.columns)


def part_of(node: Operator) -> Part | None:
    """Return the part from `node` down; None for another shape."""
    above: list[Operator] = []
    if isinstance(node, Aggregate) or (isinstance(node, Sort) and node.limit is not None):
        above.append(node)
        node = node.inputs[0]
    passed: list[Project | Join] = []
    while isinstance(node, Project | Join):
        if isinstance(node, Join) and not _is_semi(node):
            return None
        if isinstance(node, Project) and not all(isinstance(e, ColumnRef) for e in node.expressions):
            return None
        passed.append(node)
        node = node.inputs[0]
    above += passed
    where = None
    if isinstance(node, Filter):
        where = node.predicate
        above.append(node)
        node = node.input
    if not isinstance(node, Read):
        return None
    columns = tuple(range(len(node.schema)))
    filters: list[Keys] = []
    for operator in reversed(passed):
        if isinstance(operator, Join):
            names = tuple(_column(key, node, columns) for key in operator.left_keys)
            filters.append(Keys(names, operator.right))
        else:
            columns = tuple(columns[e.index] for e in operator.expressions if isinstance(e, ColumnRef))
    return Part(tuple(above), node, where, columns, tuple(filters))


def _is_semi(join: Join) -> bool:
    return join.type.may_build_left and not join.type.unmatched and join.residual is None


def _column(e: Expression, read: Read, columns: Sequence[int]) -> str | None:
    while isinstance(e, Cast) and e.type.is_integer and e.input.type.is_integer and e.type.width >= e.input.type.width:
        e = e.input
    return read.schema.names[columns[e.index]] if isinstance(e, ColumnRef) else None
