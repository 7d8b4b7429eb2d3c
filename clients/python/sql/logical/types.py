"""Types and literals of DataFusion's plans."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pyarrow.types as at

from jumpgate.client.sql.logical.plan_pb2 import Field as WrittenField
from jumpgate.client.sql.logical.plan_pb2 import Scalar, Schema, Type
from jumpgate.dataflow import types as t
from jumpgate.dataflow.casts import from_unscaled
from jumpgate.dataflow.expressions import Literal, Value
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import DataType

EPOCH = datetime.date(1970, 1, 1)
EPOCH_TIME = datetime.datetime(1970, 1, 1)
_UNITS = ("s", "ms", "us", "ns")
#: unsigned integers are computed as int64: those of plans count rows, ranks and grouping sets
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_SIMPLE: dict[str, DataType] = {
    "bool": t.bool_, "int8": t.int8, "int16": t.int16, "int32": t.int32, "int64": t.int64,
    "float32": t.float32, "float64": t.float64, "utf8": t.string, "large_utf8": t.string, "utf8_view": t.string,
    "binary": t.binary, "large_binary": t.binary, "binary_view": t.binary, "date32": t.date,
    **dict.fromkeys(UNSIGNED, t.int64),
}  # fmt: skip


def read_type(type: Type) -> DataType:
    """The type, nullable; raises Unmapped."""
    kind = type.WhichOneof("kind") or "of this kind"
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind == "decimal128":
        try:
            return t.decimal(type.decimal128.precision, type.decimal128.scale)
        except ValueError as error:
            raise Unmapped(str(error)) from None
    if kind == "timestamp":
        return _timestamp_type(_UNITS[type.timestamp.unit], type.timestamp.zone)
    if kind in ("time32", "time64"):
        if _UNITS[getattr(type, kind)] == "ns":
            raise Unmapped("times in nanoseconds are not known")
        return t.time
    if kind == "duration":
        return t.duration(_UNITS[type.duration])
    if kind == "fixed_binary":
        return t.binary
    raise Unmapped(f"the type {kind} is not known")


def _timestamp_type(unit: str, zone: str) -> DataType:
    try:
        return t.timestamp_of(unit, zone)
    except ValueError:
        raise Unmapped(f"timestamps in zone {zone} are not known") from None


#: Arrow's names of the simple types, where they are others
_ARROW_NAMES = {
    "float": "float32", "double": "float64", "string": "utf8", "large_string": "large_utf8",
    "string_view": "utf8_view", "date32[day]": "date32",
}  # fmt: skip


def write_schema(target: Schema, schema: pa.Schema) -> None:
    """Fills `target`; of types that `agree` accepts. A schema without columns is there, too."""
    target.SetInParent()
    for column in schema:
        _write_type(target.fields.add(name=column.name, nullable=True).type, column.type)


def _write_type(target: Type, type: pa.DataType) -> None:
    if at.is_decimal(type):
        target.decimal128.precision, target.decimal128.scale = type.precision, type.scale
    elif at.is_timestamp(type):
        target.timestamp.unit, target.timestamp.zone = _UNITS.index(type.unit), type.tz or ""
    elif at.is_time32(type):
        target.time32 = _UNITS.index(type.unit)
    elif at.is_time64(type):
        target.time64 = _UNITS.index(type.unit)
    elif at.is_duration(type):
        target.duration = _UNITS.index(type.unit)
    elif at.is_fixed_size_binary(type):
        target.fixed_binary = type.byte_width
    elif at.is_struct(type):
        target.struct.SetInParent()
        for field in type:
            _write_field(target.struct.fields.add(), field)
    elif at.is_map(type):
        _write_field(target.map.entries, type.field(0))
    elif at.is_list(type) or at.is_large_list(type):
        _write_field((target.list if at.is_list(type) else target.large_list).element, type.field(0))
    else:
        getattr(target, _ARROW_NAMES.get(str(type), str(type))).SetInParent()


def _write_field(target: WrittenField, field: pa.Field) -> None:
    target.name, target.nullable = field.name, field.nullable
    _write_type(target.type, field.type)


def is_unsigned(type: pa.DataType) -> bool:
    return bool(at.is_unsigned_integer(type))


def agree(ours: DataType, theirs: pa.DataType) -> bool:
    """Return whether equal values are equal in both types: widths may differ, digits of decimals and timestamps not."""
    if ours.is_opaque:
        return False
    if ours.is_nested:
        return _agree_nested(ours, theirs)
    if ours.is_integer:
        return bool(at.is_integer(theirs))
    if ours.kind == "decimal":
        return bool(at.is_decimal128(theirs) and theirs.scale == ours.scale or ours.scale == 0 and at.is_uint64(theirs))
    if ours.kind in ("timestamp", "timestamp_ns", *t.ZONED):
        same_unit = at.is_timestamp(theirs) and (theirs.unit == "ns") == ours.kind.endswith("_ns")
        return bool(same_unit and (theirs.tz or "") == ours.zone)
    if ours.kind == "duration":
        return bool(at.is_duration(theirs) and theirs.unit == ours.unit)
    return {
        "bool": at.is_boolean,
        "float32": at.is_float32,
        "float64": at.is_float64,
        "date": at.is_date32,
        "string": lambda type: at.is_string(type) or at.is_large_string(type) or at.is_string_view(type),
        "time": lambda type: at.is_time(type) and type.unit != "ns",
        "binary": lambda type: any(
            f(type) for f in (at.is_binary, at.is_large_binary, at.is_binary_view, at.is_fixed_size_binary)
        ),
    }[ours.kind](theirs) is True  # fmt: skip


def _agree_nested(ours: DataType, theirs: pa.DataType) -> bool:
    if ours.kind == "struct":
        names = [field.name for field in theirs] if at.is_struct(theirs) else None
        found = [field.type for field in theirs] if names == [p.name for p in ours.parts] else []
    elif ours.kind == "map":
        found = [theirs.key_type, theirs.item_type] if at.is_map(theirs) else []
    else:
        found = [theirs.value_type] if at.is_list(theirs) or at.is_large_list(theirs) else []
    return len(found) == len(ours.parts) and all(agree(p.type, f) for p, f in zip(ours.parts, found, strict=True))


def read_literal(scalar: Scalar) -> Literal:
    """The literal, never nullable unless it is NULL; raises Unmapped. A decimal gets the fewest digits that hold it."""
    kind = scalar.WhichOneof("kind") or "of this kind"
    if kind == "null":
        unknown = scalar.null.WhichOneof("kind") == "null"
        return Literal(t.bool_ if unknown else read_type(scalar.null), None)
    value = getattr(scalar, kind, None)
    try:
        type, found = _value(kind, value)
    except OverflowError:
        raise Unmapped(f"a {kind} literal is outside of years 1 to 9999") from None
    return Literal(type.with_nullable(False), found)


def _value(kind: str, value: Any) -> tuple[DataType, Value]:
    if kind == "date32":
        assert isinstance(value, int)
        return t.date, EPOCH + datetime.timedelta(days=value)
    if kind == "timestamp":
        return _timestamp(value)
    if kind in ("time32", "time64"):
        return t.time, _time(value)
    if kind.startswith("duration_"):
        assert isinstance(value, int)
        return t.duration(kind.removeprefix("duration_")), value
    if kind == "fixed_binary":
        return t.binary, value.values
    if kind == "decimal128":
        return _decimal(value)
    if kind in _SIMPLE:
        if kind == "uint64" and isinstance(value, int) and value >= 1 << 63:
            raise Unmapped(f"the literal {value} does not fit int64")
        return _SIMPLE[kind], value
    raise Unmapped(f"literals {kind.replace('_', ' ')} are not known")


def _timestamp(value: Any) -> tuple[DataType, Value]:
    unit = value.WhichOneof("kind")
    type, count = _timestamp_type("ns" if unit == "nanoseconds" else "us", value.zone), getattr(value, unit)
    return type, count if unit == "nanoseconds" else EPOCH_TIME + datetime.timedelta(**{unit: count})


def _time(value: Any) -> datetime.time:
    unit = value.WhichOneof("kind")
    count = getattr(value, unit)
    if unit == "nanoseconds":
        if count % 1000:
            raise Unmapped("a time with nanoseconds is not known")
        unit, count = "microseconds", count // 1000
    return (EPOCH_TIME + datetime.timedelta(**{unit: count})).time()


def _decimal(value: object) -> tuple[DataType, Value]:
    number = int.from_bytes(value.value, "big", signed=True)  # type: ignore[attr-defined]
    scale = int(value.scale)  # type: ignore[attr-defined]
    digits = len(str(abs(number)))
    if not 0 <= scale <= 38 or digits > 38:
        raise Unmapped(f"decimal literal with {digits} digits and scale {scale}")
    return t.decimal(max(digits, scale, 1), scale), from_unscaled(number, scale)


def unsigned_literal(scalar: Scalar) -> bool:
    return scalar.WhichOneof("kind") in UNSIGNED
