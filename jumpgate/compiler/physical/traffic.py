"""Traffic over links: the bytes of an edge that leave and reach each device, and the seconds that its link takes.

The link of a device is its way to the network, with the same speed in each direction (`Device.link_bits_per_s`). Rows
that stay on a device cross no link. If its speed is unknown, a host's is assumed (`speeds`: "link"); other devices have
many links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from jumpgate.dataflow.operators import Partitioning
from jumpgate.nca.interface import Device


class Traffic:
    """Bytes that cross links at the same time, by the device that they leave and reach."""

    def __init__(self) -> None:
        self.left: Counter[str] = Counter()  # by the device's name
        self.reached: Counter[str] = Counter()

    def add(self, bytes: float, partitioning: Partitioning, senders: Sequence[str], receivers: Sequence[str]) -> float:
        """Add an edge with `bytes` bytes of rows, evenly spread over the devices of its producers. Return how many of
        them cross links, copies included."""
        if partitioning.kind == "paired":
            part = bytes / len(senders)
            pairs = [(a, b) for a, b in zip(senders, receivers, strict=True) if a != b]
            left, reached = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
        else:  # all pairs: computed, not enumerated, as there may be a million
            copies = len(receivers) if partitioning.kind == "broadcast" else 1
            part = bytes * copies / (len(senders) * len(receivers))
            at, to = Counter(senders), Counter(receivers)
            left = Counter({device: n * (len(receivers) - to[device]) for device, n in at.items()})
            reached = Counter({device: n * (len(senders) - at[device]) for device, n in to.items()})
        for total, counts in ((self.left, left), (self.reached, reached)):
            for device, n in counts.items():
                total[device] += part * n  # type: ignore[assignment]
        return part * left.total()

    def seconds(self, devices: Mapping[str, Device], assumed: float, receive_s: Mapping[str, float]) -> float:
        """Return the seconds of the slowest link or device. assumed: per byte over the link of a host of unknown speed;
        receive_s: per byte that reaches a device, which processes rows as they pass."""

        def taken(name: str, bytes: float) -> float:
            device = devices.get(name)
            if device is None:  # a client
                return 0.0
            if device.link_bits_per_s:
                return 8 * bytes / device.link_bits_per_s
            return bytes * assumed if device.kind == "host" else 0.0

        links = [taken(*way) for way in (*self.left.items(), *self.reached.items())]
        work = [bytes * receive_s.get(name, 0.0) for name, bytes in self.reached.items()]
        return max(*links, *work) if links else 0.0
