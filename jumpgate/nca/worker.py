"""An instance that is a Python program: the control protocol on its standard input, its edges as Arrow batches.

`serve(compute)` is such a program's main function. It listens for the edges that arrive, hands their batches to
`compute`, and sends what that yields over the one edge that leaves; all ends stream, and whoever is slow holds up the
others. It answers every verb of the control protocol (docs/protocol.md), and ends with its agent.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import pyarrow as pa

from jumpgate.errors import Cancelled, InternalError, JumpgateError
from jumpgate.nca.transport import TCP
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.receive import Endpoint
from jumpgate.ntf.send import Sender
from jumpgate.trust.edges import JobCertificate

_PR_SET_NAME = 15
#: the name of a process that waits to become an instance, until the verb `name`
SPARE = "*"


@dataclass(frozen=True)
class Input:
    """An incoming edge: iterate over its batches, once. Iteration waits until `stage` of the job begins."""

    schema: pa.Schema
    stage: int
    batches: Iterator[pa.RecordBatch]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches


#: (the configuration, the inputs in the order of the operator's) → the batches of the output, in its edge's schema
Compute = Callable[[dict[str, Any], tuple[Input, ...]], Iterator[pa.RecordBatch]]


def serve(compute: Compute, counted: Mapping[str, Any] | None = None) -> NoReturn:
    """Serve standard input until its end or `destroy`, then exit the process. The first argument is the instance.

    The configuration holds job, instance, token, stage (in which it sends), timeout_ms, the edges `inputs` (each with
    edge, ntf, index, producers and its stage) and `output` (edge, ntf, index, peers, partitioning); the rest is for
    `compute`. `compute` is called when the job's first stage begins. Reading an input, or yielding, waits for the stage
    of that edge, so inputs that must be known earlier (the build side of a join) are read first. Unread rows of an
    input are dropped. counted: counters beside those of edges, which `compute` keeps.
    """
    _name_process("jgspare" if sys.argv[1] == SPARE else f"jg {sys.argv[1]}")
    control = socket.socket(fileno=0)
    worker = Worker(control, compute, counted or {})
    with control.makefile("rb") as requests:
        for line in requests:
            worker.handle(json.loads(line))
    os._exit(0)  # the agent is gone


class _Stages:
    """Tracks the stage that has begun and the one for which the computing thread waits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._begun = 0
        self._wanted = 1.0
        self._cancelled = False
        self.failure: BaseException | None = None

    def enter(self, stage: int) -> None:
        """Wait until the stage has begun; called by `compute`. Raises Cancelled."""
        with self._changed:
            self._wanted = max(self._wanted, stage)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._begun >= stage or self._cancelled)
            if self._cancelled:
                raise Cancelled("the instance was cancelled")

    def end(self, failure: BaseException | None = None) -> None:
        """Mark the computation as finished; called by `compute`."""
        with self._changed:
            self._wanted, self.failure = math.inf, failure
            self._changed.notify_all()

    def run(self, stage: int) -> None:
        """Start the stage and return once it is over. Raises its failure."""
        with self._changed:
            self._begun = stage
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._wanted > stage)
            if self.failure is not None:
                raise self.failure

    def cancel(self) -> None:
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()


class Worker:
    """One instance. Verbs come from one thread; each stage has its own thread, and `compute` has one for all stages."""

    def __init__(self, control: socket.socket, compute: Compute, counted: Mapping[str, Any]) -> None:
        self._control, self._compute, self._counted = control, compute, counted
        self._lock = threading.Lock()  # answers are whole lines
        self._endpoints: dict[str, Endpoint] | None = None  # by edge
        self._configuration: dict[str, Any] | None = None
        self._stages: list[dict[str, Any]] = []
        self._turns = _Stages()
        self._running = False
        self._cancelled = False
        self._flow = _Flow()

    def handle(self, request: dict[str, Any]) -> None:
        """Answer one request; answer `execute` when its stage has ended."""
        id, arguments = request["id"], request.get("arguments", {})
        match request["verb"]:
            case "name":
                _name_process(f"jg {arguments['name']}")
            case "allocate":
                self._answer(id, lambda: self._allocate(**arguments))
            case "configure":
                self._answer(id, lambda: self._configure(arguments))
            case "execute":
                self._answer(id, lambda: self._begin(id, int(arguments["stage"])))
            case "stats":
                self._answer(id, self._counters)
            case "cancel":
                self._answer(id, self._cancel)
            case "destroy":
                self._answer(id, dict)
                os._exit(0)
            case verb:
                self._answer(id, lambda: _refuse(f"unknown verb {verb}"))

    def _answer(self, id: int, verb: Callable[[], dict[str, Any] | None]) -> None:
        try:
            ok = verb()
            if ok is None:  # the answer comes later
                return
            answer: dict[str, Any] = {"id": id, "ok": ok}
        except JumpgateError as error:
            answer = {"id": id, "error": error.to_dict()}
        except Exception as error:  # a bug must reach the controller, too
            answer = {"id": id, "error": InternalError(f"{type(error).__name__}: {error}").to_dict()}
        with self._lock, contextlib.suppress(OSError):  # if the agent is gone, the next read ends us
            self._control.sendall(json.dumps(answer).encode() + b"\n")

    # ---- verbs ----

    def _allocate(self, bind: str, ends: dict[str, str]) -> dict[str, Any]:
        if self._endpoints is not None:
            _refuse("allocate was called twice")
        if strange := [channel for channel in ends.values() if channel != TCP.channel]:
            _refuse(f"a Python program receives over tcp, not {', '.join(strange)}")
        self._endpoints = {edge: Endpoint.open(bind) for edge in ends}
        return {"ends": {edge: int(e.address.rpartition(":")[2]) for edge, e in self._endpoints.items()}}

    def _configure(self, configuration: dict[str, Any]) -> dict[str, Any]:
        if self._endpoints is None or self._configuration is not None:
            _refuse("configure is called once, after allocate")
        for edge in configuration["inputs"]:
            self._endpoints[edge["edge"]].expect(
                job=configuration["job"],
                edge=edge["edge"],
                token=configuration["token"],
                certificate=_certificate(configuration),
                descriptor=Descriptor.parse(edge["ntf"]),
                producers=edge["producers"],
                partition=edge["index"],
                timeout_s=configuration["timeout_ms"] / 1000,
            )
        self._configuration = configuration
        return {}

    def _begin(self, id: int, stage: int) -> None:
        if self._configuration is None or self._running or stage != len(self._stages) + 1:
            _refuse(f"execute of stage {stage} is out of order")
        self._running = True
        self._stages.append({"stage": stage, "start_ns": time.time_ns(), "end_ns": 0})
        if stage == 1:
            threading.Thread(target=self._work, args=(self._configuration,), daemon=True).start()
        threading.Thread(target=self._answer, args=(id, lambda: self._execute(stage)), daemon=True).start()

    def _execute(self, stage: int) -> dict[str, Any]:
        try:
            self._turns.run(stage)
        except JumpgateError:
            if self._cancelled:
                raise Cancelled("the instance was cancelled") from None
            raise
        finally:
            self._stages[-1]["end_ns"] = time.time_ns()
            self._running = False
        return self._counters()

    def _work(self, configuration: dict[str, Any]) -> None:
        """Run the computing thread."""
        try:
            self._run(configuration)
        except BaseException as error:  # the stage that waits for it raises it, whatever it is
            self._turns.end(error)
        else:
            self._turns.end()

    def _run(self, configuration: dict[str, Any]) -> None:
        inputs = tuple(
            Input(arrow_schema(Descriptor.parse(edge["ntf"]).schema), edge["stage"], self._arriving(edge))
            for edge in configuration["inputs"]
        )
        edge = configuration["output"]
        senders: list[Sender] = []
        try:
            if not inputs:  # its first batch may take longer than receivers wait for a connection
                senders = self._connect(configuration)
            for number, batch in enumerate(self._compute(configuration, inputs)):
                senders = senders or self._connect(configuration)
                to = senders if edge["partitioning"] == "broadcast" else [senders[number % len(senders)]]
                for sender in to:
                    self._flow.send(sender, batch)
            for input in sorted(inputs, key=lambda input: input.stage):
                for _ in input:  # senders must not be left waiting
                    pass
            for sender in senders or self._connect(configuration):
                sender.finish()
        except BaseException:
            for sender in senders:
                sender.abort()
            raise

    def _arriving(self, edge: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        assert self._endpoints is not None
        self._turns.enter(edge["stage"])
        yield from self._endpoints[edge["edge"]]

    def _connect(self, configuration: dict[str, Any]) -> list[Sender]:
        """Connect to each consumer, once the output's stage has begun."""
        self._turns.enter(configuration["stage"])
        edge = configuration["output"]
        senders: list[Sender] = []
        try:
            for partition, peer in enumerate(edge["peers"]):
                senders.append(
                    Sender(
                        peer,
                        job=configuration["job"],
                        edge=edge["edge"],
                        token=configuration["token"],
                        certificate=_certificate(configuration),
                        descriptor=Descriptor.parse(edge["ntf"]),
                        producer=edge["index"],
                        partition=partition,
                        timeout_s=configuration["timeout_ms"] / 1000,
                    )
                )
        except BaseException:
            for sender in senders:
                sender.abort()
            raise
        return senders

    def _cancel(self) -> dict[str, Any]:
        self._cancelled = True
        self._turns.cancel()
        for endpoint in (self._endpoints or {}).values():
            endpoint.close(Cancelled("the instance was cancelled"))
        return {}

    def _counters(self) -> dict[str, Any]:
        configuration, endpoints, flow = self._configuration, self._endpoints or {}, self._flow
        cpu_ns = time.process_time_ns()
        counters: dict[str, Any] = {
            "instance": configuration["instance"] if configuration else "",
            "pid": os.getpid(),
            "rss_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "held_bytes": pa.total_allocated_bytes(),
            "cpu_ns": cpu_ns,
            "stages": self._stages,
            "pipelines": [],
            "sources": [],
            "sinks": [],
            **self._counted,
        }
        if configuration is None or len(self._stages) < configuration["stage"]:
            return counters
        stage = self._stages[configuration["stage"] - 1]
        elapsed_ns = (stage["end_ns"] or time.time_ns()) - stage["start_ns"]
        name = configuration.get("name", "compute")
        rows = sum(endpoint.rows for endpoint in endpoints.values())
        counters["pipelines"] = [
            {"id": 0, "name": name, **stage, "busy_ns": cpu_ns, "wait_ns": max(0, elapsed_ns - cpu_ns),
             "rows_in": rows, "rows_out": flow.rows}
        ]  # fmt: skip
        counters["sources"] = [
            {"id": i, "name": edge, "rows": endpoint.rows, "bytes": endpoint.bytes,
             "wait_ns": 0, "skipped_rows": 0, "pruned_bytes": 0}
            for i, (edge, endpoint) in enumerate(endpoints.items())
        ]  # fmt: skip
        counters["sinks"] = [
            {"id": 0, "edge": configuration["output"]["edge"], "rows": flow.rows, "bytes": flow.bytes,
             "batches": flow.batches, "wait_ns": flow.wait_ns()}
        ]  # fmt: skip
        return counters


class _Flow:
    """Counts what was sent, and the time for it: nearly all of it is waiting for room on the edge."""

    def __init__(self) -> None:
        self.rows = self.bytes = self.batches = 0
        self._waited_ns = 0
        self._since_ns = 0

    def send(self, sender: Sender, batch: pa.RecordBatch) -> None:
        self._since_ns = time.monotonic_ns()
        try:
            sender.write(batch)
        finally:
            waited_ns, self._since_ns = time.monotonic_ns() - self._since_ns, 0
            self._waited_ns += waited_ns
        self.rows += batch.num_rows
        self.bytes += batch.nbytes
        self.batches += 1

    def wait_ns(self) -> int:
        since_ns = self._since_ns
        return self._waited_ns + (time.monotonic_ns() - since_ns if since_ns else 0)


def _certificate(configuration: dict[str, Any]) -> JobCertificate | None:
    return JobCertificate(**configuration["tls"]) if "tls" in configuration else None


def _refuse(what: str) -> NoReturn:
    raise InternalError(f"an instance was misused: {what}")


def _name_process(name: str) -> None:
    """Set the name that `ps` shows; Python has no function for it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)
