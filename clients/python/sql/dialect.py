"""Makes DataFusion's arithmetic DuckDB's: `/` and avg give floats, and a division by zero gives NULL.

DataFusion divides integers as integers and decimals as decimals of a few more digits, which loses what DuckDB keeps.
The rewritten plan goes through DataFusion once more, which makes all types agree again.
"""

from __future__ import annotations

from google.protobuf.message import Message
from substrait.algebra_pb2 import AggregateFunction, Expression
from substrait.plan_pb2 import Plan
from substrait.type_pb2 import Type

_NULL_IF = "nullif"


def rewrite(plan: Plan) -> bool:
    """Changes `plan` in place; whether there was anything to change."""
    names = {e.extension_function.function_anchor: e.extension_function.name.split(":")[0] for e in plan.extensions}
    divisions = {anchor for anchor, name in names.items() if name == "divide"}
    averages = {anchor for anchor, name in names.items() if name == "avg"}
    if not divisions and not averages:
        return False
    found = _Found()
    _collect(plan, divisions, averages, found)
    if found.divisions:
        anchor = next((a for a, name in names.items() if name == _NULL_IF), None)
        if anchor is None:
            anchor = max(names) + 1
            function = plan.extensions.add().extension_function
            function.function_anchor, function.name = anchor, _NULL_IF
            function.extension_urn_reference = plan.extensions[0].extension_function.extension_urn_reference
        for division in found.divisions:
            for argument in division.arguments:
                _to_float(argument.value)
            if not _is_nonzero_literal(division.arguments[1].value):
                _null_if_zero(division.arguments[1].value, anchor)
    for average in found.averages:
        for argument in average.arguments:
            _to_float(argument.value)
    return bool(found.divisions or found.averages)


class _Found:
    def __init__(self) -> None:
        self.divisions: list[Expression.ScalarFunction] = []
        self.averages: list[AggregateFunction | Expression.WindowFunction] = []


def _collect(plan: Message, divisions: set[int], averages: set[int], found: _Found) -> None:
    """All calls of the functions, deepest last."""
    stack: list[Message] = [plan]
    while stack:
        message = stack.pop()
        if isinstance(message, Expression.ScalarFunction):
            if message.function_reference in divisions and len(message.arguments) == 2:
                found.divisions.append(message)
        elif hasattr(message, "function_reference") and message.function_reference in averages:
            found.averages.append(message)
        for field, value in message.ListFields():
            if field.message_type is None or field.message_type.GetOptions().map_entry:
                continue
            stack.extend(value if field.is_repeated else (value,))


def _to_float(expression: Expression) -> None:
    inner = Expression()
    inner.CopyFrom(expression)
    expression.Clear()
    expression.cast.input.CopyFrom(inner)
    expression.cast.type.fp64.nullability = Type.NULLABILITY_NULLABLE
    expression.cast.failure_behavior = Expression.Cast.FAILURE_BEHAVIOR_THROW_EXCEPTION


def _is_nonzero_literal(expression: Expression) -> bool:
    literal = expression.cast.input.literal
    kind = literal.WhichOneof("literal_type")
    if kind == "decimal":
        return any(literal.decimal.value)
    return kind in ("i8", "i16", "i32", "i64", "fp32", "fp64") and getattr(literal, kind) != 0


def _null_if_zero(expression: Expression, anchor: int) -> None:
    inner = Expression()
    inner.CopyFrom(expression)
    expression.Clear()
    call = expression.scalar_function
    call.function_reference = anchor
    call.arguments.add().value.CopyFrom(inner)
    call.arguments.add().value.literal.fp64 = 0.0
