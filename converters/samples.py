"""Column statistics from sampled rows: distinct values, bounds, NULLs. For estimates only.

The format chooses the rows. Values that cannot be read are unknown: reading the data reports the error.
"""

from __future__ import annotations

import datetime
import functools
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.converters.value_counts import Column, Values, array_of, column_of, in_rows, in_runs
from jumpgate.dataflow.casts import cast_value, of_day
from jumpgate.dataflow.fingerprints import fingerprint
from jumpgate.dataflow.formats import Sample, formats
from jumpgate.dataflow.opening import size_of, version
from jumpgate.dataflow.partitions import from_option, values_of
from jumpgate.dataflow.types import DataType, string
from jumpgate.errors import ComputeError, JumpgateError
from jumpgate.nca.interface import ColumnStatistics

_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)
#: kinds of times, moments and durations, which are numbers by their count of units
_COUNTED = ("time", "timestamp_ns", "timestamptz", "timestamptz_ns", "duration")

#: fraction of a sample's rows, and number of rows and runs, that make a value a heavy hitter
HEAVY, HEAVY_ROWS_MIN, HEAVY_RUNS_MIN = 1 / 1024, 32, 3
#: the most heavy hitters of a column
HEAVY_MAX = 32

#: the most bytes of cached samples for other conditions on the same columns; overhead of each, and of each Python value
KEPT_BYTES_MAX, SAMPLE_BYTES, VALUE_BYTES = 256 << 20, 1 << 10, 64

#: of a table, whose bounds are looked up one by one
BOUNDED_FILES_MAX = 1_000

Options = tuple[tuple[str, str], ...]


def column_statistics(
    files: Sequence[str], format: str, options: Options, rows: float, name: str, type: DataType
) -> ColumnStatistics:
    """From the largest file, for all of `rows` rows, but for the bounds, where every file tells its own; of a column in
    the names of folders, from the names of all."""
    try:
        if name in from_option(dict(options)):
            return _partition(files, name, type)
        largest = max(files, key=size_of, default=None)
        if largest is None:
            return ColumnStatistics()
        changed, size = version(largest)
        found = _column(largest, changed, size, format, options, rows, name, type)
        return found if len(files) == 1 else _of_all(found, files, format, options, name, type)
    except (OSError, TypeError, ValueError, ArithmeticError, LookupError, pa.ArrowException, JumpgateError):
        return ColumnStatistics()


def _of_all(
    found: ColumnStatistics, files: Sequence[str], format: str, options: Options, name: str, type: DataType
) -> ColumnStatistics:
    """With the bounds of all files, where these tell them: one file's may be far from the others'."""
    bounds_in = formats()[format].bounds
    if bounds_in is None or len(files) > BOUNDED_FILES_MAX:
        return found
    lows, highs = zip(*(bounds_in(file, dict(options), name, type) for file in files), strict=True)
    return replace(found, low=None if None in lows else min(lows), high=None if None in highs else max(highs))


@functools.lru_cache(maxsize=10_000)
def _column(
    file: str, modified_ns: int, size: int, format: str, options: Options, rows: float, name: str, type: DataType
) -> ColumnStatistics:
    found = sample(file, modified_ns, size, format, options, name, type)
    return replace(statistics_of(found.values, type, rows, found.bounds), spread=found.spread)


class Kept:
    """An LRU cache of samples, bounded by bytes."""

    def __init__(self, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._samples: OrderedDict[tuple[object, ...], Sample] = OrderedDict()

    def __contains__(self, key: tuple[object, ...]) -> bool:
        return key in self._samples

    def get(self, key: tuple[object, ...], look: Callable[[], Sample]) -> Sample:
        """Return the cached sample, or that of `look`."""
        if key in self._samples:
            self._samples.move_to_end(key)
            return self._samples[key]
        found = self._samples[key] = look()
        self._bytes += _bytes(found)
        while self._bytes > self._bytes_max:
            _, oldest = self._samples.popitem(last=False)
            self._bytes -= _bytes(oldest)
        return found


def _bytes(sample: Sample) -> int:
    values = sample.values
    arrow = isinstance(values, pa.Array | pa.ChunkedArray)
    return SAMPLE_BYTES + (values.nbytes if arrow else VALUE_BYTES * len(values))


_kept = Kept()


def sample(file: str, modified_ns: int, size: int, format: str, options: Options, name: str, type: DataType) -> Sample:
    """Return the format's sample of a column of a file in that state. Raises the format's errors."""
    key = (file, modified_ns, size, format, options, name, type)
    return _kept.get(key, lambda: formats()[format].sample(file, dict(options), name, type))


def statistics_of(
    values: Values, type: DataType, rows: float, bounds: tuple[float | None, float | None] | None = None
) -> ColumnStatistics:
    """Return the statistics of values that are a sample of `rows` values, or all of them; `bounds` of all, if known."""
    low, high = bounds_of(values, type) if bounds is None else bounds
    places = None  # an upper bound of distinct values
    if (type.is_integer or type.kind == "date") and low is not None and high is not None:
        places = high - low + 1
    if not len(values):
        return ColumnStatistics(places and min(places, rows), low, high)
    column = column_of(values)
    present = column.array.drop_null()
    distinct = distinct_of(present, rows * len(present) / len(values))
    if places is not None:
        distinct = min(distinct, places)
    nulls = 1 - len(present) / len(values)
    return ColumnStatistics(max(1.0, distinct), low, high, nulls, heavy=_heavy(column, type))


def bounds_of(values: Values, type: DataType) -> tuple[float | None, float | None]:
    """Return the least and the greatest position of any value."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        column = array_of(values)
        if not type.is_numeric and type.kind not in ("date", "timestamp", *_COUNTED):
            return None, None
        if pa.types.is_floating(column.type):
            column = column.filter(pc.is_finite(column))
        values = [v for v in pc.min_max(column).as_py().values() if v is not None]
    numbers = [n for v in values if v is not None and (n := position(v, type)) is not None]
    return min(numbers, default=None), max(numbers, default=None)


def _heavy(column: Column, type: DataType) -> tuple[tuple[int, float], ...]:
    """Return heavy hitters: frequent integers, texts or NULL. A value in only a run or two is excluded: adjacent rows
    are not a random sample."""
    if not (type.is_integer or type.kind == "string"):
        return ()
    values, rows = in_rows(column.array)
    total = len(column.array)
    many = pc.indices_nonzero(pc.greater_equal(rows, max(HEAVY_ROWS_MIN, math.ceil(total * HEAVY)))).to_pylist()
    if not many:
        return ()
    runs = in_runs(column.array)
    often = sorted(((rows[i].as_py(), i) for i in many), key=lambda of: -of[0])[:HEAVY_MAX]
    return tuple(
        (fingerprint((column.value(values[i]),), (type,)), n / total)
        for n, i in often
        if runs[i].as_py() >= HEAVY_RUNS_MIN
    )


def _partition(files: Sequence[str], name: str, type: DataType) -> ColumnStatistics:
    texts = [values_of(file).get(name) for file in files]
    present = {text for text in texts if text is not None}
    places = [p for text in present if (p := position(text, type)) is not None]
    low, high = min(places, default=None), max(places, default=None)
    return ColumnStatistics(float(max(1, len(present))), low, high, texts.count(None) / len(texts))


def distinct_of(present: pa.Array, rows: float) -> float:
    """Estimate the distinct values of `rows` values from a sample without NULL: the values that occur once or twice in
    it tell how many are missing (Chao: Nonparametric Estimation of the Number of Classes in a Population, Scand. J.
    Statistics, 1984).

    A run of one value counts as one row: adjacent rows are not a random sample.
    """
    if len(present) >= rows:
        return float(len(present.unique()))
    if not len(present):
        return 1.0
    runs = in_runs(present)
    rows *= pc.sum(runs).as_py() / len(present)
    once, twice = (pc.sum(pc.equal(runs, times)).as_py() or 0 for times in (1, 2))
    return min(rows, len(runs) + once * (once - 1) / (2.0 * (twice + 1)))


def _count(value: Any, type: DataType) -> float | None:
    """Return a time, moment or duration, or its text, in its unit."""
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
    """Return a value, or its text in a file, as a number; None for a type without an order on numbers."""
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
