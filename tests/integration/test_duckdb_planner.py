"""What DuckDB plans and jobs compute: names, types and values are DuckDB's, whatever is offloaded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.errors import InvalidSql
from tests.support import duckdb_texts
from tests.support.alike import unlike


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("planner")


@pytest.fixture(scope="module")
def judge(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_texts.connect(folder) as found:
        yield found


@pytest.fixture(scope="module")
def connection(one_host: str, judge: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[Connection]:
    with jumpgate.connect(one_host) as found:
        for name in duckdb_texts.TABLES:
            found.register(name, folder / f"{name}.parquet")
        yield found


@pytest.mark.parametrize("text", duckdb_texts.OFFLOADED[::3])
def test_what_is_offloaded_has_duckdbs_types(
    connection: Connection, judge: duckdb.DuckDBPyConnection, text: str
) -> None:
    expected = judge.execute(text).to_arrow_table()
    with connection.sql(text, offload="never") as here, connection.sql(text, offload="always") as query:
        assert not unlike(here.to_arrow(), expected)
        assert query.schema == here.schema == here.to_arrow().schema
        assert query.split.offloaded == query.split.operators > 0


@pytest.mark.parametrize("text", [duckdb_texts.OFFLOADED[0], *duckdb_texts.COMPUTED])
def test_jobs_answer_as_duckdb_does(connection: Connection, judge: duckdb.DuckDBPyConnection, text: str) -> None:
    with connection.sql(text, offload="always") as query:
        assert not unlike(query.to_arrow(), judge.execute(text).to_arrow_table())
        assert len(query.jobs) == 1


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("SELECT k, $2 AS x, sum(a + $1) AS n FROM t WHERE d > $3 AND s <> $2 GROUP BY k", [3, "ax", Decimal("1.5")]),
        ("SELECT a, ts FROM t WHERE ts > $t AND day >= $d", {"t": "1970-01-01 01:00:00", "d": date(2023, 12, 21)}),
        ("SELECT a FROM t WHERE f BETWEEN ? AND ? ORDER BY a LIMIT ?", [0.5, 7.25, 4]),
        ("SELECT a, b FROM t WHERE b IN ($1, $2) OR flag = $3", [2**40, 3, True]),
    ],
)
def test_parameters_are_values_of_the_job(
    connection: Connection, judge: duckdb.DuckDBPyConnection, text: str, values: list[object] | dict[str, object]
) -> None:
    with connection.sql(text, values, offload="always") as query:
        assert query.split.offloaded == query.split.operators > 0
        assert not unlike(query.to_arrow(), judge.execute(text, values).to_arrow_table())


def test_what_stays_is_named_and_answered(connection: Connection, judge: duckdb.DuckDBPyConnection) -> None:
    for text, values, reason in (
        ("SELECT a FROM t WHERE a = $1", [None], "a text with NULL as a parameter is not offloaded"),
        ("SELECT unnest([a]), unnest([a]) FROM t", [], "UNNEST of several lists, side by side, is not offloaded"),
    ):
        with connection.sql(text, values, offload="always") as query:
            (kept,) = query.split.kept
            assert kept.reason.startswith(reason)
            assert not unlike(query.to_arrow(), judge.execute(text, values).to_arrow_table())


def test_mistakes_are_shown_where_they_are(connection: Connection) -> None:
    with pytest.raises(InvalidSql, match=r"LINE 2: FROM t WHERE nothing > 1\n {21}\^"):
        connection.sql("SELECT a\nFROM t WHERE nothing > 1")
    with pytest.raises(InvalidSql, match=r"LINE 1: SELEC a FROM t\n {8}\^"):
        connection.sql("SELEC a FROM t")


def test_tables_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "j.json").write_text('{"k": 1, "s": "a"}\n{"k": 2, "s": null}\n')
    with jumpgate.connect(offload="never") as connection:
        connection.register("j", tmp_path / "j.json")
        connection.register("d", pa.table({"k": [1, 3], "x": pa.array(["p", "q"]).dictionary_encode()}))
        rows = connection.sql("SELECT * FROM j FULL JOIN d USING (k) ORDER BY k").to_pylist()
        assert rows == [{"k": 1, "s": "a", "x": "p"}, {"k": 2, "s": None, "x": None}, {"k": 3, "s": None, "x": "q"}]
        assert connection.table("j").to_arrow().num_rows == 2


def test_columns_that_parquet_does_not_have_stay_and_others_go_out(tmp_path: Path) -> None:
    table = pa.table(
        {"a": [1, 2, 3], "ns": pa.array([1000, 2000, None], pa.time64("ns")), "day": [date(2024, 1, 1)] * 3}
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    with jumpgate.connect(offload="always") as connection:
        connection.register("t", tmp_path / "t.parquet")
        connection.register("r", table.append_column("d", pa.array(["x", "y", None]).dictionary_encode()))
        for text in (
            "SELECT a + 1 AS x, day FROM t",
            "SELECT sum(a) AS x FROM r",
            "SELECT typeof(ns) AS x, a FROM r",
            "SELECT d FROM r",
        ):
            with connection.sql(text) as query, connection.sql(text, offload="never") as here:
                assert query.split.offloaded == query.split.operators > 0
                assert query.schema == here.schema
        for text in (
            "SELECT count(ns) FROM r",
            "SELECT ns FROM r",
            "SELECT a FROM r WHERE ns IS NULL",
        ):
            with connection.sql(text) as query, connection.sql(text, offload="never") as here:
                assert not query.split.cuts, text
                assert query.to_arrow().equals(here.to_arrow())


def test_constants_are_a_job_in_always() -> None:
    with jumpgate.connect() as connection:
        text = "SELECT a + 1 AS n, b FROM (VALUES (1, 'one'), (-2, NULL)) AS v (a, b)"
        with connection.sql(text, offload="always") as query:
            assert query.split.offloaded == query.split.operators > 0
            assert not unlike(query.to_arrow(), duckdb.sql(text).to_arrow_table())
        assert not connection.sql(text).split.cuts
