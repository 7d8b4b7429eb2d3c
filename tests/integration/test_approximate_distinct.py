"""Approximate distinct counts: from every type the number that the reference finds, wherever they are computed."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.client import approx_distinct, count_distinct, sum_
from jumpgate.client.session import Session
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.dataflow import coupons
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.types import DataType, int32, parse_type
from jumpgate.ntf.codec import arrow_type
from jumpgate.testing.lab import Lab

DAY, TIME = datetime.date, datetime.datetime
VALUES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int8": [-128, 127, 0],
    "int32": [-(2**31), 2**31 - 1, 7],
    "int64": [-(2**63), 2**63 - 1, 0, *range(90)],
    "float32": [-0.5, 2.0, 0.0, -0.0, math.nan],
    "float64": [-1e6, 0.0, -0.0, math.nan, -math.nan, math.inf, 5e-324],
    "decimal(7, 2)": [Decimal("-99999.99"), Decimal("0.01"), Decimal("0.00")],
    "decimal(30, 3)": [Decimal("-1234567890123456789012345.678"), Decimal("0.001"), Decimal(2**64)],
    "date": [DAY(1, 1, 1), DAY(9999, 12, 31), DAY(1969, 12, 31)],
    "time": [datetime.time(0), datetime.time(23, 59, 59, 999999)],
    "timestamp": [TIME(1969, 12, 31, 23, 59, 59, 999999), TIME(2200, 1, 1)],
    "string": ["", "a", "é", "12345678", "123456789", "x" * 100, "x\0", "x"],
    "binary": [b"", b"\0", b"\0\0", b"\xff" * 17],
}
NAMES = [f"c{i}" for i in range(len(VALUES))]
MEASURES = ", ".join(f"approx_distinct({name}) AS {name}" for name in NAMES)
ROWS = 300_000


def expected(values: Iterable[Any], type: DataType) -> int:
    site = Site((type,), int32, DEFAULT)
    return coupons.estimated(len({coupons.coupon(site, v) for v in values if v is not None}))


def table_of(rows: int) -> list[list[Any]]:
    """The key, NULL of a group of its own, and a value of each type; the last group's values are NULL."""
    r = random.Random(rows)
    keys = [r.choice((None, 1, 2, 3)) for _ in range(rows)]
    return [[k, *(None if k == 3 else r.choice((None, *values)) for values in VALUES.values())] for k in keys]


def of_groups(rows: list[list[Any]]) -> dict[int | None, list[int]]:
    types = [parse_type(name) for name in VALUES]
    keys = {row[0] for row in rows}
    return {k: [expected((r[i] for r in rows if r[0] == k), t) for i, t in enumerate(types, 1)] for k in keys}


def test_every_type(local: Session, tmp_path: Path) -> None:
    """Beside other measures, grouped and not, over no rows."""
    lab, rows = Lab(local, tmp_path), table_of(400)
    flow = lab.table({"g": "int32"} | dict(zip(NAMES, VALUES, strict=True)), rows)
    measures = {name: approx_distinct(name) for name in NAMES}
    grouped = flow.aggregate(by=["g"], s=sum_("c2"), **measures, d=count_distinct("c11"))
    found = {row["g"]: [row[name] for name in NAMES] for row in lab.run(grouped).to_pylist()}
    assert found == of_groups(rows)
    for some in (rows, []):
        flow = lab.table({"g": "int32"} | dict(zip(NAMES, VALUES, strict=True)), some)
        (row,) = lab.run(flow.aggregate(**measures)).to_pylist()
        assert [*row.values()] == [expected((r[i] for r in some), parse_type(name)) for i, name in enumerate(VALUES, 1)]


@pytest.mark.parametrize("mode", ["always", "auto", "never"])
def test_every_type_in_sql(one_host: str, tmp_path: Path, mode: str) -> None:
    rows = table_of(400)
    types = [arrow_type(parse_type(name)) for name in ("int32", *VALUES)]
    columns = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    pq.write_table(pa.table(columns, names=["g", *NAMES]), tmp_path / "t.parquet")
    with jumpgate.connect(one_host, offload=mode) as connection:
        connection.register("t", tmp_path / "t.parquet")
        query = connection.sql(f"SELECT g, {MEASURES}, sum(c2) AS s, count(DISTINCT c2) AS d FROM t GROUP BY g")
        assert (query.split.offloaded > 0) == (mode == "always") or mode == "auto"
        found = {row["g"]: [row[name] for name in NAMES] for row in query.to_pylist()}
        assert found == of_groups(rows)
        windows = ", ".join(f"approx_distinct({n}) OVER (PARTITION BY g) AS {n}" for n in NAMES)
        over = f"SELECT DISTINCT g, {windows} FROM t"
        assert {row["g"]: [row[name] for name in NAMES] for row in connection.sql(over).to_pylist()} == found
        (empty,) = connection.sql(f"SELECT {MEASURES} FROM t WHERE g = 99").to_pylist()
        assert [*empty.values()] == [0] * len(NAMES)
        assert connection.sql(f"SELECT {MEASURES} FROM t").to_arrow().schema.types == [pa.uint64()] * len(NAMES)


def test_types_that_only_files_have(one_host: str, tmp_path: Path) -> None:
    """Other units and widths than accelerators compute with; with and without a part that is kept."""
    seconds = range(0, 90_000, 7)
    moments = [TIME(1969, 12, 31) + datetime.timedelta(seconds=s) for s in seconds]
    times = [moment.time() for moment in moments]
    numbers = [s if s % 2 else 2**64 - 1 - s for s in seconds]
    names = [b"%016d" % s for s in seconds]
    columns: dict[str, tuple[pa.Array, int]] = {
        "ms": (pa.array(moments, pa.timestamp("ms")), expected(moments, parse_type("timestamp"))),
        "zoned": (pa.array(moments, pa.timestamp("ms", "UTC")), expected(moments, parse_type("timestamp"))),
        "time": (pa.array(times, pa.time32("ms")), expected(times, parse_type("time"))),
        "whole": (pa.array(numbers, pa.uint64()), expected(map(Decimal, numbers), parse_type("decimal(20)"))),
        "fixed": (pa.array(names, pa.binary(16)), expected(names, parse_type("binary"))),
    }
    pq.write_table(pa.table({name: values for name, (values, _) in columns.items()}), tmp_path / "t.parquet")
    measures = ", ".join(f"approx_distinct({name}) AS {name}" for name in columns)
    with jumpgate.connect(one_host) as connection:
        connection.register("t", tmp_path / "t.parquet")
        for mode in ("never", "always"):
            for beside in ("", ", array_agg(whole) AS kept"):
                query = connection.sql(f"SELECT {measures}{beside} FROM t", offload=mode)
                assert (not query.split.kept) == (mode == "always" and not beside)
                (row,) = query.to_pylist()
                assert {name: row[name] for name in columns} == {name: e for name, (_, e) in columns.items()}


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("mode", ["never", "always"])
def test_beside_other_calls_that_are_computed_in_another_way(one_host: str, tmp_path: Path, mode: str) -> None:
    """Correlations, sums over frames that move, and computed defaults: each is what it is in a query of its own."""
    r, rows = random.Random(4), range(2_000)
    table: dict[str, list[Any]] = {"id": [*rows], "g": [i % 2 for i in rows], "x": [r.randrange(1_500) for _ in rows]}
    table |= {name: [r.randrange(512) / 8 for _ in rows] for name in ("a", "b")}  # whose sums are exact
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    over = "OVER (PARTITION BY g ORDER BY id)"
    moving = "OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"
    grouped = ("g", "count(*)", "corr(a, 7)", "approx_distinct(x)", "regr_slope(a, b) IS NULL", "approx_distinct(a)")
    windows = (
        "id", f"lag(x, 1, id) {over}", f"approx_distinct(x) {over}", f"sum(a) {moving}", f"count(*) {over}",
        f"avg(b) {moving}", f"lead(x, 2, id * 2) {over}", f"approx_distinct(b) {over}",
    )  # fmt: skip
    with jumpgate.connect(one_host, offload=mode) as connection:
        connection.register("t", tmp_path / "t.parquet")
        for calls, rest in ((grouped, "FROM t GROUP BY g ORDER BY g"), (windows, "FROM t ORDER BY id")):
            columns = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls))
            found = connection.sql(f"SELECT {columns} {rest}").to_arrow()
            for i, call in enumerate(calls):
                key = "" if call == calls[0] else f"{calls[0]} AS k, "
                alone = connection.sql(f"SELECT {key}{call} AS v {rest}").to_arrow()
                assert alone["v"].to_pylist() == found[f"c{i}"].to_pylist(), call
            type = parse_type("int64")
            if calls is grouped:
                for g in (0, 1):
                    xs = [x for x, group in zip(table["x"], table["g"], strict=True) if group == g]
                    assert found["c3"][g].as_py() == expected(xs, type)
            else:
                last = [expected(table["x"][i % 2 : i + 1 : 2], type) for i in rows]
                assert found["c2"].to_pylist() == last


@pytest.mark.parametrize("mode", ["never", "always"])
def test_what_has_no_hash_is_refused(one_host: str, mode: str) -> None:
    with jumpgate.connect(one_host, offload=mode) as connection:
        connection.register("t", pa.table({"l": [[1], [2]]}))
        with pytest.raises(InvalidSql, match=r"approx_distinct of list<.*> is refused: .*; use count\(DISTINCT …\)"):
            connection.sql("SELECT approx_distinct(l) FROM t")
        assert connection.sql("SELECT approx_distinct(NULL) AS n").to_pylist() == [{"n": 0}]


def many(path: Path) -> tuple[dict[int, int], int]:
    """Ten groups of some ten thousand texts, and a hundred of ten rows; what is expected of each, and of all."""
    r = np.random.default_rng(1)
    keys = np.where(r.random(ROWS) < 0.003, r.integers(10, 110, ROWS), r.integers(0, 10, ROWS))
    texts = pa.array(r.integers(0, 40_000, ROWS)).cast(pa.string())
    pq.write_table(pa.table({"k": keys, "x": texts, "n": r.integers(0, 9, ROWS)}), path, row_group_size=20_000)
    groups: dict[int, set[str]] = {}
    for k, x in zip(keys.tolist(), texts.to_pylist(), strict=True):
        groups.setdefault(k, set()).add(x)
    type = parse_type("string")
    return {k: expected(found, type) for k, found in groups.items()}, expected(set().union(*groups.values()), type)


def test_memory_that_is_too_small_and_hosts_change_nothing(one_host: str, four_hosts: str, tmp_path: Path) -> None:
    groups, all_ = many(tmp_path / "t.parquet")
    text = "SELECT k, approx_distinct(x) AS a FROM t GROUP BY k"
    beside = "SELECT k, approx_distinct(x) AS a, sum(n) AS s, approx_distinct(n) AS b FROM t GROUP BY k"
    for address, options in (
        (one_host, {}),
        (one_host, {"memory_limit_bytes": 4 << 20}),
        (four_hosts, {"parallelism": 2}),
        (four_hosts, {"parallelism": 4}),
    ):
        with jumpgate.connect(address, offload="always", **options) as connection:
            connection.register("t", tmp_path / "t.parquet")
            for query in (text, beside):
                with connection.sql(query) as answer:
                    assert {row["k"]: row["a"] for row in answer.to_pylist()} == groups
                    records = [connection.session.describe(job).record or {} for job in answer.jobs]
                spilled = sum(c["spilled_bytes"] for r in records for c in r["counters"].values())
                assert (spilled > 0) == ("memory_limit_bytes" in options)
            total = connection.sql("SELECT approx_distinct(x) AS a, approx_distinct(n) AS b FROM t").to_pylist()
            assert total == [{"a": all_, "b": 9}]
