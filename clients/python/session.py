"""A connection to a Jumpgate service: submits dataflows, executes them, and receives their results."""

from __future__ import annotations

import atexit
import contextlib
import copy
import json
import math
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from jumpgate import deadline
from jumpgate.client.calls import Calls, follow
from jumpgate.client.progress import Display, Follower, display
from jumpgate.client.pulled import Pulled
from jumpgate.client.remote import Remote
from jumpgate.client.result import Execution, Result
from jumpgate.client.traced import Traced
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.objective import TIME, Objective
from jumpgate.dataflow.operators import Operator, Send
from jumpgate.dataflow.request import Flow, Request, RunOptions
from jumpgate.dataflow.types import Schema
from jumpgate.errors import (
    CapacityExceeded,
    ConfigError,
    Draining,
    InstanceFailed,
    InvalidDataflow,
    JumpgateError,
    Unreachable,
)
from jumpgate.ntf.addresses import facing
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.receive import Endpoint
from jumpgate.stores.credentials import Credentials, parse
from jumpgate.trust.edges import JobCertificate
from jumpgate.v1 import ntf_pb2
from jumpgate.v1 import service_pb2 as pb

#: texts of credentials by url, as jumpgate.stores.credentials.parse takes them
Brought = Mapping[str, Mapping[str, Any]]
#: dataflows that a session remembers encoded
FLOWS_MAX = 64
RESULTS = ("auto", "push", "pull")
#: how long a dataflow that may be run again waits for a service that is restarted
RESTART_S = 20.0
#: between two attempts to reach it
RESTART_POLL_S = 0.2


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
class Device:
    """A host or device of a service; jobs, threads and held bytes are those of all running jobs. `is_up`: it answered
    when a job last asked. `facts` are of the configuration."""

    name: str
    kind: str
    is_up: bool
    jobs: int
    cores: int
    threads: int
    memory_bytes: int
    held_bytes: int
    facts: Mapping[str, str]


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
    whose host, device or service was lost before any of its result arrived (a service that is restarted is waited for);
    around a device that is no host it is planned again in any case.
    progress: whether a job of more than a second shows how far it is while somebody waits for its result, in notebooks
    and, on stderr, in terminals.
    first_runs: whether a dataflow whose programs are not built may begin at once on an accelerator that needs none.
    results: `push` has instances send results to a port that this process opens, `pull` has the service receive them,
    and fetches them by the connection with it. `auto`: push, and pull once instances did not reach this process.
    credentials: of stores, by url, which read the objects of this session's dataflows, or a function that returns them
    and is asked for each dataflow: {"s3://lake": {"access_key": …, "secret_key": …, "session_token": …}}; `token` for
    Google, Azure and HDFS; `expires_s`, since the epoch, where they end. None: the service's own.
    service: one of this process, in place of an address: its `calls` are used, and it is closed with the session.
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
        first_runs: bool = True,
        results: str = "auto",
        credentials: Brought | Callable[[], Brought] | None = None,
        service: Any = None,
    ) -> None:
        if results not in RESULTS:
            raise ConfigError(f"results is {results!r}; it can be {', '.join(RESULTS)}")
        bounds = Objective(objective or TIME, seconds_max or math.inf, cost_max or math.inf)
        self._options = RunOptions(
            parallelism or 0,
            threads or 0,
            timeout_ms or 0,
            memory_limit_bytes=memory_limit_bytes or 0,
            prefer=tuple(prefer),
            objective=bounds,
            wait_for_programs=not first_runs,
        )
        self._results_come, self._shows_progress = results, progress
        self._credentials = _Given(credentials)
        if address is None:
            from jumpgate.service import embedded

            service = service or embedded.start()
            address = service.address
        self.address: str = address
        self._calls: Calls = Remote(address, token_file, tls, wait_s) if service is None else service.calls
        self._service = service
        self._host = facing(self.address) if host is None else host
        self._results: weakref.WeakSet[Result] = weakref.WeakSet()
        self._flows: OrderedDict[tuple[int, Dialect], Flow] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False
        self._retries = retries

    @property
    def credentials(self) -> Credentials | None:
        """Return what reads the session's stores now. Raises InvalidDataflow."""
        return self._credentials.now()

    def read(
        self,
        paths: str | Iterable[str],
        *,
        format: str | None = None,
        columns: Sequence[str] | None = None,
        **options: object,
    ) -> Dataflow:
        """Files of the service's hosts, which this machine need not see: `file://HOST/path`, which that host reads, a
        path that all hosts share, or objects; globs and directories, too. The schema is what a host, or the service,
        finds. Otherwise as jumpgate.client.read."""
        texts = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items()}
        named = [paths] if isinstance(paths, str) else list(paths)
        flow = Dataflow(self._open().look(named, format or "", texts, self.credentials))
        return flow if columns is None else flow.select(*columns)

    def run(self, dataflow: Dataflow, dialect: Dialect | None = None, *, text: str = "") -> Result:
        """Starts the dataflow; its result can be read while it runs. Raises what keeps it from starting.

        text: what a person wrote, for the job's report.
        """
        asked = _Asked(_without_send(dataflow.root), dialect or DEFAULT, text, self._end())
        retries = self._retries
        without: tuple[str, ...] = ()
        while True:
            try:
                return self._start(asked, without, retries)
            except (InstanceFailed, Unreachable) as failure:
                if retries and _is_of_a_machine(failure):
                    retries -= 1
                    self._await_restart(failure, asked.end)
                elif around := _around(failure, without):
                    without = around
                else:
                    raise

    def _end(self) -> float | None:
        """When a query that begins now has taken too long."""
        limits = [s for s in (self._options.timeout_ms / 1000 or None, deadline.left_s()) if s is not None]
        return time.monotonic() + min(limits) if limits else None

    def _await_restart(self, failure: JumpgateError, end: float | None) -> None:
        """Waits for the service, where it is what was lost."""
        if self._calls.is_local or "address" not in failure.fields:
            return
        left_s = RESTART_S if end is None else min(RESTART_S, max(0.0, end - time.monotonic()))
        until = time.monotonic() + left_s
        while time.monotonic() < until:
            with contextlib.suppress(JumpgateError):
                self._calls.jobs(within_s=1.0)
                if not isinstance(failure, Draining):
                    return
                failure = Unreachable("")  # it answers while it drains: wait for the next one
            time.sleep(RESTART_POLL_S)

    def _start(self, asked: _Asked, without: tuple[str, ...], retries: int) -> Result:
        """One job; another one without a device that is too small for it or was lost, or after a host was lost."""
        root, dialect, text = asked.root, asked.dialect, asked.text
        options = replace(self._options, without=without)
        if asked.end is not None:
            options = replace(options, timeout_ms=max(1, math.ceil((asked.end - time.monotonic()) * 1000)))
        shown = display() if self._shows_progress else None
        endpoint, traced = self._endpoint(), Traced()
        execution = Execution(endpoint.close, None if shown is None else partial(_follower, shown), traced.end)
        try:
            flow, brought = self._flow(root, dialect), self.credentials
            request = Request(flow, (endpoint.address,), options, text, brought)
            is_pulled = isinstance(endpoint, Pulled)
            call = self._open().run(request, explain=shown is not None, pull=is_pulled, trace=traced.parent)
        except BaseException as error:
            traced.end(error if isinstance(error, JumpgateError) else None)
            endpoint.close()
            raise
        try:
            if self._calls.is_local and shown is not None:  # showing is not for the service's event loop
                follow(call, execution.see, execution.end)
            else:
                call.deliver(execution.see, execution.end)
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
            is_unreached = endpoint.address and failure.fields.get("peer") == endpoint.address
            if is_unreached and self._results_come == "auto" and not self._calls.is_local:
                self._results_come = "pull"
                return self._start(asked, without, retries)
            is_lost = isinstance(failure, InstanceFailed | Unreachable)
            if retries and is_lost and _is_of_a_machine(failure):
                self._await_restart(failure, asked.end)
                return self._start(asked, without, retries - 1)
            if is_lost or isinstance(failure, CapacityExceeded):
                around = _around(failure, without)
                return self._start(asked, around, retries) if around else None
            return None

        schema, restore = _delivered(root.schema, arrow_schema(descriptor.schema))
        result = Result(job.job_id, schema, endpoint, execution, call.cancel, restore, again)
        self._results.add(result)
        return result

    def _endpoint(self) -> Endpoint | Pulled:
        """Return where a result is received."""
        if self._results_come == "pull" and isinstance(self._calls, Remote):
            return Pulled(self._calls.pull)
        return Endpoint.open(self._host)

    def _flow(self, root: Operator, dialect: Dialect) -> Flow:
        """Return the flow that sends the dataflow's result to one endpoint; one that was asked before is encoded."""
        with self._lock:
            known = self._flows.get((id(root), dialect))
        if known is None:
            known = Flow.of(Send(root, ("",)), dialect)  # it holds the root, whose id stays its own thereby
            with self._lock:
                self._flows[id(root), dialect] = known
                if len(self._flows) > FLOWS_MAX:
                    self._flows.popitem(last=False)
        return known

    def _asked(self, dataflow: Dataflow, dialect: Dialect | None) -> Request:
        """Return a request of which no result is sent; it may be run next."""
        flow = self._flow(_without_send(dataflow.root), dialect or DEFAULT)
        return Request(flow, ("",), self._options, credentials=self.credentials)

    def _open(self) -> Calls:
        """Return the calls. Raises Unreachable once the session is closed."""
        if self._closed:
            raise Unreachable("this session is closed; connect again")
        return self._calls

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
        return str(self._open().explain_job(job, verbose=verbose).text)

    def explain_job_data(self, job: str = "latest") -> dict[str, Any]:
        """Return the data of `explain_job`: `measured` in each fragment, by the operator's number."""
        data: dict[str, Any] = json.loads(self._open().explain_job(job).json)
        return data

    def estimate(
        self, dataflow: Dataflow, dialect: Dialect | None = None, *, elsewhere: Mapping[str, float], cores: int
    ) -> Estimate:
        """Return the expected cost of the dataflow. elsewhere: seconds of a core for units of work
        (jumpgate.nca.speeds) of whoever might do the same. Raises what would keep it from being planned."""
        speeds = pb.Speeds(seconds=elsewhere, cores=cores)
        found = self._open().estimate(self._asked(dataflow, dialect), speeds)
        gain_s = sum(max(0.0, o.elsewhere_seconds - o.seconds) for o in found.operators)
        overhead_s = found.seconds - sum(o.seconds for o in found.operators)
        seconds = found.seconds if found.known else None
        return Estimate(seconds, found.elsewhere_seconds, gain_s, overhead_s, found.rows, found.bytes)

    def prepare(self, dataflow: Dataflow, dialect: Dialect | None = None, *, patience_s: float = 0.0) -> float:
        """Seconds that a job of the dataflow would wait for hosts and programs before it begins, as estimated. If they
        are more than patience_s, the service prepares these meanwhile. Raises what would keep it from being planned."""
        return self._open().prepare(self._asked(dataflow, dialect), patience_s)

    def _explained(self, dataflow: Dataflow, dialect: Dialect | None, verbose: bool) -> pb.ExplainResponse:
        flow = Flow.of(_without_send(dataflow.root), dialect or DEFAULT)
        request = Request(flow, options=self._options, credentials=self.credentials)
        return self._open().explain(request, verbose=verbose)

    def jobs(self) -> list[Job]:
        """All jobs that the service remembers, newest first."""
        return [Job(j.job_id, j.state) for j in self._open().jobs().jobs]

    def devices(self) -> list[Device]:
        """Return the hosts and devices of the service, with what running jobs have of them."""
        return [
            Device(d.name, d.kind, d.is_up, d.jobs, d.cores, d.threads, d.memory_bytes, d.held_bytes, dict(d.facts))
            for d in self._open().devices().devices
        ]

    def describe(self, job: str = "latest") -> Job:
        """One job with its record; raises NotFound."""
        found = self._open().describe(job)
        return Job(found.job_id, found.state, json.loads(found.record_json or "null"))

    def cancel(self, job: str) -> None:
        """Ends a job wherever it is; nothing happens if it has ended."""
        self._open().cancel(job)

    def close(self) -> None:
        """Cancels what still runs, and ends the service that this session started; may be called twice."""
        if self._closed:
            return
        self._closed = True
        for result in list(self._results):
            result.cancel()
        self._calls.close()
        if self._service is not None:
            self._service.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Given:
    """The credentials that a session was given."""

    def __init__(self, given: Brought | Callable[[], Brought] | None) -> None:
        self._given = given
        self._last: tuple[Brought | None, Credentials | None] = None, None
        if not callable(given):
            self.now()

    def now(self) -> Credentials | None:
        """Return them as they are now; the same object as long as they stay the same. Raises InvalidDataflow."""
        given = self._given() if callable(self._given) else self._given
        known, found = self._last
        if given != known:
            found = parse(given or {})
            self._last = copy.deepcopy(given), found
        return found


@lru_cache(FLOWS_MAX)
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


def _around(failure: JumpgateError, without: tuple[str, ...]) -> tuple[str, ...]:
    """Return the devices to plan without once a device has failed or is too small; () where none is to blame."""
    device = str(failure.fields.get("device", ""))
    return (*without, device) if device and device not in without else ()


def _is_of_a_machine(failure: JumpgateError) -> bool:
    """True if a host or a device was lost, without which the service plans the next job, or the service itself."""
    return any(name in failure.fields for name in ("host", "device", "address"))


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
