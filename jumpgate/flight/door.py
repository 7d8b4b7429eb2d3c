"""The server of Flight SQL: reads commands and actions, and hands them to the caller's session."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pyarrow as pa
from google.protobuf.message import DecodeError, Message
from pyarrow import flight

from jumpgate.errors import ConfigError, Forbidden, ProtocolError
from jumpgate.flight import actions, ingest, metadata
from jumpgate.flight.callers import COOKIE, MIDDLEWARE, Audit, Caller, Callers, NoHandshake
from jumpgate.flight.clients import Clients
from jumpgate.flight.database import count_of, sliced
from jumpgate.flight.failures import as_flight, told, typed
from jumpgate.flight.messages import unwrap, wrap
from jumpgate.flight.parameters import bound
from jumpgate.flight.sessions import Answered, Session, Sessions
from jumpgate.ntf.addresses import joined
from jumpgate.service.guard import Client
from jumpgate.trust.tls import Identity
from jumpgate.trust.tokens import Published
from jumpgate.v1 import flight_sql_pb2 as sql


class Door(flight.FlightServerBase):  # type: ignore[misc]
    """Serves Flight SQL at `address` until `close`."""

    def __init__(
        self, clients: Clients, host: str, port: int, identity: Identity | None, audit: Audit | None = None
    ) -> None:
        """Raises ConfigError where the port is taken."""
        self._clients, self._sessions, self._audit = clients, Sessions(), audit or Audit()
        _check_free(host, port)
        secure = {} if identity is None else {
            "tls_certificates": [(identity.certificate, identity.key)],
            "verify_client": True,
            "root_certificates": identity.ca,
        }  # fmt: skip
        scheme = "grpc" if identity is None else "grpc+tls"
        super().__init__(
            f"{scheme}://{joined(host, port)}",
            auth_handler=NoHandshake(),
            middleware={MIDDLEWARE: Callers(clients.guard, self._audit)},
            **secure,
        )
        place = joined(host, self.port)
        self.address = f"{scheme}://{place}"
        self._published = Published(place)  # as the service's own, for clients of this user
        clients.guard.admit(self._published.token, Client())

    def close(self) -> None:
        """End all sessions, and what runs in them."""
        self._published.withdraw()
        self._clients.guard.dismiss(self._published.token)
        self._sessions.close()
        self.shutdown()

    def get_flight_info(
        self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor
    ) -> flight.FlightInfo:
        """Run a statement, or look at what metadata is asked for; the result is fetched by a ticket."""
        with self._told(context):
            command = unwrap(descriptor.command or b"")
            if metadata.is_answered(command):
                return _info(descriptor, metadata.schema_of(command), [descriptor.command], b"")
            session, answered = self._answer(context, command)
            handles = session.keep(answered)
            tickets = [wrap(sql.TicketStatementQuery(statement_handle=handle)) for handle in handles]
            told_of = {"offloaded": not answered.reason, "reason": answered.reason}
            return _info(descriptor, answered.schema, tickets, json.dumps(told_of).encode())

    def get_schema(self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor) -> flight.SchemaResult:
        """Return the columns of an answer, without running a statement."""
        with self._told(context):
            command = unwrap(descriptor.command or b"")
            if metadata.is_answered(command):
                return flight.SchemaResult(metadata.schema_of(command))
            if isinstance(command, sql.CommandPreparedStatementQuery):
                session = self._of(context, command.prepared_statement_handle)
                prepared = session.prepared(command.prepared_statement_handle)
                return flight.SchemaResult(session.columns(prepared.statement, prepared.transaction))
            if isinstance(command, sql.CommandStatementQuery):
                session = self._session(context, command.transaction_id)
                return flight.SchemaResult(session.columns(session.checked(command.query), command.transaction_id))
            raise _unfit(command, "GetSchema")

    def do_get(self, context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.FlightDataStream:
        """Send a result, batch by batch, as fast as the client takes it."""
        with self._told(context):
            command = unwrap(ticket.ticket)
            if metadata.is_answered(command):
                return flight.RecordBatchStream(metadata.answer(command, self._session(context).database()))
            if not isinstance(command, sql.TicketStatementQuery):
                raise _unfit(command, "DoGet")
            session = self._of(context, command.statement_handle)
            answered, part = session.kept(command.statement_handle)
            batches = session.fetch(answered, part, context.is_cancelled)
            return flight.GeneratorStream(answered.schema, _sent(batches))

    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        """Take parameters, run what changes rows, or ingest them."""
        with self._told(context):
            command = unwrap(descriptor.command or b"")
            if isinstance(command, sql.CommandPreparedStatementQuery):
                session = self._of(context, command.prepared_statement_handle)
                prepared = session.prepared(command.prepared_statement_handle)
                prepared.rows = bound(reader.read_all(), prepared.parameters)
                answer: Message = sql.DoPutPreparedStatementResult(
                    prepared_statement_handle=command.prepared_statement_handle
                )
            elif isinstance(command, sql.CommandStatementIngest):
                count = ingest.ingest(
                    self._session(context, command.transaction_id), command, reader, context.is_cancelled
                )
                answer = sql.DoPutUpdateResult(record_count=count)
            elif isinstance(command, sql.CommandPreparedStatementUpdate):
                session = self._of(context, command.prepared_statement_handle)
                prepared = session.prepared(command.prepared_statement_handle)
                sent = reader.read_all()
                rows = bound(sent, prepared.parameters) if sent.num_columns else prepared.rows
                answer = _updated(session.answer(prepared.statement, rows, prepared.transaction, context.is_cancelled))
            else:
                answer = _updated(self._answer(context, command)[1])
            writer.write(pa.py_buffer(answer.SerializeToString()))

    def list_actions(self, context: flight.ServerCallContext) -> list[tuple[str, str]]:
        """Return the actions that are known."""
        return [(name, action.__doc__ or "") for name, action in actions.ACTIONS.items()]

    def do_action(self, context: flight.ServerCallContext, action: flight.Action) -> Iterator[flight.Result]:
        """Do what has no rows: prepare, transactions, cancellation, sessions."""
        with self._told(context):
            body = action.body.to_pybytes() if action.body is not None else b""
            try:
                answer = actions.do(action.type, body, _Hall(self, context))
            except DecodeError as error:
                raise ProtocolError(f"this is no message of {action.type}: {error}") from None
        return iter([] if answer is None else [flight.Result(pa.py_buffer(answer))])

    def _told(self, context: flight.ServerCallContext) -> AbstractContextManager[None]:
        """Raise errors in Flight's kinds, and have what a client may not do audited."""

        def hear(error: Exception) -> None:
            if isinstance(error, Forbidden):
                self._audit.failed(_caller(context).client.name, context.peer(), error)

        return told(hear)

    def _answer(self, context: flight.ServerCallContext, command: Message) -> tuple[Session, Answered]:
        """Run a command's statement in its session."""
        if isinstance(command, sql.CommandPreparedStatementQuery):
            session = self._of(context, command.prepared_statement_handle)
            prepared = session.prepared(command.prepared_statement_handle)
            statement, rows, transaction = prepared.statement, prepared.rows, prepared.transaction
        elif isinstance(command, sql.CommandStatementQuery | sql.CommandStatementUpdate):
            session = self._session(context, command.transaction_id)
            statement, rows, transaction = session.checked(command.query), (None,), command.transaction_id
        else:
            raise _unfit(command, "this call")
        return session, session.answer(statement, rows, transaction, context.is_cancelled)

    def _of(self, context: flight.ServerCallContext, handle: bytes) -> Session:
        """Return the session that gave the handle to this client."""
        return self._sessions.of_handle(handle, _caller(context).client.name)

    def _session(self, context: flight.ServerCallContext, transaction: bytes = b"") -> Session:
        """Return the session of a transaction, or of the caller's cookie or connection."""
        if transaction:
            return self._of(context, transaction)
        caller = _caller(context)
        peer = context.peer()

        def begin() -> Session:
            self._audit.login(caller.client.name, peer)
            return self._clients.session(caller.client)

        session = self._sessions.of_connection(caller.client.name, caller.cookie, caller.connection(peer), begin)
        if caller.cookie != session.id:
            context.add_header("set-cookie", f"{COOKIE}={session.id.hex()}")
        return session


class _Hall(actions.Hall):
    """The sessions that an action of one call reaches."""

    def __init__(self, door: Door, context: flight.ServerCallContext) -> None:
        self._door, self._context = door, context

    def session(self) -> Session:
        return self._door._session(self._context)

    def of(self, handle: bytes) -> Session:
        return self._door._of(self._context, handle)

    def end(self, session: Session) -> None:
        self._door._sessions.end(session)


def _caller(context: flight.ServerCallContext) -> Caller:
    caller = context.get_middleware(MIDDLEWARE)
    assert isinstance(caller, Caller)
    return caller


def _info(
    descriptor: flight.FlightDescriptor, schema: pa.Schema, tickets: list[bytes], app_metadata: bytes
) -> flight.FlightInfo:
    """Return where a result is fetched: where it was asked for. The rows of several tickets have no order."""
    endpoints = [flight.FlightEndpoint(flight.Ticket(ticket), []) for ticket in tickets]
    return flight.FlightInfo(schema, descriptor, endpoints, -1, -1, len(tickets) == 1, app_metadata)


def _sent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Cut batches to messages; errors amid them are Flight's."""
    try:
        yield from sliced(batches)
    except GeneratorExit:
        raise
    except Exception as error:
        raise as_flight(typed(error)) from None


def _updated(answered: Answered) -> Message:
    """Return the number of rows that a statement has changed."""
    found = answered.table
    answered.close()
    return sql.DoPutUpdateResult(record_count=-1 if found is None else count_of(found))


def _unfit(command: Message, call: str) -> ProtocolError:
    return ProtocolError(f"{command.DESCRIPTOR.name} is not for {call}; docs/flight-sql.md lists what is served")


def _check_free(host: str, port: int) -> None:
    """Raises ConfigError where somebody listens: Flight would share the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {joined(host, port)} for Flight SQL: {error.strerror}; choose another port with "
                "--flight (0 takes a free one)",
                host=host,
                port=port,
            ) from None
