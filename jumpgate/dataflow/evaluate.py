"""Evaluates a typed expression on one row of plain Python values: the oracle that conformance tests compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jumpgate.dataflow.casts import cast_value
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, Member, Value
from jumpgate.dataflow.functions import apply, find
from jumpgate.dataflow.reference import Site, compare
from jumpgate.errors import ComputeError


def evaluate(expression: Expression, row: Sequence[Value], dialect: Dialect = DEFAULT) -> Value:
    """The expression's value for `row` (one value a column, as Literal holds them). Raises ComputeError's leaves.

    AND, OR and COALESCE evaluate their arguments from left to right until the outcome is certain, a CASE only what its
    conditions select: what is not evaluated cannot fail. All other functions evaluate all arguments.
    """
    match expression:
        case ColumnRef():
            return row[expression.index]
        case Literal():
            return expression.value
        case Call():
            values = _arguments(expression, row, dialect)
            types = tuple(a.type for a in expression.args)
            return apply(expression.function, types, expression.type, dialect, values)
        case Member():
            struct: Any = evaluate(expression.input, row, dialect)
            return None if struct is None else struct[expression.number]
        case Cast():
            value = evaluate(expression.input, row, dialect)
            try:
                return cast_value(value, expression.input.type, expression.type, dialect)
            except ComputeError:
                if expression.on_failure == "null":
                    return None
                raise
        case Case():
            for condition, value_of in zip(expression.branches[::2], expression.branches[1::2], strict=True):
                if evaluate(condition, row, dialect) is True:
                    return evaluate(value_of, row, dialect)
            return evaluate(expression.otherwise, row, dialect)
        case InList():
            return _in(expression, evaluate(expression.input, row, dialect), dialect)
    raise TypeError(f"cannot evaluate {type(expression).__name__}")


def _arguments(call: Call, row: Sequence[Value], dialect: Dialect) -> tuple[Value, ...]:
    settles = find(call.function).settles
    values: list[Value] = []
    for argument in call.args:
        values.append(evaluate(argument, row, dialect))
        if settles is not None and settles(values[-1]):
            break
    return tuple(values)


def _in(expression: InList, value: Value, dialect: Dialect) -> Value:
    if value is None:
        return None if expression.options else False
    site = Site((expression.input.type,), expression.type, dialect)
    options = [o.value for o in expression.options]
    if any(o is not None and compare(site, value, o) == 0 for o in options):
        return True
    return None if None in options else False
