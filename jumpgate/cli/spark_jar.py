"""`jumpgate spark-jar`: where the plugin for Spark is."""

from __future__ import annotations

import click

from jumpgate import spark


@click.command("spark-jar")
@click.option("--spark", "version", type=click.Choice(spark.VERSIONS),
              help="The version of Spark and of Scala; that of the installed PySpark, else the newest.")  # fmt: skip
def command(version: str | None) -> None:
    """Print the path of the plugin's jar, for spark-sql, spark-submit and pyspark.

    For example: spark-sql --jars $(jumpgate spark-jar) --conf spark.plugins=io.jumpgate.spark.JumpgatePlugin
    """
    click.echo(spark.jar(version or ""))
