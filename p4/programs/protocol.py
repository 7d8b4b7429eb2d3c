"""The hosts' side of PROTOCOL.md without sockets and clocks: what to send, when, and what an arriving packet means.

Times are seconds of any clock that never falls. The reference for implementations in other languages.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from jumpgate.errors import Unreachable

#: kind, present, flow, sequence, secret
HEADER = struct.Struct(">BBHIQ")
#: a packet that was sent so often while nothing at all was answered ends the job
SENDS_MAX = 36
TIMEOUT_FIRST_S, TIMEOUT_MIN_S, TIMEOUT_MAX_S = 0.05, 0.002, 0.5
#: time-outs before the first that is twice as long, and between further such
TIMEOUTS_EQUAL = 2
#: after a time-out, for so many windows of packets, those of a round trip are spread over so many bursts, of which each
#: has so many packets at least: a burst that is lost is then noticed by the answers to the others
SPREAD_WINDOWS, SPREAD_BURSTS, SPREAD_LEAST = 4, 8, 4
#: round trips measured of those whose packets are on the way together: answers that a pause held up are one event
SAMPLES_PER_TRIP = 8
#: losses are taken for those of a full queue if round trips are so many times the least
QUEUED_TRIPS = 2.0
#: the congestion window at first, and at least
WINDOW_FIRST = 16.0
#: a packet is taken for lost after so many round trips, if one that was sent later has arrived (RFC 8985)
OVERTAKEN_TRIPS = 1.25
#: the share of packets that are answered is measured over about so many
SHARE_PACKETS = 128
#: below this share the network counts as lossy: bursts are always spread, and lost packets are sent in copies, so many
#: that at most one packet of ten loses them all
LOSSY_SHARE, COPIES_MAX = 0.9, 8
#: of a lossy network so many windows at most are on the way, so that one window of them is answered
LOSSY_WINDOWS = 4
#: the number of the ACK of a receiver that has no room: nothing was taken
BUSY = (1 << 32) - 1
#: between repetitions for such a receiver
BUSY_S = 0.02
SEQUENCE_MAX = BUSY - 1
#: the kind of packet that acknowledges several
ACK_RUN = 7


@dataclass
class _Sent:
    """A packet on its way."""

    sent_at: float
    timeout_at: float
    repeated_at: float  # when its latest copies began
    copy_at: float = math.inf
    copies: int = 0  # further ones that may leave before it is lost again
    sends: int = 1
    unanswered: int = 1  # sends since the receiver was last heard


class Sender:
    """One flow of `packets` DATA packets (numbers from 1), then END (number 0 here and in its ACK)."""

    def __init__(self, flow: int, packets: int, window_bits: int = 8) -> None:
        if packets > SEQUENCE_MAX:
            raise ValueError(f"flow {flow} has {packets} packets; its numbers end at {SEQUENCE_MAX}")
        self.flow, self.packets, self.window = flow, packets, 1 << window_bits
        self.oldest, self.next = 1, 1  # first not acknowledged, first not sent
        self.on_the_way: dict[int, _Sent] = {}
        self.congestion, self.threshold = WINDOW_FIRST, float(self.window)
        self.halved_before = 0  # a loss among the packets below this number was answered already
        self.mean: float | None = None
        self.deviation = 0.0
        self.measured_before = 0  # no round trip of a packet below that number is measured any more
        self.least = math.inf  # round trip
        self.timeouts = 0  # since the receiver last answered
        self.settled = self.answered = WINDOW_FIRST  # packets that were answered or taken for lost; those answered
        self.spread_before, self.burst_at = 0, -math.inf  # packets below that number go in bursts; when the next may
        self.timeout = TIMEOUT_FIRST_S
        self.newest = -math.inf  # when the latest sent of the acknowledged packets was sent
        self.acknowledged_at = -math.inf  # when a packet last was, by a receiver that had room
        self.heard_at = -math.inf  # when the receiver last answered, if only that it has no room
        self.is_busy = False  # the receiver
        self.ended = False

    def due(self, now: float) -> list[int]:
        """Numbers to send now: lost ones first, then new ones as far as the windows allow; 0 is END."""
        room, out = self._burst(now), list[int]()
        for number, sent in self._waiting():
            if len(out) == room:
                break
            if self._lost_at(number, sent) <= now:
                self._repeat(number, now)
            elif not self.is_busy and sent.copy_at <= now:
                self._copy(sent, now)
            else:
                continue
            out.append(number)
        last = min(self.packets, self.oldest + self.window - 1)
        room = min(room - len(out), self._congestion() - len(self.on_the_way))
        while not self.is_busy and self.next <= last and room > 0:
            room -= 1
            self.on_the_way[self.next] = _Sent(now, now + self.timeout, now)
            out.append(self.next)
            self.next += 1
        if self.oldest > self.packets and not self.ended and 0 not in self.on_the_way:
            self.on_the_way[0] = _Sent(now, now + self.timeout, now)
            out.append(0)
        if out and self.mean is not None and self.is_spread:
            self.burst_at = now + self.mean / SPREAD_BURSTS
        return out

    def _waiting(self) -> list[tuple[int, _Sent]]:
        """Packets that may be repeated: of a busy receiver the oldest alone, or END."""
        return [(n, sent) for n, sent in self.on_the_way.items() if not self.is_busy or n in (self.oldest, 0)]

    @property
    def is_spread(self) -> bool:
        return self.mean is not None and (self.oldest < self.spread_before or self.share < LOSSY_SHARE)

    @property
    def share(self) -> float:
        """The part of the packets of late that was answered."""
        return self.answered / self.settled

    def _congestion(self) -> int:
        """Packets that may be on their way: in a lossy network so many that WINDOW_FIRST are answered."""
        if self.share >= LOSSY_SHARE:
            return int(self.congestion)
        return int(max(self.congestion, WINDOW_FIRST / max(self.share, 1 / LOSSY_WINDOWS)))

    def _burst(self, now: float) -> int:
        """Packets that may leave now."""
        if not self.is_spread:
            return self.window
        return 0 if now < self.burst_at else max(self._congestion() // SPREAD_BURSTS, SPREAD_LEAST)

    def wake_at(self) -> float | None:
        """When `due` may have something again without an ACK; None once the flow has ended."""
        waiting = self._waiting()
        at = min((self._lost_at(n, sent) for n, sent in waiting), default=None)
        if at is not None and not self.is_busy:
            at = min(at, *(sent.copy_at for _, sent in waiting))
        last = min(self.packets, self.oldest + self.window - 1)
        if self.is_spread and not self.is_busy and self.next <= last and len(self.on_the_way) < self._congestion():
            at = self.burst_at if at is None else min(at, self.burst_at)
        return max(at, self.burst_at) if at is not None and self.is_spread else at

    def acknowledged(self, number: int, now: float) -> None:
        """An ACK; one for a packet that is not on its way tells no more than that a copy was answered."""
        if not self._take(number, now) and 0 < number < self.next:
            self._settle(0, 1)

    def _take(self, number: int, now: float) -> bool:
        sent = self.on_the_way.pop(number, None)
        if sent is None:
            return False
        self._settle(1, 1)
        if (sent.sends == 1 and number >= self.measured_before) or (self.mean is None and not self.is_busy):
            self._measure(now - sent.repeated_at)
            self.measured_before = number + max((self.next - number) // SAMPLES_PER_TRIP, 1)
        # earlier copies are answered sooner than any round trip, and hardly after two time-outs
        is_latest = sent.sends == 1 or self.timeouts > 1 or now - sent.repeated_at >= self.least
        if self.mean is not None and is_latest:
            self.newest = max(self.newest, sent.repeated_at)
        self.heard_at = now
        self.timeouts = 0
        if self.is_busy:
            self.is_busy = False
            self.halved_before = self.next  # what was lost meanwhile is not the network's fault
        else:
            self.acknowledged_at = now
        if number == 0:
            self.ended = True
            return True
        self.congestion += 1 if self.congestion < self.threshold else 1 / self.congestion
        self.congestion = min(self.congestion, float(self.window))
        self.oldest = min((n for n in self.on_the_way if n), default=self.next)
        return True

    def _settle(self, settled: int, answered: int) -> None:
        """Count packets that were answered or taken for lost; the answers to copies come late, or not at all."""
        self.settled += settled
        self.answered = min(self.answered + answered, self.settled)
        if self.settled > SHARE_PACKETS:
            self.settled, self.answered = self.settled / 2, self.answered / 2

    def acknowledged_run(self, first: int, further: int, now: float) -> None:
        """An ACK_RUN, of the packets [first, first + further]."""
        if first > 0:
            self.acknowledged(first, now)
        for number in range(first + 1, first + further + 1):
            self._take(number, now)

    def busy(self, now: float) -> None:
        """The receiver has no room: until it acknowledges something, only the oldest packet (or END) is repeated, and
        however often. Said when nothing is on its way, it is out of date."""
        if not self.on_the_way:
            return
        self.is_busy = True
        self._settle(0, 1)
        self.heard_at = now
        self.timeouts = 0

    def _lost_at(self, number: int, sent: _Sent) -> float:
        """When the packet is taken for lost: the oldest, and END, by the time-out, which each ACK starts again (RFC
        6298, 5.3 and 5.4); all of them until the receiver has answered for the first time. Nothing overtakes packets
        while the receiver has no room."""
        timeout_at = math.inf
        if number in (self.oldest, 0) or self.heard_at == -math.inf:
            timeout_at = max(sent.timeout_at, self.acknowledged_at + self.timeout)
        if self.is_busy or self.mean is None or sent.repeated_at >= self.newest:
            return timeout_at
        return min(timeout_at, sent.sent_at + OVERTAKEN_TRIPS * self.mean)

    def _repeat(self, number: int, now: float) -> None:
        sent = self.on_the_way[number]
        if sent.sent_at <= self.heard_at:
            sent.unanswered = 0
        if sent.unanswered >= SENDS_MAX:
            what = "its end" if number == 0 else f"packet {number}"
            raise Unreachable(
                f"flow {self.flow}: {what} was sent at least {SENDS_MAX} times without an answer. Did the switch "
                "restart, or the receiver end? Run the job again.",
                flow=self.flow,
            )
        if not self.is_busy and number >= self.halved_before:
            is_queued = self.mean is not None and self.mean > QUEUED_TRIPS * self.least
            if is_queued or (self.mean is not None and self.share < LOSSY_SHARE):
                self.threshold = self.congestion = max(self.congestion / 2, WINDOW_FIRST)
            self.halved_before = self.next
        timeout = max(self.timeout, BUSY_S) if self.is_busy else self.timeout
        if max(sent.timeout_at, self.acknowledged_at + self.timeout) <= now and number in (self.oldest, 0):
            self.timeouts += 1
            if not self.is_busy:
                self.spread_before = self.next + SPREAD_WINDOWS * self.window
        doubled = self.timeouts // TIMEOUTS_EQUAL
        sent.sent_at, sent.timeout_at = now, now + min(timeout * 2.0**doubled, TIMEOUT_MAX_S)
        sent.repeated_at = now
        is_known = self.mean is not None and not self.is_busy
        sent.copies = max(self._copies(), min(self.timeouts, COPIES_MAX)) - 1 if is_known else 0
        sent.copy_at = now + self.timeout / COPIES_MAX if sent.copies else math.inf
        sent.sends += 1
        sent.unanswered += 1
        self._settle(1, 0)

    def _copy(self, sent: _Sent, now: float) -> None:
        sent.sent_at = now
        sent.copies -= 1
        sent.copy_at = now + self.timeout / COPIES_MAX if sent.copies else math.inf
        self._settle(1, 0)

    def _copies(self) -> int:
        copies, lost = 1, 1 - self.share
        while lost > 1 - LOSSY_SHARE and copies < COPIES_MAX:
            copies += 1
            lost *= 1 - self.share
        return copies

    def _measure(self, trip: float) -> None:
        self.least = min(self.least, trip)
        if self.mean is None:
            self.mean, self.deviation = trip, trip / 2
        else:
            self.deviation += (abs(self.mean - trip) - self.deviation) / 4
            self.mean += (trip - self.mean) / 8
        self.timeout = min(max(self.mean + 4 * self.deviation, TIMEOUT_MIN_S), TIMEOUT_MAX_S)


class Receiver:
    """One flow's receiving end."""

    def __init__(self, window_bits: int = 8) -> None:
        self.mask = (1 << window_bits) - 1
        self.cells = [0] * (self.mask + 1)
        self.ended = False

    def data(self, number: int) -> bool:
        """True if the packet's tuples are to be delivered. An ACK goes back in any case. Not to be asked where there is
        no room: then the ACK's number is BUSY."""
        at = number & self.mask
        if self.ended or number <= self.cells[at]:
            return False
        self.cells[at] = number
        return True

    def end(self) -> None:
        """END arrived; an ACK with number 0 goes back in any case."""
        self.ended = True
