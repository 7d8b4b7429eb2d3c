"""The life-cycle broken off after every verb: whatever has happened, destroy (twice) must end it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from jumpgate.errors import JumpgateError
from jumpgate.nca.interface import Host, InstancePlan, JobContext, JobPlan, LifeCycle

#: after which verb the job is given up; `execute` is given up while it runs
VERBS = ("compile", "allocate", "configure", "execute")
#: how long any verb may take
LIMIT_S = 60.0


async def break_off(
    lifecycle: LifeCycle, plan: JobPlan, nca: str, last: str, hosts: Mapping[str, Host]
) -> list[str]:
    """Drives the accelerator's instances of `plan` up to the verb `last`, then destroys them. Returns what went wrong.

    Only this accelerator's instances run, so a stage cannot end: their neighbours are missing, as after a failure.
    """
    mine = [i for i in plan.instances if i.nca == nca]
    context = JobContext("conformance", "0" * 32, plan, dict(hosts))
    context.addresses.update({i.id: "127.0.0.1:9" for i in plan.instances})  # the discard port: nobody answers
    problems: list[str] = []
    for instance in mine:
        async with asyncio.timeout(LIMIT_S):
            problems += await _one(lifecycle, instance, last, context)
    return problems


async def _one(lifecycle: LifeCycle, instance: InstancePlan, last: str, context: JobContext) -> list[str]:
    host = context.hosts[instance.device.name]
    problems: list[str] = []
    artifact = await lifecycle.compile(instance, host)
    if await lifecycle.compile(instance, host) != artifact:
        problems.append("compile gives another artifact the second time")
    if last == "compile":
        return problems
    handle = await lifecycle.allocate(instance, context)
    running: asyncio.Task[Any] | None = None
    try:
        if last != "allocate":
            await lifecycle.configure(handle, instance, artifact, context)
        if last == "execute":
            running = asyncio.ensure_future(lifecycle.execute(handle, 1))
            await asyncio.sleep(0)
    finally:
        for time in ("first", "second"):
            try:
                await lifecycle.destroy(handle)
            except Exception as error:  # whatever it raises, it must not
                problems.append(f"destroy raises {type(error).__name__} the {time} time: {error}")
    if running is not None:
        problems += await _ended(running)
    return problems


async def _ended(running: asyncio.Task[Any]) -> list[str]:
    """An execute whose instance was destroyed must come back: with counters, or with a typed error."""
    try:
        await running
    except JumpgateError:
        return []
    except Exception as error:
        return [f"execute raises {type(error).__name__} when destroyed, which is no JumpgateError: {error}"]
    return []
