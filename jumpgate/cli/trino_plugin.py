"""`jumpgate trino-plugin`: the connector for Trino as a folder for its server."""

from __future__ import annotations

from pathlib import Path

import click

from jumpgate import trino


@click.command("trino-plugin")
@click.option("--output", type=click.Path(path_type=Path), required=True,
              help="The folder to write: plugin/jumpgate of a Trino server.")  # fmt: skip
def command(output: Path) -> None:
    """Write the connector for a Trino server, and print its files.

    For example: jumpgate trino-plugin --output /opt/trino/plugin/jumpgate
    """
    for file in trino.write_plugin(output):
        click.echo(file)
