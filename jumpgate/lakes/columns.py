"""Types of a table's columns, and how values of the files' types become values of these."""

from __future__ import annotations

from typing import Any

from jumpgate.converters.footers import widest
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import DataType, Field

_PLAIN = {
    "bool": t.bool_, "int8": t.int8, "int16": t.int16, "int32": t.int32, "int64": t.int64, "float": t.float32,
    "double": t.float64, "string": t.string, "large_string": t.string, "string_view": t.string, "binary": t.binary,
    "large_binary": t.binary, "binary_view": t.binary, "date32[day]": t.date, "time64[us]": t.time,
}  # fmt: skip
#: kinds of files' columns, and of tables' columns that have all their values
_CONVERTED = (
    (("int8", "int16", "int32"), "float64"),
    (("date",), "timestamp"),
    (("timestamp", "timestamp_ns"), "timestamptz"),  # of 96 bits: a moment
)


def data_type(arrow: Any) -> DataType:
    """Return the type of a column that pyarrow describes; an opaque one if Jumpgate has none."""
    import pyarrow.types as at

    if str(arrow) in _PLAIN:
        return _PLAIN[str(arrow)]
    if at.is_decimal(arrow) and arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision:
        return t.decimal(arrow.precision, arrow.scale)
    if at.is_timestamp(arrow) and arrow.unit in ("us", "ns"):
        return t.timestamp_of(arrow.unit, "UTC" if arrow.tz == "+00:00" else arrow.tz)
    parts = [data_type(arrow.field(i).type) for i in range(arrow.num_fields)]
    if parts and not any(part.is_opaque for part in parts):
        if at.is_struct(arrow):
            return t.struct(*(Field(arrow.field(i).name, part) for i, part in enumerate(parts)))
        if at.is_map(arrow):
            return t.map_(data_type(arrow.key_type), data_type(arrow.item_type))
        if at.is_list(arrow) or at.is_large_list(arrow):
            return t.list_(parts[0])
    return t.opaque(str(arrow))


def read_as(stored: DataType, declared: DataType) -> DataType | None:
    """Return the type by which to read a column of files for a table's column, to which it is then cast; None if the
    table's type does not hold all values."""
    if declared.is_opaque or stored.is_opaque:
        return stored
    if declared.is_nested and declared.kind == stored.kind:
        has = {part.name: part.type for part in stored.parts}
        read = [read_as(has.get(part.name, part.type), part.type) for part in declared.parts]
        is_held = all(t is not None and t.same(part.type) for t, part in zip(read, declared.parts, strict=True))
        return declared.with_nullable(stored.nullable) if is_held else None
    both = widest(stored, declared)
    if both is not None and both.same(declared):
        return declared.with_nullable(stored.nullable)
    if any(stored.kind in kinds and declared.kind == kind for kinds, kind in _CONVERTED):
        return stored
    return None
