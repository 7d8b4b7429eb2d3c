"""DB-API 2.0 (PEP 249) over SQL connections, for tools that know databases but not Jumpgate.

    connection = jumpgate.client.dbapi.connect(tables={"item": "data/item.parquet"})
    cursor = connection.cursor()
    cursor.execute("SELECT count(*) FROM item WHERE i_category = ?", ("Music",))

Parameters are question marks. They travel as typed values beside the text, never in it. Each statement commits itself,
unless the text BEGIN was executed; then `commit` and `rollback` end the transaction.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from jumpgate import errors
from jumpgate.client import sql
from jumpgate.client.sql.connection import Connection as SqlConnection
from jumpgate.client.sql.markers import numbered
from jumpgate.client.sql.query import Query

apilevel = "2.0"
threadsafety = 2  # threads may share the module and connections
paramstyle = "qmark"


class Warning(Exception):  # noqa: A001  the name that PEP 249 gives it
    """Never raised."""


class Error(Exception):
    """Root of what this module raises; `__cause__` is Jumpgate's typed error where there is one."""


class InterfaceError(Error):
    """The module is used wrongly: closed objects, wrong arguments."""


class DatabaseError(Error):
    """An error beyond the module: in the service, an accelerator, or DuckDB."""


class DataError(DatabaseError):
    """A value cannot be computed, or a file does not hold what it should."""


class OperationalError(DatabaseError):
    """The service, a host or a device failed; trying again may help."""


class IntegrityError(DatabaseError):
    """Never raised: what breaks a constraint is a DataError."""


class InternalError(DatabaseError):
    """A mistake of Jumpgate's."""


class ProgrammingError(DatabaseError):
    """The text is not a query over the registered tables."""


class NotSupportedError(DatabaseError):
    """Databases can, Jumpgate cannot."""


#: the most specific first
_CLASSES: tuple[tuple[type[errors.JumpgateError], type[DatabaseError]], ...] = (
    (errors.InvalidDataflow, ProgrammingError),
    (errors.NotFound, ProgrammingError),
    (errors.ConfigError, ProgrammingError),
    (errors.DataError, DataError),
    (errors.ComputeError, DataError),
    (errors.CannotPlace, NotSupportedError),
    (errors.InternalError, InternalError),
    (errors.JumpgateError, OperationalError),
)


class _Kind:
    """A type object of PEP 249: equal to each type code that it stands for."""

    def __init__(self, name: str, matches: Callable[[pa.DataType], bool]) -> None:
        self.name = name
        self._matches = matches

    def __eq__(self, other: object) -> bool:
        return other is self or (isinstance(other, pa.DataType) and self._matches(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return self.name


def _is_number(type: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(type) or types.is_floating(type) or types.is_decimal(type) or types.is_boolean(type))


STRING = _Kind("STRING", lambda t: bool(pa.types.is_string(t) or pa.types.is_large_string(t)))
BINARY = _Kind("BINARY", lambda t: bool(pa.types.is_binary(t) or pa.types.is_large_binary(t)))
NUMBER = _Kind("NUMBER", _is_number)
DATETIME = _Kind("DATETIME", lambda t: bool(pa.types.is_date(t) or pa.types.is_timestamp(t)))
ROWID = _Kind("ROWID", lambda t: False)

Date, Time, Timestamp, Binary = datetime.date, datetime.time, datetime.datetime, bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802
    """The local date of so many seconds since 1970."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802
    """The local time of day of so many seconds since 1970."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802
    """The local date and time of so many seconds since 1970."""
    return Timestamp(*time.localtime(ticks)[:6])


Row = tuple[Any, ...]


def connect(address: str | None = None, *, tables: Mapping[str, Any] | None = None, **options: Any) -> Connection:
    """A connection to a service, or to one inside this process.

    tables: name → path or Arrow data; more with `connection.sql.register`. options: those of jumpgate.connect.
    """
    with _translated():
        connection = sql.connect(address, **options)
        try:
            for name, source in (tables or {}).items():
                connection.register(name, source)
        except BaseException:
            connection.close()
            raise
        return Connection(connection)


class Connection:
    """PEP 249's connection; `sql` is Jumpgate's own beneath it. As a context manager it closes itself."""

    Warning, Error, InterfaceError, DatabaseError, DataError = Warning, Error, InterfaceError, DatabaseError, DataError
    OperationalError, IntegrityError, InternalError = OperationalError, IntegrityError, InternalError
    ProgrammingError, NotSupportedError = ProgrammingError, NotSupportedError

    def __init__(self, connection: SqlConnection) -> None:
        self.sql = connection
        self._closed = False

    def cursor(self) -> Cursor:
        """A new cursor. Raises InterfaceError once the connection is closed."""
        self._check()
        return Cursor(self)

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Cursor:
        """A new cursor that has executed `operation`."""
        return self.cursor().execute(operation, parameters)

    def commit(self) -> None:
        """Commits the transaction that was begun; without one there is nothing to do."""
        self._end("COMMIT")

    def rollback(self) -> None:
        """Takes back the transaction that was begun. Raises NotSupportedError without one."""
        if not self.sql.in_transaction:
            self._check()
            raise NotSupportedError("no transaction was begun: each statement has committed itself")
        self._end("ROLLBACK")

    def _end(self, text: str) -> None:
        self._check()
        if self.sql.in_transaction:
            with _translated():
                self.sql.sql(text)

    def close(self) -> None:
        """Cancels what still runs; further use is an InterfaceError."""
        if not self._closed:
            self._closed = True
            self.sql.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self) -> None:
        if self._closed:
            raise InterfaceError("the connection is closed")


class Cursor:
    """PEP 249's cursor: rows are tuples of Python values, read from the result as it arrives. A context manager."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._query: Query | None = None
        self._rows: Iterator[Row] | None = None
        self._complete = False
        self._fetched = 0
        self._closed = False

    @property
    def description(self) -> list[tuple[str, pa.DataType, None, None, int | None, int | None, bool]] | None:
        """Describe each column: name, Arrow type (compare it with STRING, NUMBER, …), precision and scale of
        decimals."""
        if self._query is None:
            return None
        return [
            (f.name, f.type, None, None, getattr(f.type, "precision", None), getattr(f.type, "scale", None), f.nullable)
            for f in self._query.schema
        ]

    @property
    def rowcount(self) -> int:
        """Rows of the result once all are fetched; -1 before, since they stream."""
        return self._fetched if self._complete else -1

    @property
    def rownumber(self) -> int | None:
        """How many rows were fetched."""
        return None if self._rows is None else self._fetched

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Cursor:
        """Plans the query, and starts it with the first fetch. Raises ProgrammingError."""
        self._check()
        self._release()
        with _translated():
            text, markers = numbered(operation)
            if isinstance(parameters, str | bytes | Mapping) or not isinstance(parameters, Sequence):
                raise InterfaceError("parameters are a sequence, one value for each question mark")
            if markers != len(parameters):
                raise ProgrammingError(f"the query has {markers} question marks, but {len(parameters)} parameters came")
            self._query = self.connection.sql.sql(text, parameters)
            self._rows = self._query.rows()
        return self

    def executemany(self, operation: str, parameters: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once for each sequence of parameters; its results are dropped."""
        for values in parameters:
            self.execute(operation, values)
        self._release()

    def fetchone(self) -> Row | None:
        """The next row, or None after the last. Raises the job's error, of the module's classes."""
        with _translated():
            row = next(self._open_rows(), None)
        if row is None:
            self._complete = True
        else:
            self._fetched += 1
        return row

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Up to `size` rows (arraysize)."""
        found: list[Row] = []
        for _ in range(self.arraysize if size is None else size):
            row = self.fetchone()
            if row is None:
                break
            found.append(row)
        return found

    def fetchall(self) -> list[Row]:
        """All rows that are left. Raises the job's error, of the module's classes."""
        return list(self)

    def fetch_arrow_table(self) -> pa.Table:
        """The whole result as Arrow: for tools that take it, without the detour over Python values."""
        self._open_rows()
        assert self._query is not None
        if self._fetched:
            raise InterfaceError("rows were fetched already; execute again to have the result as Arrow")
        with _translated():
            table = self._query.to_arrow()
        self._rows, self._complete, self._fetched = iter(()), True, table.num_rows
        return table

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing (PEP 249 allows it)."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing (PEP 249 allows it)."""

    def close(self) -> None:
        """Cancels what still runs; further use is an InterfaceError."""
        self._release()
        self._closed = True

    def __iter__(self) -> Iterator[Row]:
        while (row := self.fetchone()) is not None:
            yield row

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open_rows(self) -> Iterator[Row]:
        self._check()
        if self._rows is None:
            raise InterfaceError("nothing was executed yet")
        return self._rows

    def _release(self) -> None:
        if self._query is not None:
            self._query.close()
        self._query, self._rows, self._complete, self._fetched = None, None, False, 0

    def _check(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection._check()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except errors.JumpgateError as error:
        raise next(cls for kind, cls in _CLASSES if isinstance(error, kind))(str(error)) from error
