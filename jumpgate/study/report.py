"""The study as numbers and as one HTML page without scripts or links."""

from __future__ import annotations

import functools
import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import jinja2

from jumpgate import words
from jumpgate.study import charts
from jumpgate.study.runs import MODES, QueryStudy


@dataclass(frozen=True)
class Study:
    """A finished study; `title` is the suite's."""

    title: str
    scale: float
    format: str
    runs: int
    threads: int
    queries: tuple[QueryStudy, ...]

    @property
    def right(self) -> int:
        return sum(q.verdict == "right" for q in self.queries)

    @property
    def operators_offloaded(self) -> float:
        """The share of the plans' operators that ran on accelerators."""
        return sum(q.offloaded for q in self.queries) / max(1, sum(q.operators for q in self.queries))

    @property
    def operators_generated(self) -> float:
        """The share of the plans' operators that ran in generated code."""
        return sum(q.generated for q in self.queries) / max(1, sum(q.operators for q in self.queries))

    def ratio(self, mode: str, other: str) -> float | None:
        """Geometric mean over the queries of other's time ÷ mode's; None if none has both."""
        logs = [math.log(q.seconds[other] / q.seconds[mode]) for q in self.queries if {mode, other} <= q.seconds.keys()]
        return math.exp(sum(logs) / len(logs)) if logs else None

    @property
    def auto_worst(self) -> float | None:
        """The least, over the queries, of `never`'s time ÷ `auto`'s."""
        return min((q.seconds["never"] / q.seconds["auto"] for q in self.queries if "auto" in q.seconds), default=None)

    @property
    def kept(self) -> list[tuple[str, str, int, list[int]]]:
        """(operator, reason, how often, in which queries) of what stayed, the most frequent first."""
        total: Counter[tuple[str, str]] = Counter()
        where: dict[tuple[str, str], list[int]] = {}
        for query in self.queries:
            total.update(query.reasons)
            for key in query.reasons:
                where.setdefault(key, []).append(query.number)
        return [(kind, reason, count, where[kind, reason]) for (kind, reason), count in total.most_common()]


def data(study: Study) -> dict[str, Any]:
    """The whole study for programs."""
    queries = []
    for query in study.queries:
        one = asdict(query)
        one["reasons"] = [{"operator": k, "reason": r, "count": n} for (k, r), n in query.reasons.items()]
        queries.append(one)
    return {
        "suite": study.title, "scale": study.scale, "format": study.format, "threads": study.threads,
        "right": study.right, "queries_total": len(study.queries),
        "operators_offloaded": study.operators_offloaded, "operators_generated": study.operators_generated,
        "speedup_vs_client": study.ratio("always", "never"), "speedup_vs_duckdb": study.ratio("always", "duckdb"),
        "auto_worst": study.auto_worst, "queries": queries,
    }  # fmt: skip


def html(study: Study) -> str:
    """All text is escaped: reasons and messages may hold anything."""
    return template("study.html.j2").render(
        s=study,
        modes=(*MODES, "duckdb"),
        setup=charts.setup_cdf(study.queries),
        volumes=charts.volume_cdf(study.queries),
        speedups=charts.speedups(study.queries),
        timelines=charts.timelines(study.queries),
        bottlenecks=charts.BOTTLENECKS,
        phases=charts.PHASES,
    )


@functools.cache
def template(name: str) -> jinja2.Template:
    """A page with pictures."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("jumpgate.templates", "html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=words.duration, size=lambda v: words.size(int(v)), px=lambda x: f"{x:.1f}",
        percent=lambda x: f"{x:.1%}", times=lambda x: "–" if x is None else f"{x:.2f}×",
    )  # fmt: skip
    return environment.get_template(name)
