"""`jumpgate.connect`: SQL over files and Arrow tables, as much of it as possible on accelerators."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import datafusion

from jumpgate.client import notebook
from jumpgate.client.session import Estimate, Session
from jumpgate.client.sql import calibrate, commands, cuts, decide, local, suspects
from jumpgate.client.sql.by_duckdb import DuckdbQuery
from jumpgate.client.sql.catalog import Catalog, Table, arrow_table, file_table, is_plain, read_table
from jumpgate.client.sql.cuts import Cut, Split
from jumpgate.client.sql.data_files import NUMBERS, DataFiles
from jumpgate.client.sql.errors import InvalidSql, TooLarge
from jumpgate.client.sql.experience import Experience
from jumpgate.client.sql.frontend import Frontend, Parameters, Planned, quoted
from jumpgate.client.sql.logical import frames, sketches
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.relations import Reader
from jumpgate.client.sql.preparation import check_size
from jumpgate.client.sql.query import Query
from jumpgate.client.sql.stand_ins import StandIns
from jumpgate.codegen import cache
from jumpgate.converters.probe import check_pages, closed_to_datafusion, infer_schema
from jumpgate.converters.prober import prober
from jumpgate.dataflow import located
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import DATAFUSION
from jumpgate.dataflow.file_state import FileStates
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import CannotPlace, ConfigError, InvalidDataflow, JumpgateError, SchemaMismatch
from jumpgate.service import calibration
from jumpgate.stores.names import is_remote

OFFLOAD = ("auto", "always", "never")
PLANNERS = ("datafusion", "duckdb")
#: what the text means
DIALECTS = ("duckdb", "datafusion")
_ONLY_DUCKDB = "is refused, as DataFusion plans it wrongly; with dialect='duckdb' DuckDB answers"
#: texts of which a connection remembers the plan
PLANS_MAX = 256
#: of a text, parsed: its parts take some 300 times as much memory. Values belong into parameters
TEXT_CHARACTERS_MAX = 1_000_000
#: of a text that may ask for the time, which is a constant in its plan
_CLOCK = re.compile(r"\b(now|today|current_(date|time|timestamp)|localtime(stamp)?)\b", re.IGNORECASE)


class Connection:
    """Tables and queries over them. Thread-safe; a context manager.

    address and options are those of jumpgate.client.session.Session: None starts a service inside this process when
    the first query needs one. offload: `auto` takes to accelerators what is faster there (as the service estimates or,
    of a query that ran both ways, as measured; DataFusion answers while programs for it are built), `always` all that
    they can do, `never` nothing; each query may say otherwise.
    planner: `datafusion`, of whose plans parts may be offloaded, or `duckdb`, for the meaning and types of DuckDB:
    whole texts are offloaded, or run in DuckDB.
    dialect: `duckdb` (numbers divide to fractions, averages are doubles, 0.1 is a decimal) or `datafusion`, which takes
    the text as DataFusion does; see docs/sql.md.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        offload: str = "auto",
        planner: str = "datafusion",
        dialect: str = "duckdb",
        **options: Any,
    ) -> None:
        self.offload = _one_of("offload", offload, OFFLOAD)
        self.planner = _one_of("planner", planner, PLANNERS)
        self.dialect = _one_of("dialect", dialect, DIALECTS)
        if self.planner == "duckdb" and self.dialect != "duckdb":
            raise ConfigError(f"DuckDB does not plan texts in the dialect of {self.dialect}; leave `dialect` out")
        self.local: datafusion.SessionContext = local.context()
        self._frontend = Frontend(local.context(), dialect)
        self._data = DataFiles(self.spool_folder)
        self.tables = Catalog(self._changed)
        self._address, self._options = address, options
        self._session: Session | None = None
        self._lock = threading.Lock()
        #: of these tables, by text and mode; None: cut anew each time
        self._plans: dict[tuple[str, str], tuple[Planned, Split | None]] = {}
        self.stand_ins = StandIns(self._read, constants=address is None)
        self._refused: dict[Operator, str] = {}  # what no accelerator took, and why
        self._states: dict[str, FileStates] = {}  # of files whose columns are known, by table
        self._version = 0  # of the tables
        self.experience = Experience()
        if address is not None:
            self.session.jobs()  # that nobody answers there is said at once
        prober.hold()  # its start is not part of the first query's time
        self._holds = True

    @property
    def session(self) -> Session:
        """The session with the service, connected at first use."""
        with self._lock:
            if self._session is None:
                self._session = Session(self._address, **self._options)
            return self._session

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
                known = None if closed_to_datafusion(table.files) else local.parquet_schema(self.local, table.read)
                table = replace(table, schema=known or table.schema, closed=known is None)
            return self.tables.add(table)
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
        """All rows of a table; raises NotFound."""
        self.tables[name]
        return self.sql('SELECT * FROM "{}"'.format(name.replace('"', '""')))

    def sql(
        self, text: str, parameters: Sequence[Any] | Mapping[str, Any] = (), *, offload: str | None = None
    ) -> Query:
        """Plans a query; nothing runs before its result is asked for.

        parameters: for $1, $2 … in the text, or a mapping for $name: values, typed by Arrow, never text in the query.
        Raises InvalidSql, which says where the text is wrong and what was perhaps meant.
        """
        if len(text) > TEXT_CHARACTERS_MAX:
            raise InvalidDataflow(
                f"the text has {len(text)} characters, and may have {TEXT_CHARACTERS_MAX}: pass long values as "
                "parameters, and many of them as a table"
            )
        mode = self.offload if offload is None else _one_of("offload", offload, OFFLOAD)
        start = time.perf_counter()
        command = commands.answer(text, self, parameters, offload)
        if command is not None:
            text, parameters = command, ()
        query = self._answered(text, parameters, mode)
        query.timings.planning_s = time.perf_counter() - start
        return query

    def _answered(self, text: str, parameters: Parameters, mode: str) -> Query:
        """The query, by DuckDB if DataFusion would answer it wrongly or cannot plan it. Raises InvalidSql for what
        neither may answer, CannotPlace for what is to run as a job and cannot."""
        check_size(text)
        if self.planner == "duckdb":
            return DuckdbQuery(self, text, parameters, mode, "planner = duckdb")
        given = parameters.values() if isinstance(parameters, Mapping) else parameters
        wrong = suspects.find(text, self.tables, given, meaning=self.dialect == "duckdb")
        if not wrong:
            try:
                planned, found = self._planned(
                    text, parameters, self._advised(text, parameters) if mode == "auto" else mode
                )
            except InvalidSql as error:
                return self._unplanned(text, parameters, mode, error)
            if any(kept.kind == "window" for kept in found.kept):
                wrong = suspects.of_ranges(text, self.tables)
        if not wrong:
            return Query(self, planned, found, mode, parameters)
        if self.dialect != "duckdb":
            raise InvalidSql(f"{wrong} {_ONLY_DUCKDB}")
        return DuckdbQuery(self, text, parameters, mode, f"{wrong}: DataFusion plans it wrongly")

    def scan(self, table: str, columns: Sequence[str]) -> Query:
        """Columns of a table for another planner, as DataFusion reads them, or jobs where it cannot."""
        text = f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)}"
        planned, found = self._planned(text, (), "never")
        return Query(self, planned, found, "never", ())

    def _unplanned(self, text: str, parameters: Parameters, mode: str, error: InvalidSql) -> Query:
        """The query by DuckDB, where it is one to DuckDB. Raises `error` where it is none."""
        if self.dialect == "duckdb" and not isinstance(error, TooLarge):
            try:
                return DuckdbQuery(self, text, parameters, mode, "DataFusion does not plan it")
            except CannotPlace:
                raise
            except JumpgateError:
                pass  # the first error tells more
        raise error

    def spool_folder(self) -> Path:
        """Where results of jobs are kept while DataFusion goes on with them; made if it is not there."""
        return cache.folder("spool")

    def close(self) -> None:
        """Cancels what still runs, and ends the service that this connection started; may be called twice."""
        with self._lock:
            if self._session is not None:
                self._session.close()
            if self._holds:
                prober.release()
            self._holds = False
        self.stand_ins.close()
        self._data.close()

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

    def whole(self, planned: Planned, parameters: Parameters, reads: Mapping[str, str]) -> datafusion.DataFrame:
        """A query in DataFusion, over the tables that it reads itself and, by name, Arrow files that jobs have read."""
        context = self.local
        if reads:
            context = local.context()
            for table in self.tables:
                self._register(context, table, reads.get(table.name))
        return self._frontend.frame(context, planned, parameters, list(self.tables))

    def files(self, planned: Planned) -> list[str]:
        """The files of a query's tables that are here."""
        files = [file for name in planned.tables for file in self.tables[name].files]
        return [file for file in files if not is_remote(file) and not located.split(file)[0]]

    def check_columns(self, planned: Planned, states: FileStates) -> None:
        """Check that files that DataFusion reads, and that changed since they were looked into, still have the columns
        of their table; DataFusion would take missing ones for NULL. Raises SchemaMismatch."""
        for table in map(self.tables.__getitem__, planned.tables):
            if not isinstance(table.read, Read) or table.is_converted:
                continue
            found = {file: states[file] for file in table.read.files}
            if self._states.get(table.name) == found:
                continue
            now = infer_schema(table.read.files, table.read.format, dict(table.read.options)).positions
            for name in table.read.schema.names:
                if name not in now:
                    message = f"table '{table.name}': its files have lost the column '{name}'; register it again"
                    raise SchemaMismatch(message, table=table.name, column=name)
            self._states[table.name] = found

    def check_pages(self, planned: Planned, found: Split) -> None:
        """Compare the checksums of pages of the Parquet files that DataFusion reads, which does not. Raises
        MalformedData."""
        reads = cuts.read_here(found, planned.root)
        if planned.unencoded:
            reads = iter([(name, None) for name in planned.tables])
        for name, columns in reads:
            table = self.tables[name]
            if table.read is not None and not table.is_converted:
                check_pages(table.files, table.read.schema.names if columns is None else columns)

    def data_path(self, name: str) -> str:
        """Where the Arrow data of a table is as a Parquet file."""
        return self._data.path(self.tables[name])

    def data_files(self) -> dict[str, str]:
        """Files that stand for tables of Arrow data, with the tables' names."""
        return self._data.names()

    def write_data(self, cut: Cut) -> None:
        """Writes the Arrow data that a job reads."""
        for node in cut.operator.walk():
            if isinstance(node, Read):
                self._data.write(node.files[0])

    def refuse(self, planned: Planned, mode: str, operator: Operator, error: JumpgateError) -> Split:
        """How a query is cut when no accelerator takes `operator`, which is remembered."""
        with self._lock:
            self._refused[operator] = error.message
            self._plans.clear()
        return self._split(planned, mode)

    def _changed(self, name: str, table: Table | None) -> None:
        if self.local.table_exist(quoted(name)):
            self.local.deregister_table(quoted(name))
        self._frontend.changed(name, table)
        if table is not None:
            self._register(self.local, table)
        self._data.forget(name)
        self._states.pop(name, None)
        with self._lock:
            self._version += 1
            self._plans.clear()
            self._refused.clear()
        self.experience.forget()

    def _register(self, context: datafusion.SessionContext, table: Table, path: str | None = None) -> None:
        """A table as DataFusion reads it: itself, or from the Arrow file of that path. A converted table without one is
        only known by its columns: what would be read is not an Arrow file."""
        name = quoted(table.name)
        if table.is_converted:
            context.register_arrow(name, f"file://{path or sys.executable}", schema=table.schema, file_extension="")
            return
        if table.data is not None:
            context.register_record_batches(name, [table.data.to_batches() or [local.empty(table.schema)]])
            return
        plan = pb.Plan()
        plan.scan.table.bare.table = table.name
        cuts.point_to_table(plan.scan, table)
        self._frontend.write_schema(plan.scan, table)
        context.register_view(name, local.decoded(context, plan))

    def _advised(self, text: str, parameters: Sequence[Any] | Mapping[str, Any]) -> str:
        """The mode that was the fastest for a text that ran both ways; else `auto`, which estimates, unless all that
        ran has failed. None is tried for the sake of knowing."""
        took = self.experience.settled(text)
        if len(took) > 1:
            return min(took, key=lambda kind: took[kind])
        if took and math.isinf(*took.values()):
            return "always" if "never" in took else "never"
        return "auto"

    def learn(self, query: Query, seconds: float) -> None:
        """Notes how long a query took that was read to its end without a pause; infinity: it failed."""
        if not query.split.offloaded:
            kind = "never"
        else:
            kind = "auto" if query.split.kept else "always"
        self.experience.note(query.text, kind, seconds)

    def _planned(self, text: str, parameters: Parameters, mode: str) -> tuple[Planned, Split]:
        """The plan of a text, and how it is cut; both are remembered, unless they may be others the next time."""
        key = (text, mode)
        with self._lock:
            version, known = self._version, self._plans.get(key)
        if known is not None and not parameters:
            planned, found = known
            if found is not None:
                return planned, found
        else:
            planned = self._frontend.plan(text, parameters, list(self.tables))
        found = self._split(planned, mode)
        if not parameters and not _CLOCK.search(text):
            with self._lock:
                if version == self._version:
                    self._plans[key] = planned, None if found.waits else found
                if len(self._plans) > PLANS_MAX:
                    del self._plans[next(iter(self._plans))]
        return planned, found

    def _split(self, planned: Planned, mode: str) -> Split:
        tables = {name: self.tables[name] for name in planned.tables}
        converted = [table for table in tables.values() if table.is_converted]
        stays = planned.unencoded
        for table in tables.values():
            if table.data is not None and not self._data.can_hold(table):
                stays = f"table '{table.name}' has columns that only Arrow has"
        if stays:
            shown = planned.root.logical.display_indent_schema()
            frames.check(shown, stays)
            sketches.check(shown, stays)
            return cuts.whole(planned.root, stays, converted)
        reason = "offload = never" if mode == "never" else ""
        reads = {name: read for name, table in tables.items() if (read := self._read(table)) is not None}
        reader = Reader(reads, partial(self._data.read, NUMBERS) if self._address is None else None)
        auto = self._auto(converted) if mode == "auto" else None
        decision = (lambda candidate: reason) if reason else auto or decide.always
        found = cuts.split(planned.root, tables, reader.relation, self._unless_refused(decision), planned.as_text)
        return replace(found, waits=auto is not None and auto.waits)

    def _auto(self, converted: Sequence[Table]) -> decide.Auto:
        by_jobs = {file for table in converted for file in table.files}
        speeds, cores = calibrate.load(), calibration.cores()

        def ask(operator: Operator) -> Estimate:
            return self.session.estimate(Dataflow(operator), DATAFUSION, elsewhere=speeds, cores=cores)

        def prepare(operator: Operator, patience_s: float) -> float:
            if any(isinstance(node, Read) and node.files[0] in by_jobs for node in operator.walk()):
                return 0.0  # a job has to read them, which would wait as well
            with contextlib.suppress(JumpgateError):  # else the job says it
                return self.session.prepare(Dataflow(operator), DATAFUSION, patience_s=patience_s)
            return 0.0

        return decide.Auto(ask, prepare, speeds["spool"], speeds["job"])

    def _unless_refused(self, decision: cuts.Decision) -> cuts.Decision:
        if not self._refused:
            return decision
        return lambda candidate: self._refused.get(candidate.operator) or decision(candidate)

    def _read(self, table: Table) -> Operator | None:
        """How accelerators read a table; None for data that is only here."""
        if table.read is not None:
            return table.read
        return self._data.read(table) if self._address is None else None


def _one_of(what: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise ConfigError(f"{what} is {value!r}; it can be {', '.join(choices)}")
    return value
