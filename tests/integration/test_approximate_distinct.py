"""Approximate distinct counts: from every type the number that the reference finds, wherever they are computed."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import jumpgate
from jumpgate.client import approx_distinct, count_distinct, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow import coupons
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.types import DataType, int32, parse_type
from jumpgate.testing.lab import Lab
from tests.support import modes

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


def test_types_that_only_files_have(local: Session, tmp_path: Path) -> None:
    """Other units and widths than accelerators compute with."""
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
    flow = local.read(str(tmp_path / "t.parquet")).aggregate(**{name: approx_distinct(name) for name in columns})
    (row,) = local.run(flow).to_arrow().to_pylist()
    assert row == {name: e for name, (_, e) in columns.items()}


def test_sql_has_duckdbs_own(one_host: str, tmp_path: Path) -> None:
    """approx_count_distinct of SQL is DuckDB's, and stays there."""
    tables = {"t": pa.table({"g": [1, 1, 2, None] * 500, "x": [None, *range(1999)]})}
    text = "SELECT g, approx_count_distinct(x) AS a FROM t GROUP BY g"
    with jumpgate.connect(one_host) as connection, duckdb.connect() as judge:
        modes.register(connection, judge, tables, tmp_path)
        assert "aggregate approx_count_distinct is not offloaded" in modes.stays(connection, text)
        assert not modes.differences(connection, judge, text)


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
    for address, options in (
        (one_host, {}),
        (one_host, {"memory_limit_bytes": 4 << 20}),
        (four_hosts, {"parallelism": 2}),
        (four_hosts, {"parallelism": 4}),
    ):
        with Session(address, **options) as session:
            flow = session.read(str(tmp_path / "t.parquet"))
            for beside in ({}, {"s": sum_("n"), "b": approx_distinct("n")}):
                result = session.run(flow.aggregate(by=["k"], a=approx_distinct("x"), **beside))
                assert {row["k"]: row["a"] for row in result.to_arrow().to_pylist()} == groups
                record = session.describe(result.job).record or {}
                spilled = sum(counters["spilled_bytes"] for counters in record["counters"].values())
                assert (spilled > 0) == ("memory_limit_bytes" in options)
            total = session.run(flow.aggregate(a=approx_distinct("x"), b=approx_distinct("n")))
            assert total.to_arrow().to_pylist() == [{"a": all_, "b": 9}]
