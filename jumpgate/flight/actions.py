"""Actions of Flight SQL: what a client asks for that has no rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import pyarrow as pa
from google.protobuf.message import Message
from pyarrow import flight

from jumpgate.errors import InvalidDataflow, NotFound, ProtocolError
from jumpgate.flight.messages import unwrap, wrap
from jumpgate.flight.sessions import Prepared, Session
from jumpgate.v1 import flight_sql_pb2 as sql

M = TypeVar("M", bound=Message)


class Hall(Protocol):
    """The sessions that an action reaches."""

    def session(self) -> Session:
        """Return the caller's session."""

    def of(self, handle: bytes) -> Session:
        """Return the session that gave the handle to the caller. Raises NotFound."""

    def end(self, session: Session) -> None:
        """Close a session."""


def do(name: str, body: bytes, hall: Hall) -> bytes | None:
    """Do the action; return the answer's bytes, if it has one. Raises ProtocolError for one that is not known."""
    if name not in ACTIONS:
        raise ProtocolError(f"action {name!r} is not known; there are {', '.join(ACTIONS)}")
    return ACTIONS[name](body, hall)


def _prepare(body: bytes, hall: Hall) -> bytes:
    """Prepare a statement."""
    request = _expect(body, sql.ActionCreatePreparedStatementRequest)
    transaction = request.transaction_id
    session = hall.of(transaction) if transaction else hall.session()
    statement = session.checked(request.query)
    columns = session.columns(statement, transaction) if statement.is_query else None
    parameters = session.parameters(statement, transaction)
    handle = session.prepare(Prepared(statement, transaction, parameters))
    result = sql.ActionCreatePreparedStatementResult(
        prepared_statement_handle=handle,
        dataset_schema=b"" if columns is None else columns.serialize().to_pybytes(),
        parameter_schema=parameters.serialize().to_pybytes(),
    )
    return wrap(result)


def _unprepare(body: bytes, hall: Hall) -> None:
    """Close a prepared statement."""
    handle = _expect(body, sql.ActionClosePreparedStatementRequest).prepared_statement_handle
    hall.of(handle).unprepare(handle)


def _begin(body: bytes, hall: Hall) -> bytes:
    """Begin a transaction."""
    _expect(body, sql.ActionBeginTransactionRequest)
    return wrap(sql.ActionBeginTransactionResult(transaction_id=hall.session().begin()))


def _finish(body: bytes, hall: Hall) -> None:
    """Commit or roll back a transaction."""
    request = _expect(body, sql.ActionEndTransactionRequest)
    ends = sql.ActionEndTransactionRequest
    if request.action not in (ends.END_COMMIT, ends.END_ROLLBACK):
        raise InvalidDataflow("a transaction ends with a commit or a rollback")
    hall.of(request.transaction_id).finish(request.transaction_id, commit=request.action == ends.END_COMMIT)


def _cancel_query(body: bytes, hall: Hall) -> bytes:
    """Cancel a statement by the answer to GetFlightInfo."""
    return wrap(_cancelled(_expect(body, sql.ActionCancelQueryRequest).info, hall))


def _cancel_flight(body: bytes, hall: Hall) -> bytes:
    """Cancel a statement by the answer to GetFlightInfo, as newer clients do."""
    return _cancelled(sql.CancelFlightInfoRequest.FromString(body).info, hall).SerializeToString()


def _cancelled(data: bytes, hall: Hall) -> Message:
    try:
        info = flight.FlightInfo.deserialize(data)
        ticket = unwrap(info.endpoints[0].ticket.ticket)
        handle = ticket.statement_handle if isinstance(ticket, sql.TicketStatementQuery) else b""
        answered, _ = hall.of(handle).kept(handle)
    except (pa.ArrowException, IndexError, NotFound):
        return sql.ActionCancelQueryResult(result=sql.ActionCancelQueryResult.NOT_CANCELLABLE)
    answered.cancel()
    return sql.ActionCancelQueryResult(result=sql.ActionCancelQueryResult.CANCELLED)


def _set_options(body: bytes, hall: Hall) -> bytes:
    """Set options of the session."""
    request = sql.SetSessionOptionsRequest.FromString(body)
    session, kinds = hall.session(), sql.SetSessionOptionsResult
    result = kinds()
    for name, value in request.session_options.items():
        kind = value.WhichOneof("option_value")
        if name not in session.options():
            result.errors[name].value = kinds.INVALID_NAME
        elif not session.set_option(name, None if kind is None else getattr(value, kind)):
            result.errors[name].value = kinds.INVALID_VALUE
    return result.SerializeToString()


def _options(body: bytes, hall: Hall) -> bytes:
    """Return the options of the session."""
    result = sql.GetSessionOptionsResult()
    for name, value in hall.session().options().items():
        if isinstance(value, int):
            result.session_options[name].int64_value = value
        else:
            result.session_options[name].string_value = value
    return result.SerializeToString()


def _close(body: bytes, hall: Hall) -> bytes:
    """End the session."""
    hall.end(hall.session())
    return sql.CloseSessionResult(status=sql.CloseSessionResult.CLOSED).SerializeToString()


ACTIONS: dict[str, Callable[[bytes, Hall], bytes | None]] = {
    "CreatePreparedStatement": _prepare,
    "ClosePreparedStatement": _unprepare,
    "BeginTransaction": _begin,
    "EndTransaction": _finish,
    "CancelQuery": _cancel_query,
    "CancelFlightInfo": _cancel_flight,
    "SetSessionOptions": _set_options,
    "GetSessionOptions": _options,
    "CloseSession": _close,
}


def _expect(body: bytes, kind: type[M]) -> M:
    found = unwrap(body)
    if not isinstance(found, kind):
        raise ProtocolError(f"the action has a {found.DESCRIPTOR.name} in place of a {kind.DESCRIPTOR.name}")
    return found
