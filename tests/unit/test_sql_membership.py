"""(NOT) IN with a subquery is unknown where NULLs decide, wherever it stands."""

from __future__ import annotations

import itertools
from pathlib import Path

import datafusion
import duckdb
import pyarrow as pa
import pytest
from datafusion.plan import LogicalPlan
from pyarrow import parquet

from jumpgate.client.sql import membership, refusals
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.logical import antijoins
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.tokens import parts_of

TABLES = {
    "t": pa.table({"id": [1, 2, 3, 4, 5], "a": [1, 2, None, 3, 2], "b": ["x", "y", "z", None, "y"]}),
    "u": pa.table({"a": pa.array([2, None, 5], pa.int64()), "k": ["x", "y", "z"]}),
    "n": pa.table({"a": [2, 5], "k": ["x", "z"]}),
    "e": pa.table({"a": pa.array([], pa.int64()), "k": pa.array([], pa.string())}),
}
SUBQUERIES = (
    "SELECT a FROM u", "SELECT a FROM n", "SELECT a FROM e", "SELECT a FROM u WHERE k = 'x'",
    "SELECT a + 1 AS a FROM u UNION ALL SELECT a FROM n",
    "SELECT a FROM u ORDER BY k LIMIT 2", "SELECT a FROM u WHERE u.a IN (SELECT a FROM n) IS NULL",
)  # fmt: skip
VALUES = ("a", "t.a + 1", "NULL")
PLACES = (
    "SELECT id, {} AS v FROM t",
    "SELECT DISTINCT {} AS v FROM t",
    "SELECT id FROM t WHERE NOT {} OR b = 'x'",
    "SELECT id FROM t WHERE NOT ({} AND b = 'y')",
    "SELECT id FROM t WHERE {} IS NULL",
    "SELECT id FROM t WHERE NOT {} AND id > 1",
    "SELECT id FROM t WHERE CASE WHEN {} THEN 1 ELSE 2 END = 2",
    "SELECT id FROM t WHERE {}",
)
CORRELATED = tuple(
    f"SELECT id FROM t WHERE {condition}"
    for operator in ("=", "<>", "<")
    for inner in (
        f"SELECT u.a FROM u WHERE u.k {operator} t.b",
        f"SELECT a + 1 FROM u WHERE t.b {operator} k AND a > 0",
    )
    for condition in (
        f"t.a NOT IN ({inner})",
        f"NOT (t.a + 1) IN ({inner}) AND id > 1",
        f"t.a IN ({inner})",
        f"t.a NOT IN ({inner}) OR id IS DISTINCT FROM 2",
        f"(t.a IN ({inner})) IS NULL",
        f"NOT (t.a IN ({inner}) AND (id = 1 OR t.a NOT IN ({inner})))",
    )
)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> datafusion.SessionContext:
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
    for name, table in TABLES.items():
        file = tmp_path_factory.mktemp("tables") / f"{name}.parquet"
        parquet.write_table(table, file)
        context.register_parquet(name, str(Path(file)))
    return context


@pytest.fixture(scope="module")
def other() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    for name, table in TABLES.items():
        found.register(f"{name}_data", table)
        found.execute(f"CREATE TABLE {name} AS FROM {name}_data")
    return found


def answer(context: datafusion.SessionContext, text: str) -> list[tuple[object, ...]]:
    try:
        logical = context.sql(membership.expand(text)).optimized_logical_plan()
        if "outer_ref(" in logical.display_indent():
            logical = context.sql(membership.expand(text, exists=True)).optimized_logical_plan()
    except Exception:  # of Rust: DataFusion plans no IN of a union beside OR
        logical = context.sql(membership.expand(text, every=True)).optimized_logical_plan()
    plan = pb.Plan.FromString(logical.to_bytes(context))
    antijoins.mend(plan)
    frame = context.create_dataframe_from_logical_plan(LogicalPlan.from_bytes(context, plan.SerializeToString()))
    return sorted((tuple(row.values()) for row in frame.to_arrow_table().to_pylist()), key=str)


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("place", PLACES)
def test_membership_is_unknown_where_nulls_decide(
    context: datafusion.SessionContext, other: duckdb.DuckDBPyConnection, place: str
) -> None:
    for value, operator, inner in itertools.product(VALUES, ("IN", "NOT IN"), SUBQUERIES):
        text = place.format(f"{value} {operator} ({inner})")
        assert answer(context, text) == sorted(other.execute(text).fetchall(), key=str), text


@pytest.mark.parametrize("text", CORRELATED)
def test_correlated_subqueries(context: datafusion.SessionContext, other: duckdb.DuckDBPyConnection, text: str) -> None:
    assert answer(context, text) == sorted(other.execute(text).fetchall(), key=str)


def test_values_of_correlated_subqueries(context: datafusion.SessionContext, other: duckdb.DuckDBPyConnection) -> None:
    for value, operator, member in itertools.product(("t.a", "1", "NULL"), ("IN", "NOT IN"), ("u.a", "a")):
        text = f"SELECT id, {value} {operator} (SELECT {member} FROM u WHERE u.k = t.b) AS v FROM t"
        assert answer(context, text) == sorted(other.execute(text).fetchall(), key=str), text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE (a, b) NOT IN (SELECT a, k FROM u) OR b = 'x'",
        "SELECT a = b IN (SELECT true) FROM t",
        "SELECT ? IN (SELECT a FROM u) FROM t",
    ],
)
def test_what_cannot_be_written_out_is_refused(text: str) -> None:
    assert membership.expand(text) == text
    with pytest.raises(InvalidSql, match="would be taken for false"):
        refusals.check(text, *parts_of(text))


def test_what_is_right_stays_as_it_is() -> None:
    for text in (
        "SELECT a FROM t WHERE a IN (SELECT a FROM u) AND b NOT IN (SELECT k FROM u)",
        "SELECT a IN (1, 2), 'a IN (SELECT a FROM u)' FROM t",
        "SELECT 1 -- a IN (SELECT a FROM u)",
    ):
        assert membership.expand(text) == text


def test_texts_stay_short() -> None:
    text = "SELECT 1 FROM t WHERE " + " OR ".join(["a NOT IN (SELECT a FROM u)"] * 100)
    assert membership.expand(text).count("CASE") <= membership.REWRITTEN_MAX
