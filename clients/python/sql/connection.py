"""`jumpgate.connect`: SQL over files and Arrow tables, as much of it as possible on accelerators."""

from __future__ import annotations

import functools
import os
import re
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import pyarrow as pa

from jumpgate.client import notebook
from jumpgate.client.duckdb.decide import Auto
from jumpgate.client.duckdb.reasons import Parts, Stays
from jumpgate.client.sql import commands, tables
from jumpgate.client.sql.catalog import Catalog, Table, arrow_table, file_table, is_plain, parquet_table, read_table
from jumpgate.client.sql.data_files import DataFiles
from jumpgate.client.sql.database import Database
from jumpgate.client.sql.errors import InvalidSql, TooLarge, typed
from jumpgate.client.sql.parsing import is_query, kinds_of, named, statements_of
from jumpgate.client.sql.query import Query
from jumpgate.client.sql.statements import Statements
from jumpgate.client.sql.stopping import Stop
from jumpgate.client.sql.tables import Scan, as_read
from jumpgate.codegen import cache
from jumpgate.converters.probe import misread
from jumpgate.converters.prober import prober
from jumpgate.dataflow import located
from jumpgate.dataflow.file_state import FileStates, file_states
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import ConfigError, InvalidDataflow
from jumpgate.machine import memory_bound
from jumpgate.stores.names import is_remote

if TYPE_CHECKING:
    from jumpgate.client.duckdb.planning import Offloaded
    from jumpgate.client.session import Session
    from jumpgate.client.sql.stand_ins import StandIns

OFFLOAD = ("auto", "always", "never")
#: texts of which a connection remembers the plan, and of which it keeps a cursor
TEXTS_MAX, IDLE_MAX = 256, 16
#: of a text that may ask for the time, which is a constant in its plan
_CLOCK = re.compile(r"(?i)\b(now|today|(get_)?current_\w+|localtime(stamp)?|\w+_timestamp)\b")

#: of a text, parsed: its parts take some 300 times as much memory. Values belong into parameters
TEXT_CHARACTERS_MAX = 1_000_000
#: of a text that may be a command of Jumpgate's
COMMAND_CHARACTERS_MAX = 200
#: the place of an error in a text below one line more
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)

T = TypeVar("T")


@dataclass
class Opened:
    """The tables of a text as they were at a `version` of the catalog, and a cursor of the database that sees them."""

    version: int
    scans: list[Scan]
    cursor: duckdb.DuckDBPyConnection | None = None


class Connection:
    """A DuckDB database, tables beside its own, and queries over them. Thread-safe; a context manager.

    address and options are those of jumpgate.client.session.Session: None starts a service inside this process when
    the first query needs one. offload: `auto` takes to accelerators what is faster there (as the service estimates or,
    of a query that ran both ways, as measured; DuckDB answers while programs for it are built), `always` all that they
    can do, `never` nothing; each query may say otherwise. Texts mean what DuckDB means by them; see docs/sql.md.
    database: a file of DuckDB's, which is made if it is not there; None: in memory. Raises DataError for another file.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        offload: str = "auto",
        database: str | os.PathLike[str] | None = None,
        read_only: bool = False,
        **options: Any,
    ) -> None:
        self.offload = _one_of("offload", offload, OFFLOAD)
        self._database = Database(self.spool_folder(), database, read_only)
        self._statements = Statements(self)
        self._stops: weakref.WeakSet[Stop] = weakref.WeakSet()
        self._data = DataFiles(self.spool_folder)
        self.tables = Catalog(self._changed)
        self._address, self._options = address, options
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._stand_ins: StandIns | None = None
        self._states: dict[str, FileStates] = {}  # of files as they were registered, by table
        self._types: dict[str, pa.DataType] = {}  # Arrow's, by DuckDB's
        self._version = 0  # of the tables
        self._described: OrderedDict[str, tuple[list[str], pa.Schema]] = OrderedDict()  # by text
        self._offloaded: OrderedDict[str, Offloaded | Stays] = OrderedDict()
        self._idle: OrderedDict[str, Opened] = OrderedDict()
        self._parts: OrderedDict[str, Parts | Stays] = OrderedDict()
        self.auto = Auto()
        self.experience = self.auto.experience
        if address is not None:
            self.session.jobs()  # that nobody answers there is said at once
        prober.hold()  # its start is not part of the first query's time
        self._holds = True

    @property
    def session(self) -> Session:
        """The session with the service, connected at first use."""
        with self._lock:
            if self._session is None:
                from jumpgate.client.session import Session

                self._session = Session(self._address, **self._options)
            return self._session

    @property
    def stand_ins(self) -> StandIns:
        """The database that plans, opened at first use."""
        with self._lock:
            if self._stand_ins is None:
                from jumpgate.client.sql.stand_ins import StandIns

                self._stand_ins = StandIns(self._read, constants=self._address is None)
            return self._stand_ins

    @property
    def is_started(self) -> bool:
        """Return whether there is a session."""
        return self._session is not None

    @property
    def timeout_s(self) -> float:
        """Seconds that a query may take, with what runs here; 0: any."""
        return float(self._options.get("timeout_ms", 0)) / 1000

    def register(
        self,
        name: str,
        source: Any,
        *,
        format: str | None = None,
        schema: Schema | Mapping[str, DataType | str] | None = None,
        **options: object,
    ) -> Table:
        """Makes `source` a table: a path, glob, directory or list of them, a dataflow, or anything with Arrow's C
        stream.

        format: as in jumpgate.client.read, by the suffix if not given. schema: that of the files, {name: type}; without
        one it is read from files that have one, and sampled from JSON and CSV, where decimals look like floats.
        options: those of jumpgate.client.read. `file://HOST/path` is a file of a host of the service, which looks into
        it and reads it. Raises FileUnreadable, InvalidDataflow, MalformedData, SchemaMismatch.
        """
        if isinstance(source, str | os.PathLike) or (
            isinstance(source, Sequence) and all(isinstance(s, str | os.PathLike) for s in source)
        ):
            paths = [os.fspath(s) for s in ([source] if isinstance(source, str | os.PathLike) else source)]
            if any(located.hosts(paths)):
                return self.tables.add(self._located(name, paths, format, schema, options))
            table = file_table(name, source, format, schema, options)
            if any(map(is_remote, paths)):
                return self.tables.add(replace(table, closed=True))
            if isinstance(table.read, Read) and not table.is_converted:
                table = parquet_table(table) if not misread(table.files) else replace(table, closed=True)
            return self.tables.add(table)
        from jumpgate.dataflow.builder import Dataflow

        if isinstance(source, Dataflow):
            if not is_plain(source.root):
                raise InvalidDataflow(
                    f"register: the dataflow for {name!r} computes something, which SQL may mean otherwise; register "
                    "what read, read_delta or read_iceberg return, and compute in SQL"
                )
            return self.tables.add(read_table(name, source.root, closed=True))
        return self.tables.add(arrow_table(name, source))

    def _located(
        self,
        name: str,
        paths: list[str],
        format: str | None,
        schema: Schema | Mapping[str, DataType | str] | None,
        options: Mapping[str, Any],
    ) -> Table:
        """A table of files that only hosts of the service have."""
        if schema is not None:
            raise InvalidDataflow(f"register: the host of {paths[0]!r} says what its columns are; leave `schema` out")
        return read_table(name, self.session.read(paths, format=format, **options).root, closed=True)

    def deregister(self, name: str) -> None:
        """Forgets a table; raises NotFound."""
        self.tables.drop(name)

    def table(self, name: str) -> Query:
        """All rows of a table, also of the database's own; raises NotFound."""
        if name not in self.tables and (name,) not in self.main_rows("SELECT table_name FROM duckdb_tables()"):
            self.tables[name]
        return self.sql('SELECT * FROM "{}"'.format(name.replace('"', '""')))

    def sql(
        self, text: str, parameters: Sequence[Any] | Mapping[str, Any] = (), *, offload: str | None = None
    ) -> Query:
        """Plans a query; nothing runs before its result is asked for. Other statements run at once, and of several all
        but a query at the end; the last one's result is returned.

        parameters: for $1, $2 … in the last statement, or a mapping for $name: values, typed by Arrow, never text in
        the query. Raises InvalidSql, which says where the text is wrong and what was perhaps meant.
        """
        if len(text) > TEXT_CHARACTERS_MAX:
            raise TooLarge(
                f"the text has {len(text)} characters, and may have {TEXT_CHARACTERS_MAX}: pass long values as "
                "parameters, and many of them as a table"
            )
        mode = self.offload if offload is None else _one_of("offload", offload, OFFLOAD)
        start = time.perf_counter()
        kinds = kinds_of(text)
        if not kinds:
            raise InvalidSql("the text holds no query")
        command = None
        if len(kinds) == 1 and (kinds == ["EXPLAIN"] or len(text) < COMMAND_CHARACTERS_MAX):
            command = commands.answer(text, self, parameters, offload)
        if command is not None:
            text, parameters = command, ()
        elif not is_query(kinds):
            *before, last = statements_of(text)
            for piece in before:
                self._statements.run(piece, (), mode)
            if not is_query(kinds_of(last)):
                return Query(self, last, (), mode, self._statements.run(last, parameters, mode))
            text = last
        query = Query(self, text, parameters, mode)
        query.timings.planning_s = time.perf_counter() - start
        return query

    def execute(
        self, text: str, parameters: Sequence[Any] | Mapping[str, Any] = (), *, offload: str | None = None
    ) -> Query:
        """As `sql`, but a query has begun to run when its result is returned: it is what is there now."""
        return self.sql(text, parameters, offload=offload).begun()

    @property
    def in_transaction(self) -> bool:
        """Return whether a transaction was begun that did not end."""
        return self._database.in_transaction

    def main_rows(self, text: str) -> list[tuple[Any, ...]]:
        """Rows that DuckDB answers where statements run."""
        with self._database.seeing(()) as database:
            found: list[tuple[Any, ...]] = database.execute(text).fetchall()
        return found

    def stored_words(self) -> frozenset[str]:
        """Names in the database's views and functions, in small letters."""
        return self._database.words()

    def noted(self, kind: str, text: str) -> None:
        """A statement ran, or failed: what is remembered may be otherwise now."""
        if self._database.note(kind, text):
            self._forget()

    def main(self, scans: Sequence[Scan]) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Where statements run; it sees these tables meanwhile."""
        return self._database.seeing(scans)

    def watch(self, stop: Stop) -> None:
        """`close` ends what this would end."""
        self._stops.add(stop)

    def spool_folder(self) -> Path:
        """Where DuckDB spills, and data is kept that jobs read; made if it is not there."""
        return cache.folder("spool")

    def close(self) -> None:
        """Cancels what still runs, ends the service that this connection started, and closes the database; may be
        called twice."""
        for stop in list(self._stops):
            stop.close()
        with self._lock:
            if self._session is not None:
                self._session.close()
            if self._holds:
                prober.release()
            self._holds = False
        self._offloaded.clear()
        self._idle.clear()
        self._parts.clear()
        if self._stand_ins is not None:
            self._stand_ins.close()
        self._data.close()
        self._database.close()

    def _repr_html_(self) -> str:
        """For notebooks: the tables, with their columns."""
        return notebook.listing(
            ("table", "format", "columns"),
            (
                (
                    table.name,
                    table.format or "Arrow data",
                    ", ".join(f"{field.name} {field.type}" for field in table.schema),
                )
                for table in self.tables
            ),
        )

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, text: str) -> Opened:
        """The tables of a text, with a cursor that sees them if one was kept."""
        with self._lock:
            kept = self._idle.pop(text, None)
            version = self._version
        if kept is not None and kept.version == version and all(self.tables.has(scan.table) for scan in kept.scans):
            return kept
        return Opened(version, self.scans_of(text))

    def scans_of(self, text: str) -> list[Scan]:
        """The tables that a text reads."""
        return tables.find(self.tables, text, lambda: self.session, self._address is None, self.stored_words)

    def keep(self, text: str, opened: Opened) -> None:
        """Keep a cursor for the next run of its text."""
        with self._lock:
            if opened.version != self._version:
                return  # it holds tables that are gone
            self._idle[text] = opened
            if len(self._idle) > IDLE_MAX:
                self._idle.popitem(last=False)

    @property
    def is_pinned(self) -> bool:
        """Return whether queries run where statements do: on one connection of DuckDB's, one after the other."""
        return self._database.is_pinned

    @contextmanager
    def seeing(self, opened: Opened) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database, seen with these tables."""
        if self.is_pinned:
            with self._database.seeing(opened.scans) as database:
                yield database
            return
        if opened.cursor is None:
            opened.cursor = self._database.cursor(opened.scans)
        with memory_bound.held():
            yield opened.cursor

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor of the database, without tables."""
        return self._database.cursor()

    def described(self, query: Query) -> tuple[list[str], pa.Schema]:
        """DuckDB's types of a query's result, and its schema. Raises InvalidSql."""
        return self._known(self._described, query, lambda: self._describe(query))

    def offloaded(self, query: Query) -> Offloaded:
        """The dataflow of a query. Raises Stays."""
        found = self._known(self._offloaded, query, lambda: self._offload(query))
        if isinstance(found, Stays):
            raise Stays(str(found))
        return found

    def parts(self, query: Query) -> Parts:
        """The parts of a query that is no dataflow as a whole. Raises Stays."""
        found = self._known(self._parts, query, lambda: self._cut(query))
        if isinstance(found, Stays):
            raise Stays(str(found))
        return found

    def _cut(self, query: Query) -> Parts | Stays:
        if self._is_own(query.text):
            return Stays("it reads more than the tables of the connection")
        try:
            return self.stand_ins.cut(query.text, query.values, _read(query))
        except Stays as stays:
            return stays

    def _offload(self, query: Query) -> Offloaded | Stays:
        try:
            if self._is_own(query.text):
                found = self._offload_own(query)
            else:
                found = self.stand_ins.offload(query.text, query.values, _read(query))
        except Stays as stays:
            return stays
        return found if [str(type) for type in found.types] == query.types else Stays("the result has other types")

    def _is_own(self, text: str) -> bool:
        """Return whether only the database can plan a text: it reads more than tables of the connection, or may mean
        something else than in a new database."""
        names = named(text)
        return self._database.is_changed or names is None or not names.reads_only(self._names())

    def may_be_large(self, text: str) -> bool:
        """Return whether a text may read files that no table of the connection stands for."""
        names = named(text)
        return names is not None and self._is_own(text) and (names.files or bool(self.stored_words()))

    def _offload_own(self, query: Query) -> Offloaded:
        """The dataflow of a text as the database plans it. Raises Stays."""
        from jumpgate.client.duckdb import planning
        from jumpgate.client.duckdb.parameters import with_values

        with query.seen() as database:
            text = with_values(database, query.text, query.values) if query.values else query.text
            return planning.offload(database, text)

    def _names(self) -> set[str]:
        return {table.name.lower() for table in self.tables}

    def _known(self, known: OrderedDict[str, T], query: Query, find: Callable[[], T]) -> T:
        """Remember what a text over these tables is, unless it may be something else the next time."""
        names = named(query.text)
        if query.values or _asks_the_time(query.text) or names is None or not names.reads_only(self._names()):
            return find()
        with self._lock:
            version = self._version
            if query.text in known:
                return known[query.text]
        found = find()
        with self._lock:
            if version == self._version:
                known[query.text] = found
                if len(known) > TEXTS_MAX:
                    known.popitem(last=False)
        return found

    def _describe(self, query: Query) -> tuple[list[str], pa.Schema]:
        names, types = query.describe()
        try:
            return types, self.schema_of(names, types)
        except InvalidSql:  # structs without names, as of row(1, 2), have types that nobody can write
            found = query.read_nothing().schema.types
            return types, pa.schema(list(zip(names, found, strict=True)))

    def mistake(self, text: str, values: list[Any] | dict[str, Any]) -> duckdb.Error | None:
        """DuckDB's error for a text that it does not bind, where it sees all tables, empty, with all their columns."""
        if self.is_pinned:
            return None  # there may be tables that only `main` sees
        found = self._database.cursor()
        for table in self.tables:
            found.register(table.name, table.schema.empty_table())
        try:
            found.execute(f"EXPLAIN\n{text}", values)  # which shows the place, too, and does not run it
        except duckdb.Error as error:
            return type(error)(_LINE.sub(_line_above, str(error)))
        return None

    def schema_of(self, names: Sequence[str], types: Sequence[str]) -> pa.Schema:
        """The schema of a result with these names and DuckDB's types."""
        if unknown := sorted({type for type in types if type not in self._types}):
            shown = ", ".join(f"CAST(NULL AS {type})" for type in unknown)
            where = self._database.seeing(()) if self.is_pinned else nullcontext(self._database.cursor())
            try:
                with where as database:
                    found = database.execute(f"SELECT {shown} LIMIT 0").to_arrow_table().schema
            except duckdb.Error as error:
                raise typed(error) from error
            self._types.update(zip(unknown, found.types, strict=True))
        return pa.schema([(name, self._types[type]) for name, type in zip(names, types, strict=True)])

    def check(self, scan: Scan, database: duckdb.DuckDBPyConnection) -> None:
        """As Scan.check."""
        scan.check(database, self._states.get(scan.table.name, {}))

    def data_files(self) -> dict[str, str]:
        """Files that stand for tables of Arrow data, with the tables' names."""
        return self._data.names()

    def write_data(self, operator: Operator) -> None:
        """Writes the Arrow data that a job reads."""
        for node in operator.walk():
            if isinstance(node, Read):
                self._data.write(node.files[0])

    def learn(self, query: Query, seconds: float) -> None:
        """Notes how long a query took that was read to its end without a pause; infinity: it failed."""
        self.experience.note(query.text, "always" if query.split.offloaded else "never", seconds)

    def _changed(self, name: str, table: Table | None) -> None:
        self._data.forget(name)
        self._states.pop(name, None)
        if table is not None and isinstance(table.read, Read) and not table.is_converted:
            self._states[name] = file_states(table.files)
        self._forget()
        self.experience.forget()

    def _forget(self) -> None:
        with self._lock:
            self._version += 1
            self._described.clear()
            self._offloaded.clear()
            self._idle.clear()
            self._parts.clear()

    def _read(self, table: Table) -> Operator | None:
        """How accelerators read a table; None for data that is only here."""
        if table.read is not None:
            return table.read
        return self._data.read(table) if self._address is None and self._data.can_hold(table) else None


@functools.lru_cache(TEXTS_MAX)
def _asks_the_time(text: str) -> bool:
    return _CLOCK.search(text) is not None


def _read(query: Query) -> list[tuple[Table, pa.Schema]]:
    """The tables that a query reads, with the columns that DuckDB has of them."""
    return [(scan.table, pa.schema(map(as_read, scan.table.schema))) for scan in query.scans]


def _line_above(match: re.Match[str]) -> str:
    return f"LINE {int(match[1]) - 1}:".ljust(len(match[0]))


def _one_of(what: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise ConfigError(f"{what} is {value!r}; it can be {', '.join(choices)}")
    return value
