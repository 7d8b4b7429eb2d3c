"""What a look at some rows tells about a column: distinct values, bounds, NULLs. For estimates only.

Which rows these are is the format's choice. What cannot be read is unknown: reading the data will say why.
"""

from __future__ import annotations

import datetime
import functools
import math
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.partitions import from_option, values_of
from jumpgate.dataflow.types import DataType
from jumpgate.errors import JumpgateError
from jumpgate.nca.interface import ColumnStatistics

_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)

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
    values = sample.values
    if sample.bounds is None:
        numbers = [n for v in values if v is not None and (n := position(v, type)) is not None]
        low, high = min(numbers, default=None), max(numbers, default=None)
    else:
        low, high = sample.bounds
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
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime.fromisoformat(value)
        return (moment.replace(tzinfo=None) - _EPOCH) / datetime.timedelta(microseconds=1)
    return None
