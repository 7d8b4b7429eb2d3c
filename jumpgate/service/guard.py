"""Guards the service: its own user may do everything, clients of the configuration what that says."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import grpc

from jumpgate.dataflow import beneath, located
from jumpgate.dataflow.operators import Operator, Read, rewrite
from jumpgate.dataflow.request import Request, RunOptions
from jumpgate.errors import Forbidden, JumpgateError, NotFound, ProtocolError, Unauthenticated
from jumpgate.hosts.config import ClientConfig
from jumpgate.orchestrator.record import JobRecord
from jumpgate.service import health
from jumpgate.service.admission import User
from jumpgate.service.limits import Limits
from jumpgate.service.parsed import kind_of, parsed
from jumpgate.stores.credentials import Credentials
from jumpgate.stores.names import canonical, is_remote
from jumpgate.stores.settings import CREDENTIALS, Store
from jumpgate.trust import tokens, versions

#: in what gRPC knows of a connection: the certificate that the client showed, PEM
CERTIFICATE = "x509_pem_cert"


class Client:
    """One who was let in; None in place of a configuration: the service's own user, or anybody in a trusted network."""

    def __init__(self, config: ClientConfig | None = None) -> None:
        self._config = config
        self.name = "" if config is None else config.name
        roots = () if config is None else config.roots
        self._roots = [os.path.realpath(root) for root in roots if not is_remote(root)]
        self._stores = [Store(canonical(root)) for root in roots if is_remote(root)]

    @property
    def config(self) -> ClientConfig | None:
        """Return the client's entry in the configuration."""
        return self._config

    def user(self, peer: str) -> User:
        """The client as it takes turns; of those without a name the machine, however many connections it has."""
        if self._config is None:
            return User(peer.rpartition(":")[0])
        return User(self.name, float(self._config.weight or 1), self._config.priority, self._config.running)

    def check_size(self, size: int) -> None:
        """Raises Forbidden for a request of more bytes than the client's may have."""
        most = 0 if self._config is None else self._config.request_bytes
        if most and size > most:
            raise self._no(f"send a request of {size} bytes; its requests may have {most}")

    def credentials(self, brought: Credentials | None) -> Credentials | None:
        """Return what a request of the client reads stores with; None: with what the service lends. Raises Forbidden
        for credentials that it may not bring."""
        policy = CREDENTIALS[0] if self._config is None else self._config.credentials
        if brought is not None and policy == "never":
            raise self._no('bring credentials of stores, as credentials = "never" in its [[client]] says')
        return (brought or Credentials()).alone() if policy == "require" else brought

    def check_jobs(self, jobs: Callable[[], Iterable[JobRecord]]) -> None:
        """Raises Forbidden where as many as the client may have are waiting or running."""
        most = 0 if self._config is None else self._config.jobs
        if most and sum(job.client == self.name and not job.ended_ns for job in jobs()) >= most:
            raise self._no(f"submit another job; it may have {most} at once")

    def below_roots(self, root: Operator) -> Operator:
        """The operators, with files that cannot lead out of the client's roots any more, whatever becomes of links
        (jumpgate/dataflow/beneath.py). Raises Forbidden for a file that is, links followed, below none of them."""

        def visit(node: Operator) -> Operator:
            return replace(node, files=tuple(map(self._below, node.files))) if isinstance(node, Read) else node

        return root if self._config is None else rewrite(root, visit)

    def _below(self, file: str) -> str:
        if is_remote(file):
            if any(store.has(file) for store in self._stores):
                return file
            raise self._no(f"read {file}; roots in the service's jumpgate.toml says what it may read", file=file)
        if located.split(file)[0]:
            self.check_hosts()
        path = os.path.abspath(urlsplit(file).path if file.startswith("file:") else file)
        real = os.path.realpath(path)
        for root in self._roots:
            if os.path.commonpath((real, root)) == root:
                # as it was written, where that is below the root: its folders' names may be values
                inner = path if os.path.commonpath((path, root)) == root else real
                return beneath.marked(root, os.path.relpath(inner, root))
        raise self._no(f"read {file}; roots in the service's jumpgate.toml says where it may read", file=file)

    def check_paths(self, paths: Iterable[str]) -> None:
        """Raises Forbidden for paths that the service may not be asked about: only for objects below its roots by who
        has any."""
        for path in paths if self._config is not None else ():
            if is_remote(path):
                self._below(canonical(path))
            else:
                self.check_hosts()

    def check_hosts(self) -> None:
        """Raises Forbidden for who has roots: where a path leads on another host, only that host knows."""
        if self._config is not None:
            raise self._no("name files of single hosts (file://HOST/path): its roots are on the service's machine")

    def check_limits(self, request: Request, everybody: Limits) -> None:
        """Raises Forbidden, or InvalidDataflow, for a request of more than the client's, or everybody's, may be."""
        own = None if self._config is None else self._config.limits
        (everybody.lowered(self.name, own) if own else everybody).check(request)

    def limited(self, options: RunOptions) -> RunOptions:
        """Return a request's options, lowered to what the client may have."""
        most = 0 if self._config is None else self._config.memory_limit_bytes
        return replace(options, memory_limit_bytes=min(options.memory_limit_bytes or most, most)) if most else options

    def sees(self, job: JobRecord) -> bool:
        return self._config is None or self._config.administers or job.client == self.name

    def check_job(self, job: JobRecord) -> JobRecord:
        """The job. Raises NotFound for those of others, as if there were none: their ids are nobody else's."""
        if not self.sees(job):
            raise NotFound(f"no job '{job.job}': it was never submitted here, or it has expired", job=job.job)
        return job

    def _no(self, what: str, **fields: object) -> Forbidden:
        return Forbidden(f"client '{self.name}' may not {what}", client=self.name, **fields)


class Guard:
    """Knows the tokens. `admit` adds one; `open_to_all` lets everybody in, for networks that are trusted."""

    def __init__(self, clients: Iterable[ClientConfig], address: str) -> None:
        """Raises ConfigError where a token cannot be read."""
        self.address = address
        self.open_to_all = False
        self._admitted: dict[bytes, Client] = {}
        self._clients: dict[bytes, Client] = {}
        self.replace(clients)

    def replace(self, clients: Iterable[ClientConfig]) -> None:
        """Lets these in, and of those of the configuration nobody else. Raises ConfigError; then nothing changes."""
        self._clients = {
            _digest(tokens.read(config.token_file, f"client '{config.name}'")): Client(config) for config in clients
        }

    def admit(self, token: str, client: Client) -> None:
        self._admitted[_digest(token)] = client

    def name(self, metadata: Any) -> str:
        """Return the name of the client who makes a call with that metadata; "" for others, known or not."""
        found = self._found(tokens.shown(metadata))
        return "" if found is None else found.name

    def dismiss(self, token: str) -> None:
        """Let nobody in with the token any more; nothing happens if it is not known."""
        self._admitted.pop(_digest(token), None)

    def client(self, metadata: Any) -> Client:
        """Return the client that makes a call with that metadata. Raises Unauthenticated."""
        token = tokens.shown(metadata)
        found = self._found(token)
        if found is not None:
            return found
        if self.open_to_all:
            return Client()
        what = "does not know this token" if token else "wants a token"
        raise Unauthenticated(
            f"the service at {self.address} {what}: connect as the user who started it, or with token_file (or "
            "JUMPGATE_TOKEN_FILE), a file with the token of a [[client]] in the service's jumpgate.toml",
            address=self.address,
        )

    def _found(self, token: str) -> Client | None:
        digest = _digest(token)  # of which time tells nothing
        return self._admitted.get(digest) or self._clients.get(digest)


class Door(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Turns strangers away before their message is read, and clients whose certificate `check` raises Unauthenticated
    for. `refuse` ends a call with an error."""

    def __init__(
        self,
        guard: Guard,
        refuse: Callable[[Any, Exception], Awaitable[Exception]],
        check: Callable[[bytes], None] | None = None,
    ) -> None:
        self._guard, self._refuse, self._check = guard, refuse, check

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        handler = await continuation(details)
        if handler is None:
            return None
        try:
            if details.method != health.CHECK:  # probes have no token
                versions.check(details.invocation_metadata, self._guard.address)
                self._guard.client(details.invocation_metadata)
        except (Unauthenticated, ProtocolError) as error:
            return self._refusal(handler, error)
        handler = parsed(handler, self._refuse)
        return handler if self._check is None else self._checked(handler, self._check)

    def _checked(self, handler: Any, check: Callable[[bytes], None]) -> Any:
        """The handler, for calls whose certificate holds; gRPC tells it with the call only."""
        kind = kind_of(handler)
        inner = getattr(handler, kind)

        async def checked(request: Any, context: Any) -> Any:
            try:
                check(context.auth_context()[CERTIFICATE][0])
            except Unauthenticated as error:
                raise await self._refuse(context, error) from error
            return await inner(request, context)

        return handler._replace(**{kind: checked})

    def _refusal(self, handler: Any, error: JumpgateError) -> Any:
        async def refused(request: Any, context: Any) -> None:
            await self._refuse(context, error)

        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(refused)
        make = (
            grpc.unary_stream_rpc_method_handler if handler.response_streaming else grpc.unary_unary_rpc_method_handler
        )
        return make(refused)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
