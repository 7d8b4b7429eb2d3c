"""Types and literals of Substrait, one to one with Jumpgate's; those without a counterpart raise Unmapped."""

from __future__ import annotations

import datetime
import decimal as pydecimal
from collections.abc import Iterable, Iterator

from substrait.algebra_pb2 import Expression as Rex
from substrait.type_pb2 import NamedStruct, Type

from jumpgate.dataflow.casts import from_unscaled, of_day, unscaled
from jumpgate.dataflow.expressions import Literal, Value
from jumpgate.dataflow.types import (
    DataType,
    Field,
    Schema,
    binary,
    bool_,
    date,
    decimal,
    float32,
    float64,
    list_,
    map_,
    string,
    struct,
    time,
    timestamp,
    timestamp_ns,
    timestamptz,
    timestamptz_ns,
)
from jumpgate.dataflow.types import int8 as i8
from jumpgate.dataflow.types import int16 as i16
from jumpgate.dataflow.types import int32 as i32
from jumpgate.dataflow.types import int64 as i64
from jumpgate.errors import InvalidDataflow

EPOCH = datetime.date(1970, 1, 1)
EPOCH_TIME = datetime.datetime(1970, 1, 1)
#: digits of a second's fraction
MICROSECONDS, NANOSECONDS = 6, 9
#: types with a precision, which is that of the kind's unit
_PRECISE = {
    ("precision_time", MICROSECONDS): time,
    ("precision_timestamp", MICROSECONDS): timestamp,
    ("precision_timestamp", NANOSECONDS): timestamp_ns,
    ("precision_timestamp_tz", MICROSECONDS): timestamptz(),
    ("precision_timestamp_tz", NANOSECONDS): timestamptz_ns(),
}
DECIMAL_BYTES = 16
_UNEQUAL = "a read's names and types do not belong together"

_SIMPLE = {
    "bool": bool_,
    "i8": i8,
    "i16": i16,
    "i32": i32,
    "i64": i64,
    "fp32": float32,
    "fp64": float64,
    "date": date,
    "string": string,
    "varchar": string,
    "binary": binary,
}
_LITERALS = {"boolean": bool_, "fp32": float32, "fp64": float64, "string": string, "binary": binary}
_INTEGERS = {"i8": i8, "i16": i16, "i32": i32, "i64": i64}
#: Substrait's types → Jumpgate's
NAMES = {name: type.kind for name, type in _SIMPLE.items()} | {
    "decimal": "decimal",
    "precision_time": f"time (precision {MICROSECONDS})",
    "precision_timestamp": f"timestamp (precision {MICROSECONDS}), timestamp_ns ({NANOSECONDS})",
    "precision_timestamp_tz": f"timestamptz(UTC) (precision {MICROSECONDS}), timestamptz_ns(UTC) ({NANOSECONDS})",
    "struct": "struct (of columns: its fields' names are the plan's)",
    "list": "list",
    "map": "map",
}
_NAMES = {type.kind: name for name, type in _SIMPLE.items() if name != "varchar"}


class Unmapped(Exception):
    """A part of a plan without a dataflow; the text is the reason."""


def read_type(type: Type, names: Iterator[str] | None = None) -> DataType:
    """Return the DataType. Raises Unmapped. names: of the fields of structs, depth first; None if the plan has none."""
    kind = type.WhichOneof("kind")
    if kind is None:
        raise Unmapped("a type is missing")
    body = getattr(type, kind)
    if getattr(body, "type_variation_reference", 0):
        raise Unmapped(f"{kind} is of a variation that only its producer knows")
    nullable = getattr(body, "nullability", Type.NULLABILITY_NULLABLE) != Type.NULLABILITY_REQUIRED
    if kind in _SIMPLE:
        return _SIMPLE[kind].with_nullable(nullable)
    if kind == "decimal":
        try:
            return decimal(body.precision, body.scale, nullable)
        except ValueError as error:
            raise Unmapped(str(error)) from None
    if (kind, getattr(body, "precision", 0)) in _PRECISE:
        return _PRECISE[kind, body.precision].with_nullable(nullable)
    try:
        if kind == "struct" and names is not None:
            return struct(*(_field(part, names) for part in body.types), nullable=nullable)
        if kind == "list":
            return list_(read_type(body.type, names), nullable)
        if kind == "map":
            return map_(read_type(body.key, names), read_type(body.value, names), nullable)
    except ValueError as error:
        raise Unmapped(str(error)) from None
    raise Unmapped("a struct whose fields have no names" if kind == "struct" else f"there is no type {kind}")


def read_schema(schema: NamedStruct) -> Schema:
    """Return the columns. Names come depth first: a struct's, then those of its fields. Raises Unmapped."""
    names = iter(schema.names)
    fields = tuple(_field(type, names) for type in schema.struct.types)
    if next(names, None) is not None:
        raise Unmapped(_UNEQUAL)
    return Schema(fields)


def _field(type: Type, names: Iterator[str]) -> Field:
    name = next(names, None)
    if name is None:
        raise Unmapped(_UNEQUAL)
    return Field(name, read_type(type, names))


def depth_first(fields: Iterable[Field]) -> Iterator[str]:
    """Yield the names of columns as a plan has them: only structs name their parts."""
    for field in fields:
        yield field.name
        yield from _names_in(field.type)


def _names_in(type: DataType) -> Iterator[str]:
    if type.kind == "struct":
        yield from depth_first(type.parts)
    else:
        for part in type.parts:
            yield from _names_in(part.type)


def write_type(type: DataType) -> Type:
    """Return the type. Raises InvalidDataflow for one that Substrait lacks: opaque ones, durations, zones other than
    UTC."""
    found = Type()
    if type.is_opaque:
        raise InvalidDataflow(f"a plan in Substrait has no {type.name}: give the read a schema without it")
    if type.kind == "decimal":
        body = found.decimal
        body.precision, body.scale = type.precision, type.scale
    elif type.is_nested:
        body = _write_nested(found, type)
    elif type.kind not in _NAMES:
        name, precision = _precise(type)
        body = getattr(found, name)
        body.precision = precision
    else:
        body = getattr(found, _NAMES[type.kind])
    body.nullability = Type.NULLABILITY_NULLABLE if type.nullable else Type.NULLABILITY_REQUIRED
    return found


def _write_nested(target: Type, type: DataType) -> Type.Struct | Type.List | Type.Map:
    parts = [write_type(part.type) for part in type.parts]
    if type.kind == "struct":
        target.struct.types.extend(parts)
        return target.struct
    if type.kind == "list":
        target.list.type.CopyFrom(parts[0])
        return target.list
    target.map.key.CopyFrom(parts[0])
    target.map.value.CopyFrom(parts[1])
    return target.map


def _precise(type: DataType) -> tuple[str, int]:
    """Name and precision of a time, timestamp or moment."""
    found = next((said for said, known in _PRECISE.items() if known.same(type)), None)
    if found is None:
        raise InvalidDataflow(f"a plan in Substrait has no {type.name}; cast it")
    return found


def read_literal(literal: Rex.Literal) -> Literal:
    """The literal, never nullable unless it is NULL; raises Unmapped. A decimal gets the fewest digits that hold it."""
    kind = literal.WhichOneof("literal_type")
    if kind is None:
        raise Unmapped("a literal has no value")
    unsigned = kind in _INTEGERS and getattr(literal, kind) >= 0  # the same number in any variation
    if literal.type_variation_reference and not unsigned:
        raise Unmapped(f"{kind} literal of a variation that only its producer knows")
    if kind == "null":
        return Literal(read_type(literal.null).with_nullable(True), None)
    type, value = _value(kind, literal)
    return Literal(type.with_nullable(False), value)


def _value(kind: str, literal: Rex.Literal) -> tuple[DataType, Value]:
    value = getattr(literal, kind)
    try:
        if kind in _INTEGERS:
            bits = int(kind[1:])
            if not -(1 << bits - 1) <= value < 1 << bits - 1:
                raise Unmapped(f"the literal {value} is not of type {kind}")
            return _INTEGERS[kind], value
        if kind in _LITERALS:
            return _LITERALS[kind], value
        if kind == "fixed_char":
            return string, value
        if kind == "var_char":
            return string, value.value
        if kind == "date":
            return date, EPOCH + datetime.timedelta(days=value)
        if (kind, getattr(value, "precision", 0)) in _PRECISE:
            return _clock(_PRECISE[kind, value.precision], value.value)
        if kind == "decimal":
            return _decimal(value)
    except OverflowError:
        raise Unmapped(f"a {kind} literal is outside of years 1 to 9999") from None
    raise Unmapped(f"there are no {kind} literals")


def _clock(type: DataType, count: int) -> tuple[DataType, Value]:
    if type.kind.endswith("_ns"):
        return type, count
    moment = EPOCH_TIME + datetime.timedelta(microseconds=count)
    if type.kind == "time" and moment.date() != EPOCH:
        raise Unmapped("a time literal is outside of its day")
    return type, moment.time() if type.kind == "time" else moment


def _decimal(value: Rex.Literal.Decimal) -> tuple[DataType, Value]:
    if len(value.value) != DECIMAL_BYTES:
        raise Unmapped(f"a decimal literal has {len(value.value)} bytes, not {DECIMAL_BYTES}")
    number = int.from_bytes(value.value, "little", signed=True)
    digits = len(str(abs(number)))
    if not 0 <= value.scale <= 38 or digits > 38:
        raise Unmapped(f"decimal literal with {digits} digits and scale {value.scale}")
    return decimal(max(digits, value.scale, 1), value.scale), from_unscaled(number, value.scale)


def write_literal(literal: Literal) -> Rex.Literal:
    found, value = Rex.Literal(nullable=literal.type.nullable), literal.value
    kind = literal.type.kind
    if value is None:
        found.null.CopyFrom(write_type(literal.type))
    elif kind == "decimal":
        assert isinstance(value, pydecimal.Decimal)
        found.decimal.precision, found.decimal.scale = literal.type.precision, literal.type.scale
        found.decimal.value = unscaled(value, literal.type.scale).to_bytes(DECIMAL_BYTES, "little", signed=True)
    elif kind == "date":
        assert isinstance(value, datetime.date)
        found.date = (value - EPOCH).days
    elif kind != "bool" and kind not in _NAMES:
        name, precision = _precise(literal.type)
        body = getattr(found, name)
        body.precision = precision
        if isinstance(value, datetime.time):
            body.value = of_day(value)
        elif isinstance(value, datetime.datetime):
            body.value = (value - EPOCH_TIME) // datetime.timedelta(microseconds=1)
        else:
            body.value = value
    else:
        setattr(found, "boolean" if kind == "bool" else _NAMES[kind], value)
    return found
