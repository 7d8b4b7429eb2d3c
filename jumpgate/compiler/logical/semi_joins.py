"""Turns joins into those that only look for a partner: mark joins under a filter on their mark and left joins that keep
rows without one into semi and anti joins, inner joins of which only the rows of one side count into semi joins. These
build keys and keep no pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import mirrored, references, unique, uses
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Literal, conjunction, conjuncts
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.joins import with_partners
from jumpgate.dataflow.operators import Filter, Join, Operator, Project, rewrite

#: pairs for each row that a semi join leaves, from which on it is worth its fixed build side
PAIRS_MIN = 2.0


def existence_joins(plan: Plan) -> Plan:
    """Rewrite `(l left join r) where r.key is null` as `l anti join r`, with NULL for the columns of r, and
    `(l mark join r) where mark` as `l semi join r`, with TRUE for the mark."""
    used = uses(plan.root)

    def change(node: Operator) -> Operator:
        if not isinstance(node, Filter) or not isinstance(node.input, Join) or used[id(node.input)] > 1:
            return node
        join, terms = node.input, conjuncts(node.predicate)
        found = next((e for t in terms if (e := _existence(t, join)) is not None), None)
        if found is None:
            return node
        rest = tuple(t for t in terms if _existence(t, join) != found)
        existence, value = found
        added = join.schema.fields[len(join.left.schema) :]
        columns = (*references(join.left.schema), *(Literal(f.type.with_nullable(True), value) for f in added))
        new = Project(existence, columns, join.schema.names)
        return Filter(new, conjunction(rest)) if rest else new

    root = rewrite(plan.root, change)
    return plan.over(root)


def _existence(term: Expression, join: Join) -> tuple[Join, bool | None] | None:
    """Return the join that gives the rows for which the term is TRUE, and the value of its other columns there; None if
    there is no such join."""
    if join.type is JoinType.LEFT and _says_unmatched(term, join):
        return replace(join, type=JoinType.ANTI), None
    if not join.type.marks:
        return None
    if _is_marked(term, join):
        partners = with_partners(join.left, join.right, join.left_keys, join.right_keys)
        return replace(partners, residual=join.residual), True
    if isinstance(term, Call) and term.function == "not" and _is_marked(term.args[0], join):
        known = not isinstance(term.args[0], ColumnRef) or not any(e.type.nullable for e in join.own_expressions)
        return (replace(join, type=JoinType.ANTI), False) if known else None
    return None


def _is_marked(term: Expression, join: Join) -> bool:
    """Return whether the term is TRUE just for rows with a partner: the mark, or coalesce(mark, FALSE)."""
    if isinstance(term, Call) and term.function == "coalesce" and len(term.args) == 2:
        term, otherwise = term.args
        if not isinstance(otherwise, Literal) or otherwise.value is not False:
            return False
    return isinstance(term, ColumnRef) and term.index == len(join.left.schema)


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
