"""Sessions of clients: each has a database, options, open statements, results to be fetched, and transactions."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from jumpgate.client.duckdb.connection import MODES
from jumpgate.dataflow.objective import COST, TIME
from jumpgate.errors import Cancelled, CapacityExceeded, FileChanged, JumpgateError, NotFound, Unreachable
from jumpgate.flight.database import BATCH_ROWS, CATALOG, Cursor, Database
from jumpgate.flight.limits import (
    ENDPOINTS_MAX,
    IDLE_S_MAX,
    PREPARED_MAX,
    RESULTS_MAX,
    SESSIONS_MAX,
    TEXT_BYTES_MAX,
    TRANSACTIONS_MAX,
    UNREAD_S_MAX,
)
from jumpgate.flight.parameters import parameters
from jumpgate.flight.parts import Parts
from jumpgate.flight.running import Running
from jumpgate.flight.statements import Statement, checked
from jumpgate.flight.tables import Files
from jumpgate.machine import memory_bound

T = TypeVar("T")
Rows = Sequence[Sequence[Any] | None]

_ID_BYTES, _HANDLE_BYTES = 16, 24
CANCELLED = "the client has cancelled the statement"


@dataclass
class Prepared:
    """A statement that waits for parameters, with their types as far as they are known. rows: those sent last."""

    statement: Statement
    transaction: bytes
    parameters: pa.Schema
    rows: Rows = (None,)


@dataclass
class Answered:
    """A statement that was run. Its result is `table`, or is computed as it is read: in `parts`, or the first time from
    `stream`, and then by running it again."""

    statement: Statement
    row: Sequence[Any] | None
    schema: pa.Schema
    running: Running
    reason: str  # why DuckDB answers; empty if accelerators do
    table: pa.Table | None = None
    stream: pa.RecordBatchReader | None = None
    cursor: Cursor | None = None
    parts: Parts | None = None
    is_cancelled: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def cancel(self) -> None:
        """Stop it where it runs, and give it to nobody any more."""
        self.is_cancelled = True
        self.running.end(Cancelled(CANCELLED))
        self.close()

    def take(self) -> tuple[pa.RecordBatchReader | None, Cursor | None]:
        """Return what nobody has fetched: it is the caller's now."""
        with self.lock:
            taken = self.stream, self.cursor
            self.stream = self.cursor = None
        return taken

    def leave(self) -> None:
        """Drop what nobody has fetched."""
        cursor = self.take()[1]
        if cursor is not None:
            cursor.close()

    def close(self) -> None:
        """Drop what nobody has fetched, and what is kept of the rest."""
        self.leave()
        if self.parts is not None:
            self.parts.drop()


@dataclass
class Transaction:
    """Statements that take effect together. DuckDB's begins with the first that changes something: `cursor`."""

    cursor: Cursor | None = None


class Session:
    """One client's state. Thread-safe, but for statements of one transaction, which take turns."""

    def __init__(self, client: str, make: Callable[[Files], Database], files: Callable[[], Files]) -> None:
        self.id = secrets.token_bytes(_ID_BYTES)
        self.client = client
        self.offload, self.objective, self.timeout_ms = "auto", TIME, 0
        self.used = time.monotonic()
        self._make, self._files = make, files
        self._database = make(files())
        self._has_own = False
        self._prepared: OrderedDict[bytes, Prepared] = OrderedDict()
        self._answered: OrderedDict[bytes, Answered] = OrderedDict()
        self._transactions: OrderedDict[bytes, Transaction] = OrderedDict()
        self._running: set[Running] = set()
        self._lock = threading.RLock()

    @property
    def is_busy(self) -> bool:
        """Return whether a statement runs; one that was ended may still wait for its client to read what was sent."""
        return any(running.reason is None for running in tuple(self._running))

    def database(self) -> Database:
        """Return the database, over the tables' files of now. Raises FileChanged where it holds what a new one would
        lack."""
        with self._lock:
            files = self._files()
            if files != self._database.files:
                if self._has_own:
                    changed = min(t.name for t, found in files.items() if found != self._database.files[t])
                    raise FileChanged(
                        f"table {changed} has other files than when this session began, and the session has tables of "
                        "its own, or a transaction: connect again"
                    )
                self._database = self._make(files)
            return self._database

    def checked(self, text: str) -> Statement:
        """Return the statement in the text, if it is served. Raises InvalidDataflow and Forbidden."""
        cursor = self.database().cursor()
        try:
            return checked(cursor.duckdb, text, TEXT_BYTES_MAX)
        finally:
            cursor.close()

    def columns(self, statement: Statement, transaction: bytes = b"") -> pa.Schema:
        """Return the columns of the statement's result; none if it changes something."""
        if not statement.is_query:
            return pa.schema([])
        with self._looking(transaction) as cursor:
            return cursor.columns(statement)

    def parameters(self, statement: Statement, transaction: bytes = b"") -> pa.Schema:
        """Return the statement's parameters, with types as far as they are known."""
        with self._looking(transaction) as cursor:
            return parameters(cursor, statement)

    @contextmanager
    def _looking(self, transaction: bytes) -> Iterator[Cursor]:
        """Yield a cursor that sees what the transaction has changed; nothing is run on it."""
        inside = self.transaction(transaction).cursor if transaction else None
        if inside is not None:
            with inside.lock:
                yield inside
            return
        cursor = self.database().cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    def answer(self, statement: Statement, rows: Rows, transaction: bytes, is_gone: Callable[[], bool]) -> Answered:
        """Run the statement for a client who is there as long as `is_gone` is false."""
        if not statement.is_query:
            return self._changed(statement, rows, transaction, is_gone)
        inside = self.transaction(transaction).cursor if transaction else None
        if inside is not None:
            with inside.lock, self._runs(inside, is_gone) as running:
                table = inside.table(statement, rows)
                return Answered(statement, None, table.schema, running, inside.connection.last_reason, table)
        cursor = self.database().cursor(self.offload, self.objective)
        try:
            with self._runs(cursor, is_gone) as running:
                if len(rows) == 1:
                    stream = cursor.stream(statement, rows[0])
                    reason, count = cursor.connection.last_reason, min(cursor.connection.producers, ENDPOINTS_MAX)
                    parts = Parts(count) if count > 1 else None
                    return Answered(statement, rows[0], stream.schema, running, reason, None, stream, cursor, parts)
                table = cursor.table(statement, rows)
        except BaseException:
            cursor.close()
            raise
        cursor.close()
        return Answered(statement, None, table.schema, running, cursor.connection.last_reason, table)

    def _changed(self, statement: Statement, rows: Rows, transaction: bytes, is_gone: Callable[[], bool]) -> Answered:
        runs: list[Running] = []

        def run(cursor: Cursor) -> pa.Table:
            return cursor.table(statement, rows)

        table = self.change(run, transaction, is_gone, runs)
        return Answered(statement, None, table.schema, runs[0], "it is not one SELECT", table)

    def change(
        self,
        run: Callable[[Cursor], T],
        transaction: bytes,
        is_gone: Callable[[], bool],
        runs: list[Running] | None = None,
    ) -> T:
        """Run what changes tables, in the transaction or on its own."""
        self._has_own = True
        cursor = self._begun(self.transaction(transaction)) if transaction else self.database().cursor()
        try:
            with cursor.lock, self._runs(cursor, is_gone) as running:
                if runs is not None:
                    runs.append(running)
                return run(cursor)
        finally:
            if not transaction:
                cursor.close()

    def fetch(self, answered: Answered, part: int, is_gone: Callable[[], bool]) -> Iterator[pa.RecordBatch]:
        """Yield the result, or a part of it: from the stream that waits, or that of another run."""
        if answered.is_cancelled:
            raise Cancelled(CANCELLED)
        if answered.table is not None:
            yield from answered.table.to_batches(max_chunksize=BATCH_ROWS)
        elif answered.parts is None:
            yield from self._rows(answered, is_gone)
        else:
            if answered.parts.begin():
                threading.Thread(target=self._fill, args=(answered, answered.parts), daemon=True).start()
            yield from answered.parts.read(part, is_gone)

    def _fill(self, answered: Answered, parts: Parts) -> None:
        """Read the result for all calls that fetch a part of it."""
        error: Exception | None = None
        try:
            with closing(self._rows(answered, parts.is_left)) as rows:
                parts.fill(rows, lambda: answered.running.check())
        except Exception as found:
            error = found
        parts.end(error)
        _later(parts.drop)

    def _rows(self, answered: Answered, is_gone: Callable[[], bool]) -> Generator[pa.RecordBatch]:
        """Yield the rows of the stream that waits, or of another run."""
        stream, cursor = answered.take()
        cursor = cursor or self.database().cursor(self.offload, self.objective)
        try:
            with self._runs(cursor, is_gone) as running:
                answered.running = running
                found = stream or cursor.stream(answered.statement, answered.row)
                if found.schema != answered.schema:
                    raise FileChanged("the tables have other columns now: run the statement again")
                yield from found
        finally:
            cursor.close()

    @contextmanager
    def _runs(self, cursor: Cursor, is_gone: Callable[[], bool]) -> Iterator[Running]:
        """Run what is inside, as long as the client is there and the session is open."""
        running = Running(cursor.interrupt, self.timeout_ms)
        self.used = time.monotonic()
        self._running.add(running)
        try:
            with memory_bound.held(), running.watched(is_gone):
                yield running
        finally:
            self._running.discard(running)
            self.used = time.monotonic()

    def keep(self, answered: Answered) -> list[bytes]:
        """Return a handle for each part of the result, by which it is fetched."""
        with self._lock:
            handle = self._handle()
            self._answered[handle] = answered
            oldest = self._answered.popitem(last=False)[1] if len(self._answered) > RESULTS_MAX else None
        if oldest is not None:
            oldest.close()
        if answered.cursor is not None and answered.cursor.connection.producers:
            _later(answered.leave)
        if answered.parts is None:
            return [handle]
        return [handle + bytes([part]) for part in range(answered.parts.count)]

    def kept(self, handle: bytes) -> tuple[Answered, int]:
        """Return the result with that handle, and which part of it. Raises NotFound."""
        way_out = f"a session keeps the last {RESULTS_MAX} results; run the statement again"
        whole, part = handle[:_HANDLE_BYTES], int.from_bytes(handle[_HANDLE_BYTES:])
        answered = self._get(self._answered, whole, "result", way_out)
        if part >= (1 if answered.parts is None else answered.parts.count):
            raise NotFound(f"the result has no part {part + 1}: {way_out}")
        return answered, part

    def prepare(self, prepared: Prepared) -> bytes:
        """Return a handle for the statement. Raises CapacityExceeded."""
        return self._add(self._prepared, prepared, PREPARED_MAX, "prepared statements", "close some")

    def prepared(self, handle: bytes) -> Prepared:
        """Return the statement with that handle. Raises NotFound."""
        return self._get(self._prepared, handle, "prepared statement", "prepare it again")

    def unprepare(self, handle: bytes) -> None:
        """Forget the statement; nothing happens if it is not there."""
        with self._lock:
            self._prepared.pop(handle, None)

    def begin(self) -> bytes:
        """Return a handle for a transaction that begins. Raises CapacityExceeded."""
        way_out = "commit or roll back some"
        return self._add(self._transactions, Transaction(), TRANSACTIONS_MAX, "transactions", way_out)

    def transaction(self, handle: bytes) -> Transaction:
        """Return the transaction with that handle. Raises NotFound."""
        return self._get(self._transactions, handle, "transaction", "it has ended; begin another one")

    def _begun(self, transaction: Transaction) -> Cursor:
        with self._lock:
            if transaction.cursor is None:
                transaction.cursor = self.database().cursor("never")
                transaction.cursor.begin()
            return transaction.cursor

    def finish(self, handle: bytes, *, commit: bool) -> None:
        """End a transaction. Raises NotFound, and DuckDB's error where it cannot be committed."""
        transaction = self.transaction(handle)
        with self._lock:
            self._transactions.pop(handle, None)
        cursor = transaction.cursor
        if cursor is not None:
            with cursor.lock:
                try:
                    cursor.finish(commit=commit)
                finally:
                    cursor.close()

    def options(self) -> dict[str, str | int]:
        """Return the session's options."""
        return {
            "offload": self.offload, "objective": self.objective, "timeout_ms": self.timeout_ms, "catalog": CATALOG,
            "schema": "main",
        }  # fmt: skip

    def set_option(self, name: str, value: object) -> bool:
        """Set an option of `options`; return whether it can have that value."""
        if name == "offload" and value in MODES:
            self.offload = str(value)
        elif name == "objective" and value in (TIME, COST):
            self.objective = str(value)
        elif name == "timeout_ms" and str(value).isdigit():
            self.timeout_ms = int(str(value))
        else:
            return self.options()[name] == value
        return True

    def close(self, reason: JumpgateError) -> None:
        """End what runs, and drop everything."""
        for running in tuple(self._running):
            running.end(reason)
        with self._lock:
            left, self._answered = list(self._answered.values()), OrderedDict()
            open_ = [t.cursor for t in self._transactions.values() if t.cursor is not None]
            self._transactions.clear()
        for answered in left:
            answered.running.end(reason)
            answered.close()
        for cursor in open_:
            cursor.close()
        self._database.close()

    def _handle(self) -> bytes:
        return self.id + secrets.token_bytes(_HANDLE_BYTES - _ID_BYTES)

    def _add(self, place: OrderedDict[bytes, T], value: T, most: int, what: str, way_out: str) -> bytes:
        with self._lock:
            if len(place) >= most:
                raise CapacityExceeded(f"this session has {most} {what} open, which is the most: {way_out}")
            handle = self._handle()
            place[handle] = value
            return handle

    def _get(self, place: OrderedDict[bytes, T], handle: bytes, what: str, way_out: str) -> T:
        with self._lock:
            self.used = time.monotonic()
            if handle not in place:
                raise NotFound(f"there is no such {what}: {way_out}")
            return place[handle]


def _later(drop: Callable[[], None]) -> None:
    """Call it once a result was not fetched for too long."""
    timer = threading.Timer(UNREAD_S_MAX, drop)
    timer.daemon = True
    timer.start()


class Sessions:
    """All sessions of a door, by their ids and by connections. make: makes one for a client."""

    def __init__(self) -> None:
        self._by_id: OrderedDict[bytes, Session] = OrderedDict()
        self._by_connection: dict[tuple[str, str], bytes] = {}
        self._lock = threading.Lock()

    def of_handle(self, handle: bytes, client: str) -> Session:
        """Return the session that has given out the handle, to the same client. Raises NotFound."""
        with self._lock:
            found = self._by_id.get(handle[:_ID_BYTES])
        if found is None or found.client != client:
            raise NotFound("there is no such session: it has ended, or was idle for an hour. Connect again")
        return found

    def of_connection(
        self, client: str, cookie: bytes, connection: tuple[str, str], make: Callable[[], Session]
    ) -> Session:
        """Return the session of the cookie, else of the connection, else a new one."""
        with self._lock:
            for id in (cookie, self._by_connection.get(connection, b"")):
                found = self._by_id.get(id)
                if found is not None and found.client == client:
                    found.used = time.monotonic()
                    self._by_id.move_to_end(found.id)
                    return found
            ended = self._idle(client)
        for session in ended:
            self.end(session)
        session = make()
        with self._lock:
            self._by_id[session.id] = session
            self._by_connection[connection] = session.id
        return session

    def end(self, session: Session) -> None:
        """Close a session; its client's next call begins another one."""
        with self._lock:
            self._by_id.pop(session.id, None)
            self._by_connection = {c: id for c, id in self._by_connection.items() if id != session.id}
        session.close(Unreachable("the session has ended: connect again"))

    def close(self) -> None:
        """End all sessions."""
        for session in list(self._by_id.values()):
            with suppress(JumpgateError):
                self.end(session)

    def _idle(self, client: str) -> list[Session]:
        """Return the sessions that make room for one of the client's. Raises CapacityExceeded."""
        now = time.monotonic()
        old = [s for s in self._by_id.values() if now - s.used > IDLE_S_MAX and not s.is_busy]
        own = [s for s in self._by_id.values() if s.client == client and s not in old]
        if len(own) < SESSIONS_MAX:
            return old
        free = [s for s in own if not s.is_busy]
        if not free:
            raise CapacityExceeded(
                f"{SESSIONS_MAX} sessions of this client run statements, which is the most: close some"
            )
        return [*old, min(free, key=lambda session: session.used)]
