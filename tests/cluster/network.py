"""Machines on one Ethernet: network namespaces, joined by a bridge in another. The machine's own is not touched."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PREFIX = "10.77.0"
_serial = itertools.count()


def permitted() -> bool:
    """Whether namespaces can be made here: it takes root, and iproute2."""
    name = f"jgt{os.getpid()}"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
    if made:
        subprocess.run(["ip", "netns", "del", name], check=True)
    return made


class Machine:
    """A namespace with one interface, `address`, and the processes that were started in it."""

    def __init__(self, network: Network, namespace: str, port: str, address: str) -> None:
        self._network, self.namespace, self.port, self.address = network, namespace, port, address
        self.processes: list[subprocess.Popen[str]] = []

    def start(
        self, *command: str | Path, env: Mapping[str, str] | None = None, stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[str]:
        """With these variables, too."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, *map(str, command)],
            env={**os.environ, **(env or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def python(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        return self.start(sys.executable, *arguments, env=env)

    def jumpgate(
        self, *words: str | Path, env: Mapping[str, str] | None = None, before: str = ""
    ) -> subprocess.Popen[str]:
        """The command `jumpgate`, in a process that has run the text `before`."""
        return self.python("-c", f"{before}\nfrom jumpgate.cli.main import main; main()", *words, env=env)

    def limit(self, rate: str) -> None:
        """The speed of its link, either way, as tc has it (`1gbit`)."""
        for namespace, device in ((self.namespace, "eth0"), (self._network.bridge, self.port)):
            words = ("qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")
            _run("tc", "-n", namespace, *words)

    def cut_off(self) -> None:
        """From now on no packet reaches it or leaves it, and nobody is told."""
        _ip("-n", self._network.bridge, "link", "set", self.port, "down")

    def reconnect(self) -> None:
        _ip("-n", self._network.bridge, "link", "set", self.port, "up")

    def pids(self) -> list[int]:
        """Of all processes in the namespace."""
        found = subprocess.run(
            ["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=True
        ).stdout
        return [int(pid) for pid in found.split()]


class Network:
    """A bridge, and the machines on it; `close` ends what runs there."""

    def __init__(self) -> None:
        self.bridge = f"jg{os.getpid()}-{next(_serial)}"
        self.machines: list[Machine] = []
        _ip("netns", "add", self.bridge)
        _ip("-n", self.bridge, "link", "add", "name", "bridge0", "type", "bridge")
        _ip("-n", self.bridge, "link", "set", "bridge0", "up")

    def machine(self) -> Machine:
        number = len(self.machines) + 1
        namespace, port, address = f"{self.bridge}-{number}", f"p{number}", f"{PREFIX}.{number}"
        _ip("netns", "add", namespace)
        machine = Machine(self, namespace, port, address)
        self.machines.append(machine)
        _ip("-n", self.bridge, "link", "add", "name", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("-n", self.bridge, "link", "set", port, "master", "bridge0", "up")
        _ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        _ip("-n", namespace, "link", "set", "eth0", "up")
        _ip("-n", namespace, "link", "set", "lo", "up")
        return machine

    def isolate(self, *machines: Machine) -> None:
        """From now on these do not reach each other, and nobody is told; others reach them."""
        for machine in machines:
            _ip("-n", self.bridge, "link", "set", machine.port, "type", "bridge_slave", "isolated", "on")

    def close(self) -> None:
        for machine in self.machines:
            for process in machine.processes:
                process.send_signal(signal.SIGTERM)
            for process in machine.processes:
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                assert process.stdout is not None
                process.stdout.close()
            for pid in machine.pids():  # orphans: none, but for a failed test
                os.kill(pid, signal.SIGKILL)
            _ip("netns", "del", machine.namespace)
        _ip("netns", "del", self.bridge)


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
