"""The life-cycle of instances that are Python programs: the controller's half of jumpgate.nca.worker."""

from __future__ import annotations

from typing import Any

from jumpgate.dataflow.operators import Emit
from jumpgate.errors import ConfigError
from jumpgate.nca.interface import Edge, Host, InstanceHandle, InstancePlan, JobContext
from jumpgate.ntf.addresses import LOOPBACK, joined


class WorkerLifecycle:
    """The life-cycle of instances that run `worker.serve`: compile → allocate → configure → execute (once a stage) →
    destroy.

    A subclass names the `module` that calls it, and returns the configuration that its `compute` needs.
    """

    module: str

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        """Return what `compute` needs to know beside the edges."""
        raise NotImplementedError

    def host(self, instance: InstancePlan, context: JobContext) -> Host:
        """Return the host of the process: the instance's own or, for a device without an agent, that of its first
        sender, where it acts as the device's gateway; of a leaf that of its first receiver, else any."""
        if own := context.hosts.get(instance.device.name):
            return own
        edges = [context.plan.edge(edge) for edge in (*instance.inputs, instance.output)]
        near = [name for edge in edges for name in (*edge.producers, *edge.consumers) if name != instance.id]
        devices = {other.id: other.device.name for other in context.plan.instances}
        hosts = (context.hosts.get(devices[name]) for name in near)
        return next((host for host in hosts if host is not None), None) or next(iter(context.hosts.values()))

    async def compile(self, instance: InstancePlan, host: Host | None) -> dict[str, Any]:
        """Return the configuration as the artifact. Raises ConfigError for a partitioning that a worker does not
        support."""
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
