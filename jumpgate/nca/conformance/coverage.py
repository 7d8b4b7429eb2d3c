"""Names the parts of operators by which the kit counts what it has compared: functions, measures, shapes of joins and
literals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jumpgate.dataflow.expressions import Call, Case, Cast, Expression, InList, Literal
from jumpgate.dataflow.operators import Aggregate, Join, Operator, Prune, Window

#: joins of more keys are alike
KEYS_APART = 2


def parts(operators: Iterable[Operator]) -> set[str]:
    """Return the parts of all operators: "function upper", "measure sum int64", "join left, 2 keys", "literal date"."""
    return {part for operator in operators for part in _of_operator(operator)}


def _of_operator(operator: Operator) -> Iterator[str]:
    if isinstance(operator, Prune):
        yield from _of_operator(operator.input)
    if isinstance(operator, Join):
        yield _shape(operator)
    if isinstance(operator, Aggregate):
        yield from (f"measure {m.function}{_types(m.arguments)}" for m in operator.measures)
    if isinstance(operator, Window):
        yield from (f"window {f.function}{_types(f.arguments)}" for f in operator.functions)
    for root in operator.own_expressions:
        for expression in root.walk():
            yield from _of_expression(expression)


def _shape(join: Join) -> str:
    keys = len(join.left_keys)
    counted = "1 key" if keys == 1 else f"{keys} keys" if keys <= KEYS_APART else "many keys"
    return f"join {join.type}, {counted}{', a condition' if join.residual is not None else ''}"


def _types(expressions: Iterable[Expression]) -> str:
    return "".join(f" {e.type.kind}" for e in expressions)


def _of_expression(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Call):
        yield f"function {expression.function}"
    elif isinstance(expression, Cast):
        yield f"function cast to {expression.type.kind}"
    elif isinstance(expression, InList):
        yield "function in"
    elif isinstance(expression, Case):
        yield "function case"
    elif isinstance(expression, Literal):
        yield f"literal {expression.type.kind}"
