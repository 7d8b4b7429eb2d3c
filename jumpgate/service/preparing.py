"""Finds what delays a job's start: hosts that are not reached, and programs that are not built.

A client that could do the same by itself asks how long that takes, and lets the service do it meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable, Iterator

from jumpgate.codegen import toolchain
from jumpgate.errors import BuildError, JumpgateError
from jumpgate.nca.interface import BuildsAhead, InstancePlan, JobPlan, LifeCycle
from jumpgate.service.agents import BUILDING_S, Agents

#: seconds for an agent to start, and for it to build the runtime library
AGENT_S, RUNTIME_S = 0.2, 30.0
#: plans that are prepared at the same time; others are not, as somebody who asks for so many can wait
PLANS_MAX = 16


class Preparing:
    """The preparations of one service; `close` ends them."""

    def __init__(self, agents: Agents, lifecycle: Callable[[str], LifeCycle]) -> None:
        self._agents, self._lifecycle = agents, lifecycle
        self._begun: set[asyncio.Task[None]] = set()

    async def reach_s(self, plan: JobPlan) -> float:
        """As estimated, until the plan's hosts are reached."""
        return max(await asyncio.gather(*map(self._reach_s, {i.device.name for i in plan.instances})))

    async def waits_for_runtime(self, plan: JobPlan) -> bool:
        """Return whether a host of the plan has to build the runtime library first."""
        return await self.reach_s(plan) >= RUNTIME_S

    async def build_s(self, plan: JobPlan) -> float:
        """As estimated, until the plan's programs are built."""
        build_s: dict[str, list[float]] = defaultdict(list)
        for instance, lifecycle in self._programs(plan):
            has = functools.partial(self._agents.has_artifact, instance.device.name)
            build_s[instance.device.name].append(await lifecycle.build_seconds(instance, has))
        cores = {i.device.name: i.device.cores for i in plan.instances}
        each = (max(max(of), sum(of) / max(1, cores[name])) for name, of in build_s.items())
        return max(each, default=0.0)

    def begin(self, plan: JobPlan) -> None:
        """Reaches the plan's hosts, and has its programs built when these have nothing else to do. A job hears of what
        fails."""
        if len(self._begun) < PLANS_MAX:
            task = asyncio.create_task(self._prepare(plan))
            self._begun.add(task)
            task.add_done_callback(self._begun.discard)

    async def close(self) -> None:
        begun = list(self._begun)
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)

    async def _prepare(self, plan: JobPlan) -> None:
        with contextlib.suppress(JumpgateError):
            hosts = await self._agents.lend({i.device.name for i in plan.instances}, [])
            while await self._agents.building(hosts):  # a program that waited for it would begin it anew when that ends
                await asyncio.sleep(BUILDING_S)
            for instance, lifecycle in self._programs(plan):
                lifecycle.build_later(instance, hosts[instance.device.name])

    async def _reach_s(self, host: str) -> float:
        if not any(device.name == host for device in self._agents.devices):
            return 0.0  # it has no agent
        if self._agents.is_reached(host):
            return RUNTIME_S if await self._agents.building({host}) else 0.0
        return AGENT_S if await asyncio.to_thread(_has_runtime) else RUNTIME_S

    def _programs(self, plan: JobPlan) -> Iterator[tuple[InstancePlan, BuildsAhead]]:
        """One instance of each program of a host, with who builds it."""
        seen = set()
        for instance in plan.instances:
            lifecycle = self._lifecycle(instance.nca)
            key = instance.device.name, id(instance.root)
            if isinstance(lifecycle, BuildsAhead) and key not in seen:
                seen.add(key)
                yield instance, lifecycle


def _has_runtime() -> bool:
    """Here; other hosts are taken to be as far."""
    with contextlib.suppress(BuildError):
        return toolchain.is_built()
    return False
