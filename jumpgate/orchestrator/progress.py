"""Watches a running stage: reports the instances' counters, and fails a stage that stalls.

An instance works while it moves rows or bytes, or burns CPU time. A stage stalls when none of its instances works,
though no client holds them up, or when one of them does not even answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from jumpgate.errors import JumpgateError, TimedOut
from jumpgate.nca.interface import InstancePlan

#: between two looks at the counters: so long at least, and so long for each instance, as asking one takes the service
#: some 0.1 ms
INTERVAL_S, EACH_S = 1.0, 1e-3
#: of a core: who burns less only wakes up now and then to see that there is nothing to do
WORKING_SHARE = 0.01
#: of the time between two looks: who waits for its client so long does little else
WAITING_SHARE = 0.5

Counters = dict[str, Any]


async def watch(
    job: str,
    stage: Callable[[], int],
    result: str,
    running: Callable[[], tuple[InstancePlan, ...]],
    stats: Callable[[InstancePlan], Awaitable[Counters]],
    stall_s: float,
    report: Callable[[dict[str, Counters], bool], None],
) -> None:
    """Runs until it is cancelled. Raises TimedOut when the stage has stalled for `stall_s`.

    stage: the one that runs. result: the edge to the client; an instance that waits for room on it waits for the
    client, which may take as long as it likes. `running` says whose stage has not ended; `report` gets what they
    answered, by instance id, and whether they do more than wait for the client.
    """
    interval_s = min(max(INTERVAL_S, EACH_S * len(running())), stall_s / 4)
    last: dict[str, Counters] = {}
    began = moved = time.monotonic()
    answered: dict[str, float] = {}
    left: tuple[InstancePlan, ...] = ()
    while True:
        await asyncio.sleep(interval_s)
        before, left = left, running()
        answers = await _ask(left, stats, interval_s)
        if answers:
            report(answers, not _only_waits_for_client(last, answers, result, interval_s))
        now = time.monotonic()
        answered.update(dict.fromkeys(answers, now))
        if left != before or any(_goes_on(last.get(i, {}), c, result, interval_s) for i, c in answers.items()):
            moved = now
        last.update(answers)
        silent = [i for i in left if now - answered.get(i.id, began) > stall_s]
        if silent:
            raise _stalled(job, stage(), silent, f"no answer for {stall_s:g} s from")
        if left and now - moved > stall_s:
            what = f"no rows moved and nobody worked for {stall_s:g} s. Waiting for each other:"
            raise _stalled(job, stage(), left, what)


async def _ask(
    instances: tuple[InstancePlan, ...], stats: Callable[[InstancePlan], Awaitable[Counters]], timeout_s: float
) -> dict[str, Counters]:
    """The counters of those that answer in time; what is wrong with the others, execute reports."""
    tasks = {i.id: asyncio.ensure_future(stats(i)) for i in instances}
    if not tasks:
        return {}
    try:
        await asyncio.wait(tasks.values(), timeout=timeout_s)
    finally:
        for task in tasks.values():
            task.cancel()
    answers = {}
    for id, task in tasks.items():
        if task.done() and not task.cancelled():
            try:
                answers[id] = task.result()
            except JumpgateError:
                continue
    return answers


def _goes_on(before: Counters, now: Counters, result: str, seconds: float) -> bool:
    """Return whether the instance worked between two looks, or the client held it up."""
    worked_ns = now.get("cpu_ns", 0) - before.get("cpu_ns", 0)
    return (
        _flow(now) != _flow(before)
        or worked_ns > WORKING_SHARE * seconds * 1e9
        or _waited_for_client_ns(now, result) > _waited_for_client_ns(before, result)
    )


def _only_waits_for_client(before: dict[str, Counters], now: dict[str, Counters], result: str, seconds: float) -> bool:
    """Return whether nobody worked between two looks, and somebody was held up by the client all the while."""
    pairs = [(before.get(i, {}), counters) for i, counters in now.items()]
    waited_ns = max(_waited_for_client_ns(n, result) - _waited_for_client_ns(b, result) for b, n in pairs)
    worked_ns = sum(n.get("cpu_ns", 0) - b.get("cpu_ns", 0) for b, n in pairs)
    return waited_ns > WAITING_SHARE * seconds * 1e9 and worked_ns < WORKING_SHARE * seconds * 1e9


def _flow(counters: Counters) -> list[Any]:
    """Return the counters that grow as long as tuples move."""
    flows = [(f.get("rows"), f.get("bytes")) for kind in ("sources", "sinks") for f in counters.get(kind, ())]
    return [flows, [p.get("rows_in") for p in counters.get("pipelines", ())]]


def _waited_for_client_ns(counters: Counters, result: str) -> int:
    return sum(s.get("wait_ns", 0) for s in counters.get("sinks", ()) if s.get("edge") == result)


def _stalled(job: str, stage: int, stuck: Sequence[InstancePlan], what: str) -> TimedOut:
    names = ", ".join(f"{i.id} on host '{i.device.name}'" for i in stuck)
    return TimedOut(
        f"job {job} stalled in stage {stage}: {what} {names}",
        job=job,
        stage=stage,
        instance=stuck[0].id,
        host=stuck[0].device.name,
    )
