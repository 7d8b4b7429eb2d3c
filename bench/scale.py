"""Measures many hosts and cores: what jobs over a thousand hosts cost the service, the simulator's error, and the cache
lines that threads take from each other."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import _every_device, _lines, _switch_trees
from bench._control import Network
from bench._measure import Figure, counted, remark, report
from bench._simulated import simulator_error
from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.dataflow.operators import Operator
from jumpgate.nca.interface import Device, JobContext, JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.orchestrator.job import Job
from jumpgate.service.admission import demand_of
from jumpgate.service.collector import collect_seldom
from jumpgate.service.engine import _record
from jumpgate.study.paper.network import permitted
from tests.support.plans import ROWS, query3, query65, statistics

CORES = 16
MEMORY_BYTES = 64 << 30
#: of each host below a tree of switches
TREE_ROWS = 50_000
#: rows of the tables beside those at scale 1
SCALE = 1000.0
ENDPOINT = "10.0.0.1:7411"


@dataclass
class Spent:
    """Seconds of a core of the service, for one job."""

    instances: int
    stages: int
    plan: float = 0.0
    start: float = 0.0
    rest: float = 0.0
    messages: int = 0
    sent_bytes: int = 0

    @property
    def until_started(self) -> float:
        return self.plan + self.start


def devices(count: int) -> tuple[Device, ...]:
    where = (("data_address", "10.0.0.1"), ("data_bind", "10.0.0.1"))
    return tuple(Device(f"host{i}", "host", CORES, MEMORY_BYTES, where, "hosts") for i in range(count))


def planned(flow: Operator, hosts: tuple[Device, ...]) -> JobPlan:
    known = statistics({name: rows * SCALE for name, rows in ROWS.items()})
    return compile_dataflow(flow, hosts, default_registry(), CompileOptions(endpoints=(ENDPOINT,), statistics=known))


class Service:
    """A service's work for jobs over connected hosts that answer at once."""

    def __init__(self, count: int) -> None:
        self._hosts = devices(count)
        self._network = Network()
        self._lent = {device.name: self._network.host(device) for device in self._hosts}

    async def job(self, flow: Operator) -> Spent:
        """Plans a job, starts it, and takes it down."""
        network = self._network
        messages, sent_bytes = network.messages, network.sent_bytes
        began = network.service_s()
        plan = planned(flow, self._hosts)
        record = _record("job", plan, time.time_ns(), "")
        demand_of(plan)
        spent = Spent(len(plan.instances), plan.stages, plan=network.service_s() - began)
        context = JobContext("job", "secret", plan, {i.device.name: self._lent[i.device.name] for i in plan.instances})
        running = Job(context, default_registry().lifecycle, record)
        await running.compile()
        await running.run(lambda _: None)
        spent.start = network.told_s - began - spent.plan
        spent.rest = network.service_s() - began - spent.until_started
        spent.messages, spent.sent_bytes = network.messages - messages, network.sent_bytes - sent_bytes
        return spent

    async def close(self) -> None:
        for agent in self._lent.values():
            await agent.close()


async def jobs(flow: Operator, hosts: int, count: int) -> list[Spent]:
    """One after the other, by one service."""
    collect_seldom()
    service = Service(hosts)
    found = [await service.job(flow) for _ in counted(range(count), "jobs")]
    await service.close()
    return found


FLOWS: dict[str, Callable[[], Operator]] = {"Q3": query3, "Q65": query65}


def planner_linear() -> Figure:
    """CPU seconds of planning over 1,000 hosts ÷ ten times those over 100."""
    seconds = {}
    for count in (100, 1000):
        hosts = devices(count)
        planned(query3(), hosts)
        began = time.process_time()
        for _ in range(3):
            planned(query3(), hosts)
        seconds[count] = (time.process_time() - began) / 3
        remark(f"Q3 over {count} hosts: planned in {1000 * seconds[count]:.0f} ms")
    return Figure("planner_linear", seconds[1000] / (10 * seconds[100]), 1.2, "lower", "per host, beside 100 hosts")


def control_plane_s(hosts: int, count: int) -> Figure:
    """Measure the CPU seconds until `count` jobs are planned and all their instances have been started."""
    for name, flow in FLOWS.items():
        asyncio.run(jobs(flow(), 2, 1))  # lowered and imported
        for which, spent in zip(("first", "second"), asyncio.run(jobs(flow(), hosts, 2)), strict=True):
            remark(
                f"{name}, the {which} job over {hosts} hosts, {spent.instances} instances: {1000 * spent.plan:.0f} ms "
                f"to plan, {1000 * spent.start:.0f} ms to start, {1000 * spent.rest:.0f} ms until it is taken down; "
                f"{spent.messages} messages, {spent.sent_bytes / 1e6:.1f} MB"
            )
    total = sum(spent.until_started for spent in asyncio.run(jobs(query3(), hosts, count)))
    return Figure("control_plane_s", total, 10.0, "lower", f"{count} jobs over {hosts} hosts planned and started")


def tree_simulator_error() -> Figure:
    """Measure the worst relative error of simulated trees of switches: bytes on the links of racks, and times."""
    errors = [*_switch_trees.errors(_switch_trees.counted(TREE_ROWS, is_slow=True))]
    for name, error in errors:
        remark(f"{name}: {error:+.0%}")
    hosts = _switch_trees.RACKS * _switch_trees.HOSTS
    words = f"bytes and seconds with one switch and with {_switch_trees.RACKS} + 1, {hosts} hosts of {TREE_ROWS:,} rows"
    worst = max(abs(error) for _, error in errors)
    return Figure(
        "tree_simulator_error",
        worst,
        0.25,
        "lower",
        f"{words}, links of {_switch_trees.SLOW}, of racks {_switch_trees.SLOW_RACK}",
    )


def every_device(runs: int, scale: float, queries: Sequence[int]) -> Iterator[Figure]:
    """Measure plans over hosts, a store, switches and a card, in network namespaces."""
    data = Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")).absolute()
    yield from _every_device.figures([*_every_device.points(data, runs, scale, queries)], scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", action="append", metavar="FIGURE")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5, help="of each plan of chosen_vs_best")
    parser.add_argument("--scale", type=float, default=0.2, help="of the tables of chosen_vs_best")
    parser.add_argument("--query", action="append", type=int, help="of chosen_vs_best; absent: all")
    options = parser.parse_args()
    if not options.only or "simulator_error" in options.only:
        report(simulator_error(), options.json)
    if "tree_simulator_error" in options.only if options.only else permitted():
        report(tree_simulator_error(), options.json)
    if not options.only or "planner_linear" in options.only:
        report(planner_linear(), options.json)
    if not options.only or "control_plane_s" in options.only:
        report(control_plane_s(options.hosts, options.jobs), options.json)
    if not options.only or _lines.FIGURE in options.only:
        data = Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")).absolute()
        report(_lines.figure(data / "tpch-sf1"), options.json)
    if "chosen_vs_best" in options.only if options.only else permitted():
        for figure in every_device(options.runs, options.scale, options.query or _every_device.QUERIES):
            report(figure, options.json)


if __name__ == "__main__":
    main()
