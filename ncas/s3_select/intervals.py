"""Conditions as intervals of an indexed column, and what their rows take of a store (PushdownDB, section IV)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, InList, Literal
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import DataType
from jumpgate.ncas.s3_select.forms import DEFAULTS
from jumpgate.ncas.s3_select.supersets import FLIPPED, unwidened
from jumpgate.stores.indexes import Interval

#: types of columns; texts are in the order of their bytes, others are kept as integers of 64 bits
KINDS = ("int8", "int16", "int32", "int64", "decimal", "date", "timestamp", "string")
DIGITS_MAX = 18
#: of a condition
INTERVALS_MAX = 1000
#: rows are read with one request if at most so many bytes lie between them, and so many bytes with one, about
GAP_BYTES, REQUEST_BYTES = 64 << 10, 4 << 20
#: of reading a table in a store: its end, and the part with the values, about
TABLE_REQUESTS, TABLE_BYTES = 2, 200_000
#: options of text that say nothing new
_IMPLIED = {**DEFAULTS, "delimiter": ",", "quote": '"', "header": "true", "null": ""}
_CONTEXT = Context(prec=100)
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Seek:
    """Rows are sought by an index, over the column of the read with this number."""

    index: str
    column: int


def intervals(e: Expression, column: int, type: DataType) -> list[Interval] | None:
    """Return the intervals, in order and apart from each other, of the values that a column has in all rows that meet
    a condition; None if it may have any.

    >>> from jumpgate.dataflow.types import int64
    >>> def test(name, n): return Call(int64, name, (ColumnRef(int64, 0, "a"), Literal(int64, n)))
    >>> intervals(Call(int64, "and", (test("gt", 3), test("le", 9))), 0, int64)
    [(4, 9)]
    >>> intervals(Call(int64, "or", (test("eq", 9), test("eq", 3))), 0, int64), intervals(test("ne", 3), 0, int64)
    ([(3, 3), (9, 9)], None)
    """
    match e:
        case Call(function="and", args=args):
            found = [i for a in args if (i := intervals(a, column, type)) is not None]
            if not found:
                return None
            kept = found[0]
            for more in found[1:]:
                both = [common(a, b) for a, b in itertools.product(kept, more)]
                kept = _apart(both) if len(both) <= INTERVALS_MAX else min(kept, more, key=len)
            return kept
        case Call(function="or", args=args):
            parts = [intervals(a, column, type) for a in args]
            return None if None in parts else _few(_apart(i for part in parts for i in part or ()))
        case Call(function=name, args=(a, b)) if name != "ne" and name in FLIPPED:
            if isinstance(a, Literal):
                name, a, b = FLIPPED[name], b, a
            interval = _compared(name, a, b, column, type)
            return None if interval is None else _apart([interval])
        case InList(input=a, options=options):
            points = [_compared("eq", a, option, column, type) for option in options]
            return None if None in points else _few(_apart(i for i in points if i is not None))
    return None


def _few(found: list[Interval]) -> list[Interval] | None:
    return found if len(found) <= INTERVALS_MAX else None


def _compared(name: str, a: Expression, b: Expression, column: int, type: DataType) -> Interval | None:
    a = unwidened(a)
    if not (isinstance(a, ColumnRef) and a.index == column and isinstance(b, Literal) and b.value is not None):
        return None
    if not (a.type.same(b.type) or (type.is_integer and b.type.is_integer)):
        return None
    if isinstance(b.value, str):
        return (None if name in ("lt", "le") else b.value), (None if name in ("gt", "ge") else b.value)
    number = _number(b.value, type.scale)
    if number is None:
        return None
    up, down = int(number.to_integral_value(ROUND_CEILING)), int(number.to_integral_value(ROUND_FLOOR))
    match name:
        case "eq":
            return up, down
        case "gt" | "ge":
            return (down + 1 if name == "gt" else up), None
    return None, (up - 1 if name == "lt" else down)


def _number(value: object, scale: int) -> Decimal | None:
    """Return a value as tables have it, but for its fraction."""
    match value:
        case bool():
            return None
        case int():
            return Decimal(value)
        case Decimal():
            return _CONTEXT.scaleb(value, scale)
        case datetime():
            return Decimal((value - _EPOCH) // timedelta(microseconds=1)) if value.tzinfo is None else None
        case date():
            return Decimal((value - _EPOCH.date()).days)
    return None


def common(a: Interval, b: Interval) -> Interval:
    """Return the values of both; it may be empty."""
    low: Any = max((v for v in (a[0], b[0]) if v is not None), default=None)
    high: Any = min((v for v in (a[1], b[1]) if v is not None), default=None)
    return low, high


def is_empty(interval: Interval) -> bool:
    """Return whether an interval has no values."""
    low, high = interval
    return low is not None and high is not None and low > high  # type: ignore[operator]


def _apart(found: Iterable[Interval]) -> list[Interval]:
    """Return intervals in order, those that overlap as one, without those that are empty."""
    some: list[Any] = [i for i in found if not is_empty(i)]
    kept: list[Any] = []
    for low, high in sorted(some, key=lambda i: (i[0] is not None, i[0])):
        if kept and (kept[-1][1] is None or low is None or low <= kept[-1][1]):
            ends = kept[-1][1], high
            kept[-1] = kept[-1][0], None if None in ends else max(ends)
        else:
            kept.append((low, high))
    return kept


def reading_of(read: Read, column: str) -> dict[str, str]:
    """Return what a read says of its records and of where a column is."""
    options = {name: value for name, value in read.options if _IMPLIED.get(name) != value}
    if read.format == "csv" and options.get("header", "true") != "true":
        options["position"] = str(read.file_schema.names.index(column))
    return {"format": read.format, **options}


def demand(rows: float, size: int, records: int) -> tuple[float, float]:
    """Return about how many requests read so many rows that lie anywhere in an object, and their bytes.

    >>> demand(1, 10_000_000, 100_000), demand(0, 10_000_000, 100_000)
    ((1.0, 100.0), (0.0, 0.0))
    """
    if not rows:
        return 0.0, 0.0
    row, between = size / max(1, records), size / rows
    apart = math.exp(-GAP_BYTES / between)  # gaps are spread exponentially
    read = max(0.0, between * (1 - apart) - GAP_BYTES * apart)
    bytes = min(float(size), rows * row + (rows - 1) * read)
    return max(1.0, 1 + (rows - 1) * apart, bytes / REQUEST_BYTES), bytes
