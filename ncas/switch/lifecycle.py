"""The life-cycle of instances on a switch: no process, but flows, registers and table entries."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from finsy import P4TableAction, P4TableEntry, P4TableMatch

from jumpgate.errors import ConfigError, InternalError, Unreachable
from jumpgate.nca.interface import Device, Host, InstancePlan, JobContext
from jumpgate.ncas.switch.clearing import clear_rows
from jumpgate.ncas.switch.driver import PER_FLOW, Lease, SwitchDriver, entry_of
from jumpgate.ncas.switch.kind import SWITCH, ports_of
from jumpgate.ncas.switch.task import Input, Task
from jumpgate.ntf.addresses import host_of

#: the port of a software switch that everything comes in and goes out by
PORT = 1
FLOW = "hdr.jumpgate.flow"
SECRET = "hdr.jumpgate.secret"
TO_SENDER = "md.to_sender"
#: of Ethernet frames to a host: the software switch's headers begin so
MAC_PREFIX = 0x0201 << 32


@dataclass
class Live:
    """An instance: its lease, the (edge, sender) of each of its flows, and how far it has come."""

    instance: InstancePlan
    driver: SwitchDriver
    task: Task
    lease: Lease
    flows: dict[tuple[str, str], int]
    state: str = "allocated"
    stage: int = 0
    stages: list[dict[str, int]] = field(default_factory=list)


class SwitchLifecycle:
    """compile → allocate (flows, registers) → configure (entries) → execute → destroy. Packets pass by themselves."""

    def __init__(self, task_of: Callable[[InstancePlan], Task]) -> None:
        self._task_of = task_of

    async def reach(self, device: Device) -> SwitchDriver:
        return await SwitchDriver.reach(device)

    async def compile(self, instance: InstancePlan, host: Host) -> Task:
        return self._task_of(instance)

    async def allocate(self, instance: InstancePlan, context: JobContext) -> Live:
        driver = context.drivers[instance.device.name]
        assert isinstance(driver, SwitchDriver)
        task = self._task_of(instance)
        senders = [(edge, p) for edge in instance.inputs for p in context.plan.edge(edge).producers]
        lease = await driver.lease(context.job, instance.id, len(senders), task.claims, task.row_bits)
        live = Live(instance, driver, task, lease, dict(zip(senders, lease.flows, strict=True)))
        _tell_ends(live, context)
        return live

    async def configure(self, handle: Live, instance: InstancePlan, artifact: Task, context: JobContext) -> None:
        _expect(handle, "allocated", "configure")
        handle.state = "configured"
        driver, task = handle.driver, artifact
        alone = driver.is_alone(handle.lease)
        names = [name for name in driver.registers() if name not in PER_FLOW and name.startswith(task.registers)]
        await driver.clear(handle.lease, names if alone else [])
        entries: list[P4TableEntry] = []
        receiver = context.sockets[context.plan.edge(instance.output).consumers[0], instance.output]
        for number, edge in enumerate(instance.inputs):
            for sender in context.plan.edge(edge).producers:
                flow, input = handle.flows[edge, sender], task.inputs[number]
                entries += [entry_of(row, **{FLOW: flow}) for row in input.rows]
                entries += [_flow(handle, flow, input), await _route(driver, flow, 1, context.sockets[sender, edge])]
                if input.forwards:
                    entries.append(await _route(driver, flow, 0, receiver))
        await driver.hold(task.constants)
        await driver.install(handle.lease, entries)
        if not alone:
            try:
                await clear_rows(driver.data, handle.lease.flows[0], handle.lease.secret, _region(handle)[1])
            except Unreachable as error:
                raise await driver.client.cause(error) from None

    async def execute(self, handle: Live, stage: int) -> dict[str, Any]:
        """Nothing is to be done: who sends and who receives know when a stage ends."""
        _expect(handle, "configured", "execute")
        if stage != handle.stage + 1:
            raise InternalError(f"stage {stage} of {handle.instance.id} after stage {handle.stage}")
        handle.stage = stage
        now = time.time_ns()
        handle.stages.append({"stage": stage, "start_ns": now, "end_ns": now})
        return await self.stats(handle)

    async def stats(self, handle: Live) -> dict[str, Any]:
        return {
            "instance": handle.instance.id, "pid": 0, "rss_peak_bytes": 0, "held_bytes": 0, "cpu_ns": 0,
            "stages": list(handle.stages), "pipelines": [], "sources": [], "sinks": [],
        }  # fmt: skip

    async def destroy(self, handle: Live) -> None:
        handle.state = "destroyed"
        await handle.driver.give_back(handle.lease)


def _expect(handle: Live, state: str, verb: str) -> None:
    if handle.state != state:
        raise InternalError(f"{verb} of {handle.instance.id}, which is {handle.state}", instance=handle.instance.id)


def _tell_ends(live: Live, context: JobContext) -> None:
    """Adds the instance's flows to what the hosts at both ends of its edges must know."""
    instance, task, driver = live.instance, live.task, live.driver
    leaving = context.plan.edge(instance.output)
    sizes = {"window_bits": driver.sizes.window_bits, "slots": driver.sizes.slots}
    alike = {**sizes, "words": list(task.tuples.words), "has_rows": task.tuples.has_rows}
    end = context.ends.setdefault(leaving.id, {}).setdefault(
        leaving.consumers[0],
        {**alike, "paths": [], "outputs": list(task.outputs), "drains": []},
    )
    for (id, sender), flow in live.flows.items():
        edge = context.plan.edge(id)
        path = {"address": driver.data, "flow": flow, "secret": f"{live.lease.secret:016x}"}
        payload = ""
        if task.inputs[instance.inputs.index(id)].forwards:
            end["paths"].append(dict(path))
            payload = leaving.ntf.text() if task.tuples.has_rows else ""
        begin = context.ends.setdefault(id, {}).setdefault(
            sender,
            {**alike, "paths": [{}] * len(edge.consumers), "payload_ntf": payload, "ends": True},
        )
        begin["paths"][edge.consumers.index(instance.id)] = path
    if task.outputs:
        first, buckets = _region(live)
        end["drains"].append({"address": driver.data, "first": first, "buckets": buckets})


def _flow(live: Live, flow: int, input: Input) -> P4TableEntry:
    """Return the entry that tells the program how to handle a flow, in the job's region of the registers."""
    first, rows = _region(live)
    parameters = {**dict(input.parameters), "base": first, "mask": rows - 1}
    action = P4TableAction(live.task.action, **parameters)
    match = P4TableMatch({FLOW: flow, SECRET: live.lease.secret})
    return P4TableEntry("flow", match=match, action=action)


def _region(live: Live) -> tuple[int, int]:
    """First row and number of rows; of what has no rows each region is one."""
    rows = max(1, (1 << live.task.row_bits) // live.lease.shares)
    return live.lease.region * rows, rows


async def _route(driver: SwitchDriver, flow: int, back: int, address: str) -> P4TableEntry:
    """Where packets of a flow go: towards the receiver, or `back` to the sender."""
    host, udp_port = host_of(address), address.rpartition(":")[2]
    try:
        known = ipaddress.ip_address(host)
    except ValueError:
        raise ConfigError(
            f"a switch sends to addresses, not to {host!r}: write data_address of that host as one", host=host
        ) from None
    target = known if isinstance(known, ipaddress.IPv4Address) else await driver.stand_in(known)
    port, mac = _place(driver.device, target)
    return P4TableEntry(
        "route",
        match=P4TableMatch({FLOW: flow, TO_SENDER: back}),
        action=P4TableAction("send", port=port, mac=mac, address=int(target), udp_port=int(udp_port)),
    )


def _place(device: Device, host: ipaddress.IPv4Address) -> tuple[int, int]:
    """The port that leads to a host, and its MAC there."""
    ports = SWITCH.value(device, "ports")
    if ports is None:
        return PORT, MAC_PREFIX | int(host)
    known = ports_of(ports)
    if str(host) not in known:
        raise ConfigError(
            f"switch '{device.name}' is not told which of its ports leads to {host}: add {host}=PORT/MAC to its ports "
            "in jumpgate.toml",
            device=device.name,
        )
    return known[str(host)]
