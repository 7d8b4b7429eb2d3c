"""One SQL query, executed when its result is asked for. It runs as a job where its whole plan is a dataflow, else in
DuckDB, which reads the tables that only Jumpgate reads as streams of jobs."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import pyarrow as pa

from jumpgate import deadline, extras
from jumpgate.client import notebook
from jumpgate.client.duckdb.answers import delivered
from jumpgate.client.duckdb.decide import HERE, JOB
from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.sql import skipped
from jumpgate.client.sql.answer import REPR_S, SHOWN_ROWS, Answer
from jumpgate.client.sql.conforming import conformed
from jumpgate.client.sql.errors import RAISED
from jumpgate.client.sql.explain import Timings, explain_data, explain_text
from jumpgate.client.sql.plan import Cut, Parameters, Plan, Split
from jumpgate.client.sql.stopping import thread
from jumpgate.dataflow.file_state import check_unchanged, file_states
from jumpgate.errors import BuildError, CannotPlace, ComputeError, DataError, InvalidDataflow, JumpgateError, TimedOut

if TYPE_CHECKING:
    import pandas
    import polars

    from jumpgate.client.result import Result
    from jumpgate.client.sql.workspace import Opened, Workspace

#: rows of a batch that DuckDB computes
BATCH_ROWS = 64 << 10
#: errors of a job for which DuckDB may have another road, or an error of its own
_LEFT = (CannotPlace, ComputeError, DataError, InvalidDataflow)

T = TypeVar("T")


class Query(Answer):
    """A query over a connection's tables. Take the whole result, or iterate `batches()`, which runs it each time.

    It is an Arrow stream to whatever takes one (`polars.DataFrame(query)`). Dropping, closing or leaving it (it is a
    context manager) cancels what still runs.
    """

    def __init__(
        self, workspace: Workspace, plan: Plan, opened: Opened | None = None, table: pa.Table | None = None
    ) -> None:
        """opened: the tables as the plan found them; without them they are found anew. table: what a statement that ran
        left."""
        self.text, self.types, self.schema = plan.text, plan.types, plan.schema
        self.timings = Timings()
        self._workspace, self._plan, self._opened = workspace, plan, opened
        self._table, self._is_statement = table, table is not None
        self._stop = workspace.stop()
        self._results: list[Result] = []
        self._read_jobs: list[str] = []
        self._reading = False
        self._begun: Iterator[pa.RecordBatch] | None = None

    @property
    def split(self) -> Split:
        """The parts that run as jobs, and those that DuckDB computes, with the reasons."""
        return self._plan.split

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
            if skipped.may_skip(self._plan.tables):
                skipped.warn(self._workspace.session, self.jobs)
        finally:
            self._cancel()
            self._reading = False

    def _begin(self) -> None:
        """Compute the first rows; `batches`, or who takes the result first, goes on from there."""
        if self._table is None:
            batches = self.batches()
            first = next(batches, None)
            self._begun = iter(()) if first is None else itertools.chain([first], batches)

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
        with Query(self._workspace, self._plan) as query:
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
                self._learn(math.inf)
                raise
            self._learn(self.timings.total_s)
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
            return explain_text(self._plan, self._workspace, self.jobs, self.timings)
        return explain_text(self._plan, self._workspace)

    def explain_data(self) -> dict[str, Any]:
        """Explain the same as data, with the jobs and times of the last run."""
        return explain_data(self._plan, self._workspace, self.jobs, self.timings)

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
        if self._opened is not None:
            self._opened.close()

    def _learn(self, seconds: float) -> None:
        """Note how long the query took that was read to its end without a pause; infinity: it failed."""
        self._workspace.auto.experience.note(self.text, JOB if self.split.offloaded else HERE, seconds)

    def _open(self) -> Opened:
        """Return the tables, opened once more if the text has run before."""
        if self._opened is None:
            self._opened = self._workspace.open(self.text)
        return self._opened

    def _write_objects(self, name: str, **options: Any) -> None:
        with self._workspace.rights():
            super()._write_objects(name, **options)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        return self._workspace.database.cursor()

    def _native(self) -> Any:
        with self._open().seeing() as database:
            relation = database.sql(self.text, params=self._plan.values or None)
            relation.execute()
        return relation

    @property
    def _left(self) -> tuple[type[JumpgateError], ...]:
        """Errors of a job after which DuckDB answers; without a compiler, unless accelerators are asked for."""
        return (*_LEFT, BuildError) if self._plan.mode == "auto" else _LEFT

    def _leave(self, error: JumpgateError) -> None:
        """Leave the query to DuckDB after a job of it failed."""
        self._plan = self._plan.left(f"as a job it failed: {error.message}")

    def _collected(self) -> list[pa.RecordBatch]:
        """All batches; of DuckDB, where a job fails."""
        try:
            return list(self.batches(watched=True))
        except self._left as error:
            if not self.split.cuts:
                raise
            self._leave(error)
            return list(self.batches(watched=True))

    def _answered(self, watched: bool) -> Iterator[pa.RecordBatch]:
        """The batches of the job, or of DuckDB where the job fails before its first one."""
        if self.split.cuts:
            source = self._by_parts() if self.split.text else self._by_job(watched)
            try:
                first = next(source, None)
            except self._left as error:
                self._leave(error)
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
        opened = self._open()
        with opened.seeing() as database, tables_of(self.split.cuts, database, self._run, self._cancel):
            self.timings.jobs_s = time.perf_counter() - start
            self.timings.received_bytes = sum(result.received_bytes for result in self._results)
            yield from conformed(self._read(opened, database, self.split.text, ()), self.schema)

    def _run(self, cut: Cut) -> Result:
        from jumpgate.dataflow.builder import Dataflow

        left_s = self._stop.left_s()
        cut.files.fill()
        self._workspace.data.write(cut.operator)
        with deadline.within(left_s):
            result = self._workspace.session.run(Dataflow(cut.operator), DUCKDB, text=self.text)
        self._results.append(result)
        return result

    def _here(self) -> Iterator[pa.RecordBatch]:
        """DuckDB's answer."""
        opened = self._open()
        if self._workspace.database.is_pinned:  # whatever runs there next would end a stream
            with opened.seeing() as database:
                found = list(self._read(opened, database, self.text, self._plan.values))
            yield from found
            return
        with opened.seeing() as database:
            yield from self._read(opened, database, self.text, self._plan.values)
        self._workspace.keep(opened)
        self._opened = None

    def _read(
        self, opened: Opened, database: duckdb.DuckDBPyConnection, text: str, values: Parameters
    ) -> Iterator[pa.RecordBatch]:
        """DuckDB's answer to a text; a file that changes meanwhile is a FileChanged."""
        for scan in opened.scans:
            scan.check(database)
        states = file_states(opened.files)

        def interrupt() -> None:
            opened.close()
            database.interrupt()

        with thread(interrupt) as pool:

            def within(work: Callable[[], T]) -> T:
                try:
                    return self._stop.result(pool.submit(work), interrupt)
                except RAISED:
                    self._stop.left_s()  # it raises what interrupted DuckDB
                    raise

            start = time.perf_counter()
            try:
                reader = within(lambda: database.execute(text, values).to_arrow_reader(BATCH_ROWS))
                while (batch := within(lambda: next(reader, None))) is not None:
                    yield batch
                check_unchanged(states)
            finally:
                self._read_jobs += [job.job for scan in opened.scans for job in scan.jobs]
                opened.close()
            self.timings.rest_s = time.perf_counter() - start
