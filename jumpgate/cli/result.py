"""A job's result: printed as a table or as JSON, or written to a file that appears only when it is complete."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jumpgate.cli import output
from jumpgate.errors import ConfigError, FileUnreadable
from jumpgate.words import counted

if TYPE_CHECKING:
    import pyarrow as pa

#: the most rows that are printed to a terminal
ROWS_SHOWN = 100
SUFFIXES = (".parquet", ".csv", ".arrow")


def check_target(file: Path, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Raise ConfigError if `file` is not writable: before a long job, not after it."""
    if file.suffix not in suffixes:
        raise ConfigError(f"--output {file}: the suffix says the format; it can be {', '.join(suffixes)}", file=file)
    if not file.absolute().parent.is_dir():
        raise ConfigError(f"--output {file}: there is no folder {file.absolute().parent}", file=file)


def save(table: pa.Table, file: Path) -> None:
    """Writes the result in the format that the suffix names. Raises FileUnreadable."""
    from pyarrow import csv, ipc, parquet

    staged = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if file.suffix == ".parquet":
            parquet.write_table(table, staged)
        elif file.suffix == ".csv":
            csv.write_csv(table, staged)
        else:
            with ipc.new_file(staged, table.schema) as writer:
                writer.write_table(table)
        os.replace(staged, file)
    except OSError as error:
        raise FileUnreadable(f"cannot write {file}: {error.strerror or error}", file=file) from error
    finally:
        staged.unlink(missing_ok=True)


def show(table: pa.Table) -> None:
    """Print the first rows as a table on stdout, and their number."""
    import pyarrow as pa

    shown = table.slice(0, ROWS_SHOWN)
    columns = [shown.column(i).to_pylist() for i in range(shown.num_columns)]
    numbers = [
        name
        for name, type in zip(table.column_names, table.schema.types, strict=True)
        if pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type)
    ]
    rows = [["NULL" if value is None else value for value in row] for row in zip(*columns, strict=True)]
    output.print_table("", table.column_names, rows, right=numbers)
    if table.num_rows > ROWS_SHOWN:
        print(f"… {counted(table.num_rows - ROWS_SHOWN, 'more row')}; --output FILE saves them all")
    else:
        print(counted(table.num_rows, "row"))
