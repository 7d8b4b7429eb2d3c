"""`jumpgate sql`: runs a SQL query over files and prints or saves its result."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from jumpgate.cli import output, result
from jumpgate.cli.options import job_options, json_option, progress_option
from jumpgate.dataflow.formats import formats
from jumpgate.errors import ConfigError, FileUnreadable, InvalidDataflow
from jumpgate.extras import load_arrow
from jumpgate.words import counted


@click.command("sql")
@click.argument("file", metavar="FILE|-")
@click.option("--table", "-t", "tables", multiple=True, metavar="NAME=PATH", help="A file, glob or directory.")
@click.option("--tables", "directory", type=click.Path(path_type=Path), help="Every file or folder in it is a table.")
@click.option("--format", type=click.Choice(tuple(formats())), help="Of all tables. [default: suffix]")
@click.option(
    "--option", "options_given", multiple=True, metavar="NAME=VALUE", help="delimiter=;, header=false, null=NA …"
)
@click.option("--parameter", "-p", "parameters", multiple=True, metavar="TEXT", help="For $1, $2 …, as a string.")
@click.option("--offload", type=click.Choice(("auto", "always", "never")), default="auto", show_default=True)
@job_options
@click.option("--output", "-o", "target", type=click.Path(path_type=Path), help="Save as .parquet, .csv or .arrow.")
@click.option("--explain", "explained", is_flag=True, help="Show what would run where, and why; run nothing.")
@click.option("--analyze", is_flag=True, help="Run it, and show what ran where, with times; not the result.")
@progress_option
@json_option
def command(
    file: str,
    tables: tuple[str, ...],
    directory: Path | None,
    format: str | None,
    options_given: tuple[str, ...],
    parameters: tuple[str, ...],
    offload: str,
    target: Path | None,
    explained: bool,
    analyze: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run the SQL query in FILE (- is standard input) and print its result.

    \b
    echo 'SELECT count(*) FROM item' | jumpgate sql - --table item=data/item.parquet
    """
    import jumpgate

    if target is not None:
        result.check_target(target)
    text, read_options = _text(file), _options(options_given)
    load_arrow()
    with jumpgate.connect(options.pop("address"), offload=offload, **options) as connection:
        for name, path in _tables(tables, directory, format).items():
            _register(connection, name, path, format, read_options)
        query = connection.sql(text, parameters)
        if explained or analyze:
            said = query.explain(analyze=analyze)
            if as_json:
                from jumpgate.client.sql.explain import explain_data

                output.print_json(explain_data(query))
            else:
                print(said, end="")
            return
        if sys.stderr.isatty():
            print(f"{query.split.offloaded} of {query.split.operators} operators offloaded", file=sys.stderr)
        table = query.to_arrow()
    if target is not None:
        result.save(table, target)
    if as_json:
        rows = {"file": str(target)} if target else {"result": [list(row) for row in _rows(table)]}
        output.print_json(
            {"columns": table.column_names, "types": list(map(str, table.schema.types)), "rows": table.num_rows, **rows}
        )
    elif target is not None:
        print(f"wrote {counted(table.num_rows, 'row')} to {target}")
    else:
        result.show(table)


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise FileUnreadable(f"cannot read {file}: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise FileUnreadable(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}", file=file) from error


def _tables(given: tuple[str, ...], directory: Path | None, format: str | None) -> dict[str, str]:
    """Return name → path of each table; a named one replaces one of the folder. Raises ConfigError."""
    from jumpgate.dataflow.files import split_suffix

    named: dict[str, str] = {}
    for text in given:
        name, path = _pair(text, "--table", "item=data/item.parquet")
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
    if not found and not named:
        raise ConfigError("no tables: name them with --table NAME=PATH, or a folder of them with --tables")
    return found | named


def _options(given: tuple[str, ...]) -> dict[str, str]:
    """Options of reads by name. Raises ConfigError for one that no format has."""
    from jumpgate.dataflow.resolve import suggest

    found = {}
    for text in given:
        name, value = _pair(text, "--option", "delimiter=;")
        known = sorted({option.name for format in formats().values() for option in format.all_options})
        if name not in known:
            raise ConfigError(f"--option {text}: there is no such option{suggest(name, known)}")
        found[name] = value.replace("\\t", "\t")
    return found


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


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name or (not value and option == "--table"):
        raise ConfigError(f"{option} {text}: write NAME={'PATH' if option == '--table' else 'VALUE'}, as in {example}")
    return name, value


def _rows(table: Any) -> zip[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)
