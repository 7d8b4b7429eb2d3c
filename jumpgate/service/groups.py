"""Receivers that share one result: they come one by one, and their job begins when all are there (service.proto)."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from jumpgate.dataflow.request import Flow, Request
from jumpgate.errors import (
    CannotPlace,
    CapacityExceeded,
    FileChanged,
    Forbidden,
    InstanceFailed,
    InvalidDataflow,
    JumpgateError,
    NotFound,
    Unreachable,
)
from jumpgate.stores.credentials import key_of
from jumpgate.v1 import dataflow_pb2
from jumpgate.v1 import service_pb2 as pb

#: how long the first receiver of a group waits for the others
GATHER_S = 2.0
#: how long a job that is run again waits for its receivers
REJOIN_S = 30.0
#: a group is forgotten after this long, and a client's oldest if it has too many
GROUP_S = 24 * 3600.0
GROUPS_MAX = 10_000
RECEIVERS_MAX = 1024


class Runner(Protocol):
    """Runs the jobs of a group's receivers."""

    async def submit(self, request: Request) -> pb.SubmitResponse: ...

    async def execute(self, job: str) -> None:
        """Until it has ended; raises its failure. Cancels the job if it is cancelled itself."""


@dataclass
class Receiver:
    """One that has joined. `endpoint` is empty while it has not told where the job's next run may send its rows."""

    endpoint: str
    has_enough: bool = False
    #: what it is to be told; None: the end
    told: asyncio.Queue[pb.ReceiveResponse | Exception | None] = field(default_factory=asyncio.Queue)

    async def responses(self) -> AsyncIterator[pb.ReceiveResponse]:
        """Until the job has ended; raises its error."""
        while (what := await self.told.get()) is not None:
            if isinstance(what, Exception):
                raise what
            yield what


class Group:
    """Not thread-safe: of one event loop. `runs` has its task while it runs."""

    def __init__(self, size: int, runs: set[asyncio.Task[None]]) -> None:
        self._size, self._runs = size, runs
        self._joined: set[int] = set()
        self._owner: str | None = None  #: of the first receiver's credentials
        self._receivers: list[Receiver] = []  #: those that the job has, or will have, rows for
        self._changed = asyncio.Event()
        self._run: asyncio.Task[None] | None = None
        self._begun = False
        self._job = ""  #: the one that runs, if its rows may still be handed on
        self._kept = False  #: some may have been
        self._loss: JumpgateError | None = None  #: why they are not all rows
        self._failure: Exception | None = None  #: what those are told that come when it has failed

    def join(self, number: int, request: Request, runner: Runner) -> Receiver | None:
        """Let the receiver of that number join, with the request that each brings. Return None if it has no part, as
        the job has begun without it. Raises InvalidDataflow, or why the job has failed."""
        if number >= self._size or number in self._joined:
            raise InvalidDataflow(
                f"receiver {number} of {self._size} joins its group a second time, or was never of it: a result "
                "that several receivers share is taken once",
            )
        endpoint, owner = endpoint_of(request), key_of(request.credentials)
        if self._owner not in (None, owner):  # the rows are read with those of the first
            raise Forbidden(
                "the receivers of one result bring the same credentials of stores, and this one brings others"
            )
        self._joined.add(number)
        self._owner = owner
        if self._failure is not None:
            raise self._failure
        if self._begun:
            return None
        receiver = Receiver(endpoint)
        self._receivers.append(receiver)
        if self._run is None:
            self._run = asyncio.create_task(self._serve(request, runner))
            self._runs.add(self._run)
            self._run.add_done_callback(self._runs.discard)
        self._changed.set()
        return receiver

    def step(self, receiver: Receiver, request: pb.ReceiveRequest) -> None:
        """Take a receiver's message after it has joined."""
        step = request.WhichOneof("step")
        if step == "join":
            receiver.endpoint = endpoint_of(Request.of(request.join.request))
        elif step == "enough":
            receiver.has_enough = True
            if not self._begun and receiver in self._receivers:
                self._receivers.remove(receiver)
                receiver.told.put_nowait(None)
            elif self._run is not None and all(receiver.has_enough for receiver in self._receivers):
                self._run.cancel()
        elif step == "hand_out" and request.hand_out == self._job:  # else it is told soon what has become of the job
            self._kept = True
            receiver.told.put_nowait(pb.ReceiveResponse(keep=self._job))
        self._changed.set()

    def leave(self, receiver: Receiver) -> None:
        """It has heard the end, or has gone away: then the others do not have all rows."""
        if receiver.has_enough or self._run is None or self._run.done():
            return
        receiver.has_enough = True
        self._loss = Unreachable("a receiver of the job's rows has gone away")
        self._run.cancel()

    async def _serve(self, request: Request, runner: Runner) -> None:
        """Runs the job, and once more if a device failed before a row of it was handed on; tells all how it ended."""
        try:
            await self._until(lambda: len(self._joined) == self._size, GATHER_S)
            if not self._receivers:  # all that came want no row: the next one may
                self._run = None
                return
            self._begun = True
            try:
                await self._attempt(request, runner)
            except JumpgateError as error:
                if self._kept or not may_help(error):
                    raise
                await self._again(error)
                await self._attempt_without(device_of(error), request, runner)
        except Exception as error:
            self._failure = error
        except asyncio.CancelledError:
            self._begun = True
            self._failure = self._loss
        self._tell(self._failure)
        self._tell(None)
        self._receivers = []

    async def _attempt_without(self, device: str, request: Request, runner: Runner) -> None:
        """With it, if no other can do its work."""
        if device:
            with contextlib.suppress(CannotPlace):
                await self._attempt(request.without(device), runner)
                return
        await self._attempt(request, runner)

    async def _attempt(self, request: Request, runner: Runner) -> None:
        receivers = [receiver for receiver in self._receivers if not receiver.has_enough]
        own = addressed(request, [receiver.endpoint for receiver in receivers])
        answer = await runner.submit(own)
        self._job = answer.job_id
        try:
            for partition, receiver in enumerate(receivers):
                receiver.told.put_nowait(pb.ReceiveResponse(part=pb.Part(job=answer, partition=partition)))
            await runner.execute(answer.job_id)
        finally:
            self._job = ""

    async def _again(self, error: JumpgateError) -> None:
        """Has all tell where a new run may send its rows."""
        device = device_of(error)
        without = f" without {device}" if device else ""
        receivers = [receiver for receiver in self._receivers if not receiver.has_enough]
        for receiver in receivers:
            receiver.endpoint = ""
            receiver.told.put_nowait(pb.ReceiveResponse(again=f"a job is run again{without}: {error.message}"))
        if not await self._until(lambda: all(r.endpoint or r.has_enough for r in receivers), REJOIN_S):
            raise error

    async def _until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        return condition()

    def _tell(self, what: Exception | None) -> None:
        for receiver in self._receivers:
            receiver.told.put_nowait(what)


class Groups:
    """The groups of receivers, by the client that opened them. A receiver that is alone is a group of its own."""

    def __init__(self) -> None:
        self._groups: defaultdict[str, OrderedDict[str, tuple[float, Group]]] = defaultdict(OrderedDict)
        self._runs: set[asyncio.Task[None]] = set()

    def open(self, client: str, receivers: int) -> str:
        """Its id, a secret. Raises InvalidDataflow."""
        if not 1 <= receivers <= RECEIVERS_MAX:
            raise InvalidDataflow(f"a group has 1 to {RECEIVERS_MAX} receivers, not {receivers}")
        now, known = time.monotonic(), self._groups[client]
        while known and (len(known) >= GROUPS_MAX or next(iter(known.values()))[0] < now):
            known.popitem(last=False)
        id = secrets.token_hex(16)
        known[id] = now + GROUP_S, Group(receivers, self._runs)
        return id

    def find(self, client: str, id: str) -> Group:
        """Raises NotFound."""
        if not id:
            return Group(1, self._runs)
        if id not in self._groups[client]:
            raise NotFound("no such group of receivers: it was never opened here, or it has expired")
        return self._groups[client][id][1]

    async def close(self) -> None:
        """Ends what runs."""
        for run in self._runs:
            run.cancel()
        await asyncio.gather(*self._runs, return_exceptions=True)


def may_help(error: JumpgateError) -> bool:
    """Return whether a device failed, not the query, its data or the service; or a file has changed since it was
    planned."""
    return isinstance(error, FileChanged) or bool(device_of(error))


def device_of(error: JumpgateError) -> str:
    """The one that failed, as plans name it."""
    if not isinstance(error, InstanceFailed | Unreachable | CapacityExceeded):
        return ""
    return str(error.fields.get("device") or error.fields.get("host") or "")


def endpoint_of(request: Request) -> str:
    """Return the endpoint of the one receiver of a request. Raises InvalidDataflow."""
    if len(request.endpoints) != 1 or isinstance(request.flow.message, pb.SubstraitRequest):
        raise InvalidDataflow("a receiver's request is a dataflow whose root is a Send to its one endpoint")
    return request.endpoints[0]


def addressed(request: Request, endpoints: list[str]) -> Request:
    """Return the request with its rows spread over these endpoints."""
    if len(endpoints) == 1:
        return replace(request, endpoints=tuple(endpoints))
    message = dataflow_pb2.Dataflow()
    message.CopyFrom(request.flow.message)  # type: ignore[arg-type]
    send = message.operators[-1].send
    send.endpoints[:] = [""] * len(endpoints)
    send.partitioning.Clear()
    send.partitioning.kind, send.partitioning.count = "round_robin", len(endpoints)
    return replace(request, flow=Flow(message), endpoints=tuple(endpoints))
