"""Statistics of files for the compiler's estimates, without reading data: rows, bytes, columns."""

from __future__ import annotations

import functools

from jumpgate.converters.samples import column_statistics
from jumpgate.dataflow import deleted
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.opening import version
from jumpgate.dataflow.types import DataType
from jumpgate.errors import JumpgateError
from jumpgate.nca.interface import ColumnStatistics, Statistics


def estimate(files: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...] = ()) -> Statistics:
    """Return the rows and bytes of all files together; unknown if a file cannot be read (reading it reports the error).

    Exact if the files store their rows, otherwise from the mean length of sampled ones. Cached by path, time and size.
    """
    rows, size = 0.0, 0.0
    for file in files:
        try:
            changed, bytes = version(file)
            rows += _rows(file, format, options, changed, bytes)
        except (OSError, ValueError, ArithmeticError, JumpgateError):
            return Statistics()
        size += bytes
    rows = max(0.0, rows - deleted.count(dict(options).get("deleted", "")))
    return Statistics(rows, size, functools.partial(column_statistics, files, format, options, rows))


def column(
    files: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...], name: str, type: DataType
) -> ColumnStatistics:
    """Return the statistics of a column of all files together, see samples.column_statistics."""
    known = estimate(files, format, options)
    return ColumnStatistics() if known.column is None else known.column(name, type)


@functools.lru_cache(maxsize=100_000)
def _rows(file: str, format: str, options: tuple[tuple[str, str], ...], modified_ns: int, size: int) -> float:
    return formats()[format].rows(file, dict(options))
