"""Asks a server of one node, and a service, in a network namespace of their own (`presto.in_a_network`):

    python -m tests.support.presto_run FOLDER LIB {Presto|Trino}

FOLDER has catalog.json and plugin/, LIB the server's jars. Queries with properties of their sessions come as a JSON
list on stdin, first one that can be answered; their answers, rows or the text of an error, go to stdout likewise.
FOLDER/rows_read.json has for each how many rows were read from files.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.testing.leaks import wait_until
from tests.support.jvm import BRIEF

PORT = 18080
URL = f"http://127.0.0.1:{PORT}"

#: log line of a node that listens
STARTED = "SERVER STARTED"
#: seconds until the server answers
PATIENCE_S = 300


class Engine(NamedTuple):
    """A server: its name in headers, Java's options for it, its main, and the catalog that it is asked of."""

    name: str
    options: tuple[str, ...]
    main: str
    catalog: str = "jumpgate"


PRESTO = Engine(
    "Presto",
    tuple(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("nio", "lang", "util")),
    "com.facebook.presto.server.PrestoServer",
)
TRINO = Engine(
    "Trino",
    ("-Dcatalog.management=static",),
    str(Path(__file__).parents[2] / "clients" / "trino" / "server" / "TrinoTestServer.java"),
)
ENGINES = {engine.name: engine for engine in (PRESTO, TRINO)}


def main(folder: Path, lib: Path, engine: Engine) -> None:
    queries = json.load(sys.stdin)
    with serving(folder, lib, queries[0][0], queries[0][1], engine) as service:
        found = [answer(service, engine, *query) for query in queries]
    json.dump([rows for rows, _ in found], sys.stdout)
    (folder / "rows_read.json").write_text(json.dumps([read for _, read in found]))


def answer(
    service: embedded.Embedded, engine: Engine, query: str, session: str, zone: str
) -> tuple[list[list[Any]] | str, int]:
    """Return (the rows, or the error; the rows that its jobs read from files)."""
    before = {job.job for job in service.engine.jobs()}
    rows = ask(query, session, engine, zone=zone)
    assert wait_until(lambda: all(job.ended_ns for job in service.engine.jobs()), 60.0), "a job outlives its query"
    jobs = [job for job in service.engine.jobs() if job.job not in before]
    sources = (s for job in jobs for counters in job.counters.values() for s in counters.get("sources", ()))
    return rows, sum(source["rows"] for source in sources)


def service_port() -> int:
    """Return a port that no service of this user has in another network: a user's tokens are found by address."""
    return 20_000 + os.getpid() % 10_000


@contextlib.contextmanager
def serving(
    folder: Path, lib: Path, query: str, session: str = "", engine: Engine = PRESTO
) -> Iterator[embedded.Embedded]:
    """A service, and a server that has answered the query, until the block ends."""
    service = embedded.start(local_hosts(1), port=service_port())
    try:
        with running(folder, lib, service.address, query, session, engine):
            yield service
    finally:
        service.close()


class Cluster:
    """A server, node 0, and workers beside it, which then do all the work: processes, each with a folder of its own."""

    def __init__(self, folder: Path, lib: Path, engine: Engine, workers: int) -> None:
        self._folder, self._lib, self._engine = folder, lib, engine
        self.nodes = [self._start(node) for node in range(workers + 1)]

    @staticmethod
    def folder(folder: Path, node: int) -> Path:
        return folder / f"worker{node}" if node else folder

    def _start(self, node: int) -> subprocess.Popen[bytes]:
        folder = self.folder(self._folder, node)
        with (folder / "server.log").open("a") as log:
            started = command(folder, self._lib, self._engine, name=f"node{node}")
            return subprocess.Popen(started, cwd=folder, stdout=log, stderr=log, start_new_session=True)

    def revive(self) -> None:
        """Starts nodes again that have ended."""
        ended = [node for node, process in enumerate(self.nodes) if process.poll() is not None]
        listening = self.logged(STARTED) + len(ended)
        for node in ended:
            self.nodes[node] = self._start(node)
        assert wait_until(lambda: self.logged(STARTED) == listening, PATIENCE_S)
        self.wait_for_workers()

    def wait_for_workers(self) -> None:
        """Until the server knows them."""
        known = "SELECT node_id FROM system.runtime.nodes WHERE NOT coordinator AND state = 'active'"
        deadline = time.monotonic() + PATIENCE_S
        while len(ask(known, "", self._engine)) != len(self.nodes) - 1:
            assert time.monotonic() < deadline, "a worker does not find its server"
            time.sleep(0.2)

    def logged(self, text: str) -> int:
        """Return how often the text occurs in the nodes' logs."""
        folders = [self.folder(self._folder, node) for node in range(len(self.nodes))]
        return sum((folder / "server.log").read_text().count(text) for folder in folders)

    def close(self) -> None:
        for process in self.nodes:
            process.terminate()
        for process in self.nodes:
            process.wait()


@contextlib.contextmanager
def running(
    folder: Path,
    lib: Path,
    service: str,
    query: str,
    session: str = "",
    engine: Engine = PRESTO,
    more: Mapping[str, object] = MappingProxyType({}),
    workers: int = 0,
) -> Iterator[Cluster]:
    """A server that has answered the query, with more of its properties, until the block ends."""
    for node in range(workers + 1):
        configure(Cluster.folder(folder, node), folder, service, engine, node, workers, more)
    cluster = Cluster(folder, lib, engine, workers)
    try:
        wait_for(cluster.nodes[0], folder, query, session, engine)
        cluster.wait_for_workers()
        yield cluster
    finally:
        cluster.close()


def configure(
    node_folder: Path, folder: Path, service: str, engine: Engine, node: int, workers: int, more: Mapping[str, object]
) -> None:
    catalogs = folder / "catalog"
    catalogs.mkdir(exist_ok=True)
    node_folder.mkdir(exist_ok=True)
    own = {} if node else {"node-scheduler.include-coordinator": str(not workers).lower()}
    if engine is PRESTO and not node:
        own["discovery-server.enabled"] = "true"
    write(node_folder / "config.properties", {
        "coordinator": str(not node).lower(), "http-server.http.port": PORT + node,
        "discovery.uri": URL, "plugin.dir": folder / "plugin", "catalog.config-dir": catalogs, **own, **more,
    })  # fmt: skip
    write(catalogs / "jumpgate.properties", {
        "connector.name": "jumpgate", "jumpgate.service": service, "jumpgate.catalog": folder / "catalog.json",
    })  # fmt: skip


def write(file: Path, properties: dict[str, object]) -> None:
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))


def command(
    folder: Path,
    lib: Path,
    engine: Engine,
    java: Sequence[str] = ("-Xmx1g", *BRIEF),
    name: str = "one",
) -> list[str]:
    return [
        "setpriv", "--pdeathsig", "KILL", "java", *java,
        "-Djdk.attach.allowAttachSelf=true", *engine.options,
        "-Dnode.bind-ip=127.0.0.1", "-Dnode.environment=test", f"-Dnode.id={name}", f"-Dnode.data-dir={folder}",
        f"-Dconfig={folder / 'config.properties'}", "-cp", f"{lib}/*", engine.main,
    ]  # fmt: skip


def wait_for(
    server: subprocess.Popen[bytes], folder: Path, query: str, session: str, engine: Engine, url: str = URL
) -> None:
    """Until the server answers a query: it listens before it knows itself as a worker, and that before its catalogs."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            answer: Any = ask(query, session, engine, url)
        except OSError as e:
            answer = str(e)
        if isinstance(answer, list):
            return
        if server.poll() is not None or time.monotonic() > deadline:
            log = (folder / "server.log").read_text()[-4000:]
            raise RuntimeError(f"{log}\n{engine.name} does not start: {answer}")
        time.sleep(0.2)


def ask(
    query: str, session: str, engine: Engine = PRESTO, url: str = URL, schema: str = "main", zone: str = "UTC"
) -> list[list[Any]] | str:
    """Return the rows, or the error; the session has these properties."""
    rows: list[list[Any]] = []
    for answer in answers(query, session, engine, url, schema, zone):
        rows += answer.get("data", [])
        if "error" in answer:
            return f"{answer['error']['errorName']}: {answer['error']['message']}"
    return rows


def answers(
    query: str, session: str = "", engine: Engine = PRESTO, url: str = URL, schema: str = "main", zone: str = "UTC"
) -> Iterator[dict[str, Any]]:
    """Yield the server's answers; each is requested on demand."""
    named = {
        "User": "test",
        "Client-Capabilities": "PARAMETRIC_DATETIME",
        "Catalog": engine.catalog,
        "Schema": schema,
        "Time-Zone": zone,
    } | ({"Session": session} if session else {})
    headers = {f"X-{engine.name}-{name}": value for name, value in named.items()}
    request = urllib.request.Request(f"{url}/v1/statement", query.encode(), headers)
    while True:
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
        yield answer
        if "nextUri" not in answer:
            return
        request = urllib.request.Request(answer["nextUri"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), ENGINES[sys.argv[3]])
