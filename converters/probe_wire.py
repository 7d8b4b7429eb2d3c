"""The protocol of the prober and its workers: length-prefixed texts.

Answers are JSON alone, since a hostile file's bytes may shape them: the dataclasses in VALUES are named in it with
their fields, bytes are base64, and nothing else can be built. Questions are the prober's own, and pickled.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import pickle
import socket
import struct
from typing import Any

from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import ProtocolError
from jumpgate.nca.statistics import ColumnStatistics, Selection, Statistics

#: the most bytes of a frame: a schema of a few hundred thousand columns
FRAME_BYTES_MAX = 64 << 20
#: values that can be sent besides JSON's own
VALUES: dict[str, type] = {
    cls.__name__: cls for cls in (DataType, Field, Schema, ColumnStatistics, Selection, Statistics)
}

_FIELDS = {cls: tuple(f.name for f in dataclasses.fields(cls) if f.compare) for cls in VALUES.values()}
#: JSON's own values
_PLAIN = frozenset({str, int, float, bool, type(None)})

_LENGTH = struct.Struct("!I")


def send(connection: socket.socket, value: Any) -> None:
    """Send a value. Raises ProtocolError if it is too long, OSError."""
    _send(connection, json.dumps(_plain(value)).encode())


def receive(connection: socket.socket) -> Any:
    """Receive a value. Raises EOFError if the other end has closed, ProtocolError, OSError (TimeoutError)."""
    text = _received(connection)
    try:
        return _built(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as e:
        raise ProtocolError(f"a frame that says nothing: {e}") from None


def ask(connection: socket.socket, question: Any) -> None:
    """Send a question to a worker. Raises as `send`."""
    _send(connection, pickle.dumps(question, pickle.HIGHEST_PROTOCOL))


def asked(connection: socket.socket) -> Any:
    """Receive the prober's next request in a worker. Raises EOFError, OSError, ProtocolError."""
    return pickle.loads(_received(connection))


def _send(connection: socket.socket, text: bytes) -> None:
    if len(text) > FRAME_BYTES_MAX:
        raise ProtocolError(f"{len(text)} bytes are too many for one frame")
    connection.sendall(_LENGTH.pack(len(text)) + text)


def _received(connection: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > FRAME_BYTES_MAX:
        raise ProtocolError(f"a frame of {length} bytes is too long")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _plain(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, tuple):
        return {"tuple": [_plain(item) for item in value]}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[_plain(k), _plain(v)] for k, v in value.items()]}
    if (names := _FIELDS.get(type(value))) is not None:
        return {type(value).__name__: {name: _plain(getattr(value, name)) for name in names}}
    return value


def _built(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list):
        return [_built(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "bytes":
        return base64.b64decode(content)
    if kind == "tuple":
        return tuple(_built(item) for item in content)
    if kind == "dict":
        return {_built(k): _built(v) for k, v in content}
    return VALUES[kind](**{name: _built(field) for name, field in content.items()})
