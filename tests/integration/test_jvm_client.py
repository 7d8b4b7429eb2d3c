"""The JVM client library against a real service: a small Java program receives what the Python client does."""

from __future__ import annotations

import json
import math
import struct
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jumpgate.client import Dataflow, col, count, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow import proto
from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.operators import Partitioning, Send
from jumpgate.testing.lab import Lab
from tests.support import jvm

#: seconds for a Java program that does little
PATIENCE_S = 120

#: Run(address, dataflow, partitioning, layout, parallelism, *words) → (rows, what became of the job)
Run = Callable[..., tuple[list[list[Any]], dict[str, Any]]]


@pytest.fixture(scope="module")
def java() -> list[str]:
    """The command that runs a request."""
    return jvm.java("io.jumpgate.client.RunMain", "-Xmx256m")


@pytest.fixture
def run(java: list[str], tmp_path: Path) -> Run:
    def run(
        address: str,
        flow: Dataflow,
        partitioning: Partitioning = Partitioning(),  # noqa: B008
        layout: Layout = Layout.COLUMNAR,
        parallelism: int = 0,
        *words: str,
    ) -> tuple[list[list[Any]], dict[str, Any]]:
        request = tmp_path / "request"
        send = Send(flow.root, ("",) * partitioning.count, partitioning, layout)
        request.write_bytes(proto.encode(send).SerializeToString())
        command = [*java, address, str(request), str(parallelism), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        *frames, end = map(json.loads, done.stdout.splitlines())
        return [row for frame in frames for row in frame["rows"]], end

    return run


def plain(value: Any, type: pa.DataType) -> Any:
    """A value as the Java program writes it."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        form = "<f" if type == pa.float32() else "<d"
        return str(int.from_bytes(struct.pack(form, value), "little", signed=True))
    return str(value)


def rows_of(table: pa.Table) -> list[list[Any]]:
    columns = []
    for column in table.columns:
        type = column.type
        if pa.types.is_decimal(type):
            column = [None if v is None else int(v.scaleb(type.scale)) for v in column.to_pylist()]
        elif pa.types.is_date(type):
            column = column.cast(pa.int32()).to_pylist()
        elif pa.types.is_temporal(type):
            column = column.cast(pa.int64()).to_pylist()
        else:
            column = column.to_pylist()
        columns.append([plain(v, type) for v in column])
    return [list(row) for row in zip(*columns, strict=True)]


def ordered(rows: list[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda row: json.dumps(row))


TYPES = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f32": "float32", "f64": "float64",
    "d7": "decimal(7, 2)", "d38": "decimal(38, 10)", "day": "date", "at": "timestamp", "text": "string",
    "data": "binary", "time": "time", "ns": "timestamp_ns", "utc": "timestamptz(UTC)",
}  # fmt: skip


@pytest.fixture
def everything(lab: Lab) -> Dataflow:
    """A table of all types: extremes, NULLs, and enough ordinary rows for several frames."""
    from jumpgate.dataflow.types import Field, Schema, parse_type
    from jumpgate.ntf.codec import arrow_schema

    schema = arrow_schema(Schema(tuple(Field(n, parse_type(t).with_nullable(True)) for n, t in TYPES.items())))
    count = 20_000
    whole = pa.array(range(count), pa.int64())
    columns = {
        "bool": pa.array([i % 3 == 0 for i in range(count)]),
        "i8": pa.array([i % 256 - 128 for i in range(count)], pa.int8()),
        "i16": pa.array([i % 65536 - 32768 for i in range(count)], pa.int16()),
        "i32": pa.array([i * -107_374 for i in range(count)], pa.int32()),
        "i64": pa.array([i * 461_168_601_842_738 for i in range(count)], pa.int64()),
        "f32": pa.array([math.inf if i == 7 else i / 3 for i in range(count)], pa.float32()),
        "f64": pa.array([-0.0 if i == 7 else i / 7 for i in range(count)], pa.float64()),
        "d7": pa.array([Decimal(i) / 100 for i in range(count)], pa.decimal128(7, 2)),
        "d38": pa.array([Decimal(i) * 10**20 for i in range(count)], pa.decimal128(38, 10)),
        "day": whole.cast(pa.int32()).cast(pa.date32()),
        "at": whole.cast(pa.timestamp("us")),
        "text": pa.array(["" if i % 5 == 0 else f"é{i}" for i in range(count)]),
        "data": pa.array([bytes([i % 256]) * (i % 9) for i in range(count)]),
        "time": whole.cast(pa.time64("us")),
        "ns": whole.cast(pa.timestamp("ns")),
        "utc": whole.cast(pa.timestamp("us", "UTC")),
    }
    some = pa.array([i % 11 == 3 for i in range(count)])
    nulls = [pa.compute.if_else(some, pa.scalar(None, c.type), c) for c in columns.values()]
    return lab.table(TYPES, pa.Table.from_arrays(nulls, schema=schema))


@pytest.mark.parametrize("layout", list(Layout))
def test_all_types(run: Run, local: Session, everything: Dataflow, layout: Layout) -> None:
    rows, end = run(local.address, everything, layout=layout)
    assert end == {"done": True}
    expected = rows_of(local.run(everything).to_arrow())
    assert len(rows) == 20_000
    assert ordered(rows) == ordered(expected)


@pytest.mark.nightly(every=2)
def test_several_producers_and_partitions(run: Run, cluster: Session, everything: Dataflow) -> None:
    flow = everything.filter(col("i64") > 1000)
    partitioning = Partitioning("hash", (3, 11), 3)
    rows, end = run(cluster.address, flow, partitioning, parallelism=4)
    assert end == {"done": True}
    assert ordered(rows) == ordered(rows_of(cluster.run(flow).to_arrow()))


def test_no_rows(run: Run, local: Session, everything: Dataflow) -> None:
    assert run(local.address, everything.filter(col("i64") < -1)) == ([], {"done": True})


def test_aggregates(run: Run, local: Session, everything: Dataflow) -> None:
    flow = everything.aggregate(by=["bool"], n=count(), total=sum_("d7"))
    rows, end = run(local.address, flow)
    assert end == {"done": True}
    assert ordered(rows) == ordered(rows_of(local.run(flow).to_arrow()))


def test_a_job_that_fails(run: Run, local: Session, lab: Lab) -> None:
    big = lab.table({"a": "int64"}, [(2**63 - 1,), (1,)])
    _, end = run(local.address, big.aggregate(total=sum_("a")))
    assert end["code"] == "overflow"


def test_a_request_that_is_refused(run: Run, local: Session, lab: Lab, tmp_path: Path) -> None:
    table = lab.table({"a": "int64"}, [(1,)])
    for file in tmp_path.glob("t0-*.parquet"):
        file.unlink()
    rows, end = run(local.address, table)
    assert (rows, end["code"]) == ([], "io")
    assert end["fields"]["file"].endswith("t0-0.parquet")


def test_cancel(run: Run, local: Session, lab: Lab) -> None:
    count = 1000
    table = lab.table({"a": "int64"}, [(i,) for i in range(count)])
    others = [table.select(**{name: col("a")}) for name in ("b", "c")]
    triples = table.join(others[0], where=col("a") >= 0).join(others[1], where=col("a") >= 0)
    rows, end = run(local.address, triples, Partitioning(), Layout.COLUMNAR, 0, "cancel")
    assert end["code"] == "cancelled"
    assert len(rows) < count**3


def test_no_service(run: Run, lab: Lab) -> None:
    rows, end = run("127.0.0.1:1", lab.table({"a": "int64"}, [(1,)]))
    assert (rows, end["code"]) == ([], "unreachable")
    assert "no Jumpgate service answers at 127.0.0.1:1" in end["message"]
