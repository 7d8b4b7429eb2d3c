"""One SQL query: planned when it is made, executed when its result is asked for. It runs as a job where its whole plan
is a dataflow, else in DuckDB, which reads the tables that only Jumpgate reads as streams of jobs."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import pyarrow as pa

from jumpgate import deadline, extras
from jumpgate.client import notebook
from jumpgate.client.duckdb.answers import delivered
from jumpgate.client.duckdb.decide import SMALL, small
from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.duckdb.reasons import Kept, Stays
from jumpgate.client.sql import skipped
from jumpgate.client.sql.answer import REPR_S, SHOWN_ROWS, Answer
from jumpgate.client.sql.conforming import conformed
from jumpgate.client.sql.errors import typed
from jumpgate.client.sql.explain import Timings, explain_text
from jumpgate.client.sql.parsing import kinds_of, named
from jumpgate.client.sql.split import Cut, Split, cut_of
from jumpgate.client.sql.stopping import Stop, thread
from jumpgate.client.sql.tables import FILES_MAX
from jumpgate.converters import probe
from jumpgate.dataflow import located
from jumpgate.dataflow.file_state import check_unchanged, file_states
from jumpgate.dataflow.operators import Read
from jumpgate.errors import (
    BuildError,
    CannotPlace,
    ComputeError,
    DataError,
    InvalidDataflow,
    JumpgateError,
    MalformedData,
    TimedOut,
)
from jumpgate.stores.names import is_remote

if TYPE_CHECKING:
    import pandas
    import polars

    from jumpgate.client.duckdb.planning import Offloaded
    from jumpgate.client.result import Result
    from jumpgate.client.session import Session
    from jumpgate.client.sql.connection import Connection, Opened
    from jumpgate.client.sql.tables import Scan

#: rows of a batch that DuckDB computes
BATCH_ROWS = 64 << 10
#: errors of a job for which DuckDB may have another road, or an error of its own
_LEFT = (CannotPlace, ComputeError, DataError, InvalidDataflow)

Parameters = Sequence[Any] | Mapping[str, Any]
T = TypeVar("T")


class Query(Answer):
    """A query over a connection's tables. Take the whole result, or iterate `batches()`, which runs it each time.

    It is an Arrow stream to whatever takes one (`polars.DataFrame(query)`). Dropping, closing or leaving it (it is a
    context manager) cancels what still runs.
    """

    def __init__(
        self,
        connection: Connection,
        text: str,
        parameters: Parameters,
        mode: str,
        answer: tuple[pa.Table, list[str]] | None = None,
    ) -> None:
        """answer: of a statement that has run, with DuckDB's types."""
        self.text = text
        self.timings = Timings()
        self._mode, self._parameters = mode, parameters
        self._connection = connection
        self._results: list[Result] = []
        self._table: pa.Table | None = None
        self._reading = False
        self._stop = Stop(connection.timeout_s)
        connection.watch(self._stop)
        self.values = dict(parameters) if isinstance(parameters, Mapping) else list(parameters)
        self._read_jobs: list[str] = []
        self._opened: Opened | None = None
        self._begun: Iterator[pa.RecordBatch] | None = None
        self._is_statement = answer is not None
        if answer is not None:
            self.scans: list[Scan] = []
            self._table, self.types = answer
            self.schema = self._table.schema
            self._leave("it is a statement")
            return
        self._begin()
        self.types, self.schema = connection.described(self)
        try:
            self.split = Split([cut_of(self._offload())])
        except Stays as stays:
            self._leave(str(stays))
            if mode == "always":
                self._cut_out()

    @property
    def jobs(self) -> tuple[str, ...]:
        """Ids of the jobs that ran for it so far."""
        return (*(result.job for result in self._results), *self._read_jobs)

    def batches(self, *, watched: bool = False) -> Iterator[pa.RecordBatch]:
        """The result as it arrives; ends normally only if it is complete, else raises the error that ended it.
        watched: as in jumpgate.client.result.Result.batches."""
        if self._table is not None:
            yield from self._table.to_batches()
            return
        if self._begun is not None:
            begun, self._begun = self._begun, None
            yield from begun
            return
        if self._reading:
            raise ValueError("this query's batches are being read; finish that, or plan the query once more")
        self._reading = True
        self._stop.begin()
        start = time.perf_counter()
        self.timings = Timings(planning_s=self.timings.planning_s)
        self._results.clear()
        self._read_jobs.clear()
        try:
            for batch in conformed(self._answered(watched), self.schema):
                self.timings.first_batch_s = self.timings.first_batch_s or time.perf_counter() - start
                self.timings.rows += batch.num_rows
                if batch.num_rows:
                    yield batch
            self.timings.total_s = time.perf_counter() - start
            if skipped.may_skip(scan.table for scan in self.scans):
                skipped.warn(self.session, self.jobs)
        finally:
            self._cancel()
            self._reading = False

    def begun(self) -> Query:
        """Return it with its first rows computed: `batches`, or who takes the result first, goes on from there."""
        if self._table is None:
            batches = self.batches()
            first = next(batches, None)
            self._begun = iter(()) if first is None else itertools.chain([first], batches)
        return self

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The result as a stream of Arrow's C interface, which runs the query unless the whole result is there."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """The first rows, for which the query may run a moment; else its columns."""
        shown = " ".join(self.text.split())
        if self._is_statement and not self._table:
            return f"Query({shown!r})"
        try:
            return str(self._native() if self._is_lost else self._relation(self.peek(SHOWN_ROWS, REPR_S)))
        except JumpgateError as error:
            columns = ", ".join(f"{name} {type}" for name, type in zip(self.columns, self.types, strict=True))
            why = "" if isinstance(error, TimedOut) else f": {error.message}"
            return f"Query({shown!r}: {columns}){why}"

    def peek(self, rows: int, within_s: float | None = None) -> pa.Table:
        """At most so many of the first rows; of a query that did not run they are computed apart. Raises TimedOut after
        `within_s`."""
        if self._table is not None:
            return self._table.slice(0, rows)
        with Query(self._connection, self.text, self._parameters, self._mode) as query:
            if within_s is not None:
                query._stop.timeout_s = within_s
            return notebook.first_rows(query.batches(), self.schema, rows)[0]

    def _repr_html_(self) -> str:
        """For notebooks: the first rows, for which the query runs as far as it must, and what runs where."""
        found = self.peek(notebook.ROWS_SHOWN + 1)
        more = found.num_rows > notebook.ROWS_SHOWN
        return notebook.rows(found.slice(0, notebook.ROWS_SHOWN), more) + notebook.folded(
            "what runs where", self.explain()
        )

    def to_arrow(self) -> pa.Table:
        """The whole result."""
        if self._table is None:
            try:
                batches = self._collected()
            except JumpgateError:
                self._connection.learn(self, math.inf)
                raise
            self._connection.learn(self, self.timings.total_s)
            self._table = pa.Table.from_batches(batches, self.schema)
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """The whole result as a pandas DataFrame. Raises NotInstalled without pandas, and what `to_arrow` raises."""
        with extras.explained():
            return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The whole result as a polars DataFrame. Raises NotInstalled without polars, and what `to_arrow` raises."""
        with extras.explained():
            import polars

        return polars.DataFrame(polars.from_arrow(self.to_arrow()))

    def to_pylist(self) -> list[dict[str, Any]]:
        """Rows as dictionaries; of columns with the same name the last one stays."""
        names, columns = self.columns, [column.to_pylist() for column in self.to_arrow().columns]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def explain(self, analyze: bool = False) -> str:
        """Explain what runs where, and why; analyze: run the query first, and add rows, bytes and times."""
        if analyze:
            self.to_arrow()
        return explain_text(self, analyze)

    def data_files(self) -> dict[str, str]:
        """Files that stand for tables of Arrow data, with the tables' names."""
        return self._connection.data_files()

    @property
    def session(self) -> Session:
        """The session in which its jobs run."""
        return self._connection.session

    def read_bytes(self) -> float:
        """Bytes of the rows that its jobs read, as columns in memory, as far as the files tell."""
        reads = [node for cut in self.split.cuts for node in cut.operator.walk() if isinstance(node, Read)]
        sizes = (probe.estimate(read.files, read.format, read.options).rows or 0.0 for read in reads)
        return sum(rows * sum(t.width for t in read.schema.types) for rows, read in zip(sizes, reads, strict=True))

    def close(self) -> None:
        """Cancels what still runs; may be called twice."""
        self._stop.close()
        self._cancel()

    def __enter__(self) -> Query:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cancel(self) -> None:
        for result in self._results:
            result.cancel()
        for scan in self.scans:
            scan.close()

    def _begin(self) -> None:
        """Finds the tables of the text, and a database that sees them if the text has run before."""
        self._opened = self._connection.take(self.text)
        self.scans = self._opened.scans

    def seen(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """DuckDB, which sees the query's tables."""
        if self._opened is None:
            self._begin()
        assert self._opened is not None
        return self._connection.seeing(self._opened)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        return self._connection.cursor()

    def _native(self) -> Any:
        try:
            with self.seen() as database:
                relation = database.sql(self.text, params=self.values or None)
                relation.execute()
        except (duckdb.Error, pa.ArrowException) as error:
            raise self._typed(error) from error
        return relation

    def describe(self) -> tuple[list[str], list[str]]:
        """Names, which may repeat, and DuckDB's types of the result, which is not computed. Raises InvalidSql."""
        try:
            with self.seen() as database:
                if self.values and len(kinds_of(self.text)) == 1:  # with parameters, `sql` would run the text
                    described = database.execute(f"DESCRIBE {self.text}", self.values).fetchall()
                    return [name for name, *_ in described], [type for _, type, *_ in described]
                found = database.sql(self.text, params=self.values or None)
                return found.columns, [str(type) for type in found.types]
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            raise self._typed(self._connection.mistake(self.text, self.values) or error) from error
        except (duckdb.Error, pa.ArrowException) as error:
            raise self._typed(error) from error

    def read_nothing(self) -> pa.Table:
        """The result's columns without rows. Raises InvalidSql."""
        try:
            with self.seen() as database:
                return database.execute(f"FROM (\n{self.text}\n) LIMIT 0", self.values or None).to_arrow_table()
        except (duckdb.Error, pa.ArrowException) as error:
            raise self._typed(error) from error

    def _offload(self) -> Offloaded:
        """The text as a dataflow that is to run. Raises Stays."""
        connection = self._connection
        if self._mode == "never":
            raise Stays("offload = never")
        if self._mode == "always":
            return connection.offloaded(self)
        may_be_large = connection.may_be_large(self.text)
        has_jobs = connection.is_started or any(scan.needs_job for scan in self.scans)
        if not may_be_large and (reason := connection.auto.early(self.text, self._bytes(), has_jobs)):
            raise Stays(reason)
        found = connection.offloaded(self)
        if may_be_large and small(found.files.files):
            raise Stays(SMALL)
        found.files.fill()
        files = sum(len(scan.table.files) for scan in self.scans if scan.needs_job)  # DuckDB has no look at statistics
        if reason := connection.auto.reason(self.text, found, connection.session, files):
            raise Stays(reason)
        return found

    def _cut_out(self) -> None:
        """Offload parts of the text, where that can be done."""
        why = self.split.kept[0].reason
        try:
            found = self._connection.parts(self)
        except Stays as stays:
            self._leave(why if str(stays) == why else f"{why}; of its parts: {stays}")
        else:
            root, *rest = found.kept
            self.split = Split(list(map(cut_of, found.cuts)), [Kept(root.kind, why), *rest], found.text)

    def _bytes(self) -> float:
        """Bytes of the columns that the text may read here, as files have them; infinity of files that are elsewhere,
        or many."""
        total = 0.0
        for scan in self.scans:
            table, share = scan.table, max(1, len(scan.columns)) / max(1, len(scan.table.schema))
            if table.data is not None:
                total += table.data.nbytes * share
            elif len(table.files) > FILES_MAX or any(is_remote(f) or located.split(f)[0] for f in table.files):
                return math.inf
            else:
                size = sum(os.path.getsize(file) for file in table.files if os.path.exists(file))
                total += size if table.is_converted else size * share
        return total

    @property
    def _left(self) -> tuple[type[JumpgateError], ...]:
        """Errors of a job after which DuckDB answers; without a compiler, unless accelerators are asked for."""
        return (*_LEFT, BuildError) if self._mode == "auto" else _LEFT

    def _leave(self, why: str) -> None:
        """Leaves the query to DuckDB."""
        self.split = Split(kept=[Kept("query", why)])

    def _collected(self) -> list[pa.RecordBatch]:
        """All batches; of DuckDB, where a job fails."""
        try:
            return list(self.batches(watched=True))
        except self._left as error:
            if not self.split.cuts:
                raise
            self._leave(f"as a job it failed: {error.message}")
            return list(self.batches(watched=True))

    def _answered(self, watched: bool) -> Iterator[pa.RecordBatch]:
        """The batches of the job, or of DuckDB where the job fails before its first one."""
        if self.split.cuts:
            source = self._by_parts() if self.split.text else self._by_job(watched)
            try:
                first = next(source, None)
            except self._left as error:
                self._leave(f"as a job it failed: {error.message}")
            else:
                if first is not None:
                    yield first
                    yield from source
                return
        yield from self._here()

    def _by_job(self, watched: bool) -> Iterator[pa.RecordBatch]:
        (cut,) = self.split.cuts
        start = time.perf_counter()
        result = self._run(cut)
        batches = delivered(self._cursor(), result.batches(watched=watched), cut.types)
        for batch in conformed(batches, self.schema):
            self.timings.received_bytes = result.received_bytes
            yield batch
        self.timings.jobs_s = time.perf_counter() - start

    def _by_parts(self) -> Iterator[pa.RecordBatch]:
        """The answer to the text above the cuts."""
        from jumpgate.client.sql.parts import tables_of

        start = time.perf_counter()
        with self.seen() as database, tables_of(self.split.cuts, database, self._run, self._cancel):
            self.timings.jobs_s = time.perf_counter() - start
            self.timings.received_bytes = sum(result.received_bytes for result in self._results)
            yield from conformed(self._read(database, self.split.text, ()), self.schema)

    def _run(self, cut: Cut) -> Result:
        from jumpgate.dataflow.builder import Dataflow

        left_s = self._stop.left_s()
        cut.files.fill()
        self._connection.write_data(cut.operator)
        with deadline.within(left_s):
            result = self._connection.session.run(Dataflow(cut.operator), DUCKDB, text=self.text)
        self._results.append(result)
        return result

    def _here(self) -> Iterator[pa.RecordBatch]:
        """DuckDB's answer."""
        if self._connection.is_pinned:  # whatever runs there next would end a stream
            with self.seen() as database:
                found = list(self._read(database, self.text, self.values))
            yield from found
            return
        with self.seen() as database:
            yield from self._read(database, self.text, self.values)
        if self._opened is not None:
            self._connection.keep(self.text, self._opened)
            self._opened = None

    def _read(self, database: duckdb.DuckDBPyConnection, text: str, values: Parameters) -> Iterator[pa.RecordBatch]:
        """DuckDB's answer to a text; a file that changes meanwhile is a FileChanged."""
        try:
            for scan in self.scans:
                self._connection.check(scan, database)
        except (duckdb.Error, pa.ArrowException) as error:
            raise self._typed(error) from error
        states = file_states(file for scan in self.scans if scan.reads_files for file in scan.files)

        def interrupt() -> None:
            for scan in self.scans:
                scan.close()
            database.interrupt()

        with thread(interrupt) as pool:

            def within(work: Callable[[], T]) -> T:
                try:
                    return self._stop.result(pool.submit(work), interrupt)
                except (duckdb.Error, pa.ArrowException) as error:
                    self._stop.left_s()  # it raises what interrupted DuckDB
                    raise self._typed(error) from error

            start = time.perf_counter()
            try:
                reader = within(lambda: database.execute(text, values).to_arrow_reader(BATCH_ROWS))
                while (batch := within(lambda: next(reader, None))) is not None:
                    yield batch
                check_unchanged(states)
            finally:
                self._read_jobs += [job.job for scan in self.scans for job in scan.jobs]
                self._cancel()
            self.timings.rest_s = time.perf_counter() - start

    def _typed(self, error: Exception) -> JumpgateError:
        failed = next((scan.error for scan in self.scans if scan.error is not None), None)
        if failed is None and type(error) is duckdb.Error:  # of its Parquet reader alone
            files = [file for scan in self.scans if scan.reads_files for file in scan.files]
            names = named(self.text)
            files += [] if names is None else sorted(name for name in names.tables if "/" in name or "." in name)
            return MalformedData(f"DuckDB, of {', '.join(files[:3])}: {error}")
        return failed or typed(error)
