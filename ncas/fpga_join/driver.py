"""One card between jobs: who has which of its tables and flows."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from jumpgate.errors import CannotPlace, JumpgateError, Unreachable
from jumpgate.nca.interface import Device
from jumpgate.ncas.fpga_join.child import Child
from jumpgate.ncas.fpga_join.kind import FPGA, buckets

#: for other jobs to give back what a job needs
LEASE_TIMEOUT_S = 20.0
FLOWS = 1 << 16


@dataclass(eq=False)
class Lease:
    """One instance's share of a card: tables of so many buckets in all, and flows, of which `arriving` arrive and
    `leaving` leave; `secret` is in every packet of these."""

    job: str
    id: str
    tables: int
    buckets: int
    arriving: tuple[int, ...]
    leaving: tuple[int, ...]
    secret: int = field(default_factory=lambda: secrets.randbits(64), repr=False)


class CardDriver:
    """A card that several jobs share, each with tables and flows of its own."""

    def __init__(self, device: Device, child: Child) -> None:
        self.device, self.child = device, child
        self._leases: list[Lease] = []
        self._next = 0
        self._returned = asyncio.Condition()

    @staticmethod
    async def reach(device: Device) -> CardDriver:
        """Starts the card. Raises Unreachable, or what keeps it from being built."""
        backend, address = FPGA.value(device, "backend"), FPGA.value(device, "address")
        return CardDriver(device, await Child.start(device.name, backend, address))

    @property
    def data(self) -> str:
        """Where it receives packets."""
        return self.child.data

    @property
    def alive(self) -> bool:
        return self.child.alive

    async def watch(self, job: str) -> None:
        await self.child.watch([lease.id for lease in self._leases if lease.job == job])

    async def release(self, job: str) -> None:
        for lease in [x for x in self._leases if x.job == job]:
            await self.give_back(lease)

    async def close(self) -> None:
        await self.child.close()

    async def lease(self, job: str, instance: str, bits: Sequence[int], arriving: int, leaving: int) -> Lease:
        """Tables of 2^bits buckets and flows for the job alone; waits for other jobs. Raises CannotPlace, or
        Unreachable when others keep them too long."""
        tables, need, every = len(bits), sum(1 << b for b in bits), int(FPGA.value(self.device, "tables"))
        if tables > every:
            raise CannotPlace(
                f"{tables} build sides; card '{self.device.name}' holds {every}. Add another card.",
                device=self.device.name,
            )
        try:
            async with asyncio.timeout(LEASE_TIMEOUT_S), self._returned:
                await self._returned.wait_for(lambda: self._has(tables, need))
                numbers = self._numbers(arriving + leaving)
                lease = Lease(job, f"{job}/{instance}", tables, need, numbers[:arriving], numbers[arriving:])
                self._leases.append(lease)
                return lease
        except TimeoutError:
            others = ", ".join(sorted({x.job for x in self._leases}))
            raise Unreachable(
                f"card '{self.device.name}' is busy: for {LEASE_TIMEOUT_S:g} s other jobs ({others}) have had the "
                "tables that this one needs. Run it again later, or add a card.",
                device=self.device.name,
            ) from None

    def _has(self, tables: int, need: int) -> bool:
        """So many tables and buckets that nobody has."""
        taken = sum(x.tables for x in self._leases), sum(x.buckets for x in self._leases)
        return taken[0] + tables <= FPGA.value(self.device, "tables") and taken[1] + need <= buckets(self.device)

    def _numbers(self, count: int) -> tuple[int, ...]:
        """Flows that nobody has; the longest unused ones, as packets of earlier jobs may still be on their way."""
        used = {n for x in self._leases for n in (*x.arriving, *x.leaving)}
        found: list[int] = []
        while len(found) < count:
            if self._next not in used:
                found.append(self._next)
            self._next = (self._next + 1) % FLOWS
        return tuple(found)

    async def give_back(self, lease: Lease) -> None:
        """Frees its tables; again: nothing. What a broken card had is gone already."""
        if lease not in self._leases:
            return
        try:
            with contextlib.suppress(JumpgateError):
                await self.child.call("remove", lease.id)
        finally:
            self._leases.remove(lease)
            self.child.forget(lease.id)
            async with self._returned:
                self._returned.notify_all()
