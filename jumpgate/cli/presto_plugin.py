"""`jumpgate presto-plugin`: the connector for Presto as a folder for its server."""

from __future__ import annotations

from pathlib import Path

import click

from jumpgate import presto


@click.command("presto-plugin")
@click.option("--output", type=click.Path(path_type=Path), required=True,
              help="The folder to write: plugin/jumpgate of a Presto server.")  # fmt: skip
def command(output: Path) -> None:
    """Write the connector for a Presto server, and print its files.

    For example: jumpgate presto-plugin --output /opt/presto/plugin/jumpgate
    """
    for file in presto.write_plugin(output):
        click.echo(file)
