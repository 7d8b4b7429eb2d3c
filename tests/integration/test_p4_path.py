"""Sender, switch and receiver over loopback UDP with loss: the protocol's reference ends, the program, the routes."""

from __future__ import annotations

import random
import select
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from jumpgate.p4.programs import crc, render
from jumpgate.p4.programs.protocol import HEADER, Receiver, Sender
from jumpgate.p4.switch.switch import PortSpec
from tests.support.switch_programs import (
    ACK,
    CLEAR,
    DATA,
    END,
    READ_FIRST,
    READ_SECOND,
    SECRET,
    Bench,
    Host,
    region,
    words_of,
)

SLOTS, BUCKET_BITS, FLOW, PORT = 2, 3, 5, 1
WAIT_S = 30.0
Address = tuple[str, int]


class Ends:
    """Both hosts' sockets, and the switch between them, which they alone know."""

    def __init__(self, made: Bench) -> None:
        self.made = made
        self.random = random.Random(1)
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for each in self.sockets:
            each.bind(("127.0.0.1", 0))
        self.sender, self.receiver = self.sockets
        self.switch: Address = "127.0.0.1", made.switch.add_port(PortSpec.parse(f"{PORT}=127.0.0.1:0,as=9801"))
        made.switch.start()

    def route(self, to_sender: bool) -> None:
        port = (self.sender if to_sender else self.receiver).getsockname()[1]
        self.made.route(FLOW, to_sender, Host("02:00:00:00:00:00", "127.0.0.1", port, PORT))

    def send(self, source: socket.socket, kind: int, present: int, number: int, body: bytes = b"") -> None:
        """Loses one in ten, repeats one in ten."""
        luck = self.random.random()
        for _ in range(0 if luck < 0.1 else 2 if luck > 0.9 else 1):
            source.sendto(HEADER.pack(kind, present, FLOW, number, SECRET) + body, self.switch)

    def arrived(self, wait_s: float) -> Iterator[tuple[socket.socket, int, int, int, bytes]]:
        """(end, kind, present, number, body); all comes from the switch."""
        for ready in select.select(self.sockets, [], [], wait_s)[0]:
            data, source = ready.recvfrom(2048)
            assert source == self.switch
            kind, present, flow, number, secret = HEADER.unpack_from(data)
            assert (flow, secret) == (FLOW, SECRET)
            yield ready, kind, present, number, data[HEADER.size :]

    def run(self, packets: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Sends (present, body)s to the end; what the receiver delivered."""
        sender, receiver, delivered = Sender(FLOW, len(packets)), Receiver(), []
        deadline = time.monotonic() + WAIT_S
        while not sender.ended:
            now = time.monotonic()
            assert now < deadline
            for number in sender.due(now):
                if number:
                    self.send(self.sender, DATA, *packets[number - 1][:1], number, packets[number - 1][1])
                else:
                    self.send(self.sender, END, 0, len(packets))
            for end, kind, present, number, body in self.arrived(max(0.0, (sender.wake_at() or now) - now)):
                if kind == ACK:
                    assert end is self.sender
                    sender.acknowledged(number, time.monotonic())
                elif kind == END:
                    receiver.end()
                    self.send(self.receiver, ACK, 0, 0)
                else:
                    assert end is self.receiver and kind == DATA
                    if receiver.data(number):
                        delivered.append((present, body))
                    self.send(self.receiver, ACK, 0, number)
        return delivered

    def ask(self, kind: int, bucket: int, present: int = 0) -> bytes:
        """READ or CLEAR, until an answer comes: the whole of it."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            self.send(self.receiver, kind, present, bucket)
            for end, answer, slots, number, body in self.arrived(0.1):
                if (end, answer, number) == (self.receiver, kind, bucket):
                    return HEADER.pack(kind, slots, FLOW, number, SECRET) + body
        raise AssertionError("no answer")

    def close(self) -> None:
        self.made.switch.close()
        for each in self.sockets:
            each.close()


@pytest.fixture
def aggregate() -> Iterator[Ends]:
    ends = Ends(Bench(render.AggregateSizes(slots=SLOTS, bucket_bits=BUCKET_BITS)))
    yield ends
    ends.close()


@pytest.fixture
def prune() -> Iterator[Ends]:
    ends = Ends(Bench(render.PruneSizes(("join_bf",), bloom_bits=6)))
    yield ends
    ends.close()


def test_sums_are_exact(aggregate: Ends) -> None:
    aggregate.made.enter("flow", "aggregate", (FLOW, SECRET), (0, (1 << BUCKET_BITS) - 1))
    aggregate.route(False)
    aggregate.route(True)
    draws = random.Random(2)
    tuples = [(draws.randrange(30), draws.randint(-(10**12), 10**12)) for _ in range(800)]
    waiting: list[list[tuple[int, int]]] = [[t for t in tuples if crc.slot_of(t[0], SLOTS) == i] for i in range(SLOTS)]
    packets = []
    while any(waiting):
        chosen = [(i, slot.pop()) for i, slot in enumerate(waiting) if slot]
        body = b"".join(struct.pack(">Bqq", 0, *pair) for _, pair in chosen)
        packets.append((sum(1 << i for i, _ in chosen), body))
    sums, counts = Counter[int](), Counter[int]()
    forwarded = 0
    for present, body in aggregate.run(packets):
        assert len(body) == 17 * present.bit_count()
        for _, key, value in struct.iter_unpack(">Bqq", body):
            sums[key] += value
            counts[key] += 1
            forwarded += 1
    for bucket in range(1 << BUCKET_BITS):
        firsts = words_of(aggregate.ask(READ_FIRST, bucket))
        seconds = words_of(aggregate.ask(READ_SECOND, bucket, sum(1 << slot for slot in firsts)))
        for slot, (key_high, count, sum_low, sum_high, *_) in firsts.items():
            key_low, carries_low, carries_high = seconds[slot]
            key = key_low | key_high << 32
            sums[key] += sum_low + (carries_low + sum_high << 32) + (carries_high << 64) - (count << 63)
            counts[key] += count
        aggregate.ask(CLEAR, bucket)
    wanted = Counter[int]()
    for key, value in tuples:
        wanted[key] += value
    assert sums == wanted and counts == Counter(key for key, _ in tuples)
    assert 0 < forwarded < len(tuples)


def test_a_build_is_absorbed_and_a_payload_passes_untouched(prune: Ends) -> None:
    assert isinstance(prune.made.sizes, render.PruneSizes)
    build, probe = [3, 8, 21], list(range(40))
    prune.made.enter("flow", "run", (FLOW, SECRET), region(prune.made.sizes, "join_bf", adds=1, absorbs=1))
    packed = [(1, struct.pack(">Bqii", 0, key, 0, 0)) for key in build] + [(1, struct.pack(">Bqii", 1, 0, 0, 0))]
    assert prune.run(packed) == []

    prune.made.stop(FLOW)
    prune.made.switch.reset_register(prune.made.switch.register("window"))
    prune.made.enter("flow", "run", (FLOW, SECRET), region(prune.made.sizes, "join_bf", side=1))
    prune.route(False)
    prune.route(True)
    packed = [(1, struct.pack(">Bqii", 0, key, 0, 0) + b"row %d" % key + bytes(key)) for key in probe]
    delivered = {struct.unpack(">q", body[1:9])[0]: body for _, body in prune.run(packed)}
    assert set(build) <= set(delivered) < set(probe)
    assert all(body[17:] == b"row %d" % key + bytes(key) for key, body in delivered.items())
