"""Clients of the configuration: what they may read, see and ask for."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import Dataflow, col, read, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow import beneath, proto
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Send
from jumpgate.errors import DataError, Forbidden, NotFound
from jumpgate.hosts.config import ClientConfig, local_hosts
from jumpgate.service import embedded
from jumpgate.testing.leaks import Watch, marked, wait_until
from jumpgate.trust import tokens
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1.service_pb2_grpc import JumpgateStub

#: rows of the file that is below the root
INSIDE = [{"a": 1}, {"a": 2}, {"a": 3}]


class Shop:
    """A service with clients who may do little, and their sessions."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self.data.mkdir()
        for place in (self.data, folder):
            pq.write_table(pa.table({"a": [1, 2, 3]}), place / "t.parquet")
        (self.data / "out.parquet").symlink_to(folder / "t.parquet")
        self.clients = [
            ClientConfig("reader", self._token("reader"), (str(self.data),), jobs=2, memory_limit_bytes=32 << 20),
            ClientConfig("small", self._token("small"), (str(self.data),), request_bytes=200),
            ClientConfig("boss", self._token("boss"), administers=True),
        ]
        self.service = embedded.start(replace(local_hosts(1), clients=tuple(self.clients)))

    def _token(self, name: str) -> str:
        file = self.folder / f"{name}.token"
        file.write_text(tokens.new())
        return str(file)

    def session(self, name: str) -> Session:
        return Session(self.service.address, token_file=self.folder / f"{name}.token")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.service.close()


def test_a_client_reads_below_its_roots_only(shop: Shop) -> None:
    """Links are followed, and the plan of somebody who may read more is of no help."""
    with Session(shop.service.address) as owner:
        assert len(owner.run(read(str(shop.folder / "t.parquet"))).to_pylist()) == 3
    with shop.session("reader") as session:
        assert len(session.run(read(str(shop.data / "t.parquet"))).to_pylist()) == 3
        for path in (shop.folder / "t.parquet", shop.data / "out.parquet", shop.data / ".." / "t.parquet"):
            flow = read(str(path), schema={"a": "int64"})
            for ask in (session.run, session.explain, lambda f: session.explain(f, verbose=True)):
                with pytest.raises(Forbidden, match=r"client 'reader' may not read .*t\.parquet; roots in"):
                    ask(flow)
    with shop.session("boss") as session, pytest.raises(Forbidden, match="client 'boss' may not read"):
        session.run(read(str(shop.data / "t.parquet")))  # it administers, and has no roots


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "orc"])
def test_a_link_that_is_exchanged_after_the_check_leads_nowhere(format: str, shop: Shop) -> None:
    """What the guard hands on, `ROOT//PATH`, is opened below the root, by those that plan and by instances."""
    inside, outside = shop.data / f"in.{format}", shop.folder / f"out.{format}"
    for n, file in enumerate((inside, outside)):
        formats()[format].write(pa.table({"a": pa.array([n], pa.int64())}), file)
    link = shop.data / f"link.{format}"
    flow = read(str(inside), schema={"a": "int64"})
    checked = Dataflow(replace(flow.root, files=(beneath.marked(str(shop.data), link.name),)))
    with Session(shop.service.address) as owner:
        link.symlink_to(inside.name)
        assert owner.run(checked).to_pylist() == [{"a": 0}]
        link.unlink()
        link.symlink_to(Path("..") / outside.name)
        with pytest.raises(DataError, match="a link leads out of"):
            owner.run(checked).to_pylist()


def test_a_client_that_exchanges_links_reads_no_row_outside(shop: Shop) -> None:
    """A link in its root leads in and out in turn while it asks."""
    outside = shop.folder / "secret.parquet"
    pq.write_table(pa.table({"a": [7, 8, 9]}), outside)
    swap, ended = shop.data / "swap.parquet", threading.Event()

    def exchange() -> None:
        for n in itertools.count():
            if ended.is_set():
                return
            made = shop.data / f"made{n}"
            made.symlink_to("t.parquet" if n % 2 else outside)
            made.rename(swap)

    swap.symlink_to("t.parquet")
    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    try:
        with shop.session("reader") as session:
            for _ in range(40):
                with contextlib.suppress(Forbidden, DataError):
                    assert session.run(read(str(swap), schema={"a": "int64"})).to_pylist() == INSIDE
    finally:
        ended.set()
        exchanging.join()


def test_a_client_sees_its_own_jobs_only(shop: Shop) -> None:
    flow = read(str(shop.data / "t.parquet"))
    with shop.session("reader") as reader, shop.session("small") as small, shop.session("boss") as boss:
        job = reader.run(flow)
        assert job.to_arrow().num_rows == 3
        assert [j.id for j in reader.jobs()] == [j.id for j in boss.jobs()] == [job.job]
        assert small.jobs() == []
        assert reader.describe().id == boss.describe(job.job).id == job.job
        for ask in (small.describe, small.cancel, small.explain_job):
            with pytest.raises(NotFound, match=f"no job '{job.job}'"):
                ask(job.job)


def test_a_client_has_limits(shop: Shop) -> None:
    flow = read(str(shop.data / "t.parquet"))
    with shop.session("small") as small, pytest.raises(Forbidden, match="send a request of .* bytes; .* may have 200"):
        small.run(flow.filter(col("a") > 1).filter(col("a") > 2), text="x" * 300)
    token = (shop.folder / "reader.token").read_text()
    with grpc.insecure_channel(shop.service.address) as channel:
        stub = JumpgateStub(channel)  # type: ignore[no-untyped-call]
        request = pb.SubmitRequest(
            dataflow=proto.encode(Send(flow.root, ("127.0.0.1:9",)), DEFAULT),
            options=pb.Options(memory_limit_bytes=1 << 40),
        )
        jobs = [stub.Submit(request, metadata=tokens.metadata(token)).job_id for _ in range(2)]
        with pytest.raises(grpc.RpcError) as refused:
            stub.Submit(request, metadata=tokens.metadata(token))
        assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED
        assert refused.value.details() == "client 'reader' may not submit another job; it may have 2 at once"
        plan = shop.service.engine.job(jobs[0]).context.plan
        assert {i.memory_limit_bytes for i in plan.instances} == {32 << 20}
        stub.Cancel(pb.CancelRequest(job_id=jobs[0]), metadata=tokens.metadata(token))
        assert stub.Submit(request, metadata=tokens.metadata(token)).job_id


def test_long_jobs_give_way(tmp_path: Path) -> None:
    """Their threads lower their priority, so that other users' short jobs are not held up by them."""
    pq.write_table(pa.table({"k": [0] * 100_000}), tmp_path / "k.parquet")
    rows = read(str(tmp_path / "k.parquet"))
    pairs = rows.join(rows.select(k2=col("k")), left_on="k", right_on="k2")
    with marked() as watch:
        shop = Shop(tmp_path)
        with contextlib.closing(shop.service), Session(shop.service.address) as session:
            assert session.run(rows).to_arrow().num_rows == 100_000  # once the runtime is there
            endless = session.run(pairs.aggregate(s=sum_("k2")))
            assert wait_until(lambda: 19 in _priorities(watch), 60)
            endless.cancel()


def _priorities(watch: Watch) -> set[int]:
    """Return the priorities of the threads of instances."""
    found = set()
    for process in watch.processes("jg "):
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                found.add(os.getpriority(os.PRIO_PROCESS, int(thread.name)))
    return found
