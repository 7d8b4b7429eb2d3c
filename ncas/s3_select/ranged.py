"""Computes a statement of S3 Select over an object that is read by ranges: DuckDB runs the same text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import IO, Any

import pyarrow as pa
from pyarrow import parquet

from jumpgate.converters.parquet.segments import group_segments
from jumpgate.ncas.s3_select import fields, local
from jumpgate.ncas.s3_select.forms import Form
from jumpgate.stores import reading
from jumpgate.stores.objects import Grant

#: chunks of a row group are read with one request if there are at most so many bytes between them, and so many in all
GAP_BYTES, AHEAD_BYTES_MAX = 64 << 10, 64 << 20


@contextlib.contextmanager
def answered(statement: str, file: str, grant: Grant, columns: Sequence[str]) -> Iterator[Any]:
    """Yield DuckDB's result over columns of the object. Raises FileChanged, FileUnreadable, Forbidden."""
    # without Arrow's buffering ahead, which would wait for threads of the pool that scans hold; reading.ahead fetches
    with reading.opened(file, grant) as opened, parquet.ParquetFile(opened, pre_buffer=False) as source:
        schema = pa.schema([source.schema_arrow.field(name) for name in columns])
        with local.answered(statement, "S3Object", schema, _batches(opened, source, columns)) as result:
            yield result


@contextlib.contextmanager
def answered_text(statement: str, file: str, grant: Grant, form: Form, types: pa.Schema) -> Iterator[Any]:
    """Likewise for an object of text. Raises MalformedData, SchemaMismatch, Overflow, too."""
    with (
        reading.opened(file, grant) as opened,
        local.answered(statement, "S3Object", types, fields.ranged(opened, form, types, file)) as result,
    ):
        yield result


def _batches(file: IO[bytes], source: parquet.ParquetFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for group in range(source.num_row_groups):
        chunks = [*group_segments(source.metadata, group, columns)]
        start, end = min(begin for begin, _ in chunks), max(end for _, end in chunks)
        needed = sum(end - begin for begin, end in chunks)
        if end - start <= min(needed + GAP_BYTES * len(chunks), AHEAD_BYTES_MAX):  # else one after the other
            reading.ahead(file, start, end - start)
        yield from source.iter_batches(row_groups=[group], columns=[*columns], use_threads=False)
