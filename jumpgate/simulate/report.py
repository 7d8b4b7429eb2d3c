"""Simulated jobs as numbers and as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jumpgate.simulate.model import Simulated
from jumpgate.study.report import template

#: what a step is counted as, in the order of the colours
KINDS = ("planning", "set-up", "stages")


@dataclass(frozen=True)
class Bar:
    """A cluster's time, and its parts as shares of the longest one's: (name, share, index of its colour)."""

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
    """`cluster`: what was simulated, in words."""
    return template("simulate.html.j2").render(title=title, bars=bars(found), kinds=KINDS, cluster=cluster)
