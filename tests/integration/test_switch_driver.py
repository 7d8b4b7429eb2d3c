"""A switch's driver and life-cycle on a real software switch; hosts are sockets of the test."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jumpgate.client import col, max_, sum_
from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.builder import Dataflow
from jumpgate.errors import CannotPlace, ConfigError, InstanceFailed, InternalError, Unreachable
from jumpgate.nca.interface import Device, InstancePlan, JobContext, Property
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.switch import driver as drivers
from jumpgate.ncas.switch.driver import SwitchDriver, lease_all
from jumpgate.ncas.switch.kind import SWITCH, program_of
from jumpgate.ncas.switch.lifecycle import Live, SwitchLifecycle
from jumpgate.ncas.switch.transport import DATAGRAMS
from jumpgate.ncas.switch_aggregate import AGGREGATE
from jumpgate.ncas.switch_prune import PRUNE
from jumpgate.p4.programs.protocol import HEADER
from jumpgate.p4.switch.dump import read_entries
from jumpgate.testing.lab import Lab
from jumpgate.testing.leaks import nothing_left
from tests.support.plans import host

AGGREGATE_TUPLE, PRUNE_TUPLE = struct.Struct(">Bqq"), struct.Struct(">BqII")
DATA, ACK, READ_FIRST, READ_SECOND, CLEAR, END = range(1, 7)
WAIT_S = 30.0


def switch(program: str = "aggregate", **properties: Property) -> Device:
    return SWITCH.device("tor1", program=program, **properties)


@contextlib.asynccontextmanager
async def reached(device: Device) -> AsyncIterator[SwitchDriver]:
    driver = await SwitchDriver.reach(device)
    try:
        yield driver
    finally:
        await driver.close()


class Instance:
    """An instance on the switch with a socket for each sender, and one for who receives."""

    def __init__(self, driver: SwitchDriver, flow: Dataflow, job: str = "job", hosts: int = 1) -> None:
        self.driver = driver
        nca = PRUNE if "prune" in program_of(driver.device) else AGGREGATE
        devices = (*(host(f"h{i}") for i in range(hosts)), driver.device)
        plan = compile_dataflow(flow.root, devices, default_registry(), CompileOptions(prefer=(nca.name,)))
        self.plan: InstancePlan = next(i for i in plan.instances if i.nca == nca.name)
        self.context = JobContext(job, "0" * 32, plan, {}, {driver.device.name: driver})
        self.lifecycle = SwitchLifecycle(nca.task)
        self.sockets: dict[tuple[str, str], socket.socket] = {}
        for edge in (e for e in plan.edges if e.transport == DATAGRAMS):
            for instance in (*edge.producers, *edge.consumers):
                if instance != self.plan.id:
                    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    end.bind(("127.0.0.1", 0))
                    end.settimeout(WAIT_S)
                    self.sockets[instance, edge.id] = end
                    self.context.sockets[instance, edge.id] = f"127.0.0.1:{end.getsockname()[1]}"
        self.live: Live

    async def configure(self) -> None:
        artifact = await self.lifecycle.compile(self.plan, None)  # type: ignore[arg-type]
        self.live = await self.lifecycle.allocate(self.plan, self.context)
        await self.lifecycle.configure(self.live, self.plan, artifact, self.context)

    async def close(self) -> None:
        await self.lifecycle.destroy(self.live)
        for end in self.sockets.values():
            end.close()

    def sender(self, input: int = 0, number: int = 0) -> tuple[socket.socket, int, int]:
        """The socket of a sender, its flow, and its secret."""
        edge = self.plan.inputs[input]
        instance = self.context.plan.edge(edge).producers[number]
        (path,) = self.context.ends[edge][instance]["paths"]
        assert path["address"] == self.driver.data
        return self.sockets[instance, edge], path["flow"], int(path["secret"], 16)

    @property
    def receiver(self) -> socket.socket:
        return self.sockets[self.context.plan.edge(self.plan.output).consumers[0], self.plan.output]

    def send(self, kind: int, sequence: int, present: int = 0, body: bytes = b"", input: int = 0) -> None:
        end, flow, secret = self.sender(input)
        address, _, port = self.driver.data.rpartition(":")
        end.sendto(HEADER.pack(kind, present, flow, sequence, secret) + body, (address, int(port)))

    def answer(self, input: int = 0) -> tuple[int, int]:
        """Kind and sequence of what the sender hears."""
        kind, _, _, sequence, _ = HEADER.unpack_from(self.sender(input)[0].recv(2048))
        return kind, sequence

    def arrived(self) -> tuple[int, int, bytes]:
        """Kind, sequence and body of what the receiver hears."""
        data = self.receiver.recv(2048)
        kind, _, _, sequence, _ = HEADER.unpack_from(data)
        return kind, sequence, data[HEADER.size :]


@pytest.fixture
def table(tmp_path: Path) -> Dataflow:
    lab = Lab(None, tmp_path)  # type: ignore[arg-type]
    return lab.table({"item": "int64", "price": "decimal(7, 2)", "brand": "int32"}, [(1, None, 2)])


def sums(table: Dataflow) -> Dataflow:
    return table.aggregate(by=["item"], s=sum_("price"))


def test_tuples_are_absorbed_and_buckets_read(table: Dataflow, grpc_is_up: None) -> None:
    async def main() -> None:
        async with reached(switch()) as driver:
            instance = Instance(driver, sums(table))
            await instance.configure()
            instance.send(DATA, 1, 1, AGGREGATE_TUPLE.pack(0, 7, 500))
            assert instance.answer() == (ACK, 1)
            instance.send(DATA, 2, 1, AGGREGATE_TUPLE.pack(1, 0, 5))  # a NULL key goes on
            assert instance.arrived()[:2] == (DATA, 2)
            instance.send(END, 2)
            assert instance.arrived()[:2] == (END, 2)
            end = instance.context.ends[instance.plan.output]
            (told,) = end.values()
            assert told["outputs"] == ["key", "sum"]
            assert told["drains"] == [{**told["paths"][0], "first": 0, "buckets": 1 << 14}]
            await instance.close()
            await instance.close()

    with nothing_left():
        asyncio.run(main())


def test_a_job_begins_with_empty_registers_and_leaves_no_entries(table: Dataflow) -> None:
    async def main() -> None:
        async with reached(switch("prune_groupby")) as driver:
            flow = table.aggregate(by=["brand"], hi=max_("price"))
            for _ in range(2):
                instance = Instance(driver, flow)
                await instance.configure()
                for number, forwarded in ((1, True), (2, False)):
                    instance.send(DATA, number, 1, PRUNE_TUPLE.pack(0, 3, 9, 0) + b"payload")
                    if forwarded:
                        assert instance.arrived() == (DATA, number, PRUNE_TUPLE.pack(0, 3, 9, 0) + b"payload")
                    else:
                        assert instance.answer() == (ACK, number)
                await driver.release("job")  # as when its destroy was never called
                instance.send(DATA, 3, 1, PRUNE_TUPLE.pack(0, 3, 10, 0))
                instance.receiver.settimeout(0.1)
                with pytest.raises(TimeoutError):
                    instance.arrived()
                await instance.close()

    asyncio.run(main())


def test_build_keys_stay_on_the_switch(table: Dataflow) -> None:
    async def main() -> None:
        async with reached(switch("prune_join")) as driver:
            brands = table.filter(col("brand") > 1).select(i=col("item"))
            instance = Instance(driver, table.join(brands, left_on=col("item"), right_on=col("i")))
            await instance.configure()
            instance.send(DATA, 1, 1, PRUNE_TUPLE.pack(0, 5, 0, 0), input=1)
            assert instance.answer(input=1) == (ACK, 1)
            instance.send(END, 1, input=1)
            assert instance.answer(input=1) == (ACK, 0)
            instance.send(DATA, 1, 1, PRUNE_TUPLE.pack(0, 5, 0, 0) + b"row")
            assert instance.arrived()[2].endswith(b"row")
            instance.send(DATA, 2, 1, PRUNE_TUPLE.pack(0, 6, 0, 0) + b"row")
            assert instance.answer() == (ACK, 2)
            await instance.close()

    asyncio.run(main())


def test_jobs_share_the_registers_without_meeting(table: Dataflow) -> None:
    """Of a region that others used before, nothing is left; what others use meanwhile is not touched."""

    async def main() -> None:
        async with reached(switch(jobs=2)) as driver:
            first, second, third = (Instance(driver, sums(table), job) for job in ("a", "b", "c"))
            await first.configure()
            await second.configure()
            for instance in (first, second):
                instance.send(DATA, 1, 1, AGGREGATE_TUPLE.pack(0, 7, 500))
                assert instance.answer() == (ACK, 1)
            assert {i.live.lease.region for i in (first, second)} == {0, 1}
            await second.close()
            await third.configure()
            assert (await groups(first), await groups(third)) == (1, 0)
            await first.close()
            await third.close()

    asyncio.run(main())


async def groups(instance: Instance) -> int:
    """How many buckets of the instance's region belong to a key."""
    (told,) = instance.context.ends[instance.plan.output].values()
    (drain,) = told["drains"]
    found = 0
    for bucket in range(drain["first"], drain["first"] + drain["buckets"]):
        instance.send(READ_FIRST, bucket)
        _, occupied, *_ = HEADER.unpack_from(instance.sender()[0].recv(2048))
        found += occupied.bit_count()
    return found


def test_who_cannot_wait_longer_is_told(table: Dataflow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "LEASE_TIMEOUT_S", 0.1)

    async def main() -> None:
        async with reached(switch()) as driver:
            await lease_all([driver], "a", "f1.0", 2, ("buckets",), 14)
            with pytest.raises(Unreachable, match=r"switch 'tor1' is busy: .* other jobs \(a\)"):
                await lease_all([driver], "b", "f1.0", 1, ("buckets",), 14)
            with pytest.raises(CannotPlace, match="uses buckets of switch 'tor1' twice"):
                await lease_all([driver], "a", "f2.0", 1, ("buckets",), 14)
            with pytest.raises(CannotPlace, match="65 senders need as many flows; switch 'tor1' has 64"):
                await lease_all([driver], "b", "f1.0", 65, (), 0)

    asyncio.run(main())


def test_who_waits_gets_what_is_given_back() -> None:
    async def main() -> None:
        async with reached(switch()) as driver:
            (lease,) = await lease_all([driver], "a", "f1.0", 2, ("buckets",), 14)
            waiting = asyncio.create_task(lease_all([driver], "b", "f1.0", 1, ("buckets",), 14))
            await asyncio.sleep(0)
            assert not waiting.done()
            await driver.give_back(lease)
            assert (await waiting)[0].job == "b"

    asyncio.run(main())


def test_a_switch_that_dies_is_noticed(table: Dataflow, grpc_is_up: None) -> None:
    async def main() -> None:
        async with reached(switch()) as driver:
            instance = Instance(driver, sums(table))
            await instance.configure()
            assert driver.alive and driver.child is not None
            os.kill(driver.child.pid, signal.SIGKILL)
            with pytest.raises(InstanceFailed, match="switch 'tor1' at .* ended while jobs used it"):
                await asyncio.wait_for(driver.watch("a"), WAIT_S)
            assert not driver.alive
            await instance.close()

    with nothing_left():
        asyncio.run(main())


def test_a_switch_that_dies_amid_calls_is_the_same_error(table: Dataflow, grpc_is_up: None) -> None:
    async def main() -> None:
        async with reached(switch()) as driver:
            instance = Instance(driver, sums(table))
            await instance.configure()
            assert driver.child is not None
            os.kill(driver.child.pid, signal.SIGKILL)
            with pytest.raises(InstanceFailed, match="switch 'tor1' at .* ended while jobs used it"):
                await driver.clear(instance.live.lease, driver.registers())
            await instance.close()

    with nothing_left():
        asyncio.run(main())


def test_verbs_out_of_order(table: Dataflow) -> None:
    async def main() -> None:
        async with reached(switch()) as driver:
            instance = Instance(driver, sums(table))
            live = await instance.lifecycle.allocate(instance.plan, instance.context)
            with pytest.raises(InternalError, match="execute of f1.0, which is allocated"):
                await instance.lifecycle.execute(live, 1)
            await instance.lifecycle.destroy(live)
            with pytest.raises(InternalError, match="which is destroyed"):
                await instance.lifecycle.execute(live, 1)
            await instance.configure()
            with pytest.raises(InternalError, match="stage 2 of f1.0 after stage 0"):
                await instance.lifecycle.execute(instance.live, 2)
            await instance.close()

    asyncio.run(main())


def test_hosts_behind_several_ports(table: Dataflow) -> None:
    async def main() -> None:
        async with reached(switch()) as own:
            assert own.child is not None
            there = {"p4runtime": own.child.p4runtime, "data": own.data}
            async with reached(
                switch(**there, ports="10.0.0.1=4/02:00:00:00:00:04 127.0.0.1=132/98:03:9B:00:12:34")
            ) as far:
                instance = Instance(far, sums(table))
                await instance.configure()
                found = await asyncio.to_thread(read_entries, own.child.p4runtime)
                routes = [e for e in found if e.table == "Ingress.route"]
                ends = {int(address.rpartition(":")[2]) for address in instance.context.sockets.values()}
                assert {(e.data["port"], e.data["mac"]) for e in routes} == {(132, 0x98039B001234)}
                assert {e.data["udp_port"] for e in routes} == ends
                await instance.close()
            async with reached(switch(**there, ports="10.0.0.1=4/02:00:00:00:00:04")) as blind:
                with pytest.raises(ConfigError, match="add 127.0.0.1=PORT/MAC to its ports in jumpgate.toml"):
                    await Instance(blind, sums(table)).configure()

    asyncio.run(main())


@pytest.mark.parametrize(
    "ports", ["", "10.0.0.1", "10.0.0.1=512/02:00:00:00:00:04", "10.0.0=1/02:00:00:00:00:04", "h=1/02"]
)
def test_ports_that_are_none(ports: str) -> None:
    with pytest.raises(ConfigError, match=r"ports.*not words like 10.0.0.5=132/98:03:9b:00:12:34, one for each host"):
        switch(p4runtime="10.0.0.9:9559", data="10.0.0.9:9801", ports=ports)
    with pytest.raises(ConfigError, match="a software switch of our own has one port"):
        switch(ports="10.0.0.1=4/02:00:00:00:00:04")


def test_a_switch_of_somebody_else(table: Dataflow) -> None:
    async def main() -> None:
        async with reached(switch()) as own:
            assert own.child is not None
            there = {"p4runtime": own.child.p4runtime, "data": own.data}
            async with reached(switch(**there)) as later:  # a later controller takes it over
                with pytest.raises(InstanceFailed, match="was taken over by another controller"):
                    await asyncio.wait_for(own.watch("a"), WAIT_S)
                instance = Instance(later, sums(table))
                await instance.configure()
                await instance.close()
            async with reached(switch("prune", **there)) as wrong:
                with pytest.raises(ConfigError, match="does not run the program that jumpgate.toml names"):
                    await Instance(wrong, table.select("item").distinct()).configure()
        with pytest.raises(Unreachable, match="Is it running"):
            await SwitchDriver.reach(switch(**there))

    asyncio.run(main())
