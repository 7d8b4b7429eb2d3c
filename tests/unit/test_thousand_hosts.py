"""What a service does for a job grows with the job's instances, not with their square."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from bench.scale import devices, jobs, planned
from jumpgate.nca.interface import InstancePlan, JobContext
from jumpgate.ncas.runtime.configuration import ASKED_MAX, _asked
from jumpgate.orchestrator.failures import on_all
from tests.support.plans import query3


def calls_of(function: Callable[[], object]) -> int:
    """How many functions it calls, those of C included: what it does, whatever else the machine does."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_planning_does_as_much_for_each_host() -> None:
    def calls(count: int) -> int:
        hosts = devices(count)
        planned(query3(), hosts)
        return calls_of(lambda: planned(query3(), hosts))

    few, many = calls(100), calls(800)
    assert many < 12 * few, f"8 times the hosts took {many / few:.1f} times as many calls"


def test_waiting_for_instances_does_as_much_for_each() -> None:
    """However they end: here one after the other, the last first."""

    def calls(count: int) -> int:
        instances = planned(query3(), devices(count // 4)).instances[:count]
        turns = {i.id: number for number, i in enumerate(reversed(instances))}
        ends = [asyncio.Event() for _ in instances]
        ends[0].set()

        async def verb(i: InstancePlan) -> None:
            await ends[turns[i.id]].wait()
            if turns[i.id] + 1 < count:
                ends[turns[i.id] + 1].set()

        return calls_of(lambda: asyncio.run(on_all([(i, verb(i)) for i in instances], "allocate")))

    few, many = calls(100), calls(2000)
    assert many < 30 * few, f"20 times the instances took {many / few:.1f} times as many calls"


def test_a_job_over_two_hundred_hosts_is_run_to_its_end() -> None:
    first, second = asyncio.run(jobs(query3(), 200, 2))
    assert first.instances == second.instances == 801
    assert second.start > 0
    assert first.messages == 801 + second.messages, "whether a host has the programs is asked once"
    assert second.messages == 200 * (2 + second.stages), "start, begin, each later stage, release"


def test_an_instance_is_told_of_the_siblings_that_it_may_ask_for_shares_alone() -> None:
    """The runtime takes them for those after it, in a ring (edges/scan_shares.cpp)."""
    plan = planned(query3(), devices(40))
    siblings = max(plan.siblings.values(), key=len)
    assert len(siblings) == 40
    context = JobContext("job", "secret", plan, {}, addresses={i.id: f"address of {i.id}" for i in siblings})
    for index in (0, 30, 39):
        asked = [siblings[(index + 1 + n) % 40] for n in range(ASKED_MAX)]
        assert _asked(siblings, index, context) == [f"address of {i.id}" for i in asked]
    assert _asked(siblings[:2], 1, context) == [f"address of {siblings[0].id}"]
