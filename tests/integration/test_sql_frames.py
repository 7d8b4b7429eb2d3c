"""Functions over frames of windows, as jobs and in DuckDB: what has left a frame that moves leaves nothing behind."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from tests.support import modes
from tests.support.modes import differences, stays

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


#: frames of a table with a day and an amount
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


#: → why DuckDB answers it
STAYING = {
    "count(*) OVER (ORDER BY day RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND CURRENT ROW)": "a month has",
    "count(*) OVER (ORDER BY x RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW)": "RANGE",
    "count(*) OVER (ORDER BY x RANGE BETWEEN 2 PRECEDING AND CURRENT ROW)": "RANGE",
    "count(*) OVER (ORDER BY n RANGE BETWEEN 900000000000000 PRECEDING AND CURRENT ROW)": "RANGE",
    "corr(x, n) OVER (ORDER BY day ROWS 1 PRECEDING)": "aggregate corr over a window",
    "var_pop(x) OVER (ORDER BY day ROWS 1 PRECEDING)": "aggregate var_pop over a window",
    "sum(x) OVER (ORDER BY day ROWS 2 PRECEDING EXCLUDE CURRENT ROW)": "exclude_clause",
}


def floats() -> pa.Table:
    r, n = random.Random(3), 60
    return pa.table(
        {
            "id": pa.array(r.sample(range(n), n), pa.int64()),
            "g": pa.array([r.choice((None, 1, 2, 2, 5)) for _ in range(n)], pa.int32()),
            "f": pa.array([r.choice((None, 0.1, 1.0, -2.5, 1e300, INF, -INF, math.nan)) for _ in range(n)]),
            "h": pa.array([r.choice((None, 0.5, 3.0, -7.25)) for _ in range(n)], pa.float32()),
        }
    )


def moments() -> pa.Table:
    r, n = random.Random(4), 200
    start = datetime.datetime(2024, 2, 27)
    days = [r.randrange(40) for _ in range(n)]
    return pa.table(
        {
            "id": pa.array(r.sample(range(n), n), pa.int64()),
            "g": pa.array([r.choice((None, 1, 2, 2, 5)) for _ in range(n)], pa.int32()),
            "v": pa.array([r.choice((None, r.randrange(-99, 99))) for _ in range(n)], pa.int64()),
            "day": pa.array([None if d % 9 == 0 else start.date() + datetime.timedelta(d) for d in days]),
            "minute": pa.array([start + datetime.timedelta(minutes=17 * d) for d in days], pa.timestamp("us")),
            "amount": pa.array([Decimal(d) / 8 for d in days], pa.decimal128(9, 3)),
        }
    )


@pytest.fixture(scope="module")
def connection(
    one_host: str, judge: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    days = pa.table({"day": [datetime.date(2024, m, 29) for m in (1, 2, 3, 4)], "x": [0.5, 2.0, 2.25, 9.0]})
    tables = {
        "floats": floats(),
        "moments": moments(),
        "days": days.append_column("n", days["x"].cast(pa.decimal128(30, 8))),
    }
    with jumpgate.connect(one_host) as found:
        modes.register(found, judge, tables, tmp_path_factory.mktemp("frames"))
        yield found


@pytest.mark.parametrize("frame", FRAMES)
def test_sums_and_averages_are_those_of_the_frame_alone(
    connection: Connection, judge: duckdb.DuckDBPyConnection, frame: str
) -> None:
    calls = ("sum(f)", "avg(f)", "sum(h)", "sum(f) FILTER (WHERE id > 20)", "avg(id / 4)", "stddev(h)")
    listed = ", ".join(f"{call} OVER ({frame}) AS v{i}" for i, call in enumerate(calls))
    text = f"SELECT id, count(*) OVER ({frame}) AS n, {listed} FROM floats ORDER BY id"
    assert not stays(connection, text)
    assert not differences(connection, judge, text, ordered=True, jobs=frame == FRAMES[1])


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("frame", MOVING)
def test_jobs_have_all_frames(connection: Connection, judge: duckdb.DuckDBPyConnection, frame: str) -> None:
    calls = ("sum(v)", "count(*)", "min(v)", "max(id)", "avg(v)", "count(v) FILTER (WHERE id > 50)")
    if "ORDER BY id" in frame:  # else rows that tie come in any order
        calls += ("first_value(v)", "last_value(v)", "nth_value(v, 2)")
    listed = ", ".join(f"{call} OVER ({frame}) AS v{i}" for i, call in enumerate(calls))
    order = frame.split(" ROWS")[0].split(" RANGE")[0].split(" GROUPS")[0]
    shares = f"percent_rank() OVER ({order}) AS p, cume_dist() OVER ({order}) AS c"
    text = f"SELECT id, {listed}, {shares} FROM moments ORDER BY id"
    assert not stays(connection, text)
    assert not differences(connection, judge, text, ordered=True, jobs=True)


@pytest.mark.parametrize("call", STAYING)
def test_what_stays_says_why(connection: Connection, judge: duckdb.DuckDBPyConnection, call: str) -> None:
    text = f"SELECT day, x, {call} AS v FROM days ORDER BY day"
    assert STAYING[call] in stays(connection, text)
    assert not differences(connection, judge, text, ordered=True)
