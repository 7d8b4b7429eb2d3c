"""`jumpgate data`: test data of known benchmarks."""

from __future__ import annotations

from pathlib import Path

import click

from jumpgate.cli import output
from jumpgate.dataflow.formats import formats
from jumpgate.errors import ConfigError
from jumpgate.tpcds.data import generate
from jumpgate.tpcds.schemas import TABLES
from jumpgate.words import size


@click.group("data")
def command() -> None:
    """Generate test data."""


@command.command("tpcds")
@click.option("--scale", type=float, default=1.0, show_default=True, help="1 ≈ 1 GB.")
@click.option(
    "--format", "chosen", type=click.Choice(tuple(formats())), multiple=True, help="May be repeated. [default: all]"
)
@click.option("--output", "-o", "directory", type=click.Path(path_type=Path), required=True, help="Where it goes.")
@click.option("--tables", help="Names with commas. [default: all]")
@click.option("--force", is_flag=True, help="Write files anew that are already there.")
@click.option("--json", "as_json", is_flag=True, help="Print the files written as JSON.")
def tpcds(
    scale: float, chosen: tuple[str, ...], directory: Path, tables: str | None, force: bool, as_json: bool
) -> None:
    """TPC-DS data by DuckDB's generator, as DIRECTORY/FORMAT/TABLE.FORMAT.

    What is already complete is left alone. DIRECTORY/tpcds.json holds the scale and the tables' schemas.
    """
    names = tuple(name.strip() for name in tables.split(",")) if tables else TABLES
    unknown = sorted(set(names) - set(TABLES))
    if unknown:
        raise ConfigError(f"TPC-DS has no table '{unknown[0]}'; it has {', '.join(TABLES)}", table=unknown[0])
    with output.progress() as progress:
        written = generate(directory, scale, chosen or formats(), names, force, progress)
    if as_json:
        output.print_json(
            {"scale": scale, "directory": str(directory.absolute()), "written": [str(p) for p in written]}
        )
    elif written:
        total = sum(file.stat().st_size for file in written)
        print(f"wrote {len(written)} files, {size(total)}, to {directory}")
    else:
        print(f"{directory} is complete; --force writes it anew")
