"""`jumpgate.connect`: SQL over files and Arrow tables, as much of it as possible on accelerators."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from jumpgate.client import notebook
from jumpgate.client.sql import commands
from jumpgate.client.sql.catalog import Catalog, Table, arrow_table, file_table, is_plain, parquet_table, read_table
from jumpgate.client.sql.database import Database
from jumpgate.client.sql.errors import InvalidSql, TooLarge
from jumpgate.client.sql.parsing import is_query, kinds_of, statements_of
from jumpgate.client.sql.plan import Parameters
from jumpgate.client.sql.planner import Planner
from jumpgate.client.sql.query import Query
from jumpgate.client.sql.statements import Statements
from jumpgate.client.sql.workspace import Workspace
from jumpgate.converters.probe import misread
from jumpgate.dataflow import located
from jumpgate.dataflow.file_state import file_states
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import ConfigError, InvalidDataflow
from jumpgate.stores.names import is_remote

if TYPE_CHECKING:
    from jumpgate.client.session import Session

OFFLOAD = ("auto", "always", "never")
#: of a text, parsed: its parts take some 300 times as much memory. Values belong into parameters
TEXT_CHARACTERS_MAX = 1_000_000
#: of a text that may be a command of Jumpgate's
COMMAND_CHARACTERS_MAX = 200


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
        self._workspace = Workspace(Database(database, read_only), address, options)
        self._planner = Planner(self._workspace)
        self._statements = Statements(self._workspace, self._planner)

    @property
    def session(self) -> Session:
        """The session with the service, connected at first use."""
        return self._workspace.session

    @property
    def tables(self) -> Catalog:
        """The registered tables, by name."""
        return self._workspace.tables

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
            with self._workspace.rights():
                table = file_table(name, source, format, schema, options)
            if any(map(is_remote, paths)):
                return self.tables.add(replace(table, closed=True))
            if isinstance(table.read, Read) and not table.is_converted:
                if misread(table.files):
                    table = replace(table, closed=True)
                else:
                    table = replace(parquet_table(table), states=file_states(table.files))
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
        if name not in self.tables and (name,) not in self._workspace.database.rows(
            "SELECT table_name FROM duckdb_tables()"
        ):
            self.tables[name]
        return self.sql('SELECT * FROM "{}"'.format(name.replace('"', '""')))

    def sql(self, text: str, parameters: Parameters = (), *, offload: str | None = None) -> Query:
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
            command = commands.answer(text, self._workspace, partial(self.sql, parameters=parameters, offload=mode))
        if command is not None:
            text, parameters = command, ()
        elif not is_query(kinds):
            *before, last = statements_of(text)
            for piece in before:
                self._statements.run(piece, (), mode)
            if not is_query(kinds_of(last)):
                return self._statements.answer(last, parameters, mode)
            text = last
        query = Query(self._workspace, *self._planner.plan(text, parameters, mode))
        query.timings.planning_s = time.perf_counter() - start
        return query

    def execute(self, text: str, parameters: Parameters = (), *, offload: str | None = None) -> Query:
        """As `sql`, but a query has begun to run when its result is returned: it is what is there now."""
        query = self.sql(text, parameters, offload=offload)
        query._begin()
        return query

    @property
    def in_transaction(self) -> bool:
        """Return whether a transaction was begun that did not end."""
        return self._workspace.database.in_transaction

    def close(self) -> None:
        """Cancels what still runs, ends the service that this connection started, and closes the database; may be
        called twice."""
        self._workspace.close()

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


def _one_of(what: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise ConfigError(f"{what} is {value!r}; it can be {', '.join(choices)}")
    return value
