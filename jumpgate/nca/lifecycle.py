"""The life-cycle of instances that are Python programs: the controller's half of jumpgate.nca.worker."""

from __future__ import annotations

from typing import Any

from jumpgate.dataflow.operators import Emit
from jumpgate.errors import ConfigError
from jumpgate.nca.interface import Edge, Host, InstanceHandle, InstancePlan, JobContext


class WorkerLifecycle:
    """compile → allocate → configure → execute (once a stage) → destroy, of instances with one edge in and one out.

    A subclass names the `module` that calls `worker.serve`, and says what its `compute` finds in the configuration.
    """

    module: str

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        """What `compute` needs to know beside the edges."""
        raise NotImplementedError

    async def compile(self, instance: InstancePlan, host: Host) -> dict[str, Any]:
        """The configuration is the artifact. Raises ConfigError for a partitioning that a worker does not do."""
        assert isinstance(instance.root, Emit)
        to = instance.root.partitioning
        if to.count > 1 and to.kind not in ("round_robin", "broadcast"):
            raise ConfigError(f"{instance.id} cannot partition its output by {to.kind}: use parallelism = 1")
        return self.configuration(instance)

    async def allocate(self, instance: InstancePlan, context: JobContext) -> InstanceHandle:
        host = context.hosts[instance.device.name]
        handle = await host.spawn(context.job, instance.id, self.module)
        properties = dict(instance.device.properties)
        answer = await handle.call("allocate", bind=properties.get("data_bind", "127.0.0.1"))
        context.addresses[instance.id] = f"{properties.get('data_address', '127.0.0.1')}:{answer['port']}"
        return handle

    async def configure(
        self, handle: InstanceHandle, instance: InstancePlan, artifact: dict[str, Any], context: JobContext
    ) -> None:
        arriving, leaving = context.plan.edge(instance.inputs[0]), context.plan.edge(instance.output)
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
            **artifact,
        )

    async def execute(self, handle: InstanceHandle, stage: int) -> dict[str, Any]:
        return await handle.call("execute", stage=stage)

    async def stats(self, handle: InstanceHandle) -> dict[str, Any]:
        return await handle.call("stats")

    async def destroy(self, handle: InstanceHandle) -> None:
        await handle.call("destroy")


def _edge(edge: Edge, index: int) -> dict[str, Any]:
    return {"edge": edge.id, "index": index, "ntf": edge.ntf.text()}
