"""Many jobs at once, half of whose clients are killed: the others get their answers, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jumpgate.client import Dataflow, col, count, read
from jumpgate.client.session import Session
from jumpgate.hosts.config import local_hosts
from jumpgate.hosts.instances import SPARES
from jumpgate.service import embedded
from jumpgate.service.embedded import Embedded
from jumpgate.testing.leaks import Watch, descriptors, nothing_left, wait_until

THREADS, JOBS_EACH = 4, 4  #: of the client that lives, and of the one that dies
#: more than all buffers between an instance and a client that does not read
ROWS = 300_000

#: begins its jobs, says so, and never reads on
DYING_CLIENT = f"""
import sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from jumpgate.client import connect, read

with connect(sys.argv[1]) as session:
    flow = read(sys.argv[2], schema={{"k": "int64", "s": "string"}})

    def begin(number):
        batches = iter(session.run(flow))
        next(batches)
        return batches

    with ThreadPoolExecutor({THREADS}) as pool:
        begun = list(pool.map(begin, range({THREADS * JOBS_EACH})))
    print("flowing", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def watch(grpc_is_up: None, own_cache: Path) -> Iterator[Watch]:
    """Its temporary files are told apart by a cache of its own."""
    with nothing_left([own_cache / "tmp", own_cache / "locks"], timeout_s=30) as watch:
        yield watch


@pytest.fixture
def service(watch: Watch) -> Iterator[Embedded]:
    started = embedded.start(local_hosts(2))
    yield started
    started.close()


def files_of(service: Embedded) -> dict[str, int]:
    """How many descriptors each agent has open."""
    return {name: len(descriptors(agent.process.pid)) for name, agent in service.engine.agents.own.items()}


def at_rest(service: Embedded, watch: Watch) -> dict[str, int]:
    """The same once every spare is there again and no instance is being taken down any more."""
    spares = SPARES * len(service.engine.agents.own)
    assert wait_until(lambda: len(watch.processes("jgspare")) == spares and not watch.processes("jg "))
    samples = []
    for _ in range(20):
        samples.append(files_of(service))
        time.sleep(0.01)
    return {name: min(sample[name] for sample in samples) for name in samples[0]}


def test_many_jobs_half_of_whose_clients_are_killed(service: Embedded, watch: Watch, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    with path.open("w") as file:
        file.writelines(f'{{"k": {n}, "s": "{"x" * 100}{n}"}}\n' for n in range(ROWS))
    table = read(str(path), schema={"k": "int64", "s": "string"})
    few = table.filter(col("k") < 1000)
    flows: list[Dataflow] = [
        few.aggregate(by=[], n=count()),
        few.select("k").join(few.select("k").aggregate(by=["k"]), on="k").aggregate(by=[], n=count()),
    ]
    with Session(service.address) as session:
        for flow in flows:
            assert session.run(flow).to_pylist() == [{"n": 1000}]
        before = at_rest(service, watch)

        def ask(number: int) -> object:
            return session.run(flows[number % len(flows)]).to_pylist()

        dying = subprocess.Popen([sys.executable, "-c", DYING_CLIENT, service.address, str(path)],
                                 stdout=subprocess.PIPE, text=True)  # fmt: skip
        with ThreadPoolExecutor(THREADS) as pool:
            answers = [pool.submit(ask, number) for number in range(THREADS * JOBS_EACH)]
            assert dying.stdout is not None and dying.stdout.readline() == "flowing\n"
            assert len({p.name for p in watch.processes("jg ")}) > 0
            os.kill(dying.pid, signal.SIGKILL)
            dying.communicate()
            answers += [pool.submit(ask, number) for number in range(THREADS)]
            assert [answer.result() for answer in answers] == [[{"n": 1000}]] * len(answers)

        assert wait_until(lambda: all(record.ended_ns for record in service.engine.jobs()), timeout_s=30)
        states = [record.state for record in service.engine.jobs()]
        assert states.count("done") == len(flows) + len(answers)
        # what is noticed first of a client's end: its call, or its socket
        assert states.count("cancelled") + states.count("failed") == THREADS * JOBS_EACH
        causes = {record.error["code"] for record in service.engine.jobs() if record.error is not None}
        assert causes <= {"cancelled", "unreachable"}
        assert wait_until(lambda: not watch.processes("jg ") and files_of(service) == before, timeout_s=10), (
            f"left: {watch.processes('jg ')}, descriptors {files_of(service)}, before {before}"
        )
        assert session.run(flows[0]).to_pylist() == [{"n": 1000}], "the service goes on"
