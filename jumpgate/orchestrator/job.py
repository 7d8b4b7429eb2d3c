"""One job: compile → allocate → configure → stages with barriers → destroy; the first failure ends everything.

States: submitted, compiling, compiled, allocating, configuring, running (stage n), then done, failed or cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jumpgate import debug
from jumpgate.errors import Cancelled, InstanceFailed, InternalError, JumpgateError, TimedOut, Unreachable
from jumpgate.nca.interface import Groups, InstancePlan, JobContext, LifeCycle, QueuesStages, StartsTogether
from jumpgate.nca.shared import Shared
from jumpgate.orchestrator.failures import CAUSE_WAIT_S, CONSEQUENCE, all_of, located, on_all, on_one, retrieve, weight
from jumpgate.orchestrator.observed_host import ObservedHost
from jumpgate.orchestrator.progress import watch
from jumpgate.orchestrator.record import JobRecord, Phase

#: of an instance (LifeCycle)
VERBS = ("compile", "allocate", "configure", "execute", "destroy")
Answer = asyncio.Future[dict[str, Any]]
#: for all instances to be allocated, and again to be configured
SETUP_TIMEOUT_S = 60.0
#: for an instance to end by itself; then its host kills it
DESTROY_TIMEOUT_S = 1.0
#: for the counters of a failed job, which only its report needs
LAST_STATS_TIMEOUT_S = 0.2


def starts_together(lifecycle: LifeCycle) -> StartsTogether | None:
    """The life-cycle, if it starts a host's instances together; None also for one whose class changes a verb of an
    instance that it inherits, as that would not be heard."""
    return lifecycle if _start_together(type(lifecycle)) else None  # type: ignore[return-value]


@functools.cache
def _start_together(lifecycle: type[LifeCycle]) -> bool:
    if not issubclass(lifecycle, StartsTogether):
        return False
    classes = lifecycle.__mro__
    own = classes[: next(n for n, c in enumerate(classes) if "allocate_all" in vars(c))]
    return not any(verb in vars(c) for c in own for verb in VERBS)


@dataclass(frozen=True)
class Event:
    """Something that a client may see. `counters` by instance id: all with done, some with progress (running). By host
    while runtimes are built: steps that are `done`, `of` so many. `error`: why it is failed, or cancelled."""

    state: str
    stage: int
    time_ns: int
    counters: dict[str, dict[str, Any]] | None = None
    error: JumpgateError | None = None


class Job:
    """A planned job. `run` executes it once; `cancel` may come at any time, from the same event loop.

    timeout_ms: of the execution (0: none); stall_timeout_ms: fails a stage that stalls this long (progress.py).
    """

    def __init__(
        self,
        context: JobContext,
        lifecycles: Callable[[str], LifeCycle],
        record: JobRecord,
        timeout_ms: int = 0,
        stall_timeout_ms: int = 60_000,
    ) -> None:
        self.context, self.record = context, record
        self._lifecycles = lifecycles
        self._timeout_s = timeout_ms / 1000 if timeout_ms else None
        self.spent_s = 0.0  #: of that, before the job could be run
        self._end: float | None = None  # by the event loop's clock
        self._stall_s = stall_timeout_ms / 1000
        self._artifacts: dict[str, Any] = {}
        self._handles: dict[str, Any] = {}
        self._stage = 0  # that runs
        self._ended: set[str] = set()  # instances whose part of it is done
        self._task: asyncio.Task[None] | None = None
        self._cancelled: JumpgateError | None = None
        self._cancelling = asyncio.Event()
        self._on_event: Callable[[Event], None] = lambda _: None
        #: hears every second or few whether the job does more than wait for its client to read
        self.on_work: Callable[[bool], None] = lambda _: None

    @property
    def id(self) -> str:
        return self.context.job

    @property
    def instances(self) -> tuple[InstancePlan, ...]:
        return self.context.plan.instances

    @property
    def is_compiled(self) -> bool:
        return len(self._artifacts) == len(self.instances)

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled is not None

    # ---- verbs ----

    async def compile(self) -> None:
        """Builds every instance's artifact; siblings on one host share one. Raises the first error."""
        hosts = {name: ObservedHost(host, self._compiler_begins) for name, host in self.context.hosts.items()}

        async def build(i: InstancePlan) -> Any:
            try:
                return await self._lifecycle(i).compile(i, hosts.get(i.device.name))  # type: ignore[arg-type]
            except JumpgateError as error:
                raise located(error, i, "compile") from None

        with self._phase("compiling", "generate"):
            first = {(i.fragment, i.device.name): i for i in reversed(self.instances)}
            self.record.programs = len(first)
            built = {key: self._compiled(i) for key, i in first.items()}
            missing = [key for key, artifact in built.items() if artifact is None]
            if missing:
                built.update(zip(missing, await all_of(build(first[key]) for key in missing), strict=True))
            self._artifacts = {i.id: built[i.fragment, i.device.name] for i in self.instances}
        self.record.state = "compiled"

    def _compiled(self, i: InstancePlan) -> Any | None:
        """The artifact, where its host is known to have it."""
        return None if (together := self._together[i.nca]) is None else together.compiled(i, self._host(i))

    async def run(self, on_event: Callable[[Event], None]) -> None:
        """Executes the job; returns, or raises the one error that explains a failure, when nothing of it is left.

        `on_event` hears of `done` as soon as the last stage has ended, and of a failure once its cause is known: the
        instances are taken down after it.
        """
        self._on_event = on_event
        self._task = asyncio.create_task(self._stages())
        end = self.begin_clock()
        try:
            left_s = None if end is None else max(0.0, end - asyncio.get_running_loop().time())
            await asyncio.wait_for(self._task, left_s)
            self.record.ended_ns = time.time_ns()
            self._enter("done", self.context.plan.stages, self.record.counters)
            await asyncio.sleep(0)  # it leaves before anything else is done
        except BaseException as error:
            ended_ns = time.time_ns()
            consequence = weight(error) >= CONSEQUENCE and self._cancelled is None
            cause = await self._collect_last_stats(CAUSE_WAIT_S if consequence else LAST_STATS_TIMEOUT_S)
            # an instance that had nothing left to do dies or stops unseen, until its peers miss it
            if consequence and cause is None and self._is_clients(error):
                await self._hear_of_client(ended_ns)
            failure = self._failed(cause if consequence and cause is not None else error, ended_ns)
            await asyncio.sleep(0)
            raise failure from None
        finally:
            await self._destroy()

    def cancel(self) -> None:
        """Ends it wherever it is; nothing happens once it has ended."""
        self._cancelled = Cancelled(f"job {self.id} was cancelled", job=self.id)
        self._cancelling.set()
        if self._task is not None:
            self._task.cancel()
        elif not self.record.ended_ns:
            self.record.state, self.record.ended_ns = "cancelled", time.time_ns()

    def begin_clock(self) -> float | None:
        """From now on the rest of timeout_ms passes; when it ends by the event loop's clock."""
        if self._timeout_s is not None and self._end is None:
            self._end = asyncio.get_running_loop().time() + self._timeout_s - self.spent_s
        return self._end

    def late(self) -> TimedOut:
        """The error for a job that took longer than timeout_ms."""
        return TimedOut(f"job {self.id} did not end within {self._timeout_s:g} s", job=self.id)

    def fail(self, error: JumpgateError, on_event: Callable[[Event], None]) -> JumpgateError:
        """The error, of a job that ended with it before it was run."""
        self._on_event = on_event
        return self._failed(error, time.time_ns())

    # ---- the way through ----

    async def _stages(self) -> None:
        if self._cancelled is not None:
            raise self._cancelled
        with self._phase("allocating", "allocate"):
            allocating = [(group[0], self._allocate(group)) for group in self._groups]
            await self._set_up(allocating, "allocate")
        answers: dict[int, list[tuple[InstancePlan, Answer]]] = {}
        try:
            with self._phase("configuring", "configure"):
                configuring, answers = self._begin()
                await self._set_up(configuring, "configure")
            if len(answers) == self.context.plan.stages and len(self.instances) == 1:
                await on_all([(self.instances[0], self._queued(answers))], "", self._watch())
                return
            for stage in range(1, self.context.plan.stages + 1):
                with self._phase("running", f"stage {stage}", stage):
                    watchers = [self._watch(), *(d.watch(self.id) for d in self.context.drivers.values())]
                    executing = answers[stage] if stage in answers else self._execute(stage)
                    executed = [(i, self._executed(i, answer)) for i, answer in executing]
                    await on_all(executed, f"stage {stage}", *watchers)
        finally:
            for _, answer in (pair for pairs in answers.values() for pair in pairs):
                answer.add_done_callback(retrieve)
                answer.cancel()

    @cached_property
    def _together(self) -> dict[str, StartsTogether | None]:
        """The life-cycles that start a host's instances together, by accelerator; None of others."""
        return {nca: starts_together(self._lifecycles(nca)) for nca in {i.nca for i in self.instances}}

    @cached_property
    def _groups(self) -> list[list[InstancePlan]]:
        """The instances by host, of those that are started together; each of the others alone."""
        found: dict[tuple[str, str], list[InstancePlan]] = {}
        for i in self.instances:
            found.setdefault((i.nca, i.device.name) if self._together[i.nca] else (i.id, ""), []).append(i)
        return [*found.values()]

    async def _allocate(self, group: list[InstancePlan]) -> None:
        first = group[0]
        if (together := self._together[first.nca]) is not None:
            handles = await together.allocate_all(group, self._host(first), self.context)
        else:
            handles = [await self._lifecycle(first).allocate(first, self.context)]
        self._handles.update((i.id, handle) for i, handle in zip(group, handles, strict=True))
        if debug.level() >= 1:
            for i in group:
                address = self.context.addresses.get(i.id)
                listens = f", accepts edges at {address}" if address else ""
                debug.note(i.id, i.device.name, f"{i.nca} of job {self.id}{listens}")

    def _begin(self) -> tuple[list[tuple[InstancePlan, Awaitable[Any]]], dict[int, list[tuple[InstancePlan, Answer]]]]:
        """Configures all instances, and asks for the stages that need not wait until all are configured; the answers to
        come of these."""
        stages = self._at_once
        configuring: list[tuple[InstancePlan, Awaitable[Any]]] = []
        begun: list[tuple[list[InstancePlan], list[list[Awaitable[dict[str, Any]]]]]] = []
        for group in self._groups:
            first = group[0]
            handles, artifacts = ([found[i.id] for i in group] for found in (self._handles, self._artifacts))
            if (together := self._together[first.nca]) is not None:
                host = self._host(first)
                configured, answers = together.begin_all(handles, group, artifacts, host, self.context, stages)
                begun.append((group, answers))
            else:
                configured = self._lifecycle(first).configure(handles[0], first, artifacts[0], self.context)
            configuring.append((first, configured))
        return configuring, {
            stage: [(i, asyncio.ensure_future(a)) for group, of in begun for i, a in zip(group, of[n], strict=True)]
            for n, stage in enumerate(stages)
        }

    @property
    def _at_once(self) -> range:
        """The stages that instances begin as soon as they are configured: who sends to one that is not yet waits for
        it. None where a device must be ready before anybody sends; all of one that is alone, and queues them."""
        if self.context.drivers or None in self._together.values():
            return range(0)
        alone = self._lifecycle(self.instances[0]) if len(self.instances) == 1 else None
        is_queued = isinstance(alone, QueuesStages) and alone.queues_stages
        return range(1, 1 + (self.context.plan.stages if is_queued else 1))

    async def _set_up(self, verbs: Sequence[tuple[InstancePlan, Awaitable[Any]]], verb: str) -> None:
        """Awaits a verb on all instances. Raises TimedOut."""
        try:
            async with asyncio.timeout(SETUP_TIMEOUT_S) as limit:
                if len(verbs) == 1 and self._together[verbs[0][0].nca] is not None:
                    await on_one(*verbs[0], verb)
                else:
                    await on_all(verbs, verb)
        except TimeoutError:
            if not limit.expired():
                raise
            what = f"{verb}d within {SETUP_TIMEOUT_S:g} s"
            raise TimedOut(f"the instances of job {self.id} were not {what}", job=self.id) from None

    def _execute(self, stage: int) -> list[tuple[InstancePlan, Awaitable[dict[str, Any]]]]:
        """Asks each instance for a stage."""
        found: list[tuple[InstancePlan, Awaitable[dict[str, Any]]]] = []
        for group in self._groups:
            first, handles = group[0], [self._handles[i.id] for i in group]
            if (together := self._together[first.nca]) is not None:
                answers = together.execute_all(handles, self._host(first), stage)
            else:
                answers = [self._lifecycle(first).execute(handles[0], stage)]
            found += zip(group, answers, strict=True)
        return found

    async def _queued(self, answers: dict[int, list[tuple[InstancePlan, Answer]]]) -> None:
        """The stages of the only instance, which goes from each to the next by itself."""
        for stage, [(i, answer)] in answers.items():
            with self._phase("running", f"stage {stage}", stage):
                await on_one(i, self._executed(i, answer), f"stage {stage}")

    async def _executed(self, i: InstancePlan, answer: Awaitable[dict[str, Any]]) -> None:
        """Once the instance's part of the stage has ended."""
        start = time.monotonic()
        counters = await answer
        self._ended.add(i.id)
        if counters:  # the next stage runs already, else
            self.record.counters[i.id] = counters
        if debug.level() >= 2:
            read, sent = (sum(c.get("bytes", 0) for c in counters.get(k, ())) for k in ("sources", "sinks"))
            done = f"{time.monotonic() - start:.3f} s, read {read} bytes, sent {sent} bytes so far"
            debug.note(i.id, i.device.name, done, self._stage)

    async def _watch(self) -> None:
        """Watch the running stages, until it is cancelled."""

        def report(counters: dict[str, dict[str, Any]], works: bool) -> None:
            self.on_work(works)
            self.record.counters.update(counters)
            self._on_event(Event("running", self._stage, time.time_ns(), counters))

        def running() -> tuple[InstancePlan, ...]:
            return tuple(i for i in self.instances if i.id not in self._ended)

        def stage() -> int:
            return self._stage

        await watch(self.id, stage, self.context.plan.result, running, self._stats, self._stall_s, report)

    async def _stats(self, i: InstancePlan) -> dict[str, Any]:
        return await self._lifecycle(i).stats(self._handles[i.id])

    # ---- the end ----

    def _failed(self, error: BaseException, ended_ns: int) -> JumpgateError:
        """The typed error for what ended the job; the record has it, too, and only now says that the job has ended."""
        cancelled = self._cancelled is not None and weight(error) >= CONSEQUENCE  # a client that goes breaks its edge
        if cancelled or isinstance(error, asyncio.CancelledError):
            error = self._cancelled or Cancelled(f"job {self.id} was cancelled", job=self.id)
        elif isinstance(error, TimeoutError) and self._timeout_s is not None:
            error = self.late()
        elif not isinstance(error, JumpgateError):
            error = InternalError(f"{type(error).__name__}: {error}", job=self.id)
        error.fields.setdefault("job", self.id)
        self._blame(error)
        self.record.error, self.record.ended_ns = error.to_dict(), ended_ns
        self._enter("cancelled" if isinstance(error, Cancelled) else "failed", error=error)
        return error

    def _blame(self, error: JumpgateError) -> None:
        """Name the device, if it is no host, at an edge that got no answer any more: a plan can do without it."""
        known = {edge.id: edge for edge in self.context.plan.edges}
        edge = known.get(str(error.fields.get("edge")))
        if not isinstance(error, Unreachable) or "device" in error.fields or edge is None:
            return
        ends = {*edge.producers, *edge.consumers}
        devices = [i.device for i in self.instances if i.id in ends and i.device.kind != "host"]
        if devices:
            error.fields["device"] = devices[0].name

    def _is_clients(self, error: BaseException) -> bool:
        """Return whether it says that the edge to the client broke."""
        return isinstance(error, JumpgateError) and error.fields.get("edge") == self.context.plan.result

    async def _hear_of_client(self, ended_ns: int) -> None:
        """A client that goes away closes its edge and cancels the job: of these two the second may come later."""
        left_s = CAUSE_WAIT_S - (time.time_ns() - ended_ns) / 1e9
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._cancelling.wait(), left_s)

    async def _collect_last_stats(self, timeout_s: float) -> JumpgateError | None:
        """Collect the instances' last counters after the job failed; return the error of one that turns out to have
        died, or to be silent where others answer."""
        died: list[InstanceFailed] = []
        asked = {i.id: i for i in self.instances if i.id in self._handles}
        silent = dict(asked)
        phase = self.record.phases[-1].name if self.record.phases else ""

        async def collect(i: InstancePlan) -> None:
            try:
                self.record.counters[i.id] = await self._stats(i)
                del silent[i.id]
            except InstanceFailed as error:
                located(error, i, phase)
                died.append(error)
            except JumpgateError:
                pass  # it does not answer any more

        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(all_of(map(collect, asked.values())), timeout_s)
        if died or not 0 < len(silent) < len(asked):
            return died[0] if died else None
        names = ", ".join(f"{i.id} on host '{i.device.name}'" for i in silent.values())
        first = next(iter(silent.values()))
        message = f"the peers of instances that do not answer any more gave up: {names}"
        return located(Unreachable(message), first, phase)

    async def _destroy(self) -> None:
        """Every instance ends by its life-cycle; its host ends what does not, was only being started, or was started
        together with others."""

        async def destroy(i: InstancePlan) -> None:
            await asyncio.wait_for(self._lifecycle(i).destroy(self._handles[i.id]), DESTROY_TIMEOUT_S)

        alone = (i for i in self.instances if self._together[i.nca] is None and i.id in self._handles)
        await asyncio.gather(*map(destroy, alone), return_exceptions=True)
        lent = (*self.context.hosts.values(), *self.context.drivers.values())
        await asyncio.gather(*(device.release(self.id) for device in lent), return_exceptions=True)
        self._handles.clear()
        self.context.shared = Shared()  # jobs are remembered; what was said to hosts need not be

    # ---- helpers ----

    def _lifecycle(self, i: InstancePlan) -> LifeCycle:
        return self._lifecycles(i.nca)

    def _host(self, i: InstancePlan) -> Groups:
        return self.context.hosts[i.device.name]  # type: ignore[return-value]  # those of jobs are agents

    def _enter(
        self,
        state: str,
        stage: int = 0,
        counters: dict[str, dict[str, Any]] | None = None,
        error: JumpgateError | None = None,
    ) -> None:
        self.record.state = state
        self._on_event(Event(state, stage, time.time_ns(), counters, error))

    def _compiler_begins(self) -> None:
        """The first compiler ends the phase in which programs were generated."""
        self.record.compiled += 1
        now, phase = time.time_ns(), self.record.phases[-1]
        if phase.name == "generate":
            phase.end_ns = now
            self.record.phases.append(Phase("compile", now))

    @contextlib.contextmanager
    def _phase(self, state: str, name: str, stage: int = 0) -> Iterator[None]:
        """Enters the state, and notes when the phase began and ended."""
        self.record.phases.append(Phase(name, time.time_ns()))
        if stage:
            self._stage = stage
            self._ended.clear()
        self._enter(state, stage)
        try:
            yield
        finally:
            self.record.phases[-1].end_ns = time.time_ns()
