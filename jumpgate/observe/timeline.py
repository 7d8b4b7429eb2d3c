"""What a job did and when: plain values that the HTML page and the terminal draw. Times are seconds from submission."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Span:
    """Something that lasted from `start_s` to `end_s`."""

    name: str
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True)
class PipelineRun:
    """One pass of an instance over its input. `busy` is the share of its threads' time spent working, 0 to 1."""

    span: Span
    stage: int
    busy: float
    wait_s: float
    rows_in: int
    rows_out: int


@dataclass(frozen=True)
class Flow:
    """Data that entered or left an instance: a file source, an edge's receiving end, or its sending end."""

    name: str
    rows: int
    bytes: int
    wait_s: float
    skipped_rows: int = 0
    pruned_bytes: int = 0


@dataclass(frozen=True)
class InstanceRun:
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
    """All data that crossed an edge of the plan. `target` is a fragment, or "client"."""

    id: str
    source: str
    target: str
    layout: str
    partitioning: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class Timeline:
    job: str
    state: str
    submitted_at: str
    phases: tuple[Span, ...]  #: set-up, in order
    stages: tuple[Span, ...]
    instances: tuple[InstanceRun, ...]
    edges: tuple[EdgeRun, ...]
    total_s: float
    error: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def setup_s(self) -> float:
        return sum(phase.seconds for phase in self.phases)

    @property
    def execution_s(self) -> float:
        return sum(stage.seconds for stage in self.stages)

    @property
    def sources(self) -> tuple[Flow, ...]:
        """Every file source of every instance."""
        received = {edge.id for edge in self.edges}
        return tuple(s for i in self.instances for s in i.sources if s.name not in received)

    @property
    def read_bytes(self) -> int:
        return sum(source.bytes for source in self.sources)

    @property
    def result_rows(self) -> int:
        return sum(edge.rows for edge in self.edges if edge.target == "client")

    @property
    def rss_peak_bytes(self) -> int:
        return max((instance.rss_peak_bytes for instance in self.instances), default=0)
