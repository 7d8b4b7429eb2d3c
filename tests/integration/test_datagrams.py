"""Edges through a switch: senders and receivers with the switch's programs between them, over networks that behave and
networks that do not. Answers are compared with a plain computation over what was sent."""

from __future__ import annotations

import asyncio
import random
import re
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.dataflow.operators import Emit, Partitioning, Read, Receive
from jumpgate.dataflow.types import Schema, int32, int64, string
from jumpgate.errors import InternalError, Unreachable
from jumpgate.nca.interface import Device, Edge, InstancePlan, JobContext, JobPlan
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ncas.cpp import CHANNELS, CPP
from jumpgate.ncas.runtime.lifecycle import SoftwareLifecycle
from jumpgate.ncas.switch.transport import DATAGRAMS
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.receive import Endpoint
from jumpgate.p4.programs import crc, protocol, render
from jumpgate.p4.programs.protocol import ACK_RUN, BUSY, HEADER, SENDS_MAX
from jumpgate.testing import live
from tests.support.cpp import runtime_source
from tests.support.datagram_runs import GROUPS, KEYS, OUTPUTS, Pairs, Run, batch_of, drain, grouped, merged
from tests.support.datagrams import Answer, Chaos, Fake, Line, Peers, Relay
from tests.support.switch_programs import ACK, DATA, END, SECRET, WORD, region

AGGREGATE = render.AggregateSizes()
PRUNE = render.PruneSizes(("distinct_lru", "join_bf"), distinct_bits=8, bloom_bits=12)
#: what pruning passes on, and with what it is decided
ROWS = Schema.of(id=int64.with_nullable(False), name=string, note=string.with_nullable(False))
PAYLOAD = Descriptor.row(ROWS, byte_order="big", packed=True)
CARRYING = Descriptor.row(
    Schema((*ROWS.fields, *Schema.of(key=int64, a=int32, b=int32).fields)), byte_order="big", packed=True
)
LEAST, MOST = -(2**63), 2**63 - 1


@pytest.fixture(scope="module")
def aggregates() -> Iterator[Line]:
    line = Line(AGGREGATE)
    yield line
    line.close()


@pytest.fixture(scope="module")
def prunes() -> Iterator[Line]:
    line = Line(PRUNE)
    yield line
    line.close()


@pytest.fixture
def peers(tmp_path: Path) -> Iterator[Peers]:
    started = Peers(tmp_path)
    yield started
    started.close()


# ---- what is aggregated ----


def uniform(r: random.Random) -> Pairs:
    return [(r.randrange(-500, 500), r.randrange(-(10**6), 10**6)) for _ in range(20_000)]


def skewed(r: random.Random) -> Pairs:
    return [(int(r.paretovariate(0.7)) % 10_000, r.randrange(100)) for _ in range(20_000)]


def all_equal(r: random.Random) -> Pairs:
    return [(7, 3)] * 5_000


def extremes(r: random.Random) -> Pairs:
    corners = [LEAST, LEAST + 1, -(2**32), -(2**31), -1, 0, 1, 2**31, 2**32 - 1, 2**32, MOST - 1, MOST]
    return [(r.choice(corners), r.choice(corners)) for _ in range(8_000)]


def nulls(r: random.Random) -> Pairs:
    return [(r.choice([None, 0, 1, 2, 3]), r.choice([None, None, 0, -5, 9])) for _ in range(4_000)] + [(99, None)] * 3


def many(r: random.Random) -> Pairs:
    return [(r.randrange(6_000), r.randrange(100)) for _ in range(12_000)]


def none(r: random.Random) -> Pairs:
    return []


@pytest.mark.parametrize("make", [uniform, skewed, all_equal, extremes, nulls, many, none])
def test_aggregation_is_exact(aggregates: Line, peers: Peers, make: Callable[[random.Random], Pairs]) -> None:
    pairs = make(random.Random(1))
    buckets = 256 if make is many else 1 << 14
    [sent], answer, rows = Run(peers, [aggregates], buckets).aggregate([pairs])
    assert sent.counted["rows"] == len(pairs)
    assert merged(rows) == grouped(pairs)
    assert answer.counted["rows"] == answer.counted["delivered"] == rows.num_rows
    if make is many:  # those that found a bucket of their own, and tuples of others
        assert 1024 < rows.num_rows < len(pairs)
    elif make is nulls:  # keys that are NULL go on one by one
        assert rows.num_rows == sum(key is None for key, _ in pairs) + 5
    elif make in (uniform, all_equal):  # the switch has them all
        assert rows.num_rows == len(dict(pairs))


@pytest.mark.parametrize("chaos", [None, Chaos(0.05, 0.2, 0.3)])
def test_a_job_leaves_its_buckets_empty(aggregates: Line, peers: Peers, chaos: Chaos | None) -> None:
    """Whoever has the region next would count what is left of this job."""
    pairs = [(r, r) for r in range(40)] * 20
    _, _, rows = Run(peers, [aggregates], 32, chaos).aggregate([pairs])
    assert merged(rows) == grouped(pairs)
    for slot in range(AGGREGATE.slots):
        for name, empty in (("owner", (0, 0)), ("count", (0,)), ("sum_low", (0, 0)), ("sum_high", (0, 0)),
                            ("min_high", (WORD,)), ("min_low", (WORD,)), ("max_high", (WORD,)),
                            ("max_low", (WORD,))):  # fmt: skip
            assert set(aggregates.bench.cells(f"{name}_{slot}", range(32))) == {empty}, name


def test_packets_are_full(aggregates: Line, peers: Peers) -> None:
    pairs = uniform(random.Random(2))
    [sent], _, _ = Run(peers, [aggregates]).aggregate([pairs])
    assert sent.counted["batches"] < len(pairs) / 3.6


def test_tuples_travel_in_the_slots_of_their_keys(fake: Fake, peers: Peers) -> None:
    r = random.Random(7)
    keys = [r.choice([r.randrange(100), r.randrange(LEAST, MOST)]) for _ in range(300)]
    sender = peers.sender(KEYS, batch_of(KEYS, [(key, i) for i, key in enumerate(keys)]))
    sender.start((fake.port, 3))
    sent: dict[int, bytes] = {}
    while (data := fake.receive())[0] == DATA:
        sent[struct.unpack(">I", data[4:8])[0]] = data
        fake.send(sender.port, bytes([ACK, 0]) + data[2 : HEADER.size])
    fake.send(sender.port, packet(ACK, 0, 3, 0))
    assert data == packet(END, 0, 3, len(sent))
    arrived = []
    for data in sent.values():
        slots = [slot for slot in range(8) if data[1] >> slot & 1]
        for slot, (nulls, key, value) in zip(slots, struct.iter_unpack(">BQq", data[HEADER.size :]), strict=True):
            assert nulls == 0 and crc.slot_of(key, AGGREGATE.slots) == slot
            arrived.append((value, key))
    assert sorted(arrived) == [(i, key & 2**64 - 1) for i, key in enumerate(keys)]


def test_several_senders_over_several_switches(aggregates: Line, peers: Peers) -> None:
    second = Line(AGGREGATE)
    try:
        inputs = [uniform(random.Random(3)), skewed(random.Random(4)), nulls(random.Random(5))]
        _, _, rows = Run(peers, [aggregates, second]).aggregate(inputs)
        assert merged(rows) == grouped([pair for pairs in inputs for pair in pairs])
    finally:
        second.close()


@pytest.mark.parametrize("chaos", [None, Chaos(0.1, 0.2, 0.3), Chaos(burst_loss=0.2)])
def test_a_tree_of_switches(aggregates: Line, peers: Peers, chaos: Chaos | None) -> None:
    """Four senders below two switches, which are below a third: with few buckets, each has to pass tuples on."""
    r = random.Random(6)
    inputs = [[(r.choice([None, *range(300)]), r.choice([None, LEAST, MOST, 5])) for _ in range(1_500)] for _ in "abcd"]
    racks = Line(AGGREGATE), Line(AGGREGATE)
    try:
        _, _, rows = Run(peers, [aggregates], 32, chaos, racks).aggregate(inputs)
        assert merged(rows) == grouped([pair for pairs in inputs for pair in pairs])
        for line in (aggregates, *racks):
            assert line.bench.switch.counts()["ingress_passes"] > 500
            assert set(line.bench.cells("count_0", range(32))) == {(0,)}
    finally:
        for rack in racks:
            rack.close()


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("loss", "count"), [(0.0, 8_000), (0.02, 6_000), (0.3, 1_000)])
def test_aggregation_over_a_bad_network(aggregates: Line, peers: Peers, loss: float, count: int, seed: int) -> None:
    r = random.Random(seed)
    inputs = [[(r.choice([None, *range(300)]), r.choice([None, LEAST, MOST, 5])) for _ in range(count)] for _ in "ab"]
    chaos = Chaos(loss, repeat=r.choice([0, 0.1, 0.3]), delay=r.choice([0, 0.1, 0.5]), seed=seed)
    _, _, rows = Run(peers, [aggregates], 64, chaos).aggregate(inputs)
    assert merged(rows) == grouped([pair for pairs in inputs for pair in pairs])


@pytest.mark.nightly(like="tests/integration/test_datagrams.py::test_aggregation_over_a_bad_network")
def test_bursts_that_are_lost(aggregates: Line, peers: Peers) -> None:
    """Whole bursts, three of ten, each way: four senders of 1,500 rows end all the same, and are exact."""
    r = random.Random(3)
    inputs = [[(r.randrange(300), r.randrange(100)) for _ in range(1_500)] for _ in "abcd"]
    _, _, rows = Run(peers, [aggregates], 64, Chaos(burst_loss=0.3)).aggregate(inputs)
    assert merged(rows) == grouped([pair for pairs in inputs for pair in pairs])


# ---- pruning ----


def carrying(keys: Sequence[int | None], seed: int = 1) -> list[tuple[object, ...]]:
    r = random.Random(seed)
    names = [None, "", "a", "n" * 40]
    return [(i, r.choice(names), "note " * (i % 9), key, i % 5, -1) for i, key in enumerate(keys)]


def pruned(
    peers: Peers, line: Line, rows: Sequence[tuple[object, ...]], data: Sequence[int], chaos: Chaos | None = None,
    flow: int = 3,
) -> tuple[Answer, list[tuple[object, ...]]]:  # fmt: skip
    """What of the rows arrives behind the switch."""
    sender = peers.sender(CARRYING, batch_of(CARRYING, rows), slots=1, tuple="prune",
                          payload=_written(peers, PAYLOAD))  # fmt: skip
    receiver = peers.receiver(PAYLOAD, slots=1, tuple="prune")
    relays = [Relay(line.port, chaos) for _ in range(2)] if chaos else []
    for relay, end in zip(relays, (sender, receiver), strict=False):
        relay.end = end.port
        relay.start()
    ports = [relay.port for relay in relays] or [line.port] * 2
    ends = [relay.far_port for relay in relays] or [sender.port, receiver.port]
    line.join(flow, data, *ends)
    receiver.start((ports[1], flow))
    sender.start((ports[0], flow))
    assert sender.answer().counted["rows"] == len(rows)
    answer = receiver.answer()
    for relay in relays:
        relay.close()
    return answer, [tuple(row.values()) for row in peers.received(receiver, answer.counted["delivered"]).to_pylist()]


def _written(peers: Peers, descriptor: Descriptor) -> Path:
    path = peers.folder / "payload.ntf"
    path.write_text(descriptor.text())
    return path


@pytest.mark.parametrize("chaos", [None, Chaos(0.1, 0.1, 0.3)])
def test_distinct_keeps_a_row_of_each_key(prunes: Line, peers: Peers, chaos: Chaos | None) -> None:
    r = random.Random(6)
    rows = carrying([r.choice([None, LEAST, MOST, *range(50)]) for _ in range(1_500 if chaos else 6_000)])
    prunes.clear()
    _, left = pruned(peers, prunes, rows, region(PRUNE, "distinct_lru"), chaos)
    sent = {row[:3]: row[3] for row in rows}
    assert len(set(left)) == len(left), "a row was delivered twice"
    assert {sent[row] for row in left} == set(sent.values())
    assert {row for row in left if sent[row] is None} == {row for row, key in sent.items() if key is None}
    assert len(left) < len(rows)


def test_a_join_forwards_what_may_have_a_partner(prunes: Line, peers: Peers) -> None:
    prunes.clear()
    build = [(key, 0, 0) for key in range(0, 300, 3)]
    only_keys = Descriptor.row(Schema.of(key=int64, a=int32, b=int32), byte_order="big", packed=True)
    sender = peers.sender(only_keys, batch_of(only_keys, build), slots=1, tuple="prune")
    prunes.join(5, region(PRUNE, "join_bf", side=0, adds=1, absorbs=1), sender.port, None)
    sender.start((prunes.port, 5))
    assert sender.answer().counted["rows"] == 100  # the switch acknowledged them, and the end
    rows = carrying(range(3_000))
    _, left = pruned(peers, prunes, rows, region(PRUNE, "join_bf", side=1), flow=6)
    kept = {row[0] for row in left}
    assert {key for key, _, _ in build} <= kept and len(kept) < 400
    assert set(left) <= {row[:3] for row in rows}


# ---- failures ----


def test_the_sender_is_the_reference(peers: Peers) -> None:
    """Both are given the same packets, losses and answers; they send the same numbers at the same times."""
    for seed in range(12):
        r = random.Random(seed)
        bits, packets = r.choice([1, 3, 6]), r.choice([0, 1, 40, 300])
        sender = protocol.Sender(1, packets, bits)
        lines, wanted, now = [], [], 0.0
        busy = seed % 3 == 0
        on_the_way: list[int] = []
        while not sender.ended and len(wanted) < 3_000:
            lines.append(f"due {now!r}")
            try:
                due = sender.due(now)
            except Unreachable as error:
                wanted.append(f"given up {error.message.split('packet ')[1].split()[0]}")
                break
            wanted.append("".join(f"{n} " for n in due))
            on_the_way += [n for n in due if r.random() > 0.2 and seed % 4 < 3]
            now += r.choice([0.0, 0.0004, 0.003])
            if busy and r.random() < 0.05:
                sender.busy(now)
                lines.append(f"busy {now!r}")
            for number in r.sample(on_the_way, min(len(on_the_way), r.randrange(6))):
                on_the_way.remove(number)
                sender.acknowledged(number, now)
                lines.append(f"ack {number} {now!r}")
            if seed % 2 and on_the_way and r.random() < 0.2:  # of packets that are not there, or were lost, too
                first, further = max(0, r.choice(on_the_way) - r.randrange(3)), r.randrange(256)
                on_the_way = [n for n in on_the_way if not max(first, 1) <= n <= first + further]
                sender.acknowledged_run(first, further, now)
                lines.append(f"run {first} {further} {now!r}")
            if busy and not sender.on_the_way:  # the acknowledgements have overtaken it
                sender.busy(now)
                lines.append(f"busy {now!r}")
            if not on_the_way:
                now = max(now, sender.wake_at() or now)
        assert sender.ended or wanted[-1].startswith("given up"), f"seed {seed}"
        done = subprocess.run([str(peers.program), "flow", str(bits), str(packets)], input="\n".join(lines) + "\n",
                              capture_output=True, text=True, check=True, timeout=60)  # fmt: skip
        assert done.stdout.split("\n")[:-1] == wanted, f"seed {seed}"


def test_answers_that_are_merged_are_of_one_flow_and_keep_their_order(fake: Fake, peers: Peers) -> None:
    """Cards of a pool number their flows alike; and what is taken after a BUSY is said after it."""
    other = Fake()
    one, two = f"{fake.port} 1", f"{other.port} 2"  # the port that it goes to, and the secret
    lines = [f"run {one} 3 1 0", f"run {two} 3 2 1", f"run {one} 3 2 0", f"run {two} 4 4 0", f"busy {one} 3",
             f"run {one} 3 3 2", f"run {two} 3 4 0", f"run {one} 3 4 2"]  # fmt: skip
    subprocess.run([str(peers.program), "answers"], input="\n".join(lines) + "\n", text=True, check=True, timeout=60)
    said = [[HEADER.unpack(end.receive()) for _ in range(3 if end is fake else 2)] for end in (fake, other)]
    other.close()
    assert said == [
        [(ACK_RUN, 1, 3, 1, 1), (ACK, 0, 3, BUSY, 1), (ACK_RUN, 3, 3, 3, 1)],
        [(ACK_RUN, 2, 3, 2, 2), (ACK_RUN, 0, 4, 4, 2)],
    ]


@pytest.fixture
def fake() -> Iterator[Fake]:
    made = Fake()
    yield made
    made.close()


def packet(
    kind: int, present: int, flow: int, sequence: int, *tuples: tuple[int, int, int], more: bytes = b"",
    secret: int = SECRET,
) -> bytes:  # fmt: skip
    head = HEADER.pack(kind, present, flow, sequence, secret)
    return head + b"".join(struct.pack(">Bqq", *row) for row in tuples) + more


def test_a_silent_switch_is_given_up(aggregates: Line, fake: Fake, peers: Peers) -> None:
    """One that does not know the flow, and one that does not read its buckets."""
    aggregates.clear()
    started = time.monotonic()
    lost = peers.sender(KEYS, batch_of(KEYS, [(1, 1)] * 10))
    lost.start((aggregates.port, 40))
    receiver = peers.receiver(GROUPS, outputs=OUTPUTS, drains=drain(fake.port, 3, 4))
    receiver.start((fake.port, 3))
    fake.send(receiver.port, packet(END, 0, 3, 0))
    again = "Did the switch restart, or the receiver end? Run the job again."
    assert lost.answer() == Answer(
        {},
        "unreachable",
        f"edge 'e1': flow 40: packet 1 was sent at least {SENDS_MAX} times without an answer. {again}",
    )
    assert receiver.answer() == Answer(
        {}, "unreachable", f"edge 'e1': the switch did not answer when its buckets were read, though it was asked at "
        f"least {SENDS_MAX} times. Did it restart? Run the job again.",
    )  # fmt: skip
    assert time.monotonic() - started < 60


def test_hostile_packets_are_dropped_and_counted(fake: Fake, peers: Peers) -> None:
    receiver = peers.receiver(GROUPS, outputs=OUTPUTS)
    receiver.start((fake.port, 3))
    row = (0, 5, -7)
    bad = [
        b"", b"\1", packet(DATA, 0, 3, 1), packet(DATA, 1, 3, 1), packet(DATA, 16, 3, 1, row),
        packet(DATA, 3, 3, 1, row),
        packet(DATA, 1, 3, 1, row, more=b"?"), packet(DATA, 1, 3, 1, row)[:-1], packet(DATA, 1, 9, 1, row),
        packet(DATA, 1, 3, 0, row), packet(DATA, 1, 3, BUSY, row), packet(ACK, 0, 3, 1), packet(9, 1, 3, 1, row),
        packet(3, 15, 3, 0, more=bytes(128)), packet(5, 0, 3, 0), packet(END, 0, 9, 0), bytes(1400), b"\xff" * 1400,
        packet(DATA, 1, 3, 1, row, secret=0), packet(END, 0, 3, 0, secret=SECRET ^ 1),
    ]  # fmt: skip
    stranger = Fake()
    stranger.send(receiver.port, packet(DATA, 1, 3, 1, row), packet(END, 0, 3, 0))
    fake.send(receiver.port, *bad)
    good = packet(DATA, 5, 3, 1, row, (1, 0, 1))
    fake.send(receiver.port, good, good, packet(DATA, 8, 3, 2, (2, 6, 0)))
    assert [fake.take() for _ in range(3)] == [(ACK, 0, 3, 1), (ACK, 0, 3, 1), (ACK, 0, 3, 2)]
    fake.send(receiver.port, packet(END, 0, 3, 2), packet(END, 0, 3, 2), packet(DATA, 1, 3, 3, row))
    assert [fake.take() for _ in range(3)] == [(ACK, 0, 3, 0), (ACK, 0, 3, 0), (ACK, 0, 3, 3)]
    answer = receiver.answer()
    stranger.close()
    assert answer.counted["dropped"] == len(bad) + 2
    rows = [tuple(r.values()) for r in peers.received(receiver, 3).to_pylist()]
    assert sorted(rows, key=str) == [(5, 1, Decimal(-7), -7, -7), (6, 0, None, None, None), (None, 1, Decimal(1), 1, 1)]


def test_hostile_acknowledgements_change_nothing(fake: Fake, peers: Peers) -> None:
    sender = peers.sender(KEYS, batch_of(KEYS, [(1, 1), (1, 2)]))
    sender.start((fake.port, 3))
    assert {fake.take(), fake.take()} == {(DATA, 1 << slot_of_one(), 3, 1), (DATA, 1 << slot_of_one(), 3, 2)}
    stranger = Fake()
    stranger.send(sender.port, packet(ACK, 0, 3, 1), packet(ACK, 0, 3, 2))
    fake.send(sender.port, b"", b"\2", packet(ACK, 0, 4, 1), packet(DATA, 0, 3, 1), packet(9, 0, 3, 1), b"\xff" * 1400)
    fake.send(sender.port, packet(ACK, 0, 3, 0), packet(ACK, 0, 3, 7), packet(ACK, 0, 3, BUSY - 1))  # of nothing
    fake.send(sender.port, packet(ACK, 0, 3, 1, secret=0), packet(ACK, 0, 3, BUSY, secret=SECRET ^ 1))  # of a stranger
    fake.send(sender.port, packet(ACK, 0, 3, 1), packet(ACK, 0, 3, 1), packet(ACK, 0, 3, 2, more=b"the rest"))
    while (arrived := fake.take())[0] == DATA:  # repetitions
        pass
    assert arrived == (END, 0, 3, 2)
    fake.send(sender.port, packet(ACK, 0, 3, 0))
    answer = sender.answer()
    stranger.close()
    assert answer.counted["rows"] == 2 and answer.counted["dropped"] == 10


def slot_of_one() -> int:
    return crc.slot_of(1, AGGREGATE.slots)


def test_a_slow_reader_is_waited_for(aggregates: Line, peers: Peers) -> None:
    """The receiver's memory is bounded: packets wait with the sender, who does not lose patience."""
    aggregates.clear()
    pairs = [(None, i) for i in range(60_000)]  # the switch keeps none of them
    sender = peers.sender(KEYS, batch_of(KEYS, pairs))
    receiver = peers.receiver(GROUPS, outputs=OUTPUTS, pause_ms=30, threads=1)
    aggregates.join(3, (0, 3), sender.port, receiver.port)
    receiver.start((aggregates.port, 3))
    sender.start((aggregates.port, 3))
    assert sender.answer().counted["repeated"] > 0
    rows = peers.received(receiver, receiver.answer().counted["delivered"])
    assert merged(rows) == grouped(pairs)


@pytest.mark.parametrize("rows", [10, 40_000])  # the end is waited for; or room in the line
def test_a_sender_can_be_cancelled(fake: Fake, peers: Peers, rows: int) -> None:
    sender = peers.sender(KEYS, batch_of(KEYS, [(1, 1)] * rows))
    sender.start((fake.port, 3))
    fake.take()
    sender.say("cancel")
    assert sender.answer() == Answer({}, "cancelled", "edge 'e1': cancelled")


def test_a_receiver_can_be_cancelled(fake: Fake, peers: Peers) -> None:
    receiver = peers.receiver(GROUPS, outputs=OUTPUTS)
    receiver.start((fake.port, 3))
    fake.send(receiver.port, packet(DATA, 1, 3, 1, (0, 5, 7)))
    fake.take()
    receiver.say("cancel")
    assert receiver.answer() == Answer({}, "cancelled", "edge 'e1': cancelled")


def test_a_sum_that_does_not_fit_is_an_error(aggregates: Line, peers: Peers) -> None:
    narrow = Descriptor.row(Schema.of(key=int64, total=int64), byte_order="big", packed=True)
    aggregates.clear()
    sender = peers.sender(KEYS, batch_of(KEYS, [(1, MOST)] * 4))
    receiver = peers.receiver(narrow, outputs="key,sum", drains=drain(aggregates.port, 3, 4))
    aggregates.join(3, (0, 3), sender.port, receiver.port)
    receiver.start((aggregates.port, 3))
    sender.start((aggregates.port, 3))
    answer = receiver.answer()
    assert (answer.code, answer.message) == (
        "overflow", "edge 'e1': a number from the switch does not fit column 'total'",
    )  # fmt: skip


def test_a_row_that_fits_no_packet_is_an_error(fake: Fake, peers: Peers) -> None:
    rows = [(1, "x" * 2_000, "", 1, 0, 0)]
    sender = peers.sender(CARRYING, batch_of(CARRYING, rows), slots=1, tuple="prune", payload=_written(peers, PAYLOAD))
    sender.start((fake.port, 3))
    answer = sender.answer()
    assert answer.code == "overflow"
    assert answer.message.startswith(
        "edge 'e1': a row of 2025 bytes; one that travels through a switch has at most 1367."
    )


def test_a_null_that_rows_have_no_room_for_is_an_error(fake: Fake, peers: Peers) -> None:
    """Nothing is sent of a batch in which a column has NULLs, though its rows have no bits for these."""
    fields = (*Schema.of(id=int64, name=string, note=string).fields, *CARRYING.schema.fields[3:])
    nullable = Descriptor.row(Schema(fields), byte_order="big", packed=True)
    rows = [(1, "a", "b", 1, 0, 0), (2, "a", None, 1, 0, 0)]
    sender = peers.sender(nullable, batch_of(nullable, rows), slots=1, tuple="prune", payload=_written(peers, PAYLOAD))
    sender.start((fake.port, 3))
    answer = sender.answer()
    assert (answer.code, answer.message) == ("protocol", "NULLs in column 'note', which has none")


# ---- through instances ----


def test_instances_send_and_receive_datagrams(aggregates: Line, tmp_path: Path) -> None:
    """The life-cycle of generated programs, with an edge over datagrams on both sides of the switch."""
    pairs = [*uniform(random.Random(8)), *nulls(random.Random(9))]
    file = tmp_path / "input.parquet"
    pq.write_table(pa.Table.from_batches([batch_of(KEYS, pairs)]), file)
    aggregates.clear()
    counters, table = asyncio.run(_through_instances(aggregates, file))
    assert merged(table.combine_chunks().to_batches()[0]) == grouped(pairs)
    sink, source = counters["p"]["sinks"][0], counters["c"]["sources"][0]
    assert sink["edge"] == "e1" and sink["rows"] == len(pairs) and sink["bytes"] >= 17 * len(pairs)
    assert source["name"] == "e2" and source["rows"] == table.num_rows < len(pairs)
    assert source["dropped_packets"] == sink["dropped_packets"] == 0


async def _through_instances(line: Line, file: Path) -> tuple[dict[str, dict[str, Any]], pa.Table]:
    device, result = Device("here"), Descriptor.columnar(GROUPS.schema)
    read = Read((str(file),), "parquet", KEYS.schema, (0, 1))
    producer = InstancePlan("p", "f0", "cpp", device, Emit(read, "e1", Partitioning()), threads=2, output="e1")
    consumer = InstancePlan("c", "f1", "cpp", device, Emit(Receive("e2", GROUPS.schema), "e0", Partitioning()),
                            threads=2, inputs=("e2",), input_stages=(1,), output="e0")  # fmt: skip
    with Endpoint.open() as endpoint:
        edges = (
            Edge("e1", KEYS, Partitioning(), ("p",), ("s",), transport=DATAGRAMS),
            Edge("e2", GROUPS, Partitioning(), ("s",), ("c",), transport=DATAGRAMS),
            Edge("e0", result, Partitioning(), ("c",), endpoints=(endpoint.address,)),
        )
        plan = JobPlan((producer, consumer), edges, 1, "e0")
        endpoint.expect(job="job", edge="e0", token="token", descriptor=result, producers=1)
        async with live.agents([device]) as agents:
            context = JobContext("job", "token", plan, dict(agents.hosts))
            lifecycle = SoftwareLifecycle()
            handles = {i.id: await lifecycle.allocate(i, context) for i in plan.instances}
            ends = [int(context.sockets[at].rpartition(":")[2]) for at in (("p", "e1"), ("c", "e2"))]
            line.join(3, (0, 1023), *ends)
            path = {"address": f"127.0.0.1:{line.port}", "flow": 3, "secret": f"{SECRET:x}"}
            alike = {"paths": [path], "window_bits": 8, "slots": 4, "words": [64, 64]}
            context.ends["e1"] = {"p": {**alike, "payload_ntf": "", "ends": True}}
            outputs = OUTPUTS.split(",")
            drains = [{**path, "first": 0, "buckets": 1024}]
            context.ends["e2"] = {"c": {**alike, "outputs": outputs, "drains": drains}}
            host = context.hosts[device.name]
            for i in plan.instances:
                await lifecycle.configure(handles[i.id], i, await lifecycle.compile(i, host), context)
            table = asyncio.to_thread(lambda: pa.Table.from_batches(endpoint, arrow_schema(GROUPS.schema)))
            done, *counters = await asyncio.gather(
                table, *(lifecycle.execute(handles[i.id], 1) for i in plan.instances)
            )
            for handle in handles.values():
                await lifecycle.destroy(handle)
    return dict(zip(handles, counters, strict=True)), done


def test_a_channel_that_the_data_path_does_not_have_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "input.parquet"
    pq.write_table(pa.Table.from_batches([batch_of(KEYS, [])]), file)
    pigeons = Transport("pigeons", "pigeon")
    refused = CPP.match_input(KEYS, pigeons)
    assert refused is not None and refused.reason == "generated programs receive over tcp, udp, not pigeon"
    read = Read((str(file),), "parquet", KEYS.schema, (0, 1))
    device = Device("here")
    instance = InstancePlan("p", "f0", "cpp", device, Emit(read, "e1", Partitioning()), output="e1")
    plan = JobPlan((instance,), (Edge("e1", KEYS, Partitioning(), ("p",), ("s",), transport=pigeons),), 1, "e1")

    async def allocated(transport: Transport) -> None:
        async with live.agents([device]) as agents:
            edges = tuple(replace(e, transport=transport) for e in plan.edges)
            context = JobContext("job", "token", replace(plan, edges=edges), dict(agents.hosts))
            context.addresses["s"] = "127.0.0.1:9"
            lifecycle = SoftwareLifecycle()
            handle = await lifecycle.allocate(instance, context)
            artifact = await lifecycle.compile(instance, context.hosts["here"])
            context.plan = plan
            context.ends = {"e1": {"p": {}}}
            await lifecycle.configure(handle, instance, artifact, context)

    with pytest.raises(InternalError, match="edges over pigeon have no ends of their own"):
        asyncio.run(allocated(pigeons))
    with pytest.raises(InternalError, match="unknown channel pigeon; there are tcp, udp"):
        asyncio.run(allocated(TCP))


def test_the_data_path_has_the_channels_that_generated_programs_take() -> None:
    text = (runtime_source() / "src" / "executor" / "channels.cpp").read_text()
    assert tuple(re.findall(r'^    \{"(\w+)"', text, re.M)) == CHANNELS
