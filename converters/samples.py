"""What a look at some rows tells about a column: distinct values, bounds, NULLs. For estimates only.

Parquet's bounds come from its footer, its values from several row groups; those of ORC from one stripe, of JSON and CSV
from lines at several offsets. What cannot be read is unknown: reading the data will say why.
"""

from __future__ import annotations

import datetime
import functools
import json
import math
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from jumpgate.converters.footers import parquet_footer
from jumpgate.converters.text_files import beginning, is_plain
from jumpgate.converters.text_rows import CsvField, csv_line_end, csv_rows, json_rows
from jumpgate.dataflow.casts import cast_value, of_day
from jumpgate.dataflow.partitions import from_option, values_of
from jumpgate.dataflow.types import DataType, string
from jumpgate.errors import ComputeError, JumpgateError, MalformedData
from jumpgate.nca.interface import ColumnStatistics

#: of text files: pieces at so many offsets, of so many bytes
PIECES, PIECE_BYTES = 8, 32 << 10
#: of Parquet, from each of some row groups; files of no more rows than SMALL_ROWS are read whole
ROWS_MAX, GROUPS_MAX, SMALL_ROWS = 1024, 4, 100_000
#: ORC is read by whole stripes: tables of more rows are left alone
ORC_ROWS_MAX = 2_000_000
_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)
#: kinds of times, moments and durations, which have a place by their count of units
_COUNTED = ("time", "timestamp_ns", "timestamptz", "timestamptz_ns", "duration")

Options = tuple[tuple[str, str], ...]


def column_statistics(
    files: Sequence[str], format: str, options: Options, rows: float, name: str, type: DataType
) -> ColumnStatistics:
    """From the largest file, for all of `rows` rows; of a column in the names of folders, from the names of all."""
    try:
        if name in from_option(dict(options)):
            return _partition(files, name, type)
        largest = max(files, key=os.path.getsize, default=None)
        if largest is None:
            return ColumnStatistics()
        status = os.stat(largest)
        return _column(largest, status.st_mtime_ns, status.st_size, format, options, rows, name, type)
    except (OSError, TypeError, ValueError, ArithmeticError, LookupError, JumpgateError):
        return ColumnStatistics()


@functools.lru_cache(maxsize=10_000)
def _column(
    file: str, modified_ns: int, size: int, format: str, options: Options, rows: float, name: str, type: DataType
) -> ColumnStatistics:
    if format == "parquet":
        footer = parquet_footer(file)
        if footer.encrypted:
            return ColumnStatistics()
        values, range = _parquet(file, name), footer.range(name)
        scale = 10.0**-type.scale if type.kind == "decimal" else 1.0
        low, high = ((float(b) * scale if isinstance(b, int | float) else None) for b in (range.low, range.high))
    else:
        table = _orc(file, modified_ns, size, name) if format == "orc" else None
        values = _lines(file, modified_ns, size, format, options).get(name, []) if table is None else table
        numbers = [n for v in values if v is not None and (n := position(v, type)) is not None]
        low, high = min(numbers, default=None), max(numbers, default=None)
    if not values:
        return ColumnStatistics(low=low, high=high)
    present = [v for v in values if v is not None]
    distinct = _distinct(present, rows * len(present) / len(values))
    if type.is_integer or type.kind == "date":  # there are no more values than places for them
        distinct = min(distinct, high - low + 1) if low is not None and high is not None else distinct
    return ColumnStatistics(max(1.0, distinct), low, high, 1 - len(present) / len(values))


def _partition(files: Sequence[str], name: str, type: DataType) -> ColumnStatistics:
    texts = [values_of(file).get(name) for file in files]
    present = {text for text in texts if text is not None}
    places = [p for text in present if (p := position(text, type)) is not None]
    low, high = min(places, default=None), max(places, default=None)
    return ColumnStatistics(float(max(1, len(present))), low, high, texts.count(None) / len(texts))


def _distinct(present: Sequence[Any], rows: float) -> float:
    """The guaranteed-error estimator: what occurs once in the sample stands for √(rows / sample) values.

    Charikar, Chaudhuri, Motwani, Narasayya: Towards Estimation Error Guarantees for Distinct Values, PODS 2000. A run
    of one value counts as one row: rows that lie together are no random sample.
    """
    if len(present) >= rows:
        return float(len(set(present)))
    heads = [v for i, v in enumerate(present) if not i or v != present[i - 1]]
    if not heads:
        return 1.0
    rows *= len(heads) / len(present)
    counts = Counter(heads)
    once = sum(1 for n in counts.values() if n == 1)
    if once == len(heads):  # as good as a key
        return rows
    return min(rows, len(counts) - once + once * math.sqrt(max(1.0, rows / len(heads))))


def position(value: Any, type: DataType) -> float | None:
    """A value, or its text in a file, as a number; None for what has no place on a line."""
    if type.is_numeric:
        number = float(value)
        return number if math.isfinite(number) else None
    if type.kind == "date":
        day = value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value[:10])
        return float(day.toordinal() - _DAY)
    if type.kind == "timestamp":
        if isinstance(value, int):  # of a file whose unit is nanoseconds
            return value / 1000
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime.fromisoformat(value)
        return (moment.replace(tzinfo=None) - _EPOCH) / datetime.timedelta(microseconds=1)
    if type.kind in _COUNTED:
        return _count(value, type)
    return None


def _count(value: Any, type: DataType) -> float | None:
    if isinstance(value, str):
        try:
            value = int(value) if type.kind == "duration" else cast_value(value, string, type)
        except (ValueError, ComputeError):
            return None
    if isinstance(value, datetime.time):
        return float(of_day(value))
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) / datetime.timedelta(microseconds=1)
    return float(value)


def _parquet(file: str, name: str) -> list[Any]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as parquet:
        if parquet.metadata.num_rows <= SMALL_ROWS:
            return _values(parquet.read([name]).column(0))
        values: list[Any] = []
        groups = parquet.num_row_groups
        for group in sorted({groups * i // GROUPS_MAX for i in range(GROUPS_MAX)}):
            batch = next(parquet.iter_batches(ROWS_MAX, row_groups=[group], columns=[name]), None)
            values += [] if batch is None else _values(batch.column(0))
        return values


@functools.lru_cache(maxsize=1000)
def _orc(file: str, modified_ns: int, size: int, name: str) -> list[Any]:
    import pyarrow.orc as orc

    opened = orc.ORCFile(file)
    if opened.nrows > ORC_ROWS_MAX or not opened.nstripes:
        return []
    stripe = opened.read_stripe(opened.nstripes // 2, columns=[name]).column(0)
    return _values(stripe.slice(0, SMALL_ROWS if opened.nrows <= SMALL_ROWS else ROWS_MAX * GROUPS_MAX))


def _values(column: Any) -> list[Any]:
    """An Arrow column in Python: moments as microseconds, nanoseconds and durations as they are counted."""
    import pyarrow as pa

    if pa.types.is_duration(column.type) or pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = column.cast(pa.int64())
    elif pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


@functools.lru_cache(maxsize=200)
def _lines(file: str, modified_ns: int, size: int, format: str, options: Options) -> dict[str, list[Any]]:
    """Whole lines of the sample, by column."""
    settings = dict(options)
    if not is_plain(file, settings):
        text = beginning(file, settings, PIECES * PIECE_BYTES).data.decode(errors="replace")
        return _csv_columns(file, [text], settings) if format == "csv" else _json_columns([text])
    pieces: list[str] = []
    with open(file, "rb") as f:
        for piece in range(PIECES):
            f.seek(max(0, size - PIECE_BYTES) * piece // (PIECES - 1))
            pieces.append(f.read(PIECE_BYTES).decode("utf-8-sig", errors="replace"))
            if f.tell() == size:
                break
    return _csv_columns(file, pieces, settings) if format == "csv" else _json_columns(pieces)


def _json_columns(pieces: list[str]) -> dict[str, list[Any]]:
    """Of lines, or of the front of an array."""
    found = json_rows(pieces[0], whole=False) if pieces[0].lstrip().startswith("[") else None
    texts = [line for _, line in found] if found else _whole_lines(pieces, "\n")
    rows = [row for text in texts if (row := _json(text)) is not None]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _whole_lines(pieces: list[str], end: str) -> list[str]:
    """Each piece but the first begins, and each but a file's last ends, within a line."""
    lines: list[str] = []
    for i, piece in enumerate(pieces):
        parts = piece.split(end)
        lines += parts[1 if i else 0 : -1 if i < PIECES - 1 and len(pieces) > 1 else None]
    return lines


def _json(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _csv_columns(file: str, pieces: list[str], options: dict[str, str]) -> dict[str, list[Any]]:
    null = options.get("null", "")
    end = csv_line_end(pieces[0], options.get("quote", '"'))
    lines = _whole_lines(pieces, end)
    records = [r for line in lines if (r := _record(file, line + end, options)) is not None]
    if not records:
        return {}
    header = options.get("header", "true") == "true"
    names = [f.text if header else f"column{i}" for i, f in enumerate(records[0])]
    rows = [r for r in records[header:] if len(r) == len(names)]
    return {name: [None if r[i].text == null else r[i].text for r in rows] for i, name in enumerate(names)}


def _record(file: str, line: str, options: dict[str, str]) -> Sequence[CsvField] | None:
    """None: it is part of a record of several lines."""
    try:
        return next((fields for _, fields in csv_rows(file, line, True, options)), None)
    except MalformedData:
        return None
