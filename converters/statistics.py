"""What is known about files before reading them, cheaply, for the compiler's estimates: rows, bytes, columns."""

from __future__ import annotations

import functools
import os

from jumpgate.converters.samples import column_statistics
from jumpgate.nca.interface import Statistics

SAMPLE_BYTES = 64 << 10


def estimate(files: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...] = ()) -> Statistics:
    """Rows and bytes of all files together; unknown where a file cannot be read (reading it will say why).

    Parquet and ORC: exact, from the footers. JSON and CSV: from the mean length of a sample's lines. Cached by path,
    time and size.
    """
    rows, size = 0.0, 0.0
    for file in files:
        try:
            status = os.stat(file)
            rows += _rows(file, format, status.st_mtime_ns, status.st_size)
        except (OSError, ValueError, ArithmeticError):
            return Statistics()
        size += status.st_size
    return Statistics(rows, size, functools.partial(column_statistics, files, format, options, rows))


@functools.lru_cache(maxsize=100_000)
def _rows(file: str, format: str, modified_ns: int, size: int) -> float:
    if format == "parquet":
        import pyarrow.parquet

        return float(pyarrow.parquet.read_metadata(file).num_rows)
    if format == "orc":
        import pyarrow.orc

        return float(pyarrow.orc.ORCFile(file).nrows)
    with open(file, "rb") as f:
        sample = f.read(SAMPLE_BYTES)
    lines = sample.count(b"\n")
    if len(sample) == size:
        return float(lines + (not sample.endswith(b"\n") and bool(sample)))
    return size / (len(sample) / lines) if lines else 1.0
