"""Results that a client pulls from the service: the same as those that instances send to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import Dataflow, col, connect, read
from jumpgate.client import session as client_session
from jumpgate.client.session import Session
from jumpgate.errors import Cancelled, ConfigError, InvalidDataflow, NotFound, Overflow, TimedOut, Unreachable
from jumpgate.hosts.config import local_hosts
from jumpgate.ntf.receive import Endpoint
from jumpgate.service import embedded, pulls
from jumpgate.service.embedded import Embedded
from jumpgate.trust import tokens
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1.service_pb2_grpc import JumpgateStub

ROWS = 100_000


@pytest.fixture(scope="module")
def service() -> Iterator[Embedded]:
    started = embedded.start(local_hosts(2))
    yield started
    started.close()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Dataflow:
    file = tmp_path_factory.mktemp("pulled") / "t.parquet"
    columns = {"a": range(ROWS), "k": [i % 10 for i in range(ROWS)], "s": [f"é{i % 7}" for i in range(ROWS)]}
    pq.write_table(pa.table(columns), file)
    return read(file)


@pytest.fixture
def session(service: Embedded, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A client that opens nothing."""
    monkeypatch.setattr(client_session, "Endpoint", None)
    with connect(service.address, results="pull", progress=False) as connected:
        yield connected


def huge(table: Dataflow) -> Dataflow:
    """A result of 24 GB."""
    return table.join(table, on="k", suffix="_r")


def ended(service: Embedded) -> None:
    pause = threading.Event()
    while any(not record.ended_ns for record in service.engine.jobs()):  # pytest ends what hangs
        pause.wait(0.05)


def test_a_result(session: Session, table: Dataflow) -> None:
    result = session.run(table)
    found = result.to_arrow()
    assert sorted(found["a"].to_pylist()) == list(range(ROWS))
    assert found["s"].to_pylist() == [f"é{a % 7}" for a in found["a"].to_pylist()]
    assert result.received_bytes >= found.nbytes
    assert [event.state for event in result.events][-1] == "done"
    assert session.run(table.filter(col("a") < 0)).to_arrow().num_rows == 0


def test_a_frame_that_is_larger_than_a_message(
    session: Session, table: Dataflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulls, "PIECE_BYTES", 1000)
    assert sorted(session.run(table.filter(col("a") < 5000)).to_arrow()["a"].to_pylist()) == list(range(5000))


def test_errors_are_the_jobs(session: Session, table: Dataflow) -> None:
    with pytest.raises(Overflow, match="overflow"):
        session.run(table.select(b=col("a") * (2**63 - 1))).to_arrow()


def test_who_reads_slowly_holds_the_instances_up(
    service: Embedded, session: Session, table: Dataflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[Endpoint] = []
    expect = Endpoint.expect

    def seen(self: Endpoint, **known: Any) -> None:
        received.append(self)
        expect(self, **known)

    monkeypatch.setattr(Endpoint, "expect", seen)
    result = session.run(huge(table))
    for batch, _ in zip(result, range(20), strict=False):
        assert batch.num_rows
        assert received[0].bytes - result.received_bytes < 64 << 20  # what waits in buffers, of 24 GB
    result.cancel()
    ended(service)
    assert service.engine.describe(result.job).state == "cancelled"


def test_a_client_that_goes_away_ends_its_job(service: Embedded, session: Session, table: Dataflow) -> None:
    batches = iter(session.run(huge(table)))
    assert next(batches).num_rows
    session.close()
    with pytest.raises((Cancelled, Unreachable)):
        for _ in batches:
            pass
    ended(service)


def test_a_time_limit(service: Embedded, table: Dataflow) -> None:
    with connect(service.address, results="pull", timeout_ms=3000) as session:
        session.run(table).to_arrow()  # its program is built by now
        with pytest.raises(TimedOut):
            for _ in session.run(huge(table)):
                pass
    ended(service)


def test_a_client_that_instances_do_not_reach_pulls(
    service: Embedded, table: Dataflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Endpoint] = []

    class Unreached(Endpoint):
        """Says an address at which nobody listens."""

        @classmethod
        def open(cls, host: str = "127.0.0.1", port: int = 0) -> Endpoint:
            with Endpoint.open() as closed:
                address = closed.address
            found = Endpoint.open(host, port)
            found.address = address
            opened.append(found)
            return found

    monkeypatch.setattr(client_session, "Endpoint", Unreached)
    with connect(service.address) as session:
        for _ in range(2):
            assert session.run(table).to_arrow().num_rows == ROWS
    assert len(opened) == 1
    with connect(service.address, results="push") as session, pytest.raises(Unreachable, match="cannot connect to"):
        session.run(table).to_arrow()


def test_a_result_is_pulled_once_and_by_its_client(service: Embedded, session: Session, table: Dataflow) -> None:
    job = session.run(table)
    job.to_arrow()
    with grpc.insecure_channel(service.address) as channel:
        stub = JumpgateStub(channel)  # type: ignore[no-untyped-call]
        shown = tokens.metadata(service.token)
        for id, told in ((job.job, InvalidDataflow.code), ("nobody's", NotFound.code)):
            with pytest.raises(grpc.RpcError) as error:
                list(stub.Pull(pb.PullRequest(job_id=id), metadata=shown))
            assert told in dict(error.value.trailing_metadata())["jumpgate-error"]


def test_there_is_no_other_way() -> None:
    with pytest.raises(ConfigError, match="results is 'fetch'; it can be auto, push, pull"):
        connect("127.0.0.1:1", results="fetch")
