"""A job whose programs are not built runs at once elsewhere while they are built; without a compiler every job does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import Dataflow, avg, col, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.codegen import cache, toolchain
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Project, column
from jumpgate.errors import BuildError, InstanceFailed, Overflow, TimedOut
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.testing.leaks import Watch, nothing_left, wait_until

ROWS, PATIENCE_S = 4000, 60.0


@pytest.fixture(autouse=True)
def first_runs(own_cache: Path, grpc_is_up: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is built at first."""
    monkeypatch.setenv("JUMPGATE_FIRST_RUNS", "")


@pytest.fixture
def watched() -> Iterator[Watch]:
    with nothing_left() as watch:
        yield watch


@pytest.fixture
def session(watched: Watch) -> Iterator[Session]:
    with _session() as session:
        yield session


class _session:
    """A session with a service of its own."""

    def __enter__(self) -> Session:
        self._service = embedded.start(local_hosts(1))
        self._session = Session(self._service.address)
        return self._session

    def __exit__(self, *_: object) -> None:
        self._session.close()
        self._service.close()


@pytest.fixture
def table(tmp_path: Path) -> Dataflow:
    rows = {"k": [i % 3 for i in range(ROWS)], "v": [*range(ROWS)], "s": ["a", "b"] * (ROWS // 2)}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    return read(str(tmp_path / "t.parquet"))


def summed(table: Dataflow) -> Dataflow:
    return table.filter(col("v") >= 3).aggregate(by=["k"], n=count(), s=sum_("v"), m=avg("v")).sort("k")


def ncas(session: Session, dataflow: Dataflow) -> tuple[list[str], list[dict[str, Any]], str]:
    """The accelerators that ran it, its rows, and the reason of its first run."""
    result = session.run(dataflow)
    rows = result.to_arrow().to_pylist()
    record = session.describe(result.job).record
    assert record is not None
    return [i["nca"] for i in record["instances"]], rows, record["explain"].get("first_run", "")


def test_a_first_run_begins_at_once_and_later_ones_take_the_programs(session: Session, table: Dataflow) -> None:
    flow = summed(table)
    assert "engine runs it at once; its programs are built in about" in session.explain(flow)
    ran, rows, reason = ncas(session, flow)
    assert ran == ["engine"] and "at once" in reason
    assert wait_until(lambda: session.prepare(flow, patience_s=PATIENCE_S) == 0.0, PATIENCE_S)
    assert ncas(session, flow) == (["cpp"], rows, "")
    assert "first run" not in session.explain(flow)
    assert [r["n"] for r in rows] == [1333, 1332, 1332] and sum(r["s"] for r in rows) == sum(range(3, ROWS))


def test_what_cannot_begin_at_once_waits_for_its_programs(session: Session, table: Dataflow) -> None:
    upper = Dataflow(Project(table.root, (bind("upper", (column(table.root.schema, 2),)),), ("u",)))
    ran, rows, reason = ncas(session, upper.distinct())
    assert ran == ["cpp"] and "does not compute upper exactly" in reason
    assert sorted(r["u"] for r in rows) == ["A", "B"]


def test_a_preferred_accelerator_waits_for_its_programs(watched: Watch, table: Dataflow) -> None:
    service = embedded.start(local_hosts(1))
    with Session(service.address, prefer=("cpp",)) as session:
        assert ncas(session, summed(table))[0] == ["cpp"]
    service.close()


def test_a_machine_without_a_compiler_is_served(
    watched: Watch, table: Dataflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUMPGATE_RUNTIME", str(toolchain.runtime().library.parent))
    monkeypatch.setenv("JUMPGATE_CXX", "no-such-compiler")
    toolchain.compiler.cache_clear()
    try:
        with _session() as session:
            for _ in range(2):
                ran, rows, _ = ncas(session, summed(table))
                assert ran == ["engine"] and sum(r["n"] for r in rows) == ROWS - 3
            upper = Project(table.root, (bind("upper", (column(table.root.schema, 2),)),), ("u",))
            with pytest.raises(BuildError, match="no C\\+\\+ compiler.*does not compute upper exactly"):
                session.run(Dataflow(upper)).to_arrow()
    finally:
        toolchain.compiler.cache_clear()


def test_after_a_failure_the_next_run_waits_for_the_programs(session: Session, tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": [2**62, 2**62]}), tmp_path / "big.parquet")
    flow = read(str(tmp_path / "big.parquet")).aggregate(s=sum_("v"))
    with pytest.raises(Overflow):
        session.run(flow).to_arrow()
    with pytest.raises(Overflow):
        session.run(flow).to_arrow()
    assert session.describe("latest").record["instances"][0]["nca"] == "cpp"  # type: ignore[index]


def begun(watch: Watch) -> int:
    """The process of an instance that runs."""
    assert wait_until(lambda: bool(watch.processes("jg f")), PATIENCE_S)
    return watch.processes("jg f")[0].pid


def test_a_first_run_ends_in_time_when_it_is_cancelled_and_with_its_process(watched: Watch, tmp_path: Path) -> None:
    many = pa.table({"s": ["a"] * 40_000, "v": [*range(40_000)]})
    pq.write_table(many, tmp_path / "many.parquet")
    table = read(str(tmp_path / "many.parquet"))
    other = table.select(t=col("s"), w=col("v"))
    flow = table.join(other, left_on="s", right_on="t").filter(col("v") * 3 > col("w")).aggregate(n=count())
    service = embedded.start(local_hosts(1))
    try:
        with Session(service.address, timeout_ms=1500) as session:
            start = time.monotonic()
            with pytest.raises(TimedOut):
                session.run(flow).to_arrow()
            assert time.monotonic() - start < PATIENCE_S
        with Session(service.address) as session:
            result = session.run(flow)
            os.kill(begun(watched), signal.SIGKILL)
            with pytest.raises(InstanceFailed):
                result.to_arrow()
            assert session.explain(flow)  # the service goes on
            assert wait_until(lambda: not [*cache.folder("spool").glob("worker-*")], PATIENCE_S)
    finally:
        service.close()
