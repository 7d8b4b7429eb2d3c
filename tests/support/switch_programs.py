"""The P4 programs of p4/programs on a software switch: packets of their protocol, and the entries that flows need."""

from __future__ import annotations

import functools
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumpgate.p4.compiler import compile_source
from jumpgate.p4.programs import crc, render
from jumpgate.p4.programs.filter import Range
from jumpgate.p4.programs.protocol import HEADER
from jumpgate.p4.switch import library
from jumpgate.p4.switch.switch import Entry, Switch

WORD = 0xFFFFFFFF
DATA, ACK, READ_FIRST, READ_SECOND, CLEAR, END = 1, 2, 3, 4, 5, 6
#: of every job here
SECRET = 0xFEDC_BA98_7654_3210
#: a slot's row as it travels: nulls and four words, or None
Row = tuple[int, int, int, int, int]
Rows = tuple[Row | None, ...]


@dataclass(frozen=True)
class Host:
    """An end of a path; `port` is the switch's port that leads there."""

    mac: str
    address: str
    udp_port: int
    port: int

    @property
    def route(self) -> tuple[int, int, int, int]:
        """Return the arguments of `send`."""
        address = int.from_bytes(socket.inet_aton(self.address), "big")
        return self.port, int(self.mac.replace(":", ""), 16), address, self.udp_port


SENDER = Host("02:00:00:00:00:01", "10.0.0.1", 4000, 3)
RECEIVER = Host("02:00:00:00:00:03", "10.0.0.3", 5000, 7)
SWITCH = Host("02:00:00:00:00:02", "10.0.0.2", render.UDP_PORT, 0)
Hop = tuple[Host, Host]
IN, ON, BACK = (SENDER, SWITCH), (SWITCH, RECEIVER), (SWITCH, SENDER)


def frame(
    kind: int, flow: int, sequence: int, rows: Rows = (), hop: Hop = IN, payload: bytes = b"", trailer: bytes = b"",
    secret: int = SECRET,
) -> bytes:  # fmt: skip
    """A frame of the protocol. `payload` belongs to the datagram, `trailer` is behind it, as Ethernet's padding is."""
    present = sum(1 << i for i, row in enumerate(rows) if row is not None)
    body = HEADER.pack(kind, present, flow, sequence, secret)
    body += b"".join(struct.pack(">BIIII", *row) for row in rows if row is not None)
    return wrapped(body + payload, hop) + trailer


def wrapped(body: bytes, hop: Hop) -> bytes:
    source, target = hop
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(body), 77, 0, 9, 17, 0)
    ip += socket.inet_aton(source.address) + socket.inet_aton(target.address)
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + ip[12:]
    ethernet = bytes.fromhex((target.mac + source.mac).replace(":", "")) + b"\x08\x00"
    return ethernet + ip + struct.pack(">HHHH", source.udp_port, target.udp_port, 8 + len(body), 0) + body


def words_of(answer: bytes) -> dict[int, tuple[int, ...]]:
    """The words of each slot in the answer (a datagram's payload) to a READ."""
    kind, present, *_ = HEADER.unpack_from(answer)
    count = {READ_FIRST: 8, READ_SECOND: 3}[kind]
    slots = [slot for slot in range(8) if present >> slot & 1]
    words = struct.unpack(f">{count * len(slots)}I", answer[HEADER.size :])
    return {slot: words[count * i : count * (i + 1)] for i, slot in enumerate(slots)}


@functools.cache
def meeting(bits: int, rows: int) -> list[int]:
    """Keys whose CRC falls on the first `rows` of 2^bits rows."""
    return _meeting(np.arange(1 << 17, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15), bits, rows)[:24]


@functools.cache
def alike(bits: int, rows: int) -> list[int]:
    """Such that also agree with each other in their high or low words, and with the empty key in one."""
    words = np.arange(1, 1 << 16, dtype=np.uint64)
    high = words << np.uint64(32)
    alike = (high + np.uint64(7), words + np.uint64(7 << 32), high, words + np.uint64(1 << 63))
    return [key for keys in alike for key in _meeting(keys, bits, rows)[:2]]


def _meeting(keys: npt.NDArray[np.uint64], bits: int, rows: int) -> list[int]:
    return [int(k) for k in keys[crc.hash_keys(0, keys) & np.uint32((1 << bits) - 1) < rows]]


class Random:
    """The switch's generator (jgsw/externs.h)."""

    def __init__(self, start: int = 1) -> None:
        self.state = start | 1

    def draw(self) -> int:
        x = self.state
        x ^= x >> 12
        x ^= x << 25 & (1 << 64) - 1
        x ^= x >> 27
        self.state = x
        return x * 0x2545F4914F6CDD1D & (1 << 64) - 1


class Bench:
    """A compiled program on a switch, with the entries that its tables need."""

    def __init__(self, sizes: render.AggregateSizes | render.PruneSizes, profile: str = "none") -> None:
        self.sizes = sizes
        compiled = compile_source(render.render(sizes), "program.p4", profile=profile)
        self.switch = Switch(library.build_program("program.p4", compiled.cpp))
        self.random = Random(self.switch.seed)

    def enter(
        self, table: str, action: str, value: Sequence[int], data: Sequence[int], mask: Sequence[int] = ()
    ) -> None:
        at = self.switch.table(table)
        masks = tuple(mask) or tuple((1 << bits) - 1 for bits in at.widths)
        self.switch.insert(at, Entry(tuple(value), masks, 0, at.action(action), tuple(data)))

    def route(self, flow: int, to_sender: bool, host: Host) -> None:
        self.enter("route", "send", (flow, int(to_sender)), host.route)

    def start(self, flows: Mapping[int, Sequence[int]]) -> None:
        """Only these flows, each with both routes, and every register as it was at first."""
        self._flows(flows)
        for register in self.switch.registers:
            self.switch.reset_register(register)

    def again(self, flows: Mapping[int, Sequence[int]]) -> None:
        """Only these flows; the algorithm's registers stay as they are."""
        self._flows(flows)
        self.switch.reset_register(self.switch.register("window"))

    def _flows(self, flows: Mapping[int, Sequence[int]]) -> None:
        self.stop()
        for flow, data in flows.items():
            self.enter(
                "flow", "aggregate" if isinstance(self.sizes, render.AggregateSizes) else "run", (flow, SECRET), data
            )
            self.route(flow, False, RECEIVER)
            self.route(flow, True, SENDER)

    def clear(self, name: str) -> None:
        """Removes all entries of a table."""
        table = self.switch.table(name)
        for _, entry in list(self.switch.entries(table)):
            self.switch.delete(table, entry)

    def stop(self, *flows: int) -> None:
        """Removes the entries of these flows; of all, if none is given."""
        for name in ("flow", "route"):
            table = self.switch.table(name)
            for _, entry in list(self.switch.entries(table)):
                if not flows or entry.value[0] in flows:
                    self.switch.delete(table, entry)

    def process(self, *frames: bytes) -> list[tuple[int, bytes]]:
        return self.switch.process((SENDER.port, data) for data in frames)

    def cells(self, register: str, rows: Sequence[int]) -> list[tuple[int, ...]]:
        found = self.switch.register(register)
        return [self.switch.read_register(found, row, 1)[0] for row in rows]

    def words(self, register: str, rows: Sequence[int]) -> list[int]:
        return [cell[0] for cell in self.cells(register, rows)]

    def state(self) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
        """All registers but those of the protocol."""
        for register in self.switch.registers:
            name = register.name.rpartition(".")[2]
            if name not in ("window", "outcome"):
                yield name, self.switch.read_register(register)


def region(
    sizes: render.PruneSizes, algorithm: str, base: int = 0, rows: int = 0, threshold: int = 0, side: int = 0,
    adds: int = 0, absorbs: int = 0,
) -> tuple[int, ...]:  # fmt: skip
    """Return the arguments of `run`. `rows`: the number of rows from `base` on; 0: all."""
    mask = (rows or 1 << sizes.row_bits) - 1
    return render.CODES[algorithm], threshold, side, adds, absorbs, base, mask


def enter_filter(made: Bench, table: str, action: str, flow: int, predicate: Range) -> None:
    """The entries of one predicate: its field's prefixes, and any value of the other field."""
    for value, mask in predicate.prefixes():
        values, masks = [0, 0], [0, 0]
        values[predicate.field], masks[predicate.field] = value, mask
        made.enter(table, action, (flow, *values), (), (0xFFFF, *masks))
