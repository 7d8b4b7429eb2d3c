"""Times, moments with a zone, nanoseconds and durations: from each format, in dataflows and in SQL."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate import client
from jumpgate.client import col, f, lit
from jumpgate.client.session import Session
from jumpgate.dataflow import types as t
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Frame, SortKey, Window, WindowFunction, column, window_type
from jumpgate.errors import InvalidDataflow, SchemaMismatch
from jumpgate.testing import dataflows
from jumpgate.testing.oracle import values
from tests.support.alike import unlike

NEW_YORK, KATHMANDU = "America/New_York", "+05:45"
#: a second before 1970, both sides of New York's clock changes of 2024, extremes
MOMENTS = [0, -1, None, 1710053999_999999, 1710054000_000000, 1730611800_000000, 1730615400_000000, 253402300799_999999,
           -62135596800_000000]  # fmt: skip
NANOS = [0, -1, None, 1710053999_999999_999, 2**63 - 1, -(2**63) + 1, 1730611800_000000_001, 999, -1001]
TIMES = [0, 86399_999999, None, 1, 3600_000000, 43200_000000, 45296_789000, 59_000000, 0]
ROWS = len(MOMENTS)
TABLE = pa.table(
    {
        "row": range(ROWS),
        "clock": pa.array(TIMES, pa.time64("us")),
        "clock_ms": pa.array([v and v // 1000 for v in TIMES], pa.time32("ms")),
        "utc": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
        "ny": pa.array(MOMENTS, pa.timestamp("us", NEW_YORK)),
        "ms": pa.array([v and v // 1000 for v in MOMENTS], pa.timestamp("ms", KATHMANDU)),
        "ns": pa.array(NANOS, pa.timestamp("ns")),
        "ns_utc": pa.array(NANOS, pa.timestamp("ns", "UTC")),
        "took": pa.array(NANOS, pa.duration("ns")),
        "took_s": pa.array(TIMES, pa.duration("s")),
        "four": pa.array([b"abcd", b"\0\0\0\0", None, b"\xff\xff\xff\xff", *[b"abce"] * (ROWS - 4)], pa.binary(4)),
        "u8": pa.array([255, 0, None, *range(1, ROWS - 2)], pa.uint8()),
        "u64": pa.array([2**64 - 1, 0, None, *range(1, ROWS - 2)], pa.uint64()),
    }
)
QUERIES = [
    "SELECT * FROM t",
    "SELECT row FROM t WHERE clock > '12:00:00'",
    "SELECT row FROM t WHERE clock BETWEEN '00:00:59' AND '12:34:56.789'",
    "SELECT row FROM t WHERE clock_ms >= '12:00:00'",
    "SELECT row FROM t WHERE utc >= TIMESTAMP '2024-03-10 07:00:00'",
    "SELECT row FROM t WHERE ny >= TIMESTAMP '2024-03-10 03:00:00'",
    "SELECT row FROM t WHERE ny = utc AND ms <= ny",
    "SELECT row FROM t WHERE utc = TIMESTAMPTZ '1970-01-01' OR utc = TIMESTAMPTZ '2024-11-03 06:30:00'",
    "SELECT row FROM t WHERE ns < TIMESTAMP '1970-01-01'",
    "SELECT row FROM t WHERE ns IN (TIMESTAMP '1970-01-01 00:00:00.000000999')",
    "SELECT row FROM t WHERE took > INTERVAL 0 DAY",
    "SELECT min(clock), max(clock), min(utc), max(ny), max(ms), min(ns), max(ns_utc), min(took), max(took_s) FROM t",
    "SELECT clock, utc, ns, count(*) AS n FROM t GROUP BY clock, utc, ns",
    "SELECT count(DISTINCT clock) AS a, count(DISTINCT utc) AS b, count(took) AS c FROM t",
    "SELECT a.row, b.row AS other FROM t a JOIN t b ON a.clock = b.clock AND a.utc <= b.utc",
    "SELECT a.row FROM t a LEFT JOIN t b ON a.ns = b.ns AND a.took = b.took WHERE b.row IS NULL",
    "SELECT row, CASE WHEN clock > '01:00:00' THEN utc ELSE NULL END AS c, coalesce(ny, utc) AS d FROM t",
    "SELECT row, rank() OVER (ORDER BY utc) AS r, lag(utc) OVER (ORDER BY row) AS l FROM t",
    "SELECT row, extract(hour FROM clock) AS h, extract(minute FROM clock_ms) AS m, extract(second FROM clock) AS s,"
    " extract(millisecond FROM clock) AS ms, extract(microsecond FROM clock) AS us FROM t",
    "SELECT row, extract(year FROM utc) AS y, extract(doy FROM utc) AS d, extract(hour FROM ny) AS h FROM t",
    "SELECT row, date_trunc('month', utc) AS m, date_trunc('day', utc) AS d FROM t WHERE row < 7",
    "SELECT row, utc + INTERVAL '1' MONTH AS m, utc - INTERVAL '36' HOUR AS h FROM t WHERE row < 7",
    "SELECT row, CAST(utc AS DATE) AS d, CAST(utc AS TIMESTAMP(6)) AS t, CAST(ny AS DATE) AS n FROM t WHERE row < 7",
    "SELECT row, utc AT TIME ZONE 'Europe/Berlin' AS b FROM t WHERE row < 7",
    "SELECT row FROM t WHERE four >= CAST('abcd' AS BLOB)",
    "SELECT row, extract(hour FROM ns) AS h, extract(epoch FROM ns) AS e, epoch_ns(ns) AS n FROM t",
    "SELECT row, CAST(ns AS DATE) AS d, CAST(ns AS TIMESTAMP(6)) AS t FROM t",
    "SELECT row, date_trunc('hour', ns) AS h FROM t WHERE row > 5",
    "SELECT row, ns + INTERVAL '1' DAY AS d, extract(epoch FROM clock) AS c, extract(epoch FROM utc) AS e FROM t"
    " WHERE row < 4",
    "SELECT row FROM t WHERE '0' || CAST(row AS VARCHAR) || ':00:00' = clock",
    "SELECT max(u8) AS a, max(u64) AS b, count(DISTINCT four) AS c FROM t",
    "SELECT row, utc - ny AS d, CAST(clock AS VARCHAR) = '12:34:56.789' AS c, CAST(utc AS VARCHAR) > '2' AS u FROM t"
    " WHERE row < 7",
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=4)
    return tmp_path / "t.parquet"


def test_sql_answers_what_duckdb_answers(one_host: str, file: Path) -> None:
    with duckdb.connect() as plain, jumpgate.connect(one_host) as connection:
        plain.execute("SET TimeZone = 'UTC'")
        plain.register("t", TABLE)
        for source in (file, TABLE):
            connection.register("t", source)
            for query in QUERIES:
                expected = plain.execute(query).to_arrow_table()
                for mode in ("never", "always"):
                    assert not unlike(connection.sql(query, offload=mode).to_arrow(), expected), (query, mode)


def test_times_in_nanoseconds_are_not_cut(one_host: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": pa.array([1001, None], pa.time64("ns")), "a": [1, 2]}), tmp_path / "t.parquet")
    with jumpgate.connect(one_host, offload="always") as connection:
        connection.register("t", tmp_path / "t.parquet")
        with pytest.raises(SchemaMismatch, match="column 'c': a value has digits below a microsecond"):
            connection.sql("SELECT max(c) AS c FROM t").to_arrow()
        assert connection.sql("SELECT max(a) AS a FROM t").to_pylist() == [{"a": 2}]


SCHEMA = t.Schema.of(
    row=t.int64, clock=t.time, utc=t.timestamptz(), ny=t.timestamptz(NEW_YORK), ns=t.timestamp_ns, took=t.duration("ms")
)
VALUES: list[list[Any]] = [
    [0, datetime.time(0, 0), datetime.datetime(1970, 1, 1), datetime.datetime(2024, 3, 10, 7), 0, 0],
    [1, datetime.time(23, 59, 59, 999999), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), None, -1, -5],
    [2, None, None, datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), None, None],
    [
        3,
        datetime.time(12, 34, 56, 500),
        datetime.datetime(1, 1, 1),
        datetime.datetime(2024, 11, 3, 6, 30),
        2**62 + 1,
        7,
    ],
]


@pytest.mark.parametrize("format", ["parquet", "json", "csv", "orc"])
def test_every_format(local: Session, tmp_path: Path, format: str) -> None:
    kept = [i for i, field in enumerate(SCHEMA) if format != "orc" or field.name not in ("clock", "took")]
    schema, rows = SCHEMA.select(tuple(kept)), [[row[i] for i in kept] for row in VALUES]
    path = tmp_path / f"t.{format}"
    dataflows.write(path, format, schema, rows)
    flow = client.read(path, schema=schema, **formats()[format].written_options)
    found = local.run(flow.sort("row")).to_arrow()
    assert [*map(list, zip(*map(values, found.columns), strict=True))] == rows
    assert found.schema.field("ny").type == pa.timestamp("us", NEW_YORK)
    assert found.schema.field("ns").type == pa.timestamp("ns")
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert local.run(flow.filter(col("utc") < epoch).sort("row").select("row")).to_pylist() == [{"row": 1}, {"row": 3}]
    assert local.run(flow.filter(col("ns") > datetime.datetime(1970, 1, 1)).select("row")).to_pylist() == [{"row": 3}]
    if format != "orc":
        seven = lit(7).cast("int64").cast("duration(ms)")
        late = flow.filter((col("clock") >= datetime.time(12, 34)) & (col("took") == seven))
        assert local.run(late.select("row")).to_pylist() == [{"row": 3}]


@pytest.mark.parametrize("format, text", [("csv", "a\n{}\n"), ("json", '{{"a": "{}"}}\n')])
@pytest.mark.parametrize("type, good, bad", [
    ("time", {"12:34:56.100000000": datetime.time(12, 34, 56, 100000)},
     ["24:00:00", "12:00:60", "12:00", "12:34:56.1234567", "1:00:00", "12:34:56Z", "noon"]),
    ("timestamp_ns", {"1970-01-01T00:00:00.000000001+01:00": 1 - 3600 * 10**9, "2024-01-01": 1704067200 * 10**9,
                      "1969-12-31 23:59:59.9999999990": -1},
     ["2262-04-11 23:47:16.854775808", "1970-01-01 00:00:00.0000000001", "0001-01-01"]),
    ("timestamptz(Asia/Kathmandu)", {"2024-01-01 00:00:00": datetime.datetime(2024, 1, 1)}, ["2024-01-01 00:00 NPT"]),
    ("duration(s)", {"-5": -5}, ["1.5", "PT1S"]),
])  # fmt: skip
def test_text(
    local: Session, tmp_path: Path, format: str, text: str, type: str, good: dict[str, Any], bad: list[str]
) -> None:
    for cell, value in good.items():
        (tmp_path / f"t.{format}").write_text(text.format(cell))
        found = local.run(client.read(tmp_path / f"t.{format}", schema={"a": type})).to_arrow()
        assert values(found["a"]) == [value]
    for cell in bad:
        (tmp_path / f"t.{format}").write_text(text.format(cell))
        with pytest.raises(jumpgate.errors.JumpgateError) as error:
            local.run(client.read(tmp_path / f"t.{format}", schema={"a": type})).to_arrow()
        assert error.value.code in ("schema", "overflow") and "'a'" in error.value.message


def test_what_needs_the_clocks_of_a_zone_is_refused(file: Path) -> None:
    flow = client.read(file)
    with pytest.raises(InvalidDataflow, match=r"with the zone UTC\), not timestamptz\(America/New_York\)"):
        flow.select(h=f.hour(col("ny")))
    with pytest.raises(InvalidDataflow, match="there is no cast"):
        flow.select(d=col("ny").cast("date"))
    assert flow.select(d=col("ny").cast("timestamptz(UTC)").cast("date")).schema.types[0].same(t.date)


@pytest.mark.parametrize("name", ["clock", "took_s"])
def test_windows_over_times(local: Session, file: Path, name: str) -> None:
    flow = client.read(file).filter(col(name).is_not_null()).select(name)
    rank = WindowFunction("rank", (), window_type("rank", ()), "r")
    window = Window(flow.root, (), (SortKey(column(flow.schema, 0)),), (rank,), Frame())
    found = local.run(Dataflow(window)).to_arrow().sort_by("r")
    assert found["r"].to_pylist() == [1, 1, *range(3, ROWS)]


def test_literals_of_another_zone(local: Session, file: Path) -> None:
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=45))
    flow = client.read(file).filter(col("utc") == datetime.datetime(1970, 1, 1, 5, 45, tzinfo=zone)).select("row")
    assert local.run(flow).to_pylist() == [{"row": 0}]
    with pytest.raises(InvalidDataflow, match="cannot be used as timestamptz"):
        client.read(file).filter(col("utc") == datetime.datetime(1970, 1, 1))


def test_times_are_compared_with_literals(one_host: str, file: Path) -> None:
    noon = "clock BETWEEN TIME '12:00:00' AND TIME '12:34:57'"
    text = f"SELECT row FROM t WHERE clock < TIME '00:00:01' OR {noon} ORDER BY row"
    with jumpgate.connect(one_host) as connection:
        connection.register("t", file)
        for mode in ("never", "auto", "always"):
            assert connection.sql(text, offload=mode).to_arrow()["row"].to_pylist() == [0, 3, 5, 6, 8]


def test_dates_are_truncated_as_duckdb_does(one_host: str, tmp_path: Path) -> None:
    days = [datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31), datetime.date(9999, 12, 31)]
    pq.write_table(pa.table({"d": days}), tmp_path / "days.parquet")
    with duckdb.connect() as plain, jumpgate.connect(one_host) as connection:
        plain.register("days", pa.table({"d": days}))
        connection.register("days", tmp_path / "days.parquet")
        for unit in ("year", "quarter", "month", "week", "day", "hour"):
            text = f"SELECT date_trunc('{unit}', d) AS v FROM days"
            for mode in ("never", "always"):
                found = connection.sql(text, offload=mode).to_arrow()
                assert not unlike(found, plain.execute(text).to_arrow_table(), ordered=mode == "never"), (unit, mode)
