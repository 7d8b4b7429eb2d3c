"""The life-cycle of instances that are Python programs: the controller's half of jumpgate.nca.worker."""

from __future__ import annotations

from typing import Any

from jumpgate.dataflow.operators import Emit
from jumpgate.errors import ConfigError
from jumpgate.nca.interface import Edge, Host, InstanceHandle, InstancePlan, JobContext
from jumpgate.ntf.addresses import LOOPBACK, joined


class WorkerLifecycle:
    """compile → allocate → configure → execute (once a stage) → destroy, of instances that are `worker.serve`.

    A subclass names the `module` that calls it, and says what its `compute` finds in the configuration.
    """

    module: str

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        """What `compute` needs to know beside the edges."""
        raise NotImplementedError

    def host(self, instance: InstancePlan, context: JobContext) -> Host:
        """Where the process is started: the instance's own host or, of a device without an agent, that of the first
        who sends to it, where it is the device's gateway."""
        first = context.plan.edge(instance.inputs[0]).producers[0]
        sender = next(i for i in context.plan.instances if i.id == first)
        return context.hosts.get(instance.device.name) or context.hosts[sender.device.name]

    async def compile(self, instance: InstancePlan, host: Host | None) -> dict[str, Any]:
        """The configuration is the artifact. Raises ConfigError for a partitioning that a worker does not do."""
        assert isinstance(instance.root, Emit)
        to = instance.root.partitioning
        if to.count > 1 and to.kind not in ("round_robin", "broadcast"):
            raise ConfigError(f"{instance.id} cannot partition its output by {to.kind}: use parallelism = 1")
        return self.configuration(instance)

    async def allocate(self, instance: InstancePlan, context: JobContext) -> InstanceHandle:
        host = self.host(instance, context)
        handle = await host.spawn(context.job, instance.id, self.module)
        properties = dict(host.device.properties)
        ends = {edge: context.plan.edge(edge).transport.channel for edge in instance.inputs}
        answer = await handle.call("allocate", bind=properties.get("data_bind", LOOPBACK), ends=ends)
        for edge, port in answer["ends"].items():
            context.sockets[instance.id, edge] = joined(str(properties.get("data_address", LOOPBACK)), port)
        return handle

    async def configure(
        self, handle: InstanceHandle, instance: InstancePlan, artifact: dict[str, Any], context: JobContext
    ) -> None:
        leaving = context.plan.edge(instance.output)
        arriving = zip(map(context.plan.edge, instance.inputs), instance.input_stages, strict=True)
        await handle.call(
            "configure",
            job=context.job,
            instance=instance.id,
            **context.secrets(),
            stage=instance.stage,
            timeout_ms=context.timeout_ms,
            name=instance.root.inputs[0].kind,
            inputs=[
                {**_edge(e, instance.index), "producers": len(e.producers), "stage": stage} for e, stage in arriving
            ],
            output={
                **_edge(leaving, leaving.places[instance.id]),
                "peers": context.peers(leaving),
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
