"""The controller's end of an agent: what the orchestrator lends to life-cycles as a Host."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import jumpgate
from jumpgate import deadline
from jumpgate.codegen import toolchain
from jumpgate.errors import InstanceFailed, JumpgateError, NotFound, ProtocolError, Unreachable, from_dict
from jumpgate.hosts.instances import died
from jumpgate.hosts.wire import Caller, connect
from jumpgate.hosts.zygote import LOST, End
from jumpgate.nca.interface import Device
from jumpgate.nca.shared import Shared
from jumpgate.ntf.addresses import joined
from jumpgate.trust import proof, versions

#: for an agent to greet us
HELLO_TIMEOUT_S = 4.0
#: for what needs no work, but perhaps a core or a disk that others use; one that hangs is noticed by its beats
ANSWER_TIMEOUT_S = 30.0
#: an agent is asked for a sign of life in this interval, and given up when so many passed without a word of it. This
#: process counts them: where it gets no time, it expects nobody else to.
BEAT_S, SILENT_BEATS_MAX = 1.0, 3
#: an agent is asked again for an artifact after so many seconds, which marks it as used: none that was used of late
#: is evicted (codegen.cache.RECENT_S)
KNOWN_S = 300.0
#: programs that wait for the host's leisure, and for how long one that failed is not built again
LATER_MAX, LATER_AGAIN_S = 16, 60.0


class Instance:
    """A live instance (nca.interface.InstanceHandle). `ended` is done once its process is gone."""

    def __init__(self, caller: Caller, job: str, id: str) -> None:
        self._caller = caller
        self.job, self.id, self.name, self.pid = job, id, f"{job}/{id}", 0
        self.is_started = False  #: the agent has been asked for it
        #: several wait for it: never awaited as it is, as who is cancelled while doing so cancels it
        self.ended: asyncio.Future[End] = asyncio.get_running_loop().create_future()

    async def call(self, verb: str, /, **arguments: Any) -> dict[str, Any]:
        """Raises what the instance answered, or InstanceFailed once it is gone. `destroy` returns when it is gone."""
        if verb == "destroy":
            return await self._destroy()
        if self.ended.done():
            raise died(self.id, self.ended.result())
        asked = {"instance": self.name, "verb": verb, "arguments": arguments}
        return await self._caller.ask("call", asked, meaning=self.meaning)

    def meaning(self, error: JumpgateError) -> JumpgateError:
        """InstanceFailed once it is gone: the agent had forgotten it already when our question came."""
        return died(self.id, self.ended.result()) if isinstance(error, NotFound) and self.ended.done() else error

    async def _destroy(self) -> dict[str, Any]:
        if not self.ended.done():
            asking = self._caller.call("call", instance=self.name, verb="destroy")
            try:
                await asyncio.wait((asking, self.ended), return_when=asyncio.FIRST_COMPLETED)
                if not self.ended.done():
                    with contextlib.suppress(InstanceFailed, NotFound):  # it died just now, as `ended` is about to say
                        asking.result()
                await asyncio.wait((self.ended,))
            finally:
                asking.cancel()
        return {}


class AgentHost:
    """One connection to an agent (nca.interface.Host). Closing it ends every instance that it started."""

    def __init__(self, device: Device, address: str) -> None:
        self.device = device
        self.address = address
        self.facts: dict[str, Any] = {}  #: what the agent says of its host: version, cores, memory_bytes, pid
        self.builds_here = False  #: programs for it are compiled on this machine: it has no compiler
        self._caller = Caller(self._lost, self._event)
        self._caller.closed.add_done_callback(lambda _: self._all_ended())
        self._instances: dict[str, Instance] = {}
        self._artifacts: dict[str, tuple[str, float]] = {}  # paths, and when they were heard
        self._compiling: dict[str, asyncio.Task[str]] = {}
        self._later: dict[str, asyncio.Task[None]] = {}
        self._failed: dict[str, tuple[str, float]] = {}  # of these, why and when
        self._leisure = asyncio.Lock()  # of the one of these that is compiled
        self._hangs = False
        self.is_here = False  #: its files are this machine's
        self.is_built = False  #: it has said that it has its runtime

    @staticmethod
    async def connect(
        device: Device, host: str, port: int, token: str, encryption: ssl.SSLContext | None = None
    ) -> AgentHost:
        """Raises Unreachable, or ProtocolError when the agent has another secret, version or authority."""
        self = AgentHost(device, joined(host, port))
        try:
            await connect(host, port, self._caller.lines, encryption)
            self.facts = await self._greet(token)
            version = self.facts.get("version")
            if not versions.AGENTS.serves(version):
                raise ProtocolError(
                    f"the agent of host '{device.name}' is of Jumpgate {version}, this service of "
                    f"{jumpgate.__version__}: {versions.AGENTS.remedy}",
                    host=device.name,
                )
        except ProtocolError as error:
            self._caller.close()
            if "host" in error.fields:
                raise
            raise ProtocolError(f"host '{device.name}': {error.message}", host=device.name) from None
        except InstanceFailed:
            raise Unreachable(
                f"the agent at {self.address} hung up before it said who it is: do both ends use TLS, with "
                "certificates of one authority ([tls] in jumpgate.toml, --tls of the agent)?",
                host=device.name,
            ) from None
        except BaseException:
            self._caller.close()
            raise
        beating = asyncio.create_task(self._beat())
        self._caller.closed.add_done_callback(lambda _: beating.cancel())
        return self

    async def _beat(self) -> None:
        silent = 0
        while silent < SILENT_BEATS_MAX:
            heard = self._caller.heard
            self._caller.send("ping")
            await asyncio.sleep(BEAT_S)
            silent = 0 if self._caller.heard != heard else silent + 1
        self._hangs = True
        self._caller.lines.abort()

    async def _greet(self, token: str) -> dict[str, Any]:
        """Shows that we know the secret once the agent has; it is never sent. Raises ProtocolError."""
        ours = proof.challenge()
        answer = await self._ask("hello", HELLO_TIMEOUT_S, challenge=ours)
        theirs = str(answer.get("challenge", ""))
        if not proof.is_proof(answer.get("proof"), token, "agent", theirs, ours):
            raise ProtocolError(
                f"who answers at {self.address} does not know the token that token_file in jumpgate.toml has: "
                "a service and its agents share one secret"
            )
        return await self._ask("prove", HELLO_TIMEOUT_S, proof=proof.proof(token, "service", theirs, ours))

    def on_lost(self, call: Callable[[], None]) -> None:
        """Calls it once the connection has ended, whoever ended it."""
        self._caller.closed.add_done_callback(lambda _: call())

    @property
    def alive(self) -> bool:
        return self._caller.lines.is_open

    async def building(self, is_waited_for: bool = False) -> dict[str, int]:
        """Return the steps of its runtime's build that are `done`, `of` so many; empty if none runs, from then on. A
        build that nobody has waited for goes on at full speed if it is waited for."""
        steps = dict(await self._ask("building", is_waited_for=is_waited_for))
        self.is_built = not steps
        return steps

    def known(self, key: str) -> str | None:
        """The path of an artifact that it has said of late that it has."""
        path, heard_at = self._artifacts.get(key, ("", -KNOWN_S))
        is_known = path and time.monotonic() < heard_at + KNOWN_S
        return path if is_known and (not self.is_here or os.path.exists(path)) else None

    async def has_artifact(self, key: str) -> str | None:
        if path := self.known(key):
            return path
        if path := (await self._ask("has_artifact", key=key))["path"]:
            _note(self._artifacts, key, path, KNOWN_S)
        return path

    async def compile(self, name: str, source: str, key: str) -> str:
        """Each program once, however many jobs wait for it."""
        if key not in self._compiling:
            self._compiling[key] = compiling = asyncio.create_task(self._compile(name, source, key))
            compiling.add_done_callback(lambda task: self._compiling.pop(key).cancelled() or task.exception())
        try:
            return await asyncio.shield(self._compiling[key])
        except JumpgateError as error:
            raise from_dict(error.to_dict()) from None  # each job adds its own name

    def compile_later(self, name: str, source: Callable[[], str], key: str) -> None:
        """As nca.interface.Host. What still runs when the connection ends fails with it."""

        async def compile() -> None:
            try:
                async with self._leisure:
                    await self._compile(name, await asyncio.to_thread(source), key, at_leisure=True)
            except JumpgateError as error:
                _note(self._failed, key, error.code, LATER_AGAIN_S)
            except RuntimeError as error:
                if "shutdown" not in str(error):  # the process ends, and its threads take no more work
                    raise
            finally:
                del self._later[key]

        _, failed_at = self._failed.get(key, ("", -LATER_AGAIN_S))
        if key not in self._later and len(self._later) < LATER_MAX and time.monotonic() >= failed_at + LATER_AGAIN_S:
            self._later[key] = asyncio.create_task(compile())

    async def _compile(self, name: str, source: str, key: str, at_leisure: bool = False) -> str:
        timeout_s = None if at_leisure else deadline.left_s()
        if self.builds_here:
            build = functools.partial(toolchain.build_artifact, at_leisure=at_leisure, timeout_s=timeout_s)
            built = await asyncio.to_thread(build, name, source, key)
            content = base64.b64encode(await asyncio.to_thread(built.read_bytes)).decode()
            answer = await self._caller.call("keep_artifact", key=key, content=content)
        else:
            answer = await self._caller.call(
                "compile", name=name, source=source, key=key, at_leisure=at_leisure, timeout_s=timeout_s
            )
        path = str(answer["path"])
        _note(self._artifacts, key, path, KNOWN_S)
        return path

    async def ask(self, verb: str, timeout_s: float, **arguments: Any) -> dict[str, Any]:
        """A question about the host's files (look, estimate). Raises Unreachable, and what is wrong with them."""
        return await self._ask(verb, timeout_s, **arguments)

    async def keep_ready(self, module: str) -> None:
        """Keep a process of a Python module there that waits to become an instance."""
        await self._ask("keep_ready", module=module)

    def forget_artifacts(self) -> None:
        """After a failure: an artifact may have been removed since it was seen."""
        self._artifacts.clear()

    def instance(self, job: str, id: str) -> Instance:
        """One that `begin` will spawn."""
        return Instance(self._caller, job, id)

    def _enter(self, instance: Instance) -> None:
        self._instances[instance.name] = instance
        instance.is_started = True

    async def spawn(self, job: str, instance: str, module: str = "") -> Instance:
        handle = self.instance(job, instance)
        self._enter(handle)  # before the answer: it may end at once
        try:
            answer = await self._caller.call("spawn", job=job, instance=instance, module=module)
            handle.pid = int(answer["pid"])
        except JumpgateError:  # not where somebody has given up waiting: it may be on its way
            self._instances.pop(handle.name, None)
            raise
        return handle

    async def start(
        self, job: str, instances: Mapping[str, Mapping[str, Any]]
    ) -> list[tuple[Instance, dict[str, Any]]]:
        """Spawns instances, and asks them to allocate; what each answered."""
        handles = [self.instance(job, id) for id in instances]
        for handle in handles:
            self._enter(handle)
        answers = (await self._caller.call("start", job=job, instances=instances))["started"]
        for handle, answer in zip(handles, answers, strict=True):
            handle.pid = int(answer["pid"])
        return [(handle, answer["allocated"]) for handle, answer in zip(handles, answers, strict=True)]

    def begin(
        self,
        instances: Sequence[Instance],
        configurations: Sequence[Mapping[str, Any]],
        shared: Shared,
        stages: Sequence[int],
    ) -> tuple[Awaitable[object], list[list[Awaitable[dict[str, Any]]]]]:
        """In one message spawns those instances of one job that have not been started, configures all (what they are
        told may refer to what is shared), and asks for stages, which each runs in order. Done once all are configured;
        and the answers to come for each stage."""

        def meaning(error: JumpgateError) -> JumpgateError:
            return next((m for i in instances if (m := i.meaning(error)) is not error), error)

        told = {i.id: configuration for i, configuration in zip(instances, configurations, strict=True)}
        missing = [i for i in instances if not i.is_started]
        for i in missing:
            self._enter(i)
        asked = {"job": instances[0].job, "start": [i.id for i in missing], "configurations": told, "stages": [*stages]}
        meanings = (meaning, *(i.meaning for _ in stages for i in instances))
        configured, *answers = self._caller.begin("begin", asked, meanings, shared=shared.used())
        if missing:
            configured.add_done_callback(functools.partial(_learn_pids, missing))
        count = len(instances)
        return configured, [[*answers[n * count : (n + 1) * count]] for n in range(len(stages))]

    def each(self, instances: Sequence[Instance], verb: str, **arguments: Any) -> list[Awaitable[dict[str, Any]]]:
        """The same request to each instance, in one message; their answers to come."""
        asked = {"instances": [i.name for i in instances], "verb": verb, "arguments": arguments}
        return [*self._caller.begin("each", asked, [i.meaning for i in instances])]

    async def release(self, job: str) -> None:
        """Ends what is left of the job."""
        left = [name for name, instance in self._instances.items() if instance.job == job]
        if left and self.alive:  # else the agent has ended them, or has ended itself
            await self._ask("release", job=job)
            for name in left:
                self._instances.pop(name, None)

    async def close(self) -> None:
        self._caller.close()
        await asyncio.shield(self._caller.closed)

    async def _ask(self, verb: str, timeout_s: float | None = None, **arguments: Any) -> dict[str, Any]:
        """A call that an agent answers at once. One that hangs is left, and ends what we started once it wakes up."""
        try:
            return await asyncio.wait_for(self._caller.call(verb, **arguments), timeout_s or ANSWER_TIMEOUT_S)
        except TimeoutError:
            self._caller.lines.abort()
            raise Unreachable(
                f"the agent of host '{self.device.name}' at {self.address} does not answer", host=self.device.name
            ) from None

    def _lost(self) -> InstanceFailed:
        silent = f"has not answered for {SILENT_BEATS_MAX * BEAT_S:g} s: it hangs, or can no longer be reached"
        how = silent if self._hangs else "has ended, or can no longer be reached"
        return InstanceFailed(
            f"the agent of host '{self.device.name}' at {self.address} {how}, and every instance with it",
            host=self.device.name,
        )

    def _event(self, message: dict[str, Any]) -> None:
        instance = self._instances.pop(str(message.get("instance")), None)
        if instance is not None:
            instance.ended.set_result(End(int(message["status"]), int(message["signal"]), bool(message["stopped"])))

    def _all_ended(self) -> None:
        for instance in self._instances.values():
            instance.ended.set_result(LOST)
        self._instances.clear()


def _learn_pids(instances: Sequence[Instance], begun: asyncio.Future[dict[str, Any]]) -> None:
    if not begun.cancelled() and begun.exception() is None:
        for i in instances:
            i.pid = int(begun.result()["pids"][i.id])


def _note(known: dict[str, tuple[str, float]], key: str, text: str, lasts_s: float) -> None:
    """Note a text with the time, and forget what was noted longer ago; the oldest are first."""
    now = time.monotonic()
    known.pop(key, None)
    known[key] = text, now
    while known[oldest := next(iter(known))][1] + lasts_s < now:
        del known[oldest]
