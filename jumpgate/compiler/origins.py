"""Key lineage: operators further down whose rows have all values of a key."""

from __future__ import annotations

from collections.abc import Iterator

from jumpgate.compiler.tree import references
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import Aggregate, Join, Operator, column

Keys = tuple[Expression, ...]


def origins(node: Operator, key: Expression) -> Iterator[tuple[Operator, Expression]]:
    """Yield operators from `node` down whose rows have all values of `key` except NULL, each with the key over it.
    Follows columns that pass through and equal keys of joins that keep only matched rows."""
    seen: set[tuple[int, Expression]] = set()
    pending = [(node, key)]
    while pending:
        node, key = pending.pop()
        if (id(node), key) not in seen:
            seen.add((id(node), key))
            yield node, key
            pending += _below(node, key)


def _below(node: Operator, key: Expression) -> list[tuple[Operator, Expression]]:
    if isinstance(node, Join):
        return _joined(node, key)
    if isinstance(node, Aggregate) and (node.phase != "full" or not key.columns()):
        return []
    found = node.below(key) if len(node.inputs) == 1 else None
    return [] if found is None else [(node.inputs[0], found)]


def _joined(node: Join, key: Expression) -> list[tuple[Operator, Expression]]:
    width, type = len(node.left.schema), node.type
    if isinstance(key, ColumnRef) and type.pairs and key.index >= width:
        right = column(node.right.schema, key.index - width)
        equal = [] if type.unmatched_right else _equal(right, node.right_keys, node.left, node.left_keys)
        return [(node.right, right), *equal]
    # an expression over null-extended columns has values of its own
    if not within((key,), width) or (type.extends_left and not isinstance(key, ColumnRef)):
        return []
    (left,) = through((key,), references(node.left.schema))
    equal = _equal(left, node.left_keys, node.right, node.right_keys) if type.matched and not type.unmatched else []
    return [(node.left, left), *equal]


def _equal(key: Expression, keys: Keys, other: Operator, other_keys: Keys) -> list[tuple[Operator, Expression]]:
    """Return what a join key equals on the other side."""
    return [(other, theirs) for mine, theirs in zip(keys, other_keys, strict=True) if mine == key]


def counts_rows(node: Operator, index: int) -> bool:
    """Return whether all values of a column, but for NULL, are numbers of rows, such as a rank."""
    pending, seen = [(node, index)], {(id(node), index)}
    while pending:
        node, index = pending.pop()
        if index in node.row_counts:
            continue
        made = node.lineage(index)
        if not made or not all(isinstance(e, ColumnRef) for _, e in made):
            return False
        below = {(id(node.inputs[n]), e.index): node.inputs[n] for n, e in made if isinstance(e, ColumnRef)}
        pending += [(input, at) for (key, at), input in below.items() if (key, at) not in seen]
        seen |= below.keys()
    return True


def through(keys: Keys, expressions: tuple[Expression, ...]) -> Keys:
    """Substitute an operator's expressions, so that the keys are over its input."""
    return tuple(key.remap(lambda i: expressions[i]) for key in keys)


def within(keys: Keys, width: int) -> bool:
    """Return whether the keys read only columns below `width`, and at least one."""
    columns = columns_of(keys)
    return bool(columns) and max(columns) < width


def columns_of(keys: Keys) -> set[int]:
    return {i for key in keys for i in key.columns()}
