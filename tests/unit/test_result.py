"""A client's result: batches as they come, and no short answer whatever breaks first."""

from __future__ import annotations

import gc
import json
import queue
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pyarrow as pa
import pytest

from jumpgate.client import result as results
from jumpgate.client.calls import follow
from jumpgate.client.result import Execution, Result
from jumpgate.errors import Cancelled, InstanceFailed, JumpgateError, ProtocolError, Unreachable

BATCH = pa.record_batch({"a": [1, 2]})
RUNNING, DONE = SimpleNamespace(state="running"), SimpleNamespace(state="done")


class FakeStream:
    """Yields what is put into it; `end` ends it, an error breaks it, close wakes the reader as an endpoint does."""

    def __init__(self) -> None:
        self.items: queue.Queue[object] = queue.Queue()
        self.closed = self.bytes = 0

    def put(self, *items: object) -> None:
        for item in items:
            self.items.put(item)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (item := self.items.get(timeout=60)) != "end":
            if isinstance(item, Exception):
                raise item
            yield item

    def close(self, reason: JumpgateError | None = None) -> None:
        self.closed += 1
        self.items.put(reason or Unreachable("the endpoint was closed"))


class FakeCall:
    """The service's events, as FakeStream's batches."""

    def __init__(self) -> None:
        self.items: queue.Queue[object] = queue.Queue()
        self.cancelled = 0

    def __iter__(self) -> Iterator[object]:
        while (item := self.items.get(timeout=60)) != "end":
            if isinstance(item, Exception):
                raise item
            yield item

    def cancel(self) -> None:
        self.cancelled += 1
        self.items.put(Cancelled("by the client"))


class Run:
    def __init__(self) -> None:
        self.stream, self.call = FakeStream(), FakeCall()
        execution = Execution(self.stream.close)
        follow(self.call, execution.see, execution.end)
        self.result = Result("j1", BATCH.schema, self.stream, execution, self.call.cancel)


@pytest.fixture
def run() -> Iterator[Run]:
    run = Run()
    yield run
    run.call.items.put("end")


def test_success(run: Run) -> None:
    run.stream.put(BATCH, BATCH, "end")
    for item in (RUNNING, DONE, "end"):
        run.call.items.put(item)
    assert run.result.to_pylist() == [{"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}]
    assert run.result.to_arrow().num_rows == 4
    assert list(run.result.to_pandas()["a"]) == [1, 2, 1, 2]
    assert sum(b.num_rows for b in run.result) == 4
    assert run.result.events == (RUNNING, DONE)
    assert run.call.cancelled == 0 and run.stream.closed


def test_nobody_waits_for_the_service_to_tidy_up(run: Run) -> None:
    run.stream.put(BATCH, "end")
    run.call.items.put(DONE)
    assert run.result.to_pylist() == [{"a": 1}, {"a": 2}]
    run.call.items.put(Unreachable("the connection broke off afterwards"))
    assert run.result.to_arrow().num_rows == 2 and run.call.cancelled == 0


def test_empty(run: Run) -> None:
    run.stream.put("end")
    run.call.items.put(DONE)
    assert run.result.to_arrow() == BATCH.schema.empty_table()


def test_batches_come_before_the_job_ends(run: Run) -> None:
    run.stream.put(BATCH)
    batches = iter(run.result)
    assert next(batches) == BATCH
    run.stream.put("end")
    threading.Timer(0.01, run.call.items.put, [DONE]).start()
    assert list(batches) == []


def test_events_without_an_end_are_no_answer(run: Run) -> None:
    run.stream.put(BATCH, "end")
    run.call.items.put("end")
    with pytest.raises(ProtocolError, match="before it was done"):
        run.result.to_arrow()


def test_complete_stream_of_a_failed_job_is_no_answer(run: Run) -> None:
    run.stream.put(BATCH, "end")
    run.call.items.put(InstanceFailed("f1.0 was killed", instance="f1.0"))
    with pytest.raises(JumpgateError, match="f1.0 was killed"):
        run.result.to_arrow()


def test_failure_before_any_data_wakes_the_reader(run: Run) -> None:
    threading.Timer(0.01, run.call.items.put, [InstanceFailed("f1.0 was killed")]).start()
    with pytest.raises(InstanceFailed, match="f1.0 was killed"):
        run.result.to_arrow()


def test_broken_stream_names_the_cause(run: Run) -> None:
    run.stream.put(BATCH, ProtocolError("closed without an end frame"))
    threading.Timer(0.01, run.call.items.put, [InstanceFailed("f1.0 was killed")]).start()
    with pytest.raises(InstanceFailed, match="f1.0 was killed"):
        list(run.result)


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_failure_that_an_event_tells_needs_no_end_of_the_events(run: Run, state: str) -> None:
    told = InstanceFailed("f1.0 was killed", instance="f1.0")
    run.stream.put(BATCH, ProtocolError("closed without an end frame"))
    run.call.items.put(SimpleNamespace(state=state, detail_json=json.dumps(told.to_dict())))
    with pytest.raises(InstanceFailed, match="f1.0 was killed") as raised:
        list(run.result)
    assert raised.value.fields == {"instance": "f1.0"}
    assert not run.call.cancelled, "the service ends the events when it has taken the job down"
    run.call.items.put("end")


def test_broken_stream_without_a_cause(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "CAUSE_WAIT_S", 0.01)
    run.stream.put(ProtocolError("closed without an end frame"))
    with pytest.raises(ProtocolError, match="without an end frame"):
        list(run.result)
    assert run.call.cancelled == 1


def test_cancel(run: Run) -> None:
    run.stream.put(BATCH)
    batches = iter(run.result)
    next(batches)
    run.result.cancel()
    with pytest.raises(Cancelled, match="job j1 was cancelled"):
        next(batches)
    assert run.call.cancelled == 1


def test_iterated_once(run: Run) -> None:
    run.stream.put("end")
    run.call.items.put(DONE)
    list(run.result)
    with pytest.raises(ValueError, match="can be iterated once; use to_arrow"):
        list(run.result)


def test_leaving_the_loop_cancels(run: Run) -> None:
    run.stream.put(BATCH, BATCH)
    for _ in run.result:
        break
    gc.collect()
    assert run.call.cancelled == 1 and run.stream.closed


def test_dropped_unread_result_cancels() -> None:
    run = Run()
    stream, call = run.stream, run.call
    del run
    gc.collect()
    assert call.cancelled == 1 and stream.closed
