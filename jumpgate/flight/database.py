"""A session's database: DuckDB in memory, with the client's tables as views, whose connections use accelerators."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb.connection import Connection, Shared
from jumpgate.client.duckdb.sources import quoted
from jumpgate.dataflow.objective import TIME
from jumpgate.errors import Forbidden
from jumpgate.flight.lakes import error_select, literal
from jumpgate.flight.running import OwnService
from jumpgate.flight.statements import Statement
from jumpgate.flight.tables import Files, view_of
from jumpgate.machine import memory_bytes

#: rows of a batch, and its bytes where one row has fewer: clients take messages of 16 MiB at least
BATCH_ROWS = 1 << 16
BATCH_BYTES = 4 << 20
CATALOG = "memory"  # DuckDB's name for it
_TEMPORARY = (
    "SELECT 1 FROM duckdb_tables() WHERE temporary AND NOT internal "
    "UNION ALL SELECT 1 FROM duckdb_views() WHERE temporary AND NOT internal"
)
#: nothing is fetched, and no variable of this program is a table
_CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}


class Database:
    """The tables over `files`, and what the session makes. `reads_paths`: its texts may name files, too."""

    def __init__(self, files: Files, service: OwnService, memory_bytes: int, *, reads_paths: bool) -> None:
        self.files = files
        self._own = duckdb.connect(":memory:", config={**_CONFIG, "memory_limit": f"{memory_bytes}B"})
        self._own.execute("SET GLOBAL TimeZone = 'UTC'")  # not that of whoever started the service
        for schema in sorted({table.schema for table in files}):
            self._own.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        for table, source in files.items():
            try:
                self._own.execute(view_of(table, source))
            except duckdb.Error as error:
                name = f"{quoted(table.schema)}.{quoted(table.name)}"
                message = f"table {table.name} cannot be read: {error}"
                self._own.execute(f"CREATE VIEW {name} AS {error_select(message)}")
        if not reads_paths:
            allowed = ", ".join(literal(file) for source in files.values() for file in source.files)
            self._own.execute(f"SET allowed_paths = [{allowed}]")
            self._own.execute("SET enable_external_access = false")
        self._service = service
        self._shared: dict[str, Shared] = {}  # by objective

    def cursor(self, offload: str = "never", objective: str = TIME) -> Cursor:
        """Return another connection to the database; offload: as the mode of jumpgate.accelerate; objective: TIME or
        COST."""
        if objective not in self._shared:
            options = {"service": self._service, "progress": False, "objective": objective}
            self._shared[objective] = Shared(self._service.address, options)
        return Cursor(Connection(self._own.cursor(), offload, self._shared[objective], is_cursor=True, streams=True))

    def close(self) -> None:
        """End what runs; cursors that are open stay usable."""
        for shared in self._shared.values():
            shared.close()
        self._own.close()


class Cursor:
    """A connection to a session's database, for one statement or one transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.duckdb = connection.duckdb
        self.lock = threading.RLock()
        self.in_transaction = False

    def stream(self, statement: Statement, row: Sequence[Any] | None) -> pa.RecordBatchReader:
        """Run the statement, with a row of parameters; a query's result is computed as it is read."""
        self.connection.execute(statement.text, *(() if row is None else (_bound(statement, row),)))
        reader: pa.RecordBatchReader = self.connection.to_arrow_reader(BATCH_ROWS)
        return reader

    def table(self, statement: Statement, rows: Sequence[Sequence[Any] | None]) -> pa.Table:
        """Run the statement with each row of parameters, all or none; return all of its results."""
        alone = not (statement.is_query or self.in_transaction or len(rows) == 1)
        if alone:
            self.begin()
        try:
            found = [self.stream(statement, row).read_all() for row in rows]
            if not statement.is_query and self.rows(_TEMPORARY):
                raise Forbidden("a session's tables and views are gone with it anyway: leave out TEMPORARY")
        except BaseException:
            if alone:
                self.finish(commit=False)
            raise
        if alone:
            self.finish(commit=True)
        if statement.is_query:
            return pa.concat_tables(found, promote_options="permissive")
        return found[0] if len(found) == 1 else pa.table({"Count": [sum(map(count_of, found))]})

    def begin(self) -> None:
        """Begin a transaction."""
        self.duckdb.begin()
        self.in_transaction = True

    def finish(self, *, commit: bool) -> None:
        """End the transaction."""
        self.in_transaction = False
        self.duckdb.commit() if commit else self.duckdb.rollback()

    def columns(self, statement: Statement) -> pa.Schema:
        """Return the columns of a query, which is not run; with parameters their types are those of nulls."""
        if statement.parameters:
            return self.stream(statement, [None] * len(statement.parameters)).schema
        found: pa.Schema = self.duckdb.sql(statement.text).limit(0).to_arrow_table().schema
        return found

    def ingest(self, text: str, batches: pa.RecordBatchReader) -> int:
        """Run a statement that reads `ingested`; return the number of its rows."""
        self.duckdb.register("ingested", batches)
        try:
            return count_of(self.duckdb.execute(text).to_arrow_table())
        finally:
            self.duckdb.unregister("ingested")

    def rows(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the answer to a query of Jumpgate's own."""
        found: list[tuple[Any, ...]] = self.duckdb.execute(text, parameters).fetchall()
        return found

    def schema_of(self, relation: str) -> pa.Schema:
        """Return the columns of a table or view; none where it cannot be read."""
        try:
            found: pa.Schema = self.duckdb.execute(f"SELECT * FROM {relation} LIMIT 0").to_arrow_table().schema
            return found
        except duckdb.Error:
            return pa.schema([])

    def interrupt(self) -> None:
        self.connection.interrupt()

    def close(self) -> None:
        """Drop the connection, its transaction, and the job of a result that is not read; may be called twice."""
        self.connection.close()


def is_count(schema: pa.Schema) -> bool:
    """Return whether it is what DuckDB answers to statements that change something."""
    return bool(schema.names == ["Count"] and schema.types == [pa.int64()])


def count_of(table: pa.Table) -> int:
    """Return the number of rows that a statement has changed, or returned."""
    return sum(table.column(0).to_pylist()) if is_count(table.schema) else int(table.num_rows)


def sliced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Cut batches so that each fits into a message."""
    for batch in batches:
        if batch.get_total_buffer_size() <= BATCH_BYTES or batch.nbytes <= BATCH_BYTES:  # the first is quick, at least
            yield batch
            continue
        rows = max(1, -(-batch.num_rows // -(-batch.nbytes // BATCH_BYTES)))
        for begin in range(0, batch.num_rows, rows):
            yield batch.slice(begin, rows)


def _bound(statement: Statement, row: Sequence[Any]) -> Any:
    """Return a row of parameters as DuckDB takes it."""
    if all(name.isdigit() for name in statement.parameters):
        return list(row)
    return dict(zip(statement.parameters, row, strict=True))


def session_memory(configured: int) -> int:
    """Return the bytes that a session's database may have: what is configured, else a quarter of the machine's."""
    return configured or memory_bytes() // 4
