"""A cluster for tests: machines that are reached by SSH, a service that uses them, and a client."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from jumpgate.codegen import cache
from jumpgate.study.paper.network import Machine, Network, Rack, line
from tests.cluster.sshd import Client, Server

QUERIES = Path(__file__).with_name("queries.py")
ROWS, KEYS = 400_000, 2
RIGHT = [[k, sum(range(k, ROWS, KEYS))] for k in range(KEYS)]  #: of the dataflow `short`


class Lab:
    """A network, a folder of files that all machines see, and the home of who runs the service."""

    def __init__(self, network: Network, folder: Path) -> None:
        self.network, self.folder = network, folder
        self.here = network.machine()  #: of service and client
        self.client = Client(folder, cache.root())
        for part in range(4):
            rows = range(part * ROWS // 4, (part + 1) * ROWS // 4)
            pq.write_table(pa.table({"k": [x % KEYS for x in rows], "x": rows}), folder / f"{part}.parquet")

    def worker(
        self,
        name: str,
        variables: Mapping[str, str] | None = None,
        private: Path | None = None,
        rack: Rack | None = None,
    ) -> Server:
        """`private`: a folder that is the machine's own: others see what is there in `folder`/NAME/private."""
        server = Server(self.network.machine(rack), self.folder / name, self.client.key, variables, private)
        self.client.knows(name, server.machine, server.host_key)
        return server

    def config(self, *hosts: str) -> Path:
        """Each host's lines, of which `ssh` is the first word's."""
        file = self.folder / "jumpgate.toml"
        tables = []
        for host in hosts:
            name, _, more = host.partition("\n")
            tables.append(f'[[host]]\nname = "{name}"\nssh = "{name}"\npython = "{sys.executable}"\n{more}\n')
        file.write_text("\n".join(tables))
        return file

    def hosts(self, *words: str | Path) -> tuple[int, Any]:
        """What `jumpgate hosts … --json` prints."""
        process = self.here.jumpgate("hosts", *words, "--config", self.folder / "jumpgate.toml", "--json",
                                     env=self.client.variables)  # fmt: skip
        said = process.communicate(timeout=120)[0]
        return process.returncode, json.loads(said)

    def serve(self, config: Path, shown: Mapping[str, str] | None = None, before: str = "") -> Service:
        """shown: credentials of clients in their environment; without any, the service trusts the network. before:
        what its process runs first."""
        return Service(self, config, shown, before)


class Service:
    def __init__(self, lab: Lab, config: Path, shown: Mapping[str, str] | None, before: str) -> None:
        self._lab, self._shown = lab, shown
        trust = () if shown else ("--trusted-network",)
        self._process = lab.here.jumpgate("serve", "--host", lab.here.address, "--config", config, *trust,
                                          env=lab.client.variables, before=before)  # fmt: skip
        line(self._process)
        self.address = f"{lab.here.address}:7411"

    def ask(self, name: str, retries: int = 0) -> subprocess.Popen[str]:
        return self._lab.here.python(QUERIES, self.address, self._lab.folder, str(retries), name, env=self._shown)

    def answer(self, name: str, retries: int = 0) -> dict[str, Any]:
        process = self.ask(name, retries)
        first = json.loads(line(process))
        return dict(json.loads(line(process))) if "started" in first else first

    @property
    def pid(self) -> int:
        return self._process.pid

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(30) == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def agents_of(machine: Machine) -> list[int]:
    return processes_of(machine, b"jumpgate.hosts.agent")


def processes_of(machine: Machine, words: bytes) -> list[int]:
    """Return those whose command line has the words."""
    found = []
    for pid in machine.pids():
        with contextlib.suppress(OSError):  # it has just ended
            if words in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found
