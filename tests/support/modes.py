"""Compares the answers of a SQL connection in every mode with those of DuckDB alone over the same tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import parquet

from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.sql.conforming import conformed
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.query import Query
from jumpgate.dataflow.builder import Dataflow
from jumpgate.testing import oracle
from tests.support.alike import unlike

MODES = ("never", "auto", "always")


def register(
    connection: Connection,
    judge: duckdb.DuckDBPyConnection,
    tables: Mapping[str, pa.Table],
    folder: Path,
    row_group_size: int | None = None,
) -> None:
    """Writes Parquet files, which are tables of both."""
    judge.execute("SET TimeZone = 'UTC'")
    for name, table in tables.items():
        file = folder / f"{name}.parquet"
        parquet.write_table(table, file, row_group_size=row_group_size)
        connection.register(name, file)
        judge.execute(f"CREATE VIEW {name} AS FROM '{file}'")


def differences(
    connection: Connection,
    judge: duckdb.DuckDBPyConnection,
    text: str,
    values: Sequence[Any] | Mapping[str, Any] = (),
    *,
    ordered: bool = False,
    jobs: bool = False,
) -> dict[str, str]:
    """Return, by mode, how rows, names or types differ from DuckDB's; empty if they do not. jobs: run what is offloaded
    as jobs, else as the reference does. ordered: rows must come in the same order."""
    expected = judge.execute(text, values or None).to_arrow_table()
    found = {}
    for mode in MODES:
        with connection.sql(text, values, offload=mode) as query:
            table = by_reference(query) if query.split.cuts and not (jobs or query.split.text) else query.to_arrow()
            assert table.schema == query.schema
            found[mode] = unlike(table, expected, ordered)
    return {mode: difference for mode, difference in found.items() if difference}


def by_reference(query: Query) -> pa.Table:
    """The answer of what is offloaded, which the reference computes."""
    (cut,) = query.split.cuts
    cut.files.fill()
    query._workspace.data.write(cut.operator)
    batches = conformed(oracle.run(cut.operator, DUCKDB).to_batches(), query.schema)
    return pa.Table.from_batches(batches, query.schema)


def by_job(connection: Connection, text: str) -> pa.Table:
    """The answer of the job that a text is, or the job's error: nobody else answers."""
    with connection.sql(text, offload="always") as query:
        (cut,) = query.split.cuts
        assert not query.split.kept, query.split.kept
        cut.files.fill()
        connection._workspace.data.write(cut.operator)
        return connection.session.run(Dataflow(cut.operator), DUCKDB, text=text).to_arrow()


def stays(connection: Connection, text: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> str:
    """Return why DuckDB answers a text that should be offloaded; empty if it is a job."""
    with connection.sql(text, values, offload="always") as query:
        return "; ".join(kept.reason for kept in query.split.kept)
