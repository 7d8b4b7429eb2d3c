"""The tables of a connection as DuckDB reads them: Parquet files itself, where they have the same columns for it, and
everything else as Arrow streams."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from jumpgate.client.sql import local, suspects
from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.frontend import quoted
from jumpgate.client.sql.query import Query, conformed
from jumpgate.client.sql.tokens import parts_of, unquoted
from jumpgate.converters import probe
from jumpgate.dataflow import located
from jumpgate.dataflow.operators import Read
from jumpgate.errors import JumpgateError, NotFound

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

#: that DuckDB reads of one table: it looks into each for every text
FILES_MAX = 64
#: in a path, what DuckDB takes for a pattern
_PATTERN = re.compile(r"[*?\[\]{}]")


class Scan:
    """A table as DuckDB reads it: its Parquet files, or each time a stream of the columns that the text may name.

    `reads_files`: DuckDB reads the files.
    """

    def __init__(self, connection: Connection, table: Table, columns: list[str]) -> None:
        self.name, self.table = table.name, table
        self.error: JumpgateError | None = None
        self.reads_files = False
        self._columns = columns
        self._connection = connection
        self._schema = pa.schema([as_read(table.schema.field(name)) for name in columns])
        self._reading: list[Query] = []

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        query = self._connection.scan(self.name, self._columns)
        self._reading.append(query)
        return pa.RecordBatchReader.from_batches(self._schema, self._batches(query)).__arrow_c_stream__()

    def _batches(self, query: Query) -> Iterator[pa.RecordBatch]:
        try:
            yield from conformed(query.batches(), self._schema)
        except JumpgateError as error:
            self.error = error
            raise

    @property
    def files(self) -> tuple[str, ...]:
        """Files that DuckDB may read."""
        read = self.table.read
        if not isinstance(read, Read) or self.table.is_converted or read.format != "parquet" or read.options:
            return ()
        if len(read.files) > FILES_MAX or any(located.hosts(list(read.files))):
            return ()
        return read.files if not any(_PATTERN.search(file) for file in read.files) else ()

    def add_to(self, database: duckdb.DuckDBPyConnection) -> None:
        """Makes the table one of the database."""
        self.reads_files = bool(self.files) and self._add_files(database)
        if not self.reads_files:
            database.register(self.name, self)

    def _add_files(self, database: duckdb.DuckDBPyConnection) -> bool:
        """A view of the files; False, and no view, if their columns are others for DuckDB."""
        files = ", ".join(map(_literal, self.files))
        options = f"hive_partitioning := false, union_by_name := {len(self.files) > 1}, can_have_nan := true"
        columns = ", ".join(map(quoted, self._columns))
        view = quoted(self.name)
        try:
            database.execute(f"CREATE VIEW {view} AS SELECT {columns} FROM read_parquet([{files}], {options})")
            database.register("jumpgate columns", self._schema.empty_table())
            same = database.sql('FROM "jumpgate columns"').types == database.sql(f"FROM {view}").types
            database.unregister("jumpgate columns")
        except duckdb.Error:
            return False  # whoever reads the stream says what is wrong
        if not same:
            database.execute(f"DROP VIEW {view}")
        return same

    def check_pages(self) -> None:
        """Compare the checksums of pages of the files that DuckDB reads, which does not. Raises MalformedData."""
        if self.reads_files:
            probe.check_pages(self.files, tuple(self._columns))

    def close(self) -> None:
        """Ends what still reads; may be called twice, and by several threads."""
        for query in tuple(self._reading):
            query.close()


def _literal(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


def as_read(field: pa.Field) -> pa.Field:
    """A column as DuckDB has it of a file: moments of whole seconds and milliseconds are TIMESTAMP as others are."""
    coarse = pa.types.is_timestamp(field.type) and field.type.unit in ("s", "ms")
    return field.with_type(pa.timestamp("us", field.type.tz)) if coarse else field


def find(connection: Connection, text: str) -> list[Scan]:
    """The tables that a text reads, with the columns that it may."""
    tree = suspects.parsed(text)
    named = {unquoted(part).lower() for part in parts_of(text)[0]}
    if tree is None:  # as of PIVOT
        names, every = {table.name for table in connection.tables if table.name.lower() in named}, True
    else:
        names = suspects.table_names(tree)
        every = _may_read_all(tree)
    found = []
    for name in sorted(names):
        with suppress(NotFound):  # a common table expression; else DuckDB says that there is none
            table = connection.tables[name]
            columns = [c for c in table.schema.names if every or c.lower() in named]
            found.append(Scan(connection, table, columns or table.schema.names[:1]))
    return found


def _may_read_all(tree: suspects.Tree) -> bool:
    """Return whether the text may read columns that it does not name: by *, by place, or as a whole row."""
    nodes = list(suspects.nodes(tree))
    relations = {name.lower() for name in suspects.table_names(tree)}
    relations |= {node["alias"].lower() for node in nodes if node.get("alias") and "class" not in node}
    return any(
        node.get("class") in ("STAR", "POSITIONAL_REFERENCE")
        or node.get("ref_type") == "NATURAL"
        or bool(node.get("column_name_alias"))
        or (node.get("class") == "COLUMN_REF" and node["column_names"][-1].lower() in relations)
        for node in nodes
    )


def opened(scans: list[Scan], connection: Connection) -> duckdb.DuckDBPyConnection:
    """A database in memory with these tables, which reaches nothing else."""
    settings = {
        "memory_limit": f"'{local.memory_max()}B'",
        "threads": str(len(os.sched_getaffinity(0))),
        "temp_directory": _literal(str(connection.spool_folder())),
        "TimeZone": "'UTC'",
        "python_enable_replacements": "false",
        "autoload_known_extensions": "false",
        "allowed_paths": f"[{', '.join(_literal(file) for scan in scans for file in scan.files)}]",
        "enable_external_access": "false",  # the last one: it closes the others
    }
    database = duckdb.connect()
    database.execute("; ".join(f"SET {name} = {value}" for name, value in settings.items()))
    for scan in scans:
        scan.add_to(database)
    return database
