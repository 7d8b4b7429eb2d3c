"""`jumpgate sql`: runs SQL statements over files, from a script or as they are typed, and shows or saves results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumpgate.cli.options import job_options, json_option, option_option, options_read, pair, progress_option
from jumpgate.cli.shell.commands import MODES, Quit, read_text
from jumpgate.dataflow.formats import formats
from jumpgate.errors import ConfigError, InvalidDataflow
from jumpgate.extras import load_arrow

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection


def _format(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A format's name; formats are loaded when one is given."""
    if value is not None and value not in formats():
        raise click.BadParameter(f"{value!r} is not one of {', '.join(formats())}")
    return value


@click.command("sql")
@click.argument("file", metavar="[FILE|-]", required=False)
@click.option("--command", "-c", "texts", multiple=True, metavar="SQL", help="Run this text; may be repeated.")
@click.option("--table", "-t", "tables", multiple=True, metavar="NAME=PATH", help="A file, glob or directory.")
@click.option("--tables", "directory", type=click.Path(path_type=Path), help="Every file or folder in it is a table.")
@click.option("--database", type=click.Path(), help="A file of DuckDB's; made if it is not there. [default: in memory]")
@click.option("--format", metavar="FORMAT", callback=_format, help="Of all tables. [default: suffix]")
@option_option
@click.option("--parameter", "-p", "parameters", multiple=True, metavar="TEXT", help="For $1, $2 …, as a string.")
@click.option("--offload", type=click.Choice(("auto", "always", "never")), default="auto", show_default=True)
@job_options
@click.option("--mode", type=click.Choice(MODES), help="How results are shown. [default: table]")
@click.option("--output", "-o", "target", metavar="FILE|-", help="Save as .parquet, .csv, .json, .arrow; - is stdout.")
@click.option("--explain", "explained", is_flag=True, help="Show what would run where, and why; run nothing.")
@click.option("--analyze", is_flag=True, help="Run it, and show what ran where, with times; not the result.")
@progress_option
@json_option
def command(
    file: str | None,
    texts: tuple[str, ...],
    tables: tuple[str, ...],
    directory: Path | None,
    format: str | None,
    options_given: tuple[str, ...],
    parameters: tuple[str, ...],
    offload: str,
    mode: str | None,
    target: str | None,
    explained: bool,
    analyze: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run the SQL statements in FILE (- is standard input) and print their results.

    Without FILE and -c, a terminal gets a shell; otherwise standard input is run.

    \b
    jumpgate sql --table item=data/item.parquet
    jumpgate sql -c "SELECT count(*) FROM 'data/item.parquet'"
    """
    if file is not None and texts:
        raise click.UsageError("give FILE or -c, not both")
    shell = file is None and not texts and sys.stdin.isatty()
    named = _tables(tables, directory, format)
    read_options = options_read(options_given)
    if not shell and not texts:
        texts = (read_text(file or "-"),)
    with _connect(options.pop("address"), offload, bool(named), options) as connection:
        from jumpgate.cli.shell.runner import Runner, Settings

        settings = Settings(
            mode or ("csv" if target == "-" else "table"),
            progress=options["progress"], as_json=as_json, explained=explained, analyze=analyze,
        )  # fmt: skip
        runner = Runner(connection, settings, parameters, interactive=shell)
        if target is not None and target != "-":
            runner.aim(target)
        for name, path in named.items():
            _register(connection, name, path, format, read_options)
        with suppress(Quit):
            if shell:
                from jumpgate.cli.shell import loop

                loop.run(runner)
            for text in texts:
                runner.run(text)


@contextmanager
def _connect(address: str | None, offload: str, reads: bool, options: dict[str, Any]) -> Iterator[Connection]:
    """A connection. reads: it is going to look into files."""
    import jumpgate
    from jumpgate.converters.prober import prober

    load_arrow()
    with nullcontext() if reads else prober.on_demand():
        connection = jumpgate.connect(address, offload=offload, **options)
    with connection:
        yield connection


def _tables(given: tuple[str, ...], directory: Path | None, format: str | None) -> dict[str, str]:
    """Return name → path of each table; a named one replaces one of the folder. Raises ConfigError."""
    from jumpgate.dataflow.files import split_suffix

    named: dict[str, str] = {}
    for text in given:
        name, path = pair(text, "--table", "item=data/item.parquet")
        if name in named:
            raise ConfigError(f"--table {text}: {name!r} is {named[name]} already")
        named[name] = path
    found: dict[str, str] = {}
    if directory is not None:
        if not directory.is_dir():
            raise ConfigError(f"--tables {directory}: there is no such folder", directory=directory)
        for entry in sorted(directory.iterdir()):
            name, suffix = split_suffix(entry.name)
            known = formats().by_suffix.get(suffix)
            if entry.name.startswith(".") or name in named or not (entry.is_dir() or known):
                continue
            if entry.is_file() and format is not None and (known is None or known.name != format):
                continue
            if name in found:
                raise ConfigError(
                    f"--tables {directory}: {Path(found[name]).name} and {entry.name} would both be table {name!r}; "
                    f"name one with --table {name}=PATH, or give --format"
                )
            found[name] = str(entry)
    return found | named


def _register(connection: Any, name: str, path: str, format: str | None, options: dict[str, str]) -> None:
    """Register a table with the options that its format has; files on hosts, which know the format, get all options."""
    from jumpgate.client.reading import delta_folder
    from jumpgate.dataflow import located
    from jumpgate.dataflow.files import list_files

    if located.split(path)[0]:
        connection.register(name, path, format=format, **options)
        return
    try:
        kind = list_files(path, format)[1]
    except InvalidDataflow as error:
        connection.register(name, delta_folder(error, path), format=format)
        return
    known = [option.name for option in formats()[kind].all_options]
    connection.register(name, path, format=kind, **{n: v for n, v in options.items() if n in known})
