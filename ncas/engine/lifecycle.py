"""The engine's life-cycle: a worker process on the instance's host, which is told one statement."""

from __future__ import annotations

from typing import Any

from jumpgate.dataflow.operators import Emit, Receive
from jumpgate.errors import ConfigError
from jumpgate.nca.interface import Edge, Host, InstanceHandle, InstancePlan, JobContext
from jumpgate.ncas.engine.sql import statement

#: of a host's memory, what the engine may use before it spills to disk
MEMORY_SHARE = 0.25


class EngineLifecycle:
    """compile → allocate → configure → execute (once a stage) → destroy."""

    async def compile(self, instance: InstancePlan, host: Host) -> str:
        """The statement is the artifact."""
        assert isinstance(instance.root, Emit)
        body = instance.root.input
        assert isinstance(body.inputs[0], Receive)
        partitioning = instance.root.partitioning
        if partitioning.count > 1 and partitioning.kind not in ("round_robin", "broadcast"):
            raise ConfigError(f"the engine cannot partition its output by {partitioning.kind}: use parallelism = 1")
        return statement(body)

    async def allocate(self, instance: InstancePlan, context: JobContext) -> InstanceHandle:
        host = context.hosts[instance.device.name]
        handle = await host.spawn(context.job, instance.id, "jumpgate.ncas.engine.worker")
        properties = dict(instance.device.properties)
        answer = await handle.call("allocate", bind=properties.get("data_bind", "127.0.0.1"))
        context.addresses[instance.id] = f"{properties.get('data_address', '127.0.0.1')}:{answer['port']}"
        return handle

    async def configure(
        self, handle: InstanceHandle, instance: InstancePlan, artifact: str, context: JobContext
    ) -> None:
        arriving, leaving = context.plan.edge(instance.inputs[0]), context.plan.edge(instance.output)
        limit = int(dict(instance.options).get("memory_limit_bytes", "0"))
        await handle.call(
            "configure",
            job=context.job,
            instance=instance.id,
            token=context.token,
            stage=instance.stage,
            timeout_ms=context.timeout_ms,
            name=instance.root.inputs[0].kind,
            input={**_edge(arriving, instance.index), "producers": len(arriving.producers)},
            output={
                **_edge(leaving, leaving.producers.index(instance.id)),
                "peers": leaving.endpoints or [context.addresses[c] for c in leaving.consumers],
                "partitioning": leaving.partitioning.kind,
            },
            statement=artifact,
            threads=instance.threads,
            memory_bytes=limit or int(instance.device.memory_bytes * MEMORY_SHARE),
        )

    async def execute(self, handle: InstanceHandle, stage: int) -> dict[str, Any]:
        return await handle.call("execute", stage=stage)

    async def stats(self, handle: InstanceHandle) -> dict[str, Any]:
        return await handle.call("stats")

    async def destroy(self, handle: InstanceHandle) -> None:
        await handle.call("destroy")


def _edge(edge: Edge, index: int) -> dict[str, Any]:
    return {"edge": edge.id, "index": index, "ntf": edge.ntf.text()}
