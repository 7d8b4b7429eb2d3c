"""Utilities that the passes share: an operator's expressions, projections of references, mirrored joins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import (
    Aggregate,
    Filter,
    Join,
    Operator,
    Project,
    Skyline,
    Sort,
    Window,
    column,
    expressions_of,
)
from jumpgate.dataflow.types import Schema

Change = Callable[[Expression], Expression]


def unique(root: Operator) -> Iterator[Operator]:
    """Yield every node of the graph once, inputs before their consumers."""
    seen: set[int] = set()
    found: list[Operator] = []

    def visit(node: Operator) -> None:
        if id(node) not in seen:
            seen.add(id(node))
            for child in node.inputs:
                visit(child)
            found.append(node)

    visit(root)
    return iter(found)


def uses(root: Operator) -> Counter[int]:
    """Count the inputs that refer to each node (by identity); the root has none."""
    return Counter(id(child) for node in unique(root) for child in node.inputs)


def map_expressions(node: Operator, change: Change) -> Operator:
    """Apply `change` to each of the node's own expressions; return the same object if none changed."""

    def all_of(items: Sequence[Expression]) -> tuple[Expression, ...]:
        return tuple(change(e) for e in items)

    if isinstance(node, Filter):
        predicate = change(node.predicate)
        return node if predicate is node.predicate else replace(node, predicate=predicate)
    if isinstance(node, Project):
        expressions = all_of(node.expressions)
        return node if _same(expressions, node.expressions) else replace(node, expressions=expressions)
    if isinstance(node, Join):
        left, right = all_of(node.left_keys), all_of(node.right_keys)
        residual = None if node.residual is None else change(node.residual)
        same = _same(left, node.left_keys) and _same(right, node.right_keys) and residual is node.residual
        return node if same else replace(node, left_keys=left, right_keys=right, residual=residual)
    if isinstance(node, Aggregate):
        keys = all_of(node.keys)
        changed = [all_of(m.expressions) for m in node.measures]
        if _same(keys, node.keys) and all(_same(e, m.expressions) for e, m in zip(changed, node.measures, strict=True)):
            return node
        measures = tuple(m.with_expressions(e) for m, e in zip(node.measures, changed, strict=True))
        return replace(node, keys=keys, measures=measures)
    if isinstance(node, Sort | Skyline):
        keys = all_of([k.expression for k in node.keys])
        if all(k is s.expression for k, s in zip(keys, node.keys, strict=True)):
            return node
        return replace(node, keys=tuple(replace(s, expression=k) for s, k in zip(node.keys, keys, strict=True)))
    if isinstance(node, Window):
        window = replace(
            node,
            partition_by=all_of(node.partition_by),
            order_by=tuple(replace(k, expression=change(k.expression)) for k in node.order_by),
            functions=tuple(replace(f, arguments=all_of(f.arguments)) for f in node.functions),
        )
        return node if _same(expressions_of(window), expressions_of(node)) else window
    return node


def _same(a: Sequence[Expression], b: Sequence[Expression]) -> bool:
    return all(x is y for x, y in zip(a, b, strict=True))


def references(schema: Schema, indices: Sequence[int] | None = None) -> tuple[ColumnRef, ...]:
    """Return references to the columns of `schema` (all of them by default)."""
    return tuple(column(schema, i) for i in (range(len(schema)) if indices is None else indices))


def pair_references(left: Schema, right: Schema) -> tuple[ColumnRef, ...]:
    """Return references to a join's input columns: the left ones, then the right ones."""
    return references(Schema((*left, *right)))


def project(node: Operator, expressions: tuple[Expression, ...], names: tuple[str, ...]) -> Operator:
    """Project `node`; return `node` itself if nothing would change, and merge two projections into one."""
    if isinstance(node, Project) and all(isinstance(e, ColumnRef) for e in node.expressions):
        below = node.expressions
        return project(node.input, tuple(e.remap(lambda i: below[i]) for e in expressions), names)
    if names == node.schema.names and is_identity(expressions, len(node.schema)):
        return node
    return Project(node, expressions, names)


def mirrored(join: Join) -> tuple[Join, tuple[ColumnRef, ...]] | None:
    """Return the join with its inputs swapped, and its result columns in their former order; None if no type gives the
    same rows."""
    type = join.type.mirrored
    if type is None:
        return None
    width, other = len(join.left.schema), len(join.right.schema)
    residual = join.residual
    if residual is not None:
        refs = pair_references(join.right.schema, join.left.schema)
        residual = residual.remap(lambda i: refs[i + other if i < width else i - width])
    swapped = Join(join.right, join.left, type, join.right_keys, join.left_keys, residual)
    return swapped, references(swapped.schema, [*range(other, other + width), *range(other)])


def is_identity(expressions: Sequence[Expression], width: int) -> bool:
    """Return whether the expressions are references to columns 0 … width - 1 in order."""
    return len(expressions) == width and all(
        isinstance(e, ColumnRef) and e.index == i for i, e in enumerate(expressions)
    )
