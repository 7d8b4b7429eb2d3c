"""Geometry of the report's two pictures: positions of bars, boxes and lines in pixels. No drawing and no HTML here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jumpgate.observe.timeline import EdgeRun, InstanceRun, PipelineRun, Span, Timeline
from jumpgate.words import duration, rows, size

WIDTH = 1100
LABEL_WIDTH = 190
RIGHT_MARGIN = 16
LANE_HEIGHT = 26
AXIS_HEIGHT = 30
HEADER_HEIGHT = 24
BAR_HEIGHT = 18
#: average width of a character of the bars' font
CHARACTER_WIDTH = 6.4

#: boxes share the width of the page within these limits; the client's is small
BOX_WIDTH_MIN = 240
BOX_WIDTH_MAX = 560
CLIENT_WIDTH = 120
BOX_LINE_HEIGHT = 17
BOX_PADDING = 12
LAYER_GAP = 110
BOX_GAP = 26
LINES_MAX = 16


@dataclass(frozen=True)
class Bar:
    """A bar of the timeline. `filled` is the fraction of its height drawn dark (time spent working); 1 for set-up."""

    x: float
    y: float
    width: float
    css: str
    label: str
    title: str
    filled: float = 1.0

    @property
    def fits(self) -> bool:
        return len(self.label) * CHARACTER_WIDTH + 8 <= self.width

    @property
    def label_right(self) -> bool:
        """Return whether a label that does not fit has room to the right of the bar; otherwise it goes to the left."""
        return self.x + self.width + len(self.label) * CHARACTER_WIDTH + 8 <= WIDTH - RIGHT_MARGIN


@dataclass(frozen=True)
class Lane:
    y: float
    label: str
    detail: str
    bars: tuple[Bar, ...]
    header: bool = False


@dataclass(frozen=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True)
class Band:
    """The background of one stage."""

    x: float
    width: float
    label: str


@dataclass(frozen=True)
class TimelineChart:
    """The lanes of one view of a job: `name` is what it shows, all of it or a part."""

    name: str
    width: float
    height: float
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    bands: tuple[Band, ...]


def timeline_views(timeline: Timeline) -> tuple[TimelineChart, ...]:
    """Return the views of a job that a reader can choose, the default first.

    If set-up fills most of the picture, the default shows only the execution: in the full view it would be too
    narrow to read.
    """
    whole = Span("the whole job", 0.0, timeline.total_s)
    stages = timeline.stages
    if not stages:
        return (timeline_chart(timeline, whole),)
    parts = [Span("execution", stages[0].start_s, max(stages[-1].end_s, stages[0].start_s))]
    parts.insert(1 if parts[0].seconds < timeline.total_s / 2 else 0, whole)
    parts += stages if len(stages) > 1 else ()
    return tuple(timeline_chart(timeline, part) for part in parts)


def timeline_chart(timeline: Timeline, part: Span) -> TimelineChart:
    """Draw set-up phases in the first lane, then a lane for each pipeline of every instance within `part`."""
    scale = (WIDTH - LABEL_WIDTH - RIGHT_MARGIN) / max(part.seconds, 1e-9)

    def x(seconds: float) -> float:
        return LABEL_WIDTH + (seconds - part.start_s) * scale

    def seen(span: Span) -> Span | None:
        """Return the part of `span` that lies in the picture."""
        start, end = max(span.start_s, part.start_s), min(span.end_s, part.end_s)
        return replace(span, start_s=start, end_s=end) if start <= end else None

    y: float = AXIS_HEIGHT
    setup = tuple(
        Bar(x(s.start_s), y, max(s.seconds * scale, 1), f"phase phase-{i % 6}", p.name,
            f"{p.name}: {duration(p.seconds)}")
        for i, p in enumerate(timeline.phases) if (s := seen(p)) is not None and s.seconds > 0
    )  # fmt: skip
    lanes = []
    if setup:
        lanes.append(Lane(y, "set-up", duration(timeline.setup_s), setup))
        y += LANE_HEIGHT
    for instance in timeline.instances:
        lanes.append(Lane(y, f"{instance.id}", f"{instance.nca} on {instance.host}", (), header=True))
        y += HEADER_HEIGHT
        for run in instance.pipelines:
            if (span := seen(run.span)) is not None:
                bar = _pipeline_bar(run, x(span.start_s), y, max(span.seconds * scale, 2))
                lanes.append(Lane(y, f"stage {run.stage}", "", (bar,)))
                y += LANE_HEIGHT
        if (passed := timeline.passing(instance)) is not None and (span := seen(passed)) is not None:
            bar = _passing_bar(timeline, instance, passed, x(span.start_s), y, max(span.seconds * scale, 2))
            lanes.append(Lane(y, "rows pass", "", (bar,)))
            y += LANE_HEIGHT
    bands = tuple(
        Band(x(s.start_s), max(s.seconds * scale, 1), s.name) for s in map(seen, timeline.stages) if s is not None
    )
    return TimelineChart(part.name, WIDTH, y + 8, tuple(lanes), _ticks(part, scale), bands)


def _pipeline_bar(run: PipelineRun, x: float, y: float, width: float) -> Bar:
    title = (
        f"{run.span.name}\n{duration(run.span.seconds)}, busy {run.busy:.0%}, waited {duration(run.wait_s)}\n"
        f"{rows(run.rows_in)} rows in, {rows(run.rows_out)} out"
    )
    label = f"{run.span.name} · {duration(run.span.seconds)}, busy {run.busy:.0%}"
    return Bar(x, y, width, "pipeline", label, title, min(max(run.busy, 0.0), 1.0))


def _passing_bar(timeline: Timeline, instance: InstanceRun, span: Span, x: float, y: float, width: float) -> Bar:
    """Draw the bar of a device without pipelines and threads: the rows that crossed it while its senders sent."""
    came = sum(e.rows for e in timeline.edges if e.target == instance.fragment)
    left = sum(e.rows for e in timeline.edges if e.source == instance.fragment)
    label = f"{rows(came)} rows in, {rows(left)} out · {duration(span.seconds)}"
    return Bar(x, y, width, "pipeline", label, f"{instance.nca}\n{label}", 0.0)


def _ticks(part: Span, scale: float) -> tuple[Tick, ...]:
    """Return five to ten round times since the part's start."""
    raw = max(part.seconds, 1e-9) / 8
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
    return tuple(Tick(LABEL_WIDTH + i * step * scale, duration(i * step)) for i in range(int(part.seconds / step) + 1))


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    title: str
    subtitle: str
    lines: tuple[str, ...]
    css: str


@dataclass(frozen=True)
class Line:
    """A curve from box to box. `width` grows with the logarithm of the bytes."""

    path: str
    width: float
    label_x: float
    label_y: float
    label: str
    detail: str
    title: str


@dataclass(frozen=True)
class GraphChart:
    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def graph_chart(timeline: Timeline) -> GraphChart:
    """Draw the plan from files on the left to the client on the right; one box for each fragment."""
    fragments: dict[str, list[InstanceRun]] = {}
    for instance in timeline.instances:
        fragments.setdefault(instance.fragment, []).append(instance)
    layer = _layers(list(fragments), timeline.edges)
    layers = max(layer.values())
    room = (WIDTH - 16 - CLIENT_WIDTH) / max(layers, 1) - LAYER_GAP
    box_width = min(max(room, BOX_WIDTH_MIN), BOX_WIDTH_MAX)
    boxes: dict[str, Box] = {}
    bottom: dict[int, float] = {}
    for name in (*fragments, "client"):
        members = fragments.get(name, [])
        lines = _box_lines(members, box_width) if members else (f"{rows(timeline.result_rows)} rows",)
        height = 2 * BOX_PADDING + BOX_LINE_HEIGHT * (len(lines) + (1 if members else 0.7))
        x = 8 + layer[name] * (box_width + LAYER_GAP)
        y = bottom.get(layer[name], 8.0)
        bottom[layer[name]] = y + height + BOX_GAP
        subtitle = f"{len(members)} × {members[0].nca}" if members else ""
        width, css = (box_width, "fragment") if members else (CLIENT_WIDTH, "client")
        boxes[name] = Box(x, y, width, height, name, subtitle, lines, css)
    tallest = max(bottom.values())
    centred = {name: replace(box, y=box.y + (tallest - bottom[layer[name]]) / 2) for name, box in boxes.items()}
    lines_ = tuple(_line(edge, centred[edge.source], centred[edge.target]) for edge in timeline.edges)
    return GraphChart(16 + layers * (box_width + LAYER_GAP) + CLIENT_WIDTH, tallest, tuple(centred.values()), lines_)


def _layers(fragments: Sequence[str], edges: Sequence[EdgeRun]) -> dict[str, int]:
    """Return the longest path of rows from a leaf to each fragment; the client comes last."""
    layer = dict.fromkeys((*fragments, "client"), 0)
    for _ in layer:
        for edge in (e for e in edges if not e.is_filter):
            layer[edge.target] = max(layer[edge.target], layer[edge.source] + 1)
    return layer


def _box_lines(members: Sequence[InstanceRun], width: float) -> tuple[str, ...]:
    characters = int((width - 2 * BOX_PADDING) / CHARACTER_WIDTH)
    operators = [_cut(text, characters) for text in members[0].operators]
    if len(operators) <= LINES_MAX:
        return tuple(operators)
    return (*operators[: LINES_MAX - 1], f"… and {len(operators) - LINES_MAX + 1} more")


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _line(edge: EdgeRun, source: Box, target: Box) -> Line:
    x1, y1 = source.x + source.width, source.y + source.height / 2
    x2, y2 = target.x, target.y + target.height / 2
    tip = 7.0
    if edge.is_filter:  # back to where rows come from
        x1, x2, tip = source.x, target.x + target.width, -tip
    bend = (x2 - x1) / 2
    width = 1.5 + min(math.log10(max(edge.bytes, 1)), 10) * 0.5
    return Line(
        f"M{x1:.1f},{y1:.1f} C{x1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} {x2 - tip:.1f},{y2:.1f}",
        round(width, 1), (x1 + x2) / 2, (y1 + y2) / 2 - 10, f"{rows(edge.rows)} rows", size(edge.bytes),
        f"{edge.id}: {rows(edge.rows)} rows, {size(edge.bytes)}, {edge.layout}, {edge.partitioning}",
    )  # fmt: skip
