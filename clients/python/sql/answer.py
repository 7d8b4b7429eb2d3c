"""The result of a query under the names that DuckDB's results have, with its values: a relation of DuckDB's over the
rows that came, whoever computed them."""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import pyarrow as pa

from jumpgate import extras
from jumpgate.client.duckdb.answers import relation_over
from jumpgate.client.sql.errors import RAISED, typed
from jumpgate.client.sql.stopping import Stop, thread
from jumpgate.client.sql.tokens import quoted
from jumpgate.errors import InvalidDataflow, JumpgateError, Overflow
from jumpgate.stores.names import is_remote

if TYPE_CHECKING:
    import pandas
    import polars

#: rows that `show` looks at, as DuckDB does; it counts no others
SHOWN_ROWS = 10_000
#: seconds that a repr may wait for rows
REPR_S = 2.0
#: rows that become Python values at once
FETCHED_ROWS = 2048

#: types whose values Arrow does not hold, as DuckDB hands them out
LOST = re.compile(
    r"\b(UHUGEINT|TIME WITH TIME ZONE|BIT|VARIANT)\b|\bSTRUCT\((\w+[](),[]|TIME(STAMP)? WITH )"  # without names
)

Row = tuple[Any, ...]
T = TypeVar("T")


class Answer(ABC):
    """A result of that schema. `fetchone` and `fetchmany` read on in it; everything else takes it as a
    whole."""

    schema: pa.Schema
    types: list[str]
    _stop: Stop
    _fetched: Iterator[Row] | None = None

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The whole result."""

    @abstractmethod
    def batches(self, *, watched: bool = False) -> Iterator[pa.RecordBatch]:
        """The result as it arrives."""

    @abstractmethod
    def peek(self, rows: int, within_s: float | None = None) -> pa.Table:
        """At most so many of the first rows. Raises TimedOut."""

    @abstractmethod
    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor of the database, whose types the result may have."""

    @abstractmethod
    def _native(self) -> Any:
        """DuckDB's relation of the query, computed."""

    @abstractmethod
    def close(self) -> None:
        """Cancels what still runs."""

    @property
    def columns(self) -> list[str]:
        """Names of the result's columns, in order; they may repeat."""
        names: list[str] = self.schema.names
        return names

    @property
    def description(self) -> list[tuple[Any, ...]]:
        """Describe each column as PEP 249 has it, with DuckDB's type."""
        pairs = zip(self.columns, self.types, strict=True)
        nulls = ", ".join(f"CAST(NULL AS {type}) AS {quoted(name)}" for name, type in pairs)
        try:
            found: list[tuple[Any, ...]] = self._cursor().sql(f"SELECT {nulls}").description if nulls else []
        except duckdb.ParserException:  # structs without names have types that nobody can write
            found = self._native().description
        return found

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self), len(self.schema)

    def __len__(self) -> int:
        """The number of rows, for which the query runs."""
        rows: int = self.to_arrow().num_rows
        return rows

    def __bool__(self) -> bool:
        return True  # a query is one, whatever it finds

    def fetchone(self) -> Row | None:
        """The next row as Python values; None after the last."""
        if self._fetched is None:
            self._fetched = self.rows()
        return next(self._fetched, None)

    def fetchmany(self, size: int = 1) -> list[Row]:
        """Up to `size` rows more."""
        if self._fetched is None:
            self._fetched = self.rows()
        return list(itertools.islice(self._fetched, size))

    def fetchall(self) -> list[Row]:
        """All rows, or those that are left; then it begins anew."""
        rows, self._fetched = self.rows() if self._fetched is None else self._fetched, None
        return list(rows)

    def fetchnumpy(self) -> dict[str, Any]:
        """Columns as NumPy arrays."""
        found: dict[str, Any] = self._whole().fetchnumpy()
        return found

    def df(self) -> pandas.DataFrame:
        """The whole result as a pandas DataFrame of DuckDB's making. Raises NotInstalled without pandas."""
        with extras.explained():
            import pandas  # noqa: F401

        return self._whole().df()

    fetchdf = to_df = df

    def pl(self) -> polars.DataFrame:
        """The whole result as a polars DataFrame of DuckDB's making. Raises NotInstalled without polars."""
        with extras.explained():
            import polars  # noqa: F401

        found: polars.DataFrame = self._whole().pl()
        return found

    def arrow(self) -> pa.RecordBatchReader:
        """The result as it arrives."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    fetch_record_batch = to_arrow_reader = arrow

    def fetch_arrow_table(self) -> pa.Table:
        """The whole result; as to_arrow."""
        return self.to_arrow()

    to_arrow_table = fetch_arrow_table

    def show(
        self,
        *,
        max_width: int | None = None,
        max_rows: int | None = None,
        max_col_width: int | None = None,
        null_value: str | None = None,
        render_mode: object = None,
    ) -> None:
        """Print the first rows, as many as fit; rows are counted up to 10,000."""
        given: dict[str, object] = {"max_width": max_width, "max_rows": max_rows, "max_col_width": max_col_width}
        given |= {"null_value": null_value, "render_mode": render_mode}
        shown = self._native() if self._is_lost else self._relation(self.peek(max(SHOWN_ROWS, max_rows or 0)))
        shown.show(**{name: value for name, value in given.items() if value is not None})

    def write_parquet(self, file_name: str, **options: Any) -> None:
        """Write the rows, while they arrive, to a Parquet file. options: those of DuckDB's write_parquet, such as
        partition_by, compression, row_group_size. An object, or with partition_by objects, appear when all are written,
        and have these two options alone. Raises InvalidDataflow for others."""
        if is_remote(str(file_name)):
            self._write_objects(str(file_name), **options)
            return
        self._write(lambda relation: relation.write_parquet(str(file_name), **options))

    to_parquet = write_parquet

    def write_csv(self, file_name: str, **options: Any) -> None:
        """Write the rows, while they arrive, to a CSV file. options: those of DuckDB's write_csv, such as sep,
        header."""
        self._write(lambda relation: relation.write_csv(str(file_name), **options))

    to_csv = write_csv

    def write_json(self, file_name: str, *, array: bool = False, compression: str = "auto") -> None:
        """Write the rows, while they arrive, as JSON objects: one a line, or an array of them."""
        name = str(file_name).replace("'", "''")
        kind = compression.replace("'", "''")
        copy = f"COPY (FROM rows) TO '{name}' (FORMAT json, ARRAY {str(array).lower()}, COMPRESSION '{kind}')"
        self._write(lambda relation: relation.query("rows", copy))

    def _write_objects(self, name: str, **options: Any) -> None:
        if other := sorted(options.keys() - {"partition_by", "compression"}):
            raise InvalidDataflow(
                f"write_parquet: '{name}' is in a store, where there is no {other[0]}; leave it out, or write a file"
            )
        if self._is_lost:
            raise InvalidDataflow(f"write_parquet: '{name}' is in a store, where {', '.join(self.types)} has no place")
        from jumpgate.client import writing  # with pyarrow.dataset, which takes time

        given = {"compression": "snappy", **options}
        if given["compression"] == "uncompressed":
            given["compression"] = "none"
        writing.write_parquet(self.batches(watched=True), self.schema, name, **given)

    def _write(self, write: Callable[[Any], object]) -> None:
        """Have DuckDB write the rows. Raises what ended them."""
        if self._is_lost:
            write(self._native())
            return
        failed: list[JumpgateError] = []

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for batch in self.batches(watched=True):
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=carried)
            except JumpgateError as error:
                failed.append(error)
                raise

        carried = pa.schema([(f"c{i}", type) for i, type in enumerate(self.schema.types)])
        cursor = self._cursor()
        reader = pa.RecordBatchReader.from_batches(carried, batches())

        def end() -> None:
            self.close()
            cursor.interrupt()

        try:
            with thread(end) as pool:
                Stop(0).result(pool.submit(lambda: write(self._relation(reader, cursor))), end)
        except RAISED as error:
            raise (failed[0] if failed else typed(error)) from None

    @property
    def _is_lost(self) -> bool:
        return any(map(LOST.search, self.types))

    def _whole(self) -> Any:
        return self._native() if self._is_lost else self._relation(self.to_arrow())

    def rows(self) -> Iterator[Row]:
        """Rows as Python values, while they arrive."""
        if self._is_lost:
            yield from self._native().fetchall()
            return
        cursor = self._cursor()
        for batch in self.batches():
            for start in range(0, batch.num_rows, FETCHED_ROWS):
                yield from self._values(batch.slice(start, FETCHED_ROWS), cursor)

    def _values(self, batch: pa.RecordBatch, cursor: duckdb.DuckDBPyConnection) -> list[Row]:
        """The rows as DuckDB's Python values; it has moments with a zone only beside pytz, Arrow without it."""
        zoned = [i for i, type in enumerate(self.types) if "TIMESTAMP WITH TIME ZONE" in type]
        rest = [i for i in range(len(self.types)) if i not in zoned]
        columns: list[Sequence[Any]] = [()] * len(self.types)
        try:
            for i in zoned:
                columns[i] = batch.column(i).to_pylist()
        except (OverflowError, ValueError, pa.ArrowException) as error:
            raise Overflow(f"a value that Python cannot hold: {error}; to_arrow has it") from error
        if not zoned:
            found: list[Row] = self._relation(pa.Table.from_batches([batch]), cursor).fetchall()
            return found
        if rest:
            part = pa.Table.from_batches([batch.select(rest)])
            names, types = [self.columns[i] for i in rest], [self.types[i] for i in rest]
            values = zip(*relation_over(cursor, part, names, types).fetchall(), strict=True)
            for i, column in zip(rest, values, strict=True):
                columns[i] = column
        return list(zip(*columns, strict=True))

    def _relation(self, rows: Any, cursor: duckdb.DuckDBPyConnection | None = None) -> Any:
        try:
            return relation_over(cursor or self._cursor(), rows, self.columns, self.types)
        except duckdb.Error as error:
            raise typed(error) from error
