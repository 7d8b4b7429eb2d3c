"""Columns as the 64-bit integers that a switch computes with, and back: both ways exact, and never failing."""

from __future__ import annotations

from jumpgate.dataflow.casts import cast_type
from jumpgate.dataflow.expressions import Cast, Expression
from jumpgate.dataflow.types import DataType, int64, timestamp

#: digits of a decimal that is held in 64 bits
DIGITS_MAX = 18


def wide_type(type: DataType) -> DataType | None:
    """The type of 64 bits that holds every value of `type` in its order; None if there is none."""
    if type.is_integer:
        return int64.with_nullable(type.nullable)
    if type.kind == "date":
        return timestamp.with_nullable(type.nullable)
    if type.kind == "timestamp" or (type.kind == "decimal" and type.precision <= DIGITS_MAX):
        return type
    return None


def converted(expression: Expression, type: DataType) -> Expression:
    """`expression` in another type, whose nullability does not matter; itself where it has it."""
    if expression.type.same(type):
        return expression
    return Cast(cast_type(expression.type, type, "error"), expression)
