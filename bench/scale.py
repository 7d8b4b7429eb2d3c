"""Many hosts: what planning and starting jobs over a thousand costs the service, and how far the simulator is off."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench._control import Network
from bench._measure import Figure, counted, remark, report
from bench._simulated import simulator_error
from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.dataflow.operators import Operator
from jumpgate.nca.interface import Device, JobContext, JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.orchestrator.job import Event, Job
from jumpgate.service.admission import demand_of
from jumpgate.service.engine import _record
from tests.support.plans import ROWS, query3, query65, statistics

CORES = 16
MEMORY_BYTES = 64 << 30
#: rows of the tables beside those at scale 1
SCALE = 1000.0
ENDPOINT = "10.0.0.1:7411"


@dataclass
class Spent:
    """Seconds of a core of the service, for one job."""

    instances: int
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


async def job(flow: Operator, count: int) -> Spent:
    """Plans a job, starts it on hosts that answer at once, and takes it down."""
    hosts = devices(count)
    network = Network()
    lent = {device.name: network.host(device) for device in hosts}
    began = time.process_time()
    plan = planned(flow, hosts)
    record = _record("job", plan, time.time_ns(), "")
    demand_of(plan)
    spent = Spent(len(plan.instances), plan=time.process_time() - began)
    context = JobContext("job", "secret", plan, {i.device.name: lent[i.device.name] for i in plan.instances})
    running = Job(context, default_registry().lifecycle, record)

    def heard(event: Event) -> None:
        if not spent.start and (event.stage > 1 or event.state == "done"):  # the first stage is over at once
            spent.start = time.process_time() - began - spent.plan

    await running.compile()
    await running.run(heard)
    spent.rest = time.process_time() - began - spent.until_started
    spent.messages, spent.sent_bytes = network.messages, network.sent_bytes
    for agent in lent.values():
        await agent.close()
    return spent


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


def control_plane_s(hosts: int, jobs: int) -> Figure:
    """CPU seconds until so many jobs are planned and all their instances are told to run."""
    total = 0.0
    for name, flow in FLOWS.items():
        asyncio.run(job(flow(), 2))  # lowered and imported
        spent = asyncio.run(job(flow(), hosts))
        remark(
            f"{name} over {hosts} hosts, {spent.instances} instances: {1000 * spent.plan:.0f} ms to plan, "
            f"{1000 * spent.start:.0f} ms to start, {1000 * spent.rest:.0f} ms until it is taken down; "
            f"{spent.messages} messages, {spent.sent_bytes / 1e6:.1f} MB"
        )
    for _ in counted(range(jobs), "jobs"):
        total += asyncio.run(job(query3(), hosts)).until_started
    return Figure("control_plane_s", total, 10.0, "lower", f"{jobs} jobs over {hosts} hosts planned and started")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", action="append", metavar="FIGURE")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=100)
    options = parser.parse_args()
    if not options.only or "simulator_error" in options.only:
        report(simulator_error(), options.json)
    if not options.only or "planner_linear" in options.only:
        report(planner_linear(), options.json)
    if not options.only or "control_plane_s" in options.only:
        report(control_plane_s(options.hosts, options.jobs), options.json)


if __name__ == "__main__":
    main()
