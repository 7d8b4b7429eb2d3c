"""What a service does for a job grows with the job's instances, not with their square."""

from __future__ import annotations

import asyncio
import time

from bench.scale import devices, job, planned
from jumpgate.nca.interface import InstancePlan
from jumpgate.orchestrator.failures import on_all
from tests.support.plans import query3


def test_planning_takes_as_long_for_each_host() -> None:
    def seconds(count: int) -> float:
        hosts = devices(count)
        planned(query3(), hosts)
        began = time.process_time()
        planned(query3(), hosts)
        return time.process_time() - began

    few, many = seconds(200), seconds(1600)
    assert many < 16 * few, f"8 times the hosts took {many / few:.1f} times as long"


def test_waiting_for_instances_takes_as_long_for_each() -> None:
    """However they end: here one after the other, the last first."""

    def seconds(count: int) -> float:
        instances = planned(query3(), devices(count // 4)).instances[:count]
        turns = {i.id: number for number, i in enumerate(reversed(instances))}
        ends = [asyncio.Event() for _ in instances]
        ends[0].set()

        async def verb(i: InstancePlan) -> None:
            await ends[turns[i.id]].wait()
            if turns[i.id] + 1 < count:
                ends[turns[i.id] + 1].set()

        began = time.process_time()
        asyncio.run(on_all(instances, "allocate", verb))
        return time.process_time() - began

    few, many = seconds(200), seconds(4000)
    assert many < 60 * few, f"20 times the instances took {many / few:.1f} times as long"


def test_a_job_over_two_hundred_hosts_is_run_to_its_end() -> None:
    spent = asyncio.run(job(query3(), 200))
    assert spent.instances == 801 and spent.start > 0
    assert spent.messages >= 4 * spent.instances
