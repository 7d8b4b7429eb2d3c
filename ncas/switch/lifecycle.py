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
from jumpgate.ncas.switch.driver import PER_FLOW, Lease, SwitchDriver, entry_of, lease_all
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


#: an instance that sends, by the edge and its own name
Sender = tuple[str, str]


@dataclass
class Part:
    """One switch of a chain, with the instance's lease of it."""

    driver: SwitchDriver
    lease: Lease


@dataclass
class Live:
    """An instance: its parts, of which the last one is the top of the chain; the number of each sender's flow, and the
    parts that it passes; and how far the instance has come."""

    instance: InstancePlan
    task: Task
    parts: tuple[Part, ...]
    flows: dict[Sender, int]
    ways: dict[Sender, tuple[Part, ...]]
    state: str = "allocated"
    stage: int = 0
    stages: list[dict[str, int]] = field(default_factory=list)

    @property
    def driver(self) -> SwitchDriver:
        return self.parts[-1].driver

    @property
    def lease(self) -> Lease:
        return self.parts[-1].lease

    def passing(self, part: Part) -> list[Sender]:
        """Return the senders whose flows pass a switch."""
        return [sender for sender, way in self.ways.items() if part in way]


class SwitchLifecycle:
    """compile → allocate (flows, registers) → configure (entries) → execute → destroy. Packets pass by themselves."""

    def __init__(self, task_of: Callable[[InstancePlan], Task]) -> None:
        self._task_of = task_of

    async def reach(self, device: Device) -> SwitchDriver:
        return await SwitchDriver.reach(device)

    async def compile(self, instance: InstancePlan, host: Host) -> Task:
        return self._task_of(instance)

    async def allocate(self, instance: InstancePlan, context: JobContext) -> Live:
        task = self._task_of(instance)
        at = {other.id: other.device for other in context.plan.instances}
        senders = [(edge, p) for edge in instance.inputs for p in context.plan.edge(edge).producers]
        ways = {sender: instance.device.passed_from(at[sender[1]]) for sender in senders}
        passed = {device for way in ways.values() for device in way}
        drivers = {d: _driver(d, context) for d in instance.device.chain if d in passed}
        leases = await lease_all(
            [*drivers.values()], context.job, instance.id, len(senders), task.claims, task.row_bits
        )
        parts = {d: Part(driver, lease) for (d, driver), lease in zip(drivers.items(), leases, strict=True)}
        flows = dict(zip(senders, leases[0].flows, strict=True))
        over = {sender: tuple(parts[device] for device in way) for sender, way in ways.items()}
        live = Live(instance, task, tuple(parts.values()), flows, over)
        _tell_ends(live, context)
        return live

    async def configure(self, handle: Live, instance: InstancePlan, artifact: Task, context: JobContext) -> None:
        _expect(handle, "allocated", "configure")
        handle.state = "configured"
        for part in handle.parts:
            await _configure(handle, part, context)

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
        for part in handle.parts:
            await part.driver.give_back(part.lease)


def _expect(handle: Live, state: str, verb: str) -> None:
    if handle.state != state:
        raise InternalError(f"{verb} of {handle.instance.id}, which is {handle.state}", instance=handle.instance.id)


def _driver(device: Device, context: JobContext) -> SwitchDriver:
    driver = context.drivers[device.name]
    assert isinstance(driver, SwitchDriver)
    return driver


async def _configure(live: Live, part: Part, context: JobContext) -> None:
    """Prepare one switch: cells, region and entries."""
    driver, lease, task = part.driver, part.lease, live.task
    alone = driver.is_alone(lease)
    names = [name for name in driver.registers() if name not in PER_FLOW and name.startswith(task.registers)]
    await driver.clear(lease, names if alone else [])
    receiver = context.sockets[context.plan.edge(live.instance.output).consumers[0], live.instance.output]
    entries: list[P4TableEntry] = []
    for sender in live.passing(part):
        flow, input = live.flows[sender], task.inputs[live.instance.inputs.index(sender[0])]
        hops = [context.sockets[sender[1], sender[0]], *(p.driver.data for p in live.ways[sender]), receiver]
        here = 1 + live.ways[sender].index(part)
        entries += [entry_of(row, **{FLOW: flow}) for row in input.rows]
        entries += [_flow(live, part, flow, input), await _route(driver, flow, 1, hops[here - 1])]
        if input.forwards:
            entries.append(await _route(driver, flow, 0, hops[here + 1]))
    await driver.hold(task.constants)
    await driver.install(lease, entries)
    if not alone:
        path = _path(live, part)
        try:
            await clear_rows(driver.data, path["flow"], lease.secret, _region(live, part)[1])
        except Unreachable as error:
            raise await driver.client.cause(error) from None


def _tell_ends(live: Live, context: JobContext) -> None:
    """Adds the instance's flows to what the hosts at both ends of its edges must know."""
    instance, task, sizes = live.instance, live.task, live.driver.sizes
    leaving = context.plan.edge(instance.output)
    tuples = {"words": list(task.tuples.words), "has_rows": task.tuples.has_rows}
    alike = {"window_bits": sizes.window_bits, "slots": sizes.slots, **tuples}
    end = context.ends.setdefault(leaving.id, {}).setdefault(
        leaving.consumers[0],
        {**alike, "paths": [], "outputs": list(task.outputs), "drains": []},
    )
    for sender, way in live.ways.items():
        edge = context.plan.edge(sender[0])
        payload = ""
        if task.inputs[instance.inputs.index(edge.id)].forwards:
            end["paths"].append(_path(live, way[-1], sender))
            payload = leaving.ntf.text() if task.tuples.has_rows else ""
        begin = context.ends.setdefault(edge.id, {}).setdefault(
            sender[1],
            {**alike, "paths": [{}] * len(edge.consumers), "payload_ntf": payload, "ends": True},
        )
        begin["paths"][edge.consumers.index(instance.id)] = _path(live, way[0], sender)
    for part in live.parts if task.outputs else ():
        first, buckets = _region(live, part)
        end["drains"].append({**_path(live, part), "first": first, "buckets": buckets})


def _path(live: Live, part: Part, sender: Sender | None = None) -> dict[str, Any]:
    """Return how an end reaches a switch: by the flow of a sender, or of any that passes it."""
    flow = live.flows[sender or live.passing(part)[0]]
    return {"address": part.driver.data, "flow": flow, "secret": f"{part.lease.secret:016x}"}


def _flow(live: Live, part: Part, flow: int, input: Input) -> P4TableEntry:
    """Return the entry that tells the program how to handle a flow, in the job's region of the registers."""
    first, rows = _region(live, part)
    parameters = {**dict(input.parameters), "base": first, "mask": rows - 1}
    action = P4TableAction(live.task.action, **parameters)
    match = P4TableMatch({FLOW: flow, SECRET: part.lease.secret})
    return P4TableEntry("flow", match=match, action=action)


def _region(live: Live, part: Part) -> tuple[int, int]:
    """First row and number of rows; of what has no rows each region is one."""
    rows = max(1, (1 << live.task.row_bits) // part.lease.shares)
    return part.lease.region * rows, rows


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
