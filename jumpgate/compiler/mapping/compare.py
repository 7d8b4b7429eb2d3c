"""Compares finished plans of candidates that use different devices in the network, or hosts near a store.

Only a plan that is parallelised and cut shows which rows travel and how often. While operators are mapped, the cost of
shuffles between hosts is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jumpgate.compiler.logical.prune_columns import prune_columns
from jumpgate.compiler.mapping.choose import choose
from jumpgate.compiler.mapping.filter_edges import filter_edges
from jumpgate.compiler.mapping.parallelise import parallelise
from jumpgate.compiler.physical.cut import cut
from jumpgate.compiler.physical.figures import figures
from jumpgate.compiler.plan import Candidate, DeviceFull, Mapped, MappedPlan
from jumpgate.compiler.tree import unique


def compare(plan: MappedPlan) -> MappedPlan:
    """Leave the rivals of the best candidate, the fastest first, each with the seconds of its finished plan. Return the
    plan unchanged if there are no rivals or if the seconds of one are unknown."""
    rivals = [*_rivals(plan)]
    if len(rivals) < 2:
        return plan
    found = []
    for rival in rivals:
        try:
            seconds = _seconds(replace(plan, candidates=(rival,)))
        except DeviceFull:
            continue
        if seconds is None:
            return plan
        found.append(replace(rival, seconds=seconds))
    if not found:
        return plan
    objective = plan.options.objective
    found.sort(key=lambda c: (*objective.rank(c.seconds or 0.0, c.money), c.fragments, c.matches))
    return replace(plan, candidates=tuple(found))


def _seconds(plan: MappedPlan) -> float | None:
    """Return the seconds of the finished plan of the first candidate. Raises DeviceFull."""
    for step in (choose, parallelise, prune_columns, filter_edges):
        plan = step(plan)
    return figures(cut(plan)).figures.seconds


def _rivals(plan: MappedPlan) -> Iterator[Candidate]:
    """Yield the best candidate for each set of devices other than plain hosts, among those as preferred as the first
    one and that fit as well."""
    first = plan.candidates[0]
    seen: set[frozenset[str]] = set()
    for candidate in plan.candidates:
        boxes = (node for node in unique(candidate.root) if isinstance(node, Mapped))
        sites = (box.site.devices[0] for box in boxes)
        used = frozenset(d.name for device in sites if device.kind != "host" or device.near for d in device.chain)
        if used in seen or (candidate.preferred, candidate.overloaded) != (first.preferred, first.overloaded):
            continue
        seen.add(used)
        yield candidate
