"""An accelerator whose instances follow a test's script: for each verb, whether it succeeds, fails, waits or dies.

Its instances are real processes of tests/integration/scripted_instance.cpp, started by real agents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jumpgate import errors
from jumpgate.dataflow.operators import Emit, Partitioning, Read
from jumpgate.dataflow.types import Schema, int32
from jumpgate.nca.interface import Device, Edge, Host, InstanceHandle, InstancePlan, JobContext, JobPlan
from jumpgate.ntf.descriptor import Descriptor

#: see scripted_instance.cpp; for compile and destroy: "fail" or "wait"
Step = Mapping[str, Any]
SCHEMA = Schema.of(x=int32)
READ = Read(("/nowhere.json",), "json", SCHEMA, (0,))


def fail(code: str, message: str = "as the test said", after_ms: int = 0) -> Step:
    return {"do": "fail", "code": code, "message": message, "after_ms": after_ms}


def plan(devices: Sequence[Device], stages: int = 1) -> JobPlan:
    """One scripted instance a device, i0, i1, …; all work in every stage."""
    instances = tuple(
        InstancePlan(f"i{n}", f"f{n}", "scripted", device, Emit(READ, "e0", Partitioning()), stage=stages, output="e0")
        for n, device in enumerate(devices)
    )
    edge = Edge(
        "e0",
        Descriptor.of(SCHEMA, "columnar"),
        Partitioning(),
        tuple(i.id for i in instances),
        endpoints=("127.0.0.1:9",),
    )
    return JobPlan(instances, (edge,), stages, "e0")


@dataclass
class ScriptedLifecycle:
    """`scripts`: instance id → verb (compile, allocate, configure, destroy, or a stage's number) → step."""

    scripts: dict[str, dict[str, Step]] = field(default_factory=dict)
    handles: dict[str, Any] = field(default_factory=dict)
    #: instance id and verb, in the order of their calls
    calls: list[tuple[str, str]] = field(default_factory=list)

    def script(self, instance: str, **steps: Step) -> None:
        """Steps by verb; stages as stage1=…, stage2=…"""
        self.scripts[instance] = {verb.removeprefix("stage"): step for verb, step in steps.items()}

    def pid(self, instance: str) -> int:
        return int(self.handles[instance].pid)

    async def compile(self, instance: InstancePlan, host: Host) -> str:
        await self._here(instance.id, "compile")
        return "artifact"

    async def allocate(self, instance: InstancePlan, context: JobContext) -> InstanceHandle:
        self.calls.append((instance.id, "allocate"))
        handle = await context.hosts[instance.device.name].spawn(context.job, instance.id)
        self.handles[instance.id] = handle
        await handle.call("allocate", script=self._step(instance.id, "allocate"))
        return handle

    async def configure(self, handle: Any, instance: InstancePlan, artifact: Any, context: JobContext) -> None:
        self.calls.append((instance.id, "configure"))
        stages = {verb: step for verb, step in self.scripts.get(instance.id, {}).items() if verb.isdigit()}
        await handle.call("configure", script=self._step(instance.id, "configure"), stages=stages)

    async def execute(self, handle: Any, stage: int) -> dict[str, Any]:
        self.calls.append((handle.id, f"stage {stage}"))
        counters: dict[str, Any] = await handle.call("execute", stage=stage)
        return counters

    async def stats(self, handle: Any) -> dict[str, Any]:
        counters: dict[str, Any] = await handle.call("stats")
        return counters

    async def destroy(self, handle: Any) -> None:
        await self._here(handle.id, "destroy")
        await handle.call("destroy")

    def _step(self, instance: str, verb: str) -> Step:
        return self.scripts.get(instance, {}).get(verb, {"do": "nothing"})

    async def _here(self, instance: str, verb: str) -> None:
        self.calls.append((instance, verb))
        step = self._step(instance, verb)
        if step["do"] == "fail":
            raise errors.from_dict(dict(step))
        if step["do"] == "wait":
            await asyncio.Event().wait()
