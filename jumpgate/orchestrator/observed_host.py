"""A host as a job's compile sees it: what is built there is noticed, and shown where $JUMPGATE_DEBUG asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jumpgate import debug
from jumpgate.nca.interface import Device, Host, InstanceHandle


@dataclass(frozen=True)
class ObservedHost:
    """Wraps a host (nca.interface.Host); `began` is called before each compiler is."""

    host: Host
    began: Callable[[], None]

    @property
    def device(self) -> Device:
        return self.host.device

    async def compile(self, name: str, source: str, key: str) -> str:
        self.began()
        if debug.level() >= 4:
            debug.note(name, self.device.name, source)
        return await self.host.compile(name, source, key)

    def compile_later(self, name: str, source: Callable[[], str], key: str) -> None:
        self.host.compile_later(name, source, key)

    async def has_artifact(self, key: str) -> str | None:
        return await self.host.has_artifact(key)

    async def spawn(self, job: str, instance: str, module: str = "") -> InstanceHandle:
        return await self.host.spawn(job, instance, module)

    async def release(self, job: str) -> None:
        await self.host.release(job)
