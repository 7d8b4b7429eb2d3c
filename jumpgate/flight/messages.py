"""Messages of Flight SQL on the wire: each is wrapped in an Any that has Arrow's name for it."""

from __future__ import annotations

from google.protobuf.any_pb2 import Any as Wrapped
from google.protobuf.message import DecodeError, Message

from jumpgate.errors import ProtocolError
from jumpgate.v1 import flight_sql_pb2 as sql

_NAMES = "type.googleapis.com/arrow.flight.protocol.sql."


def wrap(message: Message) -> bytes:
    """Return the message as it travels in commands, tickets and actions."""
    return Wrapped(type_url=_NAMES + message.DESCRIPTOR.name, value=message.SerializeToString()).SerializeToString()


def unwrap(data: bytes) -> Message:
    """Return the message in a command, a ticket or an action. Raises ProtocolError."""
    try:
        wrapped = Wrapped.FromString(data)
        if not wrapped.type_url.startswith(_NAMES):
            raise ProtocolError("this is no command of Flight SQL: connect with a client of Flight SQL, ADBC or JDBC")
        name = wrapped.type_url.removeprefix(_NAMES)
        kind = getattr(sql, name, None)
        if not (isinstance(kind, type) and issubclass(kind, Message)):
            raise ProtocolError(f"{name} is not supported; docs/flight-sql.md lists what is")
        found: Message = kind.FromString(wrapped.value)
        return found
    except DecodeError as error:
        raise ProtocolError(f"this is no message of Flight SQL: {error}") from None
