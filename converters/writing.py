"""What the formats' writers share: for tests and benchmarks, from whose files Jumpgate reads the values written."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator, Sequence
from typing import Any

#: of a file's row groups or stripes, in the order of the variants
COMPRESSIONS = ("snappy", "uncompressed", "zstd")


def batches(table: Any) -> Iterator[Any]:
    """Of an Arrow table, or of a reader of batches."""
    yield from table.to_batches() if hasattr(table, "to_batches") else table


def rows(table: Any) -> Iterator[Sequence[Any]]:
    for batch in batches(table):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def text(value: Any) -> str:
    """A value as text formats have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    return f"{value:f}" if isinstance(value, decimal.Decimal) else str(value)
