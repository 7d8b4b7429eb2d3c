"""The agent of one host: stays up between jobs, holds artifacts by content, starts, watches and ends instances.

    python -m jumpgate.hosts.agent [--listen HOST:PORT] [--token-file FILE] [--tls FOLDER] [--alone-s SECONDS]

Without a token file, the shared secret is the first line of standard input (never an argument, which others could
read), and the agent ends with its standard input or its parent: so a service starts it on this machine, and, by SSH,
on others. There it also ends when no controller has been connected for SECONDS: the end of standard input may come
late behind a partition. The first line of its output is {"port": N}, or {"error": …} if it cannot start.

Verbs on a connection (jumpgate/hosts/wire.py): hello and prove, by which both ends show that they know the secret
without saying it (jumpgate/trust/proof.py), then ping, building (how far its runtime is), look and estimate (files of
this host), has_artifact, keep_artifact, compile, keep_ready, spawn, call, release. Three are for several instances of a
job: start spawns them, and asks them to allocate; begin configures them, after it has spawned those that need not
listen, and asks for stages; each is a call to each of them. begin answers once all are configured, and then, as each
does, for every instance (and stage) by itself, under the numbers after its own (each: from its own on). A connection
owns the instances that it started: when it closes, they are killed.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import functools
import json
import os
import signal
import ssl
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import jumpgate
from jumpgate.codegen import cache, spool, toolchain
from jumpgate.converters import probe
from jumpgate.dataflow import builder, proto
from jumpgate.errors import (
    ConfigError,
    InternalError,
    JumpgateError,
    NotFound,
    ProtocolError,
)
from jumpgate.hosts.facts import registered
from jumpgate.hosts.instances import SPARES, Instance, Process, Spares, released
from jumpgate.hosts.wire import HELLO_BYTES_MAX, LINE_BYTES_MAX, Lines, failure
from jumpgate.hosts.zygote import DESTROYED, End, Zygote
from jumpgate.machine import LOWEST, lift_memory_bound, memory_bytes, raise_open_files, yield_to_others
from jumpgate.nca.shared import filled
from jumpgate.ntf.addresses import host_of
from jumpgate.trust import proof, tokens
from jumpgate.trust.tls import Identity

T = TypeVar("T")

#: for who connects to prove that it knows the secret, TLS included
HELLO_TIMEOUT_S = 5.0
#: connections that have not yet: of one peer, and of all; the oldest gives way to the next
UNPROVEN_OF_PEER_MAX, UNPROVEN_MAX = 16, 64
#: of what is logged about a stranger
STRANGER_TEXT_MAX = 200
#: for a released instance to end by itself; then it is killed
DESTROY_TIMEOUT_S = 1.0


class Agent:
    """The agent that all connections share: one zygote, replaced if it dies, and as many compilers at once as there are
    cores.

    host_program: what to fork instances from; None is the runtime's. spares: how many wait to become instances.
    """

    def __init__(self, token: str, host_program: Path | None = None, spares: int = SPARES) -> None:
        self.token = token
        self.cores = len(os.sched_getaffinity(0))
        self._host_program, self._spare_count = host_program, spares
        self._zygote: Zygote | None = None
        self.spares: dict[str, Spares] = {}  #: of the zygote, by the module that they run; "": the runtime
        self._ready_modules: set[str] = set()
        self._starting = asyncio.Lock()
        self._builders = ThreadPoolExecutor(self.cores, "jumpgate-build")
        self._later_builder = ThreadPoolExecutor(1, "jumpgate-build-later")
        self._preparing: asyncio.Task[None] | None = None
        self.connections: set[Connection] = set()
        self._unproven: dict[Connection, str] = {}  # in the order in which they came, with their peers
        self.alone_since: float | None = time.monotonic()  #: None while somebody is connected

    async def zygote(self, at_leisure: bool = False) -> Zygote:
        """Return the running zygote. The first call builds the runtime; at_leisure: nobody waits for that."""
        if not at_leisure:
            toolchain.hurry()
        async with self._starting:
            if self._zygote is None or not self._zygote.alive:
                build = functools.partial(toolchain.runtime, at_leisure=at_leisure)
                program = self._host_program or (await self.build(build)).host_program
                self._zygote = Zygote(program)
                await self._zygote.ready
                self.spares = {"": Spares(self._zygote, self._spare_count)}
            for module in self._ready_modules - self.spares.keys():
                self.spares[module] = Spares(self._zygote, min(1, self._spare_count), module)
            return self._zygote

    async def keep_ready(self, module: str) -> None:
        """Keep a process of a Python module, which loads what it needs before it becomes an instance."""
        self._ready_modules.add(module)
        await self.zygote(at_leisure=True)

    async def prepare(self) -> None:
        """Starts the zygote, so that the first job does not wait; a runtime that is not there is built meanwhile.
        Raises what keeps it from starting, but for a build that fails: who spawns an instance is told of that."""
        _clear_spool()
        if self._host_program is not None or await asyncio.to_thread(toolchain.is_built):
            await self.zygote()
            return

        async def quietly() -> None:
            with contextlib.suppress(JumpgateError):
                await self.zygote(at_leisure=True)

        self._preparing = asyncio.create_task(quietly())

    @property
    def building(self) -> dict[str, int]:
        """How many steps of the runtime's build are done; empty if none runs."""
        if self._preparing is None or self._preparing.done():
            return {}
        now = toolchain.building or toolchain.Building()
        return {"done": now.done, "of": now.of}

    def kill(self, pid: int) -> None:
        """Kills an instance; nothing happens if it has ended."""
        if self._zygote is not None:
            self._zygote.kill(pid)

    async def build(self, function: Callable[[], T], at_leisure: bool = False) -> T:
        """The function on a thread for builds; at_leisure: on one that takes none from those somebody waits for."""
        threads = self._later_builder if at_leisure else self._builders
        return await asyncio.get_running_loop().run_in_executor(threads, function)

    def enter(self, connection: Connection, peer: str) -> None:
        """Makes room for one that has proved nothing yet: who knows the secret proves it at once."""
        of_peer = [other for other, its_peer in self._unproven.items() if its_peer == peer]
        if len(of_peer) >= UNPROVEN_OF_PEER_MAX or len(self._unproven) >= UNPROVEN_MAX:
            oldest = of_peer[0] if len(of_peer) >= UNPROVEN_OF_PEER_MAX else next(iter(self._unproven))
            self.forget_unproven(oldest)
            oldest.lines.abort()
        self._unproven[connection] = peer

    def forget_unproven(self, connection: Connection) -> None:
        """It has proved that it knows the secret, or is gone."""
        self._unproven.pop(connection, None)

    def close(self) -> None:
        """Ends every instance, connection and compiler."""
        for connection in list(self.connections):
            connection.lines.abort()
        if self._zygote is not None:
            self._zygote.close()
        threads = self._builders, self._later_builder
        for waiting in threads:
            waiting.shutdown(wait=False, cancel_futures=True)
        if os.getpgrp() == os.getpid():  # compilers are in our process group; our threads clean up what they leave
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGTERM)
        for ending in threads:
            ending.shutdown()


def _clear_spool() -> None:
    """Removes what an instance that was killed may have left of tables on disk: a worker's folder, and files where the
    file system has none without names; those in use have lost their names already."""
    with contextlib.suppress(OSError):
        spool.sweep()
    for file in (cache.root() / "spool").glob("tables-*"):
        with contextlib.suppress(OSError):
            file.unlink()


class Connection:
    """One controller."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._instances: dict[str, Instance] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._trusted = False
        self._challenges: tuple[str, str] | None = None  # ours and the caller's
        self.lines = Lines(self._receive, self._lost, HELLO_BYTES_MAX, self._made)
        self._impatience = asyncio.get_running_loop().call_later(HELLO_TIMEOUT_S, self._give_up)
        agent.connections.add(self)
        agent.alone_since = None

    def _made(self) -> None:
        self._agent.enter(self, self.lines.peer)

    def _receive(self, request: dict[str, Any]) -> None:
        if not self._trusted:
            try:
                self._greet(request)
            except Exception as error:  # a stranger's mistake is one line, and the end of its connection
                said = f"{type(error).__name__}: {error}"[:STRANGER_TEXT_MAX]
                print(f"jumpgate: agent hangs up on {self.lines.peer}: {said!a}", file=sys.stderr, flush=True)
                self.lines.abort()
            return
        match request.get("verb"):
            case "begin":
                self._begin(request)
            case "each":
                self._each(request)
            case _:
                self._work(self._answer(request))

    def _each(self, request: dict[str, Any]) -> None:
        """The same call to several instances, which answer one by one."""
        first = int(request.get("id", 0))
        try:
            asked = dict(request["arguments"])
            names, verb, arguments = list(asked["instances"]), str(asked["verb"]), dict(asked["arguments"])
        except (KeyError, TypeError, ValueError) as error:
            self.lines.send({"id": first, "error": failure(error)})
            return
        for id, name in enumerate(names, first):
            try:
                self._forward(id, self._find(name).caller.ask(verb, arguments))
            except JumpgateError as error:
                self.lines.send({"id": id, "error": failure(error)})

    def _forward(self, id: int, answer: asyncio.Future[dict[str, Any]]) -> None:
        """An instance's answer, when it comes, is ours under that number."""

        def answered(answer: asyncio.Future[dict[str, Any]]) -> None:
            if not answer.cancelled():
                error = answer.exception()
                self.lines.send({"id": id, **({"ok": answer.result()} if error is None else {"error": failure(error)})})

        answer.add_done_callback(answered)

    def _begin(self, request: dict[str, Any]) -> None:
        """Every number is answered, also when an instance cannot be configured, or none."""
        first = int(request.get("id", 0))
        last = first
        begun: dict[str, Awaitable[int]] = {}
        try:
            arguments, shared = request["arguments"], request.get("shared", {})
            job, stages = str(arguments["job"]), list(arguments["stages"])
            last = first + len(stages) * len(arguments["configurations"])
            told = {id: filled(configuration, shared) for id, configuration in arguments["configurations"].items()}
            entered = {
                id: self._enter(job, id) for id in arguments["start"]
            }  # before the next request, maybe a release
        except Exception as error:  # every failure is the controller's to see; the agent keeps serving
            for number in range(first, last + 1):
                self.lines.send({"id": number, "error": failure(error)})
            return
        for n, (id, configuration) in enumerate(told.items(), 1):
            numbers = range(first + n, first + n + len(stages) * len(told), len(told))
            asked = dict(zip(stages, numbers, strict=True))
            begun[id] = _of(id, self._begun(f"{job}/{id}", entered.get(id), configuration, asked))
        self._work(self._answer_begun(first, begun))

    async def _answer_begun(self, first: int, begun: dict[str, Awaitable[int]]) -> None:
        try:
            pids = await asyncio.gather(*begun.values())
            self.lines.send({"id": first, "ok": {"pids": dict(zip(begun, pids, strict=True))}})
        except Exception as error:
            self.lines.send({"id": first, "error": failure(error)})

    def _begun(
        self, name: str, instance: Instance | None, configuration: bytes, stages: dict[int, int]
    ) -> Awaitable[int]:
        """Configures an instance, spawned first if given, and asks it for stages (by their answers' numbers): at once,
        where there is a process for it; its pid to come."""
        if instance is not None and not self._take_spare(instance):
            return self._spawned_and_begun(instance, configuration, stages)
        try:
            process = self._find(name)
        except JumpgateError as error:
            return self._not_begun(error, stages)
        return self._configured(process, configuration, stages)

    async def _spawned_and_begun(self, instance: Instance, configuration: bytes, stages: dict[int, int]) -> int:
        try:
            process = await self._spawn(instance, "")
        except BaseException as error:
            return await self._not_begun(error, stages)
        return await self._configured(process, configuration, stages)

    async def _not_begun(self, error: BaseException, stages: dict[int, int]) -> int:
        for number in stages.values():
            self.lines.send({"id": number, "error": failure(error)})
        raise error

    def _configured(self, process: Process, configuration: bytes, stages: dict[int, int]) -> Awaitable[int]:
        with process.caller.lines.together():
            configured = process.caller.ask("configure", configuration)
            for stage, number in stages.items():
                self._forward(number, process.caller.ask("execute", {"stage": stage}))

        async def pid() -> int:
            await configured
            return process.pid

        return pid()

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _greet(self, request: dict[str, Any]) -> None:
        """hello, then prove; whoever says anything else, or does not know the secret, is hung up on."""
        verb, given = request.get("verb"), request.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        token, theirs = self._agent.token, str(arguments.get("challenge", ""))
        if verb == "hello" and theirs and self._challenges is None:
            ours = proof.challenge()
            self._challenges = ours, theirs
            answer: dict[str, Any] = {"challenge": ours, "proof": proof.proof(token, "agent", ours, theirs)}
        elif (
            verb == "prove"
            and self._challenges is not None
            and proof.is_proof(arguments.get("proof"), token, "service", *self._challenges)
        ):
            self._trusted = True
            self._agent.forget_unproven(self)
            self.lines.line_bytes_max = LINE_BYTES_MAX
            answer = {
                "version": jumpgate.__version__,
                "cores": self._agent.cores,
                "memory_bytes": memory_bytes(),
                "pid": os.getpid(),
            }
        else:
            refusal = ProtocolError("the agent does not know this token: a service and its agents share one secret")
            self.lines.send({"id": request.get("id", 0), "error": failure(refusal)})
            self.lines.close()
            return
        self.lines.send({"id": request.get("id", 0), "ok": answer})

    def _give_up(self) -> None:
        if not self._trusted:
            self.lines.abort()

    async def _answer(self, request: dict[str, Any]) -> None:
        id = request.get("id", 0)
        try:
            ok = await self._do(str(request["verb"]), request.get("arguments", {}))
            self.lines.send({"id": id, "ok": ok})
        except Exception as error:  # every failure is the controller's to see; the agent keeps serving
            self.lines.send({"id": id, "error": failure(error)})

    async def _do(self, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
        match verb:
            case "ping":
                return {}
            case "building":
                if arguments.get("is_waited_for"):
                    toolchain.hurry()
                return self._agent.building
            case "has_artifact":
                path = toolchain.artifact(str(arguments["key"]))
                return {"path": None if path is None else str(path)}
            case "look":
                read = await asyncio.to_thread(
                    builder.read,
                    list(map(str, arguments["paths"])),
                    format=str(arguments["format"]) or None,
                    schema=arguments.get("schema") or probe.infer_schema,
                    **{str(k): str(v) for k, v in dict(arguments["options"]).items()},
                )
                return {"read": base64.b64encode(proto.encode(read.root).SerializeToString()).decode()}
            case "estimate":
                options = tuple((str(k), str(v)) for k, v in arguments["options"])
                files = tuple(map(str, arguments["files"]))
                known = await asyncio.to_thread(probe.estimate, files, str(arguments["format"]), options)
                return {"rows": known.rows, "bytes": known.bytes}
            case "keep_artifact":
                content = base64.b64decode(str(arguments["content"]))
                keep = functools.partial(toolchain.keep_artifact, str(arguments["key"]), content)
                return {"path": str(await self._agent.build(keep))}
            case "compile":
                texts = (str(arguments[k]) for k in ("name", "source", "key"))
                at_leisure = bool(arguments.get("at_leisure"))
                build = functools.partial(
                    toolchain.build_artifact, *texts, at_leisure=at_leisure, timeout_s=arguments.get("timeout_s")
                )
                return {"path": str(await self._agent.build(build, at_leisure))}
            case "keep_ready":
                await self._agent.keep_ready(str(arguments["module"]))
                return {}
            case "spawn":
                instance = self._enter(str(arguments["job"]), str(arguments["instance"]))
                return {"pid": (await self._spawn(instance, str(arguments.get("module", "")))).pid}
            case "start":
                job, wanted = str(arguments["job"]), dict(arguments["instances"])
                entered = {id: self._enter(job, id) for id in wanted}  # before the next request, which may be a release
                started = (_of(id, self._start(entered[id], allocation)) for id, allocation in wanted.items())
                return {"started": await asyncio.gather(*started)}
            case "call":
                caller = self._find(str(arguments["instance"])).caller
                return await caller.call(str(arguments["verb"]), **arguments.get("arguments", {}))
            case "release":
                await self._release(str(arguments["job"]), DESTROY_TIMEOUT_S)
                return {}
        raise InternalError(f"the agent knows no verb {verb!r}")

    def _find(self, name: str) -> Process:
        found = self._instances.get(name)
        if found is None or found.process is None:
            raise NotFound(f"no instance {name} of this connection runs", instance=name)
        return found.process

    async def _start(self, instance: Instance, allocation: dict[str, Any]) -> dict[str, Any]:
        """Spawns an instance of the runtime, which is to listen."""
        process = await self._spawn(instance, "")
        return {"pid": process.pid, "allocated": await process.caller.call("allocate", **allocation)}

    def _enter(self, job: str, id: str) -> Instance:
        """An instance that is about to be spawned."""
        instance = Instance(job, id)
        if instance.name in self._instances:
            raise InternalError(f"instance {instance.name} is started already")
        self._instances[instance.name] = instance
        return instance

    async def _spawn(self, instance: Instance, module: str) -> Process:
        """Gives it a process of the runtime, a spare one if there is any, or of the Python module."""
        try:
            zygote = await self._agent.zygote()  # which may have to be built first
            if instance.unwanted:
                raise released(instance)
            if self._take_spare(instance, module):
                return self._find(instance.name)
            instance.forking = True
            process = await Process.fork(zygote, instance.id, module)
        except BaseException:
            self._forget(instance)
            raise
        self._give(instance, process)
        if instance.unwanted:
            zygote.kill(process.pid)
            raise released(instance)
        return process

    def _take_spare(self, instance: Instance, module: str = "") -> bool:
        """Return whether there was a process that waits to become an instance of the runtime, or of the module: it is
        this one now."""
        spares = self._agent.spares.get(module)
        process = None if spares is None else spares.take()
        if process is None:
            return False
        process.become(instance.id)
        self._give(instance, process)
        return True

    def _give(self, instance: Instance, process: Process) -> None:
        instance.process = process
        process.watch(functools.partial(self._ended, instance))

    def _ended(self, instance: Instance, end: End) -> None:
        """Tells the controller, whatever ended the instance."""
        self._forget(instance)
        if instance.process is not None:
            instance.process.caller.close()
            if end.signal and not instance.process.is_runtime:
                self._work(asyncio.to_thread(_clear_spool))
            for spares in self._agent.spares.values():
                spares.refill()
        self.lines.send({"event": "exit", "instance": instance.name, **end._asdict()})

    def _destroy(self, instance: Instance, process: Process, may_stay: bool) -> None:
        """Have an instance end by itself; its process becomes a spare one where that is fit for it, and wanted."""
        spares = self._agent.spares.get("") if may_stay and process.is_runtime else None
        leaving = process.leave(spares is not None and spares.are_missing)

        def left(answer: asyncio.Future[dict[str, Any]]) -> None:
            if answer.cancelled() or answer.exception() is not None or not answer.result().get("stays"):
                return  # it ends
            instance.process = None
            assert spares is not None
            spares.keep(process)
            self._ended(instance, DESTROYED)

        leaving.add_done_callback(left)

    def _forget(self, instance: Instance) -> None:
        self._instances.pop(instance.name, None)
        if not instance.gone.done():
            instance.gone.set_result(None)

    async def _release(self, job: str, patience_s: float = 0.0) -> None:
        """Ends what is left of the job, also what is just being started; returns once it is gone. What does not end by
        itself within so long is killed."""
        left = [i for i in self._instances.values() if i.job == job]
        for instance in left:
            instance.unwanted = True
            if instance.process is not None:
                self._destroy(instance, instance.process, may_stay=patience_s > 0)
            elif not instance.forking:
                self._forget(instance)
        gone = [i.gone for i in left if i.process is not None]
        if gone and patience_s:
            await asyncio.wait(gone, timeout=patience_s)
        for instance in left:
            if instance.process is not None and not instance.gone.done():
                self._agent.kill(instance.process.pid)
        await asyncio.gather(*(i.gone for i in left))

    def _lost(self) -> None:
        self._agent.forget_unproven(self)
        self._agent.connections.discard(self)
        if not self._agent.connections:
            self._agent.alone_since = time.monotonic()
        self._impatience.cancel()
        for job in {i.job for i in self._instances.values()}:
            # a task of the agent's own: it may have to wait for what is just being started
            self._work(self._release_quietly(job))

    async def _release_quietly(self, job: str) -> None:
        with contextlib.suppress(JumpgateError):  # no zygote, no instances
            await self._release(job)


async def _of(instance: str, work: Awaitable[T]) -> T:
    """Return the result of the work; its error names the instance."""
    try:
        return await work
    except JumpgateError as error:
        error.fields.setdefault("instance", instance)
        raise


async def _serve(
    listen: str, token_file: str | None, host_program: Path | None, tls: str | None, alone_s: float | None, spares: int
) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    token = tokens.read(token_file, "the agent") if token_file else await _follow_parent(stop)
    agent = Agent(token, host_program, spares)
    encryption = Identity.load(tls).context(server=True) if tls else None
    try:
        port = await _unless(stop, _start(agent, listen, encryption))
        if port is not None:
            with registered(listen, port, token_file, tls) if token_file or alone_s else contextlib.nullcontext():
                print(json.dumps({"port": port}), flush=True)
                await _unless(stop, _alone(agent, alone_s))
    finally:
        agent.close()


async def _start(agent: Agent, listen: str, encryption: ssl.SSLContext | None) -> int:
    try:
        loop = asyncio.get_running_loop()
        host, port = host_of(listen), int(listen.rpartition(":")[2])
        handshake_s = HELLO_TIMEOUT_S if encryption else None
        server = await loop.create_server(
            lambda: Connection(agent).lines, host, port, ssl=encryption, ssl_handshake_timeout=handshake_s
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"the agent cannot listen on {listen}: {reason}; choose another port, or 0 for a free one", address=listen
        ) from error
    await agent.prepare()
    return int(server.sockets[0].getsockname()[1])


async def _alone(agent: Agent, seconds: float | None) -> None:
    """Returns once nobody has been connected for so long; never for None."""
    while seconds is None or agent.alone_since is None or time.monotonic() < agent.alone_since + seconds:
        await asyncio.sleep(1.0)


async def _unless(stop: asyncio.Event, work: Any) -> Any:
    """The result of `work`, or None if `stop` comes first."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        return working.result()
    working.cancel()
    return None


async def _follow_parent(stop: asyncio.Event) -> str:
    """The token from standard input; sets `stop` when that ends, or the parent does (a process that it forked may
    hold our standard input open)."""
    loop = asyncio.get_running_loop()
    parent = _Parent(stop)
    await loop.connect_read_pipe(lambda: parent, sys.stdin)
    with contextlib.suppress(ProcessLookupError):
        loop.add_reader(os.pidfd_open(os.getppid()), stop.set)
    token = await parent.token
    if not token:
        raise ConfigError("the agent needs the shared secret as the first line of its standard input, or --token-file")
    return token


class _Parent(asyncio.Protocol):
    """Standard input: one line, then nothing until its end."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._line = b""
        self.token: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._line = (self._line + data)[:HELLO_BYTES_MAX]
        if b"\n" in self._line and not self.token.done():
            self.token.set_result(self._line.partition(b"\n")[0].decode(errors="replace").strip())

    def connection_lost(self, error: Exception | None) -> None:
        self._stop.set()
        if not self.token.done():
            self.token.set_result("")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m jumpgate.hosts.agent", description="A Jumpgate host's agent.")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT", help="default: a free local port")
    parser.add_argument("--token-file", help="file with the shared secret; default: the first line of standard input")
    parser.add_argument(
        "--tls", metavar="FOLDER", help="this host's certificate; default: connections are not encrypted"
    )
    parser.add_argument("--host-program", type=Path, help="forks instances from this program; default: the runtime's")
    parser.add_argument("--alone-s", type=float, help="end when nobody has been connected for so long; default: never")
    parser.add_argument("--spares", type=int, default=SPARES, help="processes that wait to become instances")
    o = parser.parse_args()
    raise_open_files()
    lift_memory_bound()
    if os.nice(0) == LOWEST and os.getsid(0) == os.getpid():
        yield_to_others()  # as who started it does, whose session is another one
    try:
        asyncio.run(_serve(o.listen, o.token_file, o.host_program, o.tls, o.alone_s, o.spares))
    except JumpgateError as error:
        print(json.dumps({"error": failure(error)}), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
