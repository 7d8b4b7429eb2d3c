"""The hosts of a service: connections to their agents, started or reached on first need and kept."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from jumpgate import debug
from jumpgate.codegen import toolchain
from jumpgate.dataflow import proto
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import Schema
from jumpgate.errors import JumpgateError, Unreachable
from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.config import Config, HostConfig, reachable
from jumpgate.hosts.local import LocalAgent
from jumpgate.hosts.remote import SshAgent
from jumpgate.nca.interface import Device, Host
from jumpgate.ntf.addresses import host_of
from jumpgate.orchestrator.record import Phase
from jumpgate.trust import tokens
from jumpgate.v1 import dataflow_pb2

#: between two attempts to reach a host that does not answer
RETRY_S = 1.0
#: between two looks at how far hosts are that build their runtime
BUILDING_S = 0.5
#: for a host to find files and their schema
LOOK_TIMEOUT_S = 60.0


class Agents:
    """The agents of a configuration's hosts. One that was lost, or cannot be reached, is tried again until it
    answers."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._known = config.hosts  # with what their agents say of them
        self._hosts: dict[str, AgentHost] = {}
        self.own: dict[str, LocalAgent | SshAgent] = {}  #: processes of ours, by host
        self._reaching: dict[str, asyncio.Lock] = {}
        self._retries: dict[str, asyncio.Task[None]] = {}  # of hosts that do not answer
        self._ready_modules: set[str] = set()
        self._closed = False
        #: hears of each host that does not answer any more, or answers again
        self.on_change: Callable[[str, bool], None] = lambda *_: None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def devices(self) -> tuple[Device, ...]:
        """The hosts, as far as they are known."""
        return tuple(host.device for host in self._known)

    async def meet(self) -> None:
        """Reaches each host over SSH that nobody knows yet: its addresses and cores are part of plans. Those that do
        not answer are lost. Raises what else is wrong with one."""
        self._loop = asyncio.get_running_loop()
        unknown = [h for h in self._known if h.ssh and not h.agent and h.device.name not in self._retries]

        async def meet(host: HostConfig) -> None:
            with contextlib.suppress(Unreachable):
                await self._reach(host)

        await asyncio.gather(*map(meet, unknown))

    @property
    def lost(self) -> frozenset[str]:
        """Hosts that do not answer; plans leave them out."""
        return frozenset(self._retries)

    async def lend(self, names: set[str], phases: list[Phase]) -> dict[str, Host]:
        """Live connections to the agents of the named hosts or, if none is named, to that of any: the gateway of
        devices without agents. Starting and reaching what is missing is a phase.

        Raises what keeps a host from being used: Unreachable (which makes it `lost`), ProtocolError, BuildError.
        """
        wanted = [h for h in self._known if h.device.name in names] or [self._any()]
        if missing := [h for h in wanted if not self.is_reached(h.device.name)]:
            phases.append(Phase("agents", time.time_ns()))
            await asyncio.gather(*map(self._reach, missing))
            phases[-1].end_ns = time.time_ns()
        return {h.device.name: self._hosts[h.device.name] for h in wanted}

    def _any(self) -> HostConfig:
        """Return a host that answers, if there is one."""
        return next((h for h in self._known if h.device.name not in self.lost), self._known[0])

    async def building(self, names: Iterable[str], is_waited_for: bool = False) -> dict[str, dict[str, int]]:
        """Return the named hosts that build their runtime, and how far each is (AgentHost.building). Raises what keeps
        one from being used."""
        lent = (await self.lend(set(names), [])).values()
        hosts = [host for host in lent if isinstance(host, AgentHost) and not host.is_built]
        if not hosts:
            return {}
        found = await asyncio.gather(*(host.building(is_waited_for) for host in hosts))
        return {host.device.name: steps for host, steps in zip(hosts, found, strict=True) if steps}

    def is_reached(self, name: str) -> bool:
        """Return whether a host's agent can be asked at once."""
        return name in self._hosts and self._hosts[name].alive

    async def has_artifact(self, name: str, key: str) -> str | None:
        """The path of an artifact on a host. One that is not reached is known by the cache, if that is its own."""
        if self.is_reached(name):
            return await self._hosts[name].has_artifact(key)
        if not any(h.is_here for h in self._known if h.device.name == name):
            return None
        found = await asyncio.to_thread(toolchain.artifact, key)
        return None if found is None else str(found)

    async def look(
        self, host: str, paths: list[str], format: str, options: dict[str, str], schema: Schema | None = None
    ) -> Read:
        """Return the files that paths name on a host, "" for one that answers, as a Read of all columns, of that schema
        if it is known.
        Raises JumpgateError."""
        name = host or self._any().device.name
        agent = (await self.lend({name}, []))[name]
        assert isinstance(agent, AgentHost)
        known = None if schema is None else {field.name: str(field.type) for field in schema}
        found = await agent.ask("look", LOOK_TIMEOUT_S, paths=paths, format=format, options=options, schema=known)
        message = dataflow_pb2.Dataflow.FromString(base64.b64decode(found["read"]))
        read, _ = proto.decode(message)
        assert isinstance(read, Read)
        return read

    def ask(self, host: str, verb: str, timeout_s: float, **arguments: Any) -> dict[str, Any]:
        """A question to a host's agent, from a thread. Raises JumpgateError."""
        assert self._loop is not None

        async def ask() -> dict[str, Any]:
            agent = (await self.lend({host}, []))[host]
            assert isinstance(agent, AgentHost)
            return await agent.ask(verb, timeout_s, **arguments)

        return asyncio.run_coroutine_threadsafe(ask(), self._loop).result()

    async def keep_ready(self, modules: set[str]) -> None:
        """Keep a process of each Python module on every host, which waits to become an instance."""
        added = modules - self._ready_modules
        self._ready_modules |= modules
        hosts = [host for host in self._hosts.values() if host.alive] if added else []
        await asyncio.gather(*(host.keep_ready(m) for host in hosts for m in added), return_exceptions=True)

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

    async def _reach(self, host: HostConfig) -> None:
        name = host.device.name
        async with self._reaching.setdefault(name, asyncio.Lock()):
            if self.is_reached(host.device.name):
                return
            if name in self.own:
                await asyncio.to_thread(self.own.pop(name).stop)  # one that hangs takes its time
            try:
                self._hosts[name] = await self._connect(host)
            except Unreachable:
                if not host.is_here:
                    self._note_lost(host)
                raise
            if not host.is_here:
                self._learn(host)
                self._hosts[name].on_lost(functools.partial(self._note_lost, host))
        for module in self._ready_modules:
            asyncio.create_task(_quietly(self._hosts[name].keep_ready(module)))
        if debug.level() >= 1:
            debug.note("agent", name, f"reached at {self._hosts[name].address}")

    async def _connect(self, host: HostConfig) -> AgentHost:
        name = host.device.name
        if host.ssh is not None:
            self.own[name] = await SshAgent.start(host, self._config.identity)
            return self.own[name].host
        if host.agent is None:
            self.own[name] = await LocalAgent.start(host.device, self._config.host_program)
            return self.own[name].host
        return await _reached(host, self._config)

    def _learn(self, host: HostConfig) -> None:
        """Store the facts that the host's agent tells."""
        reached = self._hosts[host.device.name]
        found = host.found(reached.facts, reached.address)
        same = host.device.name
        self._known = reachable(tuple(found if h.device.name == same else h for h in self._known))
        for known in self._known:  # addresses of the others may have changed, too
            if known.device.name in self._hosts:
                self._hosts[known.device.name].device = known.device

    def _note_lost(self, host: HostConfig) -> None:
        name = host.device.name
        if not self._closed and name not in self._retries:
            self.on_change(name, False)
            self._retries[name] = asyncio.create_task(self._retry(host))

    async def _retry(self, host: HostConfig) -> None:
        """Until the host is reached; what else is wrong with it, the next job that it is lent to is told."""
        try:
            while not self.is_reached(host.device.name):
                await asyncio.sleep(RETRY_S)
                with contextlib.suppress(Unreachable):
                    await self._reach(host)
            self.on_change(host.device.name, True)
        except JumpgateError:
            pass
        finally:
            del self._retries[host.device.name]


async def _quietly(work: Awaitable[None]) -> None:
    with contextlib.suppress(JumpgateError):
        await work


async def greet(host: HostConfig, config: Config) -> dict[str, Any]:
    """Return the facts that a host's agent at a configured address tells. Raises Unreachable, ConfigError,
    ProtocolError."""
    reached = await _reached(host, config)
    await reached.close()
    return reached.facts


async def _reached(host: HostConfig, config: Config) -> AgentHost:
    assert host.agent is not None
    name = host.device.name
    token = tokens.read(host.token_file or "", f"host '{name}'")
    identity = config.identity
    encryption = None if identity is None else identity.context(server=False)
    try:
        return await AgentHost.connect(
            host.device, host_of(host.agent), int(host.agent.rpartition(":")[2]), token, encryption
        )
    except Unreachable as error:
        raise Unreachable(f"host '{name}': {error.message}", host=name) from None
