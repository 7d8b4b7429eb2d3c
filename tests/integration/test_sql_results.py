"""Results of SQL connections under DuckDB's names: the same values, tables and files as DuckDB's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.query import Query
from jumpgate.errors import ComputeError

#: of each type, a value; beside it stands a NULL
VALUES = (
    "true", "1::TINYINT", "18446744073709551615::UBIGINT", "170141183460469231731687303715884105727::HUGEINT",
    "340282366920938463463374607431768211455::UHUGEINT", "1.5::FLOAT", "'nan'::DOUBLE", "1.50::DECIMAL(38, 2)", "'x'",
    r"'\xAA'::BLOB", "DATE '2020-02-29'", "DATE 'infinity'", "DATE '20000-01-01'", "TIME '12:00'",
    "'12:00:00+02'::TIMETZ", "TIMESTAMP '2020-01-01 00:00:00.123456'", "TIMESTAMP '-infinity'",
    "TIMESTAMP_NS '2020-01-01 00:00:00.123456789'", "INTERVAL '1 month 3 days'", "'101'::BIT",
    "'0202790f-de46-4460-a80e-bc5838056f26'::UUID", "'a'::ENUM('a', 'b')", "union_value(a := 1)", "MAP {'a': 1}",
    "MAP {[1]: 2}", "{'a': 1, 'u': '0202790f-de46-4460-a80e-bc5838056f26'::UUID}", "[1, NULL]", "[1, 2]::INTEGER[2]",
    "[{'i': INTERVAL 1 DAY}]", "'{\"a\": 1}'::JSON", "NULL", "row(1, 'a')", "[row(row(1), [2])]",
)  # fmt: skip
MOMENTS = "SELECT * FROM (VALUES (1, TIMESTAMPTZ '2020-01-01 12:00:00+02'), (2, NULL)) AS t(a, b)"
ROWS = "SELECT n % 3 AS k, n, 'text ' || n AS s FROM sale ORDER BY n"


@pytest.fixture(scope="module")
def alone() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE VIEW sale AS SELECT range AS n FROM range(20)")
        yield connection


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    file = tmp_path_factory.mktemp("sale") / "sale.parquet"
    parquet.write_table(pa.table({"n": pa.array(range(20), pa.int64())}), file)
    with jumpgate.connect() as found:
        found.register("sale", file)
        yield found


@pytest.mark.parametrize("value", VALUES)
def test_values_are_duckdbs(connection: Connection, alone: duckdb.DuckDBPyConnection, value: str) -> None:
    text = f"SELECT {value} AS v UNION ALL SELECT NULL"
    query, relation = connection.sql(text), alone.sql(text)
    assert repr(query.fetchall()) == repr(relation.fetchall())
    assert [query.fetchone(), *query.fetchmany(5)].__repr__() == repr(relation.fetchall())
    assert query.fetchone() is None and query.types == relation.types and query.columns == relation.columns
    assert query.description == relation.description and len(query) == len(relation) and query.shape == relation.shape
    assert str(query) == str(relation)
    if not any(name in value for name in ("UHUGEINT", "TIMETZ", "infinity")):  # DuckDB's data frames have none
        assert repr(query.df()) == repr(relation.df()) and str(query.df().dtypes) == str(relation.df().dtypes)
        assert repr(query.fetchnumpy()) == repr(relation.fetchnumpy())


@pytest.mark.parametrize("mode", ["never", "always"])
def test_moments_with_a_zone(connection: Connection, alone: duckdb.DuckDBPyConnection, mode: str) -> None:
    (one, moment), (two, nothing) = connection.sql(MOMENTS, offload=mode).fetchall()
    assert (one, two, nothing) == (1, 2, None) and moment.isoformat() == "2020-01-01T10:00:00+00:00"
    assert connection.sql(f"SELECT b FROM ({MOMENTS})").fetchone() == (moment,)


@pytest.mark.parametrize("mode", ["never", "auto", "always"])
def test_tables_are_duckdbs(
    connection: Connection, alone: duckdb.DuckDBPyConnection, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query, relation = connection.sql(ROWS, offload=mode), alone.sql(ROWS)
    assert bool(query.split.cuts) == (mode == "always")
    assert query.pl().equals(relation.pl()) and query.df().equals(relation.df())
    assert query.fetch_arrow_table().equals(relation.to_arrow_table()) and query.arrow().read_all().num_rows == 20
    assert repr(query) == repr(relation)
    query.show(max_rows=4, max_width=60)
    relation.show(max_rows=4, max_width=60)
    ours, theirs = capsys.readouterr().out.split("\n\n")[:2]
    assert ours == theirs and "(4 shown)" in ours
    assert query.fetchmany(2) == relation.fetchmany(2) and query.fetchall() == relation.fetchall()


def test_a_repr_shows_the_first_rows_and_soon(connection: Connection) -> None:
    taken = connection.sql("FROM range(20000)")
    assert len(taken) == 20000 and "20 shown)" in repr(taken)
    endless = connection.sql("SELECT count(*) AS n FROM range(100000000000)")
    assert repr(endless) == "Query('SELECT count(*) AS n FROM range(100000000000)': n BIGINT)"
    assert (
        repr(connection.sql("CREATE OR REPLACE TABLE t (a INTEGER)"))
        == "Query('CREATE OR REPLACE TABLE t (a INTEGER)')"
    )


@pytest.mark.parametrize("mode", ["never", "always"])
def test_files_are_duckdbs(connection: Connection, alone: duckdb.DuckDBPyConnection, tmp_path: Path, mode: str) -> None:
    def written(source: Any, name: str) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        source.write_csv(str(folder / "a.csv"), sep=";", header=False)
        source.write_parquet(str(folder / "parts"), partition_by=["k"])
        source.write_parquet(str(folder / "a.parquet"), compression="zstd")
        return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*.*")) if f.is_file()}

    query: Query = connection.sql(ROWS, offload=mode)
    ours, theirs = written(query, "ours"), written(alone.sql(ROWS), "theirs")
    assert ours.keys() == theirs.keys() and ours["a.csv"] == theirs["a.csv"] and "parts/k=2/data_0.parquet" in ours
    for name in ours:
        if name.endswith("parquet"):
            assert parquet.read_table(tmp_path / "ours" / name).equals(parquet.read_table(tmp_path / "theirs" / name))
    query.write_json(tmp_path / "it's.json")
    alone.execute(f"COPY ({ROWS}) TO '{tmp_path}/theirs.json' (FORMAT json)")
    assert (tmp_path / "it's.json").read_text() == (tmp_path / "theirs.json").read_text()
    query.write_json(tmp_path / "array.json.gz", array=True, compression="gzip")
    assert alone.sql(f"SELECT count(*) FROM read_json('{tmp_path}/array.json.gz')").fetchall() == [(20,)]


def test_what_ends_a_query_ends_the_writing_of_it(connection: Connection, tmp_path: Path) -> None:
    with pytest.raises(ComputeError, match="Could not convert string 'x0'"):
        connection.sql("SELECT CAST('x' || n AS INTEGER) FROM sale").write_parquet(tmp_path / "x.parquet")
