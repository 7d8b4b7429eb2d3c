"""Conversions between types: which exist, which are implicit, and what each does (the oracle of every other)."""

from __future__ import annotations

import datetime
import decimal as pydecimal
import math
import re
import struct
from collections.abc import Callable

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.types import DataType, decimal, float64, int64, timestamp, timestamp_ns
from jumpgate.errors import InvalidCast, Overflow

EPOCH = datetime.datetime(1970, 1, 1)
#: wide enough for every exact intermediate result of two 38-digit decimals
EXACT = pydecimal.Context(prec=200, Emax=1000, Emin=-1000)
INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
INTEGER_DIGITS = {"int8": 3, "int16": 5, "int32": 10, "int64": 19}

_CLOCKS = ("timestamp", "timestamp_ns", "timestamptz", "timestamptz_ns")
_NUMERIC = frozenset(("int8", "int16", "int32", "int64", "float32", "float64", "decimal"))
#: target kinds by source kind, beside the identity. float → string is absent: engines disagree about the digits.
_CASTS: dict[str, frozenset[str]] = {
    **{kind: _NUMERIC | ({"bool", "string"} if kind.startswith("int") else set()) for kind in _NUMERIC},
    "decimal": _NUMERIC | {"string"},
    "bool": frozenset((*INTEGER_BITS, "string")),
    "date": frozenset((*_CLOCKS, "string")),
    **dict.fromkeys(_CLOCKS, frozenset((*_CLOCKS, "date", "time", "string"))),
    "time": frozenset(("string",)),
    "duration": frozenset(("int64",)),
    "string": _NUMERIC | {"bool", "date", "time", *_CLOCKS, "binary"},
    "binary": frozenset(("string",)),
}
_CASTS["int64"] |= {"duration"}


class TypeMismatch(ValueError):
    """Types that do not go together; the builder turns it into InvalidDataflow with the operator's name."""


def can_cast(source: DataType, target: DataType) -> bool:
    """Return whether a Cast from `source` to `target` exists. Between moments of different zones the moment stays;
    conversions that need a zone's local time (its date, time, text, a timestamp without a zone) exist for UTC only.
    Nested values get other names of structs' fields."""
    if source.is_nested or source.kind == target.kind == "duration":
        return source.alike(target)
    if source.kind != target.kind and target.kind not in _CASTS[source.kind]:
        return False
    return (source.is_zoned and target.is_zoned) or not any(t.is_zoned and not t.is_utc for t in (source, target))


def cannot_fail(source: DataType, target: DataType) -> bool:
    """Return whether every value of `source` converts to `target` without Overflow or InvalidCast."""
    if source.alike(target) or source.kind == "bool":
        return True
    if source.kind == "string":
        return target.kind == "binary"
    if target.kind in ("timestamp_ns", "timestamptz_ns"):
        return source.kind in ("timestamp_ns", "timestamptz_ns")
    if target.kind in ("date", "time", "duration", *_CLOCKS):
        return True
    if target.kind in ("string", "bool"):
        return source.kind != "binary"
    if target.kind in ("float32", "float64"):
        return source.is_numeric
    if target.is_integer:
        return source.is_integer and INTEGER_BITS[source.kind] <= INTEGER_BITS[target.kind]
    if target.kind == "decimal" and not source.is_float and source.is_numeric:
        source = as_decimal(source)
        return source.scale <= target.scale and source.precision - source.scale <= target.precision - target.scale
    return False


def as_decimal(type: DataType) -> DataType:
    """Return the smallest decimal type that holds every value of an integer (or decimal) type."""
    return type if type.kind == "decimal" else decimal(INTEGER_DIGITS[type.kind], 0, type.nullable)


def common_type(types: tuple[DataType, ...]) -> DataType:
    """Return the type to which operands of a comparison, a sum or a CASE are implicitly cast; nullable if any is.

    Integers: the widest. Integers and decimals: the decimal with the most integer digits and the largest scale. A float
    with anything but the same float: float64. date and timestamp: timestamp. Moments of several zones: that of the
    first. Raises TypeMismatch.
    """
    result = types[0]
    for other in types[1:]:
        result = _common(result, other).with_nullable(result.nullable or other.nullable)
    return result


def _common(a: DataType, b: DataType) -> DataType:
    if a.same(b):
        return a
    if a.is_numeric and b.is_numeric:
        if a.is_float or b.is_float:
            return float64
        if a.is_integer and b.is_integer:
            return max(a, b, key=lambda t: INTEGER_BITS[t.kind])
        a, b = as_decimal(a), as_decimal(b)
        scale = max(a.scale, b.scale)
        precision = max(a.precision - a.scale, b.precision - b.scale) + scale
        if precision > 38:
            pair = f"{a.name} and {b.name}"
            raise TypeMismatch(f"{pair} need {precision} digits together, a decimal has 38; cast one of them")
        return decimal(precision, scale)
    if {a.kind, b.kind} == {"date", "timestamp"}:
        return timestamp
    if a.is_zoned and a.kind == b.kind:
        return a
    raise TypeMismatch(f"{a.name} and {b.name} have no common type; cast one of them")


def fits(value: int, type: DataType) -> bool:
    """Return whether an integer, or a decimal's scaled integer, is in the type's range."""
    if type.kind == "decimal":
        return abs(value) < int(10**type.precision)
    half = 1 << INTEGER_BITS[type.kind] - 1
    return -half <= value < half


def scaled(value: pydecimal.Decimal) -> tuple[int, int]:
    """A decimal as (unscaled integer, scale ≥ 0)."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    return (number * 10**exponent, 0) if exponent > 0 else (number, -exponent)


def unscaled(value: pydecimal.Decimal, scale: int) -> int:
    """The scaled integer that represents `value` at `scale`; the value must have no more fractional digits."""
    number, own = scaled(value)
    shifted: int = number * 10 ** (scale - own) if own <= scale else number // 10 ** (own - scale)
    return shifted


def from_unscaled(number: int, scale: int) -> pydecimal.Decimal:
    """The decimal `number` / 10^scale, exactly, with `scale` fractional digits."""
    return pydecimal.Decimal(number).scaleb(-scale, EXACT)


def divide_half_away(number: int, divisor: int) -> int:
    """number / divisor (> 0) to the nearest integer, halves away from zero."""
    quotient, rest = divmod(abs(number), divisor)
    quotient += 2 * rest >= divisor
    return -quotient if number < 0 else quotient


def cast_value(value: Value, source: DataType, target: DataType, dialect: Dialect = DEFAULT) -> Value:
    """`value` of type `source` as `target`. Raises Overflow (out of range) or InvalidCast (no such value)."""
    if value is None or source.alike(target):
        return value
    if not can_cast(source, target):
        raise TypeMismatch(f"there is no cast from {source.name} to {target.name}")
    if source.kind == "string":
        assert isinstance(value, str)
        return _parse(value, target)
    if target.kind == "string":
        return _print(value, source)
    if source.kind == "binary" or target.kind == "bool" or not target.is_numeric:
        return _convert_other(value, source, target)
    return _convert_number(value, source, target, dialect)


def _convert_other(value: Value, source: DataType, target: DataType) -> Value:
    if target.kind == "bool":
        return value != 0
    if target.kind == "duration":
        return value
    nanos = nanoseconds(value, source)
    if target.kind in ("timestamp_ns", "timestamptz_ns"):
        if not fits(nanos, int64):
            raise Overflow(f"cannot cast {value!r} to {target.name}: nanoseconds hold the years 1678 to 2261")
        return nanos
    if target.kind in ("timestamp", "timestamptz"):
        return EPOCH + datetime.timedelta(microseconds=abs(nanos) // 1000 * (-1 if nanos < 0 else 1))
    moment = EPOCH + datetime.timedelta(microseconds=nanos // 1000)
    return moment.date() if target.kind == "date" else moment.time()


def nanoseconds(value: Value, type: DataType) -> int:
    """A date, timestamp or moment as nanoseconds since 1970-01-01 00:00:00."""
    if isinstance(value, int):
        return value
    assert isinstance(value, datetime.date)
    day = value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)
    return (day - EPOCH) // datetime.timedelta(microseconds=1) * 1000


def of_day(value: datetime.time) -> int:
    """Return a time as microseconds of its day."""
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _convert_number(value: Value, source: DataType, target: DataType, dialect: Dialect) -> Value:
    if target.is_float:
        if isinstance(value, pydecimal.Decimal):
            value = float(unscaled(value, source.scale)) / 10.0**source.scale
        assert isinstance(value, int | float)
        return to_float(float(value), target)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Overflow(f"cannot cast {value} to {target.name}: not a finite number")
        if target.kind == "decimal":
            number = round_half_away(value * 10.0**target.scale)
        else:
            number = float(round(value)) if dialect.to_integer == "round" else float(math.trunc(value))
        number_int = int(number) if math.isfinite(number) else 10**40
    else:
        assert isinstance(value, int | pydecimal.Decimal)
        own, scale = (int(value), 0) if isinstance(value, int) else (unscaled(value, source.scale), source.scale)
        by = 10 ** abs(target.scale - scale)
        if target.scale >= scale:
            number_int = own * by
        elif target.is_integer and dialect.to_integer == "truncate":
            number_int = abs(own) // by * (-1 if own < 0 else 1)
        else:
            number_int = divide_half_away(own, by)
    if not fits(number_int, target):
        raise Overflow(f"cannot cast {value} to {target.name}: out of range")
    return from_unscaled(number_int, target.scale) if target.kind == "decimal" else number_int


def round_half_away(value: float) -> float:
    """C's round(): the nearest integer, halves away from zero."""
    if not math.isfinite(value):
        return value
    whole = math.copysign(math.trunc(value), value)
    return whole + math.copysign(1.0, value) if abs(value - whole) >= 0.5 else whole


def to_float(value: float, type: DataType) -> float:
    """`value` rounded to the type's precision; too large for float32 becomes infinite, as in C."""
    if type.kind == "float64" or not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_FLOAT = re.compile(r"[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf(inity)?|nan))")
_DAY = r"(\d{4})-(\d{2})-(\d{2})"
#: day, time, fraction, zone
_TIMESTAMP = re.compile(
    rf"{_DAY}(?:[ Tt](\d{{2}}):(\d{{2}}):(\d{{2}})(?:\.(\d+))?(?: *(?:([+-])(\d{{2}})(?::?(\d{{2}}))?)|([Zz]))?)?",
    re.ASCII,
)
_TIME = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?", re.ASCII)
_DATES = (re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) *", re.ASCII), re.compile(r"(\d{4})(\d{2})(\d{2})", re.ASCII))
_DATE_LENGTH_MAX = 10
_TRUE = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
_FALSE = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")
_BLANKS = " \t\n\r\f"


def _parse(text: str, target: DataType) -> Value:
    """Parse text. Numbers and booleans, with blanks around them ignored: integer: sign and digits ·
    decimal: no exponent, excess digits rounded half away from zero · bool: true, yes, on, 1 and their opposites, words
    also shortened. date: YYYY-MM-DD, without leading zeros, YYYYMMDD, or a timestamp's · timestamp: YYYY-MM-DD, then
    optionally [ T]HH:MM:SS[.f…], digits beyond the unit dropped, a zone (Z, ±HH[[:]MM]) converted to UTC; without one,
    a moment is in UTC · time: HH:MM:SS[.f…] likewise."""
    invalid = InvalidCast(f"cannot cast {text!r} to {target.name}")
    if target.kind == "binary":
        return text.encode()
    if target.kind in _PARSERS:
        try:
            return _PARSERS[target.kind](text)
        except (ValueError, OverflowError):
            raise invalid from None
    body = text.strip(_BLANKS)
    if target.kind == "bool":
        if body.lower() not in (*_TRUE, *_FALSE):
            raise invalid
        return body.lower() in _TRUE
    pattern = _DECIMAL if target.kind == "decimal" else _FLOAT if target.is_float else _INTEGER
    if not pattern.fullmatch(body):
        raise invalid
    if target.is_float:
        return to_float(float(body), target)
    number, scale = scaled(pydecimal.Decimal(body)) if target.kind == "decimal" else (int(body), 0)
    excess = scale - target.scale
    number = divide_half_away(number, 10**excess) if excess > 0 else number * 10**-excess
    if not fits(number, target):
        raise Overflow(f"cannot cast {text!r} to {target.name}: out of range")
    return from_unscaled(number, target.scale) if target.kind == "decimal" else number


def _parse_clock(text: str) -> datetime.time:
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    hour, minute, second = (int(found[i]) for i in (1, 2, 3))
    return datetime.time(hour, minute, second, int((found[4] or "")[:6].ljust(6, "0")))


def _parse_nanoseconds(text: str) -> int:
    digits = found[7] or "" if (found := _TIMESTAMP.fullmatch(text)) else ""
    nanos = nanoseconds(_parse_time(text), timestamp) + int(digits[6:9].ljust(3, "0"))
    if not fits(nanos, int64):
        raise ValueError(text)
    return nanos


def _parse_day(text: str) -> datetime.date:
    if len(text) > _DATE_LENGTH_MAX:
        return _parse_time(text).date()
    found = next((m for pattern in _DATES if (m := pattern.fullmatch(text))), None)
    if found is None:
        raise ValueError(text)
    return datetime.date(*map(int, found.groups()))


def _parse_time(text: str) -> datetime.datetime:
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year, month, day, hour, minute, second = (int(found[i] or 0) for i in range(1, 7))
    if second > 60:
        raise ValueError(text)
    fraction = int((found[7] or "")[:6].ljust(6, "0"))
    time = datetime.datetime(year, month, day, hour, minute)
    hours, minutes = int(found[9] or 0), int(found[10] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError(text)
    offset = datetime.timedelta(hours=hours, minutes=minutes) * (-1 if found[8] == "-" else 1)
    return time + datetime.timedelta(seconds=second, microseconds=fraction) - offset


_PARSERS: dict[str, Callable[[str], Value]] = {
    "date": _parse_day,
    "time": _parse_clock,
    "timestamp": _parse_time,
    "timestamptz": _parse_time,
    "timestamp_ns": _parse_nanoseconds,
    "timestamptz_ns": _parse_nanoseconds,
}


def _print(value: Value, source: DataType) -> str:
    """Print a value. bool: true/false · decimal: all digits of its scale · date YYYY-MM-DD · timestamp with a space,
    and a fraction without trailing zeros unless it is zero; a moment ends with Z · time likewise."""
    if source.is_zoned:
        return _print(value, timestamp_ns if source.kind == "timestamptz_ns" else timestamp) + "Z"
    if source.kind == "timestamp_ns":
        assert isinstance(value, int)
        seconds, below = divmod(value, 1_000_000_000)
        text = (EPOCH + datetime.timedelta(seconds=seconds)).isoformat(" ")
        return f"{text}.{below:09}".rstrip("0") if below else text
    if isinstance(value, datetime.time):
        return value.isoformat().rstrip("0") if value.microsecond else value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, pydecimal.Decimal):
        return f"{from_unscaled(unscaled(value, source.scale), source.scale):f}"
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ").rstrip("0") if value.microsecond else value.isoformat(" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise InvalidCast(f"cannot cast {value!r} to string: not UTF-8") from None
    return str(value)


def cast_type(source: DataType, target: DataType, on_failure: str) -> DataType:
    """Return the type of a Cast: nullable if the input is, or if a failure gives NULL."""
    fails_to_null = on_failure == "null" and not cannot_fail(source, target)
    return target.with_nullable(source.nullable or fails_to_null)
