"""The runs of the Spark benchmark as a page: speed-ups, as in figure 8 of the Jumpgate paper, and seconds."""

from __future__ import annotations

from collections.abc import Sequence

from bench._measure import geometric_mean
from bench._runs import Run
from bench._spark_runs import WAYS
from jumpgate.study import charts, report


def page(runs: Sequence[Run], formats: Sequence[str], scale: float, master: str) -> str:
    """HTML without scripts or links; all text is escaped."""
    timed = [run for run in runs if {"always", "never"} <= run.seconds.keys()]
    ratios = {f: {r.query: r.ratio("always") for r in timed if r.format == f} for f in formats}
    ratios = {format: found for format, found in ratios.items() if found}
    shown = [
        {
            "name": format,
            "mean": geometric_mean(found.values()),
            "count": len(found),
            "bars": charts.speedup_bars([(n, s, "phase-1", f"query {n}: {s:.2f}×") for n, s in found.items()]),
        }
        for format, found in ratios.items()
    ]
    return report.template("spark_bench.html.j2").render(
        runs=runs, formats=shown, scale=scale, master=master, ways=WAYS, right=sum(r.right for r in runs),
        count=len(runs), speedups=charts.cdf({f: [*r.values()] for f, r in ratios.items()}, lambda s: f"{s:.3g}×"),
    )  # fmt: skip
