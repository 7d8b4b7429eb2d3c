"""One SQL query: planned when it is made, executed when its result is asked for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import datafusion
import pyarrow as pa
import pyarrow.compute as pc

from jumpgate import deadline, extras
from jumpgate.client import notebook
from jumpgate.client.spool import Spool
from jumpgate.client.sql import local
from jumpgate.client.sql.cuts import CUT, DATA, Cut, Split, scans
from jumpgate.client.sql.explain import Timings, explain_text
from jumpgate.client.sql.frontend import Parameters, Planned
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.stopping import Stop
from jumpgate.converters import probe
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import DATAFUSION
from jumpgate.dataflow.file_state import check_unchanged, file_states
from jumpgate.dataflow.operators import Read
from jumpgate.errors import Cancelled, CannotPlace, InvalidCast, InvalidDataflow, JumpgateError

if TYPE_CHECKING:
    import pandas
    import polars

    from jumpgate.client.result import Result
    from jumpgate.client.session import Session
    from jumpgate.client.sql.connection import Connection

#: jobs of one query that run at the same time; the others wait
JOBS_AT_ONCE = 4


class Refused(Exception):
    """No accelerator takes a cut."""

    def __init__(self, cut: Cut, error: JumpgateError) -> None:
        super().__init__(error.message)
        self.cut, self.error = cut, error


class Query:
    """A query over a connection's tables. Take the whole result, or iterate `batches()`, which runs it each time.

    It is an Arrow stream to whatever takes one (`polars.DataFrame(query)`). Dropping, closing or leaving it (it is a
    context manager) cancels what still runs.
    """

    #: who planned it, and what its dataflows mean
    planner, dialect = "DataFusion, optimised", DATAFUSION

    def __init__(
        self, connection: Connection, planned: Planned, split: Split, mode: str, parameters: Parameters
    ) -> None:
        self.text = planned.text
        self.schema: pa.Schema = planned.schema
        self._mode, self._parameters = mode, parameters
        self.planned = planned
        self.split = split
        self.timings = Timings()
        self._connection = connection
        self._results: list[Result] = []
        self._table: pa.Table | None = None
        self._reading = False
        self._stop = Stop(connection.timeout_s)

    @property
    def columns(self) -> list[str]:
        """Names of the result's columns, in order; they may repeat."""
        names: list[str] = self.schema.names
        return names

    @property
    def jobs(self) -> tuple[str, ...]:
        """Ids of the jobs that ran for it so far."""
        return tuple(result.job for result in self._results)

    def batches(self, *, watched: bool = False) -> Iterator[pa.RecordBatch]:
        """The result as it arrives; ends normally only if it is complete, else raises the error that ended it.
        watched: as in jumpgate.client.result.Result.batches."""
        if self._table is not None:
            yield from self._table.to_batches()
            return
        if self._reading:
            raise ValueError("this query's batches are being read; finish that, or plan the query once more")
        self._reading = True
        self._stop.begin()
        start = time.perf_counter()
        self.timings = Timings(planning_s=self.timings.planning_s)
        self._results.clear()
        try:
            for batch in conformed(self._placed(watched), self.schema):
                self.timings.first_batch_s = self.timings.first_batch_s or time.perf_counter() - start
                self.timings.rows += batch.num_rows
                if batch.num_rows:
                    yield batch
            self.timings.total_s = time.perf_counter() - start
        finally:
            self._cancel()
            self._reading = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The result as a stream of Arrow's C interface, which runs the query unless the whole result is there."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(f"{field.name} {field.type}" for field in self.schema)
        return f"Query({' '.join(self.text.split())!r}: {columns})"

    def _repr_html_(self) -> str:
        """For notebooks: the first rows, for which the query runs as far as it must, and what runs where."""
        if self._table is not None:
            shown, more = self._table.slice(0, notebook.ROWS_SHOWN), self._table.num_rows > notebook.ROWS_SHOWN
        else:
            with self._connection.sql(self.text, self._parameters, offload=self._mode) as peek:
                shown, more = notebook.first_rows(peek.batches(), self.schema)
        return notebook.rows(shown, more) + notebook.folded("what runs where", self.explain())

    def to_arrow(self) -> pa.Table:
        """The whole result."""
        if self._table is None:
            try:
                batches = list(self.batches(watched=True))
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

    def _run(self, cut: Cut) -> Result:
        left_s = self._stop.left_s()
        self._connection.write_data(cut)
        try:
            with deadline.within(left_s):
                result = self._connection.session.run(Dataflow(cut.operator), self.dialect, text=self.text)
        except (CannotPlace, InvalidDataflow) as error:
            raise Refused(cut, error) from error
        self._results.append(result)
        return result

    def _placed(self, watched: bool) -> Iterator[pa.RecordBatch]:
        """The result's batches; what no accelerator here takes is found out by asking, and stays with DataFusion."""
        while True:
            offloaded = self.split.rest is None and not self.split.whole
            source = self._offloaded(watched) if offloaded else self._finished_here()
            try:
                first = next(source, None)
            except Refused as refused:
                if refused.cut.operators == 0:  # what only reads can be done by nobody else
                    raise refused.error from None
                self.split = self._connection.refuse(self.planned, self._mode, refused.cut.operator, refused.error)
                continue
            if first is not None:
                yield first
                yield from source
            return

    def _offloaded(self, watched: bool) -> Iterator[pa.RecordBatch]:
        (cut,) = self.split.cuts
        start = time.perf_counter()
        result = self._run(cut)
        for batch in result.batches(watched=watched):
            self.timings.received_bytes = result.received_bytes
            yield batch
        self.timings.jobs_s = time.perf_counter() - start

    def _finished_here(self) -> Iterator[pa.RecordBatch]:
        """Spools every cut, all at the same time, then lets DataFusion do the rest over them; a file that changes
        meanwhile is a FileChanged."""
        states = file_states(self._connection.files(self.planned))
        self._connection.check_columns(self.planned, states)
        self._connection.check_pages(self.planned, self.split)
        try:
            yield from self._spooled_and_finished()
        except JumpgateError:
            check_unchanged(states)
            raise
        check_unchanged(states)

    def _spooled_and_finished(self) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            folder = self._connection.spool_folder()
            spools = [stack.enter_context(Spool(folder)) for _ in self.split.cuts]
            start = time.perf_counter()
            self._spool(spools)
            self.timings.jobs_s = time.perf_counter() - start
            self.timings.received_bytes = sum(spool.bytes for spool in spools)
            start = time.perf_counter()
            paths = dict(zip(map(id, self.split.cuts), (spool.path for spool in spools), strict=True))
            yield from local.stream(self._whole(paths) if self.split.whole else self._rest(paths), self._stop)
            self.timings.rest_s = time.perf_counter() - start

    def _rest(self, paths: dict[int, str]) -> datafusion.DataFrame:
        """DataFusion's part of the plan, over the spooled results of the cuts."""
        rest = pb.Plan()
        assert self.split.rest is not None
        rest.CopyFrom(self.split.rest)
        for scan in scans(rest):
            path = scan.paths[0]
            if path.startswith(CUT):
                scan.paths[0] = f"file://{paths[id(self.split.cuts[int(path.removeprefix(CUT))])]}"
            elif path.startswith(DATA):
                scan.paths[0] = f"file://{self._connection.data_path(path.removeprefix(DATA))}"
        return local.decoded(self._connection.local, rest)

    def _whole(self, paths: dict[int, str]) -> datafusion.DataFrame:
        """The text in DataFusion, over tables of which some were read by jobs."""
        tables = {name: paths[id(cut)] for name, cut in self.split.reads.items()}
        return self._connection.whole(self.planned, self._parameters, tables)

    def _spool(self, spools: list[Spool]) -> None:
        def fill(cut: Cut, spool: Spool) -> None:
            try:
                spool.fill(cut.schema, conformed(self._run(cut).batches(watched=True), cut.schema))
            except (JumpgateError, Refused):
                self._cancel()  # the other jobs' results are of no use any more
                raise

        if not spools:
            return
        with ThreadPoolExecutor(JOBS_AT_ONCE, "jumpgate-cut") as pool:
            tasks = [pool.submit(fill, cut, spool) for cut, spool in zip(self.split.cuts, spools, strict=True)]
            try:
                wait(tasks)
            except BaseException:  # interrupted: the threads end when their jobs do
                self.close()
                raise
        errors = [error for task in tasks if (error := task.exception()) is not None]
        if errors:
            raise next((e for e in errors if not isinstance(e, Cancelled)), errors[0])


def conformed(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches with the names and types of `schema`; a value that does not fit is an InvalidCast."""
    known, conform = schema, _conforming(schema, schema)
    for batch in batches:
        if not batch.schema.equals(known, check_metadata=True):
            known = batch.schema
            conform = _conforming(known, schema)
        yield conform(batch)


def _conforming(known: pa.Schema, schema: pa.Schema) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Return a function that makes batches of one schema such of the other; wide ones that differ in names are not
    looked at column by column."""
    if known.equals(schema, check_metadata=True) or not (known.names or schema.names):
        return lambda batch: batch
    pairs, names = list(zip(known, schema, strict=True)), schema.names
    if known.metadata == schema.metadata and all(
        theirs.with_name(ours.name).equals(ours, check_metadata=True) for theirs, ours in pairs
    ):
        return lambda batch: batch.rename_columns(names)
    casts = [(i, ours) for i, (theirs, ours) in enumerate(pairs) if theirs.type != ours.type]

    def conform(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = batch.columns
        for i, field in casts:
            try:
                columns[i] = pc.cast(columns[i], field.type)
            except pa.ArrowInvalid as error:
                raise InvalidCast(f"column '{field.name}': {error}", column=field.name) from None
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return conform
