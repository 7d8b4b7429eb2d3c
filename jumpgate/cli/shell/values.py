"""Values of a result in DuckDB's notation."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from jumpgate.extras import without_pandas

_lock = threading.Lock()
#: types, besides integers, whose values Python writes as DuckDB does
_PLAIN = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_string, pa.types.is_decimal)


def is_number(type: pa.DataType) -> bool:
    """Return whether values of that type stand at the right of their column."""
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))


def is_plain(type: pa.DataType) -> bool:
    """Return whether Python writes values of that type as DuckDB does."""
    return any(is_of(type) for is_of in _PLAIN)


def texts(table: pa.Table, types: Sequence[str]) -> list[list[str | None]]:
    """The columns of a table, as texts. types: DuckDB's, of the columns."""
    converted = as_varchar(table, types, is_plain, "CAST({} AS VARCHAR)")
    return [[None if value is None else _text(value) for value in column.to_pylist()] for column in converted.columns]


def as_varchar(
    table: pa.Table, types: Sequence[str], is_kept: Callable[[pa.DataType], bool], expression: str
) -> pa.Table:
    """Replace the columns that are not kept by what DuckDB makes of them with this expression of `{}`."""
    others = [i for i, type in enumerate(table.schema.types) if not is_kept(type)]
    if not others:
        return table
    source = pa.table([table.column(i) for i in others], [f"c{i}" for i in others])
    typed = [expression.format(f"CAST(c{i} AS {types[i]})") for i in others]
    with _lock:
        database = _database()
        with without_pandas():
            database.register("shown", source)
        try:
            found = _columns(database, typed, others)
        except duckdb.Error:  # a type that this database does not have
            found = _columns(database, [expression.format(f"c{i}") for i in others], others)
        finally:
            database.unregister("shown")
    columns = list(table.columns)
    for i, column in zip(others, found.columns, strict=True):
        columns[i] = column
    return pa.Table.from_arrays(columns, names=table.column_names)


def _columns(database: duckdb.DuckDBPyConnection, expressions: Sequence[str], places: Sequence[int]) -> pa.Table:
    shown = ", ".join(f"{e} AS c{i}" for e, i in zip(expressions, places, strict=True))
    return database.execute(f"SELECT {shown} FROM shown").to_arrow_table()


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute("SET autoinstall_known_extensions = false; SET autoload_known_extensions = false")
    return found


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value:f}" if hasattr(value, "as_tuple") else str(value)
