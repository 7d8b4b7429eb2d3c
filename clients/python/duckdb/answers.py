"""Results of accelerated texts, as DuckDB hands out its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb.passed import from_carrier
from jumpgate.client.duckdb.types import ZONED, SqlType
from jumpgate.client.sql.tokens import quoted

if TYPE_CHECKING:
    from jumpgate.client.duckdb.connection import Connection

#: they take the whole result, or its first rows
_RESULTS = frozenset((
    "fetchone", "fetchmany", "fetchall", "fetchnumpy", "fetchdf", "fetch_df_chunk", "df", "to_df", "pl", "torch", "tf",
    "arrow", "to_arrow_table", "to_arrow_reader", "fetch_arrow_table", "fetch_arrow_reader", "fetch_record_batch",
    "record_batch", "show", "execute", "write_csv", "to_csv", "write_parquet", "to_parquet", "shape",
))  # fmt: skip


def relation_over(
    connection: duckdb.DuckDBPyConnection,
    rows: pa.Table | pa.RecordBatchReader,
    names: Sequence[str],
    types: Sequence[SqlType | str],
) -> Any:
    """The rows with DuckDB's names and types, in a connection of its own, where no other text sees them. A reader's
    columns are c0, c1 …"""
    if isinstance(rows, pa.Table):
        rows = rows.rename_columns([f"c{i}" for i in range(rows.num_columns)])
    columns = ", ".join(
        f"{from_carrier(f'c{i}', type)} AS {quoted(name)}"
        for i, (name, type) in enumerate(zip(names, types, strict=True))
    )
    cursor = connection.cursor()
    if ZONED in columns:  # a cursor has the zone of the machine
        from jumpgate.client.duckdb.planning import zone_of
        from jumpgate.client.duckdb.written import literal

        cursor.execute(f"SET TimeZone = {literal(zone_of(connection))}")
    cursor.register("answer", rows)
    return cursor.sql(f"SELECT {columns} FROM answer")


def delivered(
    connection: duckdb.DuckDBPyConnection, batches: Iterable[pa.RecordBatch], types: Sequence[SqlType]
) -> Iterator[pa.RecordBatch]:
    """The batches of a job with values of types that a dataflow has in another form as DuckDB hands them out."""
    if not any(type.is_passed for type in types):
        yield from batches
        return
    names = [f"c{i}" for i in range(len(types))]
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        yield from relation_over(connection, rows, names, types).to_arrow_table().to_batches()


def in_sight_of(frame: FrameType, function: Any, *arguments: Any, **named: Any) -> Any:
    """Calls one of DuckDB's functions as if it were called in that frame: DuckDB looks for tables among the variables
    of whoever calls it."""
    own = {"__jumpgate_call__": function, "__jumpgate_arguments__": arguments, "__jumpgate_named__": named}
    seen = {**frame.f_locals, **own}
    text = "__jumpgate_call__(*__jumpgate_arguments__, **__jumpgate_named__)"
    return eval(text, frame.f_globals, seen)  # noqa: S307  a constant


class Query:
    """A query, answered when its result is first asked for. It has what DuckDB's relations have; what makes another
    relation of it, as `filter`, stays in DuckDB."""

    def __init__(self, connection: Connection, text: str, relation: Any) -> None:
        self._connection, self._text, self._relation = connection, text, relation
        self._result: Any = None

    def _answered(self) -> Any:
        if self._result is None:
            found = self._connection.answer(self._text)
            self._result = self._relation if found is None else found
        return self._result

    def __getattr__(self, name: str) -> Any:
        """The relation's, over the answer where it takes rows."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._answered() if name in _RESULTS else self._relation, name)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The result as a stream of Arrow's C interface."""
        return self._answered().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._answered())

    def __repr__(self) -> str:
        return repr(self._answered())

    def __str__(self) -> str:
        return str(self._answered())
