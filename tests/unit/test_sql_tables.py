"""How DuckDB sees a connection's tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client.sql import tables
from jumpgate.client.sql.catalog import arrow_table
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.query import Query

ASKED = (pa.list_(pa.int64()), pa.large_string(), pa.timestamp("us", "Europe/Rome"), pa.time64("us"))
DECIMALS = (pa.decimal128(1), pa.decimal128(9, 9), pa.decimal128(38, 10))


@pytest.mark.parametrize("type", [*tables.DUCKDB_TYPES, *DECIMALS, *ASKED], ids=str)
def test_types_are_those_that_duckdb_finds(type: pa.DataType) -> None:
    database, schema = duckdb.connect(), pa.schema([("a", type), ("b", type)])
    database.register("t", schema.empty_table())
    assert tables.types_of(database, schema) == database.sql("FROM t").types


def test_users_see_what_is_for_them() -> None:
    assert {name for name in dir(Connection) if not name.startswith("_")} == {
        "close", "deregister", "execute", "in_transaction", "register", "session", "sql", "table", "tables",
    }  # fmt: skip
    assert {name for name in vars(Query) if not name.startswith("_")} == {
        "batches", "close", "explain", "explain_data", "jobs", "peek", "split", "to_arrow", "to_pandas", "to_polars",
        "to_pylist",
    }  # fmt: skip


def test_a_first_text_does_not_wait_for_pandas(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "s": ["x", "y"]}), tmp_path / "t.parquet")
    program = """
import sys, jumpgate
with jumpgate.connect() as connection:
    connection.register("t", sys.argv[1])
    assert connection.sql("SELECT sum(a) AS n FROM t WHERE s = 'x'").to_pylist() == [{"n": 1}]
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "t.parquet")], check=True)


@pytest.mark.parametrize(("unit", "zone", "micros"), [("s", None, 10**6), ("ms", None, 1000), ("ms", "UTC", 1000)])
def test_infinite_moments_of_any_unit_stay_infinite(unit: str, zone: str | None, micros: int) -> None:
    most = (1 << 63) - 1
    type = pa.timestamp(unit, zone)
    rows = pa.chunked_array([pa.array(part, pa.int64()).view(type) for part in ([7, most], [], [-most, None])])
    data = arrow_table("t", pa.table({"m": rows})).data
    assert data is not None and data.schema.field("m").type == pa.timestamp("us", zone)
    assert data.column("m").cast(pa.int64()).to_pylist() == [7 * micros, most, -most, None]
    plain = pa.table({"m": pa.chunked_array([rows.chunk(0).slice(0, 1)])})
    assert arrow_table("t", plain).data is plain
    beyond = pa.table({"m": pa.array([most, most - 1], pa.int64()).view(type)})
    assert arrow_table("t", beyond).data is beyond
