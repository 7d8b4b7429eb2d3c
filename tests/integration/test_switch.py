"""The software switch in process and over its ports, with a program written by hand."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpgate.errors import ConfigError, NotFound
from jumpgate.p4.switch.switch import CPU_PORT, Entry, PortSpec, Result, Switch, Table, TableError
from tests.support import switch_by_hand as by_hand
from tests.support.switch_by_hand import frame

WAIT_S = 30.0


@pytest.fixture(scope="module")
def program() -> Path:
    return by_hand.program()


@pytest.fixture
def switch(program: Path) -> Iterator[Switch]:
    with Switch(program) as made:
        yield made


def ports_of(switch: Switch, operation: int, *keys: tuple[int, int]) -> list[int | None]:
    """Where frames with these (port, key)s leave, None for those that are dropped."""
    out = []
    for port, key in keys:
        left = switch.process([(1, frame(operation, port, key))])
        out.append(left[0][0] if left else None)
    return out


# ---- tables against a plain search ----


def matches(table: Table, entry: Entry, key: tuple[int, ...]) -> bool:
    for (_, _, kind), value, mask, got in zip(table.keys, entry.value, entry.mask, key, strict=True):
        if kind == "range":
            if not value <= got <= mask:
                return False
        elif got & (mask if kind != "exact" else -1) != value:
            return False
    return True


def rank(table: Table, entry: Entry) -> int:
    return entry.mask[0].bit_count() if table.keys[0][2] == "lpm" else entry.priority


SMALL = st.integers(0, 15) | st.integers(0, 2**32 - 1)
BYTE = st.integers(0, 3) | st.integers(0, 255)


@st.composite
def entries(draw: st.DrawFn, kind: str) -> Entry:
    action, data = 1, (draw(st.integers(0, 60)),)
    priority = draw(st.integers(1, 6)) if kind in ("ternary", "range") else 0
    if kind == "exact":
        return Entry((draw(SMALL),), (0,), priority, action, data)
    if kind == "lpm":
        bits = draw(st.integers(0, 32))
        mask = (2**32 - 1) ^ (2 ** (32 - bits) - 1)
        return Entry((draw(SMALL) & mask,), (mask,), priority, action, data)
    if kind == "range":
        low, high = sorted((draw(SMALL), draw(SMALL)))
        return Entry((low, draw(BYTE)), (high, 255), priority, action, data)
    masks = draw(st.sampled_from((0, 1, 0xF, 0xFF00, 2**32 - 1)) | SMALL), draw(BYTE)
    return Entry((draw(SMALL) & masks[0], draw(BYTE) & masks[1]), masks, priority, action, data)


@pytest.mark.parametrize("operation", [by_hand.EXACT, by_hand.TERNARY, by_hand.LPM, by_hand.RANGE])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_tables_agree_with_a_plain_search(program: Path, operation: int, data: st.DataObject) -> None:
    kind = {by_hand.EXACT: "exact", by_hand.TERNARY: "ternary", by_hand.LPM: "lpm", by_hand.RANGE: "range"}[operation]
    with Switch(program) as switch:
        table = switch.table(f"{kind}_table")
        held: dict[tuple[object, ...], Entry] = {}
        for entry in data.draw(st.lists(entries(kind), max_size=40)):
            identity = entry.value, entry.mask, entry.priority
            what = data.draw(st.sampled_from(("insert", "insert", "insert", "modify", "delete")))
            expected = (Result.EXISTS if identity in held else None) if what == "insert" else (
                None if identity in held else Result.NOT_FOUND
            )  # fmt: skip
            if expected is None:
                getattr(switch, what)(table, entry)
                if what == "delete":
                    del held[identity]
                else:
                    held[identity] = entry
            else:
                with pytest.raises(TableError) as error:
                    getattr(switch, what)(table, entry)
                assert error.value.result is expected
        found = {(e.value, e.mask if kind != "exact" else (0,)) for _, e in switch.entries(table)}
        assert found == {(e.value, e.mask) for e in held.values()}
        keys = data.draw(st.lists(st.tuples(SMALL, BYTE), min_size=5, max_size=20))
        keys += [(e.value[0], e.value[-1] & 255) for e in held.values()]
        for key, port in keys:
            fit = [e for e in held.values() if matches(table, e, (key, port)[: len(table.keys)])]
            best = max((rank(table, e) for e in fit), default=None)
            wanted = {e.data[0] for e in fit if rank(table, e) == best} or {None}
            (got,) = ports_of(switch, operation, (port, key))
            assert got in wanted, (key, port, held)


def test_a_full_exact_table_finds_everything(switch: Switch) -> None:
    table = switch.table("exact_table")
    numbers = random.Random(1).sample(range(2**32), table.size)
    for i, key in enumerate(numbers):
        switch.insert(table, Entry((key,), (0,), 0, 1, (i % 60,)))
    with pytest.raises(TableError, match="is full: it holds 1024 entries"):
        switch.insert(table, Entry((next(k for k in range(10**6) if k not in numbers),), (0,), 0, 1, (1,)))
    assert ports_of(switch, by_hand.EXACT, *((0, key) for key in numbers)) == [i % 60 for i in range(table.size)]
    for key in numbers[::2]:
        switch.delete(table, Entry((key,), (0,), 0, 0, ()))
    wanted = [None if i % 2 == 0 else i % 60 for i in range(table.size)]
    assert ports_of(switch, by_hand.EXACT, *((0, key) for key in numbers)) == wanted


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("exact_table", Entry((2**32,), (0,), 0, 1, (1,))),
        ("ternary_table", Entry((2, 0), (1, 0), 1, 1, (1,))),
        ("ternary_table", Entry((0, 256), (0, 256), 1, 1, (1,))),
        ("range_table", Entry((5, 0), (4, 0), 1, 1, (1,))),
    ],
)
def test_entries_that_cannot_be(switch: Switch, name: str, entry: Entry) -> None:
    with pytest.raises(TableError, match="cannot hold this entry"):
        switch.insert(switch.table(name), entry)


def test_constant_tables_and_unknown_names(switch: Switch) -> None:
    table = switch.table("Ingress.const_table")
    assert ports_of(switch, by_hand.CONST, (0, 7), (0, 8)) == [5, None]
    for change in (switch.insert, switch.modify, switch.delete):
        with pytest.raises(TableError, match="is constant in the program"):
            change(table, Entry((7,), (0,), 0, 1, (1,)))
    with pytest.raises(TableError, match="is constant"):
        switch.set_default(table, 1, (1,))
    with pytest.raises(NotFound, match="no table 'nothing'; it has Ingress.exact_table"):
        switch.table("nothing")
    with pytest.raises(NotFound, match="no action 'fly'"):
        table.action("fly")


def test_default_action_and_wide_data(switch: Switch) -> None:
    table = switch.table("exact_table")
    switch.set_default(table, table.action("set_wide"), (9, 2**100 - 1))
    default = switch.read(table, table.size)
    assert default is not None and default.data == (9, 2**100 - 1)
    assert ports_of(switch, by_hand.EXACT, (0, 1)) == [9]
    switch.set_default(table, None)
    assert ports_of(switch, by_hand.EXACT, (0, 1)) == [None]


# ---- the traffic manager, registers, counters ----


def test_packets_take_every_way(switch: Switch) -> None:
    switch.set_multicast(4, [(7, 1), (8, 2), (CPU_PORT, 3)])
    switch.set_mirror(5, 17)
    assert switch.process([(1, frame(by_hand.MULTICAST, 4, 0))]) == [
        (7, frame(by_hand.MULTICAST, 4, 1)),
        (8, frame(by_hand.MULTICAST, 4, 2)),
    ]
    assert switch.process([(1, frame(by_hand.RECIRCULATE, 3, 9, b"payload"))]) == [(3, frame(0, 3, 9, b"payload"))]
    left = switch.process([(1, frame(by_hand.MIRROR, 5, 9))])
    assert left == [(1, frame(by_hand.MIRROR, 5, 9)), (17, bytes([by_hand.MIRROR]) + frame(by_hand.MIRROR, 5, 9))]
    assert ports_of(switch, by_hand.RESUBMIT, (12, 0)) == [12]
    assert switch.process([(1, frame(99, 0, 0)), (1, b"short"), (1, b""), (1, frame(by_hand.MULTICAST, 9, 0))]) == []
    counts = switch.counts()
    assert (counts["replicated"], counts["mirrored"], counts["recirculated"], counts["resubmitted"]) == (3, 1, 1, 1)
    assert (counts["malformed"], counts["dropped_by_program"], counts["no_multicast_group"]) == (2, 1, 1)
    event = switch.next_event(1000)
    assert event is not None and event.data == frame(by_hand.MULTICAST, 4, 3)  # type: ignore[union-attr]


def test_ports_in_loopback_mode(program: Path) -> None:
    """What leaves by such a port comes in by it, is sent to it again, and so on."""
    with Switch(program) as made:
        assert made.add_port(PortSpec.parse("5=loopback")) == 0
        table = made.table("exact_table")
        for key, port in ((1, 5), (2, 9)):
            made.insert(table, Entry((key,), (0,), 0, table.action("set_port"), (port,)))
        assert ports_of(made, by_hand.EXACT, (0, 2)) == [9]
        assert made.process([(3, frame(by_hand.EXACT, 0, 1))], passes_max=7) == []
        counts = made.counts()
        assert counts["recirculated"] > 7 and counts["loop_full"] == 1
        for spec in ("5=127.0.0.1:0", "5=loopback"):
            with pytest.raises(ConfigError, match=f"cannot open port 5 on {spec[2:]}.*: the port is already there"):
                made.add_port(PortSpec.parse(spec))


def test_what_circulates_for_ever_ends(switch: Switch) -> None:
    assert switch.process([(1, frame(by_hand.CIRCULATE, 0, 0))], passes_max=100) == []
    assert switch.counts()["loop_full"] == 1
    assert switch.process([(1, frame(by_hand.GROW, 0, 0))]) == []  # 200 bytes more each time
    assert switch.counts()["oversized"] == 1
    assert ports_of(switch, 0, (3, 1)) == [3]


def test_queues_to_the_controller_are_bounded(switch: Switch) -> None:
    switch.process([(1, frame(by_hand.CONTROLLER, 0, i)) for i in range(1500)])
    switch.process([(1, frame(by_hand.DIGEST, 3, i)) for i in range(5000)])
    events = 0
    while switch.next_event(0) is not None:
        events += 1
    assert events == 1024 + 4096 and switch.counts()["controller_full"] == 1500 + 5000 - events


def test_registers_and_counters(switch: Switch) -> None:
    sums, pairs = switch.register("sums"), switch.register("pairs")
    assert switch.read_register(pairs) == [(3, 4)] * 8
    switch.process([(2, frame(by_hand.ADD, 3, 40)), (2, frame(by_hand.ADD, 3, 2))])
    assert switch.read_register(sums, 3, 1) == [(42,)]
    switch.write_register(pairs, 6, [(1, 2), (65535, 0)])
    assert switch.read_register(pairs, 5) == [(3, 4), (1, 2), (65535, 0)]
    switch.reset_register(pairs)
    switch.reset_register(sums)
    assert switch.read_register(pairs) == [(3, 4)] * 8 and switch.read_register(sums) == [(0,)] * 16
    with pytest.raises(ConfigError, match="does not fit into 16 bits"):
        switch.write_register(pairs, 0, [(65536, 0)])
    with pytest.raises(ConfigError, match="has 8 elements; there is no 8"):
        switch.read_register(pairs, 8, 1)
    assert switch.read_counter(switch.counter("ports"), 2, 1) == [(2, 12)]

    table, hits = switch.table("exact_table"), switch.counter("exact_hits")
    entry = Entry((5,), (0,), 0, 1, (1,))
    switch.insert(table, entry)
    switch.process([(1, frame(by_hand.EXACT, 0, key)) for key in (5, 5, 6)])
    assert switch.read_counter(hits, switch.slot(table, entry), 1) == [(2, 12)]
    assert switch.read_counter(hits, table.size, 1) == [(1, 6)]  # misses
    switch.delete(table, entry)
    switch.insert(table, entry)  # a new entry counts from zero
    assert switch.read_counter(hits, switch.slot(table, entry), 1) == [(0, 0)]


# ---- ports ----


@contextlib.contextmanager
def peer() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        made.bind(("127.0.0.1", 0))
        made.settimeout(WAIT_S)
        yield made


def address(of: socket.socket) -> str:
    return f"127.0.0.1:{of.getsockname()[1]}"


def eventually(condition: object, what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def test_frames_over_udp(switch: Switch) -> None:
    with peer() as a, peer() as b:
        first = switch.add_port(PortSpec.parse(f"1=127.0.0.1:0/{address(a)},frames"))
        switch.add_port(PortSpec.parse(f"2=127.0.0.1:0/{address(b)},frames"))
        switch.start()
        sizes = [0, 1, 1000, 1000, 1000, 500, 1000, 1000, 9000, 3, 3]
        sent = [frame(0, 2, i, bytes([i]) * size) for i, size in enumerate(sizes)]
        for one in sent:
            a.sendto(one, ("127.0.0.1", first))
        assert [b.recv(65536) for _ in sent] == sent
        a.sendto(frame(0, 1, 1), ("127.0.0.1", first))  # back to where it came from
        assert a.recv(65536) == frame(0, 1, 1)
        a.sendto(frame(0, 99, 1), ("127.0.0.1", first))
        a.sendto(b"", ("127.0.0.1", first))
        a.sendto(bytes(9217), ("127.0.0.1", first))
        eventually(lambda: switch.counts()["oversized"] == 1, "the long datagram was not counted")
        counts = switch.counts()
        assert counts["no_such_port"] == 1 and counts["malformed"] == 1
        assert switch.port_counts(1)["received"] == len(sent) + 4
        with pytest.raises(NotFound, match="no port 3"):
            switch.port_counts(3)


def test_segments_are_packets(switch: Switch) -> None:
    """A sender that lets the kernel cut datagrams; the switch receives them uncut and sends them in one piece."""
    udp_segment = 103
    with peer() as a, peer() as b:
        first = switch.add_port(PortSpec.parse(f"1=127.0.0.1:0/{address(a)},frames"))
        switch.add_port(PortSpec.parse(f"2=127.0.0.1:0/{address(b)},frames"))
        switch.start()
        frames = [frame(0, 2, i, bytes(994)) for i in range(30)] + [frame(0, 2, 30, b"tail")]
        cut = [(socket.IPPROTO_UDP, udp_segment, struct.pack("H", 1000))]
        a.sendmsg([b"".join(frames)], cut, 0, ("127.0.0.1", first))
        assert [b.recv(65536) for _ in frames] == frames


@pytest.mark.parametrize("kind", [",frames", ""])
def test_segments_of_many_sizes_are_packets(switch: Switch, kind: str) -> None:
    """Segments go to where those of the last long message had room, so sizes change at each of these messages."""
    udp_segment = 103
    switch.set_default(switch.table("ternary_table"), 1, (2,))  # what begins with Ethernet's made addresses
    sizes = [(1000, 30, 4), (1000, 40, 999), (1000, 1, 1000), (1000, 1, 0), (300, 40, 7), (1000, 2, 6), (1400, 46, 10)]
    sizes += [(1400, 3, 1400), (9000, 7, 9000), (9000, 1, 300), (100, 60, 99), (9000, 2, 17), (1, 1, 1), (1000, 12, 1)]
    with peer() as a, peer() as b:
        first = switch.add_port(PortSpec.parse(f"1=127.0.0.1:0/{address(a)}{kind}"))
        switch.add_port(PortSpec.parse(f"2=127.0.0.1:0/{address(b)}{kind}"))
        switch.start()
        for number, (size, count, last) in enumerate(sizes * 3):
            lengths = [size] * (count - 1) + [last]
            sent = [(frame(0, 2, number * 100 + i) + os.urandom(size))[:length] for i, length in enumerate(lengths)]
            if not kind or min(lengths) >= 6:  # a frame is its head at least
                cut = [(socket.IPPROTO_UDP, udp_segment, struct.pack("H", size))]
                a.sendmsg([b"".join(sent)], cut, 0, ("127.0.0.1", first))
                assert [b.recv(65536) for _ in sent] == sent
        counts = switch.port_counts(1)
        assert counts["received_bytes"] == switch.port_counts(2)["sent_bytes"] and not counts["truncated"]


def headers(source: socket.socket, target_port: int, number: int, payload: bytes) -> bytes:
    """The frame that a port makes of a datagram (p4/switch/README.md)."""
    local = socket.inet_aton("127.0.0.1")
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 0, 0x4000, 64, 17, 0, local, local)
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack("!H", ~total & 0xFFFF) + ip[12:]
    udp = struct.pack("!HHHH", source.getsockname()[1], target_port, 8 + len(payload), 0)
    ethernet = bytes([2, 0, 0, 0, 0, number, 2, 1]) + local + b"\x08\x00"
    return ethernet + ip + udp + payload


def test_headers_are_made_from_datagrams(switch: Switch) -> None:
    table = switch.table("exact_table")  # a frame starts with the bytes 2, 0: the ternary table with port 0
    assert table.size == 1024
    switch.set_default(switch.table("ternary_table"), 1, (CPU_PORT,))
    with peer() as a:
        first = switch.add_port(PortSpec.parse("3=127.0.0.1:0"))
        switch.start()
        for payload in (b"", b"x", b"payload" * 100):
            a.sendto(payload, ("127.0.0.1", first))
            event = switch.next_event(10_000)
            assert event is not None and event.data == headers(a, first, 3, payload)  # type: ignore[union-attr]


def test_headers_show_the_port_that_programs_know(switch: Switch) -> None:
    switch.set_default(switch.table("ternary_table"), 1, (CPU_PORT,))
    with peer() as a:
        first = switch.add_port(PortSpec.parse("3=127.0.0.1:0,as=9801"))
        assert first != 9801
        switch.start()
        a.sendto(b"x", ("127.0.0.1", first))
        event = switch.next_event(10_000)
        assert event is not None and event.data == headers(a, 9801, 3, b"x")  # type: ignore[union-attr]


def test_datagrams_go_where_their_headers_say(switch: Switch) -> None:
    switch.set_default(switch.table("ternary_table"), 1, (3,))
    with peer() as a, peer() as b:
        first = switch.add_port(PortSpec.parse("3=127.0.0.1:0"))
        switch.start()
        made = headers(a, b.getsockname()[1], 3, b"from the controller")
        switch.packet_out(made)
        assert b.recv(65536) == b"from the controller"
        a.sendto(b"addressed to the switch itself", ("127.0.0.1", first))
        eventually(lambda: switch.port_counts(3)["no_peer"] == 1, "the datagram was not dropped")


def test_a_peer_that_is_gone_and_a_flood(switch: Switch) -> None:
    with peer() as a, peer() as b:
        gone = address(b)
        first = switch.add_port(PortSpec.parse(f"1=127.0.0.1:0/{address(a)},frames"))
        switch.add_port(PortSpec.parse(f"2=127.0.0.1:0/{gone},frames"))
        switch.start()
        b.close()
        for i in range(3000):
            a.sendto(frame(0, 2, i), ("127.0.0.1", first))
        for _ in range(50):  # still alive; loss is allowed in a flood
            a.sendto(frame(0, 1, 7), ("127.0.0.1", first))
            a.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                assert a.recv(100) == frame(0, 1, 7)
                break
        else:
            pytest.fail("the switch does not answer any more")
        counts = switch.port_counts(2)
        assert counts["sent"] + counts["send_errors"] + counts["send_blocked"] > 0


def test_entries_change_while_packets_flow(switch: Switch) -> None:
    table = switch.table("exact_table")
    stop = threading.Event()
    with peer() as a, peer() as b:
        first = switch.add_port(PortSpec.parse(f"1=127.0.0.1:0/{address(a)},frames"))
        switch.add_port(PortSpec.parse(f"2=127.0.0.1:0/{address(b)},frames"))
        switch.insert(table, Entry((7,), (0,), 0, 1, (2,)))
        switch.start()

        def send() -> None:
            while not stop.is_set():
                a.sendto(frame(by_hand.EXACT, 0, 7), ("127.0.0.1", first))

        sender = threading.Thread(target=send)
        sender.start()
        try:
            for i in range(2000):
                switch.insert(table, Entry((100 + i % 500,), (0,), 0, 1, (1,)))
                if i % 500 == 499:
                    for key in range(100, 600):
                        switch.delete(table, Entry((key,), (0,), 0, 0, ()))
        finally:
            stop.set()
            sender.join()
        eventually(
            lambda: switch.port_counts(2)["sent"] == switch.port_counts(1)["received"], "a packet missed its entry"
        )
        assert switch.counts()["dropped_by_program"] == 0


def test_ports_that_cannot_be_opened(switch: Switch, program: Path) -> None:
    wrong = ("1", "x=127.0.0.1:1", "512=127.0.0.1:1", "1=localhost:1", "1=127.0.0.1:70000", "1=127.0.0.1:1,what")
    for text in (*wrong, "1=127.0.0.1:1,as=70000", "1=127.0.0.1:1,as=", "1=127.0.0.1:1,as=0"):
        with pytest.raises(ConfigError, match="not a port"):
            PortSpec.parse(text)
    with pytest.raises(ConfigError, match="needs a peer"):
        PortSpec.parse("1=127.0.0.1:9001,frames")
    bound = switch.add_port(PortSpec.parse("1=127.0.0.1:0"))
    with Switch(program) as other, pytest.raises(ConfigError, match="cannot open port 1 .*: Address already in use"):
        other.add_port(PortSpec.parse(f"1=127.0.0.1:{bound}"))
    with pytest.raises(ConfigError, match="the port is already there"):
        switch.add_port(PortSpec.parse("1=127.0.0.1:0"))
    with pytest.raises(ConfigError, match="cannot open port 2 on nosuchdevice"):
        switch.add_port(PortSpec.parse("2=@nosuchdevice"))
    switch.close()
    switch.close()
    with pytest.raises(ConfigError, match="the switch is closed"):
        switch.process([])


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot open shared object"):
        Switch(tmp_path / "nothing.so")
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(ConfigError, match="invalid ELF header|file too short"):
        Switch(tmp_path / "text.so")


#: two veth pairs in a network namespace of their own, the switch between them, and raw sockets at the outer ends
INTERFACES = """
import socket, subprocess, sys
from pathlib import Path
from jumpgate.p4.switch.switch import PortSpec, Switch
for n in "12":
    subprocess.run(["ip", "link", "add", f"out{n}", "type", "veth", "peer", "name", f"in{n}"], check=True)
    for end in ("out", "in"):
        Path(f"/proc/sys/net/ipv6/conf/{end}{n}/disable_ipv6").write_text("1")
        subprocess.run(["ip", "link", "set", f"{end}{n}", "up"], check=True)
ends = []
for n in "12":
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    end.bind((f"out{n}", 0))
    end.settimeout(10)
    ends.append(end)
with Switch(Path(sys.argv[1])) as switch:
    for n in "12":
        switch.add_port(PortSpec.parse(f"{n}=@in{n}"))
    switch.start()
    for i in range(20):
        frame = bytes([0, 2, 0, 0, 0, i]) + bytes(60 + i * 60)
        ends[0].send(frame)
        assert ends[1].recv(4000) == frame
    subprocess.run(["ip", "link", "set", "in2", "down"], check=True)
    ends[0].send(bytes([0, 2, 0, 0, 0, 1]) + bytes(60))  # lost, as on an unplugged cable
    subprocess.run(["ip", "link", "set", "in2", "up"], check=True)
    ends[0].send(frame)
    while (got := ends[1].recv(4000)) != frame:
        pass
    print(switch.port_counts(1)["received"])
"""


def test_network_interfaces(program: Path) -> None:
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-c", INTERFACES, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 22
