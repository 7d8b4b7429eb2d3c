"""What the paper's evaluation asks, measured: overhead by phase, throughput of each accelerator alone, what aggregation
in the switch saves, and query time by where operators run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jumpgate.errors import ComputeError
from jumpgate.study.paper.cluster import Cluster
from jumpgate.study.paper.runner import FORMATS

Progress = Callable[[str, int, int], None]
#: part of a job → its phases in the order of the record; what is left is the client's, and taking the job down
PARTS: Mapping[str, tuple[str, ...]] = {
    "plan": ("map",), "agents": ("agents",), "compile": ("generate", "compile"), "start": ("allocate", "configure"),
}  # fmt: skip
PLACES = ("client", "hosts", "switch")


@dataclass(frozen=True)
class Phases:
    """Seconds of a query's parts."""

    query: str
    run: str
    seconds: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def set_up(self) -> float:
        """All before tuples flow."""
        return sum(self.seconds[part] for part in PARTS)


@dataclass(frozen=True)
class Throughput:
    """An accelerator alone on one host without a limit on its link: bytes of files, or of edges, and rows."""

    what: str
    bytes_s: float
    rows_s: float


@dataclass(frozen=True)
class Reduction:
    """Sales by item: bytes that hosts sent to the switch, and those that came from it."""

    link: str
    sent: int
    left: int

    @property
    def share(self) -> float:
        return self.left / self.sent if self.sent else 1.0


@dataclass(frozen=True)
class Placed:
    """Sales by item at one link speed, by where rows are added up."""

    link: str
    seconds: dict[str, float]
    moved: dict[str, int]


@dataclass(frozen=True)
class Measured:
    workers: int
    scale: float
    runs: int
    phases: tuple[Phases, ...]
    throughputs: tuple[Throughput, ...]
    reductions: tuple[Reduction, ...]
    placed: tuple[Placed, ...]


def measure(
    cluster: Cluster, scale: float, links: Sequence[str], runs: int, progress: Progress = lambda what, done, total: None
) -> Measured:
    """All of it. Raises ComputeError where ways of computing a query give different answers, and what ends a query."""
    steps, total = iter(range(1, 1000)), 3 + 1 + len(FORMATS) + 4 * len(links)

    def step(what: str) -> None:
        progress(what, next(steps) - 1, total)

    phases = []
    for query in ("sales by item", "sales by ticket", "join"):
        step(f"phases of {query}")
        phases += _phases(cluster, query, runs)
    throughputs = []
    for format in FORMATS:
        step(f"scan of {format}")
        throughputs.append(_scan(cluster, format, runs))
    step("join, groups, shuffle")
    throughputs += [
        _rows(cluster, what, query, runs) for what, query in (("join", "join"), ("group", "sales by ticket"))
    ]
    throughputs.append(_shuffle(cluster, runs))
    reductions, placed = [], []
    for link in links:
        cluster.limit(link)
        seconds, moved, answers = {}, {}, {}
        for place in PLACES:
            step(f"{place} at {link}")
            cluster.ask("sales by item", place)  # compiled, and pages of files in memory
            said = cluster.ask("sales by item", place, runs)
            seconds[place], moved[place] = statistics.median(said["seconds"]), sum(said["moved"].values())
            answers[place] = (said["rows"], said["totals"])
            if place == "switch":
                reductions.append(_reduction(link, said["moved"]))
                if link == links[-1]:
                    throughputs.append(_switch(said))
        if len(set(map(str, answers.values()))) > 1:
            raise ComputeError(f"sales by item differ by where they are added up: {answers}")
        placed.append(Placed(link, seconds, moved))
        step(f"{link} done")
    return Measured(
        len(cluster.workers), scale, runs, tuple(phases), tuple(throughputs), tuple(reductions), tuple(placed)
    )


def _phases(cluster: Cluster, query: str, runs: int) -> list[Phases]:
    """Of the first run, which compiles, and of a warm one."""
    return [
        _parts(query, "first", cluster.ask(query)),
        _parts(query, "warm", cluster.ask(query, runs=runs + 1)),
    ]


def _parts(query: str, run: str, said: Mapping[str, object]) -> Phases:
    phases, taken = said["phases"], said["seconds"]
    assert isinstance(phases, dict) and isinstance(taken, list)
    seconds = {part: sum(phases.get(name, 0.0) for name in names) for part, names in PARTS.items()}
    seconds["execute"] = sum(s for name, s in phases.items() if name.startswith("stage"))
    seconds["end"] = max(0.0, taken[-1] - sum(seconds.values()))
    return Phases(query, run, seconds)


def _scan(cluster: Cluster, format: str, runs: int) -> Throughput:
    said = _warm(cluster, f"scan {format}", runs)
    taken = _execution(said)
    return Throughput(f"scan of {format}", said["read"] / taken, said["rows_read"] / taken)


def _rows(cluster: Cluster, what: str, query: str, runs: int) -> Throughput:
    said = _warm(cluster, query, runs)
    taken = _execution(said)
    return Throughput(what, said["read"] / taken, said["rows_read"] / taken)


def _shuffle(cluster: Cluster, runs: int) -> Throughput:
    """All hosts send groups to each other."""
    cluster.ask("sales by ticket")
    said = cluster.ask("sales by ticket", runs=runs)
    between = sum(moved for ends, moved in said["moved"].items() if not ends.endswith("to client"))
    taken = _execution(said)
    return Throughput("shuffle", between / taken, said["rows_read"] / taken)


def _switch(said: Mapping[str, object]) -> Throughput:
    moved, rows = said["moved"], said["rows_read"]
    assert isinstance(moved, dict) and isinstance(rows, int)
    taken = _execution(said)
    return Throughput("aggregation in the switch", _to_switch(moved) / taken, rows / taken)


def _warm(cluster: Cluster, query: str, runs: int) -> dict[str, float]:
    cluster.ask(query, hosts=1)
    return cluster.ask(query, runs=runs, hosts=1)


def _execution(said: Mapping[str, object]) -> float:
    """Seconds of the stages."""
    phases = said["phases"]
    assert isinstance(phases, dict)
    return float(sum(s for name, s in phases.items() if name.startswith("stage"))) or 1e-9


def _reduction(link: str, moved: Mapping[str, int]) -> Reduction:
    left = sum(size for ends, size in moved.items() if ends.startswith("switch_aggregate to "))
    return Reduction(link, _to_switch(moved), left)


def _to_switch(moved: Mapping[str, int]) -> int:
    return sum(size for ends, size in moved.items() if ends.endswith(" to switch_aggregate"))
