"""Turns inner joins whose pairs are only asked for the rows of one side into semi joins: one partner a row is enough."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import mirrored, unique, uses
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Aggregate, Join, Operator, Project, Send, rewrite

#: pairs for each row that a semi join leaves, from which on it is worth its fixed build side
PAIRS_MIN = 2.0


def semi_joins(plan: Plan) -> Plan:
    """Rewrite `l semi join project(a join b)` of columns of a as `l semi join project(a semi join b)`, and likewise
    below distinct rows, where the estimate has many pairs."""
    used = uses(plan.root)
    asked = Counter(id(node) for node in map(_asked, unique(plan.root)) if node is not None)
    changed: dict[int, Operator] = {}

    def without_pairs(node: Operator) -> Operator:
        if id(node) not in changed:
            alone = used[id(node)] == asked[id(node)] and all(used[id(i)] == 1 for i in node.inputs)
            changed[id(node)] = _reduced(plan, node) if alone else node
        return changed[id(node)]

    def change(node: Operator) -> Operator:
        place = _asked(node)
        if place is None or (new := without_pairs(place)) is place:
            return node
        return replace(node, right=new) if isinstance(node, Join) else node.with_inputs((new,))

    root = rewrite(plan.root, change)
    assert isinstance(root, Send)
    return plan if root is plan.root else replace(plan, root=root)


def _asked(node: Operator) -> Operator | None:
    """Return the input of which only the different rows count."""
    if isinstance(node, Join) and not node.type.pairs:
        return node.right
    if isinstance(node, Aggregate) and node.keys and not node.measures:
        return node.input
    return None


def _reduced(plan: Plan, node: Operator) -> Operator:
    if not isinstance(node, Project) or not isinstance(node.input, Join) or any(map(may_fail, node.expressions)):
        return node
    join, expressions = node.input, node.expressions
    columns = {i for e in expressions for i in e.columns()}
    if join.type is not JoinType.INNER or not join.left_keys or not columns:
        return node
    if min(columns) >= len(join.left.schema) and (found := mirrored(join)) is not None:
        join, places = found
        expressions = tuple(e.remap(places.__getitem__) for e in expressions)
    elif max(columns) >= len(join.left.schema):
        return node
    semi = replace(join, type=JoinType.SEMI)
    pairs, rows = plan.estimator.of(join).rows, plan.estimator.of(semi).rows
    if pairs is None or rows is None or pairs < PAIRS_MIN * rows:
        return node
    return Project(semi, expressions, node.names)
