"""Reference bodies of the scalar functions (functions.py) on plain Python values. The oracle."""

from __future__ import annotations

import datetime
import decimal as pydecimal
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jumpgate.dataflow.casts import (
    TypeMismatch,
    divide_half_away,
    fits,
    from_unscaled,
    round_half_away,
    to_float,
    unscaled,
)
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.fingerprints import fingerprint as fingerprint_of
from jumpgate.dataflow.types import DataType
from jumpgate.errors import CannotPlace, ComputeError, DivisionByZero, Overflow


@dataclass(frozen=True)
class Site:
    """The context of a call: operand types, result type, dialect."""

    types: tuple[DataType, ...]
    type: DataType
    dialect: Dialect

    def number(self, value: int) -> Value:
        """A computed integer (a decimal's scaled integer) as the result type; Overflow outside its range."""
        if not fits(value, self.type):
            raise Overflow(f"{value} is out of the range of {self.type.name}")
        return from_unscaled(value, self.type.scale) if self.type.kind == "decimal" else value

    def scaled(self, value: Any, operand: int = 0) -> int:
        """An operand as the integer that represents it."""
        return unscaled(value, self.types[operand].scale) if isinstance(value, pydecimal.Decimal) else int(value)


def guarded(body: Callable[..., Value], site: Site, values: tuple[Value, ...]) -> Value:
    """Calls a body, with failures turned to NULL where the dialect says so."""
    try:
        return body(site, *values)
    except Overflow:
        if site.dialect.on_overflow == "wrap":
            raise CannotPlace("silent wrap-around on overflow is computed by no accelerator") from None
        if site.dialect.on_overflow == "error":
            raise
    except DivisionByZero:
        if site.dialect.division_by_zero != "null":
            raise
    return None


def compare(site: Site, a: Any, b: Any) -> int | None:
    """-1, 0 or 1; None where NaN is unordered (dialect nan = ieee)."""
    if isinstance(a, float) and (math.isnan(a) or math.isnan(b)):
        if site.dialect.nan == "ieee":
            return None
        return math.isnan(a) - math.isnan(b)
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return int(a > b) - int(a < b)


def eq(site: Site, a: Value, b: Value) -> bool:
    return compare(site, a, b) == 0


def ne(site: Site, a: Value, b: Value) -> bool:
    return compare(site, a, b) != 0


def lt(site: Site, a: Value, b: Value) -> bool:
    return compare(site, a, b) == -1


def le(site: Site, a: Value, b: Value) -> bool:
    return compare(site, a, b) in (-1, 0)


def gt(site: Site, a: Value, b: Value) -> bool:
    return compare(site, a, b) == 1


def ge(site: Site, a: Value, b: Value) -> bool:
    return compare(site, a, b) in (0, 1)


def is_not_distinct(site: Site, a: Value, b: Value) -> bool:
    return a is b if a is None or b is None else eq(site, a, b)


def is_distinct(site: Site, a: Value, b: Value) -> bool:
    return not is_not_distinct(site, a, b)


def is_null(site: Site, a: Value) -> bool:
    return a is None


def is_not_null(site: Site, a: Value) -> bool:
    return a is not None


def and_(site: Site, *args: Value) -> Value:
    return False if False in args else None if None in args else True


def or_(site: Site, *args: Value) -> Value:
    return True if True in args else None if None in args else False


def not_(site: Site, a: Value) -> Value:
    return not a


def _arithmetic(site: Site, on: Callable[[Any, Any], Any], a: Any, b: Any) -> Value:
    if isinstance(a, float):
        return to_float(on(a, b), site.type)
    return site.number(on(site.scaled(a, 0), site.scaled(b, 1)))


def add(site: Site, a: Value, b: Value) -> Value:
    return _arithmetic(site, operator.add, a, b)


def subtract(site: Site, a: Value, b: Value) -> Value:
    return _arithmetic(site, operator.sub, a, b)


def multiply(site: Site, a: Value, b: Value) -> Value:
    return _arithmetic(site, operator.mul, a, b)


def _not_zero(site: Site, divisor: Any) -> None:
    if divisor == 0:
        raise DivisionByZero("division by zero")


def divide(site: Site, a: Any, b: Any) -> Value:
    if b == 0 and site.dialect.division_by_zero == "ieee":
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    _not_zero(site, b)
    return to_float(a / b, site.type)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def int_divide(site: Site, a: Any, b: Any) -> Value:
    _not_zero(site, b)
    return site.number(_truncated(a, b))


def modulo(site: Site, a: Any, b: Any) -> Value:
    if isinstance(a, float) and b == 0 and site.dialect.division_by_zero == "ieee":
        return math.nan
    _not_zero(site, b)
    if isinstance(a, float):
        return math.nan if math.isinf(a) else math.fmod(a, b)
    x, y = site.scaled(a), site.scaled(b, 1)
    return site.number(x - y * _truncated(x, y))


def negate(site: Site, a: Any) -> Value:
    return -a if isinstance(a, float) else site.number(-site.scaled(a))


def abs_(site: Site, a: Any) -> Value:
    return abs(a) if isinstance(a, float) else site.number(abs(site.scaled(a)))


def round_(site: Site, a: Any, digits: int = 0) -> Value:
    if isinstance(a, float):
        return to_float(_round_float(a, digits), site.type)
    scale = site.types[0].scale
    number = site.scaled(a)
    if digits >= scale:
        return site.number(number)
    by = 10 ** (scale - digits)
    return site.number(divide_half_away(number, by) * 10 ** max(0, -digits))


def _round_float(a: float, digits: int) -> float:
    power = 10.0 ** abs(digits)
    moved = a * power if digits >= 0 else a / power
    if not math.isfinite(moved):
        return a
    return round_half_away(moved) / power if digits >= 0 else round_half_away(moved) * power


def floor(site: Site, a: Any) -> Value:
    if isinstance(a, float):
        return math.copysign(math.floor(a), a) if math.isfinite(a) else a
    return site.number(site.scaled(a) // 10 ** site.types[0].scale)


def ceil(site: Site, a: Any) -> Value:
    if isinstance(a, float):
        return math.copysign(math.ceil(a), a) if math.isfinite(a) else a
    return site.number(-(-site.scaled(a) // 10 ** site.types[0].scale))


def sqrt(site: Site, a: Any) -> Value:
    if a < 0:
        raise ComputeError(f"sqrt of a negative number: {a}")
    return math.sqrt(a)


def like_tokens(pattern: str, escape: str | None) -> tuple[str, ...]:
    """The pattern as tokens: `%`, `_`, or `=c` for the character c. Raises ValueError on a stray escape."""
    tokens = []
    characters = iter(pattern)
    for c in characters:
        if c == escape:
            following = next(characters, "")
            if not following or following not in ("%", "_", escape):
                raise ValueError(f"like: the escape {escape!r} must precede %, _ or itself in {pattern!r}")
            tokens.append("=" + following)
        else:
            tokens.append(c if c in "%_" else "=" + c)
    return tuple(tokens)


def like_literals(function: str, pattern: Value, escape: Value) -> None:
    """Raise TypeMismatch for a pattern or an escape without a meaning."""
    if escape is not None and len(str(escape)) != 1:
        raise TypeMismatch(f"{function}: the escape is a single character")
    try:
        like_tokens(str(pattern), None if escape is None else str(escape))
    except ValueError as e:
        raise TypeMismatch(str(e)) from None


def like(site: Site, text: str, pattern: str, escape: str | None = None) -> Value:
    reachable = {0}  # positions of `text` that the tokens so far can reach
    for token in like_tokens(pattern, escape):
        if token == "%":
            reachable = set(range(min(reachable), len(text) + 1)) if reachable else set()
        else:
            reachable = {p + 1 for p in reachable if p < len(text) and (token == "_" or token[1] == text[p])}
    return len(text) in reachable


def substring(site: Site, text: str, start: int, length: int | None = None) -> Value:
    if length is not None and length < 0:
        raise ComputeError(f"substring: a length of {length}")
    end = None if length is None else max(0, start - 1 + length)
    return text[max(0, start - 1) : end]


def concat(site: Site, *texts: str) -> Value:
    return "".join(texts)


def upper(site: Site, text: str) -> Value:
    return text.upper()


def lower(site: Site, text: str) -> Value:
    return text.lower()


def trim(site: Site, text: str) -> Value:
    return text.strip(" ")


def ltrim(site: Site, text: str) -> Value:
    return text.lstrip(" ")


def rtrim(site: Site, text: str) -> Value:
    return text.rstrip(" ")


def char_length(site: Site, text: str) -> Value:
    return len(text)


def starts_with(site: Site, text: str, part: str) -> Value:
    return text.startswith(part)


def ends_with(site: Site, text: str, part: str) -> Value:
    return text.endswith(part)


def contains(site: Site, text: str, part: str) -> Value:
    return part in text


def coalesce(site: Site, *args: Value) -> Value:
    return next((a for a in args if a is not None), None)


def null_if(site: Site, a: Value, b: Value) -> Value:
    return None if a is not None and b is not None and eq(site, a, b) else a


def fingerprint(site: Site, *args: Value) -> int:
    return fingerprint_of(args, site.types)


def year(site: Site, a: datetime.date) -> Value:
    return a.year


def quarter(site: Site, a: datetime.date) -> Value:
    return (a.month + 2) // 3


def month(site: Site, a: datetime.date) -> Value:
    return a.month


def day(site: Site, a: datetime.date) -> Value:
    return a.day


def day_of_week(site: Site, a: datetime.date) -> Value:
    return a.isoweekday() % 7


def hour(site: Site, a: datetime.datetime) -> Value:
    return a.hour


def minute(site: Site, a: datetime.datetime) -> Value:
    return a.minute


def second(site: Site, a: datetime.datetime) -> Value:
    return a.second


def date_add_days(site: Site, a: datetime.date, days: int) -> Value:
    try:
        return a + datetime.timedelta(days)
    except OverflowError:
        raise Overflow(f"{a} + {days} days is outside the years 1 to 9999") from None
