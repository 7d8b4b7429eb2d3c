"""Runs a statement over batches in DuckDB."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from jumpgate import extras
from jumpgate.errors import JumpgateError


@contextlib.contextmanager
def answered(statement: str, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """Yield DuckDB's result over the batches as that table. Raises what these raise."""
    with extras.explained():
        import duckdb

    failed: list[JumpgateError] = []

    def passed() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except JumpgateError as error:  # DuckDB passes on its text alone
            failed.append(error)
            raise

    with duckdb.connect() as connection:
        connection.execute("SET enable_external_access = false; SET threads = 1")
        connection.execute("SET disabled_optimizers = 'filter_pushdown'")  # Arrow would compare NaN in another way
        connection.register(table, pa.RecordBatchReader.from_batches(schema, passed()))
        try:
            yield connection.execute(statement)
        except Exception:
            if failed:
                raise failed[0] from None
            raise
