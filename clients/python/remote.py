"""The calls of a service elsewhere, by gRPC (jumpgate/v1/service.proto)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc

from jumpgate.client.calls import follow
from jumpgate.dataflow import proto
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.request import Request, RunOptions, messages_of
from jumpgate.errors import (
    Cancelled,
    Forbidden,
    InvalidDataflow,
    JumpgateError,
    ProtocolError,
    TimedOut,
    Unreachable,
    from_dict,
)
from jumpgate.ntf.addresses import is_loopback
from jumpgate.stores.credentials import Credentials
from jumpgate.trust import tls as tls_files
from jumpgate.trust import tokens, versions
from jumpgate.trust.channels import channel
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1.service_pb2_grpc import JumpgateStub

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
#: how much longer than `timeout_ms` a call waits for the service's own word
TIMEOUT_GRACE_S = 1.0
#: statuses without a typed error: the network's or gRPC's own
_STATUSES: dict[grpc.StatusCode, type[JumpgateError]] = {
    grpc.StatusCode.UNAVAILABLE: Unreachable,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.DEADLINE_EXCEEDED: TimedOut,
    grpc.StatusCode.RESOURCE_EXHAUSTED: InvalidDataflow,  # a message larger than the service takes
}


class Remote:
    """The calls of the service at an address (host:port), as jumpgate.client.calls has them. token_file, tls: as of a
    session. wait_s: how long to wait for a service that is only starting."""

    is_local = False

    def __init__(
        self, address: str, token_file: str | Path | None = None, tls: str | Path | None = None, wait_s: float = 0.0
    ) -> None:
        self._address, self._token_file = address, token_file
        tokens.for_service(address, token_file)  # one that cannot be read is an error at once
        identity = tls_files.for_client(address, tls)
        self._is_private = identity is not None or is_loopback(address)
        self._channel = channel(tokens.target(address), identity, _CHANNEL_OPTIONS)
        if wait_s:
            with contextlib.suppress(grpc.FutureTimeoutError):  # the first call says what is wrong
                grpc.channel_ready_future(self._channel).result(wait_s)
        self._stub: Any = JumpgateStub(self._channel)  # type: ignore[no-untyped-call]

    def run(self, request: Request, *, explain: bool = False, pull: bool = False, trace: str = "") -> Events:
        """Run a request."""
        message = pb.RunRequest(submit=self._message(request), explain=explain, pull=pull)
        headers = (("traceparent", trace),) if trace else ()
        return Events(self._ask(self._stub.Run, message, _timeout_s(request.options), headers), self._address)

    def pull(self, job: str) -> Events:
        """Fetch the result of a job that was run with `pull`."""
        return Events(self._ask(self._stub.Pull, pb.PullRequest(job_id=job)), self._address)

    def explain(self, request: Request, *, verbose: bool = False) -> pb.ExplainResponse:
        """Explain how a request would be run."""
        return self._explain(request, verbose=verbose)

    def explain_job(self, job: str, *, verbose: bool = False) -> pb.ExplainResponse:
        """Explain a job that was executed."""
        message = pb.ExplainRequest(job_id=job, verbose=verbose)
        found: pb.ExplainResponse = self._ask(self._stub.Explain, message)
        return found

    def estimate(self, request: Request, elsewhere: pb.Speeds) -> pb.Estimate:
        """Estimate a request, and the same work elsewhere."""
        return self._explain(request, elsewhere=elsewhere, estimate_only=True).estimate

    def _explain(self, request: Request, **wanted: Any) -> pb.ExplainResponse:
        asked = self._message(request)
        message = pb.ExplainRequest(
            dataflow=asked.dataflow, options=asked.options, credentials=asked.credentials, **wanted
        )
        found: pb.ExplainResponse = self._ask(self._stub.Explain, message, _timeout_s(request.options))
        return found

    def prepare(self, request: Request, patience_s: float) -> float:
        """Return how long a job would wait, and prepare it meanwhile."""
        asked = self._message(request)
        message = pb.PrepareRequest(
            dataflow=asked.dataflow, options=asked.options, patience_seconds=patience_s, credentials=asked.credentials
        )
        return float(self._ask(self._stub.Prepare, message, _timeout_s(request.options)).seconds)

    def look(
        self, paths: Sequence[str], format: str, options: Mapping[str, str], brought: Credentials | None = None
    ) -> Operator:
        """Return a read of files of hosts."""
        self._check_private(brought)
        message = pb.LookRequest(paths=paths, format=format, options=options, credentials=messages_of(brought))
        return proto.decode(self._ask(self._stub.Look, message).read)[0]

    def _message(self, request: Request) -> pb.SubmitRequest:
        """Return the message that has a request. Raises Forbidden for secrets that others could read on the way."""
        self._check_private(request.credentials)
        return request.message()

    def _check_private(self, brought: Credentials | None) -> None:
        if brought is not None and not self._is_private:
            raise Forbidden(
                f"credentials of stores are not sent to {self._address}, as the connection is not encrypted: give the "
                "session `tls`, or JUMPGATE_TLS, a folder with a certificate (docs/security.md)",
                address=self._address,
            )

    def jobs(self, within_s: float | None = None) -> pb.ListResponse:
        """Return the jobs that the service remembers."""
        found: pb.ListResponse = self._ask(self._stub.List, pb.ListRequest(), within_s)
        return found

    def devices(self) -> pb.DevicesResponse:
        """Return the hosts and devices of the service."""
        found: pb.DevicesResponse = self._ask(self._stub.Devices, pb.DevicesRequest())
        return found

    def describe(self, job: str) -> pb.JobDescription:
        """Return a job with its record."""
        found: pb.JobDescription = self._ask(self._stub.Describe, pb.DescribeRequest(job_id=job))
        return found

    def cancel(self, job: str) -> None:
        """End a job."""
        self._ask(self._stub.Cancel, pb.CancelRequest(job_id=job))

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def _ask(
        self,
        method: Callable[..., Any],
        message: Any,
        timeout_s: float | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Any:
        token = tokens.for_service(self._address, self._token_file)
        limit = {} if timeout_s is None else {"timeout": timeout_s}
        try:
            return method(message, metadata=(*versions.METADATA, *tokens.metadata(token), *headers), **limit)
        except grpc.RpcError as error:
            raise _typed(error, self._address) from None


class Events:
    """The messages of a call that streams them, and its typed error."""

    def __init__(self, call: Any, address: str) -> None:
        self._call, self._address = call, address

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._call
        except grpc.RpcError as error:
            raise _typed(error, self._address) from None

    def deliver(self, see: Callable[[Any], None], end: Callable[[JumpgateError | None], None]) -> None:
        """Have both called by a thread: `see` with each message, and at last `end` with the error."""
        follow(self, see, end)

    def cancel(self) -> None:
        """End the call."""
        self._call.cancel()


def _timeout_s(options: RunOptions) -> float | None:
    """Return the limit of a call whose service may be stopped, and then says nothing."""
    return options.timeout_ms / 1000 + TIMEOUT_GRACE_S if options.timeout_ms else None


def _typed(error: Any, address: str) -> JumpgateError:
    """Return the error that the service put into the trailing metadata, or what the status says."""
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
