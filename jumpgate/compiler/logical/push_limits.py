"""Pushes limits down into sorts and other limits, which then hold no more rows than are read."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import uses
from jumpgate.dataflow.operators import Join, Limit, Operator, Project, Send, Sort, UnionAll


def push_limits(plan: Plan) -> Plan:
    """Bound sorts and limits below projections, unions, and joins that have a result for each row of a side. All else
    stays: what computes rows as they are read stops by itself. Shared nodes stay, too."""
    used = uses(plan.root)
    shared: dict[int, Operator] = {}

    def visit(node: Operator, most: int | None) -> Operator:
        """Return `node`, of which at most the first `most` rows are read."""
        if used[id(node)] <= 1:
            return push(node, most)
        if id(node) not in shared:
            shared[id(node)] = push(node, None)
        return shared[id(node)]

    def push(node: Operator, most: int | None) -> Operator:
        node = _bounded(node, most)
        inputs = tuple(visit(i, bound) for i, bound in zip(node.inputs, _bounds(node, most), strict=True))
        return node if all(a is b for a, b in zip(inputs, node.inputs, strict=True)) else node.with_inputs(inputs)

    root = visit(plan.root, None)
    assert isinstance(root, Send)
    return plan if root is plan.root else replace(plan, root=root)


def _bounds(node: Operator, most: int | None) -> tuple[int | None, ...]:
    """Return how many rows of each input are enough; None: all."""
    match node:
        case Limit():
            return (node.offset + node.count,)
        case Project() | UnionAll():
            return (most,) * len(node.inputs)
        case Join() if node.type.matched and node.type.unmatched and not node.type.unmatched_right:
            return most, None
    return (None,) * len(node.inputs)


def _bounded(node: Operator, most: int | None) -> Operator:
    """Return the operator with a lower limit of its own, if it has one."""
    if most is not None and isinstance(node, Limit) and most < node.count:
        return replace(node, count=most)
    if most is not None and isinstance(node, Sort) and (node.limit is None or most < node.limit):
        return replace(node, limit=most)
    return node
