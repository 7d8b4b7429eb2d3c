"""Watches a running stage: reports the instances' counters, and fails a stage whose counters stand still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from jumpgate.errors import JumpgateError, TimedOut
from jumpgate.nca.interface import InstancePlan

#: between two looks at the counters
INTERVAL_S = 1.0

Counters = dict[str, Any]


async def watch(
    job: str, stage: int, running: Callable[[], tuple[InstancePlan, ...]],
    stats: Callable[[InstancePlan], Awaitable[Counters]], stall_s: float, report: Callable[[dict[str, Counters]], None],
) -> None:
    """Runs until it is cancelled. Raises TimedOut when no counter of any running instance moved for `stall_s`.

    `running` says whose stage has not ended; `report` gets what they answered, by instance id.
    """
    interval_s = min(INTERVAL_S, stall_s / 4)
    last: dict[str, Any] = {}
    since = time.monotonic()
    while True:
        await asyncio.sleep(interval_s)
        instances = running()
        answers = await _ask(instances, stats, interval_s)
        if answers:
            report(answers)
        now = {**last, **{id: _flow(counters) for id, counters in answers.items()}}
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > stall_s:
            raise _stalled(job, stage, instances, set(answers), stall_s)


async def _ask(instances: tuple[InstancePlan, ...], stats: Callable[[InstancePlan], Awaitable[Counters]],
               timeout_s: float) -> dict[str, Counters]:
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


def _flow(counters: Counters) -> list[Any]:
    """What grows as long as tuples move."""
    flows = [(f.get("rows"), f.get("bytes")) for kind in ("sources", "sinks") for f in counters.get(kind, ())]
    return [flows, [p.get("rows_in") for p in counters.get("pipelines", ())]]


def _stalled(job: str, stage: int, instances: tuple[InstancePlan, ...], answered: set[str], stall_s: float) -> TimedOut:
    silent = [i for i in instances if i.id not in answered]
    names = ", ".join(f"{i.id} on host '{i.device.name}'" for i in silent or instances)
    what = "no answer from" if silent else "waiting for each other, or for a client that does not take its result:"
    suspect = next(iter(silent or instances), None)
    return TimedOut(
        f"job {job} stalled: in stage {stage} no counter moved for {stall_s:g} s; {what} {names}", job=job, stage=stage,
        instance=suspect and suspect.id, host=suspect and suspect.device.name)
