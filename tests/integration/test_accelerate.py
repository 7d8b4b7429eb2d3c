"""DuckDB connections that use accelerators: the answers are DuckDB's, rows, names and types, and what is said to be
offloaded is computed by jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client.duckdb import planning
from jumpgate.client.duckdb.answers import relation_over
from jumpgate.client.duckdb.connection import Connection, accelerate
from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.session import Session
from jumpgate.errors import Cancelled, CannotPlace, ConfigError
from jumpgate.testing import oracle
from jumpgate.tpcds.data import SCALE_MIN, generate, path
from jumpgate.tpcds.suite import TPCDS, Suite
from jumpgate.tpch import TPCH
from tests.support import duckdb_texts
from tests.support.alike import unlike

#: queries of TPC-DS that run as jobs here: subqueries, grouping sets, windows, set operations, shared parts
RUN = (1, 8, 36, 41, 47, 51, 87)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("JUMPGATE_TPC_DATA")
    root = Path(kept) if kept else tmp_path_factory.mktemp("tpc")
    for suite in (TPCDS, TPCH):
        generate(root / suite.name, SCALE_MIN, ("parquet",), suite=suite)
    return root


@pytest.fixture(scope="module")
def suites(folder: Path) -> Iterator[dict[str, duckdb.DuckDBPyConnection]]:
    found = {}
    for suite in (TPCDS, TPCH):
        connection = found[suite.name] = duckdb.connect()
        for table in suite.tables:
            connection.execute(f"CREATE VIEW {table} AS FROM '{path(folder / suite.name, table, 'parquet')}'")
    yield found
    for connection in found.values():
        connection.close()


@pytest.fixture(scope="module", autouse=True)
def quick_builds() -> Iterator[None]:
    """Programs of little work are built without the optimiser: each text here has one of its own."""
    kept = os.environ.pop("JUMPGATE_QUICK_BUILDS", None)
    yield
    if kept is not None:
        os.environ["JUMPGATE_QUICK_BUILDS"] = kept


@pytest.fixture(scope="module")
def always(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    own = duckdb_texts.connect(tmp_path_factory.mktemp("accelerate"))
    with jumpgate.accelerate(own, mode="always", address=one_host) as connection:
        yield connection


def same(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """What a dataflow's meaning, as the oracle has it, differs in from DuckDB's answer."""
    found = planning.offload(connection, text)
    try:
        found.files.fill()
        expected = connection.sql(text)
        table = relation_over(
            connection, oracle.run(found.operator, DUCKDB), expected.columns, found.types
        ).to_arrow_table()
        return unlike(table, expected.to_arrow_table())
    finally:
        found.files.close()


@pytest.mark.parametrize(("suite", "count"), [(TPCDS, 99), (TPCH, 22)], ids=["tpcds", "tpch"])
def test_every_query_is_a_dataflow_of_the_same_meaning(
    suites: dict[str, duckdb.DuckDBPyConnection], suite: Suite, count: int
) -> None:
    connection = suites[suite.name]
    wrong = {number: found for number, text in suite.queries().items() if (found := same(connection, text))}
    assert not wrong
    assert len(suite.queries()) == count


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize(
    ("suite", "number"),
    [*((TPCH, number) for number in range(1, 23)), *((TPCDS, number) for number in RUN)],
    ids=lambda v: v.name if isinstance(v, Suite) else str(v),
)
def test_queries_run_as_jobs(
    suites: dict[str, duckdb.DuckDBPyConnection], one_host: str, suite: Suite, number: int
) -> None:
    connection, text = suites[suite.name], suite.queries()[number]
    accelerated = accelerate(connection, mode="always", address=one_host)
    found = accelerated.execute(text).to_arrow_table()
    assert accelerated.last_reason == ""
    assert not unlike(found, connection.execute(text).to_arrow_table())


@pytest.mark.parametrize("text", duckdb_texts.OFFLOADED)
def test_meanings(always: Connection, text: str) -> None:
    assert not same(always.duckdb, text)


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("text", duckdb_texts.OFFLOADED[::3])
def test_answers(always: Connection, text: str) -> None:
    found = always.execute(text).to_arrow_table()
    assert always.last_reason == ""
    assert not unlike(found, always.duckdb.execute(text).to_arrow_table())


@pytest.mark.parametrize("text", duckdb_texts.FAILING)
def test_what_a_job_fails_at_duckdb_answers(always: Connection, text: str) -> None:
    """Wider types, and errors, are DuckDB's."""

    def outcome(run: Connection | duckdb.DuckDBPyConnection) -> pa.Table | str:
        try:
            return run.execute(text).to_arrow_table()
        except duckdb.Error as error:
            return str(error)

    found, expected = outcome(always), outcome(always.duckdb)
    assert always.last_reason.startswith("as a job it failed")
    assert type(found) is type(expected)
    if isinstance(expected, pa.Table):
        assert not unlike(found, expected)
    else:
        assert found == expected


def test_results_have_duckdbs_names(always: Connection) -> None:
    text = "SELECT a, d, s FROM t WHERE a < 4 ORDER BY a"
    query, plain = always.sql(text), always.duckdb.sql(text)
    assert query.columns == plain.columns and query.types == plain.types
    assert query.fetchone() == plain.fetchone()
    assert query.fetchmany(2) == plain.fetchmany(2)
    assert query.fetchall() == plain.fetchall()
    assert query.df().equals(plain.df())
    assert query.pl().equals(plain.pl())
    assert query.to_arrow_table().equals(plain.to_arrow_table())
    assert repr(query) == repr(plain)
    assert pa.table(query).num_rows == len(query) == 4
    assert always.last_reason == ""
    rows = always.duckdb.sql(text).fetchall()
    always.execute(text)
    assert [always.fetchone(), *always.fetchmany(1), *always.fetchall()] == rows
    always.execute(text)
    assert [d[0] for d in always.description] == ["a", "d", "s"]


def test_a_text_that_stays_is_an_error_that_says_why(always: Connection) -> None:
    with pytest.raises(CannotPlace, match="LIMIT without ORDER BY"):
        always.execute("SELECT a FROM t LIMIT 3")
    with pytest.raises(CannotPlace, match="parameters"):
        always.execute("SELECT a FROM t WHERE a = ?", [1])


def test_everything_else_is_duckdbs(always: Connection) -> None:
    always.execute("CREATE OR REPLACE TABLE own AS SELECT 1 AS x")
    assert always.execute("INSERT INTO own VALUES (2)").fetchall() == [(1,)]
    assert always.last_reason == "it is not one SELECT"
    assert always.execute("SELECT sum(x) FROM own").fetchall() == [(3,)]
    assert always.last_reason == ""
    always.execute("BEGIN")
    always.execute("INSERT INTO own VALUES (10)")
    assert always.execute("SELECT sum(x) FROM own").fetchall() == [(13,)]
    always.execute("ROLLBACK")
    always.execute("SELECT sum(x) FROM own")
    always.execute("CREATE OR REPLACE TABLE more (y INT)")
    assert always.fetchall() == []
    with pytest.raises(duckdb.BinderException):
        always.execute("SELECT zz FROM own")
    with always.cursor() as other:
        assert other.execute("SELECT max(x) FROM own").fetchall() == [(2,)]
    assert always.execute("SELECT max(x) FROM own").fetchall() == [(2,)]


def test_variables_of_the_caller_are_tables(one_host: str) -> None:
    connection = jumpgate.accelerate(duckdb.connect(), address=one_host)
    mine = pa.table({"x": [1, 2]})
    assert connection.sql("SELECT sum(x) FROM mine").fetchall() == [(3,)]
    assert connection.execute("SELECT max(x) FROM mine").fetchall() == [(2,)]
    assert "plan" in connection.last_reason
    del mine


def test_auto_leaves_little_to_duckdb(one_host: str, tmp_path: Path) -> None:
    connection = jumpgate.accelerate(duckdb_texts.connect(tmp_path), address=one_host)
    text = "SELECT sum(a) FROM t"
    for _ in range(2):
        assert connection.execute(text).fetchall() == [(780,)]
        assert connection.last_reason.startswith("it reads so little")
    assert connection.explain(text).startswith("DuckDB runs it: it reads so little")
    connection.execute("CREATE TABLE own AS FROM t")
    assert connection.execute("SELECT sum(a) FROM own").fetchall() == [(780,)]
    assert "DuckDB's own" in connection.last_reason
    connection.execute("SELECT a FROM t LIMIT 1")
    assert connection.last_reason.startswith("LIMIT without ORDER BY")
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT zz FROM t")
    files = connection.duckdb.sql("SELECT max(a) FROM t").fetchall()
    connection.execute(f"COPY (SELECT 99 AS a) TO '{tmp_path}/t.parquet'")
    assert connection.execute(text).fetchall() == [(99,)] != files


def test_closing_ends_what_runs(one_host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB does not begin anew with a text that was ended."""
    connection = jumpgate.accelerate(duckdb_texts.connect(tmp_path), mode="always", address=one_host)

    def ended(*_: object, **__: object) -> None:
        raise Cancelled("the session was closed")

    monkeypatch.setattr(Session, "run", ended)
    with pytest.raises(Cancelled):
        connection.execute("SELECT sum(a) FROM t")


def test_explain_shows_the_plan(always: Connection) -> None:
    assert "aggregate" in always.explain("SELECT sum(a) FROM t")
    assert always.explain("SELECT a FROM t LIMIT 1").startswith("DuckDB runs it: LIMIT without ORDER BY")
    assert always.explain("CREATE TABLE x (a INT)").startswith("DuckDB runs it: it is not one SELECT")


def test_modes(one_host: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mode is 'maybe'; it can be auto, always, never"):
        jumpgate.accelerate(duckdb.connect(), mode="maybe")
    connection = jumpgate.accelerate(duckdb_texts.connect(tmp_path), mode="never", address=one_host)
    assert connection.execute("SELECT sum(a) FROM t").fetchall() == [(780,)]
    connection.close()
    connection.close()


def test_files_that_lose_a_column_are_left_to_duckdb(always: Connection, tmp_path: Path) -> None:
    always.duckdb.execute(f"COPY (SELECT 1 AS a, 2 AS b) TO '{tmp_path}/1.parquet'")
    always.duckdb.execute(f"COPY (SELECT 3 AS a) TO '{tmp_path}/2.parquet'")
    text = f"SELECT sum(b) FROM '{tmp_path}/*.parquet'"
    with pytest.raises(duckdb.Error) as theirs:
        always.duckdb.execute(text).fetchall()
    with pytest.raises((duckdb.Error, CannotPlace)) as ours:
        always.execute(text).fetchall()
    assert isinstance(ours.value, CannotPlace) or str(ours.value) == str(theirs.value)
