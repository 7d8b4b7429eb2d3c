"""The life-cycle of instances on a card: no process, but tables and flows."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from jumpgate.dataflow.operators import Aggregate, Join, Operator, Project, Receive
from jumpgate.dataflow.types import Schema
from jumpgate.errors import InstanceFailed, InternalError, JumpgateError
from jumpgate.nca.interface import Device, Host, InstancePlan, JobContext
from jumpgate.ncas.fpga_join.build import BITSTREAMS, build
from jumpgate.ncas.fpga_join.driver import CardDriver, Lease
from jumpgate.ncas.fpga_join.kind import FPGA, VERILATED
from jumpgate.ncas.fpga_join.memory import Tables
from jumpgate.ncas.switch.transport import packed
from jumpgate.ntf.layout import row_layout

WINDOW_BITS = 8
#: packets of rows alone (p4/PROTOCOL.md)
ROWS = {"window_bits": WINDOW_BITS, "slots": 1, "words": [], "has_rows": True}
PROBE = -1


@dataclass(frozen=True)
class Task:
    """The edges of a chain, by where their rows go: those that probe, then those of each table, its joins, and which
    columns of their rows leave; the sizes of the tables; `totals`: how many columns of counts and sums leave in place
    of the rows, 0: none."""

    probe: Receive
    builds: tuple[Receive, ...]
    joins: tuple[Join, ...]
    leaving: tuple[int, ...]
    tables: Tables
    totals: int

    @staticmethod
    def of(instance: InstancePlan) -> Task:
        node: Operator = instance.root.inputs[0]
        joins: list[Join] = []
        totals = 0
        if isinstance(node, Aggregate):
            totals, node = len(node.measures), node.input
        leaving = [*range(len(node.schema))]
        if isinstance(node, Project):
            leaving, node = [i for e in node.expressions for i in e.columns()], node.input
        while isinstance(node, Join):
            joins.insert(0, node)
            node = node.left
        builds = tuple(j.right for j in joins)
        assert isinstance(node, Receive) and all(isinstance(b, Receive) for b in builds)
        return Task(node, builds, tuple(joins), tuple(leaving), instance.settings, totals)  # type: ignore[arg-type]

    def table(self, edge: str) -> int:
        """Return the table of the edge's rows; PROBE for those that probe."""
        return next((t for t, b in enumerate(self.builds) if b.edge == edge), PROBE)

    def words(self) -> list[object]:
        """The shapes of rows and tables, as the control channel has them (card/README.md)."""
        found: list[object] = [*_row(self.probe.schema), len(self.joins)]
        for join, built, *size in zip(
            self.joins, self.builds, self.tables.value_bytes, self.tables.bucket_bits, strict=True
        ):
            found += [str(join.type), *_row(built.schema), *size]
        whole = self.joins[-1].schema
        joined, leaving = (row_layout(packed(s)) for s in (whole, whole.select(self.leaving)))
        found += [len(self.leaving), leaving.null_bytes]
        for leaver in (joined.fields[i] for i in self.leaving):
            found += [leaver.null_bit, leaver.offset - joined.null_bytes, leaver.width]
        return [*found, self.totals]


def _row(schema: Schema) -> tuple[int, int, int]:
    """Columns of a row, bytes of their NULL bits, and of their values."""
    layout = row_layout(packed(schema))
    return len(schema), layout.null_bytes, layout.stride - layout.null_bytes


@dataclass
class Live:
    """An instance: its lease, the flow of each (edge, sender), and how far it has come."""

    instance: InstancePlan
    driver: CardDriver
    lease: Lease
    flows: dict[tuple[str, str], int]
    state: str = "allocated"
    stage: int = 0
    stages: list[dict[str, int]] = field(default_factory=list)


class FpgaLifecycle:
    """compile → allocate (tables, flows) → configure → execute → destroy. Rows pass by themselves."""

    async def reach(self, device: Device) -> CardDriver:
        return await CardDriver.reach(device)

    async def compile(self, instance: InstancePlan, host: Host) -> Task:
        task = Task.of(instance)
        if FPGA.value(instance.device, "backend") == VERILATED:
            await asyncio.to_thread(build, BITSTREAMS[task.tables.value_bytes[0]])
        return task

    async def allocate(self, instance: InstancePlan, context: JobContext) -> Live:
        driver = context.drivers[instance.device.name]
        assert isinstance(driver, CardDriver)
        senders = [(edge, p) for edge in instance.inputs for p in context.plan.edge(edge).producers]
        receivers = context.plan.edge(instance.output).consumers
        bits = Task.of(instance).tables.bucket_bits
        lease = await driver.lease(context.job, instance.id, bits, len(senders), len(receivers))
        live = Live(instance, driver, lease, dict(zip(senders, lease.arriving, strict=True)))
        _tell_ends(live, context)
        return live

    async def configure(self, handle: Live, instance: InstancePlan, artifact: Task, context: JobContext) -> None:
        _expect(handle, "allocated", "configure")
        handle.state = "configured"
        lease, child = handle.lease, handle.driver.child
        rest = FPGA.value(instance.device, "rest_bytes")
        words = artifact.words()
        if FPGA.value(instance.device, "backend") == VERILATED:
            width = artifact.tables.value_bytes[0]
            await child.call("bitstream", width, await asyncio.to_thread(build, BITSTREAMS[width]))
        await child.call("join", lease.id, f"{lease.secret:016x}", WINDOW_BITS, rest, *words)
        receivers = context.plan.edge(instance.output).consumers
        for receiver, flow in zip(receivers, lease.leaving, strict=True):
            await child.call("receiver", lease.id, flow, context.sockets[receiver, instance.output])
        for (edge, sender), flow in handle.flows.items():
            await child.call("flow", lease.id, flow, artifact.table(edge), context.sockets[sender, edge])
        await child.call("start", lease.id)

    async def execute(self, handle: Live, stage: int) -> dict[str, Any]:
        """Rows pass by themselves; the stage in which they leave lasts until the receiver has all."""
        _expect(handle, "configured", "execute")
        if stage != handle.stage + 1:
            raise InternalError(f"stage {stage} of {handle.instance.id} after stage {handle.stage}")
        handle.stage = stage
        start = time.time_ns()
        if stage == handle.instance.stage:
            await handle.driver.child.ended(handle.lease.id)
            if handle.state != "configured" or not handle.driver.alive:
                raise InstanceFailed(f"{handle.instance.id} on {handle.instance.device.name} was ended")
        handle.stages.append({"stage": stage, "start_ns": start, "end_ns": time.time_ns()})
        return await self.stats(handle)

    async def stats(self, handle: Live) -> dict[str, Any]:
        return {
            "instance": handle.instance.id, "pid": 0, "rss_peak_bytes": 0, "held_bytes": 0, "cpu_ns": 0,
            "stages": list(handle.stages), "pipelines": [], "sources": [], "sinks": [], **await _counts(handle),
        }  # fmt: skip

    async def destroy(self, handle: Live) -> None:
        handle.state = "destroyed"
        await handle.driver.give_back(handle.lease)


async def _counts(handle: Live) -> dict[str, Any]:
    """Rows built, of these without room in their buckets, rows that probed, joined rows, and the model's cycles."""
    if handle.state != "configured":
        return {}
    try:
        counts = map(int, await handle.driver.child.call("count", handle.lease.id))
    except JumpgateError:  # it has ended, of which `watch` tells
        return {}
    return {"card": dict(zip(("built", "rest", "probed", "joined", "cycles"), counts, strict=True))}


def _expect(handle: Live, state: str, verb: str) -> None:
    if handle.state != state:
        raise InternalError(f"{verb} of {handle.instance.id}, which is {handle.state}", instance=handle.instance.id)


def _tell_ends(live: Live, context: JobContext) -> None:
    """Adds the instance's flows to what the hosts at both ends of its edges must know."""
    instance, address = live.instance, live.driver.data

    def path(flow: int) -> dict[str, object]:
        return {"address": address, "flow": flow, "secret": f"{live.lease.secret:016x}"}

    leaving = context.plan.edge(instance.output)
    for receiver, flow in zip(leaving.consumers, live.lease.leaving, strict=True):
        end = context.ends.setdefault(leaving.id, {}).setdefault(
            receiver, {**ROWS, "paths": [], "outputs": [], "drains": []}
        )
        end["paths"].append(path(flow))
    for (id, sender), flow in live.flows.items():
        edge = context.plan.edge(id)
        begin = context.ends.setdefault(id, {}).setdefault(
            sender, {**ROWS, "paths": [{}] * len(edge.consumers), "payload_ntf": edge.ntf.text(), "ends": True}
        )
        begin["paths"][edge.consumers.index(instance.id)] = path(flow)
