"""A connection to a Jumpgate service: submits dataflows, executes them, and receives their results."""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
import pyarrow as pa

from jumpgate import deadline
from jumpgate.client.progress import Display, Follower, display
from jumpgate.client.pulled import Pulled
from jumpgate.client.result import Execution, Result
from jumpgate.client.traced import Traced
from jumpgate.dataflow import proto
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Operator, Send
from jumpgate.dataflow.types import Schema
from jumpgate.errors import (
    Cancelled,
    CapacityExceeded,
    ConfigError,
    Draining,
    InstanceFailed,
    InvalidDataflow,
    JumpgateError,
    ProtocolError,
    TimedOut,
    Unauthenticated,
    Unreachable,
    from_dict,
)
from jumpgate.ntf.addresses import facing
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.receive import Endpoint
from jumpgate.trust import tls as tls_files
from jumpgate.trust import tokens, versions
from jumpgate.trust.channels import channel
from jumpgate.trust.edges import JobCertificate
from jumpgate.v1 import dataflow_pb2, ntf_pb2
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1.service_pb2_grpc import JumpgateStub

if TYPE_CHECKING:
    from jumpgate.service.direct import Events

T = TypeVar("T")

#: dataflows whose encoded request a session remembers
REQUESTS_MAX = 64

_CHANNEL_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", 256 << 20),
    ("grpc.max_send_message_length", 256 << 20),
    ("grpc.max_metadata_size", 1 << 20),  # a typed error travels as metadata
    ("grpc.keepalive_time_ms", 2000),  # a service that cannot be reached any more is given up within five seconds
    ("grpc.keepalive_timeout_ms", 2000),
    ("grpc.http2.max_pings_without_data", 0),
    # a service that was restarted is found within a second
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)
RESULTS = ("auto", "push", "pull")
#: how long a dataflow that may be run again waits for a service that is restarted
RESTART_S = 20.0
#: between two attempts to reach it
RESTART_POLL_S = 0.2
#: how much longer than `timeout_ms` a call waits for the service's own word
TIMEOUT_GRACE_S = 1.0
#: statuses without a typed error: the network's or gRPC's own
_STATUSES: dict[grpc.StatusCode, type[JumpgateError]] = {
    grpc.StatusCode.UNAVAILABLE: Unreachable,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.DEADLINE_EXCEEDED: TimedOut,
    grpc.StatusCode.RESOURCE_EXHAUSTED: InvalidDataflow,  # a message larger than the service takes
}


@dataclass(frozen=True)
class Estimate:
    """The expected cost of a dataflow: seconds as a job, and of the same operators elsewhere, with the speeds that were
    asked about; rows and bytes of its result. `gain_s` is what the operators that are slower elsewhere would save in a
    job, `overhead_s` what a job takes beside its operators. Seconds are None where too little is known."""

    seconds: float | None
    elsewhere_s: float
    gain_s: float
    overhead_s: float
    rows: float
    bytes: float


@dataclass(frozen=True)
class Job:
    """A job as the service describes it: `record` (plan, counters, times) only when asked for by its id."""

    id: str
    state: str
    record: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Asked:
    """The arguments of a `run`, and when it has taken too long."""

    root: Operator
    dialect: Dialect
    text: str
    end: float | None


class Session:
    """Runs dataflows at one service. Thread-safe; results may be read side by side. A context manager.

    address: host:port; None starts a service inside this process, which ends with the session. host: the local address
    where results arrive (it must be reachable from the instances); None: that by which this machine reaches the
    service. parallelism: instances per operator (0: one on each host). threads: of each instance (0: its host's cores).
    timeout_ms: of a whole run, retries included (0: none). memory_limit_bytes: of each instance's tables (0: what its
    host can give).
    prefer: accelerators to use wherever they match. objective: what plans are to save, `time` (the default) or `cost`,
    by the prices of the service's devices; seconds_max, cost_max: the most that a plan may be estimated to take of each
    (0: no bound; CannotPlace if none is within them). wait_s: how long to wait for a service at `address` that is only
    starting. token_file: a file with the token to show there (None: $JUMPGATE_TOKEN_FILE, else that of a service of
    this user on this machine). tls: the folder of this machine's certificate (None: $JUMPGATE_TLS where the service is
    on another machine; without either the connection is not encrypted). retries: how often a dataflow is run again
    whose host, device or service was lost before any of its result arrived (a service that is restarted is waited for).
    progress: whether a job of more than a second shows
    how far it is while somebody waits for its result, in notebooks and, on stderr, in terminals.
    results: `push` has instances send results to a port that this process opens, `pull` has the service receive them,
    and fetches them by the connection with it. `auto`: push, and pull once instances did not reach this process.
    service: one of this process, with the calls and the token to use; it is closed with the session.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        host: str | None = None,
        parallelism: int = 0,
        threads: int = 0,
        timeout_ms: int = 0,
        memory_limit_bytes: int = 0,
        prefer: tuple[str, ...] = (),
        objective: str = "",
        seconds_max: float = 0.0,
        cost_max: float = 0.0,
        wait_s: float = 0.0,
        token_file: str | Path | None = None,
        tls: str | Path | None = None,
        retries: int = 0,
        progress: bool = True,
        results: str = "auto",
        service: Any = None,
    ) -> None:
        if results not in RESULTS:
            raise ConfigError(f"results is {results!r}; it can be {', '.join(RESULTS)}")
        self._results_come, self._service = results, service
        if address is None:
            from jumpgate.service import embedded

            self._service = embedded.start()
            address = self._service.address
        self.address = address
        self._host = facing(address) if host is None else host
        self._shows_progress = progress
        self._options = pb.Options(
            parallelism=parallelism,
            threads=threads,
            timeout_ms=timeout_ms,
            memory_limit_bytes=memory_limit_bytes,
            prefer=prefer,
            objective=objective,
            seconds_max=seconds_max,
            cost_max=cost_max,
        )
        self._token_file = token_file
        tokens.for_service(address, token_file)  # one that cannot be read is an error at once
        self._channel: grpc.Channel | None = None
        if self._service is None:
            self._channel = channel(tokens.target(address), tls_files.for_client(address, tls), _CHANNEL_OPTIONS)
            with contextlib.suppress(grpc.FutureTimeoutError):  # the first call says what is wrong
                if wait_s:
                    grpc.channel_ready_future(self._channel).result(wait_s)
            self._stub: Any = JumpgateStub(self._channel)  # type: ignore[no-untyped-call]
        else:
            self._stub = self._service.stub
        self._results: weakref.WeakSet[Result] = weakref.WeakSet()
        self._requests: OrderedDict[tuple[int, Dialect], tuple[Operator, dataflow_pb2.Dataflow]] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False
        self._retries = retries

    def read(
        self,
        paths: str | Iterable[str],
        *,
        format: str | None = None,
        columns: Sequence[str] | None = None,
        **options: object,
    ) -> Dataflow:
        """Files of the service's hosts, which this machine need not see: `file://HOST/path`, which that host reads, or
        a path that all hosts share; globs and directories, too. The schema is what a host finds. Otherwise as
        jumpgate.client.read."""
        texts = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items()}
        named = [paths] if isinstance(paths, str) else list(paths)
        found = self._ask(self._stub.Look, pb.LookRequest(paths=named, format=format or "", options=texts))
        flow = Dataflow(proto.decode(found.read)[0])
        return flow if columns is None else flow.select(*columns)

    def run(self, dataflow: Dataflow, dialect: Dialect | None = None, *, text: str = "") -> Result:
        """Starts the dataflow; its result can be read while it runs. Raises what keeps it from starting.

        text: what a person wrote, for the job's report.
        """
        asked = _Asked(_without_send(dataflow.root), dialect or DEFAULT, text, self._end())
        retries = self._retries
        while True:
            try:
                return self._start(asked, (), retries)
            except (InstanceFailed, Unreachable) as failure:
                if not retries or not _is_of_a_machine(failure):
                    raise
                retries -= 1
                self._await_restart(failure, asked.end)

    def _end(self) -> float | None:
        """When a query that begins now has taken too long."""
        limits = [s for s in (self._options.timeout_ms / 1000 or None, deadline.left_s()) if s is not None]
        return time.monotonic() + min(limits) if limits else None

    def _await_restart(self, failure: JumpgateError, end: float | None) -> None:
        """Waits for the service, where it is what was lost."""
        if self._channel is None or "address" not in failure.fields:
            return
        left_s = RESTART_S if end is None else min(RESTART_S, max(0.0, end - time.monotonic()))
        until = time.monotonic() + left_s
        while time.monotonic() < until:
            with contextlib.suppress(grpc.RpcError, Unauthenticated):
                self._stub.List(pb.ListRequest(), metadata=self._metadata(), timeout=1.0)
                if not isinstance(failure, Draining):
                    return
                failure = Unreachable("")  # it answers while it drains: wait for the next one
            time.sleep(RESTART_POLL_S)

    def _start(self, asked: _Asked, without: tuple[str, ...], retries: int) -> Result:
        """One job; another one without the device that is too small for it, or after a host or device was lost."""
        root, dialect, text = asked.root, asked.dialect, asked.text
        options = pb.Options()
        options.CopyFrom(self._options)
        options.without.extend(without)
        if asked.end is not None:
            options.timeout_ms = max(1, math.ceil((asked.end - time.monotonic()) * 1000))
        shown = display() if self._shows_progress else None
        endpoint, traced = self._endpoint(), Traced()
        execution = Execution(endpoint.close, None if shown is None else partial(_follower, shown), traced.end)
        try:
            request = self._request(root, dialect, endpoint.address)
            submit = pb.SubmitRequest(dataflow=request, options=options, text=text)
            message = pb.RunRequest(submit=submit, explain=shown is not None, pull=isinstance(endpoint, Pulled))
            call = self._ask(self._stub.Run, message, self._timeout_s(options), traced.headers)
        except BaseException as error:
            traced.end(error if isinstance(error, JumpgateError) else None)
            endpoint.close()
            raise
        try:
            if self._service is not None and shown is None:
                _deliver(call, execution)
            else:
                execution.follow(_events(call, self.address))
            job = execution.submitted.result()
            descriptor = _descriptor(job.format.SerializeToString())
            endpoint.expect(
                job=job.job_id,
                edge=job.edge,
                token=job.token,
                descriptor=descriptor,
                producers=job.producers,
                certificate=JobCertificate(job.certificate, job.key) if job.certificate else None,
            )
        except BaseException:
            call.cancel()
            endpoint.close()
            raise

        def again(failure: JumpgateError) -> Result | None:
            if endpoint.address and failure.fields.get("peer") == endpoint.address and self._may_pull("auto"):
                self._results_come = "pull"
                return self._start(asked, without, retries)
            if isinstance(failure, CapacityExceeded) and "device" in failure.fields:
                return self._start(asked, (*without, str(failure.fields["device"])), retries)
            if retries and isinstance(failure, InstanceFailed | Unreachable) and _is_of_a_machine(failure):
                self._await_restart(failure, asked.end)
                return self._start(asked, without, retries - 1)
            return None

        schema, restore = _delivered(root.schema, arrow_schema(descriptor.schema))
        result = Result(job.job_id, schema, endpoint, execution, call.cancel, restore, again)
        self._results.add(result)
        return result

    def _may_pull(self, mode: str) -> bool:
        """Return whether `results` is that, of a service that is elsewhere."""
        return self._results_come == mode and self._service is None

    def _endpoint(self) -> Endpoint | Pulled:
        """Return where a result is received."""
        if not self._may_pull("pull"):
            return Endpoint.open(self._host)
        return Pulled(partial(self._ask, self._stub.Pull), partial(_typed, address=self.address))

    def _request(self, root: Operator, dialect: Dialect, address: str) -> dataflow_pb2.Dataflow:
        """The request to send the dataflow's result there; what was asked before is encoded already."""
        with self._lock:
            _, known = self._requests.get((id(root), dialect), (None, None))
        if known is None:
            known = proto.encode(Send(root, ("",)), dialect)
            with self._lock:
                self._requests[id(root), dialect] = root, known  # with the root, whose id stays its own thereby
                if len(self._requests) > REQUESTS_MAX:
                    self._requests.popitem(last=False)
        request = dataflow_pb2.Dataflow()
        request.CopyFrom(known)
        request.operators[-1].send.endpoints[:] = [address]
        return request

    def explain(self, dataflow: Dataflow, dialect: Dialect | None = None, *, verbose: bool = False) -> str:
        """How the dataflow would be run, and why: nothing is compiled or run. verbose: the plan after each pass."""
        return str(self._explained(dataflow, dialect, verbose).text)

    def explain_data(
        self, dataflow: Dataflow, dialect: Dialect | None = None, *, verbose: bool = False
    ) -> dict[str, Any]:
        """Return as data what `explain` says."""
        data: dict[str, Any] = json.loads(self._explained(dataflow, dialect, verbose).json)
        return data

    def explain_job(self, job: str = "latest", *, verbose: bool = False) -> str:
        """The plan of a job that was executed: what each operator was expected to take, and what it took. Raises
        NotFound."""
        return str(self._ask(self._stub.Explain, pb.ExplainRequest(job_id=job, verbose=verbose)).text)

    def explain_job_data(self, job: str = "latest") -> dict[str, Any]:
        """Return the data of `explain_job`: `measured` in each fragment, by the operator's number."""
        data: dict[str, Any] = json.loads(self._ask(self._stub.Explain, pb.ExplainRequest(job_id=job)).json)
        return data

    def estimate(
        self, dataflow: Dataflow, dialect: Dialect | None = None, *, elsewhere: Mapping[str, float], cores: int
    ) -> Estimate:
        """Return the expected cost of the dataflow. elsewhere: seconds of a core for units of work
        (jumpgate.nca.speeds) of whoever might do the same. Raises what would keep it from being planned."""
        request = self._request(_without_send(dataflow.root), dialect or DEFAULT, "")  # it may be run next
        speeds = pb.Speeds(seconds=elsewhere, cores=cores)
        found = self._ask(
            self._stub.Explain,
            pb.ExplainRequest(dataflow=request, options=self._options, elsewhere=speeds, estimate_only=True),
            self._timeout_s(self._options),
        ).estimate
        gain_s = sum(max(0.0, o.elsewhere_seconds - o.seconds) for o in found.operators)
        overhead_s = found.seconds - sum(o.seconds for o in found.operators)
        seconds = found.seconds if found.known else None
        return Estimate(seconds, found.elsewhere_seconds, gain_s, overhead_s, found.rows, found.bytes)

    def prepare(self, dataflow: Dataflow, dialect: Dialect | None = None, *, patience_s: float = 0.0) -> float:
        """Seconds that a job of the dataflow would wait for hosts and programs before it begins, as estimated. If they
        are more than patience_s, the service prepares these meanwhile. Raises what would keep it from being planned."""
        request = self._request(_without_send(dataflow.root), dialect or DEFAULT, "")
        asked = pb.PrepareRequest(dataflow=request, options=self._options, patience_seconds=patience_s)
        return float(self._ask(self._stub.Prepare, asked, self._timeout_s(self._options)).seconds)

    def _explained(self, dataflow: Dataflow, dialect: Dialect | None, verbose: bool) -> pb.ExplainResponse:
        request = proto.encode(_without_send(dataflow.root), dialect or DEFAULT)
        message = pb.ExplainRequest(dataflow=request, options=self._options, verbose=verbose)
        response: pb.ExplainResponse = self._ask(self._stub.Explain, message, self._timeout_s(self._options))
        return response

    def jobs(self) -> list[Job]:
        """All jobs that the service remembers, newest first."""
        return [Job(j.job_id, j.state) for j in self._ask(self._stub.List, pb.ListRequest()).jobs]

    def describe(self, job: str = "latest") -> Job:
        """One job with its record; raises NotFound."""
        found = self._ask(self._stub.Describe, pb.DescribeRequest(job_id=job))
        return Job(found.job_id, found.state, json.loads(found.record_json or "null"))

    def cancel(self, job: str) -> None:
        """Ends a job wherever it is; nothing happens if it has ended."""
        self._ask(self._stub.Cancel, pb.CancelRequest(job_id=job))

    def close(self) -> None:
        """Cancels what still runs, and ends the service that this session started; may be called twice."""
        if self._closed:
            return
        self._closed = True
        for result in list(self._results):
            result.cancel()
        if self._channel is not None:
            self._channel.close()
        if self._service is not None:
            self._service.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        own = None if self._service is None else self._service.token
        return (*versions.METADATA, *tokens.metadata(tokens.for_service(self.address, self._token_file, own)))

    def _timeout_s(self, options: pb.Options) -> float | None:
        """For a call whose service may be stopped, and then says nothing. One of this process says when it is late."""
        return options.timeout_ms / 1000 + TIMEOUT_GRACE_S if options.timeout_ms and self._channel else None

    def _ask(
        self,
        method: Callable[..., T],
        message: Any,
        timeout_s: float | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> T:
        if self._closed:
            raise Unreachable("this session is closed; connect again")
        limit = {} if timeout_s is None else {"timeout": timeout_s}
        try:
            return method(message, metadata=(*self._metadata(), *headers), **limit)
        except grpc.RpcError as error:
            raise _typed(error, self.address) from None


@lru_cache(REQUESTS_MAX)
def _descriptor(format: bytes) -> Descriptor:
    return Descriptor.from_proto(ntf_pb2.NetworkTupleFormat.FromString(format))


def _follower(shown: Display, job: pb.SubmitResponse) -> Follower:
    return Follower(job.job_id, job.explain_json, job.stages, shown)


def _delivered(schema: Schema, edge: pa.Schema) -> tuple[pa.Schema, Callable[[pa.RecordBatch], pa.RecordBatch] | None]:
    """The result's schema, and what makes its batches of those that arrive: nested columns arrive as bytes."""
    if not any(f.type.is_nested for f in schema):
        return edge, None
    from jumpgate.ntf import nested

    return nested.restored(edge, schema), partial(nested.restore, schema=schema)


def _without_send(root: Operator) -> Operator:
    if isinstance(root, Send):
        raise InvalidDataflow("run and explain add the send to this client themselves; leave it out", operator="send")
    return root


def _is_of_a_machine(failure: JumpgateError) -> bool:
    """True if a host or a device was lost, without which the service plans the next job, or the service itself."""
    return any(name in failure.fields for name in ("host", "device", "address"))


def _events(call: Any, address: str) -> Iterator[Any]:
    """The events of a Run; raises the job's typed error, and ProtocolError if it ends without `done`."""
    state = ""
    try:
        for event in call:
            state = event.state
            yield event
    except grpc.RpcError as error:
        raise _typed(error, address) from None
    if state != "done":
        raise _unfinished(state)


def _deliver(call: Events, execution: Execution) -> None:
    """The same of a service in this process: its event loop says them."""

    def end(error: JumpgateError | None) -> None:
        state = execution.events[-1].state if execution.events else ""
        execution.end(error or (None if state == "done" else _unfinished(state)))

    call.deliver(execution.see, end)


def _unfinished(state: str) -> ProtocolError:
    return ProtocolError(f"the service ended the job's events in state {state!r}, before it was done")


def _typed(error: Any, address: str) -> JumpgateError:
    """The error that the service put into the trailing metadata, or what the status says."""
    for key, value in error.trailing_metadata() or ():
        if key == "jumpgate-error":
            return from_dict(json.loads(value))
    if error.code() == grpc.StatusCode.UNAVAILABLE:
        return Unreachable(
            f"no Jumpgate service answers at {address} ({error.details()}); "
            "start one with `jumpgate serve`, or connect() without an address",
            address=address,
        )
    cls = _STATUSES.get(error.code(), ProtocolError)
    return cls(f"the service at {address} answered {error.code().name}: {error.details()}", address=address)


_lock = threading.Lock()
_shared: tuple[int, Session] | None = None


def shared() -> Session:
    """This process's session with its embedded service, started at the first call; a forked child gets its own."""
    global _shared
    with _lock:
        if _shared is None or _shared[0] != os.getpid() or _shared[1]._closed:
            _shared = (os.getpid(), Session())
            atexit.register(_shared[1].close)
        return _shared[1]
