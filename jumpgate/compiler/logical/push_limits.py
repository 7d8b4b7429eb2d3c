"""Pushes limits down into sorts and other limits, which then hold no more rows than are read."""

from __future__ import annotations

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import uses
from jumpgate.dataflow.operators import Operator


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
        if most is not None and (node.limits[1] is None or most < node.limits[1]):
            node = node.bounded(most)
        inputs = tuple(visit(i, bound) for i, bound in zip(node.inputs, node.enough(most), strict=True))
        return node if all(a is b for a, b in zip(inputs, node.inputs, strict=True)) else node.with_inputs(inputs)

    root = visit(plan.root, None)
    return plan.over(root)
