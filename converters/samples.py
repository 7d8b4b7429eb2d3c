"""What a look at some rows tells about a column: distinct values, bounds, NULLs. For estimates only.

Which rows these are is the format's choice. What cannot be read is unknown: reading the data will say why.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from jumpgate.dataflow.casts import cast_value, of_day
from jumpgate.dataflow.fingerprints import fingerprint
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.partitions import from_option, values_of
from jumpgate.dataflow.types import DataType, string
from jumpgate.errors import ComputeError, JumpgateError
from jumpgate.nca.interface import ColumnStatistics

_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)
#: kinds of times, moments and durations, which have a place by their count of units
_COUNTED = ("time", "timestamp_ns", "timestamptz", "timestamptz_ns", "duration")

#: of a sample's rows, and how many of them: a value that so many have is known by name
HEAVY, HEAVY_ROWS_MIN, HEAVY_RUNS_MIN = 1 / 1024, 32, 3
#: values of a column that are known by name
HEAVY_MAX = 32

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
    sample = formats()[format].sample(file, dict(options), name, type)
    return statistics_of(sample.values, type, rows, sample.bounds)


def statistics_of(
    values: Sequence[Any], type: DataType, rows: float, bounds: tuple[float | None, float | None] | None = None
) -> ColumnStatistics:
    """Of values that are a sample of `rows` values, or all of them; `bounds` of all, if they are known."""
    if bounds is None:
        numbers = [n for v in values if v is not None and (n := position(v, type)) is not None]
        bounds = min(numbers, default=None), max(numbers, default=None)
    low, high = bounds
    places = None  # there are no more values than places for them
    if (type.is_integer or type.kind == "date") and low is not None and high is not None:
        places = high - low + 1
    if not values:
        return ColumnStatistics(places and min(places, rows), low, high)
    present = [v for v in values if v is not None]
    distinct = distinct_of(present, rows * len(present) / len(values))
    if places is not None:
        distinct = min(distinct, places)
    nulls = 1 - len(present) / len(values)
    return ColumnStatistics(max(1.0, distinct), low, high, nulls, heavy=_heavy(values, type))


def _heavy(values: Sequence[Any], type: DataType) -> tuple[tuple[int, float], ...]:
    """Values of integers and texts, and NULL, that many of a sample have. One in a run or two is not among them: rows
    that lie together are not a random sample."""
    if not (type.is_integer or type.kind == "string"):
        return ()
    often = [(v, n) for v, n in Counter(values).most_common(HEAVY_MAX) if n >= max(HEAVY_ROWS_MIN, len(values) * HEAVY)]
    missing = {v: HEAVY_RUNS_MIN for v, _ in often}  # runs
    for head in _heads(values):
        if not any(missing.values()):
            break
        if missing.get(head):
            missing[head] -= 1
    return tuple((fingerprint((v,), (type,)), n / len(values)) for v, n in often if not missing[v])


def _partition(files: Sequence[str], name: str, type: DataType) -> ColumnStatistics:
    texts = [values_of(file).get(name) for file in files]
    present = {text for text in texts if text is not None}
    places = [p for text in present if (p := position(text, type)) is not None]
    low, high = min(places, default=None), max(places, default=None)
    return ColumnStatistics(float(max(1, len(present))), low, high, texts.count(None) / len(texts))


def _heads(values: Sequence[Any]) -> Iterator[Any]:
    """The first value of each run of equal ones."""
    return (value for value, _ in itertools.groupby(values))


def distinct_of(present: Sequence[Any], rows: float) -> float:
    """How many values `rows` values have of which these are a sample: those that occur once or twice in it tell how
    many do not (Chao: Nonparametric Estimation of the Number of Classes in a Population, Scand. J. Statistics, 1984).

    A run of one value counts as one row: rows that lie together are not a random sample.
    """
    if len(present) >= rows:
        return float(len(set(present)))
    counts = Counter(_heads(present))
    if not counts:
        return 1.0
    rows *= counts.total() / len(present)
    once = sum(1 for n in counts.values() if n == 1)
    twice = sum(1 for n in counts.values() if n == 2)
    return min(rows, len(counts) + once * (once - 1) / (2.0 * (twice + 1)))


def _count(value: Any, type: DataType) -> float | None:
    """A time, moment or duration, or its text, in its unit."""
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
