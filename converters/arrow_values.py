"""Arrow columns as values of Jumpgate's: in Arrow, and in Python, as Literal holds them."""

from __future__ import annotations

from typing import Any


def plain(column: Any) -> Any:
    """An Array or ChunkedArray of types that Arrow's kernels take: moments in UTC without saying so, nanoseconds and
    durations as they are counted, values in place of codes."""
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
    """The values of an Array or ChunkedArray, also those that no type of Python has; None for NULL."""
    found: list[Any] = plain(column).to_pylist()
    return found
