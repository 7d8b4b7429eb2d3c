"""A service, its hosts and a software switch, each in a network namespace with a link of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jumpgate.p4.programs
from jumpgate.codegen import cache, toolchain
from jumpgate.errors import from_dict
from jumpgate.study.paper.network import Machine, Network, check_permitted, ending_on_sigterm, line

#: limit of one request, in seconds
ANSWER_S = 600.0


class Cluster:
    """Hosts of a core each around a switch that adds up; `ask` runs a query on the client's machine, which is the
    service's, too."""

    def __init__(self, network: Network, folder: Path, data: Path, workers: int) -> None:
        self.here = network.machine()
        self._folder = folder
        self._variables = {"JUMPGATE_CACHE_DIR": str(_own_cache(folder))}
        token = folder / "token"
        token.touch(0o600)
        token.write_text("of the study\n")
        self.workers = [network.machine() for _ in range(workers)]
        tables = [self._host(worker, number, token) for number, worker in enumerate(self.workers, 1)]
        config = folder / "jumpgate.toml"
        config.write_text("\n".join([*tables, _switch(network.machine())]))
        serving = self.here.jumpgate(
            "serve", "--host", self.here.address, "--config", config, "--trusted-network", env=self._variables
        )
        line(serving)  # it listens
        address = f"{self.here.address}:7411"
        self._client = self.here.start(
            sys.executable, "-m", "jumpgate.study.paper.runner", address, self.here.address, data,
            env=self._variables, stdin=subprocess.PIPE,
        )  # fmt: skip

    def _host(self, worker: Machine, number: int, token: Path) -> str:
        agent = worker.python(
            "-m", "jumpgate.hosts.agent", "--listen", f"{worker.address}:0", "--token-file", token, env=self._variables
        )
        port = json.loads(line(agent))["port"]
        return (
            f'[[host]]\nname = "worker{number}"\nagent = "{worker.address}:{port}"\ntoken_file = "{token}"\ncores = 1\n'
        )

    def limit(self, rate: str) -> None:
        """Limit the speed of every host's and the client's link, in tc's notation."""
        for machine in (self.here, *self.workers):
            machine.limit(rate)

    def ask(self, query: str, where: str = "hosts", runs: int = 1, hosts: int = 0) -> dict[str, Any]:
        """Return the runner's answer, see runner.answer. Raises the error that ended the query."""
        assert self._client.stdin is not None
        request = {"query": query, "where": where, "runs": runs, "hosts": hosts}
        print(json.dumps(request), file=self._client.stdin, flush=True)
        said: dict[str, Any] = json.loads(line(self._client, ANSWER_S))
        if "error" in said:
            raise from_dict(said["error"])
        return said


@contextlib.contextmanager
def cluster(data: Path, workers: int) -> Iterator[Cluster]:
    """Start a cluster; it ends with all that runs in it. Raises ConfigError if namespaces cannot be created."""
    check_permitted()
    toolchain.runtime()  # before anybody waits for it
    with ending_on_sigterm(), tempfile.TemporaryDirectory() as folder:
        network = Network()
        try:
            yield Cluster(network, Path(folder), data, workers)
        finally:
            network.close()


def _own_cache(folder: Path) -> Path:
    """Return a cache without compiled programs."""
    own = folder / "cache"
    own.mkdir(0o700)
    (own / "runtime").symlink_to(toolchain.runtime().library.parent.parent)
    return own


def _switch(machine: Machine) -> str:
    """Start a switch that runs the program `aggregate`; return its device for jumpgate.toml."""
    data, control = f"{machine.address}:9801", f"{machine.address}:9559"
    program = Path(jumpgate.p4.programs.__file__).with_name("aggregate.p4")
    running = machine.jumpgate(
        "switch", "run", program, "--port", f"1={data},as=9801", "--p4runtime", control, "--anyone", env=_known()
    )
    line(running)
    line(running)
    return (
        f'[[device]]\nname = "tor"\nkind = "switch"\nprogram = "aggregate"\np4runtime = "{control}"\ndata = "{data}"\n'
    )


def _known() -> Mapping[str, str]:
    """Return the user's cache, which has the switch's program if it ran before."""
    return {"JUMPGATE_CACHE_DIR": str(cache.root())}
