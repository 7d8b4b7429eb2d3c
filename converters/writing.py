"""Writes Arrow data as files of each format, from which Jumpgate reads the same values: for tests and benchmarks."""

from __future__ import annotations

import datetime
import decimal
import itertools
import json as json_text
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

#: what stands for NULL in CSV, so that an empty string is one
NULL = "\\N"
#: of a file's row groups or stripes, in the order of the variants
COMPRESSIONS = ("snappy", "uncompressed", "zstd")
#: so many stored bytes of a stripe are taken for a row
ROW_BYTES = 16


def parquet(table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    """A variant for each compression, the last one with a page index."""
    import pyarrow as pa
    import pyarrow.parquet

    whole = pa.Table.from_batches(table.to_batches() if isinstance(table, pa.Table) else table, table.schema)
    pyarrow.parquet.write_table(
        whole,
        path,
        row_group_size=part_rows,
        compression=COMPRESSIONS[variant].replace("uncompressed", "none"),
        write_page_index=variant == 2,
        use_compliant_nested_type=False,  # lists keep their items' name
    )


def orc(table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    """A variant for each compression."""
    import pyarrow as pa
    import pyarrow.orc

    size = {} if part_rows is None else {"stripe_size": part_rows * ROW_BYTES}
    with pyarrow.orc.ORCWriter(str(path), compression=COMPRESSIONS[variant], **size) as writer:
        for batch in itertools.chain([table.schema.empty_table()], _batches(table)):
            writer.write(batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch]))


def json(table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    names = [json_text.dumps(name) for name in table.schema.names]
    with path.open("w", encoding="utf-8") as file:
        for row in _rows(table):
            file.write(f"{{{', '.join(f'{n}: {_json(v)}' for n, v in zip(names, row, strict=True))}}}\n")


def csv(table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    """With a header, and NULL for NULL. The second variant quotes all strings."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(_field(name, False) for name in table.schema.names) + "\n")
        for row in _rows(table):
            file.write(",".join(NULL if v is None else _field(v, variant == 1) for v in row) + "\n")


def _batches(table: Any) -> Iterator[Any]:
    """Of an Arrow table, or of a reader of batches."""
    yield from table.to_batches() if hasattr(table, "to_batches") else table


def _rows(table: Any) -> Iterator[Sequence[Any]]:
    for batch in _batches(table):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _json(value: Any) -> str:
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, datetime.date) or (isinstance(value, float) and not math.isfinite(value)):
        return json_text.dumps(_text(value))
    return json_text.dumps(value)


def _field(value: Any, quotes: bool) -> str:
    text = _text(value)
    if (quotes and isinstance(value, str)) or not text or text == NULL or any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    return f"{value:f}" if isinstance(value, decimal.Decimal) else str(value)
