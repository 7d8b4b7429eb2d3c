"""Aggregates of floats over frames that move: what has left a frame leaves nothing behind."""

from __future__ import annotations

import datetime
import math
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.moving import FUNCTIONS

INF = math.inf
FRAMES = (
    "ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING",
    "PARTITION BY g ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    "PARTITION BY g ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
    "PARTITION BY g ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ORDER BY g RANGE BETWEEN 1 PRECEDING AND CURRENT ROW",
    "ORDER BY id DESC RANGE BETWEEN 2 FOLLOWING AND 5 FOLLOWING",
    "ORDER BY g GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING",
)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    r, n = random.Random(3), 60
    table = pa.table(
        {
            "id": pa.array(r.sample(range(n), n), pa.int64()),
            "g": pa.array([r.choice((None, 1, 2, 2, 5)) for _ in range(n)], pa.int32()),
            "f": pa.array([r.choice((None, 0.1, 1.0, -2.5, 1e300, INF, -INF, math.nan)) for _ in range(n)]),
            "h": pa.array([r.choice((None, 0.5, 3.0, -7.25)) for _ in range(n)], pa.float32()),
        }
    )
    with jumpgate.connect() as found:
        found.register("t", table)
        yield found


def same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (a != a and b != b)


@pytest.mark.parametrize("frame", FRAMES)
def test_sums_and_averages_are_those_of_the_frame_alone(connection: Connection, frame: str) -> None:
    """DuckDB adds up each frame anew."""
    calls = ("sum(f)", "avg(f)", "sum(h)", "sum(f) FILTER (WHERE id > 20)", "avg(id / 4)")
    listed = ", ".join(f"{call} OVER ({frame}) AS v{i}" for i, call in enumerate(calls))
    text = f"SELECT id, count(*) OVER ({frame}) AS n, {listed} FROM t ORDER BY id"
    with duckdb.connect() as other:
        other.register("t", connection.table("t").to_arrow())
        expected = other.sql(text).fetchall()
    for mode in ("never", "auto", "always"):
        found = [tuple(row.values()) for row in connection.sql(text, offload=mode).to_pylist()]
        for have, want in zip(found, expected, strict=True):
            assert all(map(same, have, want)), (mode, have, want)


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_frame_that_moves_is_one_query_for_each_row(connection: Connection, name: str) -> None:
    arguments = "h" if name in ("sum", "avg") or name.startswith(("std", "var")) else "h, id"
    frame = "ORDER BY id ROWS BETWEEN 4 PRECEDING AND CURRENT ROW"
    text = f"SELECT {name}({arguments}) OVER ({frame}) AS v FROM t ORDER BY id"
    found = connection.sql(text, offload="never").to_arrow()["v"].to_pylist()
    for end, value in enumerate(found):
        rows = f"SELECT {name}({arguments}) AS v FROM t WHERE id BETWEEN {end - 4} AND {end}"
        (expected,) = connection.sql(rows, offload="never").to_arrow()["v"].to_pylist()
        assert same(value, expected), end


def test_names_types_and_other_functions_stay(connection: Connection) -> None:
    text = (
        "SELECT *, row_number() OVER w AS r FROM (SELECT id, g, sum(f) OVER v, sum(f + 1) OVER v AS b, count(*) OVER v "
        "FROM t WHERE h > 0 WINDOW v AS (ORDER BY id ROWS 1 PRECEDING)) AS s WINDOW w AS (ORDER BY id) ORDER BY id"
    )
    query = connection.sql(text, offload="never")
    assert query.columns[0] == "id" and query.columns[2].startswith("sum(t.f) ORDER BY") and query.columns[3] == "b"
    assert query.to_arrow().schema == query.schema
    assert query.to_arrow()["r"].to_pylist() == list(range(1, query.to_arrow().num_rows + 1))


def test_where_datafusion_runs_the_text_they_are_refused() -> None:
    numbers = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n, "
    frame = "OVER (ORDER BY n ROWS 1 PRECEDING)"
    connection = jumpgate.connect(dialect="datafusion")
    with pytest.raises(InvalidSql, match="avg of floats over a frame that moves is refused here"):
        connection.sql(f"{numbers} avg(CAST(n AS DOUBLE)) {frame} FROM r")
    with pytest.raises(InvalidSql, match=r"approx_distinct is refused here: .*; use count\(DISTINCT …\)"):
        connection.sql(f"{numbers} approx_distinct(n) OVER (ORDER BY n) FROM r")
    with pytest.raises(InvalidSql, match="approx_distinct is refused here"):
        connection.sql(f"{numbers} a FROM (SELECT max(n) AS n, approx_distinct(n) AS a FROM r) s")
    named = """'approx_distinct(' AS t, max('approx_distinct(n)') OVER () AS "approx_distinct(n)" FROM r LIMIT 1"""
    assert [*connection.sql(f"{numbers} {named}").to_pylist()[0].values()] == [
        1,
        "approx_distinct(",
        "approx_distinct(n)",
    ]
    sums = connection.sql(f"{numbers} sum(n) {frame} AS s, avg(n) OVER (ORDER BY n) AS a FROM r ORDER BY n").to_arrow()
    assert sums["s"].to_pylist() == [1, 3, 5, 7, 9]
    connection.close()


#: frames of tables with a day and an amount → exact, and the accelerators' own
MOVING = (
    *FRAMES[:4],
    "PARTITION BY g ORDER BY id GROUPS BETWEEN 2 PRECEDING AND 1 PRECEDING",
    "ORDER BY g GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING",
    "ORDER BY id DESC RANGE BETWEEN 2 FOLLOWING AND 5 FOLLOWING",
    "ORDER BY g RANGE BETWEEN 1 PRECEDING AND CURRENT ROW",
    "ORDER BY g DESC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
    "ORDER BY day RANGE BETWEEN INTERVAL '7 days' PRECEDING AND INTERVAL '1 day' FOLLOWING",
    "PARTITION BY g ORDER BY minute RANGE BETWEEN INTERVAL '90 minutes' PRECEDING AND CURRENT ROW",
    "ORDER BY amount RANGE BETWEEN 0.25 PRECEDING AND 1 FOLLOWING",
)


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("frame", MOVING)
def test_accelerators_have_all_frames(frame: str) -> None:
    r, n = random.Random(4), 200
    start = datetime.datetime(2024, 2, 27)
    days = [r.randrange(40) for _ in range(n)]
    table = pa.table(
        {
            "id": pa.array(r.sample(range(n), n), pa.int64()),
            "g": pa.array([r.choice((None, 1, 2, 2, 5)) for _ in range(n)], pa.int32()),
            "v": pa.array([r.choice((None, r.randrange(-99, 99))) for _ in range(n)], pa.int64()),
            "day": pa.array([None if d % 9 == 0 else start.date() + datetime.timedelta(d) for d in days]),
            "minute": pa.array([start + datetime.timedelta(minutes=17 * d) for d in days], pa.timestamp("us")),
            "amount": pa.array([Decimal(d) / 8 for d in days], pa.decimal128(9, 3)),
        }
    )
    calls = ("sum(v)", "count(*)", "min(v)", "max(id)", "avg(v)", "count(v) FILTER (WHERE id > 50)")
    if "ORDER BY id" in frame:  # else rows that tie come in any order
        calls += ("first_value(v)", "last_value(v)", "nth_value(v, 2)")
    listed = ", ".join(f"{call} OVER ({frame}) AS v{i}" for i, call in enumerate(calls))
    order = frame.split(" ROWS")[0].split(" RANGE")[0].split(" GROUPS")[0]
    shares = f"percent_rank() OVER ({order}) AS p, cume_dist() OVER ({order}) AS c"
    text = f"SELECT id, {listed}, {shares} FROM t ORDER BY id"
    with jumpgate.connect() as connection, duckdb.connect() as other:
        connection.register("t", table)
        other.register("t", table)
        query = connection.sql(text, offload="always")
        assert re.search(r"Offloaded: (\d+) of \1 operators", query.explain())
        found = [tuple(row.values()) for row in query.to_pylist()]
        assert found == other.sql(text).fetchall()


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ("ORDER BY day RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND CURRENT ROW", "a month has no one length"),
        ("ORDER BY x RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW", "frames of a RANGE of float64"),
        ("ORDER BY x RANGE BETWEEN 2 PRECEDING AND CURRENT ROW", "frames of a RANGE of float64"),
        ("ORDER BY n RANGE BETWEEN 900000000000000 PRECEDING AND CURRENT ROW", "frames of a RANGE of decimal(30, 8)"),
    ],
)
def test_ranges_that_stay(frame: str, reason: str) -> None:
    table = pa.table({"day": pa.array([datetime.date(2024, m, 29) for m in (1, 2, 3, 3)]), "x": [0.5, 2.0, 2.25, 9.0]})
    table = table.append_column("n", table["x"].cast(pa.decimal128(30, 8)))
    text = f"SELECT day, x, count(*) OVER ({frame}) AS n FROM t ORDER BY day, x"
    with jumpgate.connect() as connection, duckdb.connect() as other:
        connection.register("t", table)
        other.register("t", table)
        query = connection.sql(text, offload="always")
        assert reason in query.explain()
        assert [tuple(row.values()) for row in query.to_pylist()] == other.sql(text).fetchall()
