"""Jobs of real accelerators that are broken off while their tuples flow: one clear error, and nothing left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from jumpgate.client import col, count, read
from jumpgate.client.session import Session
from jumpgate.codegen import toolchain
from jumpgate.dataflow.builder import Dataflow
from jumpgate.errors import Cancelled, InstanceFailed, TimedOut
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.service import embedded
from jumpgate.testing.leaks import Watch, nothing_left, wait_until

#: more than all buffers between an instance and a client that does not read
ROWS = 400_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Dataflow:
    folder = tmp_path_factory.mktemp("table")
    with (folder / "t.json").open("w") as file:
        file.writelines(f'{{"k": {n}, "s": "{"x" * 100}{n}"}}\n' for n in range(ROWS))
    return read(str(folder / "t.json"), schema={"k": "int64", "s": "string"})


class Rig:
    """A service with real agents, and a session with it."""

    def __init__(self, watch: Watch, config: Config) -> None:
        self.watch = watch
        self.service = embedded.start(config)
        self.session = Session(self.service.address)

    def close(self) -> None:
        self.session.close()
        self.service.close()

    def flowing(self, dataflow: Dataflow) -> tuple[Iterator[object], str]:
        """Batches of a job whose first has arrived and whose last cannot have been sent, and the job's id."""
        result = self.session.run(dataflow)
        batches = iter(result)
        next(batches)
        return batches, result.job

    def ended(self, job: str) -> bool:
        """Whether the job was taken down."""
        engine = self.service.engine
        return bool(engine.describe(job).ended_ns) and not self.watch.processes("jg ")


@pytest.fixture(params=[1, 2, 4])
def rig(grpc_is_up: None, request: pytest.FixtureRequest) -> Iterator[Rig]:
    toolchain.runtime()  # the agents find it built
    with nothing_left() as watch:
        made = Rig(watch, local_hosts(request.param))
        yield made
        made.close()


def dataflows(table: Dataflow) -> list[Dataflow]:
    """One that ends in its first stage, and one that ends in its second."""
    build = table.filter(col("k") < 1000).select("k").aggregate(by=["k"])
    return [table, table.join(build, on="k", how="left")]


@pytest.mark.parametrize("stages", [1, 2])
def test_a_killed_instance_is_named(rig: Rig, table: Dataflow, stages: int) -> None:
    batches, job = rig.flowing(dataflows(table)[stages - 1])
    plan = rig.service.engine.job(job).context.plan
    assert plan.stages == stages
    assert wait_until(lambda: rig.service.engine.describe(job).phases[-1].name == f"stage {stages}")
    victim = plan.edge(plan.result).producers[-1]  # one that works in the last stage
    os.kill(next(p.pid for p in rig.watch.processes("jg ") if p.name == f"jg {victim}"), signal.SIGKILL)
    with pytest.raises(InstanceFailed, match="was killed by SIGKILL") as raised:
        list(batches)
    assert raised.value.fields["instance"] == victim
    assert raised.value.fields["stage"] == str(stages)
    assert wait_until(lambda: rig.ended(job))
    assert rig.session.run(table.limit(3)).to_arrow().num_rows == 3, "the service goes on"


def test_a_client_that_goes_away_ends_the_job(rig: Rig, table: Dataflow) -> None:
    result = rig.session.run(table)
    batches = iter(result)
    next(batches)
    result.cancel()
    with pytest.raises(Cancelled):
        list(batches)
    assert wait_until(lambda: rig.ended(result.job))


def test_a_client_that_closes_its_edge_and_then_cancels_has_cancelled(rig: Rig, table: Dataflow) -> None:
    result = rig.session.run(table)
    batches = iter(result)
    next(batches)
    result._stream.close()
    time.sleep(0.5)  # by then the instance has failed
    result.cancel()
    assert wait_until(lambda: rig.ended(result.job))
    assert rig.session.describe(result.job).state == "cancelled"


def test_cancel_by_id(rig: Rig, table: Dataflow) -> None:
    batches, job = rig.flowing(table)
    rig.session.cancel(job)
    with pytest.raises(Cancelled, match=job):
        list(batches)
    assert wait_until(lambda: rig.ended(job))


def test_jobs_side_by_side(rig: Rig, table: Dataflow) -> None:
    broken, job = rig.flowing(table)
    whole = rig.session.run(table.aggregate(by=[], n=count()))
    rig.session.cancel(job)
    with pytest.raises(Cancelled):
        list(broken)
    assert whole.to_pylist() == [{"n": ROWS}]


@pytest.fixture
def impatient(grpc_is_up: None) -> Iterator[Rig]:
    """A service that fails a stalled job within a second."""
    toolchain.runtime()
    with nothing_left() as watch:
        made = Rig(watch, replace(local_hosts(2), service={"stall_timeout_ms": 400}))
        yield made
        made.close()


def test_a_client_may_begin_when_the_job_is_done(impatient: Rig, table: Dataflow) -> None:
    result = impatient.session.run(table.limit(7))
    assert wait_until(lambda: impatient.service.engine.describe(result.job).state == "done")
    assert result.to_arrow().num_rows == 7


def test_a_client_that_reads_slowly_is_no_stall(impatient: Rig, table: Dataflow) -> None:
    result = impatient.session.run(table)
    batches = iter(result)
    rows = next(batches).num_rows
    before = len(result.events)
    assert wait_until(lambda: len(result.events) > before + 20), "more looks than three stalls take"
    assert rows + sum(batch.num_rows for batch in batches) == ROWS


def test_a_stopped_instance_is_found(impatient: Rig, table: Dataflow) -> None:
    batches, job = impatient.flowing(table)
    assert wait_until(lambda: impatient.service.engine.describe(job).phases[-1].name == "stage 1")
    plan = impatient.service.engine.job(job).context.plan
    (victim,) = (p for p in impatient.watch.processes("jg ") if p.name == f"jg {plan.edge(plan.result).producers[0]}")
    os.kill(victim.pid, signal.SIGSTOP)
    with pytest.raises(TimedOut, match=f"no answer for 0.4 s from {victim.name.removeprefix('jg ')}"):
        list(batches)
    assert wait_until(lambda: impatient.ended(job))
