"""Two small tables of awkward values (nulls, NaN, −0.0, infinities, empty and multibyte strings, extreme numbers and
dates) and literals to compare them with, for support.random_sql."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from jumpgate.dataflow.formats import formats
from tests.support import tables
from tests.support.tables import Source

ROWS = {"t": 40, "u": 16}
FLOATS = [0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf, 5e-324, 1e300, 3.0]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [0, 1, 2, 3, -2, 7]),
    "big": (pa.int64(), [0, 1, -(2**63), 2**63 - 1, 2**53 + 1, 2**53, -(2**53) - 1, 3]),
    "f": (pa.float64(), FLOATS),
    "m": (pa.decimal128(9, 2), [Decimal(t) for t in ("0.00", "1.50", "-3.25", "9.99", "0.01", "1234567.89")]),
    "d": (
        pa.decimal128(38, 6),
        [Decimal(t) for t in ("0", "1.5", "9" * 32 + ".999999", "-" + "9" * 32 + ".999999", "0.000001", "-0.000001")],
    ),
    "s": (pa.string(), ["", "a", "ab", "b", " a ", "Grüße", "東京", "a'b", "naïve\n", "zz" * 40, "A"]),
    "w": (
        pa.date32(),
        [datetime.date(*d) for d in ((1, 1, 1), (1969, 12, 31), (1970, 1, 1), (2024, 2, 29), (9999, 12, 31))],
    ),
    "ts": (
        pa.timestamp("us"),
        [
            datetime.datetime(*t)
            for t in ((1969, 12, 31, 23, 59, 59, 999999), (1970, 1, 1), (2024, 2, 29, 12, 34, 56, 789000),
                      (2261, 12, 31, 23, 59, 59), (1678, 1, 1, 0, 0, 0, 1))
        ],
    ),
    "b": (pa.bool_(), [True, False]),
    "tm": (pa.time64("us"), [datetime.time(), datetime.time(12, 34, 56, 5), datetime.time(23, 59, 59, 999999)]),
    "z": (
        pa.timestamp("us", "UTC"),
        [
            datetime.datetime(*t).replace(tzinfo=datetime.UTC)
            for t in ((1969, 12, 31, 23, 59, 59, 999999), (1970, 1, 1), (2024, 2, 29, 22, 30), (2261, 12, 31, 23))
        ],
    ),
    "n": (pa.timestamp("ns"), [-1, 0, 1, 1709210096789000001, 2**63 - 1, -(2**62)]),
    "du": (pa.duration("us"), [-86_400_000_000, -1, 0, 1, 3_600_000_000]),
    "st": (pa.struct([("a", pa.int32()), ("b", pa.string())]), [(1, "a"), (None, ""), (-2, None), (None, None)]),
    "l": (pa.list_(pa.int32()), [[], [None], [1, 2], [3, None, -2], [0] * 9]),
}  # fmt: skip
NEGATIVE_ZERO = "-0e0"
NULLS = 0.15  # of each column but the first
LITERALS: dict[str, tuple[str, ...]] = {
    "number": ("0", "1", "3", "-2", "40"),
    "small": ("2", "-1", "3"),
    "truth": ("true", "false"),
    "divisor": ("2", "3", "-7"),
    "big": ("0", "9223372036854775807", "-9223372036854775807", "9007199254740993", "9007199254740992", "3"),
    "float": (
        "0.0",
        NEGATIVE_ZERO,
        "1.5",
        "CAST('NaN' AS DOUBLE)",
        "CAST('inf' AS DOUBLE)",
        "CAST('-inf' AS DOUBLE)",
        "1e300",
    ),
    "finite": ("1.5", "-2.0", "1e-3", "0.0"),
    "money": ("1.50", "0.00", "-3.25", "10.00"),
    "decimal": tuple(
        f"CAST('{t}' AS DECIMAL(38, 6))" for t in ("0", "1.5", "9" * 32 + ".999999", "-0.000001", "-" + "9" * 32)
    ),
    "text": ("''", "'a'", "'ab'", "'Grüße'", "'東京'", "'a''b'", "'~'"),
    "letter": ("'a'", "'ü'", "'京'", "' '", "'zz'"),
    "pattern": (
        "'a%'",
        "'%'",
        "''",
        "'_'",
        "'%ß%'",
        "'%\\%'",
        "'__'",
        "'%a%b%'",
        "'%\\_%'",
        "'_京'",
        "'% %'",
        "'a''b'",
    ),
    "day": ("DATE '1970-01-01'", "DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '2024-02-29'"),
    "regex": (
        "'a'",
        "'^a'",
        "'b$'",
        "''",
        "'^$'",
        "'^.{2,3}$'",
        "'[a-z]+'",
        "'[^a ]'",
        "'a|ab'",
        "'(?:a|b)*?b'",
        "'a*'",
        "'\\s'",
        "'\\bab?\\b'",
        "'ü|京'",
        "'(?i)GRÜ'",
        "'\\w+'",
        "'z{3,}'",
    ),
    "time": (
        "TIMESTAMP '1970-01-01 00:00:00'",
        "TIMESTAMP '1969-12-31 23:59:59.999999'",
        "TIMESTAMP '2024-02-29 12:34:56.789'",
    ),
    "clock": ("TIME '00:00:00'", "TIME '12:34:56.000005'", "TIME '23:59:59.999999'"),
    "moment": (
        "TIMESTAMPTZ '1970-01-01 00:00:00Z'",
        "TIMESTAMPTZ '1969-12-31 23:59:59.999999Z'",
        "TIMESTAMPTZ '2024-02-29 22:30:00Z'",
    ),
    "nanos": tuple(
        f"TIMESTAMP_NS '{t}'"
        for t in ("1970-01-01T00:00:00.000000001", "1969-12-31T23:59:59.999999999", "2024-02-29T12:34:56.789000001")
    ),
    "span": tuple(f"to_microseconds({n})" for n in (0, -1, 3_600_000_000)),
}


def table(name: str) -> pa.Table:
    """`t` or `u`."""
    chance = random.Random(name)
    columns: dict[str, pa.Array] = {"id": pa.array(range(1, ROWS[name] + 1), pa.int64())}
    for column, (type, values) in VALUES.items():
        drawn = [None if chance.random() < NULLS else chance.choice(values) for _ in range(ROWS[name])]
        columns[column] = _array(drawn, type)
    return pa.table(columns)


def _array(values: list[Any], type: pa.DataType) -> pa.Array:
    """With NULL for every field of a struct that is NULL."""
    if not pa.types.is_struct(type):
        return pa.array(values, type)
    parts = zip(*(value or (None,) * type.num_fields for value in values), strict=True)
    arrays = [pa.array(part, field.type) for part, field in zip(parts, type, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(type), mask=pa.array([v is None for v in values]))


@cache
def columns(format: str) -> frozenset[str]:
    """The columns that a file of that format can hold."""
    data = table("t")
    return frozenset(name for name in data.column_names if tables.can_hold(format, data.select([name])))


def write(name: str, folder: Path, format: str) -> tuple[pa.Table, Source]:
    """Write the table as a file of that format, in several skippable parts if the format has them."""
    data = table(name)
    data = data.select([column for column in data.column_names if column in columns(format)])
    path = folder / f"{name}.{format}"
    source = tables.write(data, path, format)
    if format != tables.ARROW:
        formats()[format].write(data, path, part_rows=8, variant=formats()[format].variants - 1)
    return data, source
