"""What the service does, without gRPC: plans requests, keeps jobs, lends agents, runs jobs."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jumpgate.codegen import cache
from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.converters.statistics import estimate
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.operators import Operator
from jumpgate.errors import ConfigError, InvalidDataflow, JumpgateError, NotFound, Unreachable
from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.config import Config
from jumpgate.hosts.local import LocalAgent
from jumpgate.nca.interface import Device, InstancePlan, JobContext, JobPlan
from jumpgate.nca.registry import Registry
from jumpgate.orchestrator.record import JobRecord, Phase, load, save
from jumpgate.orchestrator.run import Job

#: submitted jobs that nobody executes go after this long, oldest first when there are too many
EXPIRY_S = 300.0
JOBS_MAX = 1000


def records_folder() -> Path:
    """Where the records of executed jobs are kept."""
    return cache.root() / "jobs"


@dataclass
class RunOptions:
    """A request's options (service.proto); 0 = default."""

    parallelism: int = 0
    threads: int = 0
    timeout_ms: int = 0
    stall_timeout_ms: int = 0
    memory_limit_bytes: int = 0
    prefer: tuple[str, ...] = ()


class Engine:
    """One per service. Agents are started or reached on first need and kept; everything ends with `close`."""

    def __init__(self, config: Config, registry: Registry) -> None:
        self.config, self.registry = config, registry
        self.devices: tuple[Device, ...] = (*(h.device for h in config.hosts), *config.devices)
        self._hosts: dict[str, AgentHost] = {}
        self._agents: dict[str, LocalAgent] = {}
        self._starting = asyncio.Lock()
        self._jobs: dict[str, Job] = {}
        self._executed: set[str] = set()

    # ---- agents ----

    async def hosts(self, names: set[str]) -> dict[str, AgentHost]:
        """Live connections to the agents of the named hosts."""
        if not all(n in self._hosts and self._hosts[n].alive for n in names):
            async with self._starting:
                missing = [n for n in names if n not in self._hosts or not self._hosts[n].alive]
                for name, host in zip(missing, await asyncio.gather(*map(self._reach, missing)), strict=True):
                    self._hosts[name] = host
        return {n: self._hosts[n] for n in names}

    async def _reach(self, name: str) -> AgentHost:
        host = next(h for h in self.config.hosts if h.device.name == name)
        if host.agent is not None:
            address, _, port = host.agent.rpartition(":")
            return await AgentHost.connect(host.device, address, int(port), _read_token(host.token_file, name))
        old = self._agents.pop(name, None)
        if old is not None:
            await old.close()
        self._agents[name] = await LocalAgent.start(host.device)
        return self._agents[name].host

    # ---- verbs ----

    def plan(self, root: Operator, dialect: Dialect, options: RunOptions, trace: bool = False) -> JobPlan:
        compile_options = CompileOptions(
            parallelism=options.parallelism, threads=options.threads, dialect=dialect, statistics=estimate,
            prefer=options.prefer, trace=trace)
        return compile_dataflow(root, self.devices, self.registry, compile_options)

    async def submit(self, root: Operator, dialect: Dialect, options: RunOptions) -> Job:
        """Plans and compiles; the job waits for execute."""
        self._expire()
        started = time.time_ns()
        plan = self.plan(root, dialect, options)
        id = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        plan = _with_limits(plan, options.memory_limit_bytes or self.config.service.get("memory_limit_bytes", 0))
        record = _record(id, plan, started)
        names = {i.device.name for i in plan.instances if i.device.kind == "host"}
        hosts: dict[str, Any] = dict(await self.hosts(names))
        stall = options.stall_timeout_ms or self.config.service.get("stall_timeout_ms", 60_000)
        context = JobContext(id, secrets.token_hex(16), plan, hosts)
        job = Job(context, self.registry.lifecycle, record, options.timeout_ms, stall)
        await job.compile()
        self._jobs[id] = job
        return job

    async def execute(self, id: str) -> AsyncIterator[tuple[str, int]]:
        """Runs the job, yielding its states. Raises its failure; a consumer that goes away cancels it."""
        job = self.job(id)
        if id in self._executed:
            raise InvalidDataflow(f"job {id} has been executed; submit the dataflow again", job=id)
        self._executed.add(id)
        states: asyncio.Queue[tuple[str, int] | None] = asyncio.Queue()
        run = asyncio.create_task(job.run(lambda state, stage: states.put_nowait((state, stage))))
        run.add_done_callback(lambda _: states.put_nowait(None))
        try:
            while (state := await states.get()) is not None:
                yield state
            await run
            yield "done", job.context.plan.stages
        finally:
            if not run.done():
                job.cancel()
                with contextlib.suppress(JumpgateError):
                    await run
            save(job.record, records_folder())
            if job.record.state == "failed":
                for host in self._hosts.values():
                    host.forget_artifacts()

    def cancel(self, id: str) -> None:
        job = self.job(id)
        job.cancel()
        if id not in self._executed:
            self._jobs.pop(id, None)

    def job(self, id: str) -> Job:
        if id not in self._jobs:
            raise NotFound(f"no job '{id}': it was never submitted here, or it has expired", job=id)
        return self._jobs[id]

    def describe(self, id: str) -> JobRecord:
        if id in self._jobs:
            return self._jobs[id].record
        return load(id, records_folder())

    def jobs(self) -> list[JobRecord]:
        return [j.record for j in reversed(self._jobs.values())]

    def _expire(self) -> None:
        now = time.time_ns()
        for id, job in list(self._jobs.items()):
            waiting = id not in self._executed and now - job.record.submitted_ns > EXPIRY_S * 1e9
            crowded = len(self._jobs) > JOBS_MAX and job.record.ended_ns
            if waiting or crowded:
                self._jobs.pop(id)
                self._executed.discard(id)

    async def close(self) -> None:
        for id, job in list(self._jobs.items()):
            if id in self._executed and not job.record.ended_ns:
                job.cancel()
        for agent in self._agents.values():
            await agent.close()
        for host in self._hosts.values():
            await host.close()


def _read_token(file: str | None, host: str) -> str:
    if file is None:
        raise ConfigError(f"host '{host}' names an agent but no token_file with the secret that they share", host=host)
    try:
        return Path(file).read_text().strip()
    except OSError as error:
        raise Unreachable(f"cannot read the token of host '{host}' in {file}: {error.strerror}", host=host) from error


def _with_limits(plan: JobPlan, memory_limit_bytes: int) -> JobPlan:
    if not memory_limit_bytes:
        return plan
    option = ("memory_limit_bytes", str(memory_limit_bytes))
    instances: tuple[InstancePlan, ...] = tuple(replace(i, options=(*i.options, option)) for i in plan.instances)
    return replace(plan, instances=instances)


def _record(id: str, plan: JobPlan, started_ns: int) -> JobRecord:
    return JobRecord(
        id, submitted_ns=started_ns, stages=plan.stages, phases=[Phase("map", started_ns, time.time_ns())],
        instances=[{"id": i.id, "fragment": i.fragment, "nca": i.nca, "host": i.device.name, "threads": i.threads,
                    "operators": [o.kind for o in i.root.walk()], "inputs": list(i.inputs), "output": i.output}
                   for i in plan.instances],
        edges=[{"id": e.id, "layout": e.ntf.layout, "transport": e.transport, "partitioning": e.partitioning.kind,
                "producers": list(e.producers), "consumers": list(e.consumers), "schema": str(e.ntf.schema)}
               for e in plan.edges],
        explain=plan.explain)
