"""Simulated jobs as numbers and as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jumpgate.simulate.model import Simulated
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
