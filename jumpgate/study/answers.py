"""Whether an answer is DuckDB's: rows as a bag, their order by the sort keys only, ties at a LIMIT openly.

Numbers are equal within a relative 1e-9, or within one unit of the last place where one side is a decimal and the other
is not: two engines add floats in different orders, and round in different places.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from substrait.algebra_pb2 import Rel
from substrait.plan_pb2 import Plan

Row = tuple[Any, ...]
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-9
_LIMIT = re.compile(r"\s+limit\s+\d+\s*;?\s*$", re.IGNORECASE)


def without_limit(text: str) -> str | None:
    """The query without its last LIMIT; None if it has none."""
    cut = _LIMIT.sub("", text)
    return None if cut == text else cut


def difference(ours: pa.Table, theirs: pa.Table, keys: Sequence[int], everything: Callable[[], pa.Table | None]) -> str:
    """What is wrong with `ours`, in words; empty if it is an answer that the query allows.

    keys: positions of the columns that the query sorts by. everything: DuckDB's answer without the LIMIT, asked for
    only where the answers differ in rows that the LIMIT may have chosen differently.
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


def sort_columns(plan: Plan) -> list[int]:
    """Positions in the result of what the plan's last sort orders by, the leading ones that the result shows."""
    rel = plan.relations[0].root.input
    shown = list(range(len(plan.relations[0].root.names)))
    while True:
        kind = rel.WhichOneof("rel_type")
        if kind == "sort":
            found = []
            for field in rel.sort.sorts:
                index = _field(field.expr)
                if index is None or index not in shown:
                    break
                found.append(shown.index(index))
            return found
        if kind == "fetch":
            rel = rel.fetch.input
        elif kind == "project":
            below = _width(rel.project.input)
            if below is None:
                return []
            mapping = list(rel.project.common.emit.output_mapping) or list(range(below + len(rel.project.expressions)))
            new = []
            for position in shown:
                source = mapping[position]
                computed = _field(rel.project.expressions[source - below]) if source >= below else source
                new.append(-1 if computed is None else computed)
            shown, rel = new, rel.project.input
        else:
            return []


def _width(rel: Rel) -> int | None:
    """How many columns a relation has, where it says so itself."""
    body = getattr(rel, rel.WhichOneof("rel_type") or "read")
    if body.common.emit.output_mapping:
        return len(body.common.emit.output_mapping)
    kind = rel.WhichOneof("rel_type")
    if kind in ("sort", "fetch", "filter"):
        return _width(body.input)
    if kind == "aggregate":
        return len(body.grouping_expressions) + len(body.measures) + (len(body.groupings) > 1)
    if kind == "project":
        below = _width(body.input)
        return None if below is None else below + len(body.expressions)
    if kind == "set":
        return _width(body.inputs[0])
    if kind == "read":
        items = body.projection.select.struct_items
        return len(items) if body.HasField("projection") else len(body.base_schema.names)
    if kind in ("join", "cross"):
        left, right = _width(body.left), _width(body.right)
        return None if left is None or right is None else left + right
    return None


def _field(expression: Any) -> int | None:
    if expression.WhichOneof("rex_type") != "selection":
        return None
    return int(expression.selection.direct_reference.struct_field.field)


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
    for row in strange:  # what is exact on one side may be a float on the other
        partner = next((i for i, other in enumerate(rest) if all(map(same, row, other))), None)
        if partner is None:
            undecided.append(row)
        else:
            del rest[partner]
    return undecided, rest


def _exact(row: Row) -> Row:
    """The values of a row that must be equal exactly: a key to find its partner by."""
    return tuple(v for v in row if not _is_number(v))
