"""Which of several failures is reported, what a job's record keeps, and how messages are framed."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jumpgate import debug, errors
from jumpgate.converters.prober import prober
from jumpgate.hosts import wire
from jumpgate.hosts.config import local_hosts
from jumpgate.hosts.wire import Lines
from jumpgate.nca.interface import Device, InstancePlan
from jumpgate.nca.registry import Registry
from jumpgate.ncas.runtime.lifecycle import SoftwareLifecycle
from jumpgate.orchestrator import progress, record
from jumpgate.orchestrator.failures import on_all
from jumpgate.orchestrator.job import starts_together
from jumpgate.orchestrator.record import JobRecord, Phase, Recorder, load, save
from jumpgate.service.agents import Agents
from jumpgate.service.engine import Engine
from tests.support import scripted


def run(failures: Sequence[Exception | None], delays_s: Sequence[float] = (), watched: Exception | None = None) -> None:
    """on_all over one instance a failure (None: it waits to be cancelled), and a watcher's failure soon after."""
    plan = scripted.plan([Device(f"h{n}") for n in range(len(failures))])

    async def verb(i: InstancePlan) -> None:
        n = int(i.id[1:])
        await asyncio.sleep(delays_s[n] if delays_s else 0)
        failure = failures[n]
        if failure is None:
            await asyncio.Event().wait()
        else:
            raise failure

    async def body() -> None:
        watchers = [] if watched is None else [watch(watched)]
        await on_all([(i, verb(i)) for i in plan.instances], "stage 2", *watchers)

    async def watch(failure: Exception) -> None:
        await asyncio.sleep(0.05)
        raise failure

    asyncio.run(body())


def test_data_beats_death_beats_disagreement_beats_loss_beats_cancellation() -> None:
    by_weight: list[errors.JumpgateError] = [
        errors.Cancelled("a"),
        errors.Unreachable("b"),
        errors.ProtocolError("c"),
        errors.InstanceFailed("d"),
        errors.MalformedData("e"),
    ]
    for n in range(1, len(by_weight) + 1):
        with pytest.raises(type(by_weight[n - 1])):
            run(by_weight[:n])
        with pytest.raises(type(by_weight[n - 1])):
            run(by_weight[n - 1 :: -1])


def test_a_cause_that_comes_soon_after_its_consequence_is_waited_for() -> None:
    with pytest.raises(errors.Overflow) as raised:
        run([errors.Unreachable("gone"), errors.Overflow("too large"), None], [0, 0.05, 0])
    assert raised.value.fields == {"instance": "i1", "host": "h1", "stage": "2"}


def test_of_two_consequences_the_first_is_reported() -> None:
    with pytest.raises(errors.Unreachable, match="first"):
        run([errors.Unreachable("second"), errors.Unreachable("first"), None], [0.05, 0, 0])


def test_what_a_watcher_saw_beats_what_instances_saw_of_it() -> None:
    with pytest.raises(errors.Unreachable, match="the device is gone"):
        run([errors.ProtocolError("broke off"), None], watched=errors.Unreachable("the device is gone"))


def test_a_mistake_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run([errors.Unreachable("gone"), ZeroDivisionError()])


def test_fields_that_an_instance_gave_are_kept() -> None:
    with pytest.raises(errors.InstanceFailed, match="^it died, on host 'h0' in stage 2$") as raised:
        run([errors.InstanceFailed("it died", host="elsewhere")])
    assert raised.value.fields["host"] == "elsewhere"


def test_debug_lines_say_where(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for value, level in (("2", 2), ("", 0), ("much", 0), ("\N{SUPERSCRIPT TWO}", 0)):
        monkeypatch.setenv("JUMPGATE_DEBUG", value)
        assert debug.level() == level
    debug.note("i0", "h0", "a\n\nb")
    debug.note("i0", "h0", "c", stage=2)
    assert capsys.readouterr().err == "[i0@h0] a\n[i0@h0]\n[i0@h0] b\n[i0@h0 stage 2] c\n"


def test_records_are_kept_in_a_bounded_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "JOBS_KEPT", 3)
    monkeypatch.setattr(record, "JOBS_SLACK", 0)
    for n in range(5):
        save([JobRecord(f"job{n}", phases=[Phase("map", 1, 2)])], tmp_path)
        os.utime(tmp_path / f"job{n}.json", ns=(n, n))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job2.json", "job3.json", "job4.json"]
    assert load("latest", tmp_path) == JobRecord("job4", phases=[Phase("map", 1, 2)])
    assert load("job2", tmp_path).job == "job2"
    for wrong in ("job0", "../job2", ""):
        with pytest.raises(errors.NotFound, match="the newest is job4"):
            load(wrong, tmp_path)
    with pytest.raises(errors.NotFound, match="none has run yet"):
        load("latest", tmp_path / "absent")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"job": "a", "unknown": 1}', '{"job": "a", "phases": [1]}', "\0"])
def test_a_damaged_record_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    for job in ("a", "latest"):
        with pytest.raises(errors.MalformedData, match=r"the record of job a cannot be read: .*remove .*a\.json"):
            load(job, tmp_path)


def test_records_of_jobs_that_follow_each_other_are_saved_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together: list[list[str]] = []

    def noted(records: Sequence[JobRecord], folder: Path) -> None:
        together.append([r.job for r in records])
        save(records, folder)

    monkeypatch.setattr(record, "save", noted)
    monkeypatch.setattr(record, "SAVE_AFTER_S", 60.0)

    async def body() -> None:
        await Recorder(lambda: tmp_path).close()
        recorder = Recorder(lambda: tmp_path)
        for job in ("job0", "job1"):
            recorder.add(JobRecord(job))
            await asyncio.sleep(0)
        assert not together and not [*tmp_path.iterdir()]
        assert recorder.load("job1").job == "job1"
        await recorder.close()  # which does not wait for the moment
        assert together == [["job0", "job1"]]
        assert load("job0", tmp_path).job == "job0"

    asyncio.run(asyncio.wait_for(body(), 30.0))


def test_records_are_saved_by_a_process_that_has_no_threads_to_lend_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_arguments: object) -> None:
        raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(asyncio, "to_thread", refused)
    monkeypatch.setattr(record, "SAVE_AFTER_S", 0.0)

    async def body() -> None:
        recorder = Recorder(lambda: tmp_path)
        recorder.add(JobRecord("job0"))
        while not (tmp_path / "job0.json").exists():
            await asyncio.sleep(0.001)
        await recorder.close()

    asyncio.run(asyncio.wait_for(body(), 30.0))
    assert load("job0", tmp_path).job == "job0"


def test_closing_saves_what_could_not_be_saved_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def fails_once(records: Sequence[JobRecord], folder: Path) -> None:
        tries.append(len(records))
        if len(tries) == 1:
            raise ValueError("a defect")
        save(records, folder)

    monkeypatch.setattr(record, "save", fails_once)
    monkeypatch.setattr(record, "SAVE_AFTER_S", 0.0)

    async def body() -> None:
        recorder = Recorder(lambda: tmp_path)
        recorder.add(JobRecord("job0"))
        while not tries:
            await asyncio.sleep(0.001)
        await recorder.close()

    asyncio.run(asyncio.wait_for(body(), 30.0))
    assert tries == [1, 1] and load("job0", tmp_path).job == "job0"


def test_an_engine_is_closed_though_its_records_cannot_be_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def fails(_recorder: Recorder) -> None:
        raise ValueError("a defect")

    async def noted(_agents: Agents) -> None:
        closed.append("agents")

    monkeypatch.setattr(Recorder, "close", fails)
    monkeypatch.setattr(Agents, "close", noted)
    monkeypatch.setattr(prober, "hold", lambda: None)
    monkeypatch.setattr(prober, "release", lambda: closed.append("prober"))

    async def body() -> None:
        await Engine(local_hosts(1), Registry([])).close()

    with pytest.raises(ValueError, match="a defect"):
        asyncio.run(body())
    assert closed == ["agents", "prober"]


def test_records_that_another_service_removes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        save([JobRecord(f"job{n}")], tmp_path)
        os.utime(tmp_path / f"job{n}.json", ns=(n, n))
    files = [tmp_path / name for name in ("job0.json", "job1.json", "job2.json", "gone.json")]
    monkeypatch.setattr(record, "_by_age", lambda folder: files)
    assert load("latest", tmp_path).job == "job2"
    with pytest.raises(errors.NotFound):
        load("gone", tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: iter(files))
    assert load("latest", tmp_path).job == "job2"


def test_a_record_that_cannot_be_written_is_lost_without_noise(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    save([JobRecord("job")], tmp_path / "file" / "folder")
    assert [p.name for p in tmp_path.rglob("*")] == ["file"] and (tmp_path / "file").read_text() == ""


class Received:
    """A protocol on a transport that only notes whether it was aborted."""

    def __init__(self, line_bytes_max: int = wire.LINE_BYTES_MAX) -> None:
        self.messages: list[dict[str, Any]] = []
        self.aborted = False
        self.lines = Lines(self.messages.append, line_bytes_max=line_bytes_max)
        rest = self

        class Transport(asyncio.Transport):
            def abort(self) -> None:
                rest.aborted = True

        self.lines.connection_made(Transport())


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_messages_arrive_however_they_are_cut(step: int) -> None:
    messages = [{"id": n, "text": "\N{SNOWMAN}" * n} for n in range(20)]
    sent = b"".join(json.dumps(m).encode() + b"\n" for m in messages)
    received = Received()
    for at in range(0, len(sent), step):
        received.lines.data_received(sent[at : at + step])
    assert received.messages == messages and not received.aborted


@pytest.mark.parametrize("sent", [b"x\n", b"[]\n", b'"a"\n', b"\xff\n", b"\n", b"{" * 101, b'{"a": "' + b"x" * 100])
def test_what_is_no_message_ends_the_connection(sent: bytes) -> None:
    received = Received(line_bytes_max=100)
    received.lines.data_received(b'{"a": 1}\n' + sent)
    assert received.messages == [{"a": 1}] and received.aborted


@pytest.mark.parametrize(("count", "looks_max"), [(1, 60), (30, 3)])
def test_many_instances_are_looked_at_less_often(monkeypatch: pytest.MonkeyPatch, count: int, looks_max: int) -> None:
    monkeypatch.setattr(progress, "INTERVAL_S", 0.01)
    monkeypatch.setattr(progress, "EACH_S", 0.005)
    instances = scripted.plan([Device(f"h{n}") for n in range(count)]).instances
    looks = []

    async def stats(i: InstancePlan) -> dict[str, Any]:
        return {"cpu_ns": time.process_time_ns()}

    async def look() -> None:
        await progress.watch("j", 1, "e0", lambda: instances, stats, 60.0, lambda counters, _: looks.append(counters))

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(look(), 0.5))
    assert 1 <= len(looks) <= looks_max and all(len(counters) == count for counters in looks)


def test_a_verb_that_a_class_below_changes_is_heard() -> None:
    class Named(SoftwareLifecycle):
        name = "named"

    class Counting(Named):
        async def configure(self, *arguments: Any) -> None:
            await super().configure(*arguments)

    class Both(Counting):
        async def allocate_all(self, *arguments: Any) -> list[Any]:
            return await super().allocate_all(*arguments)

    plain, below = SoftwareLifecycle(), Named()
    assert starts_together(plain) is plain and starts_together(below) is below
    assert starts_together(Counting()) is None
    both = Both()
    assert starts_together(both) is both, "it knows of starting together"
