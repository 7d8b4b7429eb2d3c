"""Links: how many bytes of an edge leave and reach each device, and how long its link takes for them.

The link of a device is its way to the network, of one speed either way (`Device.link_bits_per_s`). What stays on a
device crosses no link; one whose speed is not known takes no time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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

    @property
    def seconds(self) -> float:
        """What the slowest link takes."""
        ways = (*self.left.items(), *self.reached.items())
        return max((8 * bytes / d.link_bits_per_s for d, bytes in ways if d.link_bits_per_s), default=0.0)
