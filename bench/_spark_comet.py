"""Spark 3.5 with Apache DataFusion Comet beside Spark 3.5 with the plugin: applications that work one at a time."""

from __future__ import annotations

import contextlib
import subprocess
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench._measure import remark
from jumpgate import spark
from jumpgate.codegen import cache
from jumpgate.errors import ConfigError
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.tpcds.data import path
from jumpgate.tpcds.suite import TPCDS
from tests.support.jvm import maven
from tests.support.spark_peer import Peer

PYSPARK = "pyspark==3.5.8"
VERSION = "3.5_2.12"
COMET = "comet-spark-spark3.5_2.12"
COMET_VERSION = "0.12.0"
MEMORY = "4g"  # of a heap, and once more beside Comet's


@dataclass(frozen=True)
class Way:
    """An application to compute with, and its settings."""

    name: str
    application: str
    settings: dict[str, str]


#: each plugin, and Spark alone in the same application
WAYS = (
    Way("comet", "comet", {"spark.comet.enabled": "true"}),
    Way("comet's spark", "comet", {"spark.comet.enabled": "false"}),
    Way("jumpgate", "jumpgate", {"spark.jumpgate.offload": "always"}),
    Way("jumpgate's spark", "jumpgate", {"spark.jumpgate.offload": "never"}),
)


def environment(folder: Path) -> Path:
    """The Python of an environment with Spark 3.5, made once."""
    python = folder / "venv" / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PYSPARK], check=True)
        (folder / "ready").touch()
    return python


def fetched(folder: Path, group: str, name: str, version: str) -> Path:
    """A jar of Maven Central's, kept in the folder."""
    jar = folder / f"{name}-{version}.jar"
    if not jar.exists():
        maven(
            "--non-recursive", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
            f"-Dartifact={group}:{name}:{version}", f"-DoutputDirectory={folder}",
        )  # fmt: skip
    return jar


def common(folder: Path, cores: int) -> dict[str, str]:
    """Settings of every application."""
    return {
        "spark.master": f"local[{cores}]", "spark.driver.memory": MEMORY, "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }  # fmt: skip


def plugged(address: str) -> dict[str, str]:
    """Settings of an application with the plugin."""
    return {
        "spark.jars": str(plugin_jar()), "spark.plugins": spark.PLUGIN, "spark.jumpgate.address": address,
        "spark.jumpgate.strict": "true", "spark.jumpgate.timeoutSeconds": "600",
    }  # fmt: skip


def plugin_jar() -> Path:
    with contextlib.suppress(ConfigError):
        return spark.jar(VERSION)
    maven("package", "-P", f"spark-{VERSION}", "-DskipTests")
    return spark.jar(VERSION)


@contextlib.contextmanager
def peers(data: Path, cores: int) -> Iterator[dict[str, Peer]]:
    """Both applications over the same tables, and a service. What they need is kept in the cache's folder."""
    folder = cache.folder("comet")
    python = environment(folder)
    tables = {table: str(path(data, table, "parquet")) for table in TPCDS.tables}
    jar = str(fetched(folder, "org.apache.datafusion", COMET, COMET_VERSION))
    service = embedded.start(local_hosts(1))
    settings = {
        "comet": {
            "spark.jars": jar, "spark.driver.extraClassPath": jar, "spark.plugins": "org.apache.spark.CometPlugin",
            "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
            "spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": MEMORY,
        },
        "jumpgate": plugged(service.address),
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        stack.callback(service.close)
        applications = {}
        for name, own in settings.items():
            applications[name] = Peer(python, {**common(folder, cores), **own}, tables)
            stack.callback(applications[name].close)
        yield applications


def measured(applications: dict[str, Peer], query: str) -> dict[str, float]:
    """Seconds by way, each once to warm up and once for the clock; without those that have no answer."""
    found = {}
    for way in WAYS:
        try:
            for _ in range(2):
                found[way.name] = applications[way.application].seconds(query, way.settings)
        except RuntimeError as error:
            found.pop(way.name, None)
            remark(f"{way.name}: {error}")
    return found
