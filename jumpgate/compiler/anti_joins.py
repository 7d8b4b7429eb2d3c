"""Turns left joins that keep only rows without a partner into anti joins, which build keys and keep no pairs."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import references, uses
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Literal, conjunction, conjuncts
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Filter, Join, Operator, Project, Send, rewrite


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
    assert isinstance(root, Send)
    return plan if root is plan.root else replace(plan, root=root)


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
