"""Floats have one order: -0.0 equals 0.0, every NaN equals every NaN and is largest, and infinities are values."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import datafusion
import duckdb
import pyarrow as pa
import pytest
from datafusion.plan import LogicalPlan
from pyarrow import parquet

from jumpgate.client.sql import local
from jumpgate.client.sql.catalog import arrow_table
from jumpgate.client.sql.frontend import Frontend
from jumpgate.client.sql.logical import floats
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import Node
from tests.support.alike import unlike

INF, NAN = math.inf, math.nan
#: as x86 computes 0/0
NEGATIVE_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000000))[0]
VALUES = [0.0, -0.0, 1.5, None, NAN, NEGATIVE_NAN, -INF, -INF, INF, INF, None, -2.5]
KEYS = [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
MENDED = (
    "SELECT k, max(f) AS a, min(f) AS b, max(g) AS c, min(g) AS d FROM t GROUP BY k",
    "SELECT max(f) AS a, min(f) FILTER (WHERE k = 4) AS b, max(DISTINCT f) FILTER (WHERE k = 3) AS c FROM t",
    "SELECT count(DISTINCT f) AS a, count(DISTINCT g) AS b, count(DISTINCT k) AS c FROM t",
    "SELECT k, count(DISTINCT f) AS a, count(*) AS n, sum(DISTINCT f) AS s FROM t GROUP BY k",
    "SELECT f, count(*) AS n FROM t GROUP BY f",
    "SELECT f AS x, g, k, count(*) AS n FROM t GROUP BY GROUPING SETS ((f, k), (f, g), (k))",
    "SELECT f * 2e0 AS x, count(*) AS n FROM t GROUP BY ROLLUP (f * 2e0)",
    "SELECT DISTINCT f, k FROM t",
    "SELECT f FROM t INTERSECT SELECT f FROM t WHERE k = 2",
    "SELECT f - f AS x FROM t UNION SELECT f - f FROM t",
    "SELECT id FROM t WHERE f < 5e0",
    "SELECT id, f * 0e0 > 5e0 AS b, f - f IS DISTINCT FROM f - f AS c FROM t",
    "SELECT id FROM t WHERE f - f BETWEEN -1e0 AND 1e0",
    "SELECT id FROM t WHERE f IN (0e0, 7.5e0, CAST('NaN' AS DOUBLE))",
    "SELECT id FROM t WHERE CASE WHEN f IN (0e0, 1e0) THEN f ELSE 1e0 END IN (0e0, 2e0)",
    "SELECT id, CASE f WHEN 0e0 THEN 'zero' WHEN CAST('NaN' AS DOUBLE) THEN 'none' END AS c FROM t",
    "SELECT id, nullif(f, 0e0) AS a, greatest(f - f, 1e0) AS b, least(coalesce(f - f, 2e0), 1e0) AS c FROM t",
    "SELECT id, rank() OVER (ORDER BY f) AS a, count(*) OVER (PARTITION BY f) AS b FROM t",
    "SELECT id, max(f) OVER (ORDER BY id) AS a, min(f - f) OVER (ORDER BY id) AS b FROM t",
    "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.f = b.f",
    "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.k = b.k AND a.f > b.f",
    "SELECT median(f) AS m FROM t",
    "SELECT id FROM t WHERE f >= (SELECT max(f) FROM t)",
)
TABLES = [arrow_table("t", pa.table({"id": [1]}))]  # which are asked for their names
KEPT = (
    "SELECT k, max(k) AS a, count(DISTINCT id) AS b, sum(f) AS c, avg(f + 1e0) AS d FROM t WHERE k < 3 GROUP BY k",
    "SELECT f, f + 1e0 AS x, coalesce(f, 0e0) AS y FROM t WHERE f IS NOT NULL",
)


@pytest.fixture(scope="module")
def data() -> pa.Table:
    f = pa.array(VALUES, pa.float64())
    return pa.table({"id": range(len(KEYS)), "k": KEYS, "f": f, "g": f.cast(pa.float32())})


@pytest.fixture(scope="module")
def context(data: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> datafusion.SessionContext:
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
    file = tmp_path_factory.mktemp("tables") / "t.parquet"
    parquet.write_table(data, file)
    context.register_parquet("t", str(Path(file)))
    return context


def normalised(context: datafusion.SessionContext, text: str) -> tuple[bool, pa.Table]:
    """Whether there was something to change, and the answer."""
    logical = context.sql(text).optimized_logical_plan()
    plan = pb.Plan.FromString(logical.to_bytes(context))
    changed = floats.normalise(Node(pb.Plan.FromString(plan.SerializeToString()), logical, context), plan)
    frame = context.create_dataframe_from_logical_plan(LogicalPlan.from_bytes(context, plan.SerializeToString()))
    return changed, frame.to_arrow_table()


def answer(text: str, data: pa.Table) -> pa.Table:
    with duckdb.connect() as other:
        other.register("given", data)
        other.execute("CREATE TABLE t AS FROM given")
        return other.execute(text).to_arrow_table()


@pytest.mark.parametrize("text", MENDED)
def test_floats_have_one_order(context: datafusion.SessionContext, data: pa.Table, text: str) -> None:
    changed, found = normalised(context, text)
    expected = answer(text, data)
    assert changed
    assert found.column_names == expected.column_names
    assert not unlike(found, expected, types=False)


def test_some_of_them_are_wrong_without(context: datafusion.SessionContext, data: pa.Table) -> None:
    """Else this is of no use any more."""
    wrong = [t for t in MENDED if unlike(context.sql(t).to_arrow_table(), answer(t, data), types=False)]
    assert len(wrong) > len(MENDED) // 2, wrong


@pytest.mark.parametrize("text", KEPT)
def test_what_compares_no_floats_stays_as_it_is(context: datafusion.SessionContext, data: pa.Table, text: str) -> None:
    changed, found = normalised(context, text)
    assert not changed
    assert not unlike(found, answer(text, data), types=False)


@pytest.fixture(scope="module")
def frontend(data: pa.Table) -> Frontend:
    found = Frontend(local.context(), "datafusion")
    found.changed("t", arrow_table("t", data))
    return found


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("f <> -0e0 AND f IN (0e0, 0e0)", "t.f != Float64(0) AND t.f = Float64(0)"),
        ("f = 0e0 * -1e0", "Filter: t.f = Float64(0)"),
        ("f = '-0'", "Filter: t.f = Float64(0)"),
        ("f > -(0e0) AND id IN (SELECT k FROM t WHERE f IN (0e0) AND f <> round(-0.4))", "t.f != Float64(0)"),
        ("f BETWEEN -1e0 AND ceil(-0.5)", "t.f <= Float64(0)"),
        ("g = CAST(-0e0 AS REAL)", "Filter: t.g = Float32(0)"),
        ("nullif(0e0, -0e0) IS NULL AND f > 0e0 / 0e0", "Filter: t.f > Float64(NaN)"),
        ("f = $1", "Filter: t.f = Float64(0)"),
    ],
)
def test_constants_that_are_compared_have_one_zero(frontend: Frontend, condition: str, shown: str) -> None:
    planned = frontend.plan(f"SELECT id FROM t WHERE {condition}", [-0.0] if "$" in condition else (), TABLES)
    assert shown in planned.shown
    assert not planned.as_text


def test_names_of_aggregates_stay(frontend: Frontend) -> None:
    text = "SELECT k, max(CASE f WHEN 1e0 THEN k WHEN -0e0 THEN 3 END) FROM t GROUP BY k HAVING count(*) > 1"
    planned = frontend.plan(text, (), TABLES)
    assert planned.schema.names[1] == "max(CASE t.f WHEN Float64(1) THEN t.k WHEN Float64(-0) THEN Int64(3) END)"
    assert "Float64(0)" in planned.shown and not planned.as_text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM (SELECT id, f, -0e0 AS z, 0e0 AS y FROM t) AS v WHERE f <> z AND f IN (y, y)",
        "SELECT id FROM t WHERE CASE WHEN k > 2 THEN -0e0 ELSE 1e0 END = 0e0 AND f > 1e0",
        "SELECT id FROM t WHERE -CASE WHEN k > 2 THEN 0e0 ELSE 1e0 END = f",
        "SELECT id FROM t WHERE f = coalesce(nullif(-0e0, f), 1e0)",
    ],
)
def test_where_odd_zeros_may_get_to_a_comparison_all_is_mended(frontend: Frontend, text: str) -> None:
    planned = frontend.plan(text, (), TABLES)
    assert "nanvl(t.f + Float64(0), Float64(NaN))" in planned.shown
    assert not planned.as_text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT -0e0 AS z, 0e0 * -1e0 AS y, f FROM t WHERE k > -3",
        "SELECT id, f * -0e0 AS x FROM t WHERE f > -1.5 AND g < -2 AND f IN (-1e0, 0e0) AND s <> '-0'",
        "SELECT CASE WHEN f > -2e0 THEN -1.5 ELSE f END AS x FROM t WHERE k = -0",
    ],
)
def test_other_plans_stay_as_they_are(frontend: Frontend, text: str) -> None:
    assert frontend.plan(text.replace("s <>", "'1' <>"), (), TABLES).as_text
