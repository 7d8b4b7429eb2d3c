"""Reads footers of files: schema, rows, bytes and value ranges of columns; here those of Parquet. Reads no data.

Footers are cached by path, modification time and size; pyarrow is imported on first use only.
"""

from __future__ import annotations

import datetime
import decimal as decimals
import errno
import json
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from jumpgate.dataflow import types as t
from jumpgate.dataflow.casts import of_day
from jumpgate.dataflow.opening import opened, version
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import FileUnreadable, MalformedData, SchemaMismatch
from jumpgate.stores.names import is_remote
from jumpgate.stores.web import CONNECTIONS

T = TypeVar("T")

FOOTERS_CACHED_MAX = 4096
#: kinds whose values the file counts in its own unit
_COUNTED = ("timestamp_ns", "timestamptz_ns", "duration")
_EPOCH = datetime.datetime(1970, 1, 1)
#: the type of a column without values in a file
NULLS = t.opaque("null")


@dataclass(frozen=True)
class Range:
    """Bounds of a column's values over a file, as physical values (integers, scaled decimals, days, microseconds,
    floats, bytes of text); both None if unknown. They may be wider than the values; NaN is not counted. spread: the
    part of this range that a row group's values have, on average."""

    low: int | float | bytes | None = None
    high: int | float | bytes | None = None
    nulls: int | None = None
    spread: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Footer:
    """One file's footer. `column_bytes` are stored (compressed) bytes by column name, empty if unknown. For a file with
    `encrypted` columns only the schema and the rows are known."""

    path: str
    schema: Schema
    rows: int
    column_bytes: dict[str, int] = field(compare=False)
    encrypted: bool = field(default=False, kw_only=True)
    _misread: Callable[[], bool] = field(compare=False, repr=False, kw_only=True, default=lambda: False)
    _range: Callable[[str], Range] = field(compare=False, repr=False)
    _ranges: dict[str, Range] = field(default_factory=dict, compare=False, repr=False)

    @property
    def misread(self) -> bool:
        """Return whether a reader that trusts the file may find other rows or values: some timestamps have 96 bits, the
        file's row count differs from that of its row groups, or bounds of values are not to be believed."""
        return self._misread()

    def range(self, column: str) -> Range:
        """Return the column's range, computed on first use."""
        if column not in self._ranges:
            self._ranges[column] = self._range(column)
        return self._ranges[column]


def parquet_schema(files: Sequence[str]) -> Schema:
    """Return the columns that any of the files has, by name, in the order of first occurrence.

    A column is nullable if it is in any file, or if a file lacks it. Its type is the widest of the files' types, if
    that holds every value of the others (int32 and int64: int64). Types that Jumpgate does not have (times …) are
    opaque, and so are nested ones of them. Raises FileUnreadable, MalformedData, SchemaMismatch.
    """
    return common_schema(each(files, parquet_footer))


def each(files: Sequence[str], read: Callable[[str], T]) -> list[T]:
    """Return what `read` finds in each file; objects of stores are read side by side. Raises as the first that does."""
    if sum(map(is_remote, files)) < 2:
        return list(map(read, files))
    with ThreadPoolExecutor(min(len(files), CONNECTIONS)) as pool:
        return list(pool.map(read, files))


def parquet_footer(path: str) -> Footer:
    """Return the footer of one Parquet file. Raises FileUnreadable or MalformedData."""
    return cached(path, _read_parquet)


def field_ids(path: str) -> list[Any]:
    """Return name, id (-1: none) and parts of each column of a Parquet file. Raises FileUnreadable or MalformedData."""
    return [_ids(column) for column in cached(path, _read_metadata)[1]]


def _ids(column: Any) -> list[Any]:
    id = (column.metadata or {}).get(b"PARQUET:field_id", b"-1")
    import pyarrow.types as at

    type_ = column.type
    fields = [type_.key_field, type_.item_field] if at.is_map(type_) else map(type_.field, range(type_.num_fields))
    return [column.name, int(id), [_ids(part) for part in fields]]


def common_schema(footers: Sequence[Footer]) -> Schema:
    """See `parquet_schema`."""
    if not footers:
        raise SchemaMismatch("a read of no files has no schema: name at least one file")
    if len(footers) == 1:
        return footers[0].schema
    known: dict[str, tuple[DataType, str]] = {}  # the type so far, and the first file that has it
    files: Counter[str] = Counter()  # number of files that have a column
    for footer in footers:
        for found in footer.schema:
            ours, first = known.setdefault(found.name, (found.type, footer.path))
            both = widest(ours, found.type)
            if both is None:
                raise SchemaMismatch(
                    f"files of one read differ: '{first}' has {found.name}: {ours.name}, '{footer.path}' has "
                    f"{found.name}: {found.type.name}. Read them separately and combine them with union_all.",
                    file=footer.path,
                    other=first,
                    column=found.name,
                )
            known[found.name] = both.with_nullable(ours.nullable or found.type.nullable), first
        for name, count in Counter(footer.schema.names).items():
            if count > 1:
                message = f"'{footer.path}' has two columns called '{name}'"
                raise SchemaMismatch(message, file=footer.path, column=name)
            files[name] += 1
    lacking = {name for name, count in files.items() if count < len(footers)}
    return Schema(tuple(Field(n, t.with_nullable(t.nullable or n in lacking)) for n, (t, _) in known.items()))


def widest(a: DataType, b: DataType) -> DataType | None:
    """Return the type that holds every value of the other; None if neither does."""
    if a.same(b) or b == NULLS:
        return a
    if a == NULLS:
        return b
    if a.is_nested and a.kind == b.kind and (nested := _widest_nested(a, b)) is not None:
        return nested
    if (a.is_opaque or a.is_nested) and (b.is_opaque or b.is_nested):
        return t.opaque(" or ".join(dict.fromkeys((*a.name.split(" or "), b.name))))
    for kinds in (t.INTEGERS, t.FLOATS):
        if a.kind in kinds and b.kind in kinds:
            return max(a, b, key=lambda type: kinds.index(type.kind))
    if a.kind == b.kind == "decimal" and a.scale == b.scale:
        return max(a, b, key=lambda type: type.precision)
    return None


def _widest_nested(a: DataType, b: DataType) -> DataType | None:
    """Widen nested types: structs have the fields of both; parts have the type that holds every value of both."""
    parts = {p.name: p.type for p in a.parts}
    for part in b.parts:
        both = widest(parts.get(part.name, part.type), part.type)
        if both is None or both.is_opaque:
            return None
        parts[part.name] = both.with_nullable(part.type.nullable)
    return DataType(a.kind, nullable=a.nullable, parts=tuple(Field(n, type_) for n, type_ in parts.items()))


def cached(path: str, read: Callable[[str, int, int], T]) -> T:
    """Cache `read` by a file's path, time of change and size. Raises FileUnreadable, and the errors of `read`."""
    try:
        changed, size = version(path)
    except OSError as e:
        raise FileUnreadable(f"cannot read file '{path}': {e.strerror}", file=path) from None
    return read(path, changed, size)


def parquet_metadata(path: str) -> Any:
    """Return the metadata of one Parquet file, as pyarrow has it. Raises FileUnreadable or MalformedData."""
    return cached(path, _read_metadata)[0]


@lru_cache(maxsize=FOOTERS_CACHED_MAX)
def _read_metadata(path: str, _mtime_ns: int, _size: int) -> tuple[Any, Any, int]:
    """Return the metadata, its Arrow schema, and the bytes that it takes in the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with opened(path) as file:
            file.seek(-8, os.SEEK_END)
            length, magic = struct.unpack("<I4s", file.read(8))
            if magic == b"PARE":
                raise FileUnreadable(
                    f"cannot read Parquet file '{path}': its footer is encrypted, and Jumpgate has no keys", file=path
                )
            metadata = pq.read_metadata(file)
        return metadata, metadata.schema.to_arrow_schema(), length
    except pa.ArrowInvalid as e:
        raise MalformedData(f"Parquet file '{path}' is damaged or incomplete: {e}", file=path) from None
    except (OSError, pa.ArrowException) as e:
        raise unreadable("Parquet", path, e) from None


@lru_cache(maxsize=FOOTERS_CACHED_MAX)
def _read_parquet(path: str, mtime_ns: int, size: int) -> Footer:
    metadata, arrow, length = _read_metadata(path, mtime_ns, size)
    columns = columns_of(metadata.schema, arrow)
    schema = Schema(tuple(f for f, _ in columns))
    if metadata.serialized_size != length:  # a signature follows: some columns are encrypted, and pyarrow dies of those
        return Footer(path, schema, metadata.num_rows, {}, lambda _: Range(), encrypted=True)
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    sizes = {f.name: sum(g.column(i).total_compressed_size for g in groups for i in leaves) for f, leaves in columns}
    known = {f.name: (leaves.start, f.type) for f, leaves in columns}
    rows = sum(group.num_rows for group in groups)

    def misread() -> bool:
        int96 = any(metadata.schema.column(i).physical_type == "INT96" for i in range(metadata.num_columns))
        unbounded = not all(_are_bounded(groups, *of) for of in known.values())
        return int96 or rows != metadata.num_rows or (unbounded and not metadata.created_by.startswith("DuckDB"))

    return Footer(path, schema, rows, sizes, lambda name: _parquet_range(groups, *known[name]), _misread=misread)


def parquet_arrow_schema(path: str) -> Any:
    """Return the columns of a Parquet file with the types of Arrow that it declares. Raises FileUnreadable or
    MalformedData."""
    import pyarrow as pa

    metadata, arrow, _ = cached(path, _read_metadata)
    leaves = map(metadata.schema.column, range(metadata.num_columns))
    return pa.schema([field.with_type(_declared(field.type, leaves)) for field in arrow])


def _declared(arrow: Any, leaves: Iterator[Any]) -> Any:
    """Return a column's type, of bytes as its leaves annotate them."""
    import pyarrow as pa

    if not arrow.num_fields:
        leaf = next(leaves)
        if leaf.physical_type != "FIXED_LEN_BYTE_ARRAY":
            return arrow
        if leaf.converted_type == "INTERVAL":
            return pa.month_day_nano_interval()
        return pa.uuid() if leaf.logical_type.type == "UUID" else arrow
    parts = [arrow.field(i).with_type(_declared(arrow.field(i).type, leaves)) for i in range(arrow.num_fields)]
    if pa.types.is_struct(arrow):
        return pa.struct(parts)
    if pa.types.is_map(arrow):
        return pa.map_(parts[0].type.field(0), parts[0].type.field(1))
    return pa.list_(parts[0]) if pa.types.is_list(arrow) else arrow


def columns_of(schema: Any, arrow: Any) -> list[tuple[Field, range]]:
    """Return each column of a Parquet file, in order, with the leaves of its tree."""

    found: list[tuple[Field, range]] = []
    start = 0
    for column in arrow:
        leaves = range(start, start + _leaf_count(column.type))
        leaf, start = schema.column(start), leaves.stop
        type_ = _type(column.type, map(schema.column, leaves), 0) or t.opaque(describe(column.type))
        nullable = column.nullable if type_.is_nested else leaf.max_definition_level > 0
        found.append((Field(column.name, type_.with_nullable(nullable)), leaves))
    return found


def _type(arrow: Any, leaves: Iterator[Any], depth: int) -> DataType | None:
    """Return the type of a part of a Parquet column, from its Arrow type and leaves; None if Jumpgate has none."""
    import pyarrow.types as at

    if not arrow.num_fields:
        leaf = next(leaves)
        if at.is_duration(arrow):  # Parquet has it as an integer
            return t.duration(arrow.unit)
        if at.is_timestamp(arrow) and leaf.physical_type == "INT64":
            try:
                return t.timestamp_of(arrow.unit, arrow.tz)
            except ValueError:  # its zone has an invalid name
                return None
        return _parquet_type(
            leaf.physical_type, leaf.logical_type.type, leaf.logical_type.to_json(), leaf.precision, leaf.scale
        )
    if depth == t.NESTING_MAX:
        return None
    parts = [_type(arrow.field(i).type, leaves, depth + 1) for i in range(arrow.num_fields)]
    names = [arrow.field(i).name for i in range(arrow.num_fields)]
    known = [p for p in parts if p is not None]
    if len(known) < len(parts) or len(set(names)) < len(names):
        return None
    if at.is_struct(arrow):
        return t.struct(*map(Field, names, known))
    if at.is_map(arrow):
        key, value = known[0].parts
        return t.map_(key.type, value.type)
    return t.list_(known[0])


def _leaf_count(arrow: Any) -> int:
    return sum(_leaf_count(arrow.field(i).type) for i in range(arrow.num_fields)) if arrow.num_fields else 1


def describe(arrow: Any) -> str:
    """Describe an Arrow type for people, as an opaque column's description: `list<struct<a int64, b string>>`."""
    import pyarrow.types as at

    if at.is_struct(arrow):
        return f"struct<{', '.join(f'{f.name} {describe(f.type)}' for f in arrow)}>"
    if at.is_map(arrow):
        return f"map<{describe(arrow.key_type)}, {describe(arrow.item_type)}>"
    if at.is_list(arrow) or at.is_large_list(arrow) or at.is_fixed_size_list(arrow):
        return f"list<{describe(arrow.value_type)}>"
    return {"halffloat": "float16"}.get(str(arrow), str(arrow))


@lru_cache(maxsize=1024)
def _parquet_type(physical: str, logical: str, details: str, precision: int, scale: int) -> DataType | None:
    """Return the type of a Parquet leaf, as converters/parquet/column_map.cpp maps it; None if Jumpgate has none."""
    if logical == "DECIMAL":
        return t.decimal(min(precision, 38), scale) if precision >= 1 and 0 <= scale <= min(precision, 38) else None
    if logical == "INT":
        width, signed = json.loads(details)["bitWidth"], json.loads(details)["isSigned"]
        bits = width if signed else width * 2
        return DataType(f"int{bits}") if bits <= 64 else t.decimal(20)
    if logical in ("NONE", "UNDEFINED"):  # a logical type of a later format
        return {
            "BOOLEAN": t.bool_,
            "INT32": t.int32,
            "INT64": t.int64,
            "INT96": t.timestamp,
            "FLOAT": t.float32,
            "DOUBLE": t.float64,
            "BYTE_ARRAY": t.binary,
            "FIXED_LEN_BYTE_ARRAY": t.binary,
        }.get(physical)
    if logical in ("STRING", "ENUM", "JSON"):
        return t.string
    if logical in ("BSON", "UUID", "GEOMETRY", "GEOGRAPHY"):
        return t.binary
    return {"FLOAT16": t.float32, "DATE": t.date, "TIMESTAMP": t.timestamp, "TIME": t.time}.get(logical)


def _parquet_range(groups: list[Any], leaf: int, type_: DataType) -> Range:
    if type_.is_opaque or type_.is_nested:
        return Range()
    lows: list[Any] = []
    highs: list[Any] = []
    nulls: int | None = 0
    for chunk in (group.column(leaf) for group in groups if group.num_rows):
        statistics = chunk.statistics if chunk.is_stats_set else None
        count = statistics.null_count if statistics is not None and statistics.has_null_count else None
        nulls = None if nulls is None or count is None else nulls + count
        if count == chunk.num_values:
            continue
        low, high = _bounds(statistics, type_)
        lows.append(low)
        highs.append(high)
    if not lows or None in lows:
        return Range(nulls=nulls)
    low, high = min(lows), max(highs)
    whole = high - low if isinstance(high, int | float) else 0
    spread = (sum(highs) - sum(lows)) / len(lows) / whole if whole else None
    return Range(low, high, nulls, spread)


def _are_bounded(groups: list[Any], leaf: int, type_: DataType) -> bool:
    """Return whether the values of a plain column have bounds in each row group that can be believed."""
    if type_.is_opaque or type_.is_nested:
        return True
    for chunk in (group.column(leaf) for group in groups if group.num_rows):
        statistics = chunk.statistics if chunk.is_stats_set else None
        is_null = statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values
        if not is_null and not (statistics is not None and statistics.has_min_max and _are_in_order(statistics)):
            return False
    return True


def _are_in_order(statistics: Any) -> bool:
    """Return whether a minimum and a maximum can be such, as NaN cannot."""
    try:
        return bool(statistics.min <= statistics.max)
    except (TypeError, ValueError, ArithmeticError):  # values that pyarrow gives in another form
        return True


def _bounds(statistics: Any, type_: DataType) -> tuple[Any, Any]:
    """Return minimum and maximum of one row group, both None if unknown or not valid bounds."""
    try:
        if statistics is None or not statistics.has_min_max:
            return None, None
        if type_.kind in _COUNTED:
            return statistics.min_raw, statistics.max_raw
        low, high = _physical(statistics.min, type_), _physical(statistics.max, type_)
        return (low, high) if low <= high else (None, None)  # also for NaN
    except (TypeError, ValueError, ArithmeticError):  # the stored value does not fit the type
        return None, None


def _physical(value: Any, type_: DataType) -> Any:
    """Return a statistic as the physical value of `type_`; None if pyarrow gives another form."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, decimals.Decimal):
        return int(value.scaleb(type_.scale, decimals.Context(prec=60)))
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - _EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.time):
        return of_day(value)
    if isinstance(value, datetime.date):
        return (value - _EPOCH.date()).days
    return value if isinstance(value, (int, float, bytes)) else None


def unreadable(format_: str, path: str, error: Exception) -> FileUnreadable | MalformedData:
    """Convert an error: one with an errno is the system's refusal, any other is about the bytes; so is that an empty
    file cannot be mapped."""
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
        return FileUnreadable(f"cannot read {format_} file '{path}': {error.strerror or error}", file=path)
    return MalformedData(f"{format_} file '{path}' is damaged or incomplete: {error}", file=path)
