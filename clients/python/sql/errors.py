"""Typed errors of SQL: what DuckDB says of a text, and of what it computes."""

from __future__ import annotations

import re

import duckdb
import pyarrow as pa

from jumpgate import errors
from jumpgate.errors import InvalidDataflow, JumpgateError


class InvalidSql(InvalidDataflow):
    """The text is not a query over the registered tables. Fields: line and column (from 1), table, name where known."""

    code = "invalid_sql"


class TooLarge(InvalidSql):
    """The text is beyond what is looked at: nobody plans it."""

    code = "sql_too_large"


#: what DuckDB, and the reader of its result, raise
RAISED = (duckdb.Error, pa.ArrowException, OSError, MemoryError)
_ERRORS: tuple[tuple[type[Exception], type[JumpgateError]], ...] = (
    (duckdb.ConversionException, errors.InvalidCast),
    (duckdb.OutOfRangeException, errors.Overflow),
    (duckdb.OutOfMemoryException, errors.MemoryLimit),
    (MemoryError, errors.MemoryLimit),
    (duckdb.InterruptException, errors.Cancelled),
    (duckdb.IOException, errors.DataError),
    (duckdb.ProgrammingError, InvalidSql),
    (duckdb.NotSupportedError, InvalidSql),
)
#: what DuckDB's readers say of damaged files, as mistakes of the text or of values
_DAMAGED = re.compile(
    r"No magic bytes found|too small to be a Parquet file|Failed to read file|Malformed JSON in file|CSV Error on Line"
    r"|Error when sniffing file|Invalid unicode \(byte sequence mismatch\)"
)


def typed(error: Exception) -> JumpgateError:
    """Return the typed error of what DuckDB, or the reader of its result, raised."""
    said = str(error)
    if isinstance(error, duckdb.InvalidInputException | duckdb.ConversionException) and _DAMAGED.search(said):
        return errors.MalformedData(f"DuckDB: {said}")
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs) or said.startswith(f"Invalid: {theirs.__name__.removesuffix('Exception')}"):
            return ours(f"DuckDB: {said}")
    return errors.ComputeError(f"DuckDB: {said}")


def located(text: str, line: int, column: int) -> str:
    """The line of `text` with a caret under the place; what is far from it on a long line is left out."""
    lines = text.splitlines() or [""]
    row = lines[min(line, len(lines)) - 1]
    start = max(0, column - 61)
    return f"  {row[start : start + 120].expandtabs(1)}\n  {' ' * (column - 1 - start)}^"
