"""DuckDB's plans as dataflows: what a text becomes, what stays and why, and that nothing unknown is guessed at."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from jumpgate.client.duckdb import planning
from jumpgate.client.duckdb.plan import read_plan
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.compiler.describe import tree
from jumpgate.dataflow.operators import Read
from tests.support import duckdb_texts

#: fields, and what is below them, that do not bear on an answer
FREE = (
    "arguments",
    "original_arguments",
    "bindings",
    "type_info",
    "child_filter",
    "mark_types",
    "returned_types",
    "types",
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_texts.connect(tmp_path_factory.mktemp("duckdb")) as connection:
        yield connection


def flow(connection: duckdb.DuckDBPyConnection, text: str) -> list[str]:
    found = planning.offload(connection, text)
    found.files.close()
    return tree(found.operator)


def plan_of(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    return planning.bound_plan(connection, text)


def test_a_filter_and_a_sum(connection: duckdb.DuckDBPyConnection) -> None:
    lines = flow(connection, "SELECT sum(d), count(*) FROM t WHERE a > 30 AND s = 'ax'")
    kinds = [line.split()[0] for line in lines]
    assert [kind for kind in kinds if kind != "project"] == ["aggregate", "filter", "read"]
    (aggregate,), (filter,) = ([line for line in lines if line.split()[0] == kind] for kind in ("aggregate", "filter"))
    assert "sum(#0:c0)" in aggregate and "count_star()" in aggregate
    assert "gt(#0:a, 30)" in filter and "eq(#1:s, 'ax')" in filter


def test_rows_are_counted_by_a_column_that_is_read(connection: duckdb.DuckDBPyConnection) -> None:
    found = planning.offload(connection, "SELECT count(*) FROM nested, v")
    found.files.close()
    reads = [node for node in found.operator.walk() if isinstance(node, Read) and "nested" in node.files[0]]
    assert [read.schema.names for read in reads] == [("a",)]


@pytest.mark.parametrize("text", [*duckdb_texts.OFFLOADED, *duckdb_texts.COMPUTED])
def test_types_are_duckdbs(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    found = planning.offload(connection, text)
    found.files.close()
    assert [str(t) for t in found.types] == [str(t) for t in connection.sql(text).types]


@pytest.mark.parametrize(("text", "reason"), duckdb_texts.STAYING)
def test_what_stays_says_why(connection: duckdb.DuckDBPyConnection, text: str, reason: str) -> None:
    with pytest.raises(Stays) as stays:
        planning.offload(connection, text)
    assert reason in str(stays.value)


def objects(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all objects of a plan that bear on its answer."""
    if isinstance(data, dict):
        yield path
        for name, value in data.items():
            if name not in FREE:
                yield from objects(value, (*path, name))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from objects(value, (*path, number))


@pytest.mark.parametrize("text", duckdb_texts.OFFLOADED[:40])
def test_a_field_that_is_not_known_is_never_passed_over(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    plan = plan_of(connection, text)
    read_plan(plan)
    for path in objects(plan):
        changed = copy.deepcopy(plan)
        place = changed
        for step in path:
            place = place[step]
        if place.get("filter_type") in ("OPTIONAL_FILTER", "DYNAMIC_FILTER"):
            continue  # a hint
        place["surprise"] = 1
        with pytest.raises(Stays):
            read_plan(changed)


def test_names_that_are_not_known_are_never_passed_over(connection: duckdb.DuckDBPyConnection) -> None:
    text = json.dumps(plan_of(connection, "SELECT k, sum(a + 1) FROM t WHERE s LIKE '_x' GROUP BY k ORDER BY k"))
    for name in ("LOGICAL_ORDER_BY", "BOUND_AGGREGATE", "ASCENDING", "NULLS LAST", "NON_DISTINCT", "parquet_scan"):
        assert name in text
        with pytest.raises(Stays):
            read_plan(json.loads(text.replace(f'"{name}"', '"NEWER"')))


def test_the_session_stays_as_it_was(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET disabled_optimizers = 'top_n'")
    flow(connection, "SELECT sum(a) FROM t")
    assert connection.sql("SELECT current_setting('disabled_optimizers')").fetchall() == [("top_n",)]
    with pytest.raises(Stays, match="zz"):
        planning.offload(connection, "SELECT zz FROM t")
    assert connection.sql("SELECT current_setting('disabled_optimizers')").fetchall() == [("top_n",)]
    connection.execute("RESET disabled_optimizers")


def test_a_result_that_is_being_fetched_stays(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SELECT * FROM range(3)")
    assert connection.fetchone() == (0,)
    flow(connection, "SELECT sum(a) FROM t")
    assert connection.fetchall() == [(1,), (2,)]


def test_tables_of_a_transaction_are_seen(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("BEGIN")
    try:
        connection.execute("CREATE TEMP TABLE mine AS SELECT 1 AS x, 2::UTINYINT AS y, [3] AS z")
        found = planning.offload(connection, "SELECT sum(x) FROM mine WHERE y > 1")
        found.files.fill()
        assert found.files.tables == {"mine"}
        found.files.close()
    finally:
        connection.execute("ROLLBACK")


def test_sums_of_duckdbs_own_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Whose statistics say that they cannot overflow."""
    connection.execute("CREATE OR REPLACE TABLE own AS SELECT 1 AS x")
    found = planning.offload(connection, "SELECT sum(x) FROM own")
    found.files.close()
    assert [str(t) for t in found.types] == ["HUGEINT"]


def test_settings_that_change_what_a_plan_means(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET ieee_floating_point_ops = false")
    try:
        with pytest.raises(Stays, match="ieee_floating_point_ops is not true"):
            planning.offload(connection, "SELECT sum(a) FROM t")
    finally:
        connection.execute("RESET ieee_floating_point_ops")


def test_plans_of_other_versions_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning.duckdb, "__version__", "2.0.0")
    assert planning.supported() == "DuckDB 2.0.0 is installed, and the plans of 1.5 are known"


@pytest.mark.parametrize("constant", ["-(0::BIGNUM)", "set_bit('0101'::BIT, 2, 1)"])
def test_constants_that_no_plan_shows(connection: duckdb.DuckDBPyConnection, constant: str) -> None:
    with pytest.raises(Stays, match="does not hand out its plan"):
        planning.offload(connection, f"SELECT {constant}")


@pytest.mark.parametrize("type", ["STRUCT(b VARCHAR[3])", "VARCHAR[3][]", "STRUCT(a STRUCT(b VARCHAR[3]))[]"])
def test_types_with_parts_that_only_duckdb_has(connection: duckdb.DuckDBPyConnection, type: str) -> None:
    with pytest.raises(Stays):
        planning.offload(connection, f"SELECT a, TRY_CAST(a::VARCHAR AS {type}) AS b FROM t")


def test_only_one_select_is_a_query(connection: duckdb.DuckDBPyConnection) -> None:
    texts = ("SELECT 1", "FROM t", "VALUES (1)", "WITH x AS (SELECT 1) FROM x")
    assert all(planning.is_query(connection, text) for text in texts)
    texts = ("SELECT 1; SELECT 2", "CREATE TABLE x (a INT)", "SELEC 1", "SET threads = 1", "COPY t TO 'x'", "")
    assert not any(planning.is_query(connection, text) for text in texts)


def test_remote_files_are_duckdbs(tmp_path: Path) -> None:
    from jumpgate.client.duckdb.scans import _parquet

    with pytest.raises(Stays, match="s3:// is read by DuckDB"):
        _parquet(("s3://bucket/a.parquet",), (), ())
