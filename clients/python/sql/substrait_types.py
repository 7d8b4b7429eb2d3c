"""The Substrait schema of a table of Arrow batches."""

from __future__ import annotations

import pyarrow as pa
from substrait.type_pb2 import NamedStruct, Type

_SIMPLE = {
    pa.bool_(): "bool", pa.int8(): "i8", pa.int16(): "i16", pa.int32(): "i32", pa.int64(): "i64",
    pa.float32(): "fp32", pa.float64(): "fp64", pa.date32(): "date", pa.string(): "string", pa.binary(): "binary",
}  # fmt: skip
#: what DataFusion derives, and what the batches of a table have in its place
_PLAIN = {
    pa.string_view(): pa.string(), pa.large_string(): pa.string(), pa.binary_view(): pa.binary(),
    pa.large_binary(): pa.binary(), pa.uint64(): pa.int64(), pa.uint32(): pa.int64(), pa.uint16(): pa.int32(),
    pa.uint8(): pa.int16(),
}  # fmt: skip


def plain(schema: pa.Schema) -> pa.Schema:
    """The schema with each type replaced by the one that `named_struct` knows, names made unique, all nullable."""
    return pa.schema([pa.field(f"c{i}", _plain(f.type)) for i, f in enumerate(schema)])


def _plain(type: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type) and type.tz is None:
        return pa.timestamp("us")
    if pa.types.is_decimal(type) and type.precision <= 38:
        return pa.decimal128(type.precision, type.scale)
    return _PLAIN.get(type, type)


def named_struct(schema: pa.Schema) -> NamedStruct:
    """Raises KeyError for a type that `plain` does not give."""
    found = NamedStruct(names=schema.names)
    found.struct.nullability = Type.NULLABILITY_REQUIRED
    for field in schema:
        found.struct.types.append(_type(field.type))
    return found


def _type(type: pa.DataType) -> Type:
    message = Type()
    if pa.types.is_decimal(type):
        inner = message.decimal
        inner.precision, inner.scale = type.precision, type.scale
    elif pa.types.is_timestamp(type):
        inner = message.precision_timestamp
        inner.precision = 6
    else:
        inner = getattr(message, _SIMPLE[type])
    inner.nullability = Type.NULLABILITY_NULLABLE
    return message
