"""The Python client over real sockets, against a made-up service: results, errors as they were raised, nothing left."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from jumpgate.client import Dataflow, col, connect, read
from jumpgate.client.session import Session
from jumpgate.errors import (
    Cancelled,
    CannotPlace,
    InstanceFailed,
    InvalidDataflow,
    JumpgateError,
    Overflow,
    ProtocolError,
    Unreachable,
)
from jumpgate.ntf.send import Sender
from tests.support.service import FakeService

BATCH = pa.record_batch({"a": pa.array([1, None, 3], pa.int64()), "b": ["x", "", None]})


@pytest.fixture
def service() -> Iterator[FakeService]:
    fake = FakeService([BATCH, BATCH])
    yield fake
    fake.close()


@pytest.fixture
def session(service: FakeService) -> Iterator[Session]:
    with connect(service.address) as opened:
        yield opened


@pytest.fixture
def dataflow(tmp_path: Path) -> Dataflow:
    (tmp_path / "t.json").touch()
    return read(tmp_path / "t.json", schema={"a": "int64", "b": "string"})


def test_result(session: Session, dataflow: Dataflow) -> None:
    result = session.run(dataflow)
    assert result.to_arrow() == pa.Table.from_batches([BATCH, BATCH])
    assert [e.state for e in result.events] == ["running", "done"]
    assert session.run(dataflow).to_pylist()[:2] == [{"a": 1, "b": "x"}, {"a": None, "b": ""}]


def test_several_producers_and_runs_at_once(session: Session, service: FakeService, dataflow: Dataflow) -> None:
    service.producers = 3
    results = [session.run(dataflow) for _ in range(4)]
    assert [r.to_arrow().num_rows for r in reversed(results)] == [18] * 4


def test_the_request_arrives_whole(session: Session, service: FakeService, dataflow: Dataflow) -> None:
    flow = dataflow.filter(col("a") > 1, col("b") != "{{x}}\0")
    session.run(flow).to_arrow()
    sent = service.jobs["j0"]
    assert sent.input == flow.root
    assert sent.endpoints[0].startswith("127.0.0.1:")


def test_errors_of_submit_keep_their_type(session: Session, service: FakeService, dataflow: Dataflow) -> None:
    service.fail_submit = CannotPlace("cannot place join on 'tor1': the key is 64 bits — é", operator="join")
    with pytest.raises(CannotPlace, match="64 bits — é") as raised:
        session.run(dataflow)
    assert raised.value.fields == {"operator": "join"}
    before = open_files()
    service.fail_submit = InvalidDataflow("a; b", tuple(f"problem {i} " + "x" * 90 for i in range(500)))
    with pytest.raises(InvalidDataflow) as invalid:
        session.run(dataflow)
    assert len(invalid.value.problems) == 500
    assert open_files() <= before


def test_errors_of_execute_before_any_data(session: Session, service: FakeService, dataflow: Dataflow) -> None:
    service.fail_execute = InstanceFailed("f0.0 on host0 was killed", instance="f0.0")
    with pytest.raises(InstanceFailed, match="f0.0 on host0 was killed"):
        session.run(dataflow).to_arrow()


def test_errors_amid_the_data(session: Session, service: FakeService, dataflow: Dataflow) -> None:
    received = threading.Event()  # else the error might overtake the data

    def abort(sender: Sender) -> None:
        sender.write(BATCH)
        assert received.wait(20)
        sender.abort()

    service.send, service.fail_execute = abort, Overflow("sum overflowed int64")
    batches = iter(session.run(dataflow))
    assert next(batches) == BATCH
    received.set()
    with pytest.raises(Overflow, match="sum overflowed"):
        next(batches)


def test_complete_data_of_a_failed_job_is_no_answer(session: Session, service: FakeService, dataflow: Dataflow) -> None:
    send_all = service.send
    service.send, service.fail_execute = lambda sender: send_all(sender), Overflow("late")
    with pytest.raises(Overflow, match="late"):
        session.run(dataflow).to_arrow()


def test_events_that_end_early(session: Session, service: FakeService, dataflow: Dataflow) -> None:
    service.last_state = "running"
    with pytest.raises(ProtocolError, match="in state 'running', before it was done"):
        session.run(dataflow).to_arrow()


def test_cancel_from_another_thread(session: Session, service: FakeService, dataflow: Dataflow) -> None:
    release = threading.Event()
    service.send = lambda sender: (release.wait(10), sender.abort())
    result = session.run(dataflow)
    threading.Timer(0.05, result.cancel).start()
    with pytest.raises(Cancelled, match="job j0 was cancelled"):
        result.to_arrow()
    release.set()


def test_closing_the_session_ends_its_runs(service: FakeService, dataflow: Dataflow) -> None:
    release = threading.Event()
    service.send = lambda sender: (release.wait(10), sender.abort())
    session = connect(service.address)
    result = session.run(dataflow)
    session.close()
    session.close()
    with pytest.raises(JumpgateError):
        result.to_arrow()
    with pytest.raises(Unreachable, match="this session is closed"):
        session.run(dataflow)
    release.set()


def test_nobody_answers(dataflow: Dataflow) -> None:
    message = "no Jumpgate service answers at 127.0.0.1:1 .* start one with `jumpgate serve`"
    with connect("127.0.0.1:1") as session, pytest.raises(Unreachable, match=message) as raised:
        session.run(dataflow)
    assert raised.value.is_unreachable


def test_a_service_that_is_only_starting_is_waited_for(dataflow: Dataflow) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    services: list[FakeService] = []
    timer = threading.Timer(0.5, lambda: services.append(FakeService([BATCH], port=port)))
    timer.start()
    try:
        with connect(f"127.0.0.1:{port}", wait_s=20) as session:
            assert session.run(dataflow).to_arrow().num_rows == 3
    finally:
        timer.join()
        for service in services:
            service.close()


def test_the_other_verbs(session: Session, service: FakeService, dataflow: Dataflow) -> None:
    session.run(dataflow).to_arrow()
    assert [(j.id, j.state) for j in session.jobs()] == [("j0", "done")]
    assert session.describe("j0").record == {"stages": 1}
    assert session.explain(dataflow) == "read"
    session.cancel("j0")
    assert service.cancelled.is_set()


def test_send_is_added_by_the_client(session: Session, dataflow: Dataflow) -> None:
    with pytest.raises(InvalidDataflow, match="add the send to this client themselves"):
        session.run(dataflow.send("127.0.0.1:1"))


def test_nothing_is_left_open(session: Session, dataflow: Dataflow) -> None:
    session.run(dataflow).to_arrow()
    before = open_files()
    for _ in range(5):
        session.run(dataflow).to_arrow()
    assert open_files() <= before


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))
