"""Compares two answers of the same query: values exactly, floats within a tolerance, rows as a bag."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pyarrow as pa

from tests.support.tables import plain

Row = tuple[Any, ...]
#: relative difference of floats that another order of additions may explain; below ABSOLUTE they are taken for zero
RELATIVE = 1e-9
ABSOLUTE = 1e-12
SHOWN = 3


def unlike(found: pa.Table, expected: pa.Table, ordered: bool = False, types: bool = True) -> str:
    """Return the problem of `found` in words; empty if there is none. ordered: rows must come in the same order.

    types: compare the columns' names and types, too; string and string_view are one type.
    """
    found, expected = plain(found), plain(expected)
    if types:
        have, want = ([(f.name, f.type) for f in t.schema] for t in (found, expected))
        if have != want:  # Arrow's types are equal whatever they call the items of a list
            shown = [[f"{name}: {type}" for name, type in columns] for columns in (have, want)]
            return f"columns are {shown[0]}, expected {shown[1]}"
    elif found.num_columns != expected.num_columns:
        return f"{found.num_columns} columns, expected {expected.num_columns}"
    ours, theirs = rows(found), rows(expected)
    if len(ours) != len(theirs):
        return f"{len(ours)} rows {_shown(ours)}, expected {len(theirs)} {_shown(theirs)}"
    if ordered:
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if not _same_row(a, b):
                return f"row {number} is {a}, expected {b}"
        return ""
    return _bags(ours, theirs)


def strange(found: pa.Table, expected: pa.Table) -> str:
    """Return in words which rows of `found` are not among the expected ones; empty if all are."""
    return _bags(rows(plain(found)), rows(plain(expected)))


def rows(table: pa.Table) -> list[Row]:
    """Rows as tuples of Python values; zero columns give empty tuples."""
    columns = [_values(column) for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _values(column: pa.ChunkedArray) -> list[Any]:
    try:
        return [_frozen(value) for value in column.to_pylist()]
    except (ValueError, OverflowError):  # beyond Python's dates, or below its microseconds
        if pa.types.is_struct(column.type):  # or without names
            return [value for chunk in column.chunks for value in _structs(chunk)]
        return [str(value) for value in column.cast(pa.string()).to_pylist()]


def _structs(column: pa.StructArray) -> list[Any]:
    """Structs as tuples of pairs, whatever their fields are called."""
    names = [field.name for field in column.type]
    parts = [_values(pa.chunked_array([part])) for part in column.flatten()]
    rows = zip(*parts, strict=True) if parts else [()] * len(column)
    missing = column.is_null().to_pylist()
    return [None if null else tuple(zip(names, row, strict=True)) for null, row in zip(missing, rows, strict=True)]


def _frozen(value: Any) -> Any:
    """Nested values as tuples, which can be keys."""
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return tuple((key, _frozen(v)) for key, v in value.items())
    return value


def _bags(ours: list[Row], theirs: list[Row]) -> str:
    """Each row of one side needs a partner of its own on the other."""
    pools: dict[Row, list[Row]] = defaultdict(list)
    for row in theirs:
        pools[_exact(row)].append(row)
    strange = []
    for pool in pools.values():
        pool.sort(key=_floats, reverse=True)
    for row in sorted(ours, key=_floats):
        pool = pools.get(_exact(row), [])
        for place in range(len(pool) - 1, -1, -1):
            if _same_row(row, pool[place]):
                del pool[place]
                break
        else:
            strange.append(row)
    if not strange:
        return ""
    missing = [row for pool in pools.values() for row in pool]
    return f"{len(strange)} of {len(ours)} rows differ: {_shown(strange)}, expected {_shown(missing)}"


def _exact(row: Row) -> Row:
    return tuple(0.0 if isinstance(v, float) else _exact(v) if isinstance(v, tuple) else v for v in row)


def _floats(row: Row) -> tuple[float, ...]:
    return tuple(math.inf if math.isnan(v) else v for v in row if isinstance(v, float))


def _same_row(a: Row, b: Row) -> bool:
    return all(map(same, a, b))


def same(a: Any, b: Any) -> bool:
    """Equal values; NaN equals itself, floats within RELATIVE, also in nested values."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def _shown(some: list[Row]) -> str:
    return str(some[:SHOWN])[1:-1] + (", …" if len(some) > SHOWN else "")
