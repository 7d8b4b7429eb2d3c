"""Machines on one Ethernet: network namespaces, joined by a bridge in another. The machine's own is not touched."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from jumpgate.errors import ConfigError, InstanceFailed, JumpgateError, NotInstalled

PREFIX = "10.77.0"
#: seconds for processes on all machines to end by themselves
END_S = 20.0
_serial = itertools.count()


def permitted() -> bool:
    """Return whether namespaces can be created: it takes root and iproute2."""
    try:
        check_permitted()
    except ConfigError:
        return False
    return True


def check_permitted() -> None:
    """Raises ConfigError where namespaces cannot be made here, NotInstalled without iproute2."""
    name = f"jgt{os.getpid()}"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise NotInstalled("networks of this machine's own need `ip` and `tc`: apt-get install iproute2") from None
    if made.returncode != 0:
        message = f"network namespaces cannot be made here ({made.stderr.strip()}): they take root; run it with sudo"
        raise ConfigError(message)
    _ip("netns", "del", name)


class Machine:
    """A namespace with one interface, `address`, and the processes that were started in it."""

    def __init__(self, network: Network, namespace: str, port: str, address: str) -> None:
        self._network, self.namespace, self.port, self.address = network, namespace, port, address
        self.processes: list[subprocess.Popen[str]] = []

    def start(
        self, *command: str | Path, env: Mapping[str, str] | None = None, stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[str]:
        """Start a process, with these environment variables added."""
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
        """Start the command `jumpgate` in a process that has run the text `before`."""
        return self.python("-c", f"{before}\nfrom jumpgate.cli.main import main; main()", *words, env=env)

    def limit(self, rate: str) -> None:
        """Limit the speed of its link in each direction, in tc's notation (`1gbit`)."""
        _limit(rate, (self.namespace, "eth0"), (self._network.bridge, self.port))

    def cut_packets(self) -> None:
        """Count outgoing packets as a wire does, each with its headers: interfaces of this kind otherwise pass on large
        segments with one header."""
        _ip("-n", self.namespace, "link", "set", "eth0", "gso_max_segs", "1")

    def crossed(self) -> tuple[int, int]:
        """Return the bytes that have left the machine, and that have reached it."""
        return _crossed(self.namespace, "eth0")

    def cut_off(self) -> None:
        """Drop all packets to and from the machine silently from now on."""
        _ip("-n", self._network.bridge, "link", "set", self.port, "down")

    def reconnect(self) -> None:
        _ip("-n", self._network.bridge, "link", "set", self.port, "up")

    def pids(self) -> list[int]:
        """Return the ids of all processes in the namespace."""
        return _pids(self.namespace)


class Rack:
    """A part of the network, with one link to the rest of it."""

    def __init__(self, network: Network, number: int) -> None:
        self._network = network
        self.bridge, self.link = f"rack{number}", f"up{number}"

    def limit(self, rate: str) -> None:
        """Limit the speed of its link in each direction, in tc's notation."""
        _limit(rate, (self._network.bridge, self.link), (self._network.bridge, f"{self.link}-up"))

    def crossed(self) -> tuple[int, int]:
        """Return the bytes that have left the rack, and entered it, over its link."""
        return _crossed(self._network.bridge, self.link)


class Network:
    """A bridge, and the machines on it; `close` ends what runs there. What a process left that was killed before it
    could is removed by the next one."""

    def __init__(self) -> None:
        _sweep()
        self.bridge = f"jg{os.getpid()}-{next(_serial)}"
        self.machines: list[Machine] = []
        self.racks: list[Rack] = []
        try:
            _ip("netns", "add", self.bridge)
            _ip("-n", self.bridge, "link", "add", "name", "bridge0", "type", "bridge")
            _ip("-n", self.bridge, "link", "set", "bridge0", "up")
        except BaseException:  # told to end, too
            self.close()
            raise

    def rack(self) -> Rack:
        """Make a bridge below the network's, for machines of one rack."""
        rack = Rack(self, len(self.racks) + 1)
        self.racks.append(rack)
        for words in (
            f"link add name {rack.bridge} type bridge",
            f"link add name {rack.link} type veth peer name {rack.link}-up",
            f"link set {rack.link} master {rack.bridge} up",
            f"link set {rack.link}-up master bridge0 up",
            f"link set {rack.bridge} up",
        ):
            _ip("-n", self.bridge, *words.split())
        return rack

    def machine(self, rack: Rack | None = None) -> Machine:
        number = len(self.machines) + 1
        namespace, port, address = f"{self.bridge}-{number}", f"p{number}", f"{PREFIX}.{number}"
        _ip("netns", "add", namespace)
        machine = Machine(self, namespace, port, address)
        self.machines.append(machine)
        _ip("-n", self.bridge, "link", "add", "name", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("-n", self.bridge, "link", "set", port, "master", rack.bridge if rack else "bridge0", "up")
        _ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        _ip("-n", namespace, "link", "set", "eth0", "up")
        _ip("-n", namespace, "link", "set", "lo", "up")
        return machine

    def isolate(self, *machines: Machine) -> None:
        """Drop packets between these machines silently from now on; others still reach them."""
        for machine in machines:
            _ip("-n", self.bridge, "link", "set", machine.port, "type", "bridge_slave", "isolated", "on")

    def close(self) -> None:
        processes = [process for machine in self.machines for process in machine.processes]
        for machine in self.machines:
            _signal(machine.pids(), signal.SIGCONT)
        for process in processes:
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + END_S
        for process in processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        for name in _namespaces():  # also one that was being made when this process was told to end
            if name == self.bridge or name.startswith(f"{self.bridge}-"):
                _remove(name)


def _limit(rate: str, *ends: tuple[str, str]) -> None:
    """Limit what leaves by each end of a link: a namespace, and an interface there."""
    for namespace, device in ends:
        words = f"qdisc replace dev {device} root tbf rate {rate} burst 256kb latency 50ms".split()
        _run("tc", "-n", namespace, *words)


def line(process: subprocess.Popen[str], seconds: float = 600.0) -> str:
    """Return the process's next line; kill it after this many seconds of silence. Raises InstanceFailed if it has
    ended."""
    assert process.stdout is not None
    impatience = threading.Timer(seconds, process.kill)
    impatience.start()
    try:
        found = process.stdout.readline()
    finally:
        impatience.cancel()
    if not found:
        command = " ".join(map(str, process.args)) if isinstance(process.args, list) else str(process.args)
        raise InstanceFailed(f"it ended with status {process.wait()} before it said more: {command}")
    return found


@contextlib.contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """Let a program clean up before it ends on SIGTERM."""

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _sweep() -> None:
    """Removes the namespaces of processes that have ended."""
    for name in _namespaces():
        found = re.match(r"jg(\d+)-\d+", name)
        if found and not Path(f"/proc/{found[1]}").exists():
            with contextlib.suppress(JumpgateError, subprocess.CalledProcessError):  # another process does so, too
                _remove(name)


def _namespaces() -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def _remove(namespace: str) -> None:
    """Remove a namespace with all processes in it."""
    _signal(_pids(namespace), signal.SIGKILL)
    _ip("netns", "del", namespace)


def _pids(namespace: str) -> list[int]:
    found = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True).stdout
    return [int(pid) for pid in found.split()]


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _crossed(namespace: str, device: str) -> tuple[int, int]:
    files = [f"/sys/class/net/{device}/statistics/{way}_bytes" for way in ("tx", "rx")]
    command = ["ip", "netns", "exec", namespace, "cat", *files]
    up, down = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(up), int(down)


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ConfigError(f"{' '.join(command)}: {done.stderr.strip()}", command=command[0])
