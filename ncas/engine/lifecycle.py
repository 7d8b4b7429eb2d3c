"""The engine's life-cycle: a worker process on the instance's host, configured with one statement."""

from __future__ import annotations

import asyncio
from typing import Any

from jumpgate.dataflow.operators import Read, Receive
from jumpgate.nca.interface import Host, InstancePlan, JobContext
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.ncas.engine import files
from jumpgate.ncas.engine.sql import statement
from jumpgate.ncas.engine.whole import Statement

#: fraction of a host's memory that the engine may use before it spills
MEMORY_SHARE = 0.25


class EngineLifecycle(WorkerLifecycle):
    module = "jumpgate.ncas.engine.worker"

    async def compile(self, instance: InstancePlan, host: Host | None) -> dict[str, Any]:
        """Return the configuration. Raises CannotPlace for files that DuckDB would read otherwise."""
        configured = await super().compile(instance, host)
        await asyncio.to_thread(files.check, instance.root)
        return configured

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        body = instance.root.inputs[0]
        if body.inputs and isinstance(body.inputs[0], Receive):
            said: dict[str, Any] = {"statement": statement(body)}
        else:
            whole = Statement(body, instance.dialect)
            said = {"statement": whole.text, "parameters": whole.parameters}
        return {
            **said,
            "threads": instance.threads,
            "memory_bytes": instance.memory_limit_bytes or int(instance.device.memory_bytes * MEMORY_SHARE),
        }

    async def configure(
        self, handle: Any, instance: InstancePlan, artifact: dict[str, Any], context: JobContext
    ) -> None:
        """Add what the planner knows of the files, which only the worker compares with what it reads."""
        reads = {file for node in instance.root.walk() if isinstance(node, Read) for file in node.files}
        if reads:
            known = context.plan.files if instance.device.name in context.here else {}  # others have copies
            states = {file: known[file] for file in sorted(reads & known.keys())}
            artifact = {**artifact, "files": sorted(reads), "states": states}
        await super().configure(handle, instance, artifact, context)
