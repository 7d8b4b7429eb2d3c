"""The tables of jumpgate.toml: their files, and who may read them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass

from jumpgate.client.duckdb.sources import quoted
from jumpgate.dataflow.files import check_plain
from jumpgate.errors import InvalidDataflow, JumpgateError
from jumpgate.flight import lakes
from jumpgate.flight.lakes import error_select, literal
from jumpgate.hosts.config import LAKES, ClientConfig, TableConfig

_READERS = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json"}


@dataclass(frozen=True)
class Source:
    """A table's files of now, and the SELECT over them."""

    files: tuple[str, ...]
    text: str


Files = dict[TableConfig, Source]


def readable(tables: Iterable[TableConfig], client: ClientConfig | None) -> tuple[TableConfig, ...]:
    """Return the tables that the client may read; the service's own user (None) may read all."""
    return tuple(t for t in tables if client is None or not t.readers or client.name in t.readers)


def files_of(tables: Iterable[TableConfig]) -> Files:
    """Return what the tables read now; a lake's table, its newest snapshot."""
    return {table: _lake(table) if table.format in LAKES else _plain(table) for table in tables}


def view_of(table: TableConfig, source: Source) -> str:
    """Return the statement that makes the table a view over its files."""
    return f"CREATE VIEW {quoted(table.schema)}.{quoted(table.name)} AS {source.text}"


def _lake(table: TableConfig) -> Source:
    try:
        return Source(*lakes.find(table.format, table.paths[0], table.catalog))
    except JumpgateError as error:
        return Source((), error_select(f"table {table.name}: {error.message}"))


def _plain(table: TableConfig) -> Source:
    files = tuple(f for path in table.paths for f in _expanded(path))
    named = {os.path.abspath(path) for path in table.paths}
    try:
        check_plain([file for file in files if file not in named])
    except InvalidDataflow as error:
        kind = str(error.fields["table"])
        message = f"table {table.name}: {error.fields['folder']} is a table of {kind}, not of plain files"
        way_out = f': give format = "{kind.lower()}"' if kind.lower() in LAKES else ""
        return Source(files, error_select(message + way_out))
    if not files:
        message = f"table {table.name} has no files: nothing is at {', '.join(table.paths)}"
        return Source(files, error_select(message))
    return Source(files, f"FROM {_READERS[table.format]}([{', '.join(map(literal, files))}])")


def _expanded(path: str) -> list[str]:
    place = os.path.abspath(path)
    if os.path.isdir(place):
        return sorted(
            file.path for file in os.scandir(place) if file.is_file() and not file.name.startswith((".", "_"))
        )
    if os.path.exists(place):
        return [place]
    return sorted(filter(os.path.isfile, glob.glob(place, recursive=True)))
