"""Traffic over links: the bytes of edges in each direction of each link, and the seconds that the slowest one takes.

The network is a tree. Each device has a link to its network, and each network one to the network above it
(`Device.links`). A row crosses the links from its sender up to the lowest network above both ends, and from there down
to its receiver. Rows that stay on a device cross none. If the speed of a host's link is unknown, it is assumed
(`speeds`: "link"). Other links of unknown speed take no time: devices in the network have many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from jumpgate.dataflow.operators import Partitioning
from jumpgate.nca.interface import Device
from jumpgate.nca.link import Link


class Traffic:
    """Bytes that cross links at the same time. `up` and `down` have them by the name of the link, `into` by the device
    that they are for. Names that are no devices, such as the client's, are at the root of the network."""

    def __init__(self, devices: Mapping[str, Device]) -> None:
        self._devices = devices
        self._links: dict[str, Link] = {}
        self.up: Counter[str] = Counter()
        self.down: Counter[str] = Counter()
        self.into: Counter[str] = Counter()

    def add(self, bytes: float, partitioning: Partitioning, senders: Sequence[str], receivers: Sequence[str]) -> float:
        """Add an edge with `bytes` bytes of rows, evenly spread over the devices of its producers. Return how many of
        them leave their device, copies included."""
        if partitioning.kind == "paired":
            pairs = Counter(pair for pair in zip(senders, receivers, strict=True) if pair[0] != pair[1])
            part = bytes / len(senders)
            for (a, b), n in pairs.items():
                self._add(part * n, Counter((a,)), Counter((b,)))
            return part * pairs.total()
        copies = len(receivers) if partitioning.kind == "broadcast" else 1
        part = bytes * copies / (len(senders) * len(receivers))
        return self._add(part, Counter(senders), Counter(receivers))

    def add_chain(self, bytes: float, senders: Sequence[str], top: Device, left: float) -> tuple[float, float]:
        """Add an edge to the top of a chain, whose devices leave `left` bytes each at most. Return how many bytes cross
        links, and how many come to the top: of rows that no device has passed, as many as it leaves."""
        waiting = {sender: bytes * n / len(senders) for sender, n in Counter(senders).items()}
        hosts = frozenset(waiting)
        crossing = came = 0.0
        for device in sorted(top.chain, key=lambda device: -len(device.above)):  # the top has the fewest above it
            arriving = {s: n for s, n in waiting.items() if top.passed_from(self._devices[s])[0].name == device.name}
            for sender, n in arriving.items():
                del waiting[sender]
                crossing += self.add(n, Partitioning(), [sender], [device.name])
            direct = sum(n for s, n in arriving.items() if s in hosts)
            came = sum(arriving.values()) - direct + min(direct, left)
            waiting[device.name] = min(sum(arriving.values()), left)
        return crossing, came

    def _add(self, part: float, at: Counter[str], to: Counter[str]) -> float:
        """Add `part` bytes from each of the senders to each of the receivers, which are counted by device. Links are
        computed from the numbers below them, as there may be a million pairs."""
        senders, receivers = at.total(), to.total()
        below, under = self._below(at), self._below(to)
        for link in {**below, **under}:
            _put(self.up, link, part * below[link] * (receivers - under[link]))
            _put(self.down, link, part * under[link] * (senders - below[link]))
        for device, n in to.items():
            _put(self.into, device, part * n * (senders - at[device]))
        return part * sum(n * (receivers - to[device]) for device, n in at.items())

    def _below(self, counted: Counter[str]) -> Counter[str]:
        """Return how many instances are below each link."""
        found: Counter[str] = Counter()
        for name, n in counted.items():
            for link in self._of(name):
                self._links[link.name] = link
                found[link.name] += n
        return found

    def _of(self, name: str) -> Iterable[Link]:
        return self._devices[name].links if name in self._devices else ()

    def seconds(self, assumed: float, receive_s: Mapping[str, float]) -> float:
        """Return the seconds of the slowest link or device, and of the longest way. assumed: per byte over the link of
        a host of unknown speed; receive_s: per byte that reaches a device, which processes rows as they pass."""
        links = [self._taken(*way, assumed) for way in (*self.up.items(), *self.down.items())]
        work = [bytes * receive_s.get(name, 0.0) for name, bytes in self.into.items()]
        return (max(*links, *work) if links else 0.0) + self._delay_s(self.up) + self._delay_s(self.down)

    def _taken(self, name: str, bytes: float, assumed: float) -> float:
        if speed := self._links[name].bits_per_s:
            return 8 * bytes / speed
        device = self._devices.get(name)
        return bytes * assumed if device is not None and device.kind == "host" else 0.0

    def _delay_s(self, crossed: Counter[str]) -> float:
        """Return the delay of the longest way over links that are crossed in one direction."""
        ways = (sum(link.delay_s for link in self._of(name) if link.name in crossed) for name in self._devices)
        return max(ways, default=0.0)


def _put(counts: Counter[str], name: str, bytes: float) -> None:
    if bytes:
        counts[name] += bytes  # type: ignore[assignment]
