"""Arrow's types of columns."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import SchemaMismatch

#: the most schemas whose Arrow schema is cached
SCHEMAS_MAX = 64

_ARROW: dict[str, pa.DataType] = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "float32": pa.float32(), "float64": pa.float64(), "date": pa.date32(), "timestamp": pa.timestamp("us"),
    "string": pa.string(), "binary": pa.binary(), "time": pa.time64("us"), "timestamp_ns": pa.timestamp("ns"),
}  # fmt: skip


def arrow_type(type: DataType) -> pa.DataType:
    """Return the type of a result's column. Raises SchemaMismatch for an opaque one, which no edge carries."""
    if type.is_opaque:
        raise SchemaMismatch(f"a {type.name} has no type in Arrow here: Jumpgate does not read such columns")
    match type.kind:
        case "struct":
            return pa.struct(_parts(type))
        case "list":
            return pa.list_(arrow_type(type.parts[0].type))  # its field has Arrow's own name, as engines expect
        case "map":
            key, value = _parts(type)
            return pa.map_(key.type, value)
        case "decimal":
            return pa.decimal128(type.precision, type.scale)
        case "timestamptz":
            return pa.timestamp("us", type.zone)
        case "timestamptz_ns":
            return pa.timestamp("ns", type.zone)
        case "duration":
            return pa.duration(type.unit)
    return _ARROW[type.kind]


def _parts(type: DataType) -> list[pa.Field]:
    return [pa.field(p.name, arrow_type(p.type), p.type.nullable) for p in type.parts]


@lru_cache(SCHEMAS_MAX)
def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of a result."""
    return pa.schema([pa.field(f.name, arrow_type(f.type), f.type.nullable) for f in schema])
