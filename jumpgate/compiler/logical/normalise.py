"""Normalises equal meanings to one form: distinct becomes an aggregate, approximate counts become exact, limit over
sort becomes top-n, constants are folded, terms shared by all alternatives of a condition are taken out."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.compiler.logical.common_terms import factored
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import is_identity, project, references
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import (
    Call,
    Cast,
    ColumnRef,
    Expression,
    InList,
    Literal,
    conjunction,
    conjuncts,
)
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Sort,
    UnionAll,
    Window,
    column,
    rewrite,
)
from jumpgate.dataflow.sketches import expanded
from jumpgate.errors import JumpgateError


def normalise(plan: Plan) -> Plan:
    """Rewrite bottom-up until every node has its normal form; shared nodes stay shared."""
    dialect = plan.options.dialect

    def change(node: Operator) -> Operator:
        return _rewritten(node.map_expressions(lambda e: fold(e, dialect)))

    root = rewrite(plan.root, change)
    return plan.over(root)


def _rewritten(node: Operator) -> Operator:
    match node:
        case Distinct():
            schema = node.input.schema
            return Aggregate(node.input, references(schema), schema.names, ())
        case Aggregate():
            return expanded(node)
        case Limit(input=Sort() | Limit()):
            return _first(node)
        case Filter():
            return _filter(node)
        case Join():
            return _join(node)
        case Project():
            return _project(node)
        case Window():
            return _window(node)
        case UnionAll(members=(only,)):
            return only
    return node


def _first(node: Limit) -> Operator:
    """Merge two limits."""
    inner = node.input
    have = inner.limit if isinstance(inner, Sort) else inner.count if isinstance(inner, Limit) else None
    count = node.count if have is None else max(0, min(node.count, have - node.offset))
    if isinstance(inner, Sort):
        return replace(inner, limit=count, offset=inner.offset + node.offset)
    assert isinstance(inner, Limit)
    return replace(inner, count=count, offset=inner.offset + node.offset)


def _filter(node: Filter) -> Operator:
    terms = _terms(node.predicate)
    if not terms:
        return node.input
    if isinstance(node.input, Filter):  # the inner terms first: they may guard the outer ones
        return replace(node.input, predicate=conjunction((*conjuncts(node.input.predicate), *terms)))
    return node if terms == conjuncts(node.predicate) else replace(node, predicate=conjunction(terms))


def _terms(predicate: Expression) -> tuple[Expression, ...]:
    """Return the terms of a condition without those that are TRUE."""
    terms = (t for term in conjuncts(predicate) for t in factored(term))
    return tuple(t for t in terms if not (isinstance(t, Literal) and t.value is True))


def _join(node: Join) -> Operator:
    """Drop the columns of the right side if a semi, anti or mark join only tests whether it has any row."""
    if node.residual is not None and (terms := _terms(node.residual)) != conjuncts(node.residual):
        node = replace(node, residual=conjunction(terms) if terms else None)
    asks = not node.type.pairs and not node.left_keys and node.residual is None
    return replace(node, right=Limit(node.right, 1)) if asks and not isinstance(node.right, Limit) else node


def _project(node: Project) -> Operator:
    if is_identity(node.expressions, len(node.input.schema)) and node.names == node.input.schema.names:
        return node.input
    if isinstance(node.input, Project) and all(isinstance(e, ColumnRef) for e in node.input.expressions):
        return project(node.input, node.expressions, node.names)
    return node


def _window(node: Window) -> Operator:
    """Compute the expressions of a window's order, partitions and arguments in a projection below it."""
    width = len(node.input.schema)
    keys = (*node.partition_by, *(k.expression for k in node.order_by))
    computed = [e for e in keys if not isinstance(e, ColumnRef | Literal)]  # a literal orders nothing
    computed += [e for f in node.functions for e in f.values if not isinstance(e, ColumnRef)]
    wanted = dict.fromkeys(computed)
    if not wanted:
        return node
    names = (*node.input.schema.names, *(f"key{i}" for i in range(len(wanted))))
    below = Project(node.input, (*references(node.input.schema), *wanted), names)
    found: dict[Expression, Expression] = {e: column(below.schema, width + i) for i, e in enumerate(wanted)}
    over = replace(
        node,
        partition_by=tuple(found.get(e, e) for e in node.partition_by),
        order_by=tuple(replace(k, expression=found.get(k.expression, k.expression)) for k in node.order_by),
        functions=tuple(f.with_values(tuple(found.get(e, e) for e in f.values)) for f in node.functions),
    )
    window = replace(over, input=below)
    kept = [*range(width), *range(width + len(wanted), len(window.schema))]
    return project(window, references(window.schema, kept), node.schema.names)


def fold(expression: Expression, dialect: Dialect) -> Expression:
    """Fold the constant parts of `expression` with the functions' reference bodies.

    A part that fails stays as it is: the error belongs to the run, and only if a row reaches it.
    """
    if isinstance(expression, ColumnRef | Literal):
        return expression
    children = tuple(fold(c, dialect) for c in expression.children)
    if any(a is not b for a, b in zip(children, expression.children, strict=True)):
        expression = expression.with_children(children)
    return computed(expression, dialect)


def computed(expression: Expression, dialect: Dialect) -> Expression:
    """Return the value of a constant call, cast or list as a literal; anything else unchanged. Nested values have
    none."""
    constant = all(isinstance(c, Literal) for c in expression.children)
    if not constant or not isinstance(expression, Call | Cast | InList) or expression.type.is_nested:
        return expression
    try:
        value = evaluate(expression, (), dialect)
    except JumpgateError:
        return expression
    return Literal(expression.type, value)
