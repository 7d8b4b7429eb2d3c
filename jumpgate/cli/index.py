"""`jumpgate index`: index tables of CSV and JSON Lines objects, by which filters read few of their bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumpgate.cli import output
from jumpgate.cli.hosts import config_option
from jumpgate.cli.options import json_option, option_option, options_read
from jumpgate.errors import NotFound
from jumpgate.words import counted, size

if TYPE_CHECKING:
    from jumpgate.dataflow.builder import Dataflow
    from jumpgate.hosts.config import Config
    from jumpgate.stores.indexes import Index

source_argument = click.argument("source", metavar="TABLE|URL")
column_argument = click.argument("column")


@click.group("index")
def command() -> None:
    """Index tables of CSV and JSON Lines objects (docs/object-stores.md)."""


@command.command("create")
@source_argument
@column_argument
@click.option("--to", default="", metavar="s3://BUCKET/FOLDER", help="Keep the tables there. [default: this machine]")
@click.option(
    "--type", "kind", metavar="TYPE", help="Of the column, as queries have it. [default: found in the objects]"
)
@option_option
@config_option
@json_option
def create(
    source: str,
    column: str,
    to: str,
    kind: str | None,
    options_given: tuple[str, ...],
    config: Path | None,
    as_json: bool,
) -> None:
    """Index a column of a [[table]] of jumpgate.toml, or of the objects of a URL, as they are now.

    It takes the place of an older index of the same.
    """
    from jumpgate.extras import load_arrow

    load_arrow()
    from jumpgate.ncas.s3_select import indexing

    table = _table(source, options_read(options_given), _configured(config))
    with output.progress() as progress:
        made = indexing.create(table.root, column, source, to, kind, progress)
    if as_json:
        output.print_json(_about(made))
    else:
        about = _about(made)
        print(
            f"indexed {counted(about['rows'], 'row')} of {counted(about['objects'], 'object')} by {column}: "
            f"{size(about['bytes'])} at {about['place']}"
        )


@command.command("list")
@config_option
@json_option
def list_(config: Path | None, as_json: bool) -> None:
    """Show the indexes of this machine's user. Queries use those whose objects have not changed."""
    from jumpgate.stores import indexes

    _configured(config)
    found = [_about(index) for index in indexes.found()]
    if as_json:
        output.print_json({"indexes": found})
        return
    columns = ("source", "column", "type", "objects", "rows", "bytes", "place")
    rows = [[*(i[name] for name in columns[:5]), size(i["bytes"]), i["place"]] for i in found]
    output.print_table("", columns, rows, right=("objects", "rows", "bytes"))


@command.command("drop")
@source_argument
@column_argument
@config_option
@json_option
def drop(source: str, column: str, config: Path | None, as_json: bool) -> None:
    """Remove the indexes over a column, with their tables."""
    from jumpgate.ncas.s3_select import indexing
    from jumpgate.stores import indexes

    _configured(config)
    found = [index for index in indexes.found() if (index.source, index.column) == (source, column)]
    if not found:
        raise NotFound(f"there is no index over '{column}' of '{source}'; `jumpgate index list` shows those there are")
    for index in found:
        indexing.drop(index)
    if as_json:
        output.print_json({"dropped": [_about(index) for index in found]})
    else:
        print(f"dropped {counted(len(found), 'index')}")


def _configured(file: Path | None) -> Config:
    """Make this process know the stores of a configuration, and the user's indexes."""
    from jumpgate.hosts.config import load
    from jumpgate.stores import indexes, settings
    from jumpgate.trust import state

    config = load(file)
    settings.configure(config.stores)
    indexes.configure(state.folder("indexes"))
    return config


def _table(source: str, options: dict[str, Any], config: Config) -> Dataflow:
    """Return the rows of a table of the configuration, or of a URL."""
    from jumpgate.client.reading import read_files

    table = next((table for table in config.tables if table.name == source), None)
    paths, format = ([source], None) if table is None else ([*table.paths], table.format)
    return read_files(paths, format=format, **options)


def _about(index: Index) -> dict[str, Any]:
    places = [table.place.rpartition("/")[0] for table in index.tables.values()]
    return {
        "id": index.id,
        "source": index.source,
        "column": index.column,
        "type": index.type,
        "objects": len(index.tables),
        "rows": sum(table.rows for table in index.tables.values()),
        "bytes": sum(table.place_size for table in index.tables.values()),
        "place": next(iter(places), ""),
    }
