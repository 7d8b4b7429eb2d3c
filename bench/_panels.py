"""Pages of benchmarks: lines over numbers and tables, beside what was published, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench._measure import Figure
from jumpgate.study import report


@dataclass(frozen=True)
class Panel:
    """Lines over numbers, or the `rows` of a table."""

    title: str
    text: str
    chart: object = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def page(title: str, subtitle: str, text: str, panels: Sequence[Panel], figures: Sequence[Figure]) -> str:
    """Return the page."""
    template = report.template("bench_panels.html.j2")
    return template.render(title=title, subtitle=subtitle, text=text, panels=panels, figures=figures)
