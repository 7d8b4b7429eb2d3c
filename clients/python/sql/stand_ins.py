"""DuckDB's plans of texts over a connection's tables, whatever these are: it plans over stand-ins, empty Parquet files
with the tables' columns and numbers of rows. So a plan does not depend on what the files hold at that moment."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb import installed, planning
from jumpgate.client.duckdb.cut import cut
from jumpgate.client.duckdb.parameters import Values, with_values
from jumpgate.client.duckdb.planning import Offloaded
from jumpgate.client.duckdb.reasons import Parts, Stays
from jumpgate.client.duckdb.scans import ParquetScan, Scan
from jumpgate.client.duckdb.sources import Files, quoted
from jumpgate.client.spool import Spool
from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.data_files import stored
from jumpgate.client.sql.tables import types_of
from jumpgate.codegen import cache
from jumpgate.converters import probe
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.substrait.reader import select
from jumpgate.machine import memory_bound

#: of a table, into which a plan is worth a look
FILES_MAX = 256
#: of the planning database
SETTINGS = {
    "threads": "1",
    "TimeZone": "'UTC'",
    "python_enable_replacements": "false",
    "autoload_known_extensions": "false",
    "enable_external_file_cache": "false",  # stand-ins that follow each other have the same path
    "allowed_directories": f"['/proc/{os.getpid()}/fd/']",
    "enable_external_access": "false",  # the last one: it closes the others
}


@dataclass
class _Stood(Files):
    """The files of one plan, of which `reads`, by path, stand for tables."""

    reads: Mapping[str, Operator] = field(default_factory=dict)

    def scan(self, scan: Scan, wanted: set[int]) -> Operator:
        read = self.reads.get(scan.files[0]) if isinstance(scan, ParquetScan) and len(set(scan.files)) == 1 else None
        if read is None:
            raise Stays("it reads what is no table of the connection")
        self.files.update(file for node in _reads(read) for file in node.files)
        places = read.schema.positions
        return select(read, [places[name][0] for name in scan.names])


@dataclass(frozen=True)
class _StandIn:
    """The file that stands for these columns of a table."""

    table: Table
    columns: Sequence[str]
    rows: float
    spool: Spool


class StandIns:
    """The planning database of one connection. Thread-safe."""

    def __init__(self, read: Callable[[Table], Operator | None], constants: bool) -> None:
        """read: how accelerators read a table; None if they cannot. constants: a plan may read no table."""
        self._read, self._constants = read, constants
        self._database: duckdb.DuckDBPyConnection | None = None
        self._known: dict[str, _StandIn] = {}  # by the name in small letters
        self._lock = threading.Lock()

    def offload(self, text: str, values: Values, tables: Sequence[tuple[Table, pa.Schema]]) -> Offloaded:
        """The dataflow that a text over these tables is, whole, with the values of its parameters; the schemas are
        those that DuckDB has of the tables. Raises Stays."""
        with self._lock, memory_bound.held():
            database, reads = self._opened(tables)
            files = _Stood(partial(planning.table_of, database), reads=reads)
            if values:
                text = with_values(database, text, values)
            return planning.offload(database, text, files, self._constants)

    @contextmanager
    def seeing(self, tables: Sequence[tuple[Table, pa.Schema]]) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database with these tables, for one thread at a time. Raises Stays."""
        with self._lock, memory_bound.held():
            yield self._opened(tables)[0]

    def cut(self, text: str, values: Values, tables: Sequence[tuple[Table, pa.Schema]]) -> Parts:
        """The same, where only parts of it are dataflows. Raises Stays."""
        with self._lock, memory_bound.held():
            database, reads = self._opened(tables)
            names = {path: table.name for path, (table, _) in zip(reads, tables, strict=True)}
            if values:
                text = with_values(database, text, values)
            return cut(database, text, lambda: _Stood(partial(planning.table_of, database), reads=reads), names)

    def _opened(
        self, tables: Sequence[tuple[Table, pa.Schema]]
    ) -> tuple[duckdb.DuckDBPyConnection, dict[str, Operator]]:
        """The database with these tables, and how they are read, by the paths of their stand-ins. Raises Stays."""
        if len({table.name.lower() for table, _ in tables}) < len(tables):
            raise Stays("two tables have the same name for DuckDB")
        if self._database is None:
            self._database = duckdb.connect()
            self._database.execute("; ".join(f"SET {name} = {value}" for name, value in SETTINGS.items()))
            installed.register(self._database)
        database = self._database
        return database, dict(self._stand_in(database, table, schema) for table, schema in tables)

    def close(self) -> None:
        """Drops the database and the stand-ins; may be called twice."""
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None
            while self._known:
                self._known.popitem()[1].spool.close()

    def _stand_in(self, database: duckdb.DuckDBPyConnection, table: Table, schema: pa.Schema) -> tuple[str, Operator]:
        """The path of the table's stand-in, which DuckDB reads under the table's name, and how the table is read."""
        read = self._read(table)
        if read is None:
            raise Stays(f"table '{table.name}' is only here")
        rows = table.data.num_rows if table.data is not None else _rows(read)
        known = self._known.get(table.name.lower())
        if known is not None and known.table is table and known.rows == rows and known.columns == schema.names:
            return known.spool.path, read
        spool = Spool(cache.folder("spool"))
        try:
            _write(database, spool, table, schema, rows)
        except BaseException:
            spool.close()
            raise
        if known is not None:
            known.spool.close()
        self._known[table.name.lower()] = _StandIn(table, schema.names, rows, spool)
        return spool.path, read


def _write(database: duckdb.DuckDBPyConnection, spool: Spool, table: Table, schema: pa.Schema, rows: float) -> None:
    """Each stand-in is named twice: of one file alone DuckDB counts the rows while it plans. Columns of types that
    Parquet files do not have are texts in it, cast to their type: only texts that do not use them are offloaded."""
    try:
        wanted = types_of(database, schema)
        schema = stored(pa.Table.from_batches([], schema)).schema
        strange = _strange(database, schema, wanted)
        kept = [f.with_type(pa.string()) if f.name in strange else f for f in schema]
        spool.fill_parquet(pa.Table.from_batches([], pa.schema(kept)))
        read = f"read_parquet(['{spool.path}', '{spool.path}'], explicit_cardinality := {max(1, int(rows))})"
        columns = ", ".join(
            f"CAST({quoted(name)} AS {type}) AS {quoted(name)}" if name in strange else quoted(name)
            for name, type in zip(schema.names, wanted, strict=True)
        )
        database.execute(f"CREATE OR REPLACE VIEW {quoted(table.name)} AS SELECT {columns} FROM {read}")
        same = database.sql(f"FROM {quoted(table.name)}").types == wanted
    except (duckdb.Error, pa.ArrowException) as error:
        raise Stays(f"table '{table.name}': {error}") from None
    if not same:
        raise Stays(f"table '{table.name}' has columns that only Arrow has")


def _strange(database: duckdb.DuckDBPyConnection, schema: pa.Schema, wanted: Sequence[Any]) -> set[str]:
    """Return the columns that have other types in a Parquet file. DuckDB looks at one column of each Arrow type, since
    its time to bind columns grows with their square."""
    of_kind = {(f.type, f.nullable, str(f.metadata)): f for f in schema}
    with Spool(cache.folder("spool")) as spool:
        spool.fill_parquet(
            pa.Table.from_batches([], pa.schema(f.with_name(str(i)) for i, f in enumerate(of_kind.values())))
        )
        types = database.sql(f"FROM read_parquet('{spool.path}')").types
    found = dict(zip(of_kind, types, strict=True))
    return {
        f.name for f, type in zip(schema, wanted, strict=True) if found[f.type, f.nullable, str(f.metadata)] != type
    }


def _rows(read: Operator) -> float:
    """Estimate the rows of a table, of many files by some of them."""
    return sum(map(_rows_of, _reads(read)))


def _rows_of(read: Read) -> float:
    step = -(-len(read.files) // FILES_MAX)
    files = read.files[::step]
    return (probe.estimate(files, read.format, read.options).rows or 0.0) * len(read.files) / len(files)


def _reads(root: Operator) -> Iterator[Read]:
    return (node for node in root.walk() if isinstance(node, Read))
