"""Functions of installed packages in DuckDB, which computes them by their reference bodies where they stay there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from jumpgate import plugins
from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.function import GROUP, Function
from jumpgate.dataflow.signatures import Exactly
from jumpgate.dataflow.types import DataType
from jumpgate.ntf.arrow_types import arrow_type


@functools.cache
def added() -> dict[str, Function]:
    """Return the functions of packages by SQL name, without names that are DuckDB's own."""
    if not plugins.installed(GROUP):
        return {}
    from jumpgate.dataflow.functions import installed

    found = dict(installed("sql"))
    if found:
        with duckdb.connect() as database:
            known = database.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
        for (name,) in known:
            found.pop(name, None)
    return found


def register(database: duckdb.DuckDBPyConnection) -> None:
    """Gives a database the functions of packages."""
    for name, function in added().items():
        body, wanted, result = _udf(function)
        types = [_type(database, t) for t in wanted]
        database.create_function(
            name, body, types, _type(database, result), type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )  # fmt: skip


def _udf(function: Function) -> tuple[Callable[..., pa.ChunkedArray], list[DataType], DataType]:
    assert isinstance(function.operands, Exactly), "what an installed function with an SQL name has"
    wanted = tuple(t.with_nullable(True) for t in function.operands.wanted)
    result = function.type_of(tuple(ColumnRef(t, i) for i, t in enumerate(wanted)))

    from jumpgate.dataflow.functions import apply

    def compute(*columns: pa.ChunkedArray) -> pa.ChunkedArray:
        rows = zip(*(c.to_pylist() for c in columns), strict=True)
        return pa.array([apply(function.name, wanted, result, DUCKDB, row) for row in rows], arrow_type(result))

    return compute, list(wanted), result


def _type(database: duckdb.DuckDBPyConnection, type: DataType) -> Any:
    empty = pa.schema([("c", arrow_type(type))]).empty_table()
    return database.from_arrow(empty).types[0]
