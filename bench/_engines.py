"""Servers of Presto and Trino that have the connector, and one of Presto's with its hive connector.

This can be had for 0.287 only. Trino's cannot be had for 435, as trino-hdfs is in no public repository: what Trino
executes itself is what the connector scans for it. Everything listens in a network namespace of the caller's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpgate.dataflow.types import DataType
from jumpgate.tpcds.data import path
from jumpgate.tpcds.suite import TPCDS, Suite
from jumpgate.tpch import TPCH
from tests.support import presto, trino
from tests.support.presto_run import ENGINES, PRESTO, Engine, ask, command, wait_for, write

SUITES = {"Presto": (TPCDS, TPCH), "Trino": (TPCDS, TPCH)}
JAVA = ("-Xmx3g",)
#: for one query
SECONDS_MAX = 120
#: until a server that has started has a worker
WORKER_S = 60
#: what the hive connector's libraries open of Java beside what the servers do
OPENED = tuple(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang.reflect", "net", "io"))


@dataclass(frozen=True)
class Catalog:
    """A catalog of a server that runs, with properties of sessions; its schemas are SUITE_FORMAT."""

    engine: Engine
    url: str
    name: str
    session: str = f"query_max_run_time={SECONDS_MAX}s"

    def ask(self, text: str, schema: str) -> list[list[Any]] | str:
        """The rows, or the text of the error."""
        return ask(text, self.session, self.engine._replace(catalog=self.name), self.url, schema)

    def must(self, text: str, schema: str = "main") -> list[list[Any]]:
        """Raises RuntimeError where there are no rows."""
        found = self.ask(text, schema)
        if isinstance(found, str):
            raise RuntimeError(f"{text}: {found}")
        return found


def prepare(engine: str, folder: Path) -> None:
    """Fetches the servers and builds the connector, which needs the network. `folder` is for the connector's server."""
    if engine == "Trino":
        trino.library()
        trino.install(folder / "plugin")
        return
    presto.library()
    presto.install(folder / "plugin")
    plugin = folder / "hive" / "plugin" / "hive"
    artifact = "com.facebook.presto:presto-hive-hadoop2:0.287:zip"
    archive = presto.fetched("presto-hive-0.287", "presto", "dependency:copy", f"-Dartifact={artifact}")
    _unpack(next(archive.glob("*.zip")), plugin)
    for jar in plugin.glob("asm*.jar"):  # which know no classes of Java 17
        jar.unlink()
    for jar in library_of_hive().glob("asm*.jar"):
        shutil.copy(jar, plugin)


def library_of_hive() -> Path:
    """The jars of the server that has Presto's hive connector."""
    return presto.fetched("presto-0.287", "presto", "dependency:copy-dependencies", pom="hive.xml")


def _unpack(archive: Path, folder: Path) -> None:
    """Writes the jars of an archive, which has them in a folder, into another."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            if member.filename.endswith(".jar"):
                member.filename = Path(member.filename).name
                packed.extract(member, folder)


@contextmanager
def serving(
    engine: str, folder: Path, lib: Path, port: int, connector: str, properties: Mapping[str, object], table: str = ""
) -> Iterator[Catalog]:
    """A server with a catalog of these properties, and the plugins of its folder, until the block ends.

    `table`: one of the catalog's, as SCHEMA.NAME: a server lists schemas before it has a worker that reads them.
    """
    kind = ENGINES[engine]
    url = f"http://127.0.0.1:{port}"
    (folder / "catalog").mkdir(exist_ok=True)
    write(folder / "config.properties", {
        "coordinator": "true", "node-scheduler.include-coordinator": "true", "http-server.http.port": port,
        "discovery.uri": url, "plugin.dir": folder / "plugin", "catalog.config-dir": folder / "catalog",
        **({"discovery-server.enabled": "true"} if kind is PRESTO else {}),
    })  # fmt: skip
    name = connector.partition("-")[0]
    write(folder / "catalog" / f"{name}.properties", {"connector.name": connector, **properties})
    opened = kind._replace(options=kind.options + OPENED)
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            command(folder, lib, opened, JAVA), cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
    try:
        ready = f"SELECT count(*) FROM {name}.{table}" if table else f"SHOW SCHEMAS FROM {name}"
        wait_for(server, folder, ready, "", kind, url)
        yield Catalog(kind, url, name)
    finally:
        server.terminate()
        server.wait()


def describe(hive: Catalog, folder: Path, suite: Suite, data: Path, format: str) -> None:
    """Makes the files tables of a schema SUITE_FORMAT, and has their statistics gathered, where there are none yet."""
    schema = f"{suite.name}_{format}"
    hive.must(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    known = {row[0] for row in hive.must(f"SHOW TABLES FROM {schema}")}
    for table in suite.tables:
        if table not in known:
            place = folder / "tables" / schema / table
            place.mkdir(parents=True, exist_ok=True)
            file = path(data, table, format)
            if not (place / file.name).exists():
                os.link(file, place / file.name)
            columns = ", ".join(f"{field.name} {sql_type(field.type)}" for field in suite.schema(table).fields)
            options = f"format = '{format.upper()}', external_location = 'file://{place}'"
            hive.must(f"CREATE TABLE {schema}.{table} ({columns}) WITH ({options})")
            _analyze(hive, f"{schema}.{table}")


def _analyze(hive: Catalog, table: str) -> None:
    """Gathers a table's statistics. The first may have to wait: a server lists schemas before it has a worker."""
    deadline = time.monotonic() + WORKER_S
    while isinstance(found := hive.ask(f"ANALYZE {table}", "main"), str):
        if "NO_NODES_AVAILABLE" not in found or time.monotonic() > deadline:
            raise RuntimeError(f"ANALYZE {table}: {found}")
        time.sleep(0.5)


def sql_type(type: DataType) -> str:
    text = str(type).rstrip("?")
    return {"int32": "integer", "int64": "bigint", "string": "varchar"}.get(text, text)
