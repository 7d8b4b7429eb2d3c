"""The protocol against a network that loses, repeats and reorders: exact answers, or a typed error."""

import heapq
import math
import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpgate.errors import Unreachable
from jumpgate.p4.programs.aggregate import Aggregate, Tuple
from jumpgate.p4.programs.distinct import Lru
from jumpgate.p4.programs.protocol import (
    BUSY,
    COPIES_MAX,
    SENDS_MAX,
    SPREAD_BURSTS,
    TIMEOUT_MIN_S,
    Receiver,
    Sender,
)

WINDOW_BITS = 3
Packet = tuple[Tuple | None, ...]
#: what the switch does with DATA: the tuples that go on (none: it acknowledges)
Switch = Callable[[int, int, Packet], Packet]


class Network:
    """Delivers after a random delay, so that packets overtake each other; loses and repeats some. `busy`: how often a
    receiver has no room."""

    def __init__(self, seed: int, loss: float, repeats: float, busy: float = 0.0) -> None:
        self.random, self.loss, self.repeats, self.busy = random.Random(seed), loss, repeats, busy
        self.queue: list[tuple[float, int, bool, int, int, int, Packet]] = []
        self.now, self.count = 0.0, 0

    def send(self, back: bool, place: int, flow: int, number: int, packet: Packet = ()) -> None:
        """To a place on the way: 0 is the first switch, before which the sender is, and behind the last the
        receiver."""
        for _ in range(1 + (self.random.random() < self.repeats)):
            if self.random.random() >= self.loss:
                self.count += 1
                delay = self.random.expovariate(1 / 0.01)
                heapq.heappush(self.queue, (self.now + delay, self.count, back, place, flow, number, packet))


def run(
    flows: list[list[Packet]], switches: list[Switch], network: Network, window_bits: int = WINDOW_BITS
) -> list[Tuple]:
    """All flows through the switches, one after the other, to the end; what the receivers delivered."""
    last = len(switches) - 1
    senders = [Sender(f, len(packets), window_bits) for f, packets in enumerate(flows)]
    receivers = [Receiver(window_bits) for _ in flows]
    delivered: list[Tuple] = []
    while not all(sender.ended for sender in senders):
        for sender in senders:
            for number in sender.due(network.now):
                network.send(False, 0, sender.flow, number, flows[sender.flow][number - 1] if number else ())
        wakes = [at for sender in senders if (at := sender.wake_at()) is not None]
        if not network.queue or (wakes and min(wakes) < network.queue[0][0]):
            network.now = max(network.now, min(wakes, default=network.now))
            continue
        network.now, _, back, place, flow, number, packet = heapq.heappop(network.queue)
        if back and place >= 0:
            network.send(True, place - 1, flow, number)
        elif back and number == BUSY:
            senders[flow].busy(network.now)
        elif back:
            senders[flow].acknowledged(number, network.now)
        elif place <= last and number:
            left = switches[place](flow, number, packet)
            empty = all(t is None for t in left)
            network.send(empty, place + (-1 if empty else 1), flow, number, () if empty else left)
        elif place <= last:
            network.send(False, place + 1, flow, 0)
        elif number and network.random.random() < network.busy:
            network.send(True, last, flow, BUSY)
        else:
            if number == 0:
                receivers[flow].end()
            elif receivers[flow].data(number):
                delivered += [t for t in packet if t is not None]
            network.send(True, last, flow, number)
    assert all(receiver.ended for receiver in receivers)
    return delivered


TUPLES = st.builds(Tuple, st.integers(0, 12), st.integers(-(2**63), 2**63 - 1) | st.none())
FLOWS = st.lists(st.lists(st.tuples(TUPLES, TUPLES), max_size=60), min_size=1, max_size=2)
CHAOS = {
    "loss": st.floats(0, 0.3),
    "repeats": st.floats(0, 0.3),
    "busy": st.floats(0, 0.5),
    "seed": st.integers(0, 2**32),
    "chain": st.integers(1, 3),
}


@settings(deadline=None, max_examples=60)
@given(flows=FLOWS, **CHAOS)
def test_aggregation_counts_every_tuple_once(
    flows: list[list[Packet]], loss: float, repeats: float, busy: float, seed: int, chain: int
) -> None:
    programs = [Aggregate(2, bucket_bits=2, window_bits=WINDOW_BITS) for _ in range(chain)]

    def switch(program: Aggregate) -> Switch:
        return lambda flow, number, packet: program.process(flow, number, packet).left

    delivered = run(flows, [*map(switch, programs)], Network(seed, loss, repeats, busy))
    sums, counts = Counter[int](), Counter[int]()
    for t in delivered:
        if t.key is not None and t.value is not None:
            sums[t.key] += t.value
            counts[t.key] += 1
    for group in (group for program in programs for group in program.groups()):
        sums[group.key] += group.sum or 0
        counts[group.key] += group.count
    every = [t for packets in flows for p in packets for t in p if t is not None and t.value is not None]
    for key in {t.key for t in every if t.key is not None}:
        mine = [t.value for t in every if t.key == key and t.value is not None]
        assert (sums[key], counts[key]) == (sum(mine), len(mine))


@settings(deadline=None, max_examples=60)
@given(flows=FLOWS, **CHAOS)
def test_pruning_loses_no_value(
    flows: list[list[Packet]], loss: float, repeats: float, busy: float, seed: int, chain: int
) -> None:
    def switch() -> Switch:
        caches = [Lru(4, 2), Lru(4, 2)]
        highest: dict[tuple[int, int], int] = {}

        def process(flow: int, number: int, packet: Packet) -> Packet:
            cell = flow, number & (1 << WINDOW_BITS) - 1
            if number <= highest.get(cell, 0):
                return packet
            highest[cell] = number
            return tuple(
                None if t is None or (t.key is not None and cache.process(t.key)) else t
                for t, cache in zip(packet, caches, strict=True)
            )

        return process

    delivered = run(flows, [switch() for _ in range(chain)], Network(seed, loss, repeats, busy))
    sent = Counter(t for packets in flows for p in packets for t in p if t is not None)
    assert {t.key for t in delivered} == {t.key for t in sent}
    assert not Counter(delivered) - sent


def test_a_switch_that_forgot_the_flow_fails_the_job() -> None:
    sender, now = Sender(5, 3), 0.0
    with pytest.raises(
        Unreachable, match=f"flow 5: packet 1 was sent at least {SENDS_MAX} times without an answer"
    ) as error:
        while True:
            sender.due(now)
            now = sender.wake_at() or now
    assert error.value.is_unreachable
    assert now < 20


def test_a_lost_packet_is_repeated_before_it_times_out() -> None:
    sender = Sender(1, 100, window_bits=6)
    sent = sender.due(0.0)
    for number in sent:
        sender.acknowledged(number, 0.001)
    lost, *later = sender.due(0.001)
    assert sender.due(0.0015) == []
    for number in later:  # of the same burst: they tell nothing about their order
        sender.acknowledged(number, 0.002)
    next_burst = sender.due(0.002)
    sender.acknowledged(next_burst[-1], 0.003)
    again = sender.due(0.003)
    assert again[0] == lost
    assert not set(again) & set(next_burst)


def test_a_receiver_that_pauses_is_asked_once() -> None:
    """Nothing was lost: of a whole window one packet is repeated, and none while acknowledgements come."""
    sender = Sender(1, 300, window_bits=4)
    for number in sender.due(0.0):
        sender.acknowledged(number, 0.001)
    sent = sender.due(0.001)
    assert len(sent) == 16
    pause_end = 0.001 + sender.timeout
    assert sender.due(pause_end) == [sent[0]]
    for number in sent[:8]:
        sender.acknowledged(number, pause_end + 0.0001)
    assert not set(sender.due(pause_end + 0.0001)) & set(sent)
    assert not set(sender.due(pause_end + TIMEOUT_MIN_S)) & set(sent)
    assert set(sender.due(pause_end + 0.0001 + sender.timeout)) & set(sent) == {sent[8]}


def lossy(loss: float, trip: float, seed: int, ways: int = 2) -> tuple[float, int]:
    """When a flow of 2,000 packets ends where what is sent at once is lost at once on each of so many ways; and what of
    it was sent."""
    draws, sender, now, sent = random.Random(seed), Sender(1, 2_000), 0.0, 0
    arriving: list[tuple[float, int, list[int]]] = []
    while not sender.ended:
        burst = sender.due(now)
        sent += len(burst)
        if burst and all(draws.random() >= loss for _ in range(ways)):
            heapq.heappush(arriving, (now + trip * draws.uniform(1, 1.3), sent, burst))
        wake = sender.wake_at()
        assert wake is not None or arriving
        now = max(now + 1e-6, min(wake or math.inf, arriving[0][0] if arriving else math.inf))
        while arriving and arriving[0][0] <= now:
            for number in heapq.heappop(arriving)[2]:
                sender.acknowledged(number, now)
    return now, sent


@pytest.mark.parametrize(
    ("trip", "ways", "seconds"), [(0.0002, 2, 0.5), (0.002, 2, 1.5), (0.002, 4, 1.5), (0.02, 4, 12)]
)
def test_bursts_that_are_lost_cost_round_trips(trip: float, ways: int, seconds: float) -> None:
    """At 30 % on two ways half of the bursts are not answered, on four three quarters. One copy a time-out took 11
    seconds of 2 ms each, and 38 of 20 ms."""
    least = 2_000 / 0.7**ways  # packets to be sent until each was answered once
    for seed in range(4):
        now, sent = lossy(0.3, trip, seed, ways)
        assert now < seconds and sent < 2 * least
    assert lossy(0.01, trip, 1, ways)[0] < 0.3 + 40 * trip


def through_pauses(seed: int) -> float:
    """When a flow of 2,000 packets ends of which 30 % of the bursts are lost on each of two ways, and whose answers are
    held up for 40 ms of each 100: it has round trips of 1 ms, and of up to 40."""
    draws, sender, now, period, pause = random.Random(seed), Sender(1, 2_000), 0.0, 0.1, 0.04
    arriving: list[tuple[float, list[int]]] = []
    while not sender.ended:
        burst = sender.due(now)
        if burst and draws.random() < 0.49:
            at = now + 0.001 * draws.uniform(1, 1.3)
            held = max(0.0, pause - at % period)
            heapq.heappush(arriving, (at + held, burst))
        now = max(now + 1e-6, min(sender.wake_at() or math.inf, arriving[0][0] if arriving else math.inf))
        while arriving and arriving[0][0] <= now:
            for number in heapq.heappop(arriving)[1]:
                sender.acknowledged(number, now)
    return now


def test_a_pause_is_not_taken_for_the_network() -> None:
    """Its answers came together and made the mean of round trips: packets were taken for lost too late, in 1.25 s."""
    assert sum(through_pauses(seed) for seed in range(8)) < 8


def through_a_queue(flows: int, packets_max: int) -> tuple[float, int]:
    """When flows of 500 packets end that share a link of 10,000 packets a second, behind a queue of so many packets and
    2 ms of delay; and how many were sent."""
    senders, now, free, sent = [Sender(f, 500) for f in range(flows)], 0.0, 0.0, 0
    arriving: list[tuple[float, int, int, int]] = []
    while not all(sender.ended for sender in senders):
        for sender in senders:
            for number in sender.due(now):
                sent += 1
                if free - now < packets_max * 0.0001:
                    free = max(free, now) + 0.0001
                    heapq.heappush(arriving, (free + 0.002, sent, sender.flow, number))
        wakes = [at for sender in senders if (at := sender.wake_at()) is not None]
        now = max(now + 1e-6, min([*wakes, *(packet[0] for packet in arriving[:1])]))
        while arriving and arriving[0][0] <= now:
            _, _, flow, number = heapq.heappop(arriving)
            senders[flow].acknowledged(number, now)
    return now, sent


@pytest.mark.parametrize(("flows", "packets_max"), [(1, 5), (1, 20), (4, 20), (4, 100)])
def test_a_queue_that_is_full_is_not_flooded(flows: int, packets_max: int) -> None:
    """Losses of congestion make the window small; copies of all that is lost would fill the queue."""
    now, sent = through_a_queue(flows, packets_max)
    assert sent < 3 * 500 * flows
    assert now < 2 * 500 * flows * 0.0001 + 0.1


def test_a_packet_that_is_lost_rarely_is_repeated_once() -> None:
    sender, now, sends = Sender(1, 10_000), 0.0, Counter[int]()
    for _ in range(60):  # each hundredth is lost at first
        due = sender.due(now)
        sends.update(due)
        now += 0.001
        for number in due:
            if number % 100 or sends[number] > 1:
                sender.acknowledged(number, now)
    assert sends[100] == sends[200] == max(sends.values()) == 2
    assert sender.share > 0.95


def test_silence_is_not_flooded() -> None:
    """Copies of what was lost leave at most once a burst; then the oldest packet's are all that is sent."""
    draws, sender, now = random.Random(1), Sender(1, 10_000), 0.0
    while sender.oldest < 1_000:  # two of three are lost
        for number in sender.due(now):
            if draws.random() < 0.3:
                sender.acknowledged(number, now + 0.001)
        now = max(now + 0.001, sender.wake_at() or now)
    assert sender.share < 0.5
    begun, sent = now, 0
    with pytest.raises(Unreachable):
        while True:
            now = sender.wake_at() or now
            sent += len(burst := sender.due(now))
            assert len(burst) <= sender.window / SPREAD_BURSTS
    assert sent < (sender.window + SENDS_MAX) * COPIES_MAX
    assert 5 < now - begun < 20


def test_answers_to_copies_count_as_answers() -> None:
    """Repetitions that were not needed do not make a network lossy."""
    sender = Sender(1, 16)
    sent = sender.due(0.0)
    again = sender.due(0.06)
    assert again == sent
    assert sender.share == 0.5
    for _ in range(2):
        for number in sent:
            sender.acknowledged(number, 0.07)
    assert sender.share == 1


def test_losses_do_not_fail_a_flow_that_moves() -> None:
    """Two of three packets or their answers are lost."""
    flows: list[list[Packet]] = [[(Tuple(1, 1),)] * 3_000]
    network = Network(7, 0.3, 0.0)
    assert len(run(flows, [lambda _f, _n, p: p], network, window_bits=8)) == 3_000
    assert network.now < 60


def test_a_packet_lost_often_ends_a_flow_only_in_silence() -> None:
    """Packet 1 never gets through while others do; then nothing does."""
    sender, now, sends = Sender(5, 1 << 16, window_bits=16), 0.0, 0
    sender.threshold = 0.0  # it grows slowly, so that there is always something new to send
    while sends < 2 * SENDS_MAX:
        now += 0.001
        for number in sender.due(now):
            sends += number == 1
            if number != 1:
                sender.acknowledged(number, now + 0.0005)
    last_heard = now
    with pytest.raises(Unreachable):
        while True:
            now = sender.wake_at() or now
            sender.due(now)
    assert 5 < now - last_heard < 20


def test_a_busy_receiver_is_waited_for() -> None:
    """Only the oldest packet is repeated, more often than SENDS_MAX, and then the rest behind the next one."""
    sender, now = Sender(5, 9, window_bits=3), 0.0
    assert sender.due(now) == [1, 2, 3, 4, 5, 6, 7, 8]
    for _ in range(2 * SENDS_MAX):
        sender.busy(now)
        now = sender.wake_at() or now
        assert sender.due(now) == [1]
    sender.acknowledged(1, now)
    assert sender.due(now) == [2, 9]
    sender.acknowledged(9, now + 0.001)
    assert sender.due(now + 0.001) == [3, 4, 5, 6] and sender.due(now + 0.002) == [7, 8]


def test_a_busy_receiver_that_has_all_that_was_sent_is_sent_more() -> None:
    """Its acknowledgements have overtaken what it said of a packet before it took that."""
    sender = Sender(5, 20)
    for number in sender.due(0.0):
        sender.acknowledged(number, 0.001)
    sender.busy(0.002)
    assert sender.due(0.002) == [17, 18, 19, 20]
    for number in range(17, 21):
        sender.acknowledged(number, 0.003)
    sender.busy(0.003)
    assert sender.due(0.003) == [0] and sender.wake_at() is not None


def test_a_receiver_that_was_not_there_in_time_gets_all_packets_after_one_time_out() -> None:
    """One by one they would take a time-out each, as no round trip is known by which they could be overtaken."""
    sender, now = Sender(5, 8, window_bits=4), 0.0
    assert sender.due(now) == [*range(1, 9)]
    now = sender.wake_at() or now
    assert sender.due(now) == [*range(1, 9)]
    for number in range(1, 9):
        sender.acknowledged(number, now + 0.0005)
    assert sender.wake_at() is None and now < 0.5


def test_a_flow_without_tuples_ends() -> None:
    assert run([[]], [lambda _f, _n, p: p], Network(1, 0.3, 0.3)) == []


def test_no_more_than_a_window_is_on_the_way() -> None:
    sender = Sender(1, 1_000, window_bits=2)
    assert sender.due(0.0) == [1, 2, 3, 4]
    for number in (2, 3, 4):
        sender.acknowledged(number, 0.01)
    assert sender.due(0.01) == []
    sender.acknowledged(1, 0.02)
    assert sender.due(0.02) == [5, 6, 7, 8]


def test_a_flow_that_has_too_many_packets_is_refused() -> None:
    with pytest.raises(ValueError, match="flow 1 has 4294967295 packets; its numbers end at 4294967294"):
        Sender(1, 2**32 - 1)
