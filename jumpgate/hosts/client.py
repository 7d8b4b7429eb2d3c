"""The controller's end of an agent: what the orchestrator lends to life-cycles as a Host."""

from __future__ import annotations

import asyncio
from typing import Any

from jumpgate.errors import Unreachable
from jumpgate.hosts.agent import died
from jumpgate.hosts.wire import Caller, connect
from jumpgate.nca.interface import Device


class Instance:
    """A live instance (nca.interface.InstanceHandle). `ended` is done with (status, signal) once its process is gone."""

    def __init__(self, caller: Caller, device: Device, job: str, id: str, pid: int) -> None:
        self._caller = caller
        self.device, self.id, self.name, self.pid = device, id, f"{job}/{id}", pid
        self.ended: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()

    async def call(self, verb: str, /, **arguments: Any) -> dict[str, Any]:
        if self.ended.done():
            if verb == "destroy":
                return {}
            raise died(self.id, self.ended.result())
        return await self._caller.call("call", instance=self.name, verb=verb, arguments=arguments)

    async def kill(self) -> None:
        """Ends the process whatever it is doing; returns when it is gone."""
        if not self.ended.done():
            await self._caller.call("kill", instance=self.name)
            await self.ended


class AgentHost:
    """One connection to an agent (nca.interface.Host). Closing it ends every instance that it started."""

    def __init__(self, device: Device, caller: Caller) -> None:
        self.device = device
        self._caller = caller
        self._instances: dict[str, Instance] = {}
        self._artifacts: dict[str, str] = {}

    @staticmethod
    async def connect(device: Device, host: str, port: int, token: str) -> AgentHost:
        """Raises Unreachable, or ProtocolError when the agent has another secret."""
        reader, writer = await connect(host, port)
        instances: dict[str, Instance] = {}

        def lost() -> Unreachable:
            return Unreachable(f"the agent of host '{device.name}' at {host}:{port} is gone", host=device.name)

        def event(message: dict[str, Any]) -> None:
            instance = instances.pop(str(message["instance"]), None)
            if instance is not None and not instance.ended.done():
                instance.ended.set_result((int(message["status"]), int(message["signal"])))

        caller = Caller(reader, writer, lost, event)
        self = AgentHost(device, caller)
        self._instances = instances
        caller.closed.add_done_callback(lambda _: self._all_ended())
        await caller.call("hello", token=token)
        return self

    @property
    def alive(self) -> bool:
        return not self._caller.closed.done()

    async def has_artifact(self, key: str) -> str | None:
        if key not in self._artifacts:
            path = (await self._caller.call("has_artifact", key=key))["path"]
            if path is None:
                return None
            self._artifacts[key] = path
        return self._artifacts[key]

    async def compile(self, name: str, source: str, key: str) -> str:
        path = str((await self._caller.call("compile", name=name, source=source, key=key))["path"])
        self._artifacts[key] = path
        return path

    def forget_artifacts(self) -> None:
        """After a failure: an artifact may have been evicted since it was seen."""
        self._artifacts.clear()

    async def spawn(self, job: str, instance: str) -> Instance:
        handle = Instance(self._caller, self.device, job, instance, 0)
        self._instances[handle.name] = handle
        try:
            handle.pid = int((await self._caller.call("spawn", job=job, instance=instance))["pid"])
        except BaseException:
            self._instances.pop(handle.name, None)
            raise
        return handle

    def _all_ended(self) -> None:
        for instance in self._instances.values():
            if not instance.ended.done():
                instance.ended.set_result((-1, 0))

    async def close(self) -> None:
        await self._caller.close()


