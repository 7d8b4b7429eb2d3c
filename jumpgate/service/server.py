"""The gRPC face of the engine (jumpgate/v1/service.proto)."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import grpc

from jumpgate import deadline, debug, errors, extras
from jumpgate.compiler.explain import explain_text, links
from jumpgate.compiler.physical.figures import measured
from jumpgate.converters import probe
from jumpgate.dataflow import proto
from jumpgate.dataflow.objective import TIME, Objective
from jumpgate.errors import (
    CannotPlace,
    CapacityExceeded,
    ConfigError,
    Draining,
    InternalError,
    JumpgateError,
    Unreachable,
)
from jumpgate.hosts.config import Config
from jumpgate.nca.interface import JobPlan
from jumpgate.nca.registry import Registry
from jumpgate.ntf.addresses import is_loopback, joined
from jumpgate.observe import report
from jumpgate.orchestrator.job import Event, Job
from jumpgate.orchestrator.record import JobRecord
from jumpgate.service import health
from jumpgate.service.calibrating import Calibrating
from jumpgate.service.engine import Engine, RunOptions
from jumpgate.service.estimates import columns_of, estimate_of
from jumpgate.service.full import FullDevices
from jumpgate.service.groups import Groups
from jumpgate.service.guard import Client, Door, Guard
from jumpgate.service.limits import MESSAGE_BYTES_MAX, TEXT_CHARACTERS_MAX
from jumpgate.service.plans import Plans
from jumpgate.service.pulls import Pulls
from jumpgate.service.requests import read_request, traceparent
from jumpgate.trust.channels import server_credentials
from jumpgate.trust.tls import Identity
from jumpgate.trust.tokens import Published
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1 import service_pb2_grpc

T = TypeVar("T")

#: trailing metadata that holds the typed error
ERROR_KEY = "jumpgate-error"
#: for a plan to be made of a request: threads that plan are not to be had without end
PLANNING_S_MAX = 300.0
#: after which a request that was refused as too large is gone
COLLECT_S = 0.2
#: such threads; most of them wait for files
PLANNERS = 32
#: for TLS and HTTP/2 to begin on a connection; for one without a call to stay (its client connects again by itself)
HANDSHAKE_MS, IDLE_MS = 5000, 600_000
#: of an answer: a job's report has all its instances
ANSWER_BYTES_MAX = 64 << 20
#: of a typed error; gRPC's peers accept 8 KiB of metadata, which hold the status message as well
METADATA_BYTES_MAX = 3000

_STATUS: dict[type[JumpgateError], grpc.StatusCode] = {
    errors.InvalidDataflow: grpc.StatusCode.INVALID_ARGUMENT,
    errors.CannotPlace: grpc.StatusCode.FAILED_PRECONDITION,
    errors.NotFound: grpc.StatusCode.NOT_FOUND,
    errors.Cancelled: grpc.StatusCode.CANCELLED,
    errors.TimedOut: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.MemoryLimit: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.InternalError: grpc.StatusCode.INTERNAL,
    errors.DataError: grpc.StatusCode.FAILED_PRECONDITION,
    errors.ComputeError: grpc.StatusCode.FAILED_PRECONDITION,
    errors.Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    errors.Forbidden: grpc.StatusCode.PERMISSION_DENIED,
}


class Server(service_pb2_grpc.JumpgateServicer):
    """Every RPC: decode, ask the engine, encode. A failure of one request never ends the server."""

    def __init__(self, engine: Engine, guard: Guard) -> None:
        self.engine, self.guard = engine, guard
        self.plans = Plans()
        self._full = FullDevices()
        self.groups = Groups()
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

    async def _answered(self, context: Any, verb: Callable[[], Awaitable[T]]) -> T:
        try:
            return await verb()
        except Exception as error:  # not CancelledError: the client has gone
            raise await self.refuse(context, error) from error

    async def refuse(self, context: Any, error: Exception) -> Exception:
        """Ends a call with an error; gRPC raises what ends the handler."""
        typed = error if isinstance(error, JumpgateError) else InternalError(f"{type(error).__name__}: {error}")
        self.on_failed(self.guard.name(context.invocation_metadata()), context.peer(), typed)
        return await _abort(context, typed)

    def _client(self, context: Any) -> Client:
        return self.guard.client(context.invocation_metadata())

    async def _admit(self, client: Client, request: pb.SubmitRequest) -> None:
        """Raises Forbidden for what the client may not ask for; lowers limits to its own."""
        client.check_size(request)
        try:
            client.check_limits(request, self.engine.limits)
        except JumpgateError:  # what holds a request of many parts must not wait for the collector of the process
            asyncio.get_running_loop().call_later(COLLECT_S, gc.collect)
            raise
        client.limit(request.options)
        if client.name:
            root, dialect = await asyncio.to_thread(read_request, request)
            request.dataflow.CopyFrom(proto.encode(client.below_roots(root), dialect))

    def record(self, client: Client, id: str) -> JobRecord:
        """Raises NotFound."""
        if id == "latest" and client.name:
            ended = [r for r in self.engine.jobs() if r.ended_ns and client.sees(r)]
            id = max(ended, key=lambda r: r.ended_ns).job if ended else id
        return client.check_job(self.engine.describe(id))

    def _plan(self, request: pb.SubmitRequest) -> JobPlan:
        """Planned now, or when the same was asked before; without devices that were full then, which it notes in the
        request."""
        self._full.leave_out(request)
        lost = self.engine.lost
        plan = self.plans.find(request, lost) if debug.level() < 3 else None  # 3 shows how a plan is made
        if plan is None:
            with probe.noted() as findings, deadline.within(PLANNING_S_MAX):
                plan = self.engine.plan(*read_request(request), _options(request.options))
            if self.engine.lost == lost:
                self.plans.keep(request, lost, plan, findings)
        return plan

    async def _job(self, request: pb.SubmitRequest, options: RunOptions, started_ns: int, text: str) -> Job:
        """Planned and compiled; planned again without a host or device that turns out not to answer."""
        await self.engine.agents.meet()
        silent: Unreachable | None = None
        while True:
            lost = self.engine.lost
            try:
                # on a thread: files on a slow disk must not keep other jobs waiting
                plan = await asyncio.to_thread(self._plan, request)
            except CannotPlace:
                if silent is not None:  # nobody else can do it
                    raise silent from None
                raise
            try:
                return await self.engine.prepare(plan, options, started_ns, text)
            except Unreachable as error:
                if self.engine.lost <= lost:  # so it ends: there are as many attempts as hosts and devices, at most
                    raise
                silent = error
                self.replans += 1

    async def Submit(self, request: pb.SubmitRequest, context: Any) -> pb.SubmitResponse:
        async def submit() -> pb.SubmitResponse:
            return _submitted(await self.submit(request, self._client(context), context), explain=True)

        return await self._answered(context, submit)

    async def Execute(self, request: pb.ExecuteRequest, context: Any) -> None:
        async def execute() -> None:
            client = self._client(context)
            client.check_job(self.engine.job(request.job_id).record)
            await self._execute(request.job_id, client, context)

        await self._answered(context, execute)

    async def Run(self, request: pb.RunRequest, context: Any) -> None:
        async def run() -> None:
            client = self._client(context)
            async with self._pulled(request) as received:
                job = await self.submit(request.submit, client, context)
                received(job)
                answer = _submitted(job, request.explain)
                event = pb.Event(job_id=job.id, state="submitted", time_ns=time.time_ns(), submitted=answer)
                await self._execute(job.id, client, context, event)

        await self._answered(context, run)

    @contextlib.asynccontextmanager
    async def _pulled(self, request: pb.RunRequest) -> AsyncIterator[Callable[[Job], None]]:
        """Receive the result of what runs inside, if the request wants that: once it is told the job."""
        if not request.pull:
            yield lambda job: None
            return
        pulled = self._pulls.open(self.engine.config.hosts)
        jobs: list[str] = []

        def received(job: Job) -> None:
            self._pulls.add(job, pulled)
            jobs.append(job.id)

        try:
            pulled.address(request.submit)
            yield received
        except BaseException as error:
            pulled.close(error if isinstance(error, JumpgateError) else None)
            for job in jobs:
                self._pulls.forget(job)
            raise
        for job in jobs:
            self._pulls.keep(job)

    async def Pull(self, request: pb.PullRequest, context: Any) -> None:
        async def pull() -> None:
            self._client(context).check_job(self.engine.job(request.job_id).record)
            async with contextlib.aclosing(self._pulls.find(request.job_id).fetch()) as pieces:
                async for piece in pieces:
                    await context.write(piece)

        await self._answered(context, pull)

    async def OpenGroup(self, request: pb.OpenGroupRequest, context: Any) -> pb.OpenGroupResponse:
        async def open() -> pb.OpenGroupResponse:
            return pb.OpenGroupResponse(group=self.groups.open(self._client(context).name, request.receivers))

        return await self._answered(context, open)

    async def Receive(self, requests: AsyncIterator[pb.ReceiveRequest], context: Any) -> None:
        async def receive() -> None:
            client = self._client(context)
            join = (await anext(requests, pb.ReceiveRequest())).join
            client.check_size(join)
            group = self.groups.find(client.name, join.group)
            receiver = group.join(join, _Jobs(self, client, context))
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
                    await context.write(response)
            finally:
                group.leave(receiver)
                listening.cancel()

        await self._answered(context, receive)

    async def submit(self, request: pb.SubmitRequest, client: Client, context: Any) -> Job:
        """Planned and compiled as the client may have it."""
        started_ns, text = time.time_ns(), request.text[:TEXT_CHARACTERS_MAX]
        request.ClearField("text")  # the same request in other words is the same request
        client.check_jobs(self.engine.jobs)
        if self.is_draining:
            raise Draining(
                f"the service at {self.guard.address} is about to end, and takes no new jobs: try again soon",
                address=self.guard.address,
            )
        with deadline.within(request.options.timeout_ms / 1000):
            async with deadline.bounded("planned or compiled"):
                await self._admit(client, request)
                job = await self._job(request, _options(request.options), started_ns, text)
        job.spent_s = (time.time_ns() - started_ns) / 1e9
        job.record.client, job.record.peer = client.name, context.peer()
        job.record.traceparent = traceparent(context.invocation_metadata())
        self._full.submitted(job.id, request)
        return job

    async def execute(self, id: str, client: Client, peer: str) -> AsyncGenerator[Event, None]:
        """Yield the job's events; raise its failure."""
        async with contextlib.aclosing(self.engine.execute(id, client.user(peer))) as events:
            async for event in events:
                if isinstance(event.error, CapacityExceeded):
                    self._full.failed(id, event.error)
                yield event

    async def _execute(self, id: str, client: Client, context: Any, submitted: pb.Event | None = None) -> None:
        """Says what happens to the job, and first `submitted`, once the job has begun or waits: of what its client does
        then nothing is on the way of its instances."""
        async with contextlib.aclosing(self.execute(id, client, context.peer())) as events:
            async for event in events:
                if submitted is not None:
                    await context.write(submitted)
                    submitted = None
                detail = "" if event.counters is None else json.dumps(event.counters)
                if event.error is not None:
                    detail = metadata_of(event.error)
                await context.write(
                    pb.Event(
                        job_id=id,
                        state=event.state,
                        stage=event.stage,
                        time_ns=event.time_ns,
                        detail_json=detail,
                    )
                )

    async def Cancel(self, request: pb.CancelRequest, context: Any) -> pb.CancelResponse:
        async def cancel() -> pb.CancelResponse:
            self._client(context).check_job(self.engine.job(request.job_id).record)
            self.engine.cancel(request.job_id)
            return pb.CancelResponse()

        return await self._answered(context, cancel)

    async def Describe(self, request: pb.DescribeRequest, context: Any) -> pb.JobDescription:
        async def describe() -> pb.JobDescription:
            record = self.record(self._client(context), request.job_id)
            found = pb.JobDescription(job_id=record.job, state=record.state, record_json=record.to_json())
            if request.page:
                found.page = await asyncio.to_thread(report.of_record, found.record_json)
            return found

        return await self._answered(context, describe)

    async def List(self, request: pb.ListRequest, context: Any) -> pb.ListResponse:
        client, queued = self._client(context), self.queued()
        seen = [record for record in self.engine.jobs() if client.sees(record)]
        return pb.ListResponse(jobs=[pb.JobDescription(job_id=r.job, state=queued.get(r.job, r.state)) for r in seen])

    def queued(self) -> dict[str, str]:
        """Return the states of jobs that wait, with their places in the queue."""
        waiting = self.engine.admission.waiting
        return {job: f"queued ({place} of {len(waiting)})" for place, job in enumerate(waiting, 1)}

    async def Look(self, request: pb.LookRequest, context: Any) -> pb.LookResponse:
        async def look() -> pb.LookResponse:
            self._client(context).check_hosts()
            self.engine.limits.check_files(len(request.paths))
            await self.engine.agents.meet()
            schema = proto.decode_schema(request.file_schema) if request.HasField("file_schema") else None
            read = await self.engine.located.look(list(request.paths), request.format, dict(request.options), schema)
            return pb.LookResponse(read=proto.encode(read))

        return await self._answered(context, look)

    async def Prepare(self, request: pb.PrepareRequest, context: Any) -> pb.PrepareResponse:
        async def prepare() -> pb.PrepareResponse:
            asked = pb.SubmitRequest(dataflow=request.dataflow, options=request.options)
            with deadline.within(asked.options.timeout_ms / 1000):
                async with deadline.bounded("planned"):
                    await self._admit(self._client(context), asked)
                    await self.engine.agents.meet()
                    plan = await asyncio.to_thread(self._plan, asked)
            seconds = await self.engine.preparing.seconds(plan)
            if seconds > request.patience_seconds:
                self.engine.preparing.begin(plan)
            return pb.PrepareResponse(seconds=seconds)

        return await self._answered(context, prepare)

    async def Explain(self, request: pb.ExplainRequest, context: Any) -> pb.ExplainResponse:
        async def explain() -> pb.ExplainResponse:
            client = self._client(context)
            if request.job_id:
                return _analyzed(self.record(client, request.job_id), request.verbose)
            # the plan is remembered: a dataflow that ends with a Send may be submitted next
            asked = pb.SubmitRequest(dataflow=request.dataflow, options=request.options)

            def planned() -> JobPlan:
                if request.verbose:
                    return self.engine.plan(*read_request(asked), _options(asked.options), trace=True)
                return self._plan(asked)

            with deadline.within(asked.options.timeout_ms / 1000):
                async with deadline.bounded("planned"):
                    await self._admit(client, asked)
                    await self.engine.agents.meet()
                    plan = await asyncio.to_thread(planned)
            estimate = estimate_of(plan, request.elsewhere)
            if request.columns:
                root, _ = read_request(asked)
                estimate.columns.extend(await asyncio.to_thread(columns_of, self.engine.estimator(), root))
            if request.estimate_only:
                return pb.ExplainResponse(estimate=estimate)
            text = explain_text(plan.explain, request.verbose)
            return pb.ExplainResponse(text=text, json=json.dumps(plan.explain), estimate=estimate)

        return await self._answered(context, explain)


@dataclass(frozen=True)
class _Jobs:
    """A client's jobs, as a group of receivers runs them."""

    server: Server
    client: Client
    context: Any

    async def submit(self, request: pb.SubmitRequest) -> pb.SubmitResponse:
        return _submitted(await self.server.submit(request, self.client, self.context), explain=False)

    async def execute(self, job: str) -> None:
        async with contextlib.aclosing(self.server.execute(job, self.client, self.context.peer())) as events:
            async for _ in events:
                pass


class Serving:
    """A service that listens at `address`, until `stop`."""

    def __init__(self, server: grpc.aio.Server, handlers: Server, address: str, published: Published) -> None:
        self._server, self.handlers, self.address, self._published = server, handlers, address, published
        self.calibrating = Calibrating(handlers.engine.config)
        self.engine, self.token = handlers.engine, published.token

    def reload(self, config: Config) -> list[str]:
        """Take over the clients, their tokens and the limits of a configuration; return what else of it is different,
        which a restart takes over. Raises ConfigError; then nothing changes."""
        self.handlers.guard.replace(config.clients)
        known = self.engine.config
        self.engine.config = replace(known, clients=config.clients, service=config.service)
        rest = (f.name for f in fields(Config) if f.name not in ("clients", "service"))
        return [name for name in rest if getattr(config, name) != getattr(known, name)]

    async def drain(self, seconds: float) -> None:
        """Refuses new jobs, and returns once those that run have ended, or after so long."""
        self.handlers.is_draining = True
        await self.engine.ended(seconds)

    async def stop(self, grace_s: float = 0.0) -> None:
        """Ends its jobs and agents; clients that wait have that long to hear of it."""
        self._published.withdraw()
        await self.calibrating.close()
        await self._server.stop(grace_s)
        await self.handlers.groups.close()
        await self.engine.close()


async def serve(
    config: Config, registry: Registry, host: str = "127.0.0.1", port: int = 0, *, trusted_network: bool = False
) -> Serving:
    """Starts a service: to clients of its own user, who find its token by its address, and to those of the
    configuration. trusted_network: others may reach it without TLS and, where the configuration names no clients,
    without a token. Raises ConfigError: the port is taken, or others would reach it who are not to be trusted."""
    local = is_loopback(joined(host, port))
    if not (local or trusted_network or (config.tls and config.clients)):
        missing = "[tls]" if config.tls is None else "a [[client]]"
        raise ConfigError(
            f"others can reach {host}, and jumpgate.toml has no {missing}: docs/security.md says how to make "
            "certificates and tokens. If nobody in this network can do harm, --trusted-network serves without",
            host=host,
        )
    identity = None if local else config.identity
    check = None if identity is None else _revocation(identity)
    guard = Guard(config.clients, joined(host, port))
    guard.open_to_all = trusted_network and not local and not config.clients
    handlers = Server(Engine(config, registry), guard)
    server = grpc.aio.server(
        interceptors=(Door(guard, handlers.refuse, check),),
        options=[
            ("grpc.max_receive_message_length", config.service.get("request_bytes") or MESSAGE_BYTES_MAX),
            ("grpc.max_send_message_length", ANSWER_BYTES_MAX),
            ("grpc.so_reuseport", 0),
            # a client that its system no longer answers for is gone within five seconds, and so are its jobs
            ("grpc.keepalive_time_ms", 2000),
            ("grpc.keepalive_timeout_ms", 2000),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", 1000),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.http2.max_ping_strikes", 0),
            # who connects and says nothing, or does nothing for long, does not keep others out
            ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
            ("grpc.max_connection_idle_ms", IDLE_MS),
        ],
    )
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(PLANNERS, "jumpgate-service"))
    service_pb2_grpc.add_JumpgateServicer_to_server(handlers, server)  # type: ignore[no-untyped-call]
    server.add_generic_rpc_handlers((health.handler(lambda: handlers.unready),))
    try:
        if identity is None:
            bound = server.add_insecure_port(joined(host, port))
        else:
            bound = server.add_secure_port(joined(host, port), server_credentials(identity))
    except RuntimeError:
        bound = 0
    if bound == 0:
        await handlers.engine.close()
        raise ConfigError(
            f"cannot listen on {joined(host, port)}: the port is in use, or the address is not this machine's; "
            "choose another with --port (0 takes a free one)",
            host=host,
            port=port,
        )
    guard.address = joined(host, bound)
    published = Published(guard.address)
    guard.admit(published.token, Client())
    await server.start()
    return Serving(server, handlers, guard.address, published)


def _revocation(identity: Identity) -> Callable[[bytes], None]:
    """Return what raises Unauthenticated for a certificate that is revoked. Raises ConfigError."""
    with extras.explained():
        from jumpgate.trust.revocation import Revoked

    return Revoked(identity.folder).check


def _submitted(job: Job, explain: bool) -> pb.SubmitResponse:
    """Return Submit's answer, with the plan's explanation if wanted."""
    plan = job.context.plan
    edge = plan.edge(plan.result)
    return pb.SubmitResponse(
        job_id=job.id,
        instances=[i.id for i in plan.instances],
        stages=plan.stages,
        edge=edge.id,
        producers=len(edge.producers),
        format=edge.ntf.to_proto(),
        token=job.context.token,
        explain_json=json.dumps(plan.explain) if explain else "",
        **({} if job.context.certificate is None else job.context.certificate.to_dict()),
    )


def _analyzed(record: JobRecord, verbose: bool) -> pb.ExplainResponse:
    """The plan of a job that ran, with what was measured of its operators."""
    fragments = {
        name: {**fragment, "measured": {str(n): m for n, m in measured(record.counters, name).items()}}
        for name, fragment in record.explain.get("fragments", {}).items()
    }
    text = explain_text(record.explain, verbose, record.counters) if fragments else ""
    data = {**record.explain, "fragments": fragments}
    if fragments:
        found = links(record.explain, record.counters)
        data["links"] = [{"from": a, "to": b, "bytes": bytes} for (a, b), bytes in found.links.items()]
        data["hosts"] = [{"host": h.host, "sent": h.sent, "received": h.received} for h in found.hosts]
        data["skew"] = found.skew
    return pb.ExplainResponse(text=text, json=json.dumps(data))


def _options(o: pb.Options) -> RunOptions:
    return RunOptions(
        o.parallelism, o.threads, o.timeout_ms, o.stall_timeout_ms, o.memory_limit_bytes, tuple(o.prefer),
        tuple(o.without), Objective(o.objective or TIME, o.seconds_max or math.inf, o.cost_max or math.inf),
    )  # fmt: skip


async def _abort(context: Any, error: JumpgateError) -> Exception:
    """Ends the call with the error's status; gRPC raises what ends the handler."""
    kinds = [cls for cls in type(error).__mro__ if cls in _STATUS]
    status = (
        _STATUS[kinds[0]]
        if kinds
        else (grpc.StatusCode.UNAVAILABLE if error.is_unreachable else grpc.StatusCode.UNKNOWN)
    )
    data = metadata_of(error)
    await context.abort(status, json.loads(data)["message"], trailing_metadata=((ERROR_KEY, data),))
    return error


def metadata_of(error: JumpgateError) -> str:
    """The typed error as ASCII JSON that fits into metadata: long texts are cut, in the middle."""
    data = error.to_dict()
    for length in (2000, 500, 100, 20):
        text = json.dumps(_shortened(data, length))
        if len(text) <= METADATA_BYTES_MAX:
            return text
    return json.dumps({"code": error.code, "message": _shortened(error.message, 100), "fields": {}})


def _shortened(value: Any, length: int) -> Any:
    """Texts of at most `length` characters, and as many items of lists as fit beside them."""
    if isinstance(value, dict):
        return {k: _shortened(v, length) for k, v in value.items()}
    if isinstance(value, list):
        return [_shortened(v, length) for v in value[: max(1, length // 50)]]
    text = str(value)
    half = length // 2
    return text if len(text) <= length else f"{text[:half]} … {text[-half:]}"
