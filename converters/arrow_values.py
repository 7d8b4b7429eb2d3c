"""Converts Arrow columns to Jumpgate's values: in Arrow, and in Python, as Literal holds them."""

from __future__ import annotations

from typing import Any


def plain(column: Any) -> Any:
    """Convert an Array or ChunkedArray to types that Arrow's kernels take: moments in UTC without a zone, nanoseconds
    and durations as counts, values in place of codes."""
    import pyarrow as pa

    type = column.type
    if isinstance(type, pa.BaseExtensionType):
        return plain(column.cast(type.storage_type))
    if pa.types.is_dictionary(type):
        return plain(column.cast(type.value_type))
    if pa.types.is_duration(type) or (pa.types.is_timestamp(type) and type.unit == "ns"):
        return column.cast(pa.int64())
    if pa.types.is_timestamp(type) and type.tz is not None:
        return column.cast(pa.int64()).cast(pa.timestamp(type.unit))
    return column


def values(column: Any) -> list[Any]:
    """Return the values of an Array or ChunkedArray, including those without a Python type; None for NULL."""
    found: list[Any] = plain(column).to_pylist()
    return found
