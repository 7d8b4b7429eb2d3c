"""The card between jobs (its driver), and the life-cycle of the gateways that use it."""

from __future__ import annotations

import asyncio
import sys
import zlib
from typing import Any

from card import KIND
from card.device import COUNT, HEADER, MAGIC, OK
from jumpgate.errors import InstanceFailed, Unreachable
from jumpgate.nca.interface import Device, InstanceHandle, InstancePlan, JobContext
from jumpgate.nca.lifecycle import WorkerLifecycle

TIMEOUT_S = 10.0


def job_number(job: str) -> int:
    """By which the card knows a job."""
    return zlib.crc32(job.encode())


class CardDriver:
    """A connection to the card, which tells when it ends; `address` is for gateways."""

    def __init__(self, device: Device, address: str, child: asyncio.subprocess.Process | None) -> None:
        self.device, self.address, self._child = device, address, child
        self._lock = asyncio.Lock()

    @staticmethod
    async def reach(device: Device) -> CardDriver:
        """Connects to the card that jumpgate.toml names, or starts a simulated one. Raises Unreachable."""
        address, child = KIND.value(device, "address"), None
        if address is None:
            sizes = (str(KIND.value(device, "rows")), str(KIND.value(device, "tables")))
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "card.device", *sizes,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            assert child.stdout is not None
            address = f"127.0.0.1:{(await child.stdout.readline()).decode().strip()}"
        driver = CardDriver(device, address, child)
        try:
            host, _, port = address.rpartition(":")
            driver._reader, driver._writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), TIMEOUT_S)
            await asyncio.wait_for(driver._tables(0), TIMEOUT_S)  # it answers
        except (OSError, ValueError, TimeoutError) as error:
            await driver.close()
            raise Unreachable(f"no card answers at {address}: {error}", device=device.name) from None
        return driver

    @property
    def alive(self) -> bool:
        return not self._reader.at_eof()

    async def watch(self, job: str) -> None:
        while not self._reader.at_eof():
            await asyncio.sleep(0.1)
        raise InstanceFailed(f"card '{self.device.name}' at {self.address} ended", device=self.device.name)

    async def release(self, job: str) -> None:
        """A table goes with its gateway's connection: waits until the card has noticed."""
        async with asyncio.timeout(TIMEOUT_S), self._lock:
            while self.alive and await self._tables(job_number(job)):
                await asyncio.sleep(0.01)

    async def _tables(self, job: int) -> int:
        self._writer.write(HEADER.pack(MAGIC, COUNT, job, 0))
        try:
            _, status, count, _ = HEADER.unpack(await self._reader.readexactly(HEADER.size))
        except asyncio.IncompleteReadError:  # the card is gone, and its tables
            return 0
        return int(count) if status == OK else 0

    async def close(self) -> None:
        if hasattr(self, "_writer"):
            self._writer.close()
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()
            await self._child.wait()


class CardLifecycle(WorkerLifecycle):
    """A gateway process for each instance, on the host that sends to it."""

    module = "card.gateway"

    async def reach(self, device: Device) -> CardDriver:
        return await CardDriver.reach(device)

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        return {"card": instance.device.name}

    async def configure(
        self, handle: InstanceHandle, instance: InstancePlan, artifact: dict[str, Any], context: JobContext
    ) -> None:
        driver = context.drivers[instance.device.name]
        assert isinstance(driver, CardDriver)
        told = {**artifact, "address": driver.address, "job_number": job_number(context.job)}
        await super().configure(handle, instance, told, context)
