"""A job's events over time: plain values that the HTML page and the terminal draw. Times are seconds from
submission."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from jumpgate.ntf.crossed import Crossed, crossed


@dataclass(frozen=True)
class Span:
    """A span of time from `start_s` to `end_s`."""

    name: str
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True)
class PipelineRun:
    """One pass of an instance over its input. `busy` is the fraction of its threads' time spent working, 0 to 1."""

    span: Span
    stage: int
    busy: float
    wait_s: float
    rows_in: int
    rows_out: int | None  #: None where the pipeline fills a table of its instance


@dataclass(frozen=True)
class Flow:
    """Data that entered or left an instance: a file source, an edge's receiving end, or its sending end."""

    name: str
    rows: int
    bytes: int
    wait_s: float
    skipped_rows: int = 0
    pruned_bytes: int = 0
    shares: int = 0  #: parts of files that were read, and those taken over from siblings
    stolen_shares: int = 0


@dataclass(frozen=True)
class InstanceRun:
    """One process. `operators` are its plan as lines of text, the root first, indented by depth."""

    id: str
    fragment: str
    nca: str
    host: str
    operators: tuple[str, ...]
    pipelines: tuple[PipelineRun, ...]
    sources: tuple[Flow, ...]
    sinks: tuple[Flow, ...]
    rss_peak_bytes: int


@dataclass(frozen=True)
class EdgeRun:
    """All data that crossed an edge of the plan. `target` is a fragment, or "client". If `is_filter`, it carries keys
    to the senders of the source."""

    id: str
    source: str
    target: str
    layout: str
    partitioning: str
    rows: int
    bytes: int
    is_filter: bool = False


@dataclass(frozen=True)
class Asked:
    """Figures of requests to object stores. `cached_bytes` were on the disks of hosts instead."""

    requests: float = 0.0
    scanned_bytes: float = 0.0
    returned_bytes: float = 0.0
    cached_bytes: float = 0.0
    cost: float = 0.0


@dataclass(frozen=True)
class Timeline:
    """A whole job. `total_s` is the time from submission to the end; `notes` say why the plan is what it is."""

    job: str
    state: str
    submitted_at: str
    phases: tuple[Span, ...]  #: set-up, in order
    stages: tuple[Span, ...]
    instances: tuple[InstanceRun, ...]
    edges: tuple[EdgeRun, ...]
    total_s: float
    error: str = ""
    notes: tuple[str, ...] = ()
    text: str = ""  #: the user's query
    crossed: Crossed = Crossed({}, ())  #: traffic of links between hosts
    asked: Asked | None = None  #: of stores, and what was expected; None: none was asked
    expected: Asked | None = None

    @property
    def setup_s(self) -> float:
        """Return the time from submission to the first stage: the phases and the gaps between them (starting agents,
        messages)."""
        return self.stages[0].start_s if self.stages else self.total_s

    @property
    def execution_s(self) -> float:
        return sum(stage.seconds for stage in self.stages)

    @property
    def sources(self) -> tuple[Flow, ...]:
        """Return every file source of every instance."""
        received = {edge.id for edge in self.edges}
        return tuple(s for i in self.instances for s in i.sources if s.name not in received)

    @property
    def read_bytes(self) -> int:
        return sum(source.bytes for source in self.sources)

    @property
    def result_rows(self) -> int:
        return sum(edge.rows for edge in self.edges if edge.target == "client")

    def passing(self, instance: InstanceRun) -> Span | None:
        """Return the time while rows were sent to an instance without pipelines, such as a switch; None for others."""
        names = [f"send {edge.id}" for edge in self.edges if edge.target == instance.fragment]
        sent = [
            run.span for i in self.instances for run in i.pipelines if any(run.span.name.endswith(n) for n in names)
        ]
        if instance.pipelines or not sent:
            return None
        return Span(instance.nca, min(s.start_s for s in sent), max(s.end_s for s in sent))

    @property
    def rss_peak_bytes(self) -> int:
        return max((instance.rss_peak_bytes for instance in self.instances), default=0)


def from_record(record: Mapping[str, Any]) -> Timeline:
    """Return the timeline of a job's record (jumpgate/orchestrator/record.py), also of one that failed or still
    runs."""
    zero: int = record["submitted_ns"]
    ends = [p["end_ns"] for p in record["phases"]]
    end: int = record["ended_ns"] or max(ends, default=zero)

    def seconds(time_ns: int) -> float:
        return max(time_ns - zero, 0) / 1e9

    spans = [Span(p["name"], seconds(p["start_ns"]), seconds(p["end_ns"] or end)) for p in record["phases"]]
    fragments = record["explain"].get("fragments", {})
    fragment_of = {i["id"]: i["fragment"] for i in record["instances"]}
    flows = _flows(record["counters"])
    return Timeline(
        job=record["job"],
        state=record["state"],
        submitted_at=f"{datetime.datetime.fromtimestamp(zero / 1e9, datetime.UTC):%Y-%m-%d %H:%M:%S} UTC",
        phases=tuple(s for s in spans if not s.name.startswith("stage")),
        stages=tuple(s for s in spans if s.name.startswith("stage")),
        instances=tuple(
            _instance(i, record["counters"].get(i["id"], {}), fragments.get(i["fragment"], {}), seconds)
            for i in record["instances"]
        ),
        edges=tuple(
            EdgeRun(
                id=e["id"],
                source=fragment_of[e["producers"][0]],
                target=fragment_of[e["consumers"][0]] if e["consumers"] else "client",
                layout=e["layout"],
                partitioning=e["partitioning"],
                rows=sum(flow["rows"] for flow in flows.get(e["id"], ())),
                bytes=sum(flow["bytes"] for flow in flows.get(e["id"], ())),
                is_filter=bool(e.get("filter")),
            )
            for e in record["edges"]
        ),
        total_s=seconds(end),
        error=record["error"]["message"] if record["error"] else "",
        notes=_notes(record["explain"]),
        text=record.get("text", ""),
        crossed=crossed(
            ((e["id"], e["producers"], e["consumers"], e["partitioning"] == "paired") for e in record["edges"]),
            {i["id"]: i["host"] for i in record["instances"]},
            record["counters"],
            record["explain"].get("above", {}),
            record["explain"].get("below", {}),
        ),
        asked=_asked(record["counters"]),
        expected=_asked(fragments),
    )


def _asked(of: Mapping[str, Any]) -> Asked | None:
    """Return the sum of what parts of a job asked of stores, or were expected to."""
    found = [part["asked"] for part in of.values() if part.get("asked")]
    sums = {field.name: sum(asked.get(field.name, 0) for asked in found) for field in fields(Asked)}
    return Asked(**sums) if found else None


def _flows(counters: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Return what each edge's producers sent, or what its consumers received if the producers, such as a switch, count
    nothing."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    received: dict[str, list[Mapping[str, Any]]] = {}
    for counted in counters.values():
        for sink in counted.get("sinks", ()):
            found.setdefault(sink["edge"], []).append(sink)
        for source in counted.get("sources", ()):
            received.setdefault(source["name"], []).append(source)
    return received | found


def _instance(
    instance: Mapping[str, Any],
    counters: Mapping[str, Any],
    fragment: Mapping[str, Any],
    seconds: Callable[[int], float],
) -> InstanceRun:
    return InstanceRun(
        id=instance["id"],
        fragment=instance["fragment"],
        nca=instance["nca"],
        host=instance["host"],
        operators=tuple(fragment.get("plan") or instance["operators"]),
        pipelines=tuple(_pipeline(p, seconds) for p in counters.get("pipelines", ()) if p["end_ns"]),
        sources=tuple(_flow(s, s["name"]) for s in counters.get("sources", ())),
        sinks=tuple(_flow(s, s["edge"]) for s in counters.get("sinks", ())),
        rss_peak_bytes=counters.get("rss_peak_bytes", 0),
    )


def _pipeline(p: Mapping[str, Any], seconds: Callable[[int], float]) -> PipelineRun:
    span = Span(p["name"], seconds(p["start_ns"]), seconds(p["end_ns"]))
    spent = p["busy_ns"] + p["wait_ns"]
    busy = p["busy_ns"] / spent if spent else 1.0
    return PipelineRun(span, p["stage"], busy, p["wait_ns"] / 1e9, p["rows_in"], p.get("rows_out"))


def _flow(counted: Mapping[str, Any], name: str) -> Flow:
    skipped, pruned = counted.get("skipped_rows", 0), counted.get("pruned_bytes", 0)
    shares = counted.get("shares", 0), counted.get("stolen_shares", 0)
    return Flow(name, counted["rows"], counted["bytes"], counted["wait_ns"] / 1e9, skipped, pruned, *shares)


def _notes(explain: Mapping[str, Any]) -> tuple[str, ...]:
    lost = [f"a candidate plan lost: it {candidate['why']}" for candidate in explain.get("lost", ())]
    refused = [f"{r['operator']}: {r['answer']}" for r in explain.get("refused", ())]
    return (*lost, *refused)
