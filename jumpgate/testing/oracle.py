"""The oracle: runs a dataflow in DuckDB, and compares a result with it, ties and floating point included.

expected = oracle.run(root)
oracle.assert_same(actual, root)
"""

from __future__ import annotations

import decimal as pydecimal
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset

from jumpgate.converters.arrow_values import values
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Limit, Operator, Send, Shuffle, Sort
from jumpgate.dataflow.types import Schema
from jumpgate.errors import ConfigError
from jumpgate.ntf.codec import arrow_type
from jumpgate.testing.sql import Translator, to_sql

__all__ = ["arrow_schema", "arrow_type", "assert_same", "difference", "run", "to_sql", "values"]

Row = tuple[Any, ...]
#: relative difference of floats that different orders of addition may explain
TOLERANCE = 1e-9


def arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([pa.field(f.name, arrow_type(f.type)) for f in schema])


@cache
def _database(process: int, threads: int) -> duckdb.DuckDBPyConnection:
    """Return a database of this process: to make one takes longer than most queries. It keeps nothing of files."""
    config: dict[str, Any] = {"enable_external_file_cache": False}
    return duckdb.connect(config=config | ({"threads": threads} if threads else {}))


def run(root: Operator, dialect: Dialect = DEFAULT, threads: int = 0) -> pa.Table:
    """The dataflow's result as DuckDB computes it, with the dataflow's names and types. Raises duckdb.Error."""
    translator = Translator(dialect)
    statement = translator.statement(root)
    with _database(os.getpid(), threads).cursor() as connection:
        for i, read in enumerate(translator.datasets):
            kind = formats()[read.format].dataset
            if not kind:
                raise ConfigError(
                    f"format '{read.format}' declares neither `duckdb` nor `dataset`: nothing reads it here"
                )
            files = pyarrow.dataset.dataset(list(read.files), format=kind)
            connection.register("arrow", files.to_table())  # an Arrow scan lacks some filters
            connection.execute(f"CREATE TEMP TABLE dataset_{i} AS SELECT * FROM arrow")
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.sql(statement).to_arrow_table()
    schema = root.schema
    columns = [found.column(i).cast(arrow_type(f.type)) for i, f in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


def assert_same(actual: pa.Table, root: Operator, dialect: Dialect = DEFAULT, tolerance: float = TOLERANCE) -> None:
    """Fails with the first difference between `actual` and what DuckDB computes."""
    found = difference(actual, root, dialect, tolerance)
    assert not found, f"{found}\n{to_sql(root, dialect)}"


def difference(actual: pa.Table, root: Operator, dialect: Dialect = DEFAULT, tolerance: float = TOLERANCE) -> str:
    """Return the problem of `actual`; empty if the dataflow allows that answer.

    A sort fixes the order of rows up to ties; a top-n or limit at the root may cut ties anywhere. A limit or top-n
    below the root must not cut ties: its result would be undefined.
    """
    while isinstance(root, Send | Shuffle):
        root = root.input
    if not actual.schema.equals(arrow_schema(root.schema), check_metadata=False):
        names = [f"{f.name}: {f.type}" for f in actual.schema]
        wanted = [f"{f.name}: {f.type}" for f in arrow_schema(root.schema)]
        if names != wanted:
            return f"schema is {names}, expected {wanted}"
    rows = _rows(actual)
    match root:
        case Sort():
            everything = _rows(run(replace(root, limit=None, offset=0), dialect))
            return _sorted_difference(rows, everything, root, dialect, tolerance)
        case Limit():
            everything = _rows(run(root.input, dialect))
            count = max(0, min(root.count, len(everything) - root.offset))
            if len(rows) != count:
                return f"{len(rows)} rows, expected {count}"
            return _missing(rows, everything, tolerance)
    return _bag_difference(rows, _rows(run(root, dialect)), tolerance)


def bag_difference(actual: pa.Table, expected: pa.Table) -> str:
    """Return how the rows of two tables differ, whatever their order; empty if they do not."""
    return _bag_difference(_rows(actual), _rows(expected), TOLERANCE)


def _rows(table: pa.Table) -> list[Row]:
    columns = [values(c) for c in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _sorted_difference(rows: list[Row], everything: list[Row], root: Sort, dialect: Dialect, tolerance: float) -> str:
    end = None if root.limit is None else root.offset + root.limit
    expected = everything[root.offset : end]
    if len(rows) != len(expected):
        return f"{len(rows)} rows, expected {len(expected)}"

    def key(row: Row) -> Row:
        return tuple(evaluate(k.expression, row, dialect) for k in root.keys)

    keys = [key(r) for r in everything]
    for i, (have, want) in enumerate(zip(rows, expected, strict=True)):
        if not _same_row(key(have), keys[root.offset + i], tolerance):
            return f"row {i} is {have}, expected a row with sort key {key(want)}, as {want}"
    for first, last in _groups(keys, tolerance):  # the answer has all rows of a group of ties, or some where it is cut
        start, stop = max(first - root.offset, 0), min(last - root.offset, len(rows))
        if start >= stop:
            continue
        ties = everything[first:last]
        compare = _bag_difference if stop - start == len(ties) else _missing
        if found := compare(rows[start:stop], ties, tolerance):
            return f"rows {start} to {stop}: {found}"
    return ""


def _groups(keys: Sequence[Row], tolerance: float) -> list[tuple[int, int]]:
    """Ranges of equal neighbours."""
    cuts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(keys)) if not _same_row(a, b, tolerance)), len(keys)]
    return [(a, b) for a, b in pairwise(cuts) if a < b]


def _bag_difference(rows: list[Row], expected: list[Row], tolerance: float) -> str:
    if len(rows) != len(expected):
        lost = _missing(expected, rows, tolerance).replace("unexpected", "missing")
        return f"{len(rows)} rows, expected {len(expected)}; {_missing(rows, expected, tolerance) or lost}"
    return _missing(rows, expected, tolerance)


def _missing(rows: list[Row], pool: list[Row], tolerance: float) -> str:
    """The first of `rows` that is not (or not often enough) in `pool`."""
    left: dict[Row, list[Row]] = defaultdict(list)
    for row in pool:
        left[_exact(row)].append(row)
    for row in rows:
        bucket = left[_exact(row)]
        for i, candidate in enumerate(bucket):
            if _same_row(row, candidate, tolerance):
                del bucket[i]
                break
        else:
            near = f"; nearest {bucket[0]}" if bucket else ""
            return f"unexpected row {row}{near}"
    return ""


def _exact(row: Row) -> Row:
    """Return the row without its floats, nested ones too: the values that must match to the last bit."""
    return tuple(map(_without_floats, row))


def _without_floats(value: Any) -> Any:
    """Return what can be a key: None for a float, tuples for lists, structs and maps."""
    if isinstance(value, float):
        return None
    if isinstance(value, dict):
        return tuple((name, _without_floats(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_without_floats, value))
    return value


def _same_row(a: Row, b: Row, tolerance: float) -> bool:
    return all(_same(x, y, tolerance) for x, y in zip(a, b, strict=True))


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * 1e-3)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(part, b[name], tolerance) for name, part in a.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, pydecimal.Decimal) and isinstance(b, pydecimal.Decimal):
        return a == b
    return bool(a == b)
