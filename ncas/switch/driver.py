"""One switch between jobs: its connection, and who has which flows and registers."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from finsy import P4RegisterEntry, P4TableAction, P4TableEntry, P4TableMatch
from finsy.p4entity import P4Entity

from jumpgate.errors import CannotPlace, ConfigError, InternalError, JumpgateError, Unreachable
from jumpgate.nca.interface import Device
from jumpgate.ncas.switch.child import Child
from jumpgate.ncas.switch.client import DELETE, INSERT, MODIFY, Client
from jumpgate.ncas.switch.kind import SWITCH, program_of
from jumpgate.ncas.switch.task import Row
from jumpgate.ntf.addresses import host_of
from jumpgate.p4.programs.render import PROGRAMS, AggregateSizes, PruneSizes
from jumpgate.p4.switch.credentials import Credentials
from jumpgate.p4.switch.stand_ins import POOL, StandIn

#: for other jobs to give back what a job needs
LEASE_TIMEOUT_S = 20.0
FLOW_NUMBER_BITS = 16
#: an algorithm with more rows is one job's at a time: to empty a part of them takes too long
SHARED_BITS_MAX = 16
#: registers that are divided among the flows; all others belong to an algorithm
PER_FLOW = ("window",)


@dataclass
class Lease:
    """One instance's share of a switch: of each claim's registers one of `shares` regions. `entries` are those that
    were written for it; `secret`, of all switches on a way, is in every packet of its flows."""

    job: str
    instance: str
    flows: tuple[int, ...]
    claims: frozenset[str]
    region: int
    shares: int
    secret: int = field(repr=False)
    entries: list[P4Entity] = field(default_factory=list)


class SwitchDriver:
    """A switch that runs a program; several jobs share it, each with flows and registers of its own."""

    def __init__(self, device: Device, sizes: AggregateSizes | PruneSizes, client: Client, data: str) -> None:
        self.device, self.sizes, self.data = device, sizes, data
        self.client = client
        self.child: Child | None = None
        self._shares = int(SWITCH.value(device, "jobs"))
        self._held: set[str] = set()
        self._stand_ins: dict[ipaddress.IPv6Address, ipaddress.IPv4Address] = {}
        self._holding = asyncio.Lock()
        self._leases: list[Lease] = []
        self._uses = [0] * (1 << sizes.flow_bits)
        self._returned = asyncio.Condition()

    @staticmethod
    async def reach(device: Device) -> SwitchDriver:
        """Connects to the switch that jumpgate.toml names, or starts a software switch. Raises Unreachable,
        Unauthenticated, ConfigError for what the switch runs, or what keeps its program from being built."""
        program = program_of(device)
        if address := SWITCH.value(device, "p4runtime"):
            tls, token_file = SWITCH.value(device, "tls"), SWITCH.value(device, "token_file")
            shown = Credentials.load(tls, token_file, f"switch '{device.name}'")
            client = await Client.connect(device.name, address, shown)
            return SwitchDriver(device, PROGRAMS[program], client, SWITCH.value(device, "data"))
        child = await Child.start(device.name, program, SWITCH.value(device, "profile"))
        try:
            client = await Client.connect(device.name, child.p4runtime)
        except BaseException:
            await child.close()
            raise
        driver = SwitchDriver(device, PROGRAMS[program], client, child.data)
        driver.child = child
        return driver

    # ---- a driver (jumpgate.nca.interface) ----

    @property
    def alive(self) -> bool:
        return self.client.alive

    async def watch(self, job: str) -> None:
        await self.client.watch()

    async def release(self, job: str) -> None:
        for lease in [x for x in self._leases if x.job == job]:
            await self.give_back(lease)

    async def close(self) -> None:
        await self.client.close()
        if self.child is not None:
            await self.child.close()

    # ---- leases ----

    def check(self, job: str, flows: int, claims: frozenset[str]) -> None:
        """Raise CannotPlace for what the switch never has."""
        if flows > (every := 1 << self.sizes.flow_bits):
            raise CannotPlace(
                f"{flows} senders need as many flows; switch '{self.device.name}' has {every}. Use less parallelism.",
                device=self.device.name,
            )
        if taken := claims & {c for x in self._leases if x.job == job for c in x.claims}:
            raise CannotPlace(
                f"the job uses {', '.join(sorted(taken))} of switch '{self.device.name}' twice. Add another switch.",
                device=self.device.name,
            )

    def shares(self, row_bits: int) -> int:
        """Return how many jobs may have regions of registers with 2^`row_bits` rows."""
        return self._shares if row_bits <= SHARED_BITS_MAX else 1

    def regions(self, claims: frozenset[str], row_bits: int) -> list[int]:
        """Return the regions of these registers that no job has."""
        used = {x.region for x in self._leases if x.claims & claims}
        return [r for r in range(self.shares(row_bits)) if r not in used]

    @property
    def cells(self) -> frozenset[int]:
        """The numbers of cells that no flow has."""
        every = 1 << self.sizes.flow_bits
        return frozenset(range(every)) - {n % every for x in self._leases for n in x.flows}

    def uses(self, cell: int) -> int:
        """Return how many flows have had these cells."""
        return self._uses[cell]

    def take(self, lease: Lease) -> None:
        self._leases.append(lease)
        for flow in lease.flows:
            self._uses[flow % (1 << self.sizes.flow_bits)] = flow >> self.sizes.flow_bits

    async def returned(self) -> None:
        """Wait until a job has given something back."""
        async with self._returned:
            await self._returned.wait()

    def busy(self) -> Unreachable:
        """Return the error of who waited for other jobs in vain."""
        others = ", ".join(sorted({x.job for x in self._leases}))
        return Unreachable(
            f"switch '{self.device.name}' is busy: for {LEASE_TIMEOUT_S:g} s other jobs ({others}) have had what "
            "this one needs. Run it again later, or add a switch.",
            device=self.device.name,
        )

    def is_alone(self, lease: Lease) -> bool:
        """Return whether no other job uses what the lease claims."""
        return not any(x.claims & lease.claims for x in self._leases if x is not lease)

    async def clear(self, lease: Lease, registers: Sequence[str]) -> None:
        """Empties registers of the program (for a lease that has the claim alone) and the flows' own cells."""
        entries: list[P4Entity] = [P4RegisterEntry(name) for name in registers]
        alone = self._leases == [lease]
        for name in (n for n in self.registers() if n in PER_FLOW):
            if alone:
                entries.append(P4RegisterEntry(name))
                continue
            for flow in lease.flows:
                first = flow % (1 << self.sizes.flow_bits) << self.sizes.window_bits
                cells = range(first, first + (1 << self.sizes.window_bits))
                entries += [P4RegisterEntry(name, index=i, data=0) for i in cells]
        await self.client.write(MODIFY, entries)

    def registers(self) -> list[str]:
        """The names of the program's registers."""
        return [register.alias for register in self.client.schema.registers]

    async def hold(self, rows: Sequence[Row]) -> None:
        """Writes what tables must hold, if they do not yet; it stays."""
        async with self._holding:
            missing = [row for row in rows if row.table not in self._held]
            await self.client.write(INSERT, [entry_of(row) for row in missing])
            self._held |= {row.table for row in missing}

    async def stand_in(self, host: ipaddress.IPv6Address) -> ipaddress.IPv4Address:
        """The IPv4 address by which the switch's program knows the host. Raises ConfigError where there can be none."""
        if ":" not in host_of(self.data):
            raise ConfigError(
                f"switch '{self.device.name}' receives packets at an IPv4 address, and a host of the job at {host}: "
                "write data_address of that host as an IPv4 address, or data of the switch as an IPv6 one",
                device=self.device.name,
            )
        async with self._holding:
            if host not in self._stand_ins:
                given = StandIn(POOL[len(self._stand_ins) + 1], host)
                try:
                    await self.client.write(MODIFY, [given])
                except InternalError as error:
                    raise ConfigError(
                        f"{error.message}; only software switches know IPv6 hosts: write data_address of {host} as an "
                        "IPv4 address",
                        device=self.device.name,
                    ) from None
                self._stand_ins[host] = given.address
        return self._stand_ins[host]

    async def install(self, lease: Lease, entries: Sequence[P4Entity]) -> None:
        """Writes table entries, which go with the lease."""
        lease.entries += entries
        await self.client.write(INSERT, entries)

    async def give_back(self, lease: Lease) -> None:
        """Removes its entries; again: nothing. What a broken switch had is gone already."""
        if lease not in self._leases:
            return
        entries, lease.entries = lease.entries, []
        try:
            with contextlib.suppress(JumpgateError):
                await self.client.write(DELETE, entries[::-1])
        finally:
            self._leases.remove(lease)
            async with self._returned:
                self._returned.notify_all()


async def lease_all(
    drivers: Sequence[SwitchDriver], job: str, instance: str, flows: int, claims: Iterable[str], row_bits: int
) -> tuple[Lease, ...]:
    """Take so many flows, and a region of `claims`, whose registers have 2^`row_bits` rows, of each switch on a way for
    the job alone; flows have the same numbers on all. Wait for other jobs until all switches have them. Raises
    CannotPlace for what a switch never has, Unreachable when others keep it too long."""
    wanted, last = frozenset(claims), drivers[-1]
    for driver in drivers:
        driver.check(job, flows, wanted)
    try:
        async with asyncio.timeout(LEASE_TIMEOUT_S):
            while True:
                cells = sorted(frozenset.intersection(*(driver.cells for driver in drivers)))
                last = next((d for d in drivers if not d.regions(wanted, row_bits)), None) or min(
                    drivers, key=lambda driver: len(driver.cells)
                )
                if last.regions(wanted, row_bits) and len(cells) >= flows:
                    break
                await last.returned()
    except TimeoutError:
        raise last.busy() from None
    flow_bits, secret = last.sizes.flow_bits, secrets.randbits(64)
    # the upper bits differ from those of the flows before, whose packets may still be on their way
    uses = {cell: max(driver.uses(cell) for driver in drivers) + 1 for cell in cells[:flows]}
    numbers = tuple(n % (1 << FLOW_NUMBER_BITS - flow_bits) << flow_bits | cell for cell, n in uses.items())
    found = []
    for driver in drivers:
        region, shares = driver.regions(wanted, row_bits)[0], driver.shares(row_bits)
        found.append(Lease(job, instance, numbers, wanted, region, shares, secret))
        driver.take(found[-1])
    return tuple(found)


def entry_of(row: Row, **more: int) -> P4TableEntry:
    """An entry of what a task asks for; `more` is matched, too."""
    action = P4TableAction(row.action, **dict(row.parameters))
    return P4TableEntry(row.table, match=P4TableMatch(dict(row.match) | more), action=action, priority=row.priority)
