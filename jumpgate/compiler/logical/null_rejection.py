"""Null-rejecting predicates: conditions that no row satisfies with NULL in certain columns (Galindo-Legaria and
Rosenthal, TODS 1997)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from jumpgate.compiler.logical.normalise import computed
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, Literal, Member, conjuncts
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.functions import find


def rejects(condition: Expression, nulls: Set[int], dialect: Dialect) -> bool:
    """Return whether the condition is never TRUE and never fails for rows with NULL in these columns. Earlier terms
    guard later ones."""
    for term in conjuncts(condition):
        left = with_nulls(term, nulls, dialect)
        if may_fail(left):
            return False
        if _is_never(left, True):
            return True
    return False


def with_nulls(expression: Expression, nulls: Set[int], dialect: Dialect) -> Expression:
    """Simplify the expression for rows with NULL in these columns. The result fails for such a row only if the whole
    expression does."""
    if isinstance(expression, ColumnRef):
        return _null(expression) if expression.index in nulls else expression
    children = tuple(with_nulls(c, nulls, dialect) for c in expression.children)
    if all(a is b for a, b in zip(children, expression.children, strict=True)):
        return expression
    expression = expression.with_children(children)
    if _is_strict(expression) and any(map(is_null, children)) and not any(map(may_fail, children)):
        return _null(expression)
    return _chosen(expression) if isinstance(expression, Case) else computed(expression, dialect)


def is_null(expression: Expression) -> bool:
    """Return whether the expression is a NULL literal."""
    return isinstance(expression, Literal) and expression.value is None


def _null(expression: Expression) -> Literal:
    return Literal(expression.type.with_nullable(True), None)


def _is_strict(expression: Expression) -> bool:
    """Return whether the expression is NULL if any operand is."""
    if isinstance(expression, Call):
        return find(expression.function).strict
    return isinstance(expression, Cast | Member)


def _chosen(case: Case) -> Expression:
    """Remove the branches of a CASE that no row takes."""
    branches: list[Expression] = []
    otherwise = case.otherwise
    for condition, value in zip(case.branches[::2], case.branches[1::2], strict=True):
        if isinstance(condition, Literal) and condition.value is True:
            otherwise = value
            break
        if may_fail(condition) or not _is_never(condition, True):
            branches += (condition, value)
    return replace(case, branches=tuple(branches), otherwise=otherwise) if branches else otherwise


def _is_never(condition: Expression, value: bool) -> bool:
    """Return whether the condition has this value for no row."""
    match condition:
        case Literal():
            return condition.value is not value
        case Call(function="and" | "or"):
            each = (_is_never(a, value) for a in condition.args)
            return any(each) if value is (condition.function == "and") else all(each)
        case Call(function="not"):
            return _is_never(condition.args[0], not value)
        case Case():
            return all(_is_never(v, value) for v in (*condition.branches[1::2], condition.otherwise))
    return False
