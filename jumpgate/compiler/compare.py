"""Compares finished plans where candidates differ in the devices in the network that they use.

Which rows travel, and how often, is only known of a plan that is spread over instances and cut: while operators are
mapped, what shuffles between hosts cost is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jumpgate.compiler.choose import choose
from jumpgate.compiler.cut import cut
from jumpgate.compiler.figures import figures
from jumpgate.compiler.filter_edges import filter_edges
from jumpgate.compiler.parallelise import parallelise
from jumpgate.compiler.plan import Candidate, DeviceFull, Mapped, Plan
from jumpgate.compiler.prune_columns import prune_columns
from jumpgate.compiler.tree import unique

FINISHING = (choose, parallelise, prune_columns, filter_edges, cut)


def compare(plan: Plan) -> Plan:
    """Leaves the rivals for the best candidate, the fastest first, each with the seconds of its finished plan. The plan
    as it is where there are none, or where the seconds of one are not known."""
    rivals = [*_rivals(plan)]
    if len(rivals) < 2:
        return plan
    found = []
    for rival in rivals:
        try:
            finished = replace(plan, candidates=(rival,))
            for step in FINISHING:
                finished = step(finished)
        except DeviceFull:
            continue
        seconds = figures(finished).seconds
        if seconds is None:
            return plan
        found.append(replace(rival, seconds=seconds))
    if not found:
        return plan
    per_money = plan.options.seconds_per_money
    found.sort(key=lambda c: ((c.seconds or 0.0) + c.money * per_money, c.fragments, c.matches))
    return replace(plan, candidates=tuple(found))


def _rivals(plan: Plan) -> Iterator[Candidate]:
    """Of the candidates that are preferred as much as the first one and fit as well: the best with each set of devices
    that are no hosts."""
    first = plan.candidates[0]
    seen: set[frozenset[str]] = set()
    for candidate in plan.candidates:
        boxes = (node for node in unique(candidate.root) if isinstance(node, Mapped))
        used = frozenset(box.site.devices[0].name for box in boxes if box.site.devices[0].kind != "host")
        if used in seen or (candidate.preferred, candidate.overloaded) != (first.preferred, first.overloaded):
            continue
        seen.add(used)
        yield candidate
