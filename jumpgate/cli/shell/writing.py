"""Results for programs: CSV and JSON to a stream, and files in the format that their suffix names."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from jumpgate.cli import result
from jumpgate.cli.shell import values
from jumpgate.errors import ConfigError, FileUnreadable

SUFFIXES = (".parquet", ".csv", ".json", ".arrow")
#: rows that are written at once
ROWS_AT_ONCE = 64 << 10


def check(file: Path) -> None:
    """Raise ConfigError if `file` is not writable: before a long query, not after it."""
    result.check_target(file, SUFFIXES)


def save(table: pa.Table, types: Sequence[str], file: Path) -> None:
    """Write the result in the format that the suffix names; the file appears when it is complete. types: DuckDB's.
    Raises FileUnreadable."""
    if file.suffix not in (".csv", ".json"):
        result.save(table, file)
        return
    write = write_csv if file.suffix == ".csv" else write_json_lines
    staged = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with staged.open("wb") as stream:
            write(table, types, stream)
        os.replace(staged, file)
    except OSError as error:
        raise FileUnreadable(f"cannot write {file}: {error.strerror or error}", file=file) from error
    finally:
        staged.unlink(missing_ok=True)


def write_csv(table: pa.Table, types: Sequence[str], stream: BinaryIO, delimiter: str = ",") -> None:
    """A header, and a line for each row. Texts are quoted, so that NULL, which is empty, is no empty string."""
    from pyarrow import csv

    converted = values.as_varchar(table, types, _is_csv, "CAST({} AS VARCHAR)")
    csv.write_csv(converted, stream, csv.WriteOptions(delimiter=delimiter))


def write_json_lines(table: pa.Table, types: Sequence[str], stream: BinaryIO) -> None:
    """An object on a line for each row, as Jumpgate and DuckDB read JSON."""
    for row in _objects(table, types):
        stream.write(f"{row}\n".encode())


def write_json(table: pa.Table, types: Sequence[str], stream: BinaryIO) -> None:
    """An array with an object for each row."""
    stream.write(b"[")
    for number, row in enumerate(_objects(table, types)):
        stream.write((",\n" if number else "").encode() + row.encode())
    stream.write(b"]\n")


def _objects(table: pa.Table, types: Sequence[str]) -> Iterator[str]:
    """Rows as JSON. Raises ConfigError for names that repeat, of which a reader would lose one."""
    repeated = {name for name in table.column_names if table.column_names.count(name) > 1}
    if repeated:
        name = min(repeated)
        raise ConfigError(f"two columns are named {name!r}, which JSON cannot tell apart; name one with AS")
    keys = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    writers = [_writer(type) for type in table.schema.types]
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        part = values.as_varchar(table.slice(start, ROWS_AT_ONCE), types, _is_json, "CAST(to_json({}) AS VARCHAR)")
        columns = [column.to_pylist() for column in part.columns]
        for row in zip(*columns, strict=True):
            fields = (
                f"{key}: {'null' if value is None else write(value)}"
                for key, value, write in zip(keys, row, writers, strict=True)
            )
            yield "{" + ", ".join(fields) + "}"


def _writer(type: pa.DataType) -> Callable[[Any], str]:
    if pa.types.is_floating(type) and _is_json(type):
        return lambda value: json.dumps(value if math.isfinite(value) else "NaN" if math.isnan(value) else str(value))
    if pa.types.is_decimal(type):
        return lambda value: f"{value:f}"
    return (lambda value: json.dumps(value, ensure_ascii=False)) if _is_json(type) else _finite


def _finite(text: str) -> str:
    """Write what to_json says with strings for the numbers that JSON does not have."""
    if "NaN" not in text and "Infinity" not in text:
        return text
    return json.dumps(json.loads(text, parse_constant=str), ensure_ascii=False)


def _is_csv(type: pa.DataType) -> bool:
    return values.is_plain(type) or pa.types.is_float64(type)


def _is_json(type: pa.DataType) -> bool:
    return values.is_plain(type) or pa.types.is_float64(type)
