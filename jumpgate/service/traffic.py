"""The rows that a job moved, by the kind of edge that they crossed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jumpgate.orchestrator.record import JobRecord


class Way(NamedTuple):
    """A kind of edge: `read` (of files), `exchange` (between instances), `filter` (of joins) or `result`."""

    kind: str
    transport: str


@dataclass
class Flow:
    """Sums of what went one way."""

    rows: int = 0
    bytes: int = 0
    repeated_packets: int = 0
    dropped_packets: int = 0

    def add(self, counted: Mapping[str, Any]) -> None:
        self.rows += counted.get("rows", 0)
        self.bytes += counted.get("bytes", 0)

    def add_packets(self, counted: Mapping[str, Any]) -> None:
        self.repeated_packets += counted.get("repeated_packets", 0)
        self.dropped_packets += counted.get("dropped_packets", 0)


def traffic(record: JobRecord) -> dict[Way, Flow]:
    """Return the sums over a job's instances. Rows of an edge are what its producers sent, or what its consumers
    received where the producers, such as a device on the way, count nothing. Edges that the plan does not have, of an
    accelerator's own counters, are left out."""
    edges = {edge["id"]: Way(_kind(edge), edge["transport"]) for edge in record.edges}
    sent = {sink.get("edge") for counters in record.counters.values() for sink in counters.get("sinks", ())}
    found: dict[Way, Flow] = {}
    for counters in record.counters.values():
        for sink in counters.get("sinks", ()):
            if (way := edges.get(sink.get("edge", ""))) is None:
                continue
            flow = found.setdefault(way, Flow())
            flow.add(sink)
            flow.add_packets(sink)
        for source in counters.get("sources", ()):
            name = source.get("name", "")
            flow = found.setdefault(edges.get(name, Way("read", "file")), Flow())
            if name not in sent:
                flow.add(source)
            flow.add_packets(source)
    return found


def result_rows(record: JobRecord) -> int:
    """Return how many rows the client was sent."""
    return sum(flow.rows for way, flow in traffic(record).items() if way.kind == "result")


def _kind(edge: Mapping[str, Any]) -> str:
    if edge.get("filter"):
        return "filter"
    return "exchange" if edge["consumers"] else "result"
