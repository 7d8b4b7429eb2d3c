"""The calls of a service, as sessions make them: jumpgate.client.remote by gRPC, jumpgate.service.direct in one
process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.request import Request
from jumpgate.errors import JumpgateError
from jumpgate.stores.credentials import Credentials
from jumpgate.v1 import service_pb2 as pb


class Run(Protocol):
    """The events of a job that runs, which are taken once, by iteration or by `deliver`. Both raise typed errors."""

    def __iter__(self) -> Iterator[pb.Event]:
        """Yield the events; raise the job's error."""

    def deliver(self, see: Callable[[pb.Event], None], end: Callable[[JumpgateError | None], None]) -> None:
        """Have `see` called with each event, and at last `end` with the error, on a thread of the calls."""

    def cancel(self) -> None:
        """End the job. Called from any thread."""


class Calls(Protocol):
    """Raise typed errors. Thread-safe. is_local: the service is in this process."""

    is_local: bool

    def run(self, request: Request, *, explain: bool = False, pull: bool = False, trace: str = "") -> Run:
        """Run a request. explain: the plan's explanation is wanted. pull: the service keeps the result until it is
        fetched. trace: the caller's traceparent."""

    def explain(self, request: Request, *, verbose: bool = False) -> pb.ExplainResponse:
        """Explain how a request would be run."""

    def explain_job(self, job: str, *, verbose: bool = False) -> pb.ExplainResponse:
        """Explain a job that was executed."""

    def estimate(self, request: Request, elsewhere: pb.Speeds) -> pb.Estimate:
        """Estimate a request, and the same work elsewhere."""

    def prepare(self, request: Request, patience_s: float) -> float:
        """Return the seconds that a job of the request would wait; prepare it if they are more than patience_s."""

    def look(
        self, paths: Sequence[str], format: str, options: Mapping[str, str], brought: Credentials | None = None
    ) -> Operator:
        """Return a read of files of the service's hosts. brought: what reads objects among them."""

    def jobs(self, within_s: float | None = None) -> pb.ListResponse:
        """Return the jobs that the service remembers. within_s: for the answer."""

    def devices(self) -> pb.DevicesResponse:
        """Return the hosts and devices of the service."""

    def describe(self, job: str) -> pb.JobDescription:
        """Return a job with its record."""

    def cancel(self, job: str) -> None:
        """End a job."""

    def close(self) -> None:
        """End the connection."""


def follow(messages: Iterable[Any], see: Callable[[Any], None], end: Callable[[JumpgateError | None], None]) -> None:
    """Have both called by a new thread: `see` with each message, and at last `end` with the error."""

    def taken() -> None:
        failure: JumpgateError | None = None
        try:
            for message in messages:
                see(message)
        except JumpgateError as error:
            failure = error
        finally:
            end(failure)

    threading.Thread(target=taken, name="jumpgate-events", daemon=True).start()
