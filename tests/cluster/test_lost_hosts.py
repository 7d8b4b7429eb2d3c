"""A service, two workers and a client on machines of their own: what happens when a worker can no longer be reached."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.codegen import toolchain
from jumpgate.study.paper.network import Machine, Network, line, permitted
from jumpgate.testing.leaks import wait_until

pytestmark = pytest.mark.skipif(not permitted(), reason="network namespaces need root and iproute2")
QUERIES = Path(__file__).with_name("queries.py")
ROWS, KEYS = 400_000, 2
RIGHT = [[k, sum(range(k, ROWS, KEYS))] for k in range(KEYS)]


class Cluster:
    def __init__(self, network: Network, folder: Path) -> None:
        self.network, self.folder = network, folder
        self.service, self.client, *self.workers = (self.network.machine() for _ in range(4))
        for part in range(4):
            rows = range(part * ROWS // 4, (part + 1) * ROWS // 4)
            pq.write_table(pa.table({"k": [x % KEYS for x in rows], "x": rows}), folder / f"{part}.parquet")
        token = folder / "token"
        token.write_text("secret\n")
        hosts = []
        for number, worker in enumerate(self.workers, 1):
            agent = worker.python(
                "-m", "jumpgate.hosts.agent", "--listen", f"{worker.address}:0", "--token-file", token
            )
            port = json.loads(line(agent))["port"]
            agent = f'agent = "{worker.address}:{port}"\ntoken_file = "{token}"\ncores = 1'
            hosts.append(f'[[host]]\nname = "worker{number}"\n{agent}')
        config = folder / "jumpgate.toml"
        config.write_text("\n".join(hosts))
        serve = ("serve", "--host", self.service.address, "--config", config, "--trusted-network")
        serving = self.service.python("-c", "from jumpgate.cli.main import main; main()", *map(str, serve))
        line(serving)  # it listens
        self.address = f"{self.service.address}:7411"

    def ask(self, *names: str, retries: int = 0) -> Callable[[], dict[str, Any]]:
        """Starts the client with these dataflows; each call gives the next line that it says."""
        process = self.client.python(QUERIES, self.address, self.folder, str(retries), *names)
        return lambda: json.loads(line(process))

    def answer(self, name: str, retries: int = 0) -> dict[str, Any]:
        said = self.ask(name, retries=retries)
        first = said()
        return said() if "started" in first else first

    def instances(self, worker: Machine) -> int:
        """Processes of jobs there: what the zygote has forked."""
        shown = subprocess.run(
            ["ps", "-o", "comm=", "-p", ",".join(map(str, worker.pids())) or "0"],
            capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
        return sum(text.startswith("jg ") for text in shown.splitlines())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    toolchain.runtime()  # before anybody's time is limited
    network = Network()
    try:
        yield Cluster(network, tmp_path)
    finally:
        network.close()


def test_a_worker_that_is_cut_off(cluster: Cluster) -> None:
    """Its job fails soon with an error that names it, nothing goes on behind the partition, other workers are used
    instead, and it is used again once it answers."""
    assert cluster.answer("short") | {"seconds": 0} == {
        "name": "short", "rows": RIGHT, "hosts": ["worker1", "worker2"], "seconds": 0,
    }  # fmt: skip
    lost = cluster.workers[1]

    said = cluster.ask("long")
    assert "started" in said()
    assert wait_until(lambda: cluster.instances(lost) > 0, 60)
    lost.cut_off()
    failure = said()
    assert (failure["error"], failure["host"]) == ("instance_failed", "worker2"), failure
    assert "can no longer be reached" in failure["message"]
    assert wait_until(lambda: not any(map(cluster.instances, cluster.workers)), 60)

    answer = cluster.answer("short")
    assert (answer["rows"], answer["hosts"]) == (RIGHT, ["worker1"])

    lost.reconnect()
    assert wait_until(lambda: cluster.answer("short").get("hosts") == ["worker1", "worker2"], 60)


def test_a_dataflow_is_run_again_without_the_worker_that_was_lost(cluster: Cluster) -> None:
    cluster.workers[0].cut_off()  # before anybody knows it: the plan is made again
    answer = cluster.answer("short")
    assert (answer["rows"], answer["hosts"]) == (RIGHT, ["worker2"])
    cluster.workers[0].reconnect()
    assert wait_until(lambda: cluster.answer("short").get("hosts") == ["worker1", "worker2"], 60)


@pytest.mark.nightly(like="tests/cluster/test_lost_hosts.py::test_a_worker_that_is_cut_off")
def test_without_any_worker_the_error_names_one(cluster: Cluster) -> None:
    for worker in cluster.workers:
        worker.cut_off()
    answer = cluster.answer("short")
    assert answer["error"] == "unreachable" and answer["host"] in ("worker1", "worker2"), answer


@pytest.mark.nightly(like="tests/cluster/test_lost_hosts.py::test_a_worker_that_is_cut_off")
def test_workers_that_lose_each_other(cluster: Cluster) -> None:
    """The service still reaches both; whichever notices first, one error says what cannot be reached, before the job
    counts as stalled. How long that takes is a figure (`./dev bench hosts`), which no test judges."""
    said = cluster.ask("exchange")
    assert "started" in said()
    assert wait_until(lambda: all(map(cluster.instances, cluster.workers)), 60)
    cluster.network.isolate(*cluster.workers)
    failure = said()
    assert failure["error"] in ("instance_failed", "unreachable"), failure
    assert wait_until(lambda: not any(map(cluster.instances, cluster.workers)), 60)
