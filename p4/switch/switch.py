"""The software switch as an object: a compiled program with ports, tables, registers and counters."""

from __future__ import annotations

import ctypes as c
import ipaddress
import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from jumpgate.errors import ConfigError, JumpgateError, NotFound
from jumpgate.ntf.addresses import host_of, joined
from jumpgate.p4.switch import layout, library

NO_PORT = 0x1FF
CPU_PORT = 64
PORTS = 512
PASSES_MAX = 1 << 20
FRAME_BYTES_MAX = 9216
EVENT_BYTES_MAX = 16 << 10
#: characters of `struct` for unsigned integers, by their bytes
_UNSIGNED = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Result(IntEnum):
    """The outcome of a write to a table (`WriteResult` of src/table_store.h)."""

    OK = 0
    EXISTS = 1
    NOT_FOUND = 2
    FULL = 3
    INVALID = 4
    CONSTANT = 5


class TableError(JumpgateError):
    """A table refused an entry. `result` says why; fields: table."""

    code = "switch_table"
    result = Result.INVALID

    @classmethod
    def of(cls, table: Table, result: Result) -> TableError:
        reason = {
            Result.EXISTS: "has this entry already; modify it",
            Result.NOT_FOUND: "has no such entry",
            Result.FULL: f"is full: it holds {table.size} entries",
            Result.INVALID: "cannot hold this entry: a value is wider than its field, or has bits outside its mask, "
            "or a range is empty",
            Result.CONSTANT: "is constant in the program",
        }[result]
        error = cls(f"table '{table.name}' {reason}", table=table.name)
        error.result = result
        return error


@dataclass(frozen=True)
class Entry:
    """A row of a table. `value` and `mask` have one number a key field: exact ignores the mask, ternary and lpm match
    `key & mask == value`, a range `value <= key <= mask`. `action` is an index in the table's actions."""

    value: tuple[int, ...]
    mask: tuple[int, ...]
    priority: int
    action: int
    data: tuple[int, ...]


@dataclass(frozen=True)
class Action:
    name: str
    id: int
    parameters: tuple[tuple[str, int], ...]

    @property
    def widths(self) -> list[int]:
        return [bits for _, bits in self.parameters]


@dataclass(frozen=True)
class Table:
    """A program's declaration of a table; `keys` are (name, bits, match kind)."""

    name: str
    id: int
    index: int
    keys: tuple[tuple[str, int, str], ...]
    actions: tuple[Action, ...]
    size: int
    default_is_const: bool
    is_const: bool

    @property
    def widths(self) -> list[int]:
        return [bits for _, bits, _ in self.keys]

    def action(self, name: str) -> int:
        """The index of the action of that name or of its last part. Raises NotFound."""
        for index, action in enumerate(self.actions):
            if name in (action.name, action.name.rpartition(".")[2]):
                return index
        raise NotFound(f"table '{self.name}' has no action '{name}'; it has {', '.join(a.name for a in self.actions)}")


@dataclass(frozen=True)
class Register:
    name: str
    id: int
    index: int
    size: int
    table: int
    fields: tuple[tuple[str, int], ...]
    field_bytes: int


@dataclass(frozen=True)
class Counter:
    """`kind`: 0 packets, 1 bytes, 2 both; `table` is the index of a direct counter's table, else -1."""

    name: str
    id: int
    index: int
    size: int
    table: int
    kind: int


@dataclass(frozen=True)
class Meter:
    """`kind`: 0 packets, 1 bytes; `table` is the index of a direct meter's table, else -1."""

    name: str
    id: int
    index: int
    size: int
    table: int
    kind: int


@dataclass(frozen=True)
class Rates:
    """A meter's rates: units (packets or bytes) a second, and bursts in units."""

    committed_rate: int
    committed_burst: int
    peak_rate: int
    peak_burst: int


@dataclass(frozen=True)
class Digest:
    name: str
    id: int
    index: int
    fields: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class PacketIn:
    """A frame that the program sent to the controller, with its headers for the controller in front."""

    port: int
    data: bytes


@dataclass(frozen=True)
class DigestMessage:
    digest: Digest
    values: tuple[int, ...]


@dataclass(frozen=True)
class PortSpec:
    """`number=HOST:PORT[/PEER_HOST:PORT][,frames|,as=PORT]` is a UDP socket, `number=@INTERFACE` a network interface;
    what leaves by `number=loopback` comes in by it again.

    A UDP port without a peer sends each datagram where its IPv4 and UDP headers say. With `frames` the payload is the
    whole frame (a peer is needed then); without, see p4/switch/README.md. PORT 0 lets the system choose. `shown_port`
    (`as=`) is the destination port that the program sees in place of the socket's; 0: the socket's.
    """

    number: int
    host: str = ""
    port: int = 0
    peer: tuple[str, int] | None = None
    frames: bool = False
    interface: str | None = None
    shown_port: int = 0
    loopback: bool = False

    def __str__(self) -> str:
        return "loopback" if self.loopback else self.interface or joined(self.host, self.port)

    @classmethod
    def parse(cls, text: str) -> PortSpec:
        """Raises ConfigError."""
        number, equals, rest = text.partition("=")
        try:
            if not equals or not 0 <= int(number) < PORTS:
                raise ValueError(f"a port's number is 0 to {PORTS - 1}")
            if rest.startswith("@"):
                return cls(int(number), interface=rest[1:])
            if rest == "loopback":
                return cls(int(number), loopback=True)
            rest, _, option = rest.partition(",")
            shown = _port(option.removeprefix("as=")) if option.startswith("as=") else 0
            if not shown and option not in ("", "frames"):
                raise ValueError(f"unknown option '{option}'")
            local, _, peer = rest.partition("/")
            peer_address = _address(peer) if peer else None
            spec = cls(int(number), *_address(local), peer_address, option == "frames", shown_port=shown)
        except ValueError as error:
            raise ConfigError(
                f"not a port: '{text}': {error}; write e.g. 1=127.0.0.1:9001, 2=@eth0 or 3=loopback"
            ) from error
        if spec.frames and spec.peer is None:
            raise ConfigError(f"port '{text}' carries whole frames and needs a peer: {rest}/HOST:PORT,frames")
        return spec


Named = TypeVar("Named", Table, Register, Counter)


def _address(text: str) -> tuple[str, int]:
    host = host_of(text)
    if (":" in host) != text.startswith("["):
        raise ValueError("an IPv6 address is written in brackets")
    ipaddress.ip_address(host)
    return host, _port(text.rpartition(":")[2])


def _port(text: str) -> int:
    if not 0 <= int(text) < 65536:
        raise ValueError("a UDP port is 0 to 65535")
    return int(text)


def _text(value: bytes | None) -> str:
    return (value or b"").decode()


def _fields(pointer: Sequence[layout.Field], count: int) -> tuple[tuple[str, int], ...]:
    return tuple((_text(pointer[i].name), int(pointer[i].bits)) for i in range(count))


@dataclass
class Switch:
    """Runs one compiled program. Use as a context manager, or call `close`; calls after that raise ConfigError.

    `process` works without ports. `add_port` before `start`; then a worker thread moves packets until `close`.
    Methods may be called from any thread; changes take effect between two batches of packets.
    """

    program: Path
    cpu_port: int = CPU_PORT
    seed: int = 1
    tables: list[Table] = field(init=False)
    registers: list[Register] = field(init=False)
    counters: list[Counter] = field(init=False)
    meters: list[Meter] = field(init=False)
    digests: list[Digest] = field(init=False)

    def __post_init__(self) -> None:
        self._lib = library.load()
        program = c.POINTER(layout.Program)()
        problem = self._lib.jgsw_load(str(self.program).encode(), c.byref(program))
        if problem is not None:
            raise ConfigError(problem.decode(), file=self.program)
        self._declare(program.contents)
        self._handle: int | None = self._lib.jgsw_create(program, self.cpu_port, self.seed)
        self._closing = threading.Lock()
        self._event = c.create_string_buffer(EVENT_BYTES_MAX)
        self._event_lock = threading.Lock()

    def _declare(self, program: layout.Program) -> None:
        self.name = _text(program.name)
        self.tables = [
            Table(
                _text(t.name), t.id, i,
                tuple((_text(k.name), int(k.bits), layout.MATCHES[k.match]) for k in t.keys[: t.key_count]),
                tuple(
                    Action(_text(a.name), a.id, _fields(a.parameters, a.parameter_count))
                    for a in t.actions[: t.action_count]
                ),
                t.size, bool(t.default_is_const), t.row_count > 0,
            )
            for i, t in enumerate(program.tables[: program.table_count])
        ]  # fmt: skip
        self.registers = [
            Register(_text(r.name), r.id, i, r.size, r.table, _fields(r.fields, r.field_count), r.field_bytes)
            for i, r in enumerate(program.registers[: program.register_count])
        ]
        self.counters = [
            Counter(_text(k.name), k.id, i, k.size, k.table, k.kind)
            for i, k in enumerate(program.counters[: program.counter_count])
        ]
        self.meters = [
            Meter(_text(m.name), m.id, i, m.size, m.table, m.kind)
            for i, m in enumerate(program.meters[: program.meter_count])
        ]
        self.digests = [
            Digest(_text(d.name), d.id, i, _fields(d.fields, d.field_count))
            for i, d in enumerate(program.digests[: program.digest_count])
        ]

    @property
    def _sw(self) -> int:
        if self._handle is None:
            raise ConfigError("the switch is closed")
        return self._handle

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops the worker, closes the ports and frees everything; again: nothing."""
        with self._closing:
            if self._handle is None:
                return
            self._lib.jgsw_stop(self._handle)
            with self._event_lock:
                handle, self._handle = self._handle, None
                self._lib.jgsw_destroy(handle)

    # ---- packets ---------------------------------------------------------------------------------------------------

    def process(self, packets: Iterable[tuple[int, bytes]], passes_max: int = PASSES_MAX) -> list[tuple[int, bytes]]:
        """Runs (port, frame)s through the pipeline, in order; returns the (port, frame)s that leave it."""
        given = list(packets)
        out = self.process_packed(
            (c.c_uint16 * len(given))(*(port for port, _ in given)),
            (c.c_uint32 * len(given))(*(len(frame) for _, frame in given)),
            b"".join(frame for _, frame in given),
            len(given),
            passes_max,
        )
        return list(out)

    def process_packed(
        self, ports: object, lengths: object, frames: bytes, count: int, passes_max: int = PASSES_MAX
    ) -> Iterator[tuple[int, bytes]]:
        """`process` of frames that lie one after the other, with ctypes arrays of their ports and lengths. What it
        yields must be taken before the next call; not taking it costs nothing."""
        out_count, out_ports, out_lengths, out_bytes = self._process(ports, lengths, frames, count, passes_max)

        def left() -> Iterator[tuple[int, bytes]]:
            at = out_bytes or 0
            for i in range(out_count):
                yield out_ports[i], c.string_at(at, out_lengths[i])
                at += out_lengths[i]

        return left()

    def process_lengths(
        self, ports: object, lengths: object, frames: bytes, count: int, passes_max: int = PASSES_MAX
    ) -> list[int]:
        """`process_packed` for who wants to know no more than the sizes of the frames that leave, in their order."""
        out_count, _, out_lengths, _ = self._process(ports, lengths, frames, count, passes_max)
        sizes: list[int] = out_lengths[:out_count]
        return sizes

    def _process(
        self, ports: object, lengths: object, frames: bytes, count: int, passes_max: int
    ) -> tuple[int, Any, Any, int | None]:
        """How many frames leave, their ports and lengths, and where they lie one after the other."""
        out_count, out_ports = c.c_uint32(), c.POINTER(c.c_uint16)()
        out_lengths, out_bytes = c.POINTER(c.c_uint32)(), c.c_void_p()
        self._lib.jgsw_process(
            self._sw, c.cast(ports, c.c_void_p), c.cast(lengths, c.c_void_p), frames, count, passes_max,  # type: ignore[arg-type]
            c.byref(out_count), c.byref(out_ports), c.byref(out_lengths), c.byref(out_bytes),
        )  # fmt: skip
        return out_count.value, out_ports, out_lengths, out_bytes.value

    def add_port(self, spec: PortSpec) -> int:
        """Opens a port; returns its UDP port number (0 for others). Raises ConfigError."""
        bound = c.c_uint16()
        if spec.loopback:
            problem = self._lib.jgsw_loop_port(self._sw, spec.number)
        elif spec.interface is not None:
            problem = self._lib.jgsw_add_interface(self._sw, spec.number, spec.interface.encode())
        else:
            host, port = spec.peer or ("0.0.0.0", 0)
            problem = self._lib.jgsw_add_udp(
                self._sw,
                spec.number,
                int(spec.frames),
                spec.host.encode(),
                spec.port,
                host.encode(),
                port,
                spec.shown_port,
                c.byref(bound),
            )
        if problem is not None:
            raise ConfigError(f"cannot open port {spec.number} on {spec}: {problem.decode()}", port=spec.number)
        return bound.value

    def stand_in(self, address: ipaddress.IPv4Address, host: ipaddress.IPv6Address) -> None:
        """From now on the address stands for the host in the headers that the program sees (README.md)."""
        problem = self._lib.jgsw_stand_in(self._sw, str(address).encode(), str(host).encode())
        assert problem is None, problem

    def start(self) -> None:
        """Starts to move packets. Raises ConfigError."""
        problem = self._lib.jgsw_start(self._sw)
        if problem is not None:
            raise ConfigError(f"the switch does not start: {problem.decode()}")

    def packet_out(self, data: bytes) -> None:
        """A frame from the controller, as if it came in at the CPU port."""
        self._lib.jgsw_packet_out(self._sw, data, len(data))

    def next_event(self, timeout_ms: int) -> PacketIn | DigestMessage | None:
        """Return the program's next message to the controller; None if none came in time, or the switch is closed."""
        kind, index = c.c_int32(), c.c_uint32()
        with self._event_lock:
            if self._handle is None:
                return None
            size = self._lib.jgsw_next_event(
                self._handle, timeout_ms, c.byref(kind), c.byref(index), self._event, EVENT_BYTES_MAX
            )
            if size < 0:
                return None
            data = self._event.raw[:size]
        if kind.value == 0:
            return PacketIn(index.value, data)
        digest = self.digests[index.value]
        values = (c.c_uint64 * (size // 8)).from_buffer_copy(data)
        return DigestMessage(digest, tuple(layout.unpack(values, [bits for _, bits in digest.fields])))

    # ---- tables ----------------------------------------------------------------------------------------------------

    def table(self, name: str) -> Table:
        """The table of that name or of its last part. Raises NotFound."""
        return _named(self.tables, name, "table")

    def insert(self, table: Table, entry: Entry) -> None:
        """Raises TableError."""
        self._write(table, 0, entry)

    def modify(self, table: Table, entry: Entry) -> None:
        """Raises TableError."""
        self._write(table, 1, entry)

    def delete(self, table: Table, entry: Entry) -> None:
        """Raises TableError. The entry's action does not matter."""
        self._write(table, 2, entry)

    def _write(self, table: Table, operation: int, entry: Entry) -> None:
        data = layout.pack(list(entry.data), table.actions[entry.action].widths) if operation < 2 else None
        value, mask = self._match(table, entry)
        result = Result(
            self._lib.jgsw_table_write(
                self._sw, table.index, operation, value, mask, entry.priority, entry.action, data
            )
        )
        if result is not Result.OK:
            raise TableError.of(table, result)

    def _match(self, table: Table, entry: Entry) -> tuple[object, object]:
        return layout.pack(list(entry.value), table.widths), layout.pack(list(entry.mask), table.widths)

    def set_default(self, table: Table, action: int | None, data: Sequence[int] = ()) -> None:
        """The action of a miss; None: what the program says. Raises TableError."""
        if action is None:
            self._lib.jgsw_table_default_reset(self._sw, table.index)
            return
        packed = layout.pack(list(data), table.actions[action].widths)
        result = Result(self._lib.jgsw_table_default(self._sw, table.index, action, packed))
        if result is not Result.OK:
            raise TableError.of(table, result)

    def slot(self, table: Table, entry: Entry) -> int:
        """Where an entry is, as direct counters and registers count. Raises TableError."""
        slot = c.c_uint32()
        value, mask = self._match(table, entry)
        result = Result(self._lib.jgsw_table_locate(self._sw, table.index, value, mask, entry.priority, c.byref(slot)))
        if result is not Result.OK:
            raise TableError.of(table, result)
        return slot.value

    def read(self, table: Table, slot: int) -> Entry | None:
        """The entry in a slot, None if it is free; slot `table.size` is the default action."""
        value, mask = layout.pack([0] * len(table.keys), table.widths), layout.pack([0] * len(table.keys), table.widths)
        data = (c.c_uint64 * 64)()
        priority, action = c.c_int32(), c.c_uint32()
        if not self._lib.jgsw_table_read(
            self._sw, table.index, slot, value, mask, c.byref(priority), c.byref(action), data
        ):
            return None
        return Entry(
            tuple(layout.unpack(value, table.widths)), tuple(layout.unpack(mask, table.widths)), priority.value,
            action.value, tuple(layout.unpack(data, table.actions[action.value].widths)),
        )  # fmt: skip

    def entries(self, table: Table) -> Iterator[tuple[int, Entry]]:
        """(slot, entry) of all entries; those that change meanwhile may be missed."""
        left = self._lib.jgsw_table_count(self._sw, table.index)
        for slot in range(table.size):
            if left == 0:
                return
            entry = self.read(table, slot)
            if entry is not None:
                left -= 1
                yield slot, entry

    # ---- registers, counters, traffic manager ------------------------------------------------------------------------

    def register(self, name: str) -> Register:
        """The register of that name or of its last part. Raises NotFound."""
        return _named(self.registers, name, "register")

    def read_register(self, register: Register, first: int = 0, count: int | None = None) -> list[tuple[int, ...]]:
        """Elements, each as its one or two fields."""
        count = register.size - first if count is None else count
        self._check_range(register, first, count)
        element = len(register.fields) * register.field_bytes
        data = c.create_string_buffer(max(1, count * element))
        self._lib.jgsw_register_read(self._sw, register.index, first, count, data)
        return list(
            struct.iter_unpack(f"<{len(register.fields)}{_UNSIGNED[register.field_bytes]}", data.raw[: count * element])
        )

    def write_register(self, register: Register, first: int, elements: Sequence[Sequence[int]]) -> None:
        """Raises ConfigError: outside the register, or a value is too wide."""
        self._check_range(register, first, len(elements))
        for element in elements:
            for value, (_, bits) in zip(element, register.fields, strict=True):
                if not 0 <= value < 1 << bits:
                    raise ConfigError(f"{value} does not fit into {bits} bits of register '{register.name}'")
        data = b"".join(value.to_bytes(register.field_bytes, "little") for element in elements for value in element)
        self._lib.jgsw_register_write(self._sw, register.index, first, len(elements), data)

    def reset_register(self, register: Register) -> None:
        """Every element gets its initial value."""
        self._lib.jgsw_register_reset(self._sw, register.index)

    def counter(self, name: str) -> Counter:
        """The counter of that name or of its last part. Raises NotFound."""
        return _named(self.counters, name, "counter")

    def read_counter(self, counter: Counter, first: int = 0, count: int | None = None) -> list[tuple[int, int]]:
        """(packets, bytes) of cells."""
        count = counter.size - first if count is None else count
        self._check_range(counter, first, count)
        cells = (layout.CounterCell * max(1, count))()
        self._lib.jgsw_counter_read(self._sw, counter.index, first, count, cells)
        return [(cells[i].packets, cells[i].bytes) for i in range(count)]

    def write_counter(self, counter: Counter, first: int, cells: Sequence[tuple[int, int]]) -> None:
        self._check_range(counter, first, len(cells))
        array = (layout.CounterCell * max(1, len(cells)))(*(layout.CounterCell(*cell) for cell in cells))
        self._lib.jgsw_counter_write(self._sw, counter.index, first, len(cells), array)

    def read_meter(self, meter: Meter, cell: int) -> Rates | None:
        """None: it is not set, and all is green."""
        self._check_range(meter, cell, 1)
        config = layout.MeterConfig()
        self._lib.jgsw_meter_read(self._sw, meter.index, cell, c.byref(config))
        rates = config.committed_rate, config.committed_burst, config.peak_rate, config.peak_burst
        return Rates(*rates) if config.set else None

    def write_meter(self, meter: Meter, cell: int, rates: Rates | None) -> None:
        """Its buckets are full then; None: it is not set any more."""
        self._check_range(meter, cell, 1)
        numbers = (
            (rates.committed_rate, rates.committed_burst, rates.peak_rate, rates.peak_burst) if rates else (0,) * 4
        )
        config = layout.MeterConfig(*numbers, rates is not None)
        self._lib.jgsw_meter_write(self._sw, meter.index, cell, c.byref(config))

    @staticmethod
    def _check_range(what: Register | Counter | Meter, first: int, count: int) -> None:
        if first < 0 or count < 0 or first + count > what.size:
            raise ConfigError(f"'{what.name}' has {what.size} elements; there is no {first + count - 1}")

    def set_multicast(self, group: int, replicas: Sequence[tuple[int, int]]) -> None:
        """(port, replication id)s that copies to a group go to; none removes it."""
        ports = (c.c_uint16 * max(1, len(replicas)))(*(port for port, _ in replicas))
        ids = (c.c_uint16 * max(1, len(replicas)))(*(rid for _, rid in replicas))
        self._lib.jgsw_multicast(self._sw, group, ports, ids, len(replicas))

    def set_mirror(self, session: int, port: int | None) -> None:
        """The port that a session's copies leave by; None removes it."""
        self._lib.jgsw_mirror_session(self._sw, session, NO_PORT if port is None else port)

    def counts(self) -> dict[str, int]:
        """Count the fates of packets since the start; everything lost is under a reason."""
        counts = layout.Counts()
        self._lib.jgsw_counts(self._sw, c.byref(counts))
        return counts.as_dict()

    def port_counts(self, number: int) -> dict[str, int]:
        """Raises NotFound."""
        counts = layout.PortCounts()
        if not self._lib.jgsw_port_counts(self._sw, number, c.byref(counts)):
            raise NotFound(f"the switch has no port {number}")
        return counts.as_dict()


def _named(items: Sequence[Named], name: str, kind: str) -> Named:
    for item in items:
        if name in (item.name, item.name.rpartition(".")[2]):
            return item
    raise NotFound(f"the program has no {kind} '{name}'; it has {', '.join(item.name for item in items) or 'none'}")
