"""Common parts of the formats' writers, for tests and benchmarks that read the written values back."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator, Sequence
from typing import Any

from jumpgate.converters.arrow_values import values
from jumpgate.dataflow.casts import cast_value
from jumpgate.dataflow.types import string, timestamp_ns

#: compressions of row groups or stripes, in the order of the variants
COMPRESSIONS = ("snappy", "uncompressed", "zstd")


def batches(table: Any) -> Iterator[Any]:
    """Yield the batches of an Arrow table, or of a reader of batches."""
    yield from table.to_batches() if hasattr(table, "to_batches") else table


def rows(table: Any) -> Iterator[Sequence[Any]]:
    for batch in batches(table):
        yield from zip(*map(_cells, batch.columns), strict=True)


def _cells(column: Any) -> list[Any]:
    import pyarrow as pa

    found = values(column)
    if not pa.types.is_timestamp(column.type) or column.type.unit != "ns":
        return found
    return [cast_value(value, timestamp_ns, string) for value in found]


def text(value: Any) -> str:
    """Return a value as text formats write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    return f"{value:f}" if isinstance(value, decimal.Decimal) else str(value)
