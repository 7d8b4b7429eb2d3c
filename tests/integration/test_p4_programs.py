"""Each P4 program on the software switch against its reference: every frame that leaves, every register it touched.

Keys are chosen to meet in the first rows, so that collisions happen in the sizes that are shipped.
"""

from __future__ import annotations

import functools
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from jumpgate.p4.programs import aggregate, crc, distinct, groupby, having, join, render, skyline, topn
from jumpgate.p4.programs.filter import Filter, Range
from tests.support.switch_programs import (
    ACK,
    BACK,
    CLEAR,
    DATA,
    END,
    IN,
    ON,
    READ_FIRST,
    READ_SECOND,
    RECEIVER,
    SECRET,
    SENDER,
    SWITCH,
    WORD,
    Bench,
    Row,
    Rows,
    alike,
    enter_filter,
    frame,
    meeting,
    region,
    words_of,
    wrapped,
)  # fmt: skip

#: the upper bits of a flow number choose no cell
FLOWS = (1, 2 + (5 << 6))
EXAMPLES = settings(
    max_examples=25, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@functools.cache
def bench(name: str, use: str = "") -> Bench:
    """`use`: one switch for each; what draws random numbers wants one to itself."""
    if name == "fifo":
        return Bench(render.PruneSizes(("distinct_fifo",), slots=2, distinct_bits=6, distinct_columns=3))
    return Bench(render.PROGRAMS[name])


@pytest.mark.parametrize("name", render.PROGRAMS)
def test_the_program_of_the_repository_is_what_is_tested(name: str) -> None:
    source = Path(render.__file__).parent / f"{name}.p4"
    assert source.read_text() == render.render(render.PROGRAMS[name])


# ---- packets ----

CORNERS = (0x7FFFFFFF, 0x80000000, WORD)
WORDS = st.integers(1, 3) | st.integers(0, 60) | st.integers(0, WORD) | st.sampled_from(CORNERS)
#: of each flow; some share a cell of its window
NUMBERS = (*range(1, 40), 255, 256, 257, 258, 513, WORD - 256, WORD)


def word_of(draws: random.Random) -> int:
    """Mostly one of few, so that values repeat."""
    kind = draws.random()
    if kind < 0.6:
        return draws.randint(0, 4)
    return draws.randint(0, 60) if kind < 0.8 else draws.choice((*CORNERS, draws.randint(0, WORD)))


def row_of(draws: random.Random, keys: Sequence[int], word: Callable[[random.Random], int]) -> Row | None:
    if draws.random() < 0.1:
        return None
    key = draws.choice(keys)
    nulls = draws.randint(1, 7) if draws.random() < 0.1 else 0
    return nulls, key >> 32, key & WORD, word(draws), word(draws)


@dataclass(frozen=True)
class Packet:
    flow: int
    sequence: int
    rows: Rows
    payload: bytes
    trailer: bytes

    @property
    def frame(self) -> bytes:
        return frame(DATA, self.flow, self.sequence, self.rows, payload=self.payload, trailer=self.trailer)


def packets(
    keys: Sequence[int], slots: int, word: Callable[[random.Random], int] = word_of
) -> st.SearchStrategy[list[Packet]]:
    """Arrivals: fresh ones, repetitions with the same content, more or less in order, and numbers that share a cell."""

    def arrivals(start: int) -> list[Packet]:
        draws = random.Random(start)
        made = []
        for flow in FLOWS:
            for number in sorted(draws.sample(NUMBERS, draws.randint(1, len(NUMBERS)))):
                rows = tuple(row_of(draws, keys, word) for _ in range(slots))
                payload = draws.choice((b"", b"a row", b"r" * 99)) if slots == 1 else b""
                made.append(Packet(flow, number, rows, payload, draws.choice((b"", b"padding"))))
        made += draws.choices(made, k=len(made) // 4)
        spread = draws.choice((3, 10, 1000))
        return sorted(made, key=lambda p: p.sequence + draws.randint(0, spread))

    return st.integers(0, 1 << 32).map(arrivals)


def answer(packet: Packet, left: Rows) -> tuple[int, bytes]:
    """What leaves: the rest to the receiver, or an acknowledgement to the sender."""
    head, tail = (packet.flow, packet.sequence, left), {"payload": packet.payload, "trailer": packet.trailer}
    if any(row is not None for row in left):
        return RECEIVER.port, frame(DATA, *head, ON, **tail)
    return SENDER.port, frame(ACK, *head, BACK, **tail)


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
@given(packets(meeting(14, 2)[:8] + alike(14, 2), 4))
def test_aggregate(arrivals: list[Packet]) -> None:
    made = bench("aggregate")
    made.start(dict.fromkeys(FLOWS, (0, (1 << 14) - 1)))
    reference = aggregate.Aggregate()
    left = made.process(*(p.frame for p in arrivals))
    wanted = []
    for p in arrivals:
        verdict = reference.process(p.flow, p.sequence, tuple(map(as_tuple, p.rows)))
        kept = tuple(row if t is not None else None for row, t in zip(p.rows, verdict.left, strict=True))
        wanted.append(answer(p, kept))
    assert left == wanted
    for bucket in (0, 1):
        check_bucket(made, reference, bucket)
    for (flow, cell), highest in reference.window.items():
        at = (flow & 63) << 8 | cell
        assert made.words("window", [at]) == [highest]


def check_bucket(made: Bench, reference: aggregate.Aggregate, bucket: int) -> None:
    """Draining returns the groups, changes nothing, and clearing empties the bucket."""
    groups = {slot: held[bucket] for slot, held in enumerate(reference.slots) if bucket in held}
    every = sum(1 << slot for slot in groups)
    for _ in range(2):
        assert drained(made, READ_FIRST, bucket) == {
            slot: (
                group.key >> 32 & WORD, group.count, group.low[0], group.high[0], group.least >> 32, group.least & WORD,
                group.least_complement >> 32, group.least_complement & WORD,
            )
            for slot, group in groups.items()
        }  # fmt: skip
        for wanted in {every, every & 5}:
            assert drained(made, READ_SECOND, bucket, wanted) == {
                slot: (group.key & WORD, group.low[1], group.high[1])
                for slot, group in groups.items()
                if wanted >> slot & 1
            }
    assert made.process(frame(CLEAR, 1, bucket)) == [(SENDER.port, frame(CLEAR, 1, bucket, hop=BACK))]
    assert drained(made, READ_FIRST, bucket) == {}
    for slot in range(4):
        assert made.cells(f"owner_{slot}", [bucket]) == [(0, 0)]
        assert [made.cells(f"sum_{limb}_{slot}", [bucket])[0] for limb in ("low", "high")] == [(0, 0)] * 2
        ends = [f"{end}_{half}_{slot}" for end in ("min", "max") for half in ("high", "low")]
        assert [made.words(name, [bucket])[0] for name in (f"count_{slot}", *ends)] == [0, WORD, WORD, WORD, WORD]


def drained(made: Bench, kind: int, bucket: int, slots: int = 0) -> dict[int, tuple[int, ...]]:
    """The words of a bucket in each slot of the answer; `slots`: what READ_SECOND asks for."""
    request = bytearray(frame(kind, FLOWS[1], bucket))
    request[43] = slots
    [(port, reply)] = made.process(bytes(request))
    packet = Ether(reply)
    assert port == SENDER.port and packet[UDP].dport == 4000
    body = bytes(packet[UDP].payload)
    assert body[2:8] == struct.pack(">HI", FLOWS[1], bucket)
    assert packet[UDP].len == 8 + len(body) and packet[IP].len == 28 + len(body)
    return words_of(body)


# ---- prune ----


def key_of(row: Row) -> int:
    return row[1] << 32 | row[2]


def start_prune(made: Bench, algorithm: str, threshold: int = 0, *sides: tuple[int, int, int]) -> None:
    """Both flows run the algorithm; `sides`: side, adds, absorbs of each."""
    assert isinstance(made.sizes, render.PruneSizes)
    listed = sides or ((0, 0, 0),) * len(FLOWS)
    flows = {
        flow: region(made.sizes, algorithm, threshold=threshold, side=side, adds=adds, absorbs=absorbs)
        for flow, (side, adds, absorbs) in zip(FLOWS, listed, strict=True)
    }
    made.start(flows)


def check_prune(
    made: Bench,
    arrivals: list[Packet],
    prunes: Callable[[Packet, int, Row], bool],
    absorbing: Sequence[int] = (),
    arrived: Callable[[], object] = lambda: None,
) -> None:
    """Runs both and compares every frame. Of the flows that absorb nothing goes on. `arrived`: before each packet."""
    left = made.process(*(p.frame for p in arrivals))
    highest: dict[tuple[int, int], int] = {}
    wanted = []
    for p in arrivals:
        arrived()
        cell = p.flow, p.sequence & 255
        kept = p.rows
        if p.sequence > highest.get(cell, 0):
            highest[cell] = p.sequence
            kept = tuple(
                None if row is not None and row[0] == 0 and prunes(p, slot, row) else row
                for slot, row in enumerate(p.rows)
            )
        wanted.append(answer(p, (None,) * len(kept) if p.flow in absorbing else kept))
    assert left == wanted
    for (flow, cell_number), number in highest.items():
        assert made.words("window", [(flow & 63) << 8 | cell_number]) == [number]


@pytest.mark.parametrize(("name", "bits", "slots"), [("prune_distinct", 10, 4), ("prune", 12, 1)])
@seed(2)
@EXAMPLES
@given(data=st.data())
def test_distinct_lru(name: str, bits: int, slots: int, data: st.DataObject) -> None:
    arrivals = data.draw(packets(alike(bits, 2) + [distinct.EMPTY], slots) | packets(meeting(bits, 2)[:4], slots))
    made, caches = bench(name), [distinct.Lru(1 << bits, 2) for _ in range(slots)]
    start_prune(made, "distinct_lru")
    check_prune(made, arrivals, lambda _, slot, row: caches[slot].process(key_of(row)))
    for slot, cache in enumerate(caches):
        for column, cells in enumerate(cache.cells):
            words = [made.words(f"lru_{half}_{column}_{slot}", range(2)) for half in ("high", "low")]
            assert [high << 32 | low for high, low in zip(*words, strict=True)] == cells[:2]


@seed(3)
@EXAMPLES
@given(packets(alike(6, 2) + [distinct.EMPTY], 2) | packets(meeting(6, 2)[:4], 2))
def test_distinct_fifo(arrivals: list[Packet]) -> None:
    made, caches = bench("fifo"), [distinct.Fifo(64, 3) for _ in range(2)]
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
    made = bench(name, "random")
    columns = sorted(filled, reverse=True)
    start_prune(made, "topn_rand")
    for column, word in enumerate(columns):
        made.switch.write_register(made.switch.register(f"rand_{column}_0"), 0, [(word,)] * 4096)
    rows: list[int] = []

    def draw() -> None:  # each packet's, whether it is processed or not
        rows.append(made.random.draw() & 4095)

    reference = topn.Randomised(4096, 4, lambda: rows[-1])
    reference.cells = [[word] * 4096 for word in columns]
    check_prune(made, arrivals, lambda _, slot, row: reference.process(row[3]), arrived=draw)
    for column, cells in enumerate(reference.cells):
        assert made.words(f"rand_{column}_0", rows) == [cells[at] for at in rows]


@seed(5)
@EXAMPLES
@given(packets([1, 2], 1) | packets([1, 2], 1, lambda draws: draws.randint(8, 40)), st.integers(0, 6))
def test_topn_deterministic(arrivals: list[Packet], n: int) -> None:
    made, reference = bench("prune_topn"), topn.Deterministic(n, 4)
    start_prune(made, "topn_det", n)
    check_prune(made, arrivals, lambda _, slot, row: reference.process(row[3]))
    assert made.words("det_seen_0", [0]) == [reference.seen]
    assert made.words("det_least_0", [0]) == [reference.least]
    assert [made.words(f"det_above_{k}_0", [0])[0] for k in range(4)] == reference.counts


@pytest.mark.parametrize(("name", "columns"), [("prune_groupby", 6), ("prune", 3)])
@seed(6)
@EXAMPLES
@given(data=st.data())
def test_groupby(name: str, columns: int, data: st.DataObject) -> None:
    keys = [k for k in range(40_000) if crc.hash_key(0, k) & 4095 < 2][:4] + [groupby.EMPTY, groupby.EMPTY + (5 << 32)]
    arrivals = data.draw(packets(keys, 1))
    made, reference = bench(name), groupby.GroupByMax(4096, columns)
    start_prune(made, "groupby")
    check_prune(made, arrivals, lambda _, slot, row: reference.process(key_of(row), row[3]))
    assert made.words("groupby_turn_0", range(2)) == reference.turns[:2]
    for column in range(columns):
        found = made.cells(f"groupby_{column}_0", range(2))
        assert found == list(zip(reference.keys[column][:2], reference.values[column][:2], strict=True))


@pytest.mark.parametrize("absorbs", [0, 1])
@pytest.mark.parametrize("kind", ["join_bf", "join_rbf"])
@seed(7)
@settings(EXAMPLES, max_examples=12)
@given(data=st.data())
def test_join(kind: str, absorbs: int, data: st.DataObject) -> None:
    """Flow 1 adds its keys to its side's filter, flow 2, of the other side, is looked up there."""
    arrivals = data.draw(packets([1, 2, 3, 1 << 63, (1 << 64) - 1, 7 << 32], 1))
    if kind == "join_bf":
        made, reference = bench("prune_join"), join.Bloom(1 << 22)
    else:
        made, reference = bench("prune"), join.RegisterBloom(1 << 14)
        if made.switch.read(made.switch.table("rbf_masks_0"), 0) is None:
            for i, mask in enumerate(reference.masks):
                made.enter("rbf_masks_0", "rbf_bits_0", (i,), (mask >> 32, mask & WORD))
    start_prune(made, kind, 0, (0, 1, absorbs), (1, 0, 0))

    def prunes(packet: Packet, slot: int, row: Row) -> bool:
        if packet.flow == 1:
            reference.add(key_of(row))
            return False
        return reference.process(key_of(row))

    check_prune(made, arrivals, prunes, FLOWS[:1] if absorbs else ())
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
    start_prune(made, "having", threshold, (0, 1, 0), (0, 1, 0))
    check_prune(made, arrivals, lambda _, slot, row: reference.process(key_of(row), row[3]))
    for which, counters in enumerate(reference.counters):
        assert made.words(f"having_{which}_0", range(1024)) == counters


@seed(11)
@EXAMPLES
@given(packets(meeting(10, 2)[:6], 1), st.sampled_from([0, 100, WORD - 1, WORD]))
def test_having_in_two_passes(arrivals: list[Packet], threshold: int) -> None:
    """Flow 1 only adds, flow 2 only looks up."""
    made, reference = bench("prune"), having.CountMin(threshold)
    start_prune(made, "having", threshold, (0, 1, 1), (0, 0, 0))

    def prunes(packet: Packet, slot: int, row: Row) -> bool:
        if packet.flow == 1:
            reference.add(key_of(row), row[3])
            return False
        return reference.look_up(key_of(row))

    check_prune(made, arrivals, prunes, FLOWS[:1])
    for which, counters in enumerate(reference.counters):
        assert made.words(f"having_{which}_0", range(1024)) == counters


POINTS = 2


@pytest.mark.parametrize("score", [skyline.sum_score, skyline.product_score])
@seed(9)
@EXAMPLES
@given(data=st.data())
def test_skyline(score: Callable[[int, int], int], data: st.DataObject) -> None:
    arrivals = data.draw(packets([1], 1))
    made, reference = bench("prune_skyline"), skyline.Skyline(POINTS, score)
    if made.switch.read(made.switch.table("sky_logs_x_0"), 0) is None:
        for axis in "xy":
            for lead, number in enumerate(skyline.LOGS):
                made.enter(f"sky_logs_{axis}_0", f"sky_log_{axis}_0", (lead,), (number,))
    start_prune(made, "skyline", int(score is skyline.product_score))
    check_prune(made, arrivals, lambda _, slot, row: reference.process(row[3], row[4]))
    found = [tuple(made.words(f"sky_{part}_{p}_0", [0])[0] for part in "hxy") for p in range(POINTS)]
    assert found == reference.points
    copies = [
        tuple(made.words(f"sky_{part}_{p}_0", [0])[0] for part in ("order", "box_x", "box_y")) for p in range(POINTS)
    ]
    assert copies == found


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
            enter_filter(made, f"filter_{k}_0", f"filter_hit_{k}_0", flow, r)
        for bits, passes in enumerate(reference.passes):
            if not passes:
                made.enter("filter_truth_0", "filter_prune_0", (flow, *(bits >> k & 1 for k in range(3))), ())
    check_prune(made, arrivals, lambda _, slot, row: reference.process(row[3:]))


@pytest.mark.parametrize("name", ["aggregate", "prune_distinct"])
def test_every_set_of_tuples(name: str) -> None:
    """Each set that comes, and each part of it that stays with the switch."""
    made, number = bench(name), 1
    whole = (1 << 14) - 1 if name == "aggregate" else 0
    made.start({1: (0, whole) if name == "aggregate" else region(made.sizes, "distinct_lru")})  # type: ignore[arg-type]
    made.process(frame(DATA, 1, number, tuple((0, 0, 7, 0, 0) for _ in range(4))))
    for present in range(16):
        for gone in (gone for gone in range(16) if gone & ~present == 0):
            number += 1
            rows: Rows = tuple(
                None if not present >> i & 1 else (0, 0, 7, 0, 0) if gone >> i & 1 else (1, 0, 7, 0, 0)
                for i in range(4)
            )
            left = tuple(None if gone >> i & 1 else row for i, row in enumerate(rows))
            assert made.process(frame(DATA, 1, number, rows)) == [answer(Packet(1, number, rows, b"", b""), left)]


# ---- what is not a tuple ----


def test_a_table_entry_chooses_the_algorithm() -> None:
    made = bench("prune")
    assert isinstance(made.sizes, render.PruneSizes)
    made.start(
        {1: region(made.sizes, "distinct_lru"), 2: region(made.sizes, "having", threshold=10, adds=1)},
    )
    row: Row = (0, 0, 9, 6, 0)
    left = made.process(*(frame(DATA, flow, n, (row,)) for flow, n in [(1, 1), (1, 2), (2, 1), (2, 2)]))
    assert [port for port, _ in left] == [RECEIVER.port, SENDER.port, SENDER.port, RECEIVER.port]


def any_flow(made: Bench) -> tuple[int, ...]:
    """An entry by which nothing is pruned or absorbed but by aggregate."""
    return (0, (1 << 14) - 1) if isinstance(made.sizes, render.AggregateSizes) else (0,) * 7


@pytest.mark.parametrize("name", render.PROGRAMS)
def test_packets_that_the_program_does_not_understand(name: str) -> None:
    made = bench(name)
    made.start({1: any_flow(made)})
    row: Row = (0, 1, 2, 3, 4)
    whole = frame(DATA, 1, 1, (row,) * made.sizes.slots)
    before = made.switch.counts()["malformed"]
    for size in range(len(whole)):
        assert made.process(whole[:size]) == [], size
    assert made.switch.counts()["malformed"] > before
    assert made.process(whole + bytes(9300)) == []
    assert made.process(frame(DATA, 9, 1, (row,))) == []  # no such flow
    beyond = bytearray(whole + bytes(64))
    beyond[43] |= 1 << made.sizes.slots
    assert made.process(bytes(beyond)) == []
    assert made.process(whole.replace(b"\x08\x00E", b"\x86\xddE", 1)) == []
    assert made.process(wrapped(b"", IN)) == []
    assert made.words("window", [1 << 8 | 1]) == [0]
    number_zero = frame(DATA, 1, 0, (row,) * made.sizes.slots)
    assert [port for port, _ in made.process(number_zero)] == [RECEIVER.port]


# ---- routes ----


@pytest.mark.parametrize("name", render.PROGRAMS)
def test_packets_go_where_the_routes_say(name: str) -> None:
    made = bench(name)
    made.start({1: any_flow(made)})
    assert made.process(frame(END, 1, 17)) == [(RECEIVER.port, frame(END, 1, 17, hop=ON))]
    assert made.process(frame(END, 1, 17, trailer=b"x")) == [(RECEIVER.port, frame(END, 1, 17, hop=ON, trailer=b"x"))]
    acknowledged = frame(ACK, 1, 17, hop=(RECEIVER, SWITCH))
    assert made.switch.process([(RECEIVER.port, acknowledged)]) == [(SENDER.port, frame(ACK, 1, 17, hop=BACK))]
    assert made.process(frame(DATA, 1, 1, (None,) * made.sizes.slots)) == [(SENDER.port, frame(ACK, 1, 1, hop=BACK))]


@pytest.mark.parametrize("name", render.PROGRAMS)
def test_without_a_route_nothing_is_lost_in_silence(name: str) -> None:
    """What would go on is dropped and not acknowledged; END comes back, since all that was acknowledged is here."""
    made = bench(name)
    made.start({1: any_flow(made)})
    routes = made.switch.table("route")
    for _, entry in list(made.switch.entries(routes)):
        made.switch.delete(routes, entry)
    null: Row = (1, 1, 2, 3, 4)
    for _ in range(2):
        assert made.process(frame(DATA, 1, 1, (null,) * made.sizes.slots)) == []
    assert made.process(frame(END, 1, 9)) == [(SENDER.port, frame(ACK, 1, 0, hop=BACK))]
    assert made.switch.process([(RECEIVER.port, frame(ACK, 1, 1, hop=(RECEIVER, SWITCH)))]) == []
    if isinstance(made.sizes, render.PruneSizes):
        made.stop()
        made.enter("flow", "run", (1, SECRET), region(made.sizes, made.sizes.algorithms[0], adds=1, absorbs=1))
        for number in (1, 2, 2, 1):  # fresh and repeated ones, and such as were forwarded before
            assert made.process(frame(DATA, 1, number, (null,) * made.sizes.slots, payload=b"p" * 9)) == [
                (SENDER.port, frame(ACK, 1, number, hop=BACK, payload=b"p" * 9))
            ]


@pytest.mark.parametrize("name", render.PROGRAMS)
def test_who_does_not_know_the_secret_changes_and_reads_nothing(name: str) -> None:
    made = bench(name)
    made.start({1: any_flow(made)})
    row: Row = (0, 1, 2, 3, 4)
    rows = (row,) * made.sizes.slots
    own = made.process(frame(DATA, 1, 1, rows))
    assert len(own) == 1
    before = [made.switch.read_register(register) for register in made.switch.registers]
    for secret in (0, SECRET ^ 1, SECRET ^ 1 << 63, SECRET >> 32, SECRET & WORD):
        stranger = [frame(DATA, 1, number, rows, secret=secret) for number in (1, 2, 300)]
        stranger += [frame(kind, 1, bucket, secret=secret) for kind in (READ_FIRST, CLEAR, END) for bucket in range(8)]
        stranger += [
            frame(READ_SECOND, 1, 0, rows, secret=secret),
            frame(ACK, 1, 1, hop=(RECEIVER, SWITCH), secret=secret),
        ]
        assert made.process(*stranger) == []
    assert [made.switch.read_register(register) for register in made.switch.registers] == before
    assert made.switch.counts()["dropped_by_program"] >= 5 * 29
    assert len(made.process(frame(DATA, 1, 2, rows))) == 1
