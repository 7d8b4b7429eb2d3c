"""The longest chain of statements that wait for each other: what an author must cut to save stages."""

from __future__ import annotations

from dataclasses import dataclass

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.allocation.placement import ordered_places
from jumpgate.p4.compiler.allocation.units import Unit
from jumpgate.p4.compiler.frontend.source import Diagnostics


@dataclass(frozen=True)
class Link:
    """`stage`: the first one that what it waits for allows, were there room for everything."""

    stage: int
    unit: Unit


def longest_chain(program: ir.Program) -> list[Link]:
    """From the first stage on; empty if the program has no order of registers."""
    order = ordered_places(program, Diagnostics()) or []
    stages: dict[int, int] = {}
    before: dict[int, int | None] = {}
    for place in order:
        waits = [(stages[n] + distance, n) for n, distance in place.needs.items()]
        stages[place.number], before[place.number] = max(waits, default=(0, None), key=lambda w: w[0])
    if not order:
        return []
    places = {p.number: p for p in order}
    at: int | None = max(order, key=lambda p: (stages[p.number], -p.number)).number
    links: list[Link] = []
    while at is not None:
        links.append(Link(stages[at], places[at].units[0]))
        at = before[at]
    return links[::-1]


def chain_text(program: ir.Program, text: str) -> str:
    """A line for each link: its stage, its place and the source there."""
    lines = text.splitlines()
    links = longest_chain(program)
    heads = [f"stage {link.stage}  line {link.unit.position.line}" for link in links]
    width = max(map(len, heads), default=0)
    own = [lines[link.unit.position.line - 1].strip() for link in links]
    shown = (f"{head.ljust(width)}  {link.unit.kind} {link.unit.name}: {line}" for head, link, line in zip(
        heads, links, own, strict=True))  # fmt: skip
    return "\n".join(["the longest chain:", *shown])
