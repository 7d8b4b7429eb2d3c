"""Arrow columns in Python, as Literal holds their values: also those that no type of Python has."""

from __future__ import annotations

from typing import Any


def values(column: Any) -> list[Any]:
    """The values of an Array or ChunkedArray: moments in UTC without saying so, nanoseconds and durations as they are
    counted, None for NULL."""
    import pyarrow as pa

    type = column.type
    if pa.types.is_duration(type) or (pa.types.is_timestamp(type) and type.unit == "ns"):
        column = column.cast(pa.int64())
    elif pa.types.is_timestamp(type) and type.tz is not None:
        column = column.cast(pa.int64()).cast(pa.timestamp(type.unit))
    found: list[Any] = column.to_pylist()
    return found
