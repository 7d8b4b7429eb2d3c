"""Turns joins into those that only look for a partner: left joins that keep rows without one into anti joins, inner
joins of which only the rows of one side count into semi joins. These build keys and keep no pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import mirrored, references, unique, uses
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Literal, conjunction, conjuncts
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Filter, Join, Operator, Project, rewrite

#: pairs for each row that a semi join leaves, from which on it is worth its fixed build side
PAIRS_MIN = 2.0


def anti_joins(plan: Plan) -> Plan:
    """Rewrite `(l left join r) where r.key is null` as `l anti join r`, with NULL for the columns of r."""
    used = uses(plan.root)

    def change(node: Operator) -> Operator:
        if not isinstance(node, Filter) or not isinstance(node.input, Join) or node.input.type is not JoinType.LEFT:
            return node
        join, terms = node.input, conjuncts(node.predicate)
        rest = tuple(t for t in terms if not _says_unmatched(t, join))
        if len(rest) == len(terms) or used[id(join)] > 1:
            return node
        nothing = [Literal(f.type.with_nullable(True), None) for f in join.right.schema]
        columns: tuple[Expression, ...] = (*references(join.left.schema), *nothing)
        new = Project(replace(join, type=JoinType.ANTI), columns, join.schema.names)
        return Filter(new, conjunction(rest)) if rest else new

    root = rewrite(plan.root, change)
    return plan.over(root)


def _says_unmatched(term: Expression, join: Join) -> bool:
    """Return whether the term is TRUE only for rows without a partner: it tests a right column for NULL that is a key
    or not nullable."""
    if not isinstance(term, Call) or term.function != "is_null" or not isinstance(term.args[0], ColumnRef):
        return False
    index = term.args[0].index - len(join.left.schema)
    if index < 0:
        return False
    key = any(isinstance(k, ColumnRef) and k.index == index for k in join.right_keys)
    return key or not join.right.schema[index].type.nullable


def semi_joins(plan: Plan) -> Plan:
    """Rewrite `l semi join project(a join b)` of columns of a as `l semi join project(a semi join b)`, where the
    estimate has many pairs."""
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
        assert isinstance(node, Join)
        return replace(node, right=new)

    root = rewrite(plan.root, change)
    return plan.over(root)


def _asked(node: Operator) -> Operator | None:
    """Return the input of which only the different rows count."""
    return node.right if isinstance(node, Join) and not node.type.pairs else None


def _reduced(plan: Plan, node: Operator) -> Operator:
    if not isinstance(node, Project) or not isinstance(node.input, Join) or any(map(may_fail, node.expressions)):
        return node
    join, expressions = node.input, node.expressions
    columns = {i for e in expressions for i in e.columns()}
    if join.type.existence is None or not join.left_keys or not columns:
        return node
    if min(columns) >= len(join.left.schema) and (found := mirrored(join)) is not None:
        join, places = found
        expressions = tuple(e.remap(places.__getitem__) for e in expressions)
    elif max(columns) >= len(join.left.schema):
        return node
    assert join.type.existence is not None
    semi = replace(join, type=join.type.existence)
    pairs, rows = plan.estimator.of(join).rows, plan.estimator.of(semi).rows
    if pairs is None or rows is None or pairs < PAIRS_MIN * rows:
        return node
    return Project(semi, expressions, node.names)
