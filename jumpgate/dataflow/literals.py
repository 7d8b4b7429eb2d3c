"""Python values as typed literals, exactly or with an error that says why not."""

from __future__ import annotations

import datetime
import decimal as pydecimal
import math

from jumpgate.dataflow.casts import EPOCH, TypeMismatch, can_cast, cast_value, fits, scaled, to_float
from jumpgate.dataflow.expressions import Literal, Value
from jumpgate.dataflow.types import (
    DataType,
    binary,
    bool_,
    date,
    decimal,
    duration,
    float64,
    int32,
    int64,
    string,
    time,
    timestamp,
    timestamptz,
)
from jumpgate.errors import ComputeError

_PYTHON = {
    "bool": bool,
    "int8": int,
    "int16": int,
    "int32": int,
    "int64": int,
    "float32": float,
    "float64": float,
    "decimal": pydecimal.Decimal,
    "date": datetime.date,
    "timestamp": datetime.datetime,
    "string": str,
    "binary": bytes,
    "time": datetime.time,
    "timestamp_ns": int,
    "timestamptz": datetime.datetime,
    "timestamptz_ns": int,
    "duration": int,
}
#: kinds to which values of a kind are implicitly converted, beside numbers
_IMPLIED = {
    "string": ("date", "time", "timestamp", "timestamp_ns", "timestamptz", "timestamptz_ns"),
    "date": ("timestamp", "timestamp_ns"),
    "timestamp": ("timestamp_ns",),
}
_MICROSECOND = datetime.timedelta(microseconds=1)


def natural_type(value: Value | datetime.timedelta) -> DataType:
    """The type a Python value has on its own: int → int32, int64 or decimal by its size; float → float64; Decimal →
    the smallest decimal; datetime with a zone → timestamptz(UTC); timedelta → duration in microseconds. Never
    nullable. Raises TypeMismatch for None and for what is not an SQL value."""
    if isinstance(value, bool):
        type = bool_
    elif isinstance(value, int):
        type = next((t for t in (int32, int64) if fits(value, t)), _smallest_decimal(pydecimal.Decimal(value)))
    elif isinstance(value, float):
        type = float64
    elif isinstance(value, pydecimal.Decimal):
        type = _smallest_decimal(value)
    elif isinstance(value, datetime.datetime):
        type = timestamp if value.tzinfo is None else timestamptz()
    elif isinstance(value, datetime.time):
        type = time
        if value.tzinfo is not None:
            raise TypeMismatch(f"{value} has a time zone; times have none")
    elif isinstance(value, datetime.timedelta):
        type = duration()
    elif isinstance(value, datetime.date):
        type = date
    elif isinstance(value, str):
        type = string
        try:
            value.encode()
        except UnicodeEncodeError:
            raise TypeMismatch(f"{value!r} is not valid Unicode") from None
    elif isinstance(value, bytes):
        type = binary
    elif value is None:
        raise TypeMismatch("None has no type of its own; write lit(None).cast(TYPE)")
    else:
        raise TypeMismatch(f"a Python {type_name(value)} is not an SQL value: {value!r}")
    return type.with_nullable(False)


def _smallest_decimal(value: pydecimal.Decimal) -> DataType:
    if not value.is_finite():
        raise TypeMismatch(f"{value} is not a decimal")
    if value.adjusted() >= 38 or len(value.as_tuple().digits) > 76:
        raise TypeMismatch(f"{value} has more than 38 digits")
    number, scale = scaled(value)
    digits = max(len(str(abs(number))), scale, 1)
    if digits > 38:
        raise TypeMismatch(f"{value} has more than 38 digits")
    return decimal(digits, scale)


def type_name(value: object) -> str:
    cls = type(value)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def as_literal(value: Value | datetime.timedelta) -> Literal:
    """Return `value` as a literal of its natural type."""
    return Literal(natural_type(value), _held(value))


def _held(value: Value | datetime.timedelta) -> Value:
    """Return the value as a Literal holds it."""
    if isinstance(value, datetime.timedelta):
        return value // _MICROSECOND
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        try:
            return value.astimezone(datetime.UTC).replace(tzinfo=None)
        except OverflowError:
            raise TypeMismatch(f"{value} is outside of years 1 to 9999 in UTC") from None
    return value


def blank(type: DataType) -> Literal:
    """Return a placeholder value of that type."""
    python = _PYTHON[type.kind]
    value = EPOCH if python is datetime.datetime else EPOCH.date() if python is datetime.date else python()
    return Literal(type.with_nullable(False), value)


def coerce(value: Value, target: DataType) -> Literal:
    """`value` as a literal of `target`, exactly. Raises TypeMismatch naming both where it does not fit.

    Implied: numbers to numbers that hold them; text in ISO form to date, time and timestamps; date to timestamps, and
    from these to others where the moment is the same.
    """
    if value is None:
        return Literal(target.with_nullable(True), None)
    source, plain = natural_type(value), target.with_nullable(False)
    value = _held(value)
    if source.same(target):
        return Literal(plain, value)
    implied = (
        source.is_numeric
        and target.is_numeric
        or target.kind in _IMPLIED.get(source.kind, ())
        or (source.is_zoned and target.is_zoned)
    )
    if not implied or not can_cast(source, target):
        raise TypeMismatch(f"{value!r} ({source.kind}) cannot be used as {target.name}")
    try:
        if isinstance(value, float) and target.kind == "decimal":
            value = pydecimal.Decimal(repr(value))
            source = natural_type(value)
        converted = cast_value(value, source, target)
    except (ComputeError, TypeMismatch, pydecimal.InvalidOperation):
        raise TypeMismatch(f"{value!r} does not fit {plain}") from None
    exact = (
        converted == value
        or source.kind == "string"
        or target.kind in _IMPLIED.get(source.kind, ("timestamptz_ns",))
        or (source.kind, target.kind) in (("decimal", "float64"), ("float64", "float64"))
    )
    if not exact:
        raise TypeMismatch(f"{value!r} does not fit {plain} exactly")
    return Literal(plain, converted)


def holds(literal: Literal) -> str | None:
    """Return why a literal of a request is not of its type; None if it is."""
    value, type = literal.value, literal.type
    if value is None:
        return None if type.nullable else f"NULL in a literal of type {type}"
    if type.is_nested:
        return f"a literal of type {type.name}"
    python = _PYTHON[type.kind]
    if (
        not isinstance(value, python)
        or (python is int and isinstance(value, bool))
        or (python is datetime.date and isinstance(value, datetime.datetime))
    ):
        return f"{value!r} is not a value of type {type}"
    if isinstance(value, datetime.datetime | datetime.time) and value.tzinfo is not None:
        return f"{value!r} has a time zone; values of type {type} are in UTC, and hold none"
    if isinstance(value, int) and not fits(value, type if type.is_integer else int64):
        return f"{value} is out of the range of {type}"
    if type.kind == "float32" and isinstance(value, float) and not math.isnan(value) and to_float(value, type) != value:
        return f"{value} is not a float32"
    if isinstance(value, pydecimal.Decimal):
        number, scale = scaled(value) if value.is_finite() and abs(value.adjusted()) < 80 else (10**40, 0)
        shifted, rest = divmod(number * 10**type.scale, 10**scale)
        if rest or not fits(shifted, type):
            return f"{value} is out of the range of {type}"
    return None
