"""Utilities that the passes share: projections of references, mirrored joins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import Join, Operator, Project, column
from jumpgate.dataflow.types import Schema


def unique(root: Operator) -> Iterator[Operator]:
    """Yield every node of the graph once, inputs before their consumers."""
    seen: set[int] = set()
    found: list[Operator] = []
    stack = [(root, False)]
    while stack:
        node, is_left = stack.pop()
        if is_left:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(child, False) for child in reversed(node.inputs)]
    return iter(found)


def uses(root: Operator) -> Counter[int]:
    """Count the inputs that refer to each node (by identity); the root has none."""
    return Counter(id(child) for node in unique(root) for child in node.inputs)


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
