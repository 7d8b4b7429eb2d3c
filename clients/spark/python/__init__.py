"""Spark SQL on accelerators: a session of PySpark's with Jumpgate's plugin, and where the plugin's jar is."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from jumpgate import extras, jars
from jumpgate.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: of Spark and Scala, the versions that there are jars for; of PySpark's releases the first one is theirs
VERSIONS = ("4.2_2.13", "4.1_2.13", "4.0_2.13", "3.5_2.12", "3.5_2.13")
PLUGIN = "io.jumpgate.spark.JumpgatePlugin"
_JARS = Path(__file__).parent / "jars"


def installed() -> str:
    """The version of the PySpark here, or the newest one without it. Raises ConfigError if it has no plugin."""
    try:
        release = metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return VERSIONS[0]
    found = [version for version in VERSIONS if release.startswith(version.partition("_")[0] + ".")]
    return found[0] if found else _unknown(release)


def jar(version: str = "") -> Path:
    """The plugin for a version of Spark and Scala, else for the PySpark here. Raises ConfigError if there is none."""
    version = version or installed()
    if version not in VERSIONS:
        _unknown(version)
    found = _JARS / f"jumpgate-spark{version}.jar"
    if not found.exists():
        raise ConfigError(
            f"the plugin for Spark {version} has not been built; in a checkout, run "
            f"`./dev jvm package -P spark-{version}`"
        )
    return jars.whole(found)


def _unknown(version: str) -> NoReturn:
    raise ConfigError(f"there is no plugin for Spark {version}; there is one for {', '.join(VERSIONS)}")


def session(address: str = "", *, master: str = "", **settings: str) -> SparkSession:
    """A session whose queries run on accelerators where that pays.

    address: of `jumpgate serve`, as host:port. master: Spark's, else what spark-defaults.conf says. Other settings have
    names with underscores for dots: `spark_sql_shuffle_partitions="8"`. Raises NotInstalled without PySpark.
    """
    with extras.explained():
        from pyspark.sql import SparkSession
    builder = SparkSession.builder.config("spark.jars", str(jar())).config("spark.plugins", PLUGIN)
    if master:
        builder = builder.master(master)
    if address:
        builder = builder.config("spark.jumpgate.address", address)
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    return builder.getOrCreate()
