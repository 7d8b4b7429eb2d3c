"""The tables of jumpgate.toml: their files, and who may read them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

from jumpgate.client.duckdb.sources import quoted
from jumpgate.dataflow.files import check_plain
from jumpgate.errors import InvalidDataflow
from jumpgate.hosts.config import ClientConfig, TableConfig

_READERS = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json"}
Files = dict[TableConfig, tuple[str, ...]]


def readable(tables: Iterable[TableConfig], client: ClientConfig | None) -> tuple[TableConfig, ...]:
    """Return the tables that the client may read; the service's own user (None) may read all."""
    return tuple(t for t in tables if client is None or not t.readers or client.name in t.readers)


def files_of(tables: Iterable[TableConfig]) -> Files:
    """Return the files that the tables have now."""
    return {table: tuple(f for path in table.paths for f in _expanded(path)) for table in tables}


def view_of(table: TableConfig, files: tuple[str, ...]) -> str:
    """Return the statement that makes the table a view over the files."""
    name = f"{quoted(table.schema)}.{quoted(table.name)}"
    named = {os.path.abspath(path) for path in table.paths}
    try:
        check_plain([file for file in files if file not in named])
    except InvalidDataflow as error:
        message = f"table {table.name}: {error.fields['folder']} is a table of {error.fields['table']}, not served here"
        return f"CREATE VIEW {name} AS SELECT error({literal(message)}) AS missing"
    if not files:
        message = f"table {table.name} has no files: nothing is at {', '.join(table.paths)}"
        return f"CREATE VIEW {name} AS SELECT error({literal(message)}) AS missing"
    return f"CREATE VIEW {name} AS FROM {_READERS[table.format]}([{', '.join(map(literal, files))}])"


def literal(text: str) -> str:
    """Return the text as SQL has it."""
    return "'{}'".format(text.replace("'", "''"))


def _expanded(path: str) -> list[str]:
    place = os.path.abspath(path)
    if os.path.isdir(place):
        return sorted(
            file.path for file in os.scandir(place) if file.is_file() and not file.name.startswith((".", "_"))
        )
    if os.path.exists(place):
        return [place]
    return sorted(filter(os.path.isfile, glob.glob(place, recursive=True)))
