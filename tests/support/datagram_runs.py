"""Aggregations through a software switch, over a network that may be bad, and what is expected of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from jumpgate.dataflow.types import Schema, decimal, int64
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor
from tests.support.datagrams import Answer, Chaos, Line, Peers, Relay
from tests.support.switch_programs import SECRET

KEYS = Descriptor.row(Schema.of(key=int64, value=int64), byte_order="big", packed=True)
GROUPS = Descriptor.row(
    Schema.of(key=int64, count=int64, sum=decimal(38, 0), min=int64, max=int64), byte_order="big", packed=True
)
OUTPUTS = "key,count,sum,min,max"
Pairs = Sequence[tuple[int | None, int | None]]
Group = tuple[int, int | None, int | None, int | None]  # count, sum, min, max


def grouped(pairs: Pairs) -> dict[int | None, Group]:
    values: dict[int | None, list[int | None]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    out: dict[int | None, Group] = {}
    for key, listed in values.items():
        some = [v for v in listed if v is not None]
        out[key] = (len(some), sum(some), min(some), max(some)) if some else (0, None, None, None)
    return out


def merged(partial: pa.RecordBatch) -> dict[int | None, Group]:
    """The final aggregate over what a receiver delivered, in which a key may occur several times."""
    out: dict[int | None, Group] = {}
    for row in partial.to_pylist():
        key, count, total, least, most = row.values()
        before = out.get(key, (0, None, None, None))
        total = None if total is None else int(total)

        def both(pick: Callable[[list[int]], int], *numbers: int | None) -> int | None:
            some = [n for n in numbers if n is not None]
            return pick(some) if some else None

        out[key] = (before[0] + count, both(sum, before[1], total), both(min, before[2], least),
                    both(max, before[3], most))  # fmt: skip
    return out


def batch_of(descriptor: Descriptor, rows: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    schema = arrow_schema(descriptor.schema)
    return pa.RecordBatch.from_arrays(
        [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(schema)], schema=schema
    )


def drain(port: int, flow: int, buckets: int) -> str:
    """The word of a receiver about buckets of the switch behind a port, by one of its flows."""
    return f"127.0.0.1:{port}/{flow}/{SECRET:x}/0/{buckets}"


class Run:
    """Senders of one job, each a flow over each switch, and the receiver, over relays if the network is bad. `racks`:
    switches below the only one of `lines`, to which the senders are dealt out."""

    def __init__(
        self,
        peers: Peers,
        lines: Sequence[Line],
        buckets: int = 1 << 14,
        chaos: Chaos | None = None,
        racks: Sequence[Line] = (),
    ) -> None:
        self.peers, self.lines, self.buckets, self.racks = peers, lines, buckets, racks
        self.relays: list[Relay] = []
        self._chaos = chaos

    def aggregate(self, inputs: Sequence[Pairs], threads: int = 2) -> tuple[list[Answer], Answer, pa.RecordBatch]:
        """Answers of the senders and of the receiver, and what it delivered."""
        for line in (*self.lines, *self.racks):
            line.clear()
        words = {"partitioning": "hash" if len(self.lines) > 1 else "single", "threads": threads}
        senders = [self.peers.sender(KEYS, batch_of(KEYS, pairs), **words) for pairs in inputs]
        to_receiver = [self._relay(line) for line in self.lines]
        drains = [drain(near, 0, self.buckets) for near, _ in to_receiver]
        drains += [drain(self._relay(rack)[0], flow, self.buckets) for flow, rack in enumerate(self.racks)]
        receiver = self.peers.receiver(GROUPS, outputs=OUTPUTS, drains=",".join(drains))
        arriving: list[tuple[int, int]] = []
        for i, sender in enumerate(senders):
            paths = []
            for line, (near, far) in zip(self.lines, to_receiver, strict=True):
                rack = self.racks[i % len(self.racks)] if self.racks else None
                own_near, own_far = self._relay(rack or line, sender.port)
                below = own_far or sender.port
                if rack is not None:
                    up, down = self._relay(line, rack.port)
                    rack.join(i, (0, self.buckets - 1), below, up)
                    below = down or rack.port
                line.join(i, (0, self.buckets - 1), below, far or receiver.port)
                paths.append((own_near, i))
                arriving.append((near, i))
            sender.start(*paths)
        for relay in self.relays:
            relay.end = relay.end or receiver.port
            relay.start()
        receiver.start(*arriving)
        answers = [sender.answer() for sender in senders]
        assert not any(failed := [answer.message for answer in answers if answer.code]), failed
        answer = receiver.answer()
        for relay in self.relays:
            relay.close()
        rows = self.peers.received(receiver, answer.counted["delivered"]) if answer.counted else None
        return answers, answer, rows

    def _relay(self, line: Line, end: int = 0) -> tuple[int, int]:
        """Where the end at a port finds the switch, and where the switch finds the end (0: where it is)."""
        if self._chaos is None:
            return line.port, 0
        seed = self._chaos.seed * 100 + len(self.relays)
        relay = Relay(line.port, replace(self._chaos, seed=seed))
        relay.end = end
        self.relays.append(relay)
        return relay.port, relay.far_port
