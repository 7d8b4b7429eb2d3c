"""Simulated jobs and suites as numbers, tables, pictures and HTML pages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import Markup

from jumpgate import words
from jumpgate.simulate.model import Simulated
from jumpgate.simulate.suite import SimulatedQuery
from jumpgate.study.charts import Tick
from jumpgate.study.report import template

#: kinds of steps, in the order of the colours
KINDS = ("planning", "set-up", "stages")


@dataclass(frozen=True)
class Bar:
    """A cluster's time, and its parts as fractions of the longest one's: (name, fraction, index of its colour)."""

    found: Simulated
    parts: tuple[tuple[str, float, int], ...]


def bars(found: Sequence[Simulated]) -> tuple[Bar, ...]:
    longest = max(sum(f.steps.values()) for f in found) or 1.0
    return tuple(
        Bar(f, tuple((name, s / longest, min(n, len(KINDS) - 1)) for n, (name, s) in enumerate(f.steps.items())))
        for f in found
    )


def data(found: Sequence[Simulated]) -> list[dict[str, Any]]:
    return [{**asdict(one), "bound_by": one.bound_by} for one in found]


def html(title: str, found: Sequence[Simulated], cluster: str) -> str:
    """Return the page; `cluster` describes what was simulated."""
    return template("simulate.html.j2").render(title=title, bars=bars(found), kinds=KINDS, cluster=cluster)


#: of the table of a suite
COLUMNS = ("query", "time", "busiest", "files", "between hosts", "stages")
#: of the picture of a suite, in pixels
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 1100, 320, 60, 28, 42
#: limits with a colour; of more, those that limit least share one
LIMITS_MAX = 6
OTHER = "other"


@dataclass(frozen=True)
class QueryBar:
    """A query's time, upwards. limit: the index of its colour; is_named: there is room for its number."""

    query: int
    x: float
    y: float
    height: float
    limit: int
    text: str
    is_named: bool


@dataclass(frozen=True)
class Chart:
    """Times of queries on a logarithmic scale, with what limits each."""

    bars: tuple[QueryBar, ...]
    ticks: tuple[Tick, ...]
    limits: tuple[str, ...]
    bar_width: float
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT


def row(found: SimulatedQuery) -> tuple[str, ...]:
    """Return the row of a query, with the columns COLUMNS."""
    if found.why:
        return (str(found.query), f"not simulated: {found.why}", "", "", "", "")
    return (
        str(found.query), words.duration(found.seconds), f"{found.bound_by}, {found.busy:.0%}",
        words.size(found.read_bytes), words.size(found.shuffled_bytes), str(found.stages),
    )  # fmt: skip


def limits(found: Sequence[SimulatedQuery]) -> list[tuple[str, int]]:
    """Return what limits queries and how many, the most frequent first."""
    return Counter(query.bound_by for query in found if not query.why).most_common()


def chart(found: Sequence[SimulatedQuery]) -> Chart:
    """Return the picture's geometry. Queries without a result are left out."""
    shown = [query for query in found if not query.why]
    names = tuple(name for name, _ in limits(found))
    if len(names) > LIMITS_MAX:
        names = (*names[: LIMITS_MAX - 1], OTHER)
    times = [query.seconds for query in shown] or [1.0]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    high = max(high, low + 1)
    floor, step = HEIGHT - BOTTOM, (WIDTH - LEFT) / max(1, len(shown))
    scale = (floor - TOP) / (high - low)
    bars = []
    for place, query in enumerate(shown):
        tall = max(1.0, (math.log10(query.seconds) - low) * scale)
        limit = names.index(query.bound_by) if query.bound_by in names else names.index(OTHER)
        text = f"{words.duration(query.seconds)}, {query.bound_by}"
        is_named = step >= 14 or place % 5 == 0
        bars.append(QueryBar(query.query, LEFT + place * step, floor - tall, tall, limit, text, is_named))
    ticks = tuple(Tick(floor - i * scale, f"{10.0 ** (low + i):g} s") for i in range(high - low + 1))
    return Chart(tuple(bars), ticks, names, 0.8 * step)


def picture(title: str, found: Sequence[SimulatedQuery]) -> str:
    """Return the picture of a suite as SVG."""
    return template("simulated_suite.svg.j2").render(title=title, chart=chart(found))


def suite_html(title: str, found: Sequence[SimulatedQuery], cluster: str) -> str:
    """Return the page of a suite; `cluster` describes what was simulated."""
    return template("simulated_suite.html.j2").render(
        title=title, cluster=cluster, picture=Markup(picture(title, found)), columns=COLUMNS, rows=[*map(row, found)]
    )
