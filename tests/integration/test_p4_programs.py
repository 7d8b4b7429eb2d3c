"""Each P4 program on the software switch against its reference: every frame that leaves, every register it touched.

Keys are chosen to meet in the first rows, so that collisions happen in the sizes that are shipped.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from jumpgate.p4.compiler import compile_source
from jumpgate.p4.programs import aggregate, crc, distinct, groupby, having, join, render, skyline, topn
from jumpgate.p4.programs.filter import Filter, Range
from jumpgate.p4.switch import library
from jumpgate.p4.switch.switch import Entry, Switch

WORD = 0xFFFFFFFF
SENDER, PORT, BACK = 3, 7, 4
DATA, ACK, READ_FIRST, READ_SECOND, CLEAR, END = 1, 2, 3, 4, 5, 6
FLOWS = (1, 2)
EXAMPLES = settings(
    max_examples=40, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
SALT = 0x5A5A5A5A_12345678

#: a slot's row as it travels: nulls and four words, or None
Row = tuple[int, int, int, int, int]
Rows = tuple[Row | None, ...]


@functools.cache
def meeting(bits: int, rows: int) -> list[int]:
    """Keys whose CRC falls on the first `rows` of 2^bits rows."""
    keys = np.arange(1 << 17, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return [int(k) for k in keys[crc.hash_keys(0, keys) & np.uint32((1 << bits) - 1) < rows]][:24]


def frame(kind: int, flow: int, sequence: int, rows: Rows = (), back: bool = False, trailer: bytes = b"") -> bytes:
    """A frame of the protocol; `back`: as the switch sends it back, without the UDP checksum."""
    present = sum(1 << i for i, row in enumerate(rows) if row is not None)
    body = struct.pack(">BBHI", kind, present, flow, sequence)
    body += b"".join(struct.pack(">BIIII", *row) for row in rows if row is not None)
    return wrapped(body, back) + trailer


def wrapped(body: bytes, back: bool, checksum: int | None = 0) -> bytes:
    ends = [("02:00:00:00:00:01", "10.0.0.1", 4000), ("02:00:00:00:00:02", "10.0.0.2", render.UDP_PORT)]
    (from_mac, from_ip, from_port), (to_mac, to_ip, to_port) = reversed(ends) if back else ends
    head = Ether(src=from_mac, dst=to_mac) / IP(src=from_ip, dst=to_ip, ttl=9, id=77)
    return bytes(head / UDP(sport=from_port, dport=to_port, chksum=checksum) / body)


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
    """A compiled program on a switch, with what its tables need."""

    def __init__(self, sizes: render.AggregateSizes | render.PruneSizes) -> None:
        self.sizes = sizes
        compiled = compile_source(render.render(sizes), "program.p4")
        self.switch = Switch(library.build_program("program.p4", compiled.cpp))
        self.random = Random(self.switch.seed)

    def enter(
        self, table: str, action: str, value: Sequence[int], data: Sequence[int], mask: Sequence[int] = ()
    ) -> None:
        at = self.switch.table(table)
        masks = tuple(mask) or tuple((1 << bits) - 1 for bits in at.widths)
        self.switch.insert(at, Entry(tuple(value), masks, 0, at.action(action), tuple(data)))

    def start(self, flows: dict[int, tuple[int, ...]], action: str) -> None:
        """Only these flows, and every register as it was at first."""
        table = self.switch.table("flow")
        for _, entry in list(self.switch.entries(table)):
            self.switch.delete(table, entry)
        for flow, data in flows.items():
            self.enter("flow", action, (flow,), data)
        for register in self.switch.registers:
            self.switch.reset_register(register)

    def cells(self, register: str, rows: Sequence[int]) -> list[tuple[int, ...]]:
        found = self.switch.register(register)
        return [self.switch.read_register(found, row, 1)[0] for row in rows]

    def words(self, register: str, rows: Sequence[int]) -> list[int]:
        return [cell[0] for cell in self.cells(register, rows)]


@functools.cache
def bench(name: str) -> Bench:
    if name == "fifo":
        return Bench(render.PruneSizes(("distinct_fifo",), slots=2, distinct_bits=6, distinct_columns=3))
    return Bench(render.PROGRAMS[name])


@pytest.mark.parametrize("name", render.PROGRAMS)
def test_the_program_of_the_repository_is_what_is_tested(name: str) -> None:
    source = Path(render.__file__).parent / f"{name}.p4"
    assert compile_source(source.read_text(), "program.p4").cpp == compile_source(
        render.render(render.PROGRAMS[name]), "program.p4"
    ).cpp  # fmt: skip


# ---- packets ----

CORNERS = st.sampled_from([0x7FFFFFFF, 0x80000000, WORD])
WORDS = st.one_of(st.integers(1, 2), st.integers(1, 2), st.integers(0, WORD), st.integers(0, 60), CORNERS)
NULLS = st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, 3])


def rows_of(keys: Sequence[int], slots: int) -> st.SearchStrategy[Rows]:
    row = st.tuples(NULLS, st.sampled_from(keys), WORDS, WORDS).map(
        lambda drawn: (drawn[0], drawn[1] >> 32, drawn[1] & WORD, drawn[2], drawn[3])
    )
    return st.tuples(*[st.none() | row] * slots)


@dataclass(frozen=True)
class Packet:
    flow: int
    sequence: int
    rows: Rows
    trailer: bytes

    @property
    def frame(self) -> bytes:
        return frame(DATA, self.flow, self.sequence, self.rows, trailer=self.trailer)


def packets(keys: Sequence[int], slots: int) -> st.SearchStrategy[list[Packet]]:
    """Arrivals: fresh ones, repetitions with the same content, in any order, and numbers that share a cell."""
    numbers = st.sampled_from([1, 2, 3, 4, 5, 6, 255, 256, 257, 258, 513, WORD])
    content = st.tuples(rows_of(keys, slots), st.sampled_from([b"", b"", b"padding"]))
    sent = st.dictionaries(st.tuples(st.sampled_from(FLOWS), numbers), content, min_size=1, max_size=20)

    def arrivals(made: dict[tuple[int, int], tuple[Rows, bytes]]) -> st.SearchStrategy[list[Packet]]:
        listed = [Packet(flow, number, *rest) for (flow, number), rest in made.items()]
        return st.lists(st.sampled_from(listed), max_size=20).flatmap(lambda more: st.permutations(listed + more))

    return sent.flatmap(arrivals)


def answer(packet: Packet, left: Rows) -> tuple[int, bytes]:
    """What leaves: the rest to the receiver, or an acknowledgement to the sender."""
    if any(row is not None for row in left):
        return PORT, frame(DATA, packet.flow, packet.sequence, left, trailer=packet.trailer)
    return SENDER, frame(ACK, packet.flow, packet.sequence, left, back=True, trailer=packet.trailer)


# ---- aggregate ----


def as_tuple(row: Row | None) -> aggregate.Tuple | None:
    if row is None:
        return None
    nulls, key_high, key_low, high, low = row
    numbers = [
        int.from_bytes(struct.pack(">II", *pair), "big", signed=True) for pair in ((key_high, key_low), (high, low))
    ]
    return aggregate.Tuple(None if nulls & 1 else numbers[0], None if nulls & 2 else numbers[1])


@seed(1)
@EXAMPLES
@given(packets(meeting(14, 2), 4))
def test_aggregate(arrivals: list[Packet]) -> None:
    made = bench("aggregate")
    made.start(dict.fromkeys(FLOWS, (PORT, BACK)), "to_port")
    reference = aggregate.Aggregate()
    left = made.switch.process((SENDER, p.frame) for p in arrivals)
    wanted = []
    for p in arrivals:
        verdict = reference.process(p.flow, p.sequence, tuple(map(as_tuple, p.rows)))
        kept = tuple(row if t is not None else None for row, t in zip(p.rows, verdict.left, strict=True))
        wanted.append(answer(p, kept))
    assert left == wanted
    for bucket in (0, 1):
        check_bucket(made, reference, bucket)
    for (flow, cell), highest in reference.window.items():
        at = flow << 8 | cell
        assert made.words("window", [at]) == [highest]
        assert made.words("outcome", [at]) == [reference.outcome[flow, cell]]


def check_bucket(made: Bench, reference: aggregate.Aggregate, bucket: int) -> None:
    """Draining returns the groups, changes nothing, and clearing empties the bucket."""
    first, second = drained(made, READ_FIRST, bucket), drained(made, READ_SECOND, bucket)
    assert drained(made, READ_FIRST, bucket) == first
    for slot, (one, two) in enumerate(zip(first, second, strict=True)):
        group = reference.slots[slot].get(bucket)
        assert two[0] == int(group is not None)
        if group is None:
            continue
        key = group.key & (1 << 64) - 1
        assert one == [
            key & WORD, key >> 32, group.count, group.low[0], group.high[0], group.least >> 32, group.least & WORD,
            group.least_complement >> 32, group.least_complement & WORD,
        ]  # fmt: skip
        assert (two[3], two[4]) == (group.low[1], group.high[1])
    [(port, reply)] = made.switch.process([(SENDER, frame(CLEAR, 1, bucket))])
    assert (port, UDP(reply[34:]).dport) == (SENDER, 4000)
    assert [words[0] for words in drained(made, READ_SECOND, bucket)] == [0] * 4
    empty = [0, 0, 0, 0, WORD, WORD, WORD, WORD]
    assert [[words[0], *words[2:]] for words in drained(made, READ_FIRST, bucket)] == [empty] * 4


def drained(made: Bench, kind: int, bucket: int) -> list[list[int]]:
    """The words of a bucket in each slot."""
    [(port, reply)] = made.switch.process([(SENDER, frame(kind, 2, bucket))])
    packet = Ether(reply)
    assert port == SENDER and packet[UDP].dport == 4000
    body = bytes(packet[UDP].payload)
    assert body[:8] == struct.pack(">BBHI", kind, 15, 2, bucket) and len(body) == 8 + 4 * 36
    assert packet[UDP].len == 8 + len(body) and packet[IP].len == 28 + len(body)
    words = struct.unpack(">36I", body[8:])
    return [list(words[9 * i : 9 * i + 9]) for i in range(4)]


# ---- prune ----


def key_of(row: Row) -> int:
    return row[1] << 32 | row[2]


def start_prune(
    made: Bench, algorithm: str, salt: int = SALT, threshold: int = 0, *sides: tuple[int, int, int]
) -> None:
    """Both flows run the algorithm; `sides`: side, adds, passes of each."""
    head = (PORT, render.CODES[algorithm], salt >> 32, salt & WORD, threshold)
    listed = sides or ((0, 0, 0),) * len(FLOWS)
    made.start({flow: (*head, *side, BACK) for flow, side in zip(FLOWS, listed, strict=True)}, "run")


def check_prune(made: Bench, arrivals: list[Packet], prunes: Callable[[Packet, int, Row], bool]) -> None:
    """Runs both and compares every frame."""
    left = made.switch.process((SENDER, p.frame) for p in arrivals)
    highest: dict[tuple[int, int], int] = {}
    wanted = []
    for p in arrivals:
        cell = p.flow, p.sequence & 255
        kept = p.rows
        if p.sequence > highest.get(cell, 0):
            highest[cell] = p.sequence
            kept = tuple(
                None if row is not None and row[0] == 0 and prunes(p, slot, row) else row
                for slot, row in enumerate(p.rows)
            )
        wanted.append(answer(p, kept))
    assert left == wanted
    for (flow, cell_number), number in highest.items():
        assert made.words("window", [flow << 8 | cell_number]) == [number]


@pytest.mark.parametrize(("name", "bits", "slots"), [("prune_distinct", 10, 4), ("prune", 12, 1)])
@seed(2)
@EXAMPLES
@given(data=st.data())
def test_distinct_lru(name: str, bits: int, slots: int, data: st.DataObject) -> None:
    arrivals = data.draw(packets(meeting(bits, 2)[:7] + [SALT], slots))
    made, caches = bench(name), [distinct.Lru(1 << bits, 2, SALT) for _ in range(slots)]
    start_prune(made, "distinct_lru")
    check_prune(made, arrivals, lambda _, slot, row: caches[slot].process(key_of(row)))
    for slot, cache in enumerate(caches):
        for column, cells in enumerate(cache.cells):
            words = [made.words(f"lru_{half}_{column}_{slot}", range(2)) for half in ("high", "low")]
            assert [high << 32 | low for high, low in zip(*words, strict=True)] == cells[:2]


@seed(3)
@EXAMPLES
@given(packets(meeting(6, 2)[:7] + [SALT], 2))
def test_distinct_fifo(arrivals: list[Packet]) -> None:
    made, caches = bench("fifo"), [distinct.Fifo(64, 3, SALT) for _ in range(2)]
    start_prune(made, "distinct_fifo")
    check_prune(made, arrivals, lambda _, slot, row: caches[slot].process(key_of(row)))
    for slot, cache in enumerate(caches):
        assert made.words(f"fifo_turn_{slot}", range(64)) == cache.turns
        for column, cells in enumerate(cache.cells):
            found = made.cells(f"fifo_{column}_{slot}", range(64))
            assert [high << 32 | low for high, low in found] == cells


@pytest.mark.parametrize("name", ["prune_topn", "prune"])
@seed(4)
@EXAMPLES
@given(data=st.data())
def test_topn_randomised(name: str, data: st.DataObject) -> None:
    # 4096 rows are too many to fill from few packets: the first rows start with values already there.
    arrivals, filled = data.draw(packets([1, 2], 1)), data.draw(st.lists(WORDS, min_size=4, max_size=4))
    made = bench(name)
    columns = sorted(filled, reverse=True)
    start_prune(made, "topn_rand")
    for column, word in enumerate(columns):
        made.switch.write_register(made.switch.register(f"rand_{column}_0"), 0, [(word,)] * 4096)
    rows: list[int] = []

    def row() -> int:
        rows.append(made.random.draw() & 4095)
        return rows[-1]

    reference = topn.Randomised(4096, 4, row)
    reference.cells = [[word] * 4096 for word in columns]
    check_prune(made, arrivals, lambda _, slot, row: reference.process(row[3]))
    for column, cells in enumerate(reference.cells):
        assert made.words(f"rand_{column}_0", rows) == [cells[at] for at in rows]


@seed(5)
@EXAMPLES
@given(packets([1, 2], 1), st.integers(0, 6))
def test_topn_deterministic(arrivals: list[Packet], n: int) -> None:
    made, reference = bench("prune_topn"), topn.Deterministic(n, 4)
    start_prune(made, "topn_det", 0, n)
    check_prune(made, arrivals, lambda _, slot, row: reference.process(row[3]))
    assert made.words("det_seen_0", [0]) == [reference.seen]
    assert made.words("det_least_0", [0]) == [reference.least]
    assert [made.words(f"det_above_{k}_0", [0])[0] for k in range(4)] == reference.counts


@pytest.mark.parametrize(("name", "columns"), [("prune_groupby", 8), ("prune", 3)])
@seed(6)
@EXAMPLES
@given(data=st.data())
def test_groupby(name: str, columns: int, data: st.DataObject) -> None:
    keys = [k for k in range(40_000) if crc.crc32(0, k.to_bytes(4, "big")) & 4095 < 2][:4] + [SALT & WORD]
    arrivals = data.draw(packets(keys, 1))
    made, reference = bench(name), groupby.GroupByMax(4096, columns, SALT & WORD)
    start_prune(made, "groupby")
    check_prune(made, arrivals, lambda _, slot, row: reference.process(row[2], row[3]))
    assert made.words("groupby_turn_0", range(2)) == reference.turns[:2]
    for column in range(columns):
        found = made.cells(f"groupby_{column}_0", range(2))
        assert found == list(zip(reference.keys[column][:2], reference.values[column][:2], strict=True))


@pytest.mark.parametrize("passes", [0, 1])
@pytest.mark.parametrize("kind", ["join_bf", "join_rbf"])
@seed(7)
@settings(EXAMPLES, max_examples=12)
@given(data=st.data())
def test_join(kind: str, passes: int, data: st.DataObject) -> None:
    """Flow 1 adds its keys to its side's filter, flow 2, of the other side, is looked up there."""
    arrivals = data.draw(packets([1, 2, 3, 1 << 63, (1 << 64) - 1, 7 << 32], 1))
    if kind == "join_bf":
        made, reference = bench("prune_join"), join.Bloom(1 << 22)
    else:
        made, reference = bench("prune"), join.RegisterBloom(1 << 14)
        if made.switch.read(made.switch.table("rbf_masks_0"), 0) is None:
            for i, mask in enumerate(reference.masks):
                made.enter("rbf_masks_0", "rbf_bits_0", (i,), (mask >> 32, mask & WORD))
    start_prune(made, kind, 0, 0, (0, 1, passes), (1, 0, 0))

    def prunes(packet: Packet, slot: int, row: Row) -> bool:
        if packet.flow == 1:
            reference.add(key_of(row))
            return not passes
        return reference.process(key_of(row))

    check_prune(made, arrivals, prunes)
    keys = {key_of(row) for p in arrivals for row in p.rows if row is not None}
    for key in keys:
        if isinstance(reference, join.Bloom):
            for which, array in enumerate(reference.arrays):
                at = crc.hash_key(which, key) & reference.mask
                assert made.words(f"bf_0_{which}_0", [at]) == [array[at]]
                assert made.words(f"bf_1_{which}_0", [at]) == [0]
        else:
            at = crc.hash_key(0, key) & reference.mask
            word = reference.words[at]
            assert made.words("rbf_0_high_0", [at]) + made.words("rbf_0_low_0", [at]) == [word >> 32, word & WORD]
            assert made.words("rbf_1_high_0", [at]) == [0]


@seed(8)
@EXAMPLES
@given(packets(meeting(10, 2)[:6], 1), st.sampled_from([0, 100, WORD - 1, WORD]))
def test_having(arrivals: list[Packet], threshold: int) -> None:
    made, reference = bench("prune"), having.CountMin(threshold)
    start_prune(made, "having", 0, threshold)
    check_prune(made, arrivals, lambda _, slot, row: reference.process(key_of(row), row[3]))
    for which, counters in enumerate(reference.counters):
        assert made.words(f"having_{which}_0", range(1024)) == counters


@pytest.mark.parametrize("score", [skyline.sum_score, skyline.product_score])
@seed(9)
@EXAMPLES
@given(data=st.data())
def test_skyline(score: Callable[[int, int], int], data: st.DataObject) -> None:
    arrivals = data.draw(packets([1], 1))
    made, reference = bench("prune_skyline"), skyline.Skyline(2, score)
    if made.switch.read(made.switch.table("sky_logs_x_0"), 0) is None:
        for axis in "xy":
            for lead, number in enumerate(skyline.LOGS):
                made.enter(f"sky_logs_{axis}_0", f"sky_log_{axis}_0", (lead,), (number,))
    start_prune(made, "skyline", 0, int(score is skyline.product_score))
    check_prune(made, arrivals, lambda _, slot, row: reference.process(row[3], row[4]))
    found = [tuple(made.words(f"sky_{part}_{p}_0", [0])[0] for part in "hxy") for p in range(2)]
    assert found == reference.points


RANGES = st.tuples(st.integers(0, 1), WORDS, WORDS).map(lambda r: Range(r[0], min(r[1:]), max(r[1:])))
FORMULAS = st.recursive(
    st.sampled_from([0, 1, 2, None]),
    lambda inner: st.tuples(st.just("not"), inner) | st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    max_leaves=5,
)


@seed(10)
@EXAMPLES
@given(packets([1], 1), st.lists(RANGES, min_size=3, max_size=3), FORMULAS)
def test_filter(arrivals: list[Packet], ranges: list[Range], formula: object) -> None:
    made, reference = bench("prune"), Filter(ranges, formula)  # type: ignore[arg-type]
    start_prune(made, "filter")
    for table in (*(f"filter_{k}_0" for k in range(3)), "filter_truth_0"):
        found = made.switch.table(table)
        for _, entry in list(made.switch.entries(found)):
            made.switch.delete(found, entry)
    for flow in FLOWS:
        for k, r in enumerate(ranges):
            low, high = [0, 0], [WORD, WORD]
            low[r.field], high[r.field] = r.low, r.high
            made.enter(f"filter_{k}_0", f"filter_hit_{k}_0", (flow, *low), (), (0xFFFF, *high))
        for bits, passes in enumerate(reference.passes):
            if not passes:
                made.enter("filter_truth_0", "filter_prune_0", (flow, *(bits >> k & 1 for k in range(3))), ())
    check_prune(made, arrivals, lambda _, slot, row: reference.process(row[3:]))


# ---- what is no tuple ----


def test_a_table_entry_chooses_the_algorithm() -> None:
    made = bench("prune")
    made.start(
        {
            1: (PORT, render.CODES["distinct_lru"], 1, 0, 0, 0, 0, 0, BACK),
            2: (PORT, render.CODES["having"], 0, 0, 10, 0, 0, 0, BACK),
        },
        "run",
    )  # fmt: skip
    row: Row = (0, 0, 9, 6, 0)
    sent = [(1, 1), (1, 2), (2, 1), (2, 2)]
    left = made.switch.process((SENDER, frame(DATA, flow, n, (row,))) for flow, n in sent)
    assert [port for port, _ in left] == [PORT, SENDER, SENDER, PORT]


@pytest.mark.parametrize("name", render.PROGRAMS)
def test_packets_that_the_program_does_not_understand(name: str) -> None:
    made = bench(name)
    is_aggregate = isinstance(made.sizes, render.AggregateSizes)
    made.start(
        {1: (PORT, BACK) if is_aggregate else (PORT, 0, 0, 0, 0, 0, 0, 0, BACK)}, "to_port" if is_aggregate else "run"
    )
    row: Row = (0, 1, 2, 3, 4)
    whole = frame(DATA, 1, 1, (row,) * made.sizes.slots)

    def out(data: bytes) -> list[tuple[int, bytes]]:
        return made.switch.process([(SENDER, data)])

    before = made.switch.counts()["malformed"]
    for size in range(len(whole)):
        assert out(whole[:size]) == [], size
    assert made.switch.counts()["malformed"] > before
    assert out(whole + bytes(9300)) == []
    assert out(frame(DATA, 9, 1, (row,))) == []  # no such flow
    beyond = bytearray(whole + bytes(64))
    beyond[43] |= 1 << made.sizes.slots
    assert out(bytes(beyond)) == []
    assert out(whole.replace(b"\x08\x00E", b"\x86\xddE", 1)) == []
    assert out(wrapped(b"", False)) == []
    assert made.words("window", [1 << 8 | 1]) == [0]
    end = frame(END, 1, 17)
    assert out(end) == [(PORT, end)]
    acknowledged = frame(ACK, 1, 17, back=True)
    assert made.switch.process([(PORT, acknowledged)]) == [(BACK, acknowledged)]
    number_zero = frame(DATA, 1, 0, (row,) * made.sizes.slots)
    assert [port for port, _ in out(number_zero)] == [SENDER if is_aggregate else PORT]
