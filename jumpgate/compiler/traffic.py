"""Links: how many bytes of an edge leave and reach each device, and how long its link takes for them.

The link of a device is its way to the network, of one speed either way (`Device.link_bits_per_s`). What stays on a
device crosses no link. Where its speed is not known, that of a host is assumed (`speeds`: "link"); devices have many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from jumpgate.dataflow.operators import Partitioning
from jumpgate.nca.interface import Device


class Traffic:
    """Bytes that cross links at the same time, those that leave and those that reach each device."""

    def __init__(self) -> None:
        self.left: Counter[Device] = Counter()
        self.reached: Counter[Device] = Counter()

    def add(
        self, bytes: float, partitioning: Partitioning, senders: Sequence[Device], receivers: Sequence[Device]
    ) -> float:
        """An edge with so many bytes of rows, which lie evenly on the devices of its producers. Returns how many of
        them cross links, copies counted."""
        crossing = 0.0
        for i, sender in enumerate(senders):
            to = [receivers[i]] if partitioning.kind == "paired" else receivers
            copies = len(to) if partitioning.kind == "broadcast" else 1
            part = bytes * copies / (len(senders) * len(to))
            for receiver in to:
                if receiver != sender:
                    self.left[sender] += part  # type: ignore[assignment]
                    self.reached[receiver] += part  # type: ignore[assignment]
                    crossing += part
        return crossing

    def seconds(self, assumed: float, receive_s: Mapping[Device, float]) -> float:
        """What the slowest link or device takes. assumed: for a byte over the link of a host of unknown speed;
        receive_s: for a byte that reaches a device, which works on rows as they pass."""

        def taken(device: Device, bytes: float) -> float:
            if device.link_bits_per_s:
                return 8 * bytes / device.link_bits_per_s
            return bytes * assumed if device.kind == "host" else 0.0

        links = [taken(*way) for way in (*self.left.items(), *self.reached.items())]
        devices = [bytes * receive_s.get(device, 0.0) for device, bytes in self.reached.items()]
        return max(*links, *devices) if links else 0.0
