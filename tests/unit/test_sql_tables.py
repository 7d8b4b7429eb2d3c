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

ASKED = (pa.list_(pa.int64()), pa.large_string(), pa.timestamp("us", "Europe/Rome"), pa.time64("us"))
DECIMALS = (pa.decimal128(1), pa.decimal128(9, 9), pa.decimal128(38, 10))


@pytest.mark.parametrize("type", [*tables.DUCKDB_TYPES, *DECIMALS, *ASKED], ids=str)
def test_types_are_those_that_duckdb_finds(type: pa.DataType) -> None:
    database, schema = duckdb.connect(), pa.schema([("a", type), ("b", type)])
    database.register("t", schema.empty_table())
    assert tables.types_of(database, schema) == database.sql("FROM t").types


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
