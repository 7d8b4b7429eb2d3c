"""Traffic over links while a job ran, as the senders counted it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: the target of a result's rows
CLIENT = "client"


@dataclass(frozen=True)
class HostTraffic:
    """Bytes of rows that a host sent to other hosts and to the client, and received from other hosts."""

    host: str
    sent: int
    received: int


@dataclass(frozen=True)
class Crossed:
    """Bytes of rows between hosts: `links` by (from, to), largest first, and totals of each host by name. Rows that
    stay on a host cross no link. `networks`: the bytes that left each network on the way up, and entered it."""

    links: Mapping[tuple[str, str], int]
    hosts: tuple[HostTraffic, ...]
    networks: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def skew(self) -> float:
        """Return the largest bytes received by a host ÷ the mean of all hosts; 1 if none were received."""
        came = [h.received for h in self.hosts]
        return max(came) * len(came) / sum(came) if any(came) else 1.0


def crossed(
    edges: Iterable[tuple[str, Sequence[str], Sequence[str], bool]],
    host_of: Mapping[str, str],
    counters: Mapping[str, Mapping[str, Any]],
    above: Mapping[str, Sequence[str]],
    below: Mapping[str, Sequence[str]],
) -> Crossed:
    """Sum the traffic of edges, each with its id, producers, consumers (none: the client) and whether they are paired.
    An edge with too many consumers to count each is assumed to be evenly spread. above: the networks that each host is
    in, lowest first; the client is in none. below: the devices that rows to a device may pass first, which absorb them:
    the senders count rows as far as to the first one."""
    links: Counter[tuple[str, str]] = Counter()
    for id, producers, consumers, paired in edges:
        for number, producer in enumerate(producers):
            to = [consumers[number]] if paired and consumers else [*consumers]
            for sink in counters.get(producer, {}).get("sinks", ()):
                if sink["edge"] == id:
                    for place, bytes in _received(sink, [host_of.get(c, CLIENT) for c in to]):
                        source, on_way = host_of[producer], below.get(place, ())
                        first = next((name for name in above.get(source, ()) if name in on_way), place)
                        links[source, first] += bytes
    names = sorted({host_of[i] for i in counters if i in host_of})
    away = {link: bytes for link, bytes in links.most_common() if bytes and link[0] != link[1]}
    sent, received = Counter[str](), Counter[str]()
    for (source, target), bytes in away.items():
        sent[source] += bytes
        received[target] += bytes
    hosts = tuple(HostTraffic(name, sent[name], received[name]) for name in names)
    return Crossed(away, hosts, _of_networks(away, above))


def _of_networks(away: Mapping[tuple[str, str], int], above: Mapping[str, Sequence[str]]) -> dict[str, tuple[int, int]]:
    """Return the bytes that left and entered each network. A device that is a network, as a switch, is in it."""
    up, down = Counter[str](), Counter[str]()
    inner = {network for networks in above.values() for network in networks}
    for (source, target), bytes in away.items():
        left, entered = ([name, *above.get(name, ())] for name in (source, target))
        up.update({network: bytes for network in left if network in inner and network not in entered})
        down.update({network: bytes for network in entered if network in inner and network not in left})
    return {network: (up[network], down[network]) for network in sorted({*up, *down})}


def _received(sink: Mapping[str, Any], places: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the bytes that each consumer of an edge received from a producer, with its host."""
    each = sink.get("peer_bytes")
    if each is not None and len(each) == len(places):
        yield from zip(places, each, strict=True)
    elif each is not None or not places:  # the client's endpoints
        yield CLIENT, sink["bytes"]
    else:
        for place, count in Counter(places).items():
            yield place, sink["bytes"] * count // len(places)
