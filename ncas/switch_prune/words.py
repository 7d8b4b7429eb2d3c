"""Columns as the words of a packet: a key of 64 bits, and values of 32 bits that the switch compares as unsigned.

Everything here is an expression that the sender computes. A value's word never falls where the value rises, so that
what the switch finds smaller is smaller; it is *exact* where different values have different words.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

from jumpgate.dataflow.expressions import Case, Expression, Literal
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.types import DataType, date, decimal, int32, int64
from jumpgate.ncas.switch.wire import DIGITS_MAX, converted, wide_type

INTEGER_BITS = {"bool": 2, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
KEY_BITS, WORD_BITS = 64, 32
WORD_MAX, INT64_MAX = (1 << 32) - 1, (1 << 63) - 1
#: days as year · 512 + month · 32 + day; the years of 32 bits of days take so many bits
DATE_BITS = 33
EPOCH = datetime.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = (day.toordinal() - EPOCH for day in (datetime.date.min, datetime.date.max))


@dataclass(frozen=True)
class Number:
    """A column as a signed integer of `bits` bits; `exact`: different values are different numbers."""

    expression: Expression
    bits: int
    exact: bool = True


def literal(value: int) -> Literal:
    return Literal(int64.with_nullable(False), value)


def number(e: Expression) -> Number | None:
    """The column as an int64 expression in its order; None if there is none (text, floats, wide decimals)."""
    type = e.type
    if type.kind in INTEGER_BITS:
        return Number(cast_to(e, int64), INTEGER_BITS[type.kind])
    if type.kind == "decimal" and type.precision <= DIGITS_MAX:
        unscaled = e
        if type.scale:
            power = Literal(decimal(type.scale + 1, 0, False), 10**type.scale)
            unscaled = bind("multiply", (e, power))
        return Number(cast_to(unscaled, int64), (10**type.precision).bit_length() + 1)
    if type.kind in ("date", "timestamp"):
        day = converted(e, date)
        parts = [(bind("year", (day,)), 512), (bind("month", (day,)), 32), (bind("day", (day,)), 1)]
        terms = [bind("multiply", (cast_to(part, int64), literal(by))) for part, by in parts]
        return Number(bind("add", (bind("add", (terms[0], terms[1])), terms[2])), DATE_BITS, type.kind == "date")
    return None


def at_number(type: DataType, end: float) -> int:
    """Where a bound of a column (as ColumnStatistics has it) lies among what `number` makes of its values."""
    if type.kind == "decimal":
        return round(end * float(10**type.scale))
    if type.kind in ("date", "timestamp"):
        days = end if type.kind == "date" else end / 86_400e6
        day = datetime.date.fromordinal(EPOCH + min(max(math.floor(days), FIRST_DAY), LAST_DAY))
        return day.year * 512 + day.month * 32 + day.day
    return round(end)


def steps(n: Number, bounds: Sequence[int], values: Sequence[int]) -> Expression:
    """The value of the first bound (rising) that the number is below, the last value if it is below none; NULL of NULL.
    There is a value more than bounds."""
    branches: list[Expression] = []
    for bound, value in zip(bounds, values, strict=False):
        branches += [bind("lt", (n.expression, literal(bound))), literal(value)]
    branches += [bind("ge", (n.expression, literal(bounds[-1]))), literal(values[-1])]
    return cast_to(Case(n.expression.type, tuple(branches), n.expression), int32)


def word(n: Number, complement: bool = False) -> tuple[Expression, bool]:
    """The number as an unsigned word (the bits of an int32), and whether it is exact; numbers beyond 32 bits become the
    least or the greatest word. `complement`: in the opposite order."""
    value, exact = n.expression, n.exact
    least = -(1 << min(n.bits, WORD_BITS) - 1)
    if n.bits > WORD_BITS:
        exact = False
        value = between(value, least, -1 - least)
    if complement:
        value = bind("subtract", (literal(-1), value))
    return bits_of(bind("subtract", (value, literal(least)))), exact


def within(n: Number, low: int, complement: bool = False) -> Expression:
    """The number as an unsigned word, if it is one of the 2^32 from `low` on; else NULL, so that the row passes.
    `complement`: in the opposite order."""
    high = low + WORD_MAX
    near = between(n.expression, low, high)
    offset = (literal(high), near) if complement else (near, literal(low))
    outside = bind("lt", (n.expression, literal(low))), bind("gt", (n.expression, literal(high)))
    null = Literal(int32, None)
    return Case(int32, (outside[0], null, outside[1], null), bits_of(bind("subtract", offset)))


def unsigned(n: Number) -> Expression:
    """The number itself as an unsigned word, a negative one as 0 and one that is too large as the greatest."""
    return bits_of(between(n.expression, 0, WORD_MAX))


def between(value: Expression, least: int, greatest: int) -> Expression:
    """The nearest number from `least` to `greatest`."""
    conditions = bind("lt", (value, literal(least))), bind("gt", (value, literal(greatest)))
    return Case(value.type, (conditions[0], literal(least), conditions[1], literal(greatest)), value)


def bits_of(value: Expression) -> Expression:
    """An int64 from 0 to 2^32 - 1 as the int32 of the same 32 bits."""
    half, whole = 1 << WORD_BITS - 1, 1 << WORD_BITS
    wrapped = Case(value.type, (bind("ge", (value, literal(half))), bind("subtract", (value, literal(whole)))), value)
    return cast_to(wrapped, int32)


def key(expressions: tuple[Expression, ...]) -> Expression | None:
    """64 bits that tell all values of the columns together apart; None if there is no such key. NULL if any is."""
    if len(expressions) == 1 and (type := wide_type(expressions[0].type)) is not None:
        return converted(expressions[0], type)
    return packed(expressions, KEY_BITS)


def packed(expressions: tuple[Expression, ...], bits_max: int) -> Expression | None:
    """An integer of at most `bits_max` bits, with its sign, that tells all values of the columns together apart; None
    if there is none. NULL if any is."""
    found: Expression | None = None
    bits = 0
    for n in map(number, expressions):
        if n is None or not n.exact or (bits := bits + n.bits) > bits_max:
            return None
        if found is None:
            found = n.expression
        else:
            shifted = bind("multiply", (found, literal(1 << n.bits)))
            found = bind("add", (shifted, bind("add", (n.expression, literal(1 << n.bits - 1)))))
    return found


def some_key(expressions: tuple[Expression, ...]) -> tuple[Expression, str]:
    """64 bits that are equal where the columns are, and seldom otherwise; and what explain says of them."""
    found = key(expressions)
    if found is not None:
        return found, ""
    return bind("fingerprint", expressions), f"keys by fingerprints of {KEY_BITS} bits"
