"""Tables of structs, lists, maps and timestamps for SQL servers, and their values as a server's protocol has them."""

from __future__ import annotations

import calendar
import datetime
import json
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from tests.support import presto

#: more text than a frame's first buffers hold, and more elements than a builder has room for at first
LONG, MANY = "long text äöü " * 2_000, list(range(3_000))
INNER = pa.struct([("x", pa.float64()), ("y", pa.list_(pa.int32()))])
STRUCT = pa.struct([
    ("a", pa.int32()), ("b", pa.string()), ("d", pa.date32()), ("n", pa.decimal128(9, 2)), ("w", pa.decimal128(25, 3)),
    ("x", pa.float64()), ("f", pa.float32()), ("flag", pa.bool_()), ("big", pa.int64()), ("tiny", pa.int8()),
    ("small", pa.int16()), ("raw", pa.binary()), ("in", INNER), ("Odd name", pa.int32()),
])  # fmt: skip
SCHEMA = pa.schema([
    ("id", pa.int32()), ("l", pa.list_(pa.int32())), ("t", pa.list_(pa.string())), ("s", STRUCT),
    ("m", pa.map_(pa.string(), pa.int64())), ("r", pa.list_(pa.struct([("k", pa.int32()), ("v", pa.string())]))),
    ("ll", pa.list_(pa.list_(pa.int32()))), ("ml", pa.map_(pa.int32(), pa.list_(pa.string()))),
    ("sm", pa.list_(pa.map_(pa.string(), pa.decimal128(30, 2)))),
])  # fmt: skip
#: what JSON has values for
JSON_SCHEMA = pa.schema([
    *(SCHEMA.field(name) for name in ("id", "l", "t")),
    ("s", pa.struct([("a", pa.int32()), ("b", pa.string()), ("x", pa.float64()), ("flag", pa.bool_()), ("in", INNER)])),
    *(SCHEMA.field(name) for name in ("m", "r", "ll")),
])  # fmt: skip


def _struct(**values: Any) -> dict[str, Any]:
    return dict.fromkeys(STRUCT.names) | values


FULL = _struct(
    a=7, b="x", d=datetime.date(2024, 2, 29), n=Decimal("1.50"), w=Decimal("-2000000000000000000000.001"), x=0.5,
    f=-0.25, flag=True, big=-(2**63), tiny=-128, small=2**15 - 1, raw=b"\x00\xff",
    **{"in": {"x": 0.5, "y": [1, None, 4]}, "Odd name": 3},
)  # fmt: skip
OTHER = _struct(a=7, b="äöü", d=datetime.date(1969, 7, 20), n=Decimal("-2.25"), flag=False, raw=b"",
                w=Decimal("0.001"), **{"in": {"x": None, "y": []}})  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"id": 1, "l": [1, 2, None], "t": ["p", "", None], "s": FULL, "m": [("k", 1), ("j", None)],
     "r": [{"k": 1, "v": "one"}, None], "ll": [[1], None, []], "ml": [(1, ["a", None]), (2, None)],
     "sm": [[("x", Decimal("1.50"))], None, []]},
    {"id": 2, "l": [], "t": [], "s": _struct(), "m": [], "r": [], "ll": [], "ml": [], "sm": []},
    {"id": 3},
    {"id": 4, "l": [5], "t": [LONG], "s": OTHER, "m": [("", -1)], "r": [{"k": None, "v": "z"}], "ll": [[None, 2], [3]],
     "ml": [(-5, [])], "sm": [[("y", None), ("z", Decimal("-12345678901234567890.12"))]]},
    {"id": None, "l": MANY, "t": None, "s": None, "m": [(str(i), i) for i in MANY], "r": None, "ll": [MANY, MANY]},
]  # fmt: skip
NEST = pa.Table.from_pylist(ROWS, SCHEMA)


def json_table() -> pa.Table:
    kept = set(JSON_SCHEMA.field("s").type.names)
    rows = [row | ({"s": {k: v for k, v in row["s"].items() if k in kept}} if row.get("s") else {}) for row in ROWS]
    return pa.Table.from_pylist([{k: v for k, v in row.items() if k in JSON_SCHEMA.names} for row in rows], JSON_SCHEMA)


def write(folder: Path) -> dict[str, Any]:
    """Write the tables `nest`, `nest_orc` and `nest_json`; return their entries of a catalog."""
    pa.parquet.write_table(NEST, folder / "nest.parquet", row_group_size=2)
    pa.orc.write_table(NEST, folder / "nest.orc")
    rows = [
        {k: dict(v) if k == "m" and v is not None else v for k, v in row.items()} for row in json_table().to_pylist()
    ]
    (folder / "nest.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    json_columns = {f.name: presto.type_text(f) for f in JSON_SCHEMA}
    return {
        "nest": {"path": str(folder / "nest.parquet")},
        "nest_orc": {"path": str(folder / "nest.orc")},
        "nest_json": {"format": "json", "files": [str(folder / "nest.json")], "columns": json_columns},
    }


def plain(value: Any, type: pa.DataType, scalar: Callable[[Any], Any]) -> Any:
    """A value of Arrow's as a server's protocol writes it: rows are lists, and keys of maps texts."""
    if value is None:
        return None
    if pa.types.is_struct(type):
        return [plain(value[f.name], f.type, scalar) for f in type]
    if pa.types.is_map(type):
        return {str(scalar(k)): plain(v, type.item_type, scalar) for k, v in value}
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return [plain(v, type.value_type, scalar) for v in value]
    return scalar(value)


def duckdb_rows(text: str, tables: dict[str, pa.Table], scalar: Callable[[Any], Any]) -> list[str]:
    """DuckDB's answer, each row as text, in the order of these."""
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        found = connection.execute(text).to_arrow_table()
    columns = [[plain(v, column.type, scalar) for v in column.to_pylist()] for column in found.columns]
    return sorted(repr([_sorted(value) for value in row]) for row in zip(*columns, strict=True))


def rows(found: list[list[Any]] | str) -> list[str]:
    """A server's rows likewise."""
    assert isinstance(found, list), found
    return sorted(repr([_sorted(value) for value in row]) for row in found)


def _sorted(value: Any) -> Any:
    """A value that is compared: Presto writes nested ones as texts of JSON, and maps are in no order."""
    if isinstance(value, str) and value.startswith(("[", "{")):
        value = json.loads(value)
    if isinstance(value, dict):
        return sorted((k, _sorted(v)) for k, v in value.items())
    return [_sorted(v) for v in value] if isinstance(value, list) else value


def _moments(*texts: str | None, type: pa.DataType) -> pa.Array:
    """Timestamps of texts, which may have nine digits after the point."""
    unit_ns = 1 if type.unit == "ns" else 1_000
    return pa.array([t and _nanoseconds(t) // unit_ns for t in texts], pa.int64()).cast(type)


def _nanoseconds(text: str) -> int:
    whole, _, fraction = text.partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%d %H:%M:%S")) * 10**9 + int(fraction.ljust(9, "0"))


#: around hours that clocks of Berlin show twice, before 1970, and far from now; whole milliseconds
WHOLE = ("2024-07-01 12:30:15.123", "1969-12-31 23:59:59.999", None, "2024-10-27 02:30:00", "2024-10-27 03:00:00",
         "1500-03-01 00:00:00", "2400-02-29 23:59:59.5")  # fmt: skip
#: with what milliseconds do not count
FINE = ("2024-07-01 12:30:15.123456", *WHOLE[1:])
#: what clocks of Berlin skip
SKIPPED = ("2024-03-31 02:30:00", *WHOLE[1:])
FINEST = ("2024-07-01 12:30:15.123456789", "1969-12-31 23:59:59.999999999", *WHOLE[2:5], "1700-03-01 00:00:00", None)
US, NS = pa.timestamp("us"), pa.timestamp("ns")
MOMENTS = pa.table({
    "n": pa.array(range(len(WHOLE)), pa.int32()),
    "whole": _moments(*WHOLE, type=US),
    "fine": _moments(*FINE, type=US),
    "skipped": _moments(*SKIPPED, type=US),
    "finest": _moments(*FINEST, type=NS),
    "nanos": _moments(*WHOLE[:5], "1700-03-01 00:00:00", None, type=NS),
    "zoned": _moments(*WHOLE, type=pa.timestamp("us", "Europe/Berlin")),
    "zoned_fine": _moments(*FINEST, type=pa.timestamp("ns", "UTC")),
    "away": _moments(*WHOLE, type=pa.timestamp("us", "+05:30")),
    "d": pa.array([datetime.date(2024, 7, 1), None, datetime.date(1970, 1, 1), *[datetime.date(2024, 10, 27)] * 4]),
})  # fmt: skip
MOMENTS = MOMENTS.append_column(
    "many", pa.array([[v, None] for v in MOMENTS["whole"].to_pylist()], pa.list_(US))
)  # fmt: skip
