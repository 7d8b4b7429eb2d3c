"""The service without a network: what clients may ask of it, and with which rights.

`server` offers it by gRPC, `direct` to clients in the same process.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import asdict, dataclass, replace

from jumpgate import deadline, debug
from jumpgate.compiler.explain import explain_text
from jumpgate.converters import probe
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.request import Flow, Request
from jumpgate.dataflow.types import Schema
from jumpgate.errors import (
    BuildError,
    CannotPlace,
    CapacityExceeded,
    ConfigError,
    DataError,
    Draining,
    Forbidden,
    JumpgateError,
    Unreachable,
)
from jumpgate.nca.interface import JobPlan
from jumpgate.observe import report
from jumpgate.orchestrator.job import Event, Job
from jumpgate.orchestrator.record import JobRecord
from jumpgate.service import answers, first_runs, plans
from jumpgate.service.devices import devices
from jumpgate.service.engine import Engine
from jumpgate.service.estimates import columns_of, estimate_of
from jumpgate.service.first_runs import FirstRuns
from jumpgate.service.full import FullDevices
from jumpgate.service.groups import Groups
from jumpgate.service.guard import Client, Guard
from jumpgate.service.limits import TEXT_CHARACTERS_MAX
from jumpgate.service.plans import Plans
from jumpgate.service.pulls import Pulls
from jumpgate.stores import credentials
from jumpgate.stores.credentials import Credentials
from jumpgate.v1 import service_pb2 as pb

#: for a plan to be made of a request: threads that plan are not to be had without end
PLANNING_S_MAX = 300.0
#: after which a request that was refused as too large is gone
COLLECT_S = 0.2


@dataclass(frozen=True)
class Call:
    """A call of the service: the client that makes it, from where, and its trace ("": none). is_private: nobody else
    can have read it."""

    client: Client
    peer: str
    traceparent: str = ""
    is_private: bool = True

    def credentials(self, brought: Credentials | None) -> Credentials | None:
        """Return what the call's request reads stores with; None: with what the service lends. Raises Forbidden for
        credentials that may not be brought, or not this way."""
        if brought is not None and not self.is_private:
            raise Forbidden(
                "credentials of stores are taken over TLS, or from this machine, and this connection is neither: give "
                "the service a [tls] and the client a certificate (docs/security.md), and replace what was sent"
            )
        return self.client.credentials(brought)


class Service:
    """Every verb raises typed errors, and holds nobody up: it runs on the service's event loop."""

    def __init__(self, engine: Engine, guard: Guard) -> None:
        self.engine, self.guard = engine, guard
        self.plans = Plans()
        self._full = FullDevices()
        self._plans_at_once = Plans()
        self._first_runs = FirstRuns(lambda request: self._planned(request, at_once=True)[1])
        self._groups = Groups()
        self._pulls = Pulls()
        self.is_draining = False  #: new jobs are refused
        self.replans = 0  #: jobs that were planned again without what did not answer
        #: hears of each call that ends in an error: whose it was ("": nobody's, or the service's own user's), its peer
        self.on_failed: Callable[[str, str, JumpgateError], None] = lambda *_: None

    @property
    def unready(self) -> str:
        """Return why a new job would not run; empty: it would."""
        if self.is_draining:
            return "the service is about to end"
        lost = self.engine.agents.lost
        return "" if any(d.name not in lost for d in self.engine.agents.devices) else "no host answers"

    async def close(self) -> None:
        """End every job and agent."""
        await self._groups.close()
        await self.engine.close()

    # ---- jobs ----

    async def submit(self, call: Call, request: Request) -> Job:
        """Plan and compile a request as its client may have it."""
        started_ns, client = time.time_ns(), call.client
        client.check_jobs(self.engine.jobs)
        if self.is_draining:
            raise Draining(
                f"the service at {self.guard.address} is about to end, and takes no new jobs: try again soon",
                address=self.guard.address,
            )
        with deadline.within(request.options.timeout_ms / 1000):
            async with deadline.bounded("planned or compiled"):
                request = await self._admitted(call, request)
                job = await self._job(request, started_ns)
        job.spent_s = (time.time_ns() - started_ns) / 1e9
        job.record.client, job.record.peer, job.record.traceparent = client.name, call.peer, call.traceparent
        return job

    async def execute(self, call: Call, job: str) -> AsyncGenerator[pb.Event, None]:
        """Yield what happens to a job that was submitted; raise its failure."""
        call.client.check_job(self.engine.job(job).record)
        async with contextlib.aclosing(self._executed(call, job)) as events:
            async for event in events:
                yield answers.event_of(job, event)

    async def run(
        self, call: Call, request: Request, *, explain: bool = False, pull: bool = False
    ) -> AsyncGenerator[pb.Event, None]:
        """Submit a request and execute it. The first event has the answer, with the plan's explanation if wanted, once
        the job has begun or waits: nothing that its client does then delays its instances. pull: `pull` fetches the
        result, whatever the endpoints."""
        async with self._pulled(request, pull) as (request, received):
            job = await self.submit(call, request)
            received(job)
            async with contextlib.aclosing(self._executed(call, job.id)) as events:
                is_first = True
                async for event in events:
                    if is_first:
                        is_first, answer = False, answers.submitted(job, explain)
                        yield pb.Event(job_id=job.id, state="submitted", time_ns=time.time_ns(), submitted=answer)
                    yield answers.event_of(job.id, event)

    async def pull(self, call: Call, job: str) -> AsyncGenerator[pb.PullResponse, None]:
        """Yield the result of a job that was run with `pull`."""
        call.client.check_job(self.engine.job(job).record)
        async with contextlib.aclosing(self._pulls.find(job).fetch()) as pieces:
            async for piece in pieces:
                yield piece

    async def cancel(self, call: Call, job: str) -> None:
        """End a job wherever it is."""
        call.client.check_job(self.engine.job(job).record)
        self.engine.cancel(job)

    async def describe(self, call: Call, job: str, *, page: bool = False) -> pb.JobDescription:
        """Return a job with its record. page: and its report. Raises NotFound."""
        record = self.record(call.client, job)
        found = pb.JobDescription(job_id=record.job, state=record.state, record_json=record.to_json())
        if page:
            found.page = await asyncio.to_thread(report.of_record, found.record_json)
        return found

    async def jobs(self, call: Call) -> pb.ListResponse:
        """Return the client's jobs that the service remembers, newest first."""
        queued = self.queued()
        seen = [record for record in self.engine.jobs() if call.client.sees(record)]
        return pb.ListResponse(jobs=[pb.JobDescription(job_id=r.job, state=queued.get(r.job, r.state)) for r in seen])

    async def devices(self, call: Call) -> pb.DevicesResponse:
        """Return the hosts and devices. A client sees those of all, as on the page."""
        return pb.DevicesResponse(devices=[pb.Device(**asdict(device)) for device in devices(self.engine)])

    def record(self, client: Client, job: str) -> JobRecord:
        """Return a job's record; "latest": the last of the client's to end. Raises NotFound."""
        if job == "latest" and client.name:
            ended = [r for r in self.engine.jobs() if r.ended_ns and client.sees(r)]
            job = max(ended, key=lambda r: r.ended_ns).job if ended else job
        return client.check_job(self.engine.describe(job))

    def queued(self) -> dict[str, str]:
        """Return the states of jobs that wait, with their places in the queue."""
        waiting = self.engine.admission.waiting
        return {job: f"queued ({place} of {len(waiting)})" for place, job in enumerate(waiting, 1)}

    # ---- plans ----

    async def explain(
        self,
        call: Call,
        request: Request,
        *,
        verbose: bool = False,
        elsewhere: pb.Speeds | None = None,
        columns: bool = False,
        estimate_only: bool = False,
    ) -> pb.ExplainResponse:
        """Explain how a request would be run, and estimate it. verbose: the plan after each pass, too. elsewhere:
        speeds for an estimate of the same work there. columns: estimates of the result's columns. estimate_only: no
        texts. The plan is remembered: a dataflow that ends with a Send may be submitted next."""
        request, plan = await self._considered(call, request, trace=verbose)
        estimate = estimate_of(plan, elsewhere or pb.Speeds())
        if columns:
            root, _ = request.flow.decoded
            with credentials.used(request.credentials):
                estimate.columns.extend(await asyncio.to_thread(columns_of, self.engine.estimator(), root))
        if estimate_only:
            return pb.ExplainResponse(estimate=estimate)
        _, reason = await self._first_run(request, plan)
        plan = first_runs.explained(plan, reason)
        text = explain_text(plan.explain, verbose)
        return pb.ExplainResponse(text=text, json=json.dumps(plan.explain), estimate=estimate)

    async def explain_job(self, call: Call, job: str, *, verbose: bool = False) -> pb.ExplainResponse:
        """Explain a job that was executed, with what its operators took. Raises NotFound."""
        return answers.analyzed(self.record(call.client, job), verbose)

    async def prepare(self, call: Call, request: Request, patience_s: float) -> float:
        """Return the seconds for which a job of the request would wait for hosts and programs; if they are more than
        patience_s, prepare these meanwhile."""
        request, plan = await self._considered(call, request)
        preparing = self.engine.preparing
        first, _ = await self._first_run(request, plan)
        if first is None:
            wait_s = await preparing.build_s(plan)
        else:  # it waits for no programs, but may take longer
            wait_s = max(0.0, (first.figures.seconds or 0.0) - (plan.figures.seconds or 0.0))
        seconds = await preparing.reach_s(plan) + wait_s
        if seconds > patience_s:
            self.engine.preparing.begin(plan)
        return seconds

    async def look(
        self,
        call: Call,
        paths: list[str],
        format: str,
        options: dict[str, str],
        schema: Schema | None,
        brought: Credentials | None = None,
    ) -> Operator:
        """Return a read of all columns of files of hosts; schema: that of the files, if it is known. brought: what
        reads objects among them."""
        call.client.check_paths(paths)
        self.engine.limits.check_files(len(paths))
        await self.engine.agents.meet()
        with credentials.used(call.credentials(brought)):
            return await self.engine.located.look(paths, format, options, schema)

    # ---- receivers that share a result ----

    async def open_group(self, call: Call, receivers: int) -> str:
        """Return the id of a new group of so many receivers."""
        return self._groups.open(call.client.name, receivers)

    async def receive(
        self, call: Call, requests: AsyncIterator[pb.ReceiveRequest]
    ) -> AsyncGenerator[pb.ReceiveResponse, None]:
        """Yield what a receiver of a group is told."""
        join = (await anext(requests, pb.ReceiveRequest())).join
        call.client.check_size(join.ByteSize())
        group = self._groups.find(call.client.name, join.group)
        receiver = group.join(join.receiver, Request.of(join.request), _Runner(self, call))
        if receiver is None:
            return

        async def listen() -> None:
            try:
                async for request in requests:
                    group.step(receiver, request)
            except JumpgateError as error:
                receiver.told.put_nowait(error)

        listening = asyncio.create_task(listen())
        try:
            async for response in receiver.responses():
                yield response
        finally:
            group.leave(receiver)
            listening.cancel()

    # ---- steps of these ----

    async def _admitted(self, call: Call, request: Request) -> Request:
        """Return the request within the client's rights and limits. Raises Forbidden for what the client may not ask
        for."""
        client = call.client
        client.check_size(request.size)
        try:
            client.check_limits(request, self.engine.limits)
        except JumpgateError:  # what holds a request of many parts must not wait for the collector of the process
            asyncio.get_running_loop().call_later(COLLECT_S, gc.collect)
            raise
        brought = call.credentials(request.credentials)
        request = replace(request, options=client.limited(request.options), credentials=brought)
        if client.name:
            root, dialect = await asyncio.to_thread(lambda: request.flow.decoded)
            below = client.below_roots(root)
            request = request if below is root else replace(request, flow=Flow.of(below, dialect))
        return request

    async def _considered(self, call: Call, request: Request, trace: bool = False) -> tuple[Request, JobPlan]:
        """Plan a request that is not to run yet."""
        with deadline.within(request.options.timeout_ms / 1000):
            async with deadline.bounded("planned"):
                request = await self._admitted(call, request)
                await self.engine.agents.meet()
                if trace:
                    return request, await asyncio.to_thread(self._traced, request)
                return await asyncio.to_thread(self._planned, request)

    def _traced(self, request: Request) -> JobPlan:
        """Plan a request now, and note the plan after each pass."""
        with credentials.used(request.credentials):
            return self.engine.plan(*request.flow.decoded, request.options, trace=True)

    def _planned(self, request: Request, at_once: bool = False) -> tuple[Request, JobPlan]:
        """Plan a request now, or find the plan of an equal one. Return it without the devices that were full for it."""
        with credentials.used(request.credentials):
            return self._found(request, at_once)

    def _found(self, request: Request, at_once: bool) -> tuple[Request, JobPlan]:
        request, lost = self._full.left_out(request), self.engine.lost
        known = self._plans_at_once if at_once else self.plans
        plan = known.find(request, lost) if debug.level() < 3 else None  # 3 shows how a plan is made
        if plan is not None:
            return request, plan
        with probe.noted() as findings, deadline.within(PLANNING_S_MAX):
            make = self.engine.plan_at_once if at_once else self.engine.plan
            plan = make(*request.flow.decoded, request.options)
        if self.engine.lost == lost:
            known.keep(request, lost, plan, findings)
        return request, plans.delivering(plan, request.endpoints)

    async def _job(self, request: Request, started_ns: int) -> Job:
        """Plan and compile a request; plan it again without a host or device that turns out not to answer."""
        await self.engine.agents.meet()
        silent: Unreachable | None = None
        while True:
            lost = self.engine.lost
            try:
                # on a thread: files on a slow disk, and large requests, must not keep other jobs waiting
                request, plan = await asyncio.to_thread(self._planned, request)
            except CannotPlace:
                if silent is not None:  # nobody else can do it
                    raise silent from None
                raise
            try:
                job = await self._prepared(request, plan, started_ns)
            except Unreachable as error:
                if self.engine.lost <= lost:  # so it ends: there are as many attempts as hosts and devices, at most
                    raise
                silent = error
                self.replans += 1
            else:
                self._full.submitted(job.id, request)
                return job

    async def _first_run(self, request: Request, plan: JobPlan, *, built: bool = True) -> tuple[JobPlan | None, str]:
        """Return the plan that starts at once in place of `plan`, if it should, and the reason. built: programs can
        be."""
        if not self._first_runs.applies(request, plan):
            return None, ""
        build_s = await self.engine.preparing.build_s(plan) if built else math.inf
        if build_s and await self.engine.preparing.waits_for_runtime(plan):
            return None, "the runtime is built first"
        return await self._first_runs.plan(request, plan, build_s)

    async def _prepared(self, request: Request, plan: JobPlan, started_ns: int) -> Job:
        """Compile a plan, or one that starts at once while its programs are built, or if they cannot be."""

        async def prepared(plan: JobPlan, reason: str) -> Job:
            plan, text = first_runs.explained(plan, reason), request.text[:TEXT_CHARACTERS_MAX]
            return await self.engine.prepare(plan, request.options, started_ns, text, request.credentials)

        async def begun(first: JobPlan | None, reason: str) -> tuple[Job | None, str]:
            if first is None:
                return None, reason
            try:
                job = await prepared(first, reason)
            except (CannotPlace, ConfigError, DataError) as error:  # it is about what the other plan may do
                self._first_runs.refuse(request, error.message)
                return None, error.message
            self._first_runs.submitted(job.id, request, plan)
            return job, reason

        job, reason = await begun(*await self._first_run(request, plan))
        if job is not None:
            return job
        try:
            return await prepared(plan, reason)
        except BuildError as error:
            job, reason = await begun(*await self._first_run(request, plan, built=False))
            if job is None:
                message = error.message + (f"; without its programs: {reason}" if reason else "")
                raise BuildError(message, **error.fields) from None
            return job

    async def _executed(self, call: Call, job: str) -> AsyncGenerator[Event, None]:
        try:
            async with contextlib.aclosing(self.engine.execute(job, call.client.user(call.peer))) as events:
                async for event in events:
                    if event.error is not None:  # before its client hears of it, who may try again
                        self._first_runs.failed(job, event.error)
                    if isinstance(event.error, CapacityExceeded):
                        self._full.failed(job, event.error)
                    yield event
        finally:
            if (plan := self._first_runs.ended(job)) is not None:
                self.engine.preparing.begin(plan)
                await self.engine.stand_by()  # for the next first run

    @contextlib.asynccontextmanager
    async def _pulled(self, request: Request, pull: bool) -> AsyncIterator[tuple[Request, Callable[[Job], None]]]:
        """Receive the result of what runs inside, if that is wanted: once it is told the job."""
        if not pull:
            yield request, lambda job: None
            return
        pulled = self._pulls.open(self.engine.config.hosts)
        jobs: list[str] = []

        def received(job: Job) -> None:
            self._pulls.add(job, pulled)
            jobs.append(job.id)

        try:
            yield pulled.addressed(request), received
        except BaseException as error:
            pulled.close(error if isinstance(error, JumpgateError) else None)
            for job in jobs:
                self._pulls.forget(job)
            raise
        for job in jobs:
            self._pulls.keep(job)


@dataclass(frozen=True)
class _Runner:
    """Runs a group's jobs in the name of the client that joined first."""

    service: Service
    call: Call

    async def submit(self, request: Request) -> pb.SubmitResponse:
        return answers.submitted(await self.service.submit(self.call, request), explain=False)

    async def execute(self, job: str) -> None:
        async with contextlib.aclosing(self.service.execute(self.call, job)) as events:
            async for _ in events:
                pass
