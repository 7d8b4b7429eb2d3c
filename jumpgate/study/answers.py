"""Compares an answer with DuckDB's: rows as a bag, their order by the sort keys only, ties at a LIMIT freely.

Numbers are equal within a relative 1e-9, or within one unit of the last place if only one side is a decimal: two
engines add floats in different orders, and round in different places.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from jumpgate.client.duckdb import plan
from jumpgate.client.duckdb.expressions import Bound, Ref

Row = tuple[Any, ...]
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-9
_LIMIT = re.compile(r"\s+limit\s+\d+\s*;?\s*$", re.IGNORECASE)


def without_limit(text: str) -> str | None:
    """The query without its last LIMIT; None if it has none."""
    cut = _LIMIT.sub("", text)
    return None if cut == text else cut


def difference(ours: pa.Table, theirs: pa.Table, keys: Sequence[int], everything: Callable[[], pa.Table | None]) -> str:
    """Return the problem of `ours`; empty if the query allows that answer.

    keys: positions of the columns that the query sorts by. everything: returns DuckDB's answer without the LIMIT,
    called only if the answers differ in rows that the LIMIT may have chosen differently.
    """
    if ours.num_columns != theirs.num_columns:
        return f"{ours.num_columns} columns, expected {theirs.num_columns}"
    have, want = rows(ours), rows(theirs)
    if len(have) != len(want):
        return f"{len(have)} rows, expected {len(want)}"
    for number, (a, b) in enumerate(zip(have, want, strict=True)):
        if not all(same(a[k], b[k]) for k in keys):
            return f"row {number} is {a}, expected sort keys as in {b}"
    strange, missing = _unmatched(have, want)
    if not strange:
        return ""
    whole = everything()
    if whole is not None and want:
        last = [want[-1][k] for k in keys]
        ties = [row for row in rows(whole) if all(same(row[k], v) for k, v in zip(keys, last, strict=True))]
        chosen = [row for row in strange if all(same(row[k], v) for k, v in zip(keys, last, strict=True))]
        if len(chosen) == len(strange) and not _unmatched(chosen, ties)[0]:
            return ""
    return f"{len(strange)} of {len(have)} rows differ: {strange[0]}, expected e.g. {missing[0] if missing else None}"


def rows(table: pa.Table) -> list[Row]:
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if _is_number(a) and _is_number(b):
        if isinstance(a, Decimal) == isinstance(b, Decimal) and not isinstance(a, float) and not isinstance(b, float):
            return bool(a == b)
        x, y = float(a), float(b)
        unit = max(
            (float(Decimal(1).scaleb(int(v.as_tuple().exponent))) for v in (a, b) if isinstance(v, Decimal)),
            default=ABSOLUTE_TOLERANCE,
        )
        return math.isclose(x, y, rel_tol=RELATIVE_TOLERANCE, abs_tol=unit) or (math.isnan(x) and math.isnan(y))
    return bool(a == b)


def sort_columns(node: plan.Node) -> list[int]:
    """Return the positions in the result of a DuckDB plan's last sort keys, the leading ones that the result shows."""
    shown: list[int] | None = None  # columns of the node, -1 for computed ones
    while isinstance(node, plan.Limit | plan.Projection):
        if isinstance(node, plan.Projection):
            columns = [_position(e) for e in node.expressions]
            shown = columns if shown is None else [columns[p] if p >= 0 else -1 for p in shown]
        (node,) = node.children
    if not isinstance(node, plan.Sort):
        return []
    found = []
    for key in node.orders:
        position = _position(key.expression)
        if node.kept and position >= 0:
            position = node.kept.index(position) if position in node.kept else -1
        if position < 0 or shown is not None and position not in shown:
            break
        found.append(position if shown is None else shown.index(position))
    return found


def _position(bound: Bound) -> int:
    """Return the position of an expression among a node's columns; -1 if it is computed."""
    return bound.index if isinstance(bound, Ref) else -1


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _unmatched(have: list[Row], want: list[Row]) -> tuple[list[Row], list[Row]]:
    """Rows of each side without a partner on the other."""
    left: dict[Row, list[Row]] = {}
    for row in want:
        left.setdefault(_exact(row), []).append(row)
    strange = []
    for row in have:
        pool = left.get(_exact(row), [])
        for i, other in enumerate(pool):
            if all(map(same, row, other)):
                del pool[i]
                break
        else:
            strange.append(row)
    rest = [row for pool in left.values() for row in pool]
    undecided = []
    for row in strange:  # an exact value on one side may be a float on the other
        partner = next((i for i, other in enumerate(rest) if all(map(same, row, other))), None)
        if partner is None:
            undecided.append(row)
        else:
            del rest[partner]
    return undecided, rest


def _exact(row: Row) -> Row:
    """Return the values of a row that must be exactly equal: a key to find its partner by."""
    return tuple(v for v in row if not _is_number(v))
