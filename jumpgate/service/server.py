"""The service by gRPC (jumpgate/v1/service.proto)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any, TypeVar
from urllib.parse import unquote

import grpc

from jumpgate import errors, extras
from jumpgate.dataflow import proto
from jumpgate.dataflow.request import Request, brought_by
from jumpgate.errors import ConfigError, InternalError, JumpgateError
from jumpgate.hosts.config import Config
from jumpgate.nca.registry import Registry
from jumpgate.ntf.addresses import is_loopback, joined
from jumpgate.service import answers, health
from jumpgate.service.calibrating import Calibrating
from jumpgate.service.engine import Engine
from jumpgate.service.facade import Call, Service
from jumpgate.service.guard import Client, Door, Guard
from jumpgate.service.limits import MESSAGE_BYTES_MAX
from jumpgate.trust.channels import server_credentials
from jumpgate.trust.tls import Identity
from jumpgate.trust.tokens import Published
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1 import service_pb2_grpc

T = TypeVar("T")

#: trailing metadata that holds the typed error
ERROR_KEY = "jumpgate-error"
#: threads that plan; most of them wait for files
PLANNERS = 32
#: for TLS and HTTP/2 to begin on a connection; for one without a call to stay (its client connects again by itself)
HANDSHAKE_MS, IDLE_MS = 5000, 600_000
#: of an answer: a job's report has all its instances
ANSWER_BYTES_MAX = 64 << 20
TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

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


class Servicer(service_pb2_grpc.JumpgateServicer):
    """Every RPC: decode, ask the service, encode. A failure of one request never ends the server."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def Submit(self, request: pb.SubmitRequest, context: Any) -> pb.SubmitResponse:
        async def submit(call: Call) -> pb.SubmitResponse:
            return answers.submitted(await self._service.submit(call, Request.of(request)), explain=True)

        return await self._answered(context, submit)

    async def Execute(self, request: pb.ExecuteRequest, context: Any) -> None:
        await self._streamed(context, lambda call: self._service.execute(call, request.job_id))

    async def Run(self, request: pb.RunRequest, context: Any) -> None:
        def run(call: Call) -> AsyncGenerator[pb.Event, None]:
            asked = Request.of(request.submit)
            return self._service.run(call, asked, explain=request.explain, pull=request.pull)

        await self._streamed(context, run)

    async def Pull(self, request: pb.PullRequest, context: Any) -> None:
        await self._streamed(context, lambda call: self._service.pull(call, request.job_id))

    async def OpenGroup(self, request: pb.OpenGroupRequest, context: Any) -> pb.OpenGroupResponse:
        async def open(call: Call) -> pb.OpenGroupResponse:
            return pb.OpenGroupResponse(group=await self._service.open_group(call, request.receivers))

        return await self._answered(context, open)

    async def Receive(self, requests: AsyncIterator[pb.ReceiveRequest], context: Any) -> None:
        await self._streamed(context, lambda call: self._service.receive(call, requests))

    async def Cancel(self, request: pb.CancelRequest, context: Any) -> pb.CancelResponse:
        async def cancel(call: Call) -> pb.CancelResponse:
            await self._service.cancel(call, request.job_id)
            return pb.CancelResponse()

        return await self._answered(context, cancel)

    async def Describe(self, request: pb.DescribeRequest, context: Any) -> pb.JobDescription:
        return await self._answered(
            context, lambda call: self._service.describe(call, request.job_id, page=request.page)
        )

    async def List(self, request: pb.ListRequest, context: Any) -> pb.ListResponse:
        return await self._answered(context, self._service.jobs)

    async def Devices(self, request: pb.DevicesRequest, context: Any) -> pb.DevicesResponse:
        return await self._answered(context, self._service.devices)

    async def Look(self, request: pb.LookRequest, context: Any) -> pb.LookResponse:
        async def look(call: Call) -> pb.LookResponse:
            schema = proto.decode_schema(request.file_schema) if request.HasField("file_schema") else None
            paths, options, brought = list(request.paths), dict(request.options), brought_by(request.credentials)
            read = await self._service.look(call, paths, request.format, options, schema, brought)
            return pb.LookResponse(read=proto.encode(read))

        return await self._answered(context, look)

    async def Prepare(self, request: pb.PrepareRequest, context: Any) -> pb.PrepareResponse:
        async def prepare(call: Call) -> pb.PrepareResponse:
            seconds = await self._service.prepare(call, Request.of(request), request.patience_seconds)
            return pb.PrepareResponse(seconds=seconds)

        return await self._answered(context, prepare)

    async def Explain(self, request: pb.ExplainRequest, context: Any) -> pb.ExplainResponse:
        async def explain(call: Call) -> pb.ExplainResponse:
            if request.job_id:
                return await self._service.explain_job(call, request.job_id, verbose=request.verbose)
            return await self._service.explain(
                call, Request.of(request), verbose=request.verbose, elsewhere=request.elsewhere,
                columns=request.columns, estimate_only=request.estimate_only,
            )  # fmt: skip

        return await self._answered(context, explain)

    async def refuse(self, context: Any, error: Exception) -> Exception:
        """End a call with an error; gRPC raises what ends the handler."""
        typed = error if isinstance(error, JumpgateError) else InternalError(f"{type(error).__name__}: {error}")
        self._service.on_failed(self._service.guard.name(context.invocation_metadata()), context.peer(), typed)
        return await _abort(context, typed)

    async def _answered(self, context: Any, verb: Callable[[Call], Awaitable[T]]) -> T:
        try:
            return await verb(self._call(context))
        except Exception as error:  # not CancelledError: the client has gone
            raise await self.refuse(context, error) from error

    async def _streamed(self, context: Any, verb: Callable[[Call], AsyncGenerator[Any, None]]) -> None:
        async def stream(call: Call) -> None:
            async with contextlib.aclosing(verb(call)) as messages:
                async for message in messages:
                    await context.write(message)

        await self._answered(context, stream)

    def _call(self, context: Any) -> Call:
        """Return the call as the service knows it. Raises Unauthenticated."""
        metadata = context.invocation_metadata()
        trace = dict(metadata).get("traceparent", "")
        is_trace = isinstance(trace, str) and TRACEPARENT.fullmatch(trace)
        client, peer = self._service.guard.client(metadata), context.peer()
        return Call(client, peer, trace if is_trace else "", _is_private(peer, context.auth_context()))


def _is_private(peer: str, connection: Mapping[str, Sequence[bytes]]) -> bool:
    """Return whether nobody else can read what comes from a peer of gRPC's: over TLS, or from this machine."""
    address = unquote(peer.partition(":")[2])
    return b"ssl" in connection.get("transport_security_type", ()) or is_loopback(address)


class Serving:
    """A service that listens at `address`, until `stop`."""

    def __init__(self, server: grpc.aio.Server, service: Service, address: str, published: Published) -> None:
        self._server, self.service, self.address, self._published = server, service, address, published
        self.calibrating = Calibrating(service.engine.config)
        self.engine, self.token = service.engine, published.token

    def reload(self, config: Config) -> list[str]:
        """Take over the clients, their tokens and the limits of a configuration; return what else of it is different,
        which a restart takes over. Raises ConfigError; then nothing changes."""
        self.service.guard.replace(config.clients)
        known = self.engine.config
        self.engine.config = replace(known, clients=config.clients, service=config.service)
        rest = (f.name for f in fields(Config) if f.name not in ("clients", "service"))
        return [name for name in rest if getattr(config, name) != getattr(known, name)]

    async def drain(self, seconds: float) -> None:
        """Refuses new jobs, and returns once those that run have ended, or after so long."""
        self.service.is_draining = True
        await self.engine.ended(seconds)

    async def stop(self, grace_s: float = 0.0) -> None:
        """Ends its jobs and agents; clients that wait have that long to hear of it."""
        self._published.withdraw()
        await self.calibrating.close()
        await self._server.stop(grace_s)
        await self.service.close()


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
    service = Service(Engine(config, registry), guard)
    servicer = Servicer(service)
    server = grpc.aio.server(
        interceptors=(Door(guard, servicer.refuse, check),),
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
    service_pb2_grpc.add_JumpgateServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]
    server.add_generic_rpc_handlers((health.handler(lambda: service.unready),))
    try:
        if identity is None:
            bound = server.add_insecure_port(joined(host, port))
        else:
            bound = server.add_secure_port(joined(host, port), server_credentials(identity))
    except RuntimeError:
        bound = 0
    if bound == 0:
        await service.close()
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
    return Serving(server, service, guard.address, published)


def _revocation(identity: Identity) -> Callable[[bytes], None]:
    """Return what raises Unauthenticated for a certificate that is revoked. Raises ConfigError."""
    with extras.explained():
        from jumpgate.trust.revocation import Revoked

    return Revoked(identity.folder).check


async def _abort(context: Any, error: JumpgateError) -> Exception:
    """Ends the call with the error's status; gRPC raises what ends the handler."""
    kinds = [cls for cls in type(error).__mro__ if cls in _STATUS]
    status = (
        _STATUS[kinds[0]]
        if kinds
        else (grpc.StatusCode.UNAVAILABLE if error.is_unreachable else grpc.StatusCode.UNKNOWN)
    )
    data = answers.error_json(error)
    await context.abort(status, json.loads(data)["message"], trailing_metadata=((ERROR_KEY, data),))
    return error
