"""Edges through a software switch, for tests: the switch with its entries, a network that loses packets, and both ends
as processes of tests/cpp/datagram_peer.cpp."""

from __future__ import annotations

import heapq
import random
import select
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from jumpgate.nca.interface import InstancePlan, JobContext, LifeCycle
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.p4.programs import render
from jumpgate.p4.programs.protocol import HEADER
from jumpgate.p4.switch.switch import PortSpec
from tests.support import cpp
from tests.support.switch_programs import SECRET, Bench, Host

PORT = 1
PEER = Path(__file__).resolve().parents[1] / "cpp" / "datagram_peer.cpp"
#: for a peer to end
TIMEOUT_S = 60


def host(udp_port: int) -> Host:
    return Host("02:01:7f:00:00:01", "127.0.0.1", udp_port, PORT)


class Line:
    """A switch that runs a program behind one UDP port; flows are numbered by the caller."""

    def __init__(self, sizes: render.AggregateSizes | render.PruneSizes) -> None:
        self.bench = Bench(sizes)
        spec = PortSpec.parse(f"{PORT}=127.0.0.1:0,as={render.UDP_PORT}")
        self.port = self.bench.switch.add_port(spec)
        self.bench.switch.start()

    def clear(self) -> None:
        self.bench.start({})

    def join(self, flow: int, data: Sequence[int], sender: int | None, receiver: int | None) -> None:
        """Installs a flow between two UDP ports, `data` being that of its program's action."""
        is_aggregate = isinstance(self.bench.sizes, render.AggregateSizes)
        self.bench.enter("flow", "aggregate" if is_aggregate else "run", (flow, SECRET), data)
        for to_sender, port in ((True, sender), (False, receiver)):
            if port is not None:
                self.bench.route(flow, to_sender, host(port))

    def close(self) -> None:
        self.bench.switch.close()


@dataclass(frozen=True)
class Chaos:
    """Probabilities of faults of a packet; delayed packets are overtaken."""

    loss: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0
    delay_s: float = 0.003
    seed: int = 1
    burst_loss: float = 0.0  # of all packets that come at once


class Relay(threading.Thread):
    """A network between one end and a switch: the end talks to `port`, the switch to `far_port`."""

    def __init__(self, switch: int, chaos: Chaos) -> None:
        super().__init__(daemon=True)
        self._near, self._far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for s in (self._near, self._far):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            s.bind(("127.0.0.1", 0))
            s.setblocking(False)
        self.port, self.far_port = self._near.getsockname()[1], self._far.getsockname()[1]
        self._switch, self.end = switch, 0
        self._chaos, self._random = chaos, random.Random(chaos.seed)
        self._stopped = threading.Event()
        self._waiting: list[tuple[float, int, bool, bytes]] = []
        self.passed = self.lost = 0

    def run(self) -> None:
        while not self._stopped.is_set():
            pause = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else 0.05
            readable, _, _ = select.select([self._near, self._far], [], [], min(pause, 0.05))
            for s in readable:
                self._take(s)
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, _, is_near, data = heapq.heappop(self._waiting)
                self._pass(is_near, data)

    def _take(self, s: socket.socket) -> None:
        is_lost = self._random.random() < self._chaos.burst_loss
        for _ in range(64):
            try:
                data = s.recv(2048)
            except BlockingIOError:
                return
            for _ in range(1 + (self._random.random() < self._chaos.repeat)):
                if is_lost or self._random.random() < self._chaos.loss:
                    self.lost += 1
                elif self._random.random() < self._chaos.delay:
                    at = time.monotonic() + self._random.expovariate(1 / self._chaos.delay_s)
                    heapq.heappush(self._waiting, (at, self.passed, s is self._near, data))
                    self.passed += 1
                else:
                    self._pass(s is self._near, data)

    def _pass(self, is_near: bool, data: bytes) -> None:
        self.passed += 1
        try:
            if is_near:
                self._far.sendto(data, ("127.0.0.1", self._switch))
            elif self.end:
                self._near.sendto(data, ("127.0.0.1", self.end))
        except BlockingIOError:
            self.lost += 1

    def close(self) -> None:
        self._stopped.set()
        if self.is_alive():
            self.join()
        self._near.close()
        self._far.close()


@dataclass(frozen=True)
class Answer:
    """The outcome of a peer: its counters, or an error's code and message."""

    counted: dict[str, int]
    code: str = ""
    message: str = ""


class Peer:
    """One end, as a process. Ends with `close`."""

    def __init__(self, program: Path, folder: Path, verb: str, descriptor: Descriptor, **words: object) -> None:
        self.descriptor = descriptor
        given = {"ntf": written(folder, descriptor), **words}
        command = [str(program), verb, *(f"{name}={value}" for name, value in given.items())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        word, _, port = self._line().partition(" ")
        if word != "port":
            raise AssertionError(f"{command}: {word} {port}")
        self.port = int(port)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def start(self, *paths: tuple[int, int], secret: int = SECRET) -> None:
        """`paths`: UDP port of the switch, and flow."""
        self.say("paths " + " ".join(f"127.0.0.1:{port}/{flow}/{secret:x}" for port, flow in paths))

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> Answer:
        """Return the outcome, or what it has received; a receiver goes on to answer senders."""
        timer = threading.Timer(TIMEOUT_S, self.process.kill)
        timer.start()
        words = self._line().split(" ")
        timer.cancel()
        if words[0] == "error":
            return Answer({}, words[1], " ".join(words[2:]))
        if words[0] != "ok":
            raise AssertionError(f"the peer ended with {words} and status {self.process.wait()}")
        return Answer({name: int(value) for name, value in zip(words[1::2], words[2::2], strict=True)})

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class Peers:
    """Starts both ends of edges, and ends them all."""

    def __init__(self, folder: Path, flags: Sequence[str] = cpp.SANITIZED) -> None:
        self.folder = folder
        self.program = cpp.build("datagram_peer", [PEER, *cpp.datagram_sources()], flags)
        self._started: list[Peer] = []

    def sender(self, descriptor: Descriptor, batch: pa.RecordBatch, **words: object) -> Peer:
        rows = self.folder / f"rows{len(self._started)}"
        rows.write_bytes(Codec(descriptor).encode(batch) if batch.num_rows else b"")  # a frame has rows
        return self._start("send", descriptor, rows=f"{rows}:{batch.num_rows}", **words)

    def receiver(self, descriptor: Descriptor, **words: object) -> Peer:
        return self._start("receive", descriptor, into=self.folder / f"rows{len(self._started)}", **words)

    def received(self, peer: Peer, rows: int) -> pa.RecordBatch:
        """The rows that a receiver delivered."""
        codec = Codec(peer.descriptor)
        payload = (self.folder / f"rows{self._started.index(peer)}").read_bytes()
        return codec.decode(pa.py_buffer(payload), rows) if rows else pa.RecordBatch.from_pylist([], codec.schema)

    def _start(self, verb: str, descriptor: Descriptor, **words: object) -> Peer:
        peer = Peer(self.program, self.folder, verb, descriptor, **words)
        self._started.append(peer)
        return peer

    def close(self) -> None:
        for peer in self._started:
            peer.close()


def written(folder: Path, descriptor: Descriptor) -> Path:
    """A file with the canonical text of a format."""
    path = folder / f"{descriptor.fingerprint()}.ntf"
    path.write_text(descriptor.text())
    return path


class Fake:
    """A switch that the test plays."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(20)
        self.port: int = self._socket.getsockname()[1]

    def send(self, port: int, *packets: bytes) -> None:
        for packet in packets:
            self._socket.sendto(packet, ("127.0.0.1", port))

    def take(self) -> tuple[int, int, int, int]:
        """Kind, present, flow and sequence of the next packet."""
        kind, present, flow, sequence, secret = HEADER.unpack_from(self.receive())
        assert secret == SECRET
        return kind, present, flow, sequence

    def receive(self) -> bytes:
        return self._socket.recv(2048)

    def close(self) -> None:
        self._socket.close()


class Lossy:
    """A device's life-cycle with a bad network between each of its devices and each of their hosts."""

    def __init__(self, lifecycle: LifeCycle, chaos: Chaos) -> None:
        self._lifecycle = lifecycle
        self.chaos = chaos
        #: by instance on a device, instance on a host, edge, and address of the device
        self.relays: dict[tuple[str, str, str, str], Relay] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lifecycle, name)

    async def allocate(self, instance: InstancePlan, context: JobContext) -> Any:
        live = await self._lifecycle.allocate(instance, context)
        devices = {part.driver.data for part in getattr(live, "parts", (live,))}
        for at in [at for at in self.relays if at[0] == instance.id]:  # of a job before
            self.relays.pop(at).close()
        for edge in (*instance.inputs, instance.output):
            for end, told in context.ends[edge].items():
                for path in (*told["paths"], *told.get("drains", ())):
                    address = path.get("address")
                    if address in devices:  # those to others have a relay already, or get one
                        at = instance.id, end, edge, address
                        if at not in self.relays:
                            self.relays[at] = Relay(int(address.rpartition(":")[2]), self.chaos)
                        path["address"] = f"127.0.0.1:{self.relays[at].port}"
        return live

    async def configure(self, handle: Any, instance: InstancePlan, artifact: Any, context: JobContext) -> None:
        sockets = dict(context.sockets)
        for (device, end, edge, address), relay in self.relays.items():
            if device == instance.id:
                relay.end = int(context.sockets[end, edge].rpartition(":")[2])
                relay.start()
                if edge != instance.output or address == handle.driver.data:  # who only reads buckets is sent no rows
                    sockets[end, edge] = f"127.0.0.1:{relay.far_port}"
        await self._lifecycle.configure(handle, instance, artifact, replace(context, sockets=sockets))

    def close(self) -> None:
        for relay in self.relays.values():
            relay.close()
        self.relays.clear()
