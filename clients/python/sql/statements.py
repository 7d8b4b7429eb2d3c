"""Statements beside queries: DuckDB runs them at once. The rows that one stores may come from a job: those of the
SELECT in CREATE TABLE AS, INSERT and COPY … TO."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from jumpgate.client.sql import skipped
from jumpgate.client.sql.answer import LOST
from jumpgate.client.sql.errors import RAISED, InvalidSql, typed
from jumpgate.client.sql.parsing import kinds_of
from jumpgate.client.sql.plan import Parameters, Plan, left
from jumpgate.client.sql.query import Query
from jumpgate.client.sql.stopping import thread
from jumpgate.client.sql.tables import Scan
from jumpgate.client.sql.tokens import parts_of, quoted
from jumpgate.errors import ComputeError, DataError, JumpgateError

if TYPE_CHECKING:
    from jumpgate.client.sql.planner import Planner
    from jumpgate.client.sql.workspace import Workspace

#: the rows of a job, in the text that stores them
ANSWER = "jumpgate answer"
_QUERIES = frozenset(("SELECT", "WITH", "FROM"))


class Statements:
    """Runs the statements of a connection; they have the deadline of its queries, and its `close` ends them."""

    def __init__(self, workspace: Workspace, planner: Planner) -> None:
        self._workspace, self._planner = workspace, planner

    def answer(self, text: str, values: Parameters, mode: str) -> Query:
        """Run a statement; return its result as that of a query."""
        table, types = self.run(text, values, mode)
        plan = Plan(text, [], mode, types, table.schema, (), left("it is a statement"))
        return Query(self._workspace, plan, table=table)

    def run(self, text: str, values: Parameters, mode: str) -> tuple[pa.Table, list[str]]:
        """Run a statement, or a query that is not the last of its text; return the result with DuckDB's types. values:
        of parameters. Raises InvalidSql and what the statement raises."""
        kind = kinds_of(text)[-1]
        try:
            span = stored_query(text, kind) if mode != "never" and not values else None
            stored = None if span is None else self._stored(text, span, mode)
            found = stored or self._execute(text, lambda database: database.execute(text, values or None))
        except BaseException as error:
            if kind == "TRANSACTION" or not isinstance(error, InvalidSql):  # it may have done its work
                self._workspace.ran(kind, text)
            raise
        self._workspace.ran(kind, text)
        return found

    def _stored(self, text: str, span: tuple[int, int], mode: str) -> tuple[pa.Table, list[str]] | None:
        """The result of a statement that stores what a job computes; None where DuckDB is to compute it."""
        start, end = span
        try:
            query = Query(self._workspace, *self._planner.plan(text[start:end], (), mode))
        except JumpgateError:
            return None  # DuckDB says what is wrong with the whole
        with query:
            if not query.split.cuts:
                return None
            if self._workspace.database.in_transaction:  # which must not fail where DuckDB has another road
                batches: Iterator[pa.RecordBatch] = iter(query.to_arrow().to_batches())
            else:
                batches = query.batches(watched=True)
                first = next(batches, None)
                batches = itertools.chain([] if first is None else [first], batches)
            if not query.split.cuts:  # the job failed, and DuckDB would compute the rows one by one
                return None
            answer = _Answer(query, batches)
            stored = f"{text[:start]}{answer.text}{text[end:]}"
            try:
                return self._execute(stored, lambda database: _with(database, answer, stored), (answer,))
            except (ComputeError, DataError):
                if answer.error is None:
                    raise
                return None

    def _execute(
        self,
        text: str,
        work: Callable[[duckdb.DuckDBPyConnection], object],
        more: Iterable[_Answer] = (),
    ) -> tuple[pa.Table, list[str]]:
        workspace = self._workspace
        scans, stop = workspace.scans(text), workspace.stop()
        stop.begin()
        try:
            with workspace.database.seeing(scans) as database:

                def interrupt() -> None:
                    _end([*scans, *more], database)

                with thread(interrupt) as pool:
                    found = stop.result(pool.submit(lambda: _result(database, work)), interrupt)
            if skipped.may_skip(scan.table for scan in scans):
                skipped.warn(workspace.session, [job.job for scan in scans for job in scan.jobs])
            return found
        except RAISED as error:
            stop.left_s()  # it raises what interrupted DuckDB
            sources: list[Scan | _Answer] = [*scans, *more]
            raise next((s.error for s in sources if s.error is not None), None) or typed(error) from error
        finally:
            for scan in scans:
                scan.close()


class _Answer:
    """The rows of a query's job for DuckDB, in the place of its text; `error` is what ended them."""

    def __init__(self, query: Query, batches: Iterator[pa.RecordBatch]) -> None:
        self.error: JumpgateError | None = None
        self._query, self._batches = query, batches
        self._schema = pa.schema([(f"c{i}", type) for i, type in enumerate(query.schema.types)])
        columns = ", ".join(
            f"CAST(c{i} AS {type}) AS {quoted(name)}"
            for i, (name, type) in enumerate(zip(query.columns, query.types, strict=True))
        )
        self.text = f"SELECT {columns} FROM {quoted(ANSWER)}"

    def reader(self) -> pa.RecordBatchReader:
        """The rows, once."""
        return pa.RecordBatchReader.from_batches(self._schema, self._renamed())

    def close(self) -> None:
        """End the job."""
        self._query.close()

    def _renamed(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=self._schema)
        except JumpgateError as error:
            self.error = error
            raise


def stored_query(text: str, kind: str) -> tuple[int, int] | None:
    """Return where the SELECT begins and ends whose rows a statement stores; None if it has none that stands alone.

    >>> text = "COPY (SELECT 1) TO 'x.parquet'"
    >>> text[slice(*stored_query(text, "COPY"))]
    'SELECT 1'
    """
    parts, words = parts_of(text)
    while words and words[-1] == ";":
        parts, words = parts[:-1], words[:-1]
    depths = list(itertools.accumulate((word == "(") - (word == ")") for word in words))
    if kind == "COPY":
        closing = depths.index(0, 2) if words[1:2] == ["("] and 0 in depths[2:] else len(words)
        if words[closing + 1 : closing + 2] != ["TO"]:
            return None
        first, last = 2, closing - 1
    else:
        made = kind == "CREATE" and "TABLE" in words[1:4]
        if not made and (kind != "INSERT" or words[:1] != ["INSERT"]):
            return None
        outer = [i for i, depth in enumerate(depths) if depth == 0 and i > 1]
        first = (
            next((i + 1 for i in outer if words[i] == "AS"), 0)
            if made
            else next((i for i in outer if words[i] in _QUERIES), 0)
        )
        last = len(words) - 1
    if not first or words[first : first + 1] == [] or words[first] not in _QUERIES:
        return None
    start, end = parts[first].start, parts[last].end
    try:
        return (start, end) if kinds_of(text[start:end]) == ["SELECT"] else None
    except InvalidSql:
        return None


def _with(database: duckdb.DuckDBPyConnection, answer: _Answer, text: str) -> None:
    database.register(ANSWER, answer.reader())
    try:
        database.execute(text)
    finally:
        database.unregister(ANSWER)


def _result(
    database: duckdb.DuckDBPyConnection, work: Callable[[duckdb.DuckDBPyConnection], object]
) -> tuple[pa.Table, list[str]]:
    work(database)
    if not database.description:
        return pa.table({}), []
    types = [str(type) for _, type, *_ in database.description]
    if any(map(LOST.search, types)):  # texts of the values, then
        names = [name for name, *_ in database.description]
        rows = [[None if value is None else str(value) for value in row] for row in database.fetchall()]
        schema = pa.schema([(name, pa.string()) for name in names])
        columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(names))]
        return pa.Table.from_arrays(columns, schema=schema), ["VARCHAR"] * len(names)
    return database.to_arrow_table(), types


def _end(sources: Iterable[Scan | _Answer], database: duckdb.DuckDBPyConnection) -> None:
    for source in sources:
        source.close()
    database.interrupt()
