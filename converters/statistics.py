"""What is known about files before reading them, cheaply, for the compiler's estimates: rows, bytes, columns."""

from __future__ import annotations

import functools
import os

from jumpgate.converters.footers import orc_footer
from jumpgate.converters.samples import column_statistics
from jumpgate.converters.text_files import beginning
from jumpgate.converters.text_rows import csv_line_end, json_rows
from jumpgate.errors import JumpgateError
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
            rows += _rows(file, format, options, status.st_mtime_ns, status.st_size)
        except (OSError, ValueError, ArithmeticError, JumpgateError):
            return Statistics()
        size += status.st_size
    return Statistics(rows, size, functools.partial(column_statistics, files, format, options, rows))


@functools.lru_cache(maxsize=100_000)
def _rows(file: str, format: str, options: tuple[tuple[str, str], ...], modified_ns: int, size: int) -> float:
    if format == "parquet":
        import pyarrow.parquet

        return float(pyarrow.parquet.read_metadata(file).num_rows)
    if format == "orc":
        return float(orc_footer(file).rows)
    sample = beginning(file, dict(options), SAMPLE_BYTES)
    text = sample.data.decode(errors="replace")
    if format == "json" and text.lstrip().startswith("["):
        rows = sum(1 for _ in json_rows(text, sample.whole))
    else:
        end = "\n" if format == "json" else csv_line_end(text, dict(options).get("quote", '"'))
        rows = text.count(end) + (sample.whole and bool(text) and not text.endswith(end))
    if sample.whole:
        return float(rows)
    return size / (sample.raw_bytes / rows) if rows else 1.0
