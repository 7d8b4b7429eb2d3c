"""Errors as Flight has them: the status says which kind, the message what, where and the way out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import flight

from jumpgate.errors import (
    Cancelled,
    Forbidden,
    InternalError,
    JumpgateError,
    MemoryLimit,
    NotFound,
    TimedOut,
    Unauthenticated,
)

#: the first that fits is taken
_KINDS: tuple[tuple[type[JumpgateError], type[flight.FlightError]], ...] = (
    (Unauthenticated, flight.FlightUnauthenticatedError),
    (Forbidden, flight.FlightUnauthorizedError),
    (Cancelled, flight.FlightCancelledError),
    (TimedOut, flight.FlightTimedOutError),
    (InternalError, flight.FlightInternalError),
)


@contextmanager
def told(hear: Callable[[Exception], None]) -> Iterator[None]:
    """Raise every error in Flight's kinds; `hear` is called with it in Jumpgate's first."""
    try:
        yield
    except (duckdb.Error, JumpgateError) as error:
        found = typed(error)
        hear(found)
        raise as_flight(found) from None


def typed(error: Exception) -> Exception:
    """Return DuckDB's error in Jumpgate's kinds, where there is one; else the error itself."""
    if isinstance(error, duckdb.PermissionException):
        return Forbidden(f"{error}. Tables of the service's jumpgate.toml can be read by name, and nothing by path")
    if isinstance(error, duckdb.OutOfMemoryException):
        return MemoryLimit(
            f"{error}. memory_limit_bytes of the client, or of [service], in jumpgate.toml is what a session may have"
        )
    return error


def as_flight(error: Exception) -> Any:
    """Return the error that Flight sends with the status that fits."""
    if isinstance(error, JumpgateError):
        detail = json.dumps(error.to_dict()).encode()
        for kind, other in _KINDS:
            if isinstance(error, kind):
                return other(error.message, detail)
        if error.is_unreachable:
            return flight.FlightUnavailableError(error.message, detail)
        return pa.ArrowKeyError(error.message) if isinstance(error, NotFound) else pa.ArrowInvalid(error.message)
    if isinstance(error, duckdb.NotImplementedException | duckdb.NotSupportedError):
        return pa.ArrowNotImplementedError(str(error))
    if isinstance(error, duckdb.InternalException | duckdb.FatalException):
        return flight.FlightInternalError(str(error).partition("\n")[0])  # its stack trace stays here
    return pa.ArrowInvalid(str(error))
