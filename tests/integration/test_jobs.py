"""Jobs on real agents and instances that do what the test says: every way to fail, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumpgate import errors
from jumpgate.hosts import client, local
from jumpgate.hosts.config import local_hosts
from jumpgate.hosts.instances import SPARES
from jumpgate.nca.interface import JobPlan
from jumpgate.nca.registry import Registry
from jumpgate.orchestrator import job as job_module
from jumpgate.orchestrator import progress
from jumpgate.orchestrator.job import Event
from jumpgate.orchestrator.record import load, save
from jumpgate.service import engine as engine_module
from jumpgate.service.engine import Engine, RunOptions
from jumpgate.testing.leaks import Watch, wait_until
from tests.support import scripted
from tests.support.fakes import FakeNCA
from tests.support.scripted import ScriptedLifecycle, fail

WAIT = {"do": "wait"}
COUNT = {"do": "count"}
#: far more than any of these jobs needs, far less than a time-out of theirs
QUICKLY_S = 10.0


class Rig:
    """An engine with agents of its own."""

    def __init__(self, program: Path, hosts: int) -> None:
        self.lifecycle = ScriptedLifecycle()
        config = replace(local_hosts(hosts), host_program=program)
        self.engine = Engine(config, Registry([FakeNCA("scripted", "host", runs=self.lifecycle)]))

    def plan(self, stages: int = 1) -> JobPlan:
        return scripted.plan(self.engine.devices, stages)

    async def submit(self, plan: JobPlan, **options: Any) -> str:
        return (await self.engine.prepare(plan, RunOptions(**options), time.time_ns())).id

    async def run(self, plan: JobPlan, **options: Any) -> list[Event]:
        return [event async for event in self.engine.execute(await self.submit(plan, **options))]

    async def fails(self, job: str) -> errors.JumpgateError:
        """The job's error; it must come quickly."""
        async with asyncio.timeout(QUICKLY_S):
            with pytest.raises(errors.JumpgateError) as raised:
                async for _ in self.engine.execute(job):
                    pass
        return raised.value

    async def running(self, job: str, stage: int = 1) -> asyncio.Task[errors.JumpgateError]:
        """The job, in that stage: every instance was asked to execute it."""
        task = asyncio.create_task(self.fails(job))
        while len([c for c in self.lifecycle.calls if c[1] == f"stage {stage}"]) < len(self.engine.devices):
            assert not task.done(), task
            await asyncio.sleep(0.002)
        return task


def with_rig(program: Path, body: Callable[[Rig], Coroutine[Any, Any, None]], hosts: int = 1) -> None:
    @contextlib.asynccontextmanager
    async def rig() -> AsyncIterator[Rig]:
        made = Rig(program, hosts)
        try:
            yield made
        finally:
            await made.engine.close()

    async def run() -> None:
        async with rig() as made:
            await body(made)

    asyncio.run(run())


def test_a_job_runs_stage_by_stage_and_reports_it(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        events = await rig.run(rig.plan(stages=2))
        assert [(e.state, e.stage) for e in events] == [
            ("allocating", 0),
            ("configuring", 0),
            ("running", 1),
            ("running", 2),
            ("done", 2),
        ]
        assert [e.time_ns for e in events] == sorted(e.time_ns for e in events)
        assert {id: c["stages_ended"] for id, c in (events[-1].counters or {}).items()} == {"i0": 2, "i1": 2}
        (record,) = rig.engine.jobs()
        assert record.state == "done" and record.error is None
        names = ["map", "agents", "generate", "allocate", "configure", "stage 1", "stage 2"]
        assert [p.name for p in record.phases] == names
        assert all(0 < p.start_ns <= p.end_ns <= record.ended_ns for p in record.phases)
        verbs = [v for i, v in rig.lifecycle.calls if i == "i0"]
        assert verbs == ["compile", "allocate", "configure", "stage 1", "stage 2", "destroy"]
        saved = engine_module.records_folder() / f"{record.job}.json"
        assert await asyncio.to_thread(wait_until, saved.exists)
        assert load("latest", engine_module.records_folder()) == record, "what was saved is what was known"

    with_rig(scripted_host, body, hosts=2)


def test_the_latest_job_is_the_last_to_end_wherever_it_ran(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        await rig.run(rig.plan())
        (mine,) = rig.engine.jobs()
        for ended_ns, latest in ((1, mine.job), (mine.ended_ns + 1, "elsewhere")):
            save([replace(mine, job="elsewhere", ended_ns=ended_ns)], engine_module.records_folder())
            assert rig.engine.describe("latest").job == latest

    with_rig(scripted_host, body)


def test_no_instance_outlives_its_job_and_the_agents_are_kept(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        def kept() -> set[int]:
            return {p.pid for p in watch.processes() if p.name != "jgspare"}

        async def spares_are_ready() -> bool:  # each has the zygote's name at first
            return await asyncio.to_thread(wait_until, lambda: len(watch.processes("jgspare")) == 2 * SPARES)

        await rig.run(rig.plan())
        assert watch.processes("jg ") == []
        assert await spares_are_ready()
        first = kept()
        assert len(watch.processes("jghost")) == 2, "a zygote for each agent"
        await rig.run(rig.plan())
        assert watch.processes("jg ") == []
        assert await spares_are_ready()
        assert kept() == first

    with_rig(scripted_host, body, hosts=2)


@pytest.mark.parametrize("verb", ["compile", "allocate", "configure", "stage1", "stage2"])
def test_a_failing_verb_fails_the_job_with_its_error(scripted_host: Path, watch: Watch, verb: str) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=WAIT if verb == "stage1" else {"do": "nothing"}, stage2=WAIT)
        rig.lifecycle.script("i1", **{verb: fail("malformed", "line 3 is not JSON")})
        with pytest.raises(errors.MalformedData, match="line 3 is not JSON") as raised:
            async with asyncio.timeout(QUICKLY_S):
                await rig.run(rig.plan(stages=2))
        fields = raised.value.fields
        assert (fields["instance"], fields["host"]) == ("i1", "host2")
        assert fields.get("stage") == (verb[5:] if verb.startswith("stage") else None)
        assert watch.processes("jg ") == []

    with_rig(scripted_host, body, hosts=2)


@pytest.mark.parametrize("verb", ["allocate", "configure", "stage1"])
def test_an_exception_in_an_instance_is_an_error_not_its_end(scripted_host: Path, watch: Watch, verb: str) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", **{verb: {"do": "throw", "message": "a library threw"}})
        with pytest.raises(errors.InternalError, match="a library threw"):
            await rig.run(rig.plan())

    with_rig(scripted_host, body)


def test_an_instance_that_can_begin_no_thread_says_so(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", configure={"do": "confine"})
        with pytest.raises(errors.InternalError, match="Resource temporarily unavailable"):
            await rig.run(rig.plan())

    with_rig(scripted_host, body)


def test_text_that_is_not_utf8_arrives_in_an_error(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=fail("io"))
        with pytest.raises(errors.FileUnreadable) as raised:
            await rig.run(rig.plan())
        assert raised.value.fields["file"] == "broken \N{REPLACEMENT CHARACTER}.json"

    with_rig(scripted_host, body)


@pytest.mark.parametrize("stage", [1, 2])
def test_a_killed_instance_fails_the_job(scripted_host: Path, watch: Watch, stage: int) -> None:
    async def body(rig: Rig) -> None:
        for i in ("i0", "i1"):
            rig.lifecycle.script(i, **{f"stage{stage}": COUNT})
        task = await rig.running(await rig.submit(rig.plan(stages=2)), stage)
        os.kill(rig.lifecycle.pid("i1"), signal.SIGKILL)
        error = await task
        assert isinstance(error, errors.InstanceFailed) and error.is_unreachable
        assert error.message == (
            "instance i1 was killed by SIGKILL (by hand, or by the system for lack of memory), "
            f"on host 'host2' in stage {stage}"
        )
        assert (
            error.fields.items()
            >= {"instance": "i1", "host": "host2", "stage": str(stage), "signal": "SIGKILL"}.items()
        )
        assert watch.processes("jg ") == []
        rig.lifecycle.scripts.clear()
        assert (await rig.run(rig.plan()))[-1].state == "done", "the agents go on"

    with_rig(scripted_host, body, hosts=2)


def test_an_instance_killed_with_nothing_left_to_do_is_named(
    scripted_host: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(rig: Rig) -> None:
        async def after_the_kill(handle: Any) -> dict[str, Any]:
            nonlocal killed
            if not killed:
                killed = rig.lifecycle.pid("i1")
                os.kill(killed, signal.SIGKILL)
            return await stats(handle)

        killed = 0
        stats = rig.lifecycle.stats
        monkeypatch.setattr(progress, "INTERVAL_S", 60.0)  # the last counters are the first that are asked for
        monkeypatch.setattr(rig.lifecycle, "stats", after_the_kill)
        rig.lifecycle.script("i0", stage1=fail("unreachable", "i1 does not answer", after_ms=200))
        with pytest.raises(errors.InstanceFailed, match="instance i1 was killed by SIGKILL.*'host2' in stage 1"):
            await rig.run(rig.plan())
        assert killed

    with_rig(scripted_host, body, hosts=2)


@pytest.mark.parametrize("verb", ["allocate", "configure", "stage1"])
def test_an_instance_that_exits_fails_the_job(scripted_host: Path, watch: Watch, verb: str) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", **{verb: {"do": "exit", "status": 3}})
        with pytest.raises(errors.InstanceFailed, match="instance i0 exited with status 3, on host 'local'"):
            await rig.run(rig.plan())

    with_rig(scripted_host, body)


def test_a_killed_zygote_fails_the_job_and_is_replaced(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=WAIT)
        task = await rig.running(await rig.submit(rig.plan()))
        (zygote,) = watch.processes("jghost")
        os.kill(zygote.pid, signal.SIGKILL)
        error = await task
        assert isinstance(error, errors.InstanceFailed)
        assert "zygote process (jghost) has ended, on host 'local' in stage 1" in error.message
        assert wait_until(lambda: not watch.processes("jg ")), "its instances die with it"
        rig.lifecycle.scripts.clear()
        assert (await rig.run(rig.plan()))[-1].state == "done"

    with_rig(scripted_host, body)


def test_a_killed_agent_fails_the_job_and_is_replaced(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        for i in ("i0", "i1"):
            rig.lifecycle.script(i, stage1=WAIT)
        task = await rig.running(await rig.submit(rig.plan()))
        instance = rig.lifecycle.pid("i1")
        os.kill(_ancestor(instance, 2), signal.SIGKILL)
        error = await task
        assert isinstance(error, errors.InstanceFailed) and error.is_unreachable
        assert "the agent of host 'host2'" in error.message and "in stage 1" in error.message
        assert wait_until(lambda: not watch.processes("jg ")), "zygote and instances die with it"
        rig.lifecycle.scripts.clear()
        assert (await rig.run(rig.plan()))[-1].state == "done"

    with_rig(scripted_host, body, hosts=2)


def _ancestor(pid: int, generations: int) -> int:
    for _ in range(generations):
        status = Path(f"/proc/{pid}/status").read_text()
        pid = int(next(line for line in status.splitlines() if line.startswith("PPid:")).split()[1])
    return pid


def test_the_cause_is_reported_not_what_its_peers_saw_of_it(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=fail("unreachable", "a peer vanished"))
        rig.lifecycle.script("i1", stage1=fail("protocol", "edge e1 broke off"))
        rig.lifecycle.script("i2", stage1=fail("overflow", "too large", after_ms=100))
        with pytest.raises(errors.Overflow, match="too large") as raised:
            await rig.run(rig.plan())
        assert raised.value.fields["instance"] == "i2"

    with_rig(scripted_host, body, hosts=3)


def test_a_consequence_is_reported_where_there_is_no_cause(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=fail("unreachable", "the client vanished"))
        rig.lifecycle.script("i1", stage1=WAIT)
        with pytest.raises(errors.Unreachable, match="the client vanished"):
            await rig.run(rig.plan())

    with_rig(scripted_host, body, hosts=2)


def test_a_stopped_instance_whose_peers_give_up_is_named(scripted_host: Path, watch: Watch) -> None:
    """Its agent ends it sooner than a stall is noticed; the host of the peers is not to blame."""

    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=WAIT)
        rig.lifecycle.script("i1", stage1=fail("unreachable", "no answer to the greeting", after_ms=100))
        task = await rig.running(await rig.submit(rig.plan()))
        os.kill(rig.lifecycle.pid("i0"), signal.SIGSTOP)
        error = await task
        assert isinstance(error, errors.InstanceFailed)
        assert (error.fields["instance"], error.fields["host"]) == ("i0", "host1")
        assert "was stopped by a signal" in error.message
        assert watch.processes("jg ") == []

    with_rig(scripted_host, body, hosts=2)


def test_a_stage_whose_counters_stand_still_is_ended(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i1", stage1=WAIT)
        error = await rig.fails(await rig.submit(rig.plan(), stall_timeout_ms=200))
        assert isinstance(error, errors.TimedOut)
        assert "stalled in stage 1: no rows moved and nobody worked for 0.2 s. Waiting for each other" in error.message
        assert "i1 on host 'host2'" in error.message and "i0" not in error.message
        assert watch.processes("jg ") == []

    with_rig(scripted_host, body, hosts=2)


def test_a_stopped_instance_is_named_and_killed(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        for i in ("i0", "i1"):
            rig.lifecycle.script(i, stage1=WAIT)
        task = await rig.running(await rig.submit(rig.plan(), stall_timeout_ms=200))
        os.kill(rig.lifecycle.pid("i0"), signal.SIGSTOP)
        error = await task
        assert isinstance(error, errors.TimedOut)
        assert "no answer for 0.2 s from i0 on host 'host1'" in error.message
        assert error.fields["instance"] == "i0"
        assert watch.processes("jg ") == []

    with_rig(scripted_host, body, hosts=2)


def test_a_stopped_instance_is_found_while_others_work(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=WAIT)
        rig.lifecycle.script("i1", stage1=COUNT)
        task = await rig.running(await rig.submit(rig.plan(), stall_timeout_ms=200))
        os.kill(rig.lifecycle.pid("i0"), signal.SIGSTOP)
        assert "no answer for 0.2 s from i0 on host 'host1'" in (await task).message

    with_rig(scripted_host, body, hosts=2)


def test_a_stopped_agent_is_named_and_replaced(
    scripted_host: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ANSWER_TIMEOUT_S", 0.2)
    monkeypatch.setattr(local, "STOP_TIMEOUT_S", 0.2)

    async def body(rig: Rig) -> None:
        for i in ("i0", "i1"):
            rig.lifecycle.script(i, stage1=WAIT)
        task = await rig.running(await rig.submit(rig.plan(), stall_timeout_ms=200))
        os.kill(rig.engine.agents.own["host1"].process.pid, signal.SIGSTOP)
        error = await task
        assert isinstance(error, errors.TimedOut)
        assert "no answer for 0.2 s from i0 on host 'host1'" in error.message
        rig.lifecycle.scripts.clear()
        assert (await rig.run(rig.plan()))[-1].state == "done"

    with_rig(scripted_host, body, hosts=2)


def test_a_set_up_that_takes_too_long_is_ended(
    scripted_host: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_module, "SETUP_TIMEOUT_S", 0.2)

    async def body(rig: Rig) -> None:
        for verb, message in (("allocate", "not allocated within 0.2 s"), ("configure", "not configured within")):
            rig.lifecycle.script("i0", **{verb: {"do": "hang"}})
            error = await rig.fails(await rig.submit(rig.plan()))
            assert isinstance(error, errors.TimedOut) and message in error.message
            assert watch.processes("jg ") == []

    with_rig(scripted_host, body)


def test_a_stage_whose_counters_move_is_not_stalled(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=COUNT)
        job = await rig.submit(rig.plan(), stall_timeout_ms=500, timeout_ms=2000)
        progress: list[int] = []
        with pytest.raises(errors.TimedOut, match="did not end within 2 s"):
            async for event in rig.engine.execute(job):
                if event.state == "running" and event.counters:
                    progress.append(event.counters["i0"]["sources"][0]["rows"])
        assert progress == sorted(set(progress)) and len(progress) > 3

    with_rig(scripted_host, body)


@pytest.mark.parametrize("work", ["spin", "send"])
def test_long_work_and_a_slow_client_are_no_stall(scripted_host: Path, watch: Watch, work: str) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=WAIT)  # for the other one
        rig.lifecycle.script("i1", stage1={"do": work})
        error = await rig.fails(await rig.submit(rig.plan(), stall_timeout_ms=500, timeout_ms=2000))
        assert "did not end within 2 s" in error.message

    with_rig(scripted_host, body, hosts=2)


@pytest.mark.parametrize("verb", ["allocate", "configure", "stage1"])
def test_cancel_ends_a_job_wherever_it_is(scripted_host: Path, watch: Watch, verb: str) -> None:
    async def body(rig: Rig) -> None:
        # deaf to everything: only its host can end it
        rig.lifecycle.script("i0", **{verb: {"do": "hang"}})
        job = await rig.submit(rig.plan())
        task = asyncio.create_task(rig.fails(job))
        while not any(c == ("i0", verb.replace("stage", "stage ")) for c in rig.lifecycle.calls):
            await asyncio.sleep(0.002)
        rig.engine.cancel(job)
        rig.engine.cancel(job)
        error = await task
        assert isinstance(error, errors.Cancelled)
        assert rig.engine.describe(job).state == "cancelled"
        assert watch.processes("jg ") == []
        rig.engine.cancel(job)

    with_rig(scripted_host, body)


def test_a_failure_is_told_before_the_job_is_taken_down(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        # the other one is deaf to everything: to end it takes its host until it is no longer patient
        rig.lifecycle.script("i0", stage1=scripted.fail("data", "the file is damaged"))
        rig.lifecycle.script("i1", stage1={"do": "hang"})
        job = await rig.submit(rig.plan())
        events = []
        with pytest.raises(errors.DataError) as raised:
            async for event in rig.engine.execute(job):
                events.append(event)
                if event.error is not None:
                    assert sorted(p.name for p in watch.processes("jg ")) == ["jg i0", "jg i1"]
        assert events[-1].state == "failed" and events[-1].error is raised.value
        assert watch.processes("jg ") == []

    with_rig(scripted_host, body, hosts=2)


def test_a_consumer_that_goes_away_cancels_the_job(
    scripted_host: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(rig: Rig) -> None:
        async def slowly(handle: Any) -> dict[str, Any]:
            await asyncio.sleep(0.1)
            return await stats(handle)

        stats = rig.lifecycle.stats
        monkeypatch.setattr(rig.lifecycle, "stats", slowly)  # the last counters are a while in coming
        rig.lifecycle.script("i0", stage1=WAIT)
        job = await rig.submit(rig.plan())
        async with contextlib.aclosing(rig.engine.execute(job)) as events:
            async for event in events:
                if event.state == "running":
                    break
        record = rig.engine.describe(job)
        async with asyncio.timeout(QUICKLY_S):
            while record.state == "running":
                assert not record.ended_ns, "it has ended and runs"
                await asyncio.sleep(0.002)
        assert record.state == "cancelled"
        assert record.ended_ns

    with_rig(scripted_host, body)


def test_a_client_that_goes_away_cancels_a_job_whose_result_broke_off(
    scripted_host: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(rig: Rig) -> None:
        async def after_the_client_has_gone(handle: Any) -> dict[str, Any]:
            rig.engine.cancel(job)
            return await stats(handle)

        stats = rig.lifecycle.stats
        monkeypatch.setattr(rig.lifecycle, "stats", after_the_client_has_gone)
        rig.lifecycle.script("i0", stage1=fail("unreachable", "the client vanished"))
        job = await rig.submit(rig.plan())
        assert isinstance(await rig.fails(job), errors.Cancelled)
        assert rig.engine.describe(job).state == "cancelled"

    with_rig(scripted_host, body)


@pytest.mark.parametrize("step", [fail("internal"), WAIT])
def test_an_instance_that_will_not_be_destroyed_is_killed(scripted_host: Path, watch: Watch, step: Any) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", destroy=step)
        assert (await rig.run(rig.plan()))[-1].state == "done"
        assert watch.processes("jg ") == []

    with_rig(scripted_host, body)


def test_jobs_side_by_side_do_not_disturb_each_other(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        bad = replace(rig.plan(), instances=tuple(replace(i, id=f"bad{n}") for n, i in enumerate(rig.plan().instances)))
        rig.lifecycle.script("bad0", stage1=fail("overflow", after_ms=20))
        rig.lifecycle.script("bad1", stage1=WAIT)
        good, failed, other = await asyncio.gather(
            rig.run(rig.plan(stages=3)), rig.run(bad), rig.run(rig.plan(stages=2)), return_exceptions=True
        )
        assert isinstance(failed, errors.Overflow)
        assert isinstance(good, list) and good[-1].state == "done"
        assert isinstance(other, list) and other[-1].state == "done"

    with_rig(scripted_host, body, hosts=4)


def test_a_job_is_executed_once(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        job = await rig.submit(rig.plan())
        async for _ in rig.engine.execute(job):
            pass
        error = await rig.fails(job)
        assert isinstance(error, errors.InvalidDataflow) and "submit the dataflow again" in error.message
        assert isinstance(await rig.fails("nonsense"), errors.NotFound)

    with_rig(scripted_host, body)


def test_a_job_that_nobody_executes_expires(scripted_host: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(rig: Rig) -> None:
        job = await rig.submit(rig.plan())
        assert [r.job for r in rig.engine.jobs()] == [job]
        monkeypatch.setattr(engine_module, "EXPIRY_S", 0.0)
        error = await rig.fails(job)
        assert isinstance(error, errors.NotFound) and "expired" in error.message
        assert rig.engine.jobs() == []

    with_rig(scripted_host, body)


def test_the_service_remembers_a_bounded_number_of_jobs(
    scripted_host: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "JOBS_MAX", 3)

    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1=WAIT)
        first = await rig.submit(rig.plan())
        task = await rig.running(first)
        waiting = [await rig.submit(rig.plan()) for _ in range(4)]
        assert [r.job for r in rig.engine.jobs()] == [waiting[3], waiting[2], first], "the oldest waiting ones went"
        rig.engine.cancel(first)
        await task
        last = await rig.submit(rig.plan())
        assert [r.job for r in rig.engine.jobs()] == [last, waiting[3], waiting[2]], "one that has ended goes first"

    with_rig(scripted_host, body)


def test_jobs_that_have_ended_are_soon_known_from_disk_only(
    scripted_host: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "ENDED_MAX", 2)

    async def body(rig: Rig) -> None:
        ran = []
        for _ in range(4):
            ran.append(await rig.submit(rig.plan()))
            async for _ in rig.engine.execute(ran[-1]):
                pass
        waiting = await rig.submit(rig.plan())
        assert [r.job for r in rig.engine.jobs()] == [waiting, ran[3], ran[2]]
        assert [rig.engine.describe(job).state for job in ran] == ["done"] * 4
        assert isinstance(await rig.fails(ran[0]), errors.NotFound)

    with_rig(scripted_host, body)


def test_closing_the_service_ends_running_jobs(scripted_host: Path, watch: Watch) -> None:
    async def body(rig: Rig) -> None:
        rig.lifecycle.script("i0", stage1={"do": "hang"})
        task = await rig.running(await rig.submit(rig.plan()))
        await rig.engine.close()
        assert isinstance(await task, errors.Cancelled)
        assert watch.processes() == []

    with_rig(scripted_host, body)
