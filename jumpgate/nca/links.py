"""Links: how many bytes of an edge leave and reach each device, and how long its link takes for them.

The link of a device is its way to the network, of one speed either way (`Device.link_bits_per_s`). What stays on a
device crosses no link; one whose speed is not known takes no time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jumpgate.dataflow.operators import Partitioning
from jumpgate.nca.interface import Device


@dataclass(frozen=True)
class Traffic:
    """Bytes that cross links, by device."""

    left: Mapping[Device, float] = field(default_factory=dict)
    reached: Mapping[Device, float] = field(default_factory=dict)

    @property
    def bytes(self) -> float:
        """Each counted once."""
        return sum(self.left.values())

    @property
    def seconds(self) -> float:
        """All links at the same time: what the slowest takes."""
        ways = (*self.left.items(), *self.reached.items())
        return max((8 * bytes / d.link_bits_per_s for d, bytes in ways if d.link_bits_per_s), default=0.0)


def traffic(
    bytes: float, partitioning: Partitioning, senders: Sequence[Device], receivers: Sequence[Device]
) -> Traffic:
    """Of an edge with so many bytes of rows, which lie evenly on the devices of its producers."""
    left: Counter[Device] = Counter()
    reached: Counter[Device] = Counter()
    for i, sender in enumerate(senders):
        to = [receivers[i]] if partitioning.kind == "paired" else receivers
        copies = len(to) if partitioning.kind == "broadcast" else 1
        for receiver in to:
            if receiver != sender:
                part = bytes * copies / (len(senders) * len(to))
                left[sender] += part  # type: ignore[assignment]
                reached[receiver] += part  # type: ignore[assignment]
    return Traffic(left, reached)
