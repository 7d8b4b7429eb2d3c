"""Runs the same queries in DuckDB over the same files, and compares results."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpgate.dataflow.builder import read
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.types import DataType
from jumpgate.tpcds.data import connect, path, quoted
from jumpgate.tpcds.queries import Tables
from jumpgate.tpcds.schemas import schema
from jumpgate.tpcds.suite import TPCDS, Suite

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

RELATIVE_TOLERANCE = 1e-9


def tables(directory: Path, format: str) -> Tables:
    """Return reads of the files of one format below `directory`."""
    return lambda table: read(path(directory, table, format), format=format, schema=schema(table))


def duckdb_over(
    directory: Path, format: str, names: Iterable[str] | None = None, threads: int = 0, suite: Suite = TPCDS
) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with a view for each table's file, told the schema as Jumpgate is; formats that DuckDB does
    not read are Arrow datasets."""
    found = formats()[format]
    connection = connect(suite=suite)
    if threads:
        connection.execute(f"SET threads = {int(threads)}")
    for name in suite.tables if names is None else names:
        file = path(directory, name, format)
        if found.duckdb is None:
            from pyarrow import dataset

            connection.register(name, dataset.dataset(str(file), format=found.dataset))
            continue
        columns = ", ".join(f"{quoted(field.name)}: {quoted(_sql(field.type))}" for field in suite.schema(name))
        source = found.duckdb(quoted(file), f"{{{columns}}}", {})
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {source}")
    return connection


def _sql(type: DataType) -> str:
    if type.kind == "decimal":
        return f"DECIMAL({type.precision}, {type.scale})"
    return {"int32": "INTEGER", "int64": "BIGINT", "string": "VARCHAR", "date": "DATE"}[type.kind]


def difference(ours: pa.Table, theirs: pa.Table) -> str | None:
    """Return the first difference between two results in words; None if they are equal. Floats may differ by 1e-9."""
    if (ours.num_rows, ours.num_columns) != (theirs.num_rows, theirs.num_columns):
        return f"{ours.num_rows} rows of {ours.num_columns} columns, expected {theirs.num_rows} of {theirs.num_columns}"
    for index, name in enumerate(ours.column_names):
        pairs = zip(ours.column(index).to_pylist(), theirs.column(index).to_pylist(), strict=True)
        for row, (a, b) in enumerate(pairs):
            if not _equal(a, b):
                return f"row {row}, column {name}: {a!r}, expected {b!r}"
    return None


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)
