"""Filters over outer joins of tables that share names of columns stay where they are."""

from __future__ import annotations

from pathlib import Path

import datafusion
import duckdb
import pyarrow as pa
import pytest
from datafusion.plan import LogicalPlan
from pyarrow import parquet

from jumpgate.client.sql.logical import barriers
from jumpgate.client.sql.logical import plan_pb2 as pb

TABLES = {
    "a": pa.table({"k": [1, 2, 3, 4], "j": pa.array([10, 20, 30, None], pa.int64())}),
    "b": pa.table({"k": [1, 2, 4], "j": pa.array([10, 99, None], pa.int64())}),
    "c": pa.table({"ck": [1, 2, 4], "cj": pa.array([10, 99, None], pa.int64())}),
}
GUARDED = (
    "SELECT a.k FROM a RIGHT JOIN b ON a.k = b.k WHERE (b.j IS DISTINCT FROM a.j) AND b.k > 0",
    "SELECT b.k FROM a RIGHT JOIN b ON a.k = b.k WHERE nullif(b.j, a.j) IS NOT NULL AND b.k > 0",
    "SELECT x FROM (SELECT b.k x, b.j y, a.j z FROM a RIGHT JOIN b ON a.k = b.k) q WHERE nullif(y, z) > 5 AND x > 0",
    "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WHERE coalesce(a.j, 1) <> coalesce(b.j, 2) AND a.k > 1",
    "SELECT a.k FROM a FULL JOIN b ON a.k = b.k WHERE (a.j IS DISTINCT FROM b.j) AND b.k > 0",
)
UNGUARDED = (
    "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE nullif(a.j, b.j) IS NOT NULL",
    "SELECT a.k FROM a LEFT JOIN c ON a.k = ck WHERE nullif(a.j, cj) IS NOT NULL",
    "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k",
)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> datafusion.SessionContext:
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
    for name, table in TABLES.items():
        file = tmp_path_factory.mktemp("tables") / f"{name}.parquet"
        parquet.write_table(table, file)
        context.register_parquet(name, str(Path(file)))
    return context


def guarded(context: datafusion.SessionContext, text: str) -> tuple[bool, list[object]]:
    """Whether there was something to guard, and the answer."""
    logical = context.sql(text).optimized_logical_plan()
    plan = pb.Plan.FromString(logical.to_bytes(context))
    changed = barriers.guard(plan)
    frame = context.create_dataframe_from_logical_plan(LogicalPlan.from_bytes(context, plan.SerializeToString()))
    return changed, sorted((v for batch in frame.collect() for v in batch.column(0).to_pylist()), key=str)


def answer(text: str) -> list[object]:
    with duckdb.connect() as other:
        for name, table in TABLES.items():
            other.register(f"{name}_data", table)
            other.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_data")
        return sorted((row[0] for row in other.execute(text).fetchall()), key=str)


@pytest.mark.parametrize("text", GUARDED)
def test_filters_stay_above_outer_joins(context: datafusion.SessionContext, text: str) -> None:
    assert guarded(context, text) == (True, answer(text))


def test_one_of_them_is_wrong_without_a_barrier(context: datafusion.SessionContext) -> None:
    """Else the barriers are of no use any more."""
    answers = {t: [v for b in context.sql(t).collect() for v in b.column(0).to_pylist()] for t in GUARDED[:2]}
    assert any(sorted(found, key=str) != answer(text) for text, found in answers.items())


@pytest.mark.parametrize("text", UNGUARDED)
def test_other_plans_stay_as_they_are(context: datafusion.SessionContext, text: str) -> None:
    assert guarded(context, text) == (False, answer(text))
