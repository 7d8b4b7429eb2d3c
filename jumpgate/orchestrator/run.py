"""Runs one job: compile → allocate → configure → stages with barriers → destroy; the first failure ends everything.

Whatever happens, every instance is destroyed before the call returns. Of several failures the cause is reported: when an
instance dies its peers only see closed connections, so their complaints count less than any other error.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from jumpgate import errors
from jumpgate.errors import Cancelled, InstanceFailed, InternalError, JumpgateError, TimedOut
from jumpgate.nca.interface import InstancePlan, JobContext, LifeCycle
from jumpgate.orchestrator.record import JobRecord, Phase

#: after a failure that may be only a consequence, how long to wait for a better one
CAUSE_WAIT_S = 0.25
DESTROY_TIMEOUT_S = 5.0
#: how often a running stage is asked for progress
PROGRESS_INTERVAL_S = 1.0

OnState = Callable[[str, int], None]


class Job:
    """One job of a service. `run` executes it once; `cancel` may come at any time, from the same event loop."""

    def __init__(self, context: JobContext, lifecycles: Callable[[str], LifeCycle], record: JobRecord,
                 timeout_ms: int = 0, stall_timeout_ms: int = 60_000) -> None:
        self.context, self.record = context, record
        self._lifecycles = lifecycles
        self._timeout_s = timeout_ms / 1000 if timeout_ms else None
        self._stall_s = stall_timeout_ms / 1000
        self._handles: dict[str, Any] = {}
        self._artifacts: dict[str, Any] = {}
        self._task: asyncio.Task[None] | None = None
        self._cancelled: JumpgateError | None = None

    @property
    def instances(self) -> tuple[InstancePlan, ...]:
        return self.context.plan.instances

    async def compile(self) -> None:
        """Builds every instance's artifact; siblings share one."""
        with self._phase("compile"):
            first: dict[str, InstancePlan] = {}
            for i in self.instances:
                first.setdefault(f"{i.fragment}@{i.device.name}", i)
            built = await _all([self._lifecycle(i).compile(i, self._host(i)) for i in first.values()])
            by_fragment = dict(zip(first, built, strict=True))
            self._artifacts = {i.id: by_fragment[f"{i.fragment}@{i.device.name}"] for i in self.instances}
        self.record.state = "compiled"

    def cancel(self, error: JumpgateError | None = None) -> None:
        self._cancelled = self._cancelled or error or Cancelled(f"job {self.context.job} was cancelled",
                                                                job=self.context.job)
        if self._task is not None:
            self._task.cancel()

    async def run(self, on_state: OnState) -> None:
        """Raises the one error that explains a failure. May be called once."""
        self._task = asyncio.create_task(self._stages(on_state))
        try:
            await asyncio.wait_for(self._task, self._timeout_s)
            self.record.state = "done"
        except BaseException as error:
            await self._collect_stats()
            raise self._failed(error) from None
        finally:
            await self._destroy()
            self.record.ended_ns = time.time_ns()

    def _failed(self, error: BaseException) -> JumpgateError:
        if isinstance(error, TimeoutError):
            seconds = self._timeout_s or 0
            error = TimedOut(f"job {self.context.job} did not end within {seconds:g} s", job=self.context.job)
        elif isinstance(error, asyncio.CancelledError):
            error = self._cancelled or Cancelled(f"job {self.context.job} was cancelled", job=self.context.job)
        elif not isinstance(error, JumpgateError):
            error = InternalError(f"{type(error).__name__}: {error}")
        self.record.state = "cancelled" if isinstance(error, Cancelled) else "failed"
        self.record.error = error.to_dict()
        return error

    # ---- the stages ----

    async def _stages(self, on_state: OnState) -> None:
        if self._cancelled is not None:
            raise self._cancelled
        on_state("allocating", 0)
        with self._phase("allocate"):
            await self._each(self._allocate)
        on_state("configuring", 0)
        with self._phase("configure"):
            await self._each(lambda i: self._lifecycle(i).configure(
                self._handles[i.id], i, self._artifacts[i.id], self.context))
        for stage in range(1, self.context.plan.stages + 1):
            on_state("running", stage)
            with self._phase(f"stage {stage}"):
                watch = asyncio.create_task(self._watch_progress(stage))
                try:
                    await self._each(lambda i, stage=stage: self._execute(i, stage), watch)  # type: ignore[misc]
                finally:
                    watch.cancel()

    async def _allocate(self, i: InstancePlan) -> None:
        self._handles[i.id] = await self._lifecycle(i).allocate(i, self.context)

    async def _execute(self, i: InstancePlan, stage: int) -> None:
        try:
            counters = await self._lifecycle(i).execute(self._handles[i.id], stage)
        except errors.ComputeError as error:
            explain = getattr(self._lifecycle(i), "explained", None)
            raise explain(error, self._artifacts[i.id]) if explain else error from None
        self.record.counters[i.id] = counters

    async def _watch_progress(self, stage: int) -> None:
        """Raises TimedOut when no counter of any instance moves for the stall time."""
        last, since = "", time.monotonic()
        while True:
            await asyncio.sleep(min(PROGRESS_INTERVAL_S, self._stall_s / 4))
            stats = await asyncio.wait([asyncio.create_task(self._stats(i)) for i in self.instances],
                                       timeout=self._stall_s / 2)
            now = "".join(sorted(t.result() for t in stats[0]))
            for task in stats[1]:
                task.cancel()
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > self._stall_s:
                raise TimedOut(f"job {self.context.job} stalled: no instance made progress in stage {stage} for "
                               f"{self._stall_s:g} s", job=self.context.job, stage=stage)

    async def _stats(self, i: InstancePlan) -> str:
        try:
            stats = await self._lifecycle(i).stats(self._handles[i.id])
        except JumpgateError:
            return ""  # execute reports what is wrong with it
        flows = [(f.get("rows"), f.get("bytes")) for kind in ("sources", "sinks") for f in stats.get(kind, ())]
        return f"{i.id}{flows}{[p.get('rows_in') for p in stats.get('pipelines', ())]}{len(stats.get('stages', ()))}"

    # ---- helpers ----

    def _lifecycle(self, i: InstancePlan) -> LifeCycle:
        return self._lifecycles(i.nca)

    def _host(self, i: InstancePlan) -> Any:
        return self.context.hosts.get(i.device.name)

    def _phase(self, name: str) -> _PhaseTimer:
        return _PhaseTimer(self.record, name)

    async def _each(self, verb: Callable[[InstancePlan], Awaitable[Any]], *also: asyncio.Task[Any]) -> None:
        """The verb on all instances at once. On failure the rest is abandoned and the likeliest cause raised."""
        tasks = {asyncio.ensure_future(_named(verb(i), i)): i for i in self.instances}
        pending: set[asyncio.Future[Any]] = {*tasks, *also}
        failures: list[BaseException] = []
        deadline: float | None = None
        while any(t in pending for t in tasks):
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            done, pending = await _wait(pending, left)
            failures += [e for t in done if not t.cancelled() and (e := t.exception()) is not None]
            if failures and deadline is None:
                deadline = time.monotonic() + (0 if _is_cause(failures) else CAUSE_WAIT_S)
            if failures and (_is_cause(failures) or not done or time.monotonic() >= (deadline or 0)):
                break
        for t in pending:
            if t in tasks:
                t.cancel()
        if failures:
            raise min(failures, key=_weight)

    async def _collect_stats(self) -> None:
        """What the instances had done when the job failed; for the report only."""
        async def collect(i: InstancePlan) -> None:
            self.record.counters[i.id] = await self._lifecycle(i).stats(self._handles[i.id])

        tasks = [asyncio.ensure_future(collect(i)) for i in self.instances if i.id in self._handles]
        if tasks:
            done, pending = await asyncio.wait(tasks, timeout=0.2)
            for t in pending:
                t.cancel()
            for t in done:
                t.exception()

    async def _destroy(self) -> None:
        async def destroy(i: InstancePlan) -> None:
            handle = self._handles[i.id]
            try:
                await asyncio.wait_for(self._lifecycle(i).destroy(handle), DESTROY_TIMEOUT_S)
            except (TimeoutError, JumpgateError):
                kill = getattr(handle, "kill", None)
                if kill is not None:
                    await asyncio.wait_for(kill(), DESTROY_TIMEOUT_S)

        tasks = [destroy(i) for i in self.instances if i.id in self._handles]
        await asyncio.gather(*tasks, return_exceptions=True)
        self._handles.clear()


class _PhaseTimer:
    def __init__(self, record: JobRecord, name: str) -> None:
        self._record, self._phase = record, Phase(name, 0)

    def __enter__(self) -> None:
        self._phase.start_ns = time.time_ns()
        self._record.phases.append(self._phase)

    def __exit__(self, *_: object) -> None:
        self._phase.end_ns = time.time_ns()


async def _named(verb: Awaitable[Any], i: InstancePlan) -> Any:
    """Errors say where they happened."""
    try:
        return await verb
    except JumpgateError as error:
        error.fields.setdefault("instance", i.id)
        error.fields.setdefault("host", i.device.name)
        raise


async def _wait(pending: set[asyncio.Future[Any]], timeout: float | None
                ) -> tuple[set[asyncio.Future[Any]], set[asyncio.Future[Any]]]:
    return await asyncio.wait(pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)


def _weight(error: BaseException) -> int:
    """Smaller explains more: data and computation, then a dead instance, then vanished peers and cancellations."""
    if isinstance(error, errors.Unreachable | Cancelled):
        return 2
    return 1 if isinstance(error, InstanceFailed | errors.ProtocolError) else 0


def _is_cause(failures: list[BaseException]) -> bool:
    return min(map(_weight, failures)) < 2


async def _all(verbs: Iterable[Awaitable[Any]]) -> list[Any]:
    """All results, or the first error once everything has ended."""
    results = await asyncio.gather(*verbs, return_exceptions=True)
    for r in results:
        if isinstance(r, BaseException):
            raise r
    return results
