"""Functions of installed packages in DuckDB, which computes them by their reference bodies where they stay there."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.function import Function
from jumpgate.dataflow.functions import apply, installed
from jumpgate.dataflow.signatures import Exactly
from jumpgate.dataflow.types import DataType
from jumpgate.ntf.codec import arrow_type


def register(database: duckdb.DuckDBPyConnection) -> None:
    """Gives a database those that have an SQL name; names that DuckDB knows stay its own."""
    for name, function in installed("sql").items():
        if not _is_known(database, name):
            body, wanted, result = _udf(function)
            database.create_function(
                name, body, [_type(database, t) for t in wanted], _type(database, result), type="arrow",
                null_handling="special",
            )  # fmt: skip


def _is_known(database: duckdb.DuckDBPyConnection, name: str) -> bool:
    found = database.execute("SELECT count(*) FROM duckdb_functions() WHERE function_name = $1", [name]).fetchone()
    return bool(found and found[0])


def _udf(function: Function) -> tuple[Callable[..., pa.ChunkedArray], list[DataType], DataType]:
    assert isinstance(function.operands, Exactly), "what an installed function with an SQL name has"
    wanted = tuple(t.with_nullable(True) for t in function.operands.wanted)
    result = function.type_of(tuple(ColumnRef(t, i) for i, t in enumerate(wanted)))
    out = function.sql_type or result

    def compute(*columns: pa.ChunkedArray) -> pa.ChunkedArray:
        rows = zip(*(c.to_pylist() for c in columns), strict=True)
        return pa.array([apply(function.name, wanted, result, DUCKDB, row) for row in rows], arrow_type(out))

    return compute, list(wanted), out


def _type(database: duckdb.DuckDBPyConnection, type: DataType) -> object:
    empty = pa.schema([("c", arrow_type(type))]).empty_table()
    return database.from_arrow(empty).types[0]
