"""Links: how many bytes of an edge leave and reach each device, and how long its link takes for them.

The link of a device is its way to the network, of one speed either way (`Device.link_bits_per_s`). What stays on a
device crosses no link. Where its speed is not known, that of a host is assumed (`speeds`: "link"); other devices have
many links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from jumpgate.dataflow.operators import Partitioning
from jumpgate.nca.interface import Device


class Traffic:
    """Bytes that cross links at the same time, those that leave and those that reach each device."""

    def __init__(self) -> None:
        self.left: Counter[str] = Counter()  # by the device's name
        self.reached: Counter[str] = Counter()

    def add(self, bytes: float, partitioning: Partitioning, senders: Sequence[str], receivers: Sequence[str]) -> float:
        """An edge with so many bytes of rows, which lie evenly on the devices of its producers, by their names.
        Returns how many of them cross links, copies counted."""
        if partitioning.kind == "paired":
            part = bytes / len(senders)
            pairs = [(a, b) for a, b in zip(senders, receivers, strict=True) if a != b]
            left, reached = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
        else:  # from each to each, which are counted and not gone through: there may be a million pairs
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
        """What the slowest link or device takes. assumed: for a byte over the link of a host of unknown speed;
        receive_s: for a byte that reaches a device, which works on rows as they pass."""

        def taken(name: str, bytes: float) -> float:
            device = devices[name]
            if device.link_bits_per_s:
                return 8 * bytes / device.link_bits_per_s
            return bytes * assumed if device.kind == "host" else 0.0

        links = [taken(*way) for way in (*self.left.items(), *self.reached.items())]
        work = [bytes * receive_s.get(name, 0.0) for name, bytes in self.reached.items()]
        return max(*links, *work) if links else 0.0
