"""Moves outer, semi, anti and mark joins above the inner joins around them, which leave fewer rows to look up."""

from __future__ import annotations

from collections.abc import Mapping

from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import Join, Operator, column


def may_wait(node: Operator) -> bool:
    """Return whether the join's result for a left row depends on that row alone, so that other rows can be dropped
    earlier."""
    if not isinstance(node, Join) or node.type.any_order or node.type.unmatched_right:
        return False
    return bool(node.left_keys) and not node.builds_left


def after(top: Operator, join: Join, right: Operator, place: Mapping[int, int]) -> Join:
    """Return the join with `top` as its left input, in which column i of the former left input is place[i]."""
    width, shift = len(join.left.schema), len(top.schema)
    pairs = (*top.schema.fields, *right.schema.fields)

    def moved(index: int) -> Expression:
        at = place[index] if index < width else shift + index - width
        return ColumnRef(pairs[at].type, at, pairs[at].name)

    keys = tuple(key.remap(lambda i: column(top.schema, place[i])) for key in join.left_keys)
    residual = None if join.residual is None else join.residual.remap(moved)
    return Join(top, right, join.type, keys, join.right_keys, residual)
