"""Measures the paper's evaluation: overhead by phase, throughput of each accelerator alone, the saving of aggregation
in the switch, and query time by where operators run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jumpgate.errors import ComputeError
from jumpgate.study.paper.cluster import Cluster
from jumpgate.study.paper.runner import FORMATS

Progress = Callable[[str, int, int], None]
#: part of a job → its phases in the order of the record; the rest is the client's and taking the job down
PARTS: Mapping[str, tuple[str, ...]] = {
    "plan": ("map",), "agents": ("agents",), "compile": ("generate", "compile"), "start": ("allocate", "configure"),
}  # fmt: skip
PLACES = ("client", "hosts", "switch")
#: queries whose phases are measured
QUERIES = ("sales by item", "sales by ticket", "join")
#: figures to choose from, in the order of the page
FIGURES = ("phases", "throughput", "switch", "places")


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
        """Return the time before tuples flow."""
        return sum(self.seconds[part] for part in PARTS)


@dataclass(frozen=True)
class Throughput:
    """An accelerator alone, without a limit on any link: bytes of files (on one host), or of edges (fed by all
    hosts), and rows."""

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
    """Figures that were not chosen are empty."""

    workers: int
    scale: float
    runs: int
    phases: tuple[Phases, ...] = ()
    throughputs: tuple[Throughput, ...] = ()
    reductions: tuple[Reduction, ...] = ()
    placed: tuple[Placed, ...] = ()


def measure(
    cluster: Cluster,
    scale: float,
    links: Sequence[str],
    runs: int,
    figures: Sequence[str] = FIGURES,
    progress: Progress = lambda what, done, total: None,
) -> Measured:
    """Measure the chosen figures. Raises ComputeError if ways of computing a query give different answers, and any
    error that ends a query."""
    places = PLACES if "places" in figures else ("switch",) if "switch" in figures else ()
    counts = {"phases": len(QUERIES), "throughput": len(FORMATS) + 4}
    steps, total = itertools.count(), sum(counts.get(figure, 0) for figure in figures) + len(links) * len(places)

    def step(what: str) -> None:
        progress(what, next(steps), total)

    phases: list[Phases] = []
    throughputs: list[Throughput] = []
    if "phases" in figures:
        for query in QUERIES:
            step(f"phases of {query}")
            phases += [_parts(query, "first", cluster.ask(query)), _parts(query, "warm", cluster.ask(query, runs=runs))]
    if "throughput" in figures:
        for what, query in ((f"scan of {format}", f"scan {format}") for format in FORMATS):
            step(what)
            throughputs.append(_of_files(what, _warm(cluster, query, runs, hosts=1)))
        for what, query in (("join", "join"), ("group", "sales by ticket")):
            step(what)
            throughputs.append(_of_files(what, _warm(cluster, query, runs, hosts=1)))
        step("shuffle")
        throughputs.append(_of_edges("shuffle", _warm(cluster, "sales by ticket", runs), _between_hosts))
        step("aggregation in the switch")
        said = _warm(cluster, "sales by item", runs, "switch")
        throughputs.append(_of_edges("aggregation in the switch", said, _to_switch))
    reductions, placed = [], []
    for link in links if places else ():
        cluster.limit(link)
        found = {}
        for place in places:
            step(f"{place} at {link}")
            found[place] = _warm(cluster, "sales by item", runs, place)
        if len({said["digest"] for said in found.values()}) > 1:
            raise ComputeError(f"sales by item differ by where they are added up, at links of {link}")
        if "switch" in figures:
            reductions.append(_reduction(link, found["switch"]["moved"]))
        if "places" in figures:
            moved = {place: sum(said["moved"].values()) for place, said in found.items()}
            placed.append(Placed(link, {place: said["seconds"] for place, said in found.items()}, moved))
    progress("done", total, total)
    return Measured(
        len(cluster.workers), scale, runs, tuple(phases), tuple(throughputs), tuple(reductions), tuple(placed)
    )


def _parts(query: str, run: str, said: Mapping[str, Any]) -> Phases:
    phases = said["phases"]
    seconds = {part: sum(phases.get(name, 0.0) for name in names) for part, names in PARTS.items()}
    seconds["execute"] = _execution(said)
    seconds["end"] = max(0.0, said["seconds"] - sum(seconds.values()))
    return Phases(query, run, seconds)


def _warm(cluster: Cluster, query: str, runs: int, where: str = "hosts", hosts: int = 0) -> dict[str, Any]:
    """Run once before measuring, so that programs are compiled and files are in memory."""
    cluster.ask(query, where, hosts=hosts)
    return cluster.ask(query, where, runs, hosts)


def _execution(said: Mapping[str, Any]) -> float:
    """Return the seconds of the stages."""
    return float(sum(s for name, s in said["phases"].items() if name.startswith("stage")))


def _of_files(what: str, said: Mapping[str, Any]) -> Throughput:
    return Throughput(what, said["read"] / _execution(said), said["rows_read"] / _execution(said))


def _of_edges(what: str, said: Mapping[str, Any], crossed: Callable[[Mapping[str, int]], int]) -> Throughput:
    return Throughput(what, crossed(said["moved"]) / _execution(said), said["rows_read"] / _execution(said))


def _reduction(link: str, moved: Mapping[str, int]) -> Reduction:
    left = sum(size for ends, size in moved.items() if ends.startswith("switch_aggregate to "))
    return Reduction(link, _to_switch(moved), left)


def _to_switch(moved: Mapping[str, int]) -> int:
    return sum(size for ends, size in moved.items() if ends.endswith(" to switch_aggregate"))


def _between_hosts(moved: Mapping[str, int]) -> int:
    return sum(size for ends, size in moved.items() if not ends.endswith(" to client"))
