"""Statements of SQL connections: DuckDB's tables, views, functions, transactions and settings beside registered tables,
and what they do to queries."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

import jumpgate
from jumpgate.client import dbapi
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.skipped import SkippedRows
from jumpgate.client.sql.statements import stored_query
from jumpgate.errors import ComputeError, DataError, JumpgateError
from jumpgate.testing.leaks import wait_until

MODES = ("never", "auto", "always")
SALE = pa.table({"k": pa.array([n % 4 for n in range(40)], pa.int64()), "v": pa.array(range(40), pa.int64())})
SUMS = [(0, 180), (1, 190), (2, 200), (3, 210)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    parquet.write_table(SALE, folder / "sale.parquet")
    (folder / "lines.json").write_text("".join(json.dumps(row) + "\n" for row in SALE.to_pylist()))
    return folder


@pytest.fixture
def connection(files: Path) -> Iterator[Connection]:
    with jumpgate.connect() as found:
        found.register("sale", files / "sale.parquet")
        found.register("lines", files / "lines.json")
        found.register("names", pa.table({"k": range(4), "name": ["a", "b", "c", "d"]}))
        yield found


@pytest.mark.parametrize("mode", MODES)
def test_what_a_select_stores_is_offloaded_as_it_is_alone(connection: Connection, tmp_path: Path, mode: str) -> None:
    connection.offload = mode
    jobs = len(connection.session.jobs())
    connection.sql("CREATE TABLE sums AS SELECT k, sum(v) AS s FROM sale GROUP BY k")
    assert connection.sql("SELECT * FROM sums ORDER BY k", offload="never").fetchall() == SUMS
    assert connection.sql("DESCRIBE sums", offload="never").fetchall()[1][:2] == ("s", "HUGEINT")
    connection.sql("INSERT INTO sums (s, k) SELECT v, k FROM sale WHERE v = 39")
    assert connection.sql("SELECT k FROM sums WHERE s = 39", offload="never").fetchall() == [(3,)]
    connection.sql(f"COPY (SELECT k, v FROM sale) TO '{tmp_path}/parts' (FORMAT parquet, PARTITION_BY (k))")
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["k=0", "k=1", "k=2", "k=3"]
    assert (len(connection.session.jobs()) - jobs == 3) == (mode == "always")


@pytest.mark.parametrize("mode", MODES)
def test_registered_tables_and_the_databases_own_are_in_one_text(connection: Connection, mode: str) -> None:
    connection.offload = mode
    connection.sql("CREATE TABLE own (k BIGINT, factor BIGINT); INSERT INTO own VALUES (1, 10), (2, 100)")
    text = "SELECT name, sum(v * factor)::BIGINT FROM {} JOIN own USING (k) JOIN names USING (k) GROUP BY 1 ORDER BY 1"
    assert connection.sql(text.format("sale")).fetchall() == [("b", 1900), ("c", 20000)]
    assert connection.sql(text.format("lines")).fetchall() == [("b", 1900), ("c", 20000)]
    connection.sql("CREATE VIEW joined AS SELECT name, v FROM lines JOIN names USING (k)")
    assert connection.sql("SELECT count(*) FROM joined WHERE name = 'a'").fetchall() == [(10,)]
    connection.sql("CREATE MACRO of_name(n) AS TABLE SELECT sum(v)::BIGINT AS s FROM joined WHERE name = n")
    assert connection.sql("FROM of_name('b')").fetchall() == [(190,)]
    assert connection.table("own").fetchall() == [(1, 10), (2, 100)]
    shown = {row["name"]: row["source"] for row in connection.sql("SHOW TABLES").to_pylist()}
    assert shown["own"] == "table of the database" and shown["joined"] == "view of the database"
    assert shown["names"] == "Arrow table of 4 rows"
    named = "SELECT column_name FROM information_schema.columns WHERE table_name IN ('names', 'own') ORDER BY 1"
    assert connection.sql(named).fetchall() == [("factor",), ("k",), ("k",), ("name",)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("statement", "text", "before", "after"),
    [
        ("CREATE MACRO upper(x) AS 'mine'", "SELECT upper('a')", "A", "mine"),
        ("SET integer_division = true", "SELECT max(v / 2) FROM sale", 19.5, 19),
        ("SET default_null_order = 'nulls_first'", "SELECT nullif(v, 0) FROM sale ORDER BY 1 LIMIT 1", 1, None),
        ("USE other", "SELECT current_schema()", "main", "other"),
        ("CREATE OR REPLACE VIEW seen AS SELECT 2 AS n", "SELECT n FROM seen", 1, 2),
    ],
    ids=lambda value: value if isinstance(value, str) and value[0] in "CSU" else "",
)
def test_a_statement_changes_what_texts_mean(
    connection: Connection, mode: str, statement: str, text: str, before: object, after: object
) -> None:
    connection.offload = mode
    connection.sql("CREATE SCHEMA other; CREATE VIEW seen AS SELECT 1 AS n")
    assert connection.sql(text).fetchall() == [(before,)]
    connection.sql(statement)
    assert connection.sql(text).fetchall() == [(after,)]


@pytest.mark.parametrize("mode", MODES)
def test_transactions(connection: Connection, mode: str) -> None:
    connection.offload = mode
    connection.sql("BEGIN; CREATE TABLE sums AS SELECT k, sum(v) AS s FROM sale GROUP BY k")
    assert connection.sql("SELECT * FROM sums JOIN names USING (k) ORDER BY k").fetchall()[0] == (0, 180, "a")
    connection.sql("ROLLBACK")
    with pytest.raises(InvalidSql, match="Table with name sums does not exist"):
        connection.sql("FROM sums")
    connection.sql("CREATE TABLE own AS SELECT 1 AS a")
    connection.sql("BEGIN")
    with pytest.raises(ComputeError):
        connection.sql("INSERT INTO own SELECT 1 / 0 UNION ALL SELECT 'x'::INT")
    connection.sql("ROLLBACK")
    assert connection.sql("SELECT * FROM own").fetchall() == [(1,)]


def test_what_only_one_session_has(connection: Connection) -> None:
    connection.sql("CREATE TEMP TABLE mine AS SELECT k FROM sale WHERE v < 2")
    assert connection.sql("SELECT name FROM mine JOIN names USING (k) ORDER BY 1").fetchall() == [("a",), ("b",)]
    connection.sql("PREPARE sums AS SELECT sum(v)::BIGINT FROM lines WHERE k = $1")
    assert connection.sql("EXECUTE sums(1)").fetchall() == [(190,)]
    connection.sql("SET VARIABLE k = 2")
    assert connection.sql("SELECT sum(v)::BIGINT FROM sale WHERE k = getvariable('k')").fetchall() == [(200,)]
    first, second = connection.sql("FROM range(5)"), connection.sql("FROM range(5)")
    assert [first.fetchone(), second.fetchone(), first.fetchone()] == [(0,), (0,), (1,)]


def test_several_statements(connection: Connection) -> None:
    query = connection.sql("CREATE TABLE t (s VARCHAR); INSERT INTO t VALUES ('a;b'), ('c'); -- done;\nFROM t;")
    assert query.fetchall() == [("a;b",), ("c",)]
    assert connection.sql("SELECT 1; SELECT s FROM t WHERE s = $1", ["c"]).fetchall() == [("c",)]
    assert connection.sql("DELETE FROM t; PIVOT names ON name USING sum(k)").columns == ["a", "b", "c", "d"]
    counted = connection.sql("INSERT INTO t VALUES ('x'), ('y')")
    assert counted.fetchall() == [(2,)] and counted.columns == ["Count"]
    assert connection.sql("INSERT INTO t VALUES ('z') RETURNING s || '!'").fetchall() == [("z!",)]
    with pytest.raises(InvalidSql, match="does not exist"):
        connection.sql("INSERT INTO t VALUES ('kept'); FROM nothing; DROP TABLE t")
    assert connection.sql("SELECT count(*) FROM t WHERE s = 'kept'").fetchall() == [(1,)]


def test_a_query_that_was_executed_is_what_was_there(connection: Connection) -> None:
    connection.sql("CREATE TABLE own AS FROM range(3)")
    late, now = connection.sql("FROM own"), connection.execute("FROM own")
    connection.execute("DELETE FROM own")
    assert now.fetchall() == [(0,), (1,), (2,)] and late.fetchall() == []


def test_a_file_keeps_what_statements_do(files: Path, tmp_path: Path) -> None:
    file = tmp_path / "own.duckdb"
    with jumpgate.connect(database=file) as first:
        first.register("sale", files / "sale.parquet")
        first.sql("CREATE TABLE sums AS SELECT k, sum(v) AS s FROM sale GROUP BY k; CREATE MACRO twice(x) AS 2 * x")
        first.sql("CREATE VIEW largest AS SELECT max(v) AS v FROM sale")
        unread = first.sql("FROM sums")
    with duckdb.connect(file) as alone:
        assert alone.execute("SELECT twice(s)::BIGINT FROM sums ORDER BY k").fetchall()[0] == (360,)
    del unread
    with jumpgate.connect(database=file, read_only=True) as again:
        assert again.sql("SELECT * FROM sums ORDER BY k").fetchall() == SUMS
        again.register("sale", files / "sale.parquet")
        assert again.sql("SELECT twice(v) FROM largest").fetchall() == [(78,)]
        with pytest.raises(InvalidSql, match="read-only"):
            again.sql("DROP TABLE sums")
    (tmp_path / "text").write_text("no database")
    with pytest.raises(DataError, match="not a valid DuckDB database file"):
        jumpgate.connect(database=tmp_path / "text")


@pytest.mark.parametrize("mode", MODES)
def test_files_in_from(connection: Connection, files: Path, mode: str) -> None:
    text = f"SELECT k, sum(v) FROM '{files}/sale.parquet' GROUP BY k ORDER BY k"
    query = connection.sql(text, offload=mode)
    assert query.fetchall() == SUMS and bool(query.split.cuts) == (mode == "always")
    assert connection.sql(f"SELECT count(*) FROM read_json('{files}/lines.json')", offload=mode).fetchall() == [(40,)]


def test_a_job_that_fails_leaves_the_statement_to_duckdb(connection: Connection) -> None:
    connection.offload = "always"
    connection.sql("CREATE TABLE late AS SELECT DATE '9999-12-01' + CAST(v * 31 AS INTEGER) AS d FROM sale WHERE v < 2")
    assert connection.sql("SELECT count(*) FROM late WHERE d > DATE '9999-12-31'").fetchall() == [(1,)]
    with pytest.raises(ComputeError):
        connection.sql("CREATE TABLE never AS SELECT v + 9223372036854775807 AS x FROM sale")


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_were_skipped_are_warned_of_in_every_output(files: Path, tmp_path: Path, mode: str) -> None:
    (tmp_path / "bad.csv").write_text("a\n1\nx\n2\ny\n3\n")
    with dbapi.connect(offload=mode) as tools:
        connection = tools.sql
        connection.register("bad", tmp_path / "bad.csv", schema={"a": "int64"}, on_error="skip")
        text = "SELECT a + 1 AS b FROM bad"
        for take in (
            lambda: connection.sql(text).df(),
            lambda: connection.sql(text).fetchall(),
            lambda: connection.sql(text).show(),
            lambda: connection.sql(text).write_csv(str(tmp_path / "out.csv")),
            lambda: connection.sql(f"CREATE OR REPLACE TABLE good AS {text}"),
            lambda: connection.sql(f"COPY bad TO '{tmp_path}/out.parquet'"),
            lambda: tools.execute(text).fetchall(),
        ):
            with pytest.warns(SkippedRows, match=r"skipped 2 rows of bad\.csv that could not be read"):
                take()


def test_close_ends_statements_and_queries(files: Path) -> None:
    endless = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
    for text in (endless, f"CREATE TABLE t AS {endless}"):
        connection = jumpgate.connect()
        raised: list[str] = []

        def run(connection: Connection = connection, text: str = text, raised: list[str] = raised) -> None:
            try:
                connection.sql(text).to_arrow()
            except JumpgateError as error:
                raised.append(error.code)

        running = threading.Thread(target=run)
        running.start()
        assert wait_until(
            lambda connection=connection: any(stop.is_waited_for for stop in list(connection._workspace._stops))
        )
        connection.close()
        running.join()
        assert raised == ["cancelled"]


@pytest.mark.parametrize(
    ("text", "kind", "stored"),
    [
        ("CREATE TABLE t AS SELECT 1;", "CREATE", "SELECT 1"),
        ("CREATE OR REPLACE TEMP TABLE t AS (SELECT 1)", "CREATE", None),
        ("CREATE TABLE t AS WITH a AS (SELECT 1) FROM a", "CREATE", "WITH a AS (SELECT 1) FROM a"),
        ("CREATE TABLE t AS SELECT 1 WITH NO DATA", "CREATE", None),
        ("CREATE VIEW t AS SELECT 1", "CREATE", None),
        ("INSERT INTO t (a, b) SELECT 1, 2", "INSERT", "SELECT 1, 2"),
        ("INSERT INTO t BY NAME FROM u", "INSERT", "FROM u"),
        ("INSERT INTO t SELECT a FROM u ON CONFLICT DO NOTHING", "INSERT", None),
        ("INSERT INTO t SELECT a FROM u RETURNING a", "INSERT", None),
        ("INSERT INTO t VALUES ((SELECT 1))", "INSERT", None),
        ("WITH a AS (SELECT 1) INSERT INTO t FROM a", "INSERT", None),
        ("COPY (SELECT ')' FROM (FROM u)) TO 'x' (FORMAT csv)", "COPY", "SELECT ')' FROM (FROM u)"),
        ("COPY t TO 'x'", "COPY", None),
        ("COPY t (a) FROM 'x'", "COPY", None),
    ],
)
def test_the_select_that_a_statement_stores(text: str, kind: str, stored: str | None) -> None:
    span = stored_query(text, kind)
    assert (None if span is None else text[slice(*span)]) == stored
