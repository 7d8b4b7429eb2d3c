"""Writes an Arrow table as a file of any format, from which Jumpgate reads the same values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.dataflow.formats import Format, formats
from jumpgate.dataflow.types import DataType, Field, Schema, duration, list_, struct, timestamp_of

#: beside the formats: a table that is not a file
ARROW = "arrow"
_KINDS: dict[str, Callable[[pa.DataType], bool]] = {
    "bool": pa.types.is_boolean,
    "int8": pa.types.is_int8,
    "int16": pa.types.is_int16,
    "int32": pa.types.is_int32,
    "int64": pa.types.is_int64,
    "float32": pa.types.is_float32,
    "float64": pa.types.is_float64,
    "date": pa.types.is_date32,
    "time": lambda type: pa.types.is_time64(type) and type.unit == "us",
    "string": pa.types.is_string,
    "binary": pa.types.is_binary,
}
_PLAIN = {
    pa.string_view(): pa.string(),
    pa.large_string(): pa.string(),
    pa.binary_view(): pa.binary(),
    pa.large_binary(): pa.binary(),
    pa.float16(): pa.float32(),
}


@dataclass(frozen=True)
class Source:
    """The arguments of `Connection.register`: register(name, source.data, **source.options)."""

    data: Any
    options: dict[str, Any] = field(default_factory=dict)


def plain(table: pa.Table) -> pa.Table:
    """Convert the table to types that Jumpgate keeps: no views, large strings and lists, dictionaries and 16-bit
    floats; parts of nested types may be NULL."""
    for index, column in enumerate(table.schema):
        wanted = _plain_type(column.type)
        if wanted != column.type:
            table = table.set_column(index, column.with_type(wanted), _decoded(table.column(index), wanted))
    return table


def _decoded(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    """The column as another type; pyarrow itself has no cast from dictionaries of views."""
    if not pa.types.is_dictionary(column.type):
        return column.cast(type)
    return pa.chunked_array([part.dictionary.cast(type).take(part.indices) for part in column.chunks], type)


def nullable(table: pa.Table) -> pa.Table:
    """Make all columns nullable: text files cannot say otherwise."""
    return table.cast(pa.schema([column.with_nullable(True) for column in table.schema]))


def unsigned_nans(table: pa.Table) -> pa.Table:
    """Make every NaN positive: text files know one NaN."""
    for index, column in enumerate(table.schema):
        if pa.types.is_floating(column.type):
            values = table.column(index)
            nan = pa.scalar(math.nan, column.type)
            table = table.set_column(index, column, pc.if_else(pc.is_nan(values), nan, values))
    return table


def _plain_type(type: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type) and type.unit == "s":  # which Parquet does not have
        return pa.timestamp("ms", type.tz)
    if pa.types.is_dictionary(type):
        return _plain_type(type.value_type)
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return pa.list_(_plain_type(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(part.name, _plain_type(part.type)) for part in type])
    if pa.types.is_map(type):
        return pa.map_(_plain_type(type.key_type), _plain_type(type.item_type))
    return _PLAIN.get(type, type)


def jumpgate_type(type: pa.DataType) -> DataType | None:
    """Jumpgate's type for an Arrow type; None where there is none."""
    if pa.types.is_decimal128(type) and 0 <= type.scale <= type.precision:
        return DataType("decimal", type.precision, type.scale)
    if pa.types.is_timestamp(type) and type.unit in ("us", "ns"):
        return timestamp_of(type.unit, type.tz)
    if pa.types.is_duration(type):
        return duration(type.unit)
    if pa.types.is_struct(type) or pa.types.is_list(type):
        return _nested_type(type)
    return next((DataType(kind) for kind, matches in _KINDS.items() if matches(type)), None)


def _nested_type(type: pa.DataType) -> DataType | None:
    parts = list(type) if pa.types.is_struct(type) else [type.value_field]
    known = [(p.name, jumpgate_type(p.type)) for p in parts if p.nullable]
    fields = [Field(name, t) for name, t in known if t is not None and t.kind != "duration"]  # no number in Python
    if not parts or len({f.name for f in fields}) < len(parts):
        return None
    return list_(fields[0].type) if pa.types.is_list(type) else struct(*fields)


def schema_of(table: pa.Table) -> Schema | None:
    """Jumpgate's schema of a table; None if a column has no type there."""
    types = [jumpgate_type(column.type) for column in table.schema]
    names = table.schema.names
    if not names or len(set(names)) < len(names) or not all(names):
        return None
    fields = [Field(n, t.with_nullable(True)) for n, t in zip(names, types, strict=True) if t is not None]
    return Schema(tuple(fields)) if len(fields) == len(types) else None


def can_hold(format: str, table: pa.Table) -> bool:
    """Return whether a file of that format has a notation for every value of the table."""
    if format == ARROW:
        return True
    schema, found = schema_of(table), formats()[format]
    if schema is None:  # DataFusion alone reads columns for which Jumpgate has no type
        in_seconds = any(pa.types.is_time32(t) and t.unit == "s" for t in table.schema.types)  # Parquet has no such
        return not found.converted and bool(table.num_columns) and not in_seconds
    return all(_can_hold(found, f.type) for f in schema)


def _can_hold(format: Format, type: DataType) -> bool:
    if type.is_nested and not format.nested:
        return False
    return type.kind not in format.lacks and all(_can_hold(format, part.type) for part in type.parts)


def write(table: pa.Table, path: Path, format: str) -> Source:
    """The table as the file `path`, or as it is for ARROW; needs `can_hold`."""
    if format == ARROW:
        return Source(table)
    found = formats()[format]
    found.write(table, path)
    options: dict[str, Any] = {"format": format, **found.written_options}
    schema = schema_of(table)
    declared = schema is not None and any(f.type.kind.endswith("_ns") for f in schema)  # some files do not say so
    return Source(path, {**options, "schema": schema} if declared or not found.self_describing else options)


def reversed_rows(table: pa.Table) -> pa.Table:
    """Return the rows in the opposite order."""
    return table.take(pc.subtract(table.num_rows - 1, pa.array(range(table.num_rows), pa.int64())))
