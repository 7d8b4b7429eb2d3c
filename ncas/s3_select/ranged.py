"""Computes a statement of S3 Select over an object that is read by ranges: DuckDB runs the same text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from jumpgate.ncas.s3_select import fields, local
from jumpgate.ncas.s3_select.forms import Form
from jumpgate.stores import reading
from jumpgate.stores.objects import Grant


@contextlib.contextmanager
def answered(statement: str, file: str, grant: Grant, columns: Sequence[str]) -> Iterator[Any]:
    """Yield DuckDB's result over columns of the object. Raises FileChanged, FileUnreadable, Forbidden."""
    # without Arrow's buffering ahead: where several objects are read at once, its threads wait for each other for ever
    with reading.opened(file, grant) as opened, parquet.ParquetFile(opened, pre_buffer=False) as source:
        schema = pa.schema([source.schema_arrow.field(name) for name in columns])
        batches = source.iter_batches(columns=[*columns], use_threads=False)
        with local.answered(statement, "S3Object", schema, batches) as result:
            yield result


@contextlib.contextmanager
def answered_text(statement: str, file: str, grant: Grant, form: Form, types: pa.Schema) -> Iterator[Any]:
    """Likewise for an object of text. Raises MalformedData, SchemaMismatch, Overflow, too."""
    with (
        reading.opened(file, grant) as opened,
        local.answered(statement, "S3Object", types, fields.ranged(opened, form, types, file)) as result,
    ):
        yield result
