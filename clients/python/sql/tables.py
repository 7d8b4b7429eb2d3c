"""The tables of a text as DuckDB reads them: Parquet files itself, where they have the same columns for it, Arrow data
as it is, and everything else as streams of what jobs read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.sql.catalog import Catalog, Table
from jumpgate.client.sql.conforming import conformed
from jumpgate.client.sql.errors import TooLarge
from jumpgate.client.sql.parsing import named
from jumpgate.client.sql.tokens import parts_of, quoted, unquoted
from jumpgate.converters import probe
from jumpgate.dataflow import located
from jumpgate.dataflow.file_state import file_states
from jumpgate.dataflow.operators import Read
from jumpgate.errors import BuildError, FileUnreadable, JumpgateError, NotFound, SchemaMismatch

if TYPE_CHECKING:
    from jumpgate.client.result import Result
    from jumpgate.client.session import Session
    from jumpgate.dataflow.builder import Dataflow

#: the column of a table of which no column is named
ROWS = "rows"
#: rows of a batch of that
BATCH_ROWS = 1 << 20
#: that DuckDB reads of one table: it looks into each for every text
FILES_MAX = 64
#: of one table that jobs read for a text: DuckDB's time to bind columns grows with their square
COLUMNS_MAX = 1 << 15
#: in a path, what DuckDB takes for a pattern
_PATTERN = re.compile(r"[*?\[\]{}]")
#: DuckDB's types by Arrow's; others are asked for, for which DuckDB loads pandas
DUCKDB_TYPES: dict[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INTEGER", pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT", pa.uint16(): "USMALLINT", pa.uint32(): "UINTEGER", pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "VARCHAR", pa.binary(): "BLOB", pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP", pa.timestamp("ns"): "TIMESTAMP_NS",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE", pa.uuid(): "UUID", pa.month_day_nano_interval(): "INTERVAL",
}  # fmt: skip


@dataclass
class Scan:
    """A table as DuckDB reads it, with the `columns` that the text may name; of none the rows are counted. session:
    where its jobs run. is_here: on this machine.

    `reads_files`: DuckDB reads its files; `jobs` are those that read them for it.
    """

    table: Table
    columns: list[str]
    session: Callable[[], Session]
    is_here: bool = False
    reads_files: bool = False
    error: JumpgateError | None = None
    jobs: list[Result] = field(default_factory=list)

    @property
    def schema(self) -> pa.Schema:
        """The columns with DuckDB's types."""
        if not self.columns:
            return pa.schema([(ROWS, pa.bool_())])
        return pa.schema([as_read(self.table.schema.field(name)) for name in self.columns])

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return pa.RecordBatchReader.from_batches(self.schema, self._batches()).__arrow_c_stream__()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        from jumpgate.client.sql import plain_csv

        plain = None if not self.is_here or plain_csv.is_ready() else self._plain()
        try:
            if plain is None:
                yield from self._by_job()
        except JumpgateError as error:
            plain = self._plain() if self.is_here and isinstance(error, BuildError) else None
            if plain is None:
                self.error = error
                raise
        if plain is not None:
            yield from self._data(plain).to_batches(BATCH_ROWS)

    def _by_job(self) -> Iterator[pa.RecordBatch]:
        result = self.session().run(self._dataflow(), DUCKDB)
        self.jobs.append(result)
        if self.columns:
            yield from conformed(result.batches(), self.schema)
        else:
            yield from self._data(pa.table({"": pa.nulls(result.to_arrow()[0][0].as_py())})).to_batches(BATCH_ROWS)

    def _plain(self) -> pa.Table | None:
        """The rows without a job, if its files are plain."""
        from jumpgate.client.sql import plain_csv

        read = self.table.read
        return None if read is None or self.table.closed else plain_csv.table(read, self.columns)

    def _dataflow(self) -> Dataflow:
        from jumpgate.dataflow.builder import Dataflow
        from jumpgate.dataflow.measures import count
        from jumpgate.dataflow.substrait.reader import select

        read = self.table.read
        assert read is not None
        if not self.columns:
            return Dataflow(read).aggregate(rows=count())
        places = [read.schema.positions[name][0] for name in self.columns]
        for name, place in zip(self.columns, places, strict=True):
            if (type := read.schema[place].type).is_opaque:
                message = f"table '{self.table.name}': column '{name}' is a {type.name}, which Jumpgate does not read"
                raise SchemaMismatch(message, table=self.table.name, column=name)
        return Dataflow(select(read, places))

    @property
    def files(self) -> tuple[str, ...]:
        """Files that DuckDB may read."""
        read = self.table.read
        if not isinstance(read, Read) or self.table.is_converted or read.format != "parquet" or read.options:
            return ()
        if len(read.files) > FILES_MAX or any(located.hosts(list(read.files))):
            return ()
        return read.files if not any(_PATTERN.search(file) for file in read.files) else ()

    @property
    def needs_job(self) -> bool:
        """Return whether only a job reads the table, also for DuckDB."""
        return self.table.data is None and not self.files

    def add_to(self, database: duckdb.DuckDBPyConnection) -> None:
        """Makes the table one of the database."""
        if self.table.data is not None:
            self._register(database, self._data(self.table.data))
            return
        self.reads_files = bool(self.files) and self._add_files(database)
        if not self.reads_files:
            self._register(database, self)

    def drop_from(self, database: duckdb.DuckDBPyConnection) -> None:
        """Drops what `add_to` made, as far as it is there; an aborted transaction takes it along."""
        with suppress(duckdb.Error):
            database.execute(f"DROP VIEW IF EXISTS temp.main.{quoted(self.table.name)}")
        with suppress(duckdb.Error):
            database.unregister(f"jumpgate {self.table.name}")

    def _register(self, database: duckdb.DuckDBPyConnection, data: object) -> None:
        """Makes Arrow data the table. DuckDB would have Arrow's filters select its rows, for which NaN is no number
        that is greater than others, and which lose nanoseconds: so columns are expressions, which are not theirs."""
        name, source = quoted(self.table.name), quoted(f"jumpgate {self.table.name}")
        columns = ", ".join(
            f"least({quoted(field.name)}) AS {quoted(field.name)}" if _is_filtered(field.type) else quoted(field.name)
            for field in self.schema
        )
        database.register(f"jumpgate {self.table.name}", data)
        database.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT {columns} FROM {source}")

    def _data(self, table: pa.Table) -> pa.Table:
        if not self.columns:
            return pa.table({ROWS: pa.repeat(True, table.num_rows)})
        found = table.select(self.columns)
        return found if found.schema.equals(self.schema) else found.cast(self.schema)

    def _add_files(self, database: duckdb.DuckDBPyConnection) -> bool:
        """A view of the files; False, and no view, if their columns are others for DuckDB."""
        files = ", ".join(map(_literal, self.files))
        options = f"hive_partitioning := false, union_by_name := {len(self.files) > 1}, can_have_nan := true"
        columns = ", ".join(map(quoted, self.columns)) or f"true AS {ROWS}"
        view = quoted(self.table.name)
        try:
            states = file_states(self.files)
            database.execute(
                f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {columns} FROM read_parquet([{files}], {options})"
            )
            if all(self.table.same.get(name) == states for name in self.columns):
                return True
            same = types_of(database, self.schema) == database.sql(f"FROM {view}").types
        except (duckdb.Error, FileUnreadable):
            return False  # whoever reads the stream says what is wrong
        if same:
            self.table.same.update(dict.fromkeys(self.columns, states))
        else:
            database.execute(f"DROP VIEW {view}")
        return same

    def check(self, database: duckdb.DuckDBPyConnection) -> None:
        """Check what DuckDB does not: that files that changed since they were registered still have the columns of the
        table, with their types, and checksums of pages. Raises SchemaMismatch, MalformedData, FileUnreadable."""
        if not self.reads_files:
            return
        assert isinstance(self.table.read, Read)
        if file_states(self.files) != self.table.states:
            now = probe.infer_schema(self.files, self.table.read.format, dict(self.table.read.options)).positions
            for name in self.columns:
                if name not in now:
                    message = f"table '{self.table.name}': its files have lost the column '{name}'; register it again"
                    raise SchemaMismatch(message, table=self.table.name, column=name)
            if (
                self.columns
                and types_of(database, self.schema) != database.sql(f"FROM {quoted(self.table.name)}").types
            ):
                message = f"table '{self.table.name}': its files have columns of other types now; register it again"
                raise SchemaMismatch(message, table=self.table.name)
        probe.check_pages(self.files, tuple(self.columns))

    def close(self) -> None:
        """Ends what still reads; may be called twice, and by several threads."""
        while self.jobs:
            self.jobs.pop().cancel()


def _is_filtered(type: pa.DataType) -> bool:
    """Return whether DuckDB may have Arrow compare values of that type."""
    return type.num_fields == 0 and not pa.types.is_null(type) or pa.types.is_struct(type)


def types_of(database: duckdb.DuckDBPyConnection, schema: pa.Schema) -> list[Any]:
    """Return DuckDB's types of Arrow's."""
    names = list(map(_plain_type, schema))
    if None in names:
        return _found_types(database, schema)
    return [duckdb.sqltype(name) for name in names if name is not None]


def _plain_type(field: pa.Field) -> str | None:
    """Return the name of a type that only depends on the field's; None if it is not known here."""
    if field.metadata is not None:
        return None
    if pa.types.is_decimal128(field.type) and 0 <= field.type.scale <= field.type.precision:
        return f"DECIMAL({field.type.precision},{field.type.scale})"
    return DUCKDB_TYPES.get(field.type)


def _found_types(database: duckdb.DuckDBPyConnection, schema: pa.Schema) -> list[Any]:
    database.register("jumpgate columns", pa.Table.from_batches([], schema))
    try:
        found: list[Any] = database.sql('FROM "jumpgate columns"').types
        return found
    finally:
        database.unregister("jumpgate columns")


def as_read(field: pa.Field) -> pa.Field:
    """A column as DuckDB has it of a file: moments of whole seconds and milliseconds are TIMESTAMP as others are."""
    coarse = pa.types.is_timestamp(field.type) and field.type.unit in ("s", "ms")
    return field.with_type(pa.timestamp("us", field.type.tz)) if coarse else field


def find(
    tables: Catalog, text: str, session: Callable[[], Session], is_here: bool, stored: Callable[[], frozenset[str]]
) -> list[Scan]:
    """The tables that a text reads, with the columns that it may; is_here: the session's jobs run on this machine.
    stored: what the database's views and functions name; those may stand in a text that reads more than these
    tables. Raises TooLarge."""
    of_text = named(text)
    registered = {table.name.lower(): table.name for table in tables}
    whole: set[str] = set()
    if of_text is None:  # as of PIVOT, and statements
        words = {unquoted(part).lower() for part in parts_of(text)[0]}
        names, columns, every = {name for lower, name in registered.items() if lower in words}, words, True
    else:
        names, columns, every = {*of_text.tables}, {*of_text.columns}, of_text.every
    if of_text is None or not of_text.reads_only({*registered}):
        said = frozenset(registered) if of_text is not None and of_text.catalog else stored()
        if of_text is not None and of_text.files:  # functions take tables' names, also as text
            said |= {unquoted(part).strip("'").lower() for part in parts_of(text)[0]}
        whole = {name for lower, name in registered.items() if lower in said}
    found: dict[str, Scan] = {}
    for name in sorted(names | whole):
        with suppress(NotFound):  # a common table expression; else DuckDB says that there is none
            table = tables[name]
            read = [c for c in table.schema.names if every or table.name in whole or c.lower() in columns]
            scan = found[table.name] = Scan(table, read, session, is_here)
            if scan.needs_job and len(read) > COLUMNS_MAX:
                raise TooLarge(
                    f"table '{name}': the text reads {len(read)} of its columns, and may read {COLUMNS_MAX}: name those"
                    " that it needs",
                    table=name,
                )
    return list(found.values())


def _literal(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))
