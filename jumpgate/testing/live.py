"""Real agents for the conformance kit: what they start is watched, and can be killed.

LocalRig(registry, devices, live_hosts=agents)
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.local import LocalAgent
from jumpgate.nca.interface import Device, Driver, Reaches
from jumpgate.testing.leaks import MARK, Process, Watch, descriptors


class Agents:
    """Running agents (conformance.LiveHosts): by device name, with what must be as it is now when instances end."""

    def __init__(self, hosts: dict[str, AgentHost], watch: Watch, folder: Path) -> None:
        self.hosts = hosts
        self.drivers: dict[str, Driver] = {}
        self._watch, self._folder = watch, folder
        self._remember()

    def _remember(self) -> None:
        self._kept = self._watch.processes()
        self._before = self._open()

    async def reach(self, lifecycle: Reaches, device: Device) -> Driver:
        if device.name not in self.drivers:
            self.drivers[device.name] = await lifecycle.reach(device)
            self._remember()
        return self.drivers[device.name]

    def kill(self) -> None:
        for process in self._started():  # whatever they are called
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    def leftovers(self) -> Sequence[str]:
        return [
            *(f"process {p.pid} ({p.name})" for p in self._started()),
            *(f"descriptor {thing} of process {pid}" for pid, thing in sorted(self._open() - self._before)),
            *(f"file {path}" for path in self._folder.rglob("*")),
        ]

    def _started(self) -> list[Process]:
        return [process for process in self._watch.processes() if process not in self._kept]

    def _open(self) -> set[tuple[int, str]]:
        kept = (Process(os.getpid(), "this"), *self._kept)
        return {(p.pid, thing) for p in kept for thing in descriptors(p.pid)}


@contextlib.asynccontextmanager
async def agents(devices: Sequence[Device]) -> AsyncIterator[Agents]:
    """An agent for each device that is a host. Processes that are started meanwhile, by whoever, are watched;
    their temporary files go to a folder of their own."""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="jumpgate-live-") as folder, _environment({MARK: mark, "TMPDIR": folder}):
        started: list[LocalAgent] = []
        try:
            for device in devices:
                if device.kind == "host":
                    started.append(await LocalAgent.start(device, spares=0))
            hosts = {agent.host.device.name: agent.host for agent in started}
            for host in hosts.values():  # the first instance shows what an agent keeps open from then on
                await (await host.spawn("first", "first")).call("destroy")
            live = Agents(hosts, Watch(mark), Path(folder))
            try:
                yield live
            finally:
                for driver in live.drivers.values():
                    await driver.close()
        finally:
            for agent in started:
                await agent.host.close()
                agent.stop()


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """The variables for child processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
