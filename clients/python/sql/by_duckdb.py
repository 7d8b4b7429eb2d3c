"""Queries that DuckDB plans, because DataFusion cannot or would be wrong: a plan that is a dataflow runs as a job, and
DuckDB answers the others, over the tables of a connection as Arrow streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar, cast

import duckdb
import pyarrow as pa

from jumpgate import errors
from jumpgate.client.duckdb.decide import SMALL, Auto, small
from jumpgate.client.duckdb.planning import DUCKDB, Offloaded
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.sources import Files
from jumpgate.client.spool import Spool
from jumpgate.client.sql.cuts import Cut, Kept, Split
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.frontend import Parameters, Planned, parameter_values, quoted
from jumpgate.client.sql.logical.nodes import Node
from jumpgate.client.sql.logical.plan_pb2 import Plan
from jumpgate.client.sql.query import Query, Refused, conformed
from jumpgate.client.sql.table_scans import as_read, find, opened
from jumpgate.dataflow import located
from jumpgate.dataflow.file_state import check_unchanged, file_states
from jumpgate.errors import CannotPlace, ComputeError, DataError, JumpgateError

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

#: rows of a batch of the result
BATCH_ROWS = 64 << 10

_WAY_OUT = "with offload='auto' or 'never' DuckDB answers"
#: the place of an error in a text below one line more
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)
_SELECT, _CREATE = duckdb.StatementType.SELECT, duckdb.StatementType.CREATE

T = TypeVar("T")
_ERRORS: tuple[tuple[type[Exception], type[JumpgateError]], ...] = (
    (duckdb.ConversionException, errors.InvalidCast),
    (duckdb.OutOfRangeException, errors.Overflow),
    (duckdb.OutOfMemoryException, errors.MemoryLimit),
    (duckdb.InterruptException, errors.Cancelled),
    (duckdb.ProgrammingError, InvalidSql),
    (duckdb.NotSupportedError, InvalidSql),
)


class DuckdbQuery(Query):
    """A query that DuckDB plans, and `reason` says why; it runs as one job, or as a whole in DuckDB."""

    planner, dialect = "DuckDB", DUCKDB

    def __init__(self, connection: Connection, text: str, parameters: Parameters, mode: str, reason: str) -> None:
        self.reason = reason
        self._values = _values(parameters)
        self._scans = find(connection, text)
        with closing(opened(self._scans, connection)) as database:
            schema, types = _described(database, text, self._values)
        planned = Planned(
            text, Node(Plan(), cast(Any, None), connection.local), schema, (), f"DuckDB: {reason}", unencoded=reason
        )
        super().__init__(connection, planned, Split(None), mode, parameters)
        self._files: Files | None = None
        try:
            self.split = _as_job(self._offload(types), schema)
        except Stays as stays:
            if mode == "always":
                raise CannotPlace(f"{reason}, and DuckDB's plan is not offloaded: {stays}; {_WAY_OUT}") from None
            self._leave(str(stays))

    def explain(self, analyze: bool = False) -> str:
        if analyze:
            self.to_arrow()
        if self.split.offloaded:
            return super().explain(analyze)
        said = f"DuckDB answers the whole query here: {self.split.kept[0].reason}\n"
        said += "Offloaded: 0 of 1 operator, in 0 jobs\n"
        return said + (
            f"Run\n  rows {self.timings.rows}, total {1e3 * self.timings.total_s:.1f} ms\n" if analyze else ""
        )

    def _offload(self, types: list[str]) -> Offloaded:
        """The text as a dataflow that is to run, with a result of these types. Raises Stays."""
        connection = self._connection
        if self._mode == "never":
            raise Stays("offload = never")
        tables = [(scan.table, pa.schema([as_read(f) for f in scan.table.schema])) for scan in self._scans]
        found = connection.stand_ins.offload(self.text, self._values, tables)
        self._files = found.files
        if [str(type) for type in found.types] != types:
            raise Stays("the result would have other types")
        if self._mode == "always":
            return found
        if not any(located.hosts(list(found.files.files))) and small(found.files.files):
            raise Stays(SMALL)
        found.files.fill()
        reason = Auto(connection.experience).reason(self.text, found, connection.session)
        if reason:
            raise Stays(reason)
        return found

    def _leave(self, why: str) -> None:
        """To DuckDB."""
        if self._files is not None:
            self._files.close()
        said = self.reason if self._mode == "never" else f"{self.reason}; {why}"
        self.split = Split(None, kept=[Kept("query", said)], whole=True)

    def _placed(self, watched: bool) -> Iterator[pa.RecordBatch]:
        if self.split.offloaded:
            with Spool(self._connection.spool_folder()) as spool:
                if self._run_into(spool, watched):
                    with pa.memory_map(spool.path) as file:
                        reader = pa.ipc.open_file(file)
                        yield from map(reader.get_batch, range(reader.num_record_batches))
                    return
        yield from self._here()

    def _run_into(self, spool: Spool, watched: bool) -> bool:
        """Runs the job to its end: False if it found what DuckDB has an error or another road for."""
        (cut,) = self.split.cuts
        try:
            assert self._files is not None
            self._files.fill()
            result = self._run(cut)
            spool.fill(self.schema, conformed(result.batches(watched=watched), self.schema))
            self.timings.received_bytes = result.received_bytes
            return True
        except Refused as refused:
            if self._mode == "always":
                raise refused.error from None
            why = refused.error.message
        except (ComputeError, DataError) as error:
            why = error.message
        self._leave(f"as a job it failed: {why}")
        return False

    def _here(self) -> Iterator[pa.RecordBatch]:
        database = opened(self._scans, self._connection)
        states = file_states(file for scan in self._scans if scan.reads_files for file in scan.files)
        with ThreadPoolExecutor(1, "jumpgate-duckdb") as pool:

            def within(work: Callable[[], T]) -> T:
                try:
                    return self._stop.result(pool.submit(work), self._interrupt(database))
                except (duckdb.Error, pa.ArrowException) as error:
                    self._stop.left_s()  # it raises what interrupted DuckDB
                    raise self._typed(error) from error

            try:
                for scan in self._scans:
                    scan.check_pages()
                reader = within(lambda: database.execute(self.text, self._values).to_arrow_reader(BATCH_ROWS))
                while (batch := within(lambda: next(reader, None))) is not None:
                    yield batch
                check_unchanged(states)
            finally:
                self._end_scans()
                database.close()

    def _interrupt(self, database: duckdb.DuckDBPyConnection) -> Callable[[], None]:
        def interrupt() -> None:
            self._end_scans()
            database.interrupt()

        return interrupt

    def _end_scans(self) -> None:
        for scan in self._scans:
            scan.close()

    def close(self) -> None:
        super().close()
        self._end_scans()
        if self._files is not None:
            self._files.close()

    def _typed(self, error: Exception) -> JumpgateError:
        failed = next((scan.error for scan in self._scans if scan.error is not None), None)
        return failed or typed(error)


def typed(error: Exception) -> JumpgateError:
    """Return the typed error of what DuckDB, or the reader of its result, raised."""
    said = str(error)
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs) or said.startswith(f"Invalid: {theirs.__name__.removesuffix('Exception')}"):
            return ours(f"DuckDB: {said}")
    return errors.ComputeError(f"DuckDB: {said}")


def _as_job(found: Offloaded, schema: pa.Schema) -> Split:
    operators = {id(node) for node in found.operator.walk()}
    return Split(None, [Cut(found.operator, schema, len(operators))])


def _described(database: duckdb.DuckDBPyConnection, text: str, values: Any) -> tuple[pa.Schema, list[str]]:
    """The schema of the result, which is not computed, and DuckDB's types; names may repeat."""
    try:
        kinds = [statement.type for statement in database.extract_statements(text)]
    except duckdb.Error as error:
        raise typed(error) from error
    if kinds[-1:] != [_SELECT] or any(kind != _CREATE for kind in kinds[:-1]):  # a PIVOT creates types first
        raise InvalidSql("the text is not one query")
    try:
        columns = database.execute(f"DESCRIBE\n{text}", values).fetchall()
        shown = ", ".join(f"CAST(NULL AS {type}) AS {quoted(name)}" for name, type, *_ in columns)
        schema = database.execute(f"SELECT {shown} LIMIT 0").to_arrow_table().schema
        return schema, [type for _, type, *_ in columns]
    except duckdb.Error as error:
        raise type(found := typed(error))(_LINE.sub(_line_above, found.message)) from error


def _line_above(match: re.Match[str]) -> str:
    return f"LINE {int(match[1]) - 1}:".ljust(len(match[0]))


def _values(parameters: Parameters) -> dict[str, Any] | list[Any]:
    """As DuckDB takes them. Raises InvalidSql."""
    found = {name: scalar.as_py() for name, scalar in (parameter_values(parameters) or {}).items()}
    return found if isinstance(parameters, Mapping) else list(found.values())
