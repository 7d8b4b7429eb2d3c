"""Measures a suite: every query in every mode, in turns, with each run's volumes and phases."""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.query import Query
from jumpgate.errors import JumpgateError
from jumpgate.observe.timeline import Timeline, from_record
from jumpgate.study.suites import Oracle

MODES = ("always", "auto", "never")
#: accelerators that wrap an engine; all others run generated code or are hardware
ENGINES = frozenset({"engine"})
Progress = Callable[[str, int, int], None]


@dataclass
class Volumes:
    """Bytes of one query: of the files it read, as columns in memory, sent between accelerators, and to the client."""

    disk: float = 0.0
    memory: float = 0.0
    between: float = 0.0
    client: float = 0.0


@dataclass
class QueryStudy:
    """One query. seconds: the median of each mode and of DuckDB; phases: (name, start, end) in seconds of the last
    `always` run; reasons: (operator, reason) → count, of operators that were not offloaded."""

    number: int
    verdict: str = "error"
    detail: str = ""
    operators: int = 0
    offloaded: int = 0
    generated: float = 0.0
    jobs: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    volumes: Volumes = field(default_factory=Volumes)
    phases: list[tuple[str, float, float]] = field(default_factory=list)
    setup: dict[str, float] = field(default_factory=dict)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    peak_bytes: int = 0
    bottleneck: str = ""

    @property
    def speedup(self) -> float | None:
        """Return the speed-up of `always` over `never`."""
        ours, theirs = self.seconds.get("always"), self.seconds.get("never")
        return theirs / ours if ours and theirs else None


def study(
    connection: Connection,
    oracle: Oracle,
    queries: dict[int, str],
    runs: int,
    progress: Progress = lambda what, done, total: None,
) -> list[QueryStudy]:
    """All queries: checked against DuckDB in every mode, then measured `runs` times in turns."""
    found = []
    for done, (number, text) in enumerate(queries.items()):
        progress(f"query {number}", done, len(queries))
        found.append(study_one(connection, oracle, number, text, runs))
    progress("done", len(queries), len(queries))
    return found


def study_one(connection: Connection, oracle: Oracle, number: int, text: str, runs: int) -> QueryStudy:
    found = QueryStudy(number)
    times: dict[str, list[float]] = {mode: [] for mode in (*MODES, "duckdb")}
    try:
        for mode in MODES:  # warms up, compiles, and is checked
            with connection.sql(text, offload=mode) as query:
                found.detail = found.detail or oracle.difference(query.to_arrow(), text)
        found.verdict = "wrong" if found.detail else "right"
        turn = [*MODES, "duckdb"]
        order = random.Random(number)
        for _ in range(runs):
            order.shuffle(turn)  # a job is still being taken down after its result: the next run pays for that
            for mode in turn:
                start = time.perf_counter()
                if mode == "duckdb":
                    oracle.run(text)
                else:
                    query = connection.sql(text, offload=mode)
                    query.to_arrow()
                times[mode].append(time.perf_counter() - start)
                if mode == "always":
                    last = query
        found.seconds = {mode: statistics.median(seconds) for mode, seconds in times.items()}
        _describe(found, last, connection)
    except JumpgateError as error:
        found.verdict, found.detail = "error", f"{type(error).__name__}: {error}"
    return found


def _describe(found: QueryStudy, query: Query, connection: Connection) -> None:
    """Describe one run of the query, from its timings and its jobs' records."""
    split = query.split
    found.operators, found.offloaded, found.jobs = split.operators, split.offloaded, len(split.cuts)
    found.reasons = Counter((kept.kind, kept.reason) for kept in split.kept)
    records = [r for job in query.jobs if (r := connection.session.describe(job).record) is not None]
    timelines = [from_record(record) for record in records]
    found.generated = found.offloaded * (1.0 - engine_share(records))
    found.peak_bytes = sum(instance.rss_peak_bytes for t in timelines for instance in t.instances)
    found.volumes = Volumes(
        disk=sum(t.read_bytes for t in timelines),
        memory=split.read_bytes(),
        between=sum(edge.bytes for t in timelines for edge in t.edges if edge.target != "client"),
        client=sum(edge.bytes for t in timelines for edge in t.edges if edge.target == "client"),
    )
    found.setup = setup_phases(query, timelines)
    found.phases = phases(query, timelines)
    found.bottleneck = bottleneck(query, timelines)


def engine_share(records: Sequence[dict[str, Any]]) -> float:
    """Return the fraction of the jobs' operators that ran in a wrapped engine, 0 to 1."""
    total = engine = 0
    for record in records:
        for fragment in record["explain"].get("fragments", {}).values():
            operators = sum(1 for line in fragment["plan"] if line.split()[0] not in ("emit", "receive"))
            total += operators
            engine += operators if fragment["nca"] in ENGINES else 0
    return engine / total if total else 0.0


def setup_phases(query: Query, timelines: Iterable[Timeline]) -> dict[str, float]:
    """Seconds of each phase before data moves; of jobs side by side the longest counts."""
    found = {"plan": query.timings.planning_s}
    for timeline in timelines:
        for phase in timeline.phases:
            found[phase.name] = max(found.get(phase.name, 0.0), phase.seconds)
    return found


def phases(query: Query, timelines: Iterable[Timeline]) -> list[tuple[str, float, float]]:
    """The query's timeline in seconds since it was submitted: plan, set-up, execution, and the client's rest."""
    planned = query.timings.planning_s
    found = [("plan", 0.0, planned)]
    setup = max((t.setup_s for t in timelines), default=0.0)
    jobs = query.timings.jobs_s
    if jobs:
        ready = planned + min(setup, jobs)
        found += [("set-up", planned, ready), ("execution", ready, planned + jobs)]
    if query.timings.rest_s:
        found.append(("client", planned + jobs, planned + jobs + query.timings.rest_s))
    return found


def bottleneck(query: Query, timelines: Sequence[Timeline]) -> str:
    """Return what took longest: set-up, computing, waiting (for storage, edges and cores), or the client's rest."""
    spent = {"client": query.timings.rest_s, "set-up": query.timings.planning_s, "computing": 0.0, "waiting": 0.0}
    for timeline in timelines:
        spent["set-up"] += timeline.setup_s
        for instance in timeline.instances:
            for run in instance.pipelines:
                share = run.span.seconds / max(len(instance.pipelines), 1)
                spent["computing"] += run.busy * share
                spent["waiting"] += (1.0 - run.busy) * share
    return max(spent, key=lambda name: spent[name])
