"""Prints a job's timeline in the terminal: a line for each phase and pipeline, bars on one common time axis."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from jumpgate.observe.timeline import Span, Timeline
from jumpgate.words import duration, rows

#: width of the time axis, as the terminal allows
BAR_CELLS_MIN = 12
BAR_CELLS_MAX = 40
OTHER_CELLS = 84


def timeline(t: Timeline, width: int) -> RenderableType:
    """Draw set-up phases, then pipelines in the order in which they started. █ is working time, ░ waiting.

    width: of the terminal, in cells.
    """
    cells = min(max(width - OTHER_CELLS, BAR_CELLS_MIN), BAR_CELLS_MAX)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("what", overflow="fold", min_width=16)
    axis = "·" * (cells - len(duration(t.total_s)) - 3)
    table.add_column(f"0 {axis} {duration(t.total_s)}", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("busy", justify="right", no_wrap=True)
    table.add_column("rows in", justify="right", no_wrap=True)
    table.add_column("out", justify="right", no_wrap=True)
    for phase in t.phases:
        table.add_row(
            Text("set-up"), Text(phase.name), _bar(phase, t.total_s, cells, 1, "magenta"), duration(phase.seconds)
        )
    runs = [(run, instance) for instance in t.instances for run in instance.pipelines]
    for run, instance in sorted(runs, key=lambda pair: (pair[0].stage, pair[0].span.start_s)):
        table.add_row(
            Text(f"stage {run.stage}"),
            Text(f"{instance.id}: {run.span.name}"),
            _bar(run.span, t.total_s, cells, run.busy, "blue"),
            duration(run.span.seconds),
            f"{run.busy:.0%}",
            rows(run.rows_in),
            rows(run.rows_out),
        )
    return Group(table, Text("█ working  ░ waiting", style="dim"))


def _bar(span: Span, total_s: float, cells: int, busy: float, colour: str) -> Text:
    """Draw the span at its place on the axis, at least one cell wide; its first part is the fraction of working
    time."""
    cell = max(total_s, 1e-9) / cells
    start = min(int(span.start_s / cell), cells - 1)
    width = max(1, min(round(span.seconds / cell), cells - start))
    worked = round(width * min(max(busy, 0.0), 1.0))
    return Text(" " * start).append("█" * worked, colour).append("░" * (width - worked), f"{colour} dim")
