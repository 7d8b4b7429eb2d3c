"""The service without gRPC: plans requests, keeps jobs, lends agents, runs jobs."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from weakref import WeakKeyDictionary

from jumpgate import debug, extras
from jumpgate.codegen import cache
from jumpgate.compiler import CompileOptions, explain_text
from jumpgate.compiler.estimate import Estimator
from jumpgate.converters import probe
from jumpgate.converters.prober import prober
from jumpgate.dataflow import located
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.request import RunOptions
from jumpgate.errors import InvalidDataflow, JumpgateError, NotFound, Unreachable
from jumpgate.hosts.config import Config
from jumpgate.nca.interface import Device, Driver, JobContext, JobPlan, Reaches, RunsModule, Statistics
from jumpgate.nca.registry import Registry
from jumpgate.orchestrator.job import Event, Job
from jumpgate.orchestrator.record import JobRecord, Phase, Recorder
from jumpgate.service import planning, segments, store_links
from jumpgate.service.admission import Admission, User, demand_of
from jumpgate.service.agents import BUILDING_S, Agents
from jumpgate.service.limits import Limits
from jumpgate.service.located import Located, Options, check_placed, check_request
from jumpgate.service.preparing import Preparing
from jumpgate.stores import chunks, credentials, indexes, settings
from jumpgate.stores.credentials import Credentials
from jumpgate.trust import state
from jumpgate.trust.edges import JobCertificate

#: a submitted job that nobody executes is forgotten after this long
EXPIRY_S = 300.0
#: jobs that the service remembers, and of those that have ended (whose records are on disk, too)
JOBS_MAX = 1000
ENDED_MAX = 100
STALL_TIMEOUT_MS = 60_000
#: how long plans leave a device out that did not answer
SILENT_S = 30.0


def records_folder() -> Path:
    """Where the records of executed jobs are kept."""
    return cache.root() / "jobs"


class Engine:
    """One per service. Agents are started or reached on first need and kept; everything ends with `close`."""

    def __init__(self, config: Config, registry: Registry) -> None:
        self.config, self.registry = config, registry
        settings.configure(config.stores)
        chunks.configure(cache.root() / "chunks", config.service.get("cache_bytes", 0))
        indexes.configure(state.root() / "indexes", all(host.is_here for host in config.hosts))
        self.agents = Agents(config)
        self.drivers: dict[str, Driver] = {}  #: of devices without agents
        self._silent: dict[str, float] = {}  #: such that did not answer, and until when they are left out
        self._reaching: dict[str, asyncio.Lock] = {}
        self.located = Located(self.agents)
        self.preparing = Preparing(self.agents, registry.lifecycle)
        self.admission = Admission(lambda: self.agents.devices)
        self._jobs: dict[str, Job] = {}
        self._runs: dict[str, asyncio.Task[None]] = {}  # of jobs that have been executed, until they are forgotten
        self._brought: WeakKeyDictionary[Job, Credentials] = WeakKeyDictionary()  # until they end
        self._recorder = Recorder(records_folder)
        #: hears of each job that was executed
        self.on_ended: Callable[[JobRecord], None] = lambda _: None
        prober.hold()

    # ---- devices without agents ----

    async def _lend_drivers(self, plan: JobPlan, phases: list[Phase]) -> dict[str, Driver]:
        """Live drivers of the plan's devices that have no agent; reaching what is missing is a phase."""
        wanted = {device: lifecycle for i in plan.instances
                  if isinstance(lifecycle := self.registry.lifecycle(i.nca), Reaches)
                  for device in i.device.chain}  # fmt: skip
        missing = [d for d in wanted if not self._is_driven(d)]
        if missing:
            phases.append(Phase("devices", time.time_ns()))
            await asyncio.gather(*(self._drive(d, wanted[d]) for d in missing))
            phases[-1].end_ns = time.time_ns()
        return {d.name: self.drivers[d.name] for d in wanted}

    def _is_driven(self, device: Device) -> bool:
        return device.name in self.drivers and self.drivers[device.name].alive

    async def _drive(self, device: Device, lifecycle: Reaches) -> None:
        async with self._reaching.setdefault(device.name, asyncio.Lock()):
            if self._is_driven(device):
                return
            if device.name in self.drivers:
                await self.drivers.pop(device.name).close()
            try:
                self.drivers[device.name] = await lifecycle.reach(device)
            except Unreachable:
                self._silent[device.name] = time.monotonic() + SILENT_S
                raise

    # ---- verbs ----

    @property
    def devices(self) -> tuple[Device, ...]:
        return (*self.agents.devices, *self.config.devices)

    @property
    def lost(self) -> frozenset[str]:
        """Hosts and devices that plans leave out, as they do not answer; no hosts if none answers: then a job says
        why."""
        lost = self.agents.lost
        hosts = lost if any(h.device.name not in lost for h in self.config.hosts) else frozenset()
        now = time.monotonic()
        return hosts | {name for name, until in self._silent.items() if now < until}

    @property
    def limits(self) -> Limits:
        """The most that a request may ask for."""
        return Limits.of(self.agents.devices, self.config.service)

    def plan(self, root: Operator, dialect: Dialect, options: RunOptions, trace: bool = False) -> JobPlan:
        """Plan a request for the devices of the service. Raises NotFound for a preferred NCA that is none."""
        return self._plan(self.registry, root, dialect, options, trace)

    def plan_at_once(self, root: Operator, dialect: Dialect, options: RunOptions) -> JobPlan:
        """Plan a request for accelerators that wait for no programs."""
        return self._plan(self.registry.stand_ins, root, dialect, options)

    def _plan(
        self, registry: Registry, root: Operator, dialect: Dialect, options: RunOptions, trace: bool = False
    ) -> JobPlan:
        for name in options.prefer:
            self.registry.get(name)
        compile_options = CompileOptions(
            parallelism=options.parallelism,
            threads=options.threads,
            dialect=dialect,
            statistics=self._statistics,
            look=probe.look,
            link=store_links.of,
            segments=segments.of if all(host.is_here for host in self.config.hosts) else None,
            prefer=options.prefer,
            without=options.without,
            objective=options.objective,
            lost=tuple(sorted(self.lost)),
            memory_limit_bytes=options.memory_limit_bytes or self.config.service.get("memory_limit_bytes", 0),
            trace=trace or debug.level() >= 3,
        )
        is_located = check_request(root, self.located)
        plan = planning.plan(root, self.devices, registry, compile_options)
        self.limits.check_plan(plan)
        if is_located:
            check_placed(plan)
        if debug.level() >= 3:
            debug.note("plan", "service", explain_text(plan.explain, verbose=True))
        return plan

    async def stand_by(self) -> None:
        """Keep processes on all hosts for accelerators that wait for no programs."""
        lifecycles = (nca.lifecycle for nca in self.registry.stand_ins)
        await self.agents.keep_ready({found.module for found in lifecycles if isinstance(found, RunsModule)})

    def estimator(self) -> Estimator:
        """Return the estimator of results' sizes and columns."""
        return Estimator(self._statistics)

    def _statistics(self, files: tuple[str, ...], format: str, options: Options = ()) -> Statistics:
        """Return the statistics of files, here or on their hosts."""
        of_hosts = any(host for host in located.hosts(files))
        return self.located.estimate(files, format, options) if of_hosts else probe.estimate(files, format, options)

    async def prepare(
        self,
        plan: JobPlan,
        options: RunOptions,
        started_ns: int,
        text: str = "",
        brought: Credentials | None = None,
    ) -> Job:
        """Compiles a plan; the job waits for execute. text: what a person asked, for the record. brought: what reads
        its stores."""
        self._expire()
        id = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        record = _record(id, plan, started_ns, text)
        hosts = await self.agents.lend({i.device.name for i in plan.instances}, record.phases)
        drivers = await self._lend_drivers(plan, record.phases)
        stall_ms = options.stall_timeout_ms or self.config.service.get("stall_timeout_ms", STALL_TIMEOUT_MS)
        here = frozenset(h.device.name for h in self.config.hosts if h.is_here)
        context = JobContext(
            id, secrets.token_hex(16), plan, hosts, drivers, here=here, yields=bool(self.config.clients),
            certificate=self._certificate(),
        )  # fmt: skip
        job = Job(context, self.registry.lifecycle, record, options.timeout_ms, stall_ms)
        if brought is not None:
            self._brought[job] = brought
        # else its client waits for that, and sees how far it is
        if not await self.agents.building(hosts, is_waited_for=True):
            await self._compile(job)
        self._make_room()
        self._jobs[id] = job
        return job

    async def _compile(self, job: Job) -> None:
        try:
            with credentials.used(self._brought.get(job)):
                await job.compile()
        except JumpgateError:
            self.agents.forget_artifacts()
            raise

    async def _built(self, job: Job, on_event: Callable[[Event], None]) -> None:
        """Compiles a job that was submitted while hosts built their runtime, once they have."""
        if job.is_compiled:
            return
        try:
            while not job.is_cancelled and (steps := await self.agents.building(job.context.hosts, is_waited_for=True)):
                on_event(Event("building", 0, time.time_ns(), {**steps}))
                await asyncio.sleep(BUILDING_S)
            if not job.is_cancelled:
                await self._compile(job)
        except JumpgateError as error:
            raise job.fail(error, on_event) from None

    def _certificate(self) -> JobCertificate | None:
        """Make the certificate of a new job, which encrypts its edges."""
        if self.config.tls is None or not self.config.tls.edges:
            return None
        with extras.explained():
            from jumpgate.trust import certificates

        return certificates.for_job()

    async def execute(self, id: str, user: User | None = None) -> AsyncGenerator[Event, None]:
        """Runs the job when it is its turn among all users', yielding its events; raises its failure. A consumer that
        goes away cancels it.

        The last event is `done`, or has the error; the iteration ends, or raises, when nothing of the job is left.
        """
        self._expire()
        job = self.job(id)
        if id in self._runs:
            raise InvalidDataflow(f"job {id} has been executed; submit the dataflow again", job=id)
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        # a task of its own: it takes the job down also when nobody listens any more
        self._runs[id] = run = asyncio.create_task(self._run(job, user or User(), events))
        run.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            while (event := await events.get()) is not None:
                yield event
            await asyncio.shield(run)
        finally:
            if not run.done():
                job.cancel()
                self.admission.leave(id)

    async def _run(self, job: Job, user: User, events: asyncio.Queue[Event | None]) -> None:
        waited: list[Phase] = []

        def told(place: int) -> None:
            if not waited:
                waited.append(Phase("queue", time.time_ns()))
                job.record.phases.append(waited[0])
            events.put_nowait(Event("queued", place, time.time_ns()))

        def happened(event: Event) -> None:
            if event.error is not None:  # before its client, who may ask for another job
                self.agents.forget_artifacts()
            events.put_nowait(event)

        job.on_work = functools.partial(self.admission.works, job.id)
        try:
            turn = self.admission.turn(job.id, user, demand_of(job.context.plan), told)
            async with contextlib.AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout_at(job.begin_clock()) as limit:
                        await self._built(job, happened)
                        await stack.enter_async_context(turn)
                        for phase in waited:
                            phase.end_ns = time.time_ns()
                except TimeoutError:
                    if not limit.expired():
                        raise
                    raise job.fail(job.late(), happened) from None
                with credentials.used(self._brought.get(job)):
                    await job.run(happened)
        finally:
            self._brought.pop(job, None)
            try:
                self._recorder.add(job.record)
                self.on_ended(job.record)
            finally:
                events.put_nowait(None)

    def cancel(self, id: str) -> None:
        """Ends the job wherever it is; not an error if it has ended."""
        self.job(id).cancel()
        self.admission.leave(id)
        if id not in self._runs:
            del self._jobs[id]

    def job(self, id: str) -> Job:
        if id not in self._jobs:
            raise NotFound(f"no job '{id}': it was never submitted here, or it has expired", job=id)
        return self._jobs[id]

    def describe(self, id: str) -> JobRecord:
        """The record of one job, from memory or disk; "latest": the last to end, here or in another service."""
        if id in self._jobs:
            return self._jobs[id].record
        ours = [j.record for j in self._jobs.values() if j.record.ended_ns]
        if id != "latest" or not ours:
            return self._recorder.load(id)
        with contextlib.suppress(NotFound):
            ours.append(self._recorder.load(id))
        return max(ours, key=lambda record: record.ended_ns)

    def jobs(self) -> list[JobRecord]:
        """Return the jobs that the service remembers, newest first."""
        self._expire()
        return [j.record for j in reversed(self._jobs.values())]

    async def ended(self, seconds: float) -> None:
        """Returns once no job runs any more, or after so long."""
        if running := [run for run in self._runs.values() if not run.done()]:
            await asyncio.wait(running, timeout=seconds)

    async def close(self) -> None:
        """Ends every job and every agent of ours."""
        for id, job in self._jobs.items():
            job.cancel()
            self.admission.leave(id)
        await asyncio.gather(*self._runs.values(), return_exceptions=True)
        try:
            await self.preparing.close()
            await self._recorder.close()
        finally:
            await asyncio.gather(*(driver.close() for driver in self.drivers.values()), return_exceptions=True)
            await self.agents.close()
            prober.release()

    # ---- housekeeping ----

    def _expire(self) -> None:
        """Forgets jobs that nobody executed in time."""
        oldest_ns = time.time_ns() - int(EXPIRY_S * 1e9)
        for id, job in list(self._jobs.items()):
            if id not in self._runs and job.record.phases[-1].end_ns < oldest_ns:
                del self._jobs[id]

    def _make_room(self) -> None:
        """Forgets the oldest jobs that have ended but for ENDED_MAX, and for want of one the oldest that waits.

        Raises Unreachable if all are running.
        """
        ended = [id for id, run in self._runs.items() if run.done()]
        kept = min(ENDED_MAX, max(0, JOBS_MAX - 1 - (len(self._jobs) - len(ended))))
        for id in ended[: len(ended) - kept]:
            del self._jobs[id], self._runs[id]
        if len(self._jobs) < JOBS_MAX:
            return
        oldest = next((id for id in self._jobs if id not in self._runs), None)
        if oldest is None:
            raise Unreachable(f"the service runs {JOBS_MAX} jobs, the most that it takes: try again later")
        del self._jobs[oldest]


def _record(id: str, plan: JobPlan, started_ns: int, text: str) -> JobRecord:
    operators = {i.fragment: list(i.operators) for i in plan.instances if not i.index}
    return JobRecord(
        id,
        text=text,
        submitted_ns=started_ns,
        stages=plan.stages,
        phases=[Phase("map", started_ns, time.time_ns())],
        instances=[
            {
                "id": i.id,
                "fragment": i.fragment,
                "nca": i.nca,
                "host": i.device.name,
                "threads": i.threads,
                "operators": operators[i.fragment],
                "inputs": list(i.inputs),
                "output": i.output,
            }
            for i in plan.instances
        ],
        edges=[
            {
                "id": e.id,
                "layout": e.ntf.layout,
                "transport": e.transport.name,
                "partitioning": e.partitioning.kind,
                "producers": list(e.producers),
                "consumers": list(e.consumers),
                "schema": str(e.ntf.schema),
                "filter": e.filter,
            }
            for e in plan.edges
        ],
        explain=plan.explain,
    )
