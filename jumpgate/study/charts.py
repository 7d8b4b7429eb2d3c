"""Geometry of the study's pictures, in pixels: cumulative distributions, speed-ups, and the queries' timelines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jumpgate.study.runs import QueryStudy
from jumpgate.words import duration, size

WIDTH, HEIGHT = 530, 300
WIDE = 1100
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 12, 34
#: of an axis over numbers
MARKS_MAX = 12
ROW_HEIGHT, BAR_HEIGHT, LABEL_WIDTH = 14, 10, 46
#: in the order of their colours; the template has a class for each
BOTTLENECKS = ("computing", "waiting", "set-up", "client")
PHASES = ("plan", "set-up", "execution", "client")


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Curve:
    """One series of a distribution; `css` names its colour."""

    name: str
    path: str
    css: str
    median: str


@dataclass(frozen=True)
class Cdf:
    """Share of the queries (upwards) at or below a value (to the right, logarithmic)."""

    width: float
    height: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curves: tuple[Curve, ...]


def cdf(series: Mapping[str, Sequence[float]], label: Callable[[float], str]) -> Cdf:
    """Distributions on one axis, from the power of ten below the least value to the one above the greatest.

    Values of zero are at the left edge; a series without values is left out.
    """
    shown = {name: sorted(values) for name, values in series.items() if values and max(values) > 0}
    positive = [v for values in shown.values() for v in values if v > 0] or [1.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    high = max(high, low + 1)
    step = (WIDTH - LEFT - RIGHT) / (high - low)

    def x(value: float) -> float:
        return LEFT + (math.log10(value) - low) * step if value > 0 else LEFT

    def y(share: float) -> float:
        return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)

    curves = []
    for index, (name, values) in enumerate(shown.items()):
        points = [f"M{x(values[0]):.1f},{y(0):.1f}"]
        for rank, value in enumerate(values, 1):
            points.append(f"H{x(value):.1f} V{y(rank / len(values)):.1f}")
        points.append(f"H{WIDTH - RIGHT}")
        curves.append(Curve(name, " ".join(points), f"series-{index % 6}", label(values[(len(values) - 1) // 2])))
    every = math.ceil((high - low) / 7)
    x_ticks = tuple(Tick(LEFT + i * step, label(10.0 ** (low + i))) for i in range(0, high - low + 1, every))
    y_ticks = tuple(Tick(y(share / 4), f"{25 * share} %") for share in range(5))
    return Cdf(WIDTH, HEIGHT, x_ticks, y_ticks, tuple(curves))


@dataclass(frozen=True)
class Line:
    """A series over numbers; one of a single point is drawn as a diamond."""

    name: str
    path: str
    css: str


@dataclass(frozen=True)
class Lines:
    width: float
    height: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]


def lines(series: Mapping[str, Sequence[tuple[float, float]]], logarithmic: bool = False) -> Lines:
    """Series of (x, y) over one another, y from 0; `logarithmic`: x is, from one power of ten to another."""
    points = [point for found in series.values() for point in found]
    scale: Callable[[float], float] = math.log10 if logarithmic else float
    low, high = (scale(f(x for x, _ in points)) for f in (min, max))
    top = max(1.0, float(math.ceil(max(y for _, y in points))))

    def x(value: float) -> float:
        return LEFT + (scale(value) - low) / ((high - low) or 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)

    drawn = []
    for index, (name, found) in enumerate(series.items()):
        if len(found) == 1:
            path = f"M{x(found[0][0]):.1f},{y(found[0][1]) - 5:.1f} l5,5 l-5,5 l-5,-5 z"
        else:
            path = "M" + " L".join(f"{x(a):.1f},{y(b):.1f}" for a, b in found)
        drawn.append(Line(name, path, f"series-{index % 6}"))
    distinct = sorted({value for value, _ in points})
    if logarithmic:
        marks = [10.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
    elif len(distinct) <= MARKS_MAX:
        marks = distinct
    else:
        marks = [float(number) for number in range(math.ceil(low), math.floor(high) + 1)]
    step = 0.5 if top <= 4 else math.ceil(top / MARKS_MAX)
    y_ticks = tuple(Tick(y(i * step), f"{i * step:g}×") for i in range(int(top / step) + 1))
    return Lines(WIDTH, HEIGHT, tuple(Tick(x(m), f"{m:g}") for m in marks), y_ticks, tuple(drawn))


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    css: str
    title: str


@dataclass(frozen=True)
class Bars:
    width: float
    height: float
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    labels: tuple[Tick, ...]
    base: float


def speedups(queries: Sequence[QueryStudy]) -> Bars:
    """Draw the speed-ups, coloured by what took longest."""
    return speedup_bars(
        [
            (q.number, s, _bottleneck_css(q), f"query {q.number}: {s:.2f}× ({q.bottleneck})")
            for q in queries
            if (s := q.speedup) is not None
        ]
    )


def speedup_bars(queries: Sequence[tuple[int, float, str, str]]) -> Bars:
    """One bar a query, the slowest first, on a logarithmic axis around 1, from number, speed-up, colour and title."""
    shown = sorted(queries, key=lambda query: query[1])
    logs = [math.log2(s) for _, s, _, _ in shown] or [0.0]
    low, high = min(-1, math.floor(min(logs))), max(1, math.ceil(max(logs)))
    height = HEIGHT + 20
    unit = (height - TOP - BOTTOM) / (high - low)
    base = TOP + high * unit
    room = (WIDE - LEFT - RIGHT) / max(len(shown), 1)
    bars, labels = [], []
    for index, (number, speedup, css, title) in enumerate(shown):
        value = math.log2(speedup) * unit
        x = LEFT + index * room
        top = base - max(value, 0)
        bars.append(Bar(x, top, max(room - 2, 1), max(abs(value), 1), css, title))
        labels.append(Tick(x + room / 2, str(number)))
    every = math.ceil((high - low) / 8)
    ticks = tuple(Tick(base - power * unit, f"{2.0**power:g}×") for power in range(low, high + 1, every))
    return Bars(WIDE, height, tuple(bars), ticks, tuple(labels if len(shown) <= 60 else ()), base)


def timelines(queries: Sequence[QueryStudy]) -> Bars:
    """A row for each query: planning, set-up, execution on accelerators, and the client's part."""
    total = max((end for q in queries for _, _, end in q.phases), default=0.0) or 1.0
    scale = (WIDE - LABEL_WIDTH - RIGHT) / total
    bars, labels = [], []
    shown = [q for q in queries if q.phases]
    for row, query in enumerate(shown):
        y = 26 + row * ROW_HEIGHT
        labels.append(Tick(y + BAR_HEIGHT - 1, f"q{query.number}"))
        for name, start, end in query.phases:
            title = f"query {query.number}, {name}: {duration(end - start)}"
            css = f"phase-{PHASES.index(name)}"
            bars.append(Bar(LABEL_WIDTH + start * scale, y, max((end - start) * scale, 0.5), BAR_HEIGHT, css, title))
    raw = total / 8
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
    ticks = tuple(Tick(LABEL_WIDTH + i * step * scale, duration(i * step)) for i in range(int(total / step) + 1))
    return Bars(WIDE, 34 + len(shown) * ROW_HEIGHT, tuple(bars), ticks, tuple(labels), 20)


def _bottleneck_css(query: QueryStudy) -> str:
    return f"phase-{BOTTLENECKS.index(query.bottleneck)}" if query.bottleneck in BOTTLENECKS else "phase-4"


def setup_cdf(queries: Sequence[QueryStudy]) -> Cdf:
    names = list(dict.fromkeys(name for q in queries for name in q.setup))
    return cdf({name: [q.setup[name] for q in queries if name in q.setup] for name in names}, duration)


def volume_cdf(queries: Sequence[QueryStudy]) -> Cdf:
    volumes = [q.volumes for q in queries if q.verdict != "error"]
    return cdf(
        {
            "on disk": [v.disk for v in volumes],
            "in memory": [v.memory for v in volumes],
            "between accelerators": [v.between for v in volumes],
            "to the client": [v.client for v in volumes],
        },
        lambda value: size(int(value)),
    )
