"""The hosts of a service: connections to their agents, started or reached on first need and kept."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time

from jumpgate import debug
from jumpgate.errors import JumpgateError, Unreachable
from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.config import Config, HostConfig
from jumpgate.hosts.local import LocalAgent
from jumpgate.nca.interface import Host
from jumpgate.ntf.addresses import host_of
from jumpgate.orchestrator.record import Phase
from jumpgate.trust import tokens
from jumpgate.trust.tls import Identity

#: between two attempts to reach a host that does not answer
RETRY_S = 1.0


class Agents:
    """Of the hosts of a configuration. One that was lost, or cannot be reached, is tried again until it answers."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._hosts: dict[str, AgentHost] = {}
        self.own: dict[str, LocalAgent] = {}  #: processes of ours, by host
        self._reaching: dict[str, asyncio.Lock] = {}
        self._retries: dict[str, asyncio.Task[None]] = {}  # of hosts that do not answer
        self._closed = False

    @property
    def lost(self) -> frozenset[str]:
        """Hosts that do not answer; plans leave them out."""
        return frozenset(self._retries)

    async def lend(self, names: set[str], phases: list[Phase]) -> dict[str, Host]:
        """Live connections to the agents of the named hosts; starting and reaching what is missing is a phase.

        Raises what keeps a host from being used: Unreachable (which makes it `lost`), ProtocolError, BuildError.
        """
        wanted = [h for h in self._config.hosts if h.device.name in names]
        if missing := [h for h in wanted if not self._is_reached(h)]:
            phases.append(Phase("agents", time.time_ns()))
            await asyncio.gather(*map(self._reach, missing))
            phases[-1].end_ns = time.time_ns()
        return {h.device.name: self._hosts[h.device.name] for h in wanted}

    def forget_artifacts(self) -> None:
        """After a failure: an agent may have evicted an artifact since it was asked."""
        for host in self._hosts.values():
            host.forget_artifacts()

    async def close(self) -> None:
        """Ends every connection, and every agent of ours."""
        self._closed = True
        for retry in list(self._retries.values()):
            retry.cancel()
        for host in self._hosts.values():
            await host.close()
        for agent in self.own.values():
            agent.hang_up()  # all at once
        for agent in self.own.values():
            agent.stop()

    def _is_reached(self, host: HostConfig) -> bool:
        name = host.device.name
        return name in self._hosts and self._hosts[name].alive

    async def _reach(self, host: HostConfig) -> None:
        name = host.device.name
        async with self._reaching.setdefault(name, asyncio.Lock()):
            if self._is_reached(host):
                return
            if host.agent is None:
                if name in self.own:
                    await asyncio.to_thread(self.own.pop(name).stop)  # one that hangs takes its time
                self.own[name] = await LocalAgent.start(host.device, self._config.host_program)
                self._hosts[name] = self.own[name].host
            else:
                self._hosts[name] = await self._connect(host, host.agent)
                self._hosts[name].on_lost(functools.partial(self._note_lost, host))
        if debug.level() >= 1:
            debug.note("agent", name, f"reached at {self._hosts[name].address}")

    async def _connect(self, host: HostConfig, agent: str) -> AgentHost:
        name = host.device.name
        token = tokens.read(host.token_file or "", f"host '{name}'")
        tls = self._config.tls
        encryption = None if tls is None else Identity.load(tls.folder).context(server=False)
        try:
            return await AgentHost.connect(
                host.device, host_of(agent), int(agent.rpartition(":")[2]), token, encryption
            )
        except Unreachable as error:
            self._note_lost(host)
            raise Unreachable(f"host '{name}': {error.message}", host=name) from None

    def _note_lost(self, host: HostConfig) -> None:
        name = host.device.name
        if not self._closed and name not in self._retries:
            self._retries[name] = asyncio.create_task(self._retry(host))

    async def _retry(self, host: HostConfig) -> None:
        """Until the host is reached; what else is wrong with it, the next job that it is lent to is told."""
        try:
            while not self._is_reached(host):
                await asyncio.sleep(RETRY_S)
                with contextlib.suppress(Unreachable):
                    await self._reach(host)
        except JumpgateError:
            pass
        finally:
            del self._retries[host.device.name]
