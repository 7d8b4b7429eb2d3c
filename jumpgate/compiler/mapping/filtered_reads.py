"""Estimates filter edges to readers that ask a store (TakesFilters): what the store is then asked, and what that saves.

Such a reader is chosen for what it asks with the keys of the join above it, although the edge is added only later
(filter_edges).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from jumpgate.compiler.plan import Mapped, Plan, Site
from jumpgate.compiler.stores import demands
from jumpgate.compiler.tree import unique
from jumpgate.dataflow.joins import Lookup, lookup_of, with_partners
from jumpgate.dataflow.operators import Operator
from jumpgate.nca.interface import Device, Match, SendsFilters, TakesFilters, Unsupported
from jumpgate.nca.storage import Asked


def takes_filters(plan: Plan, site: Site) -> bool:
    """Return whether the site's NCA is asked about each filter edge."""
    return _takes_filters(type(plan.registry.get(site.nca).operators))


@cache  # as a protocol's members are looked at one by one
def _takes_filters(kind: type) -> bool:
    return issubclass(kind, TakesFilters)


def filtered(plan: Plan, site: Site, lookup: Lookup) -> Match | Unsupported:
    """Return the answer of the site's NCA about a filter edge to the probe side."""
    operators = plan.registry.get(site.nca).operators
    assert isinstance(operators, TakesFilters)
    semi = with_partners(lookup.probe, lookup.build, lookup.keys, lookup.build_keys)
    return operators.match_filtered(semi, site.devices[0], plan.options.dialect, plan.estimator)


def saved_by_filter(plan: Plan, box: Mapped, leaf: Operator, reader: Mapped) -> tuple[float, float] | None:
    """Return the seconds and the money that a match saves by sending keys of its join to the reader of its input
    `leaf`, zeros if they are unknown; None if it does not send them, or nothing is saved and nobody prefers it."""
    if not takes_filters(plan, reader.site):
        return None
    if not isinstance(plan.registry.get(box.match.nca).operators, SendsFilters):
        return None
    device = reader.site.devices[0]
    for lookup in (found for node in box.match.operators if (found := lookup_of(node)) and found.probe is leaf):
        answer = filtered(plan, reader.site, lookup)
        if not isinstance(answer, Match):
            continue
        before = _demanded(plan, device, reader.match.operators, reader.match.asked)
        after = _demanded(plan, device, reader.match.operators, answer.asked)
        if before is None or after is None:
            return 0.0, 0.0
        if reader.match.nca in plan.options.prefer or _is_better(plan, after, before):
            return before[0] - after[0], before[1] - after[1]
    return None


def improves(plan: Plan, device: Device, node: Operator, before: Asked | None, after: Asked | None) -> bool:
    """Return whether the device better asks a store with a filter edge; unknown figures do not speak against it."""
    operators = [*unique(node)]
    known = _demanded(plan, device, operators, before), _demanded(plan, device, operators, after)
    return known[0] is None or known[1] is None or _is_better(plan, known[1], known[0])


def _is_better(plan: Plan, after: tuple[float, float], before: tuple[float, float]) -> bool:
    rank = plan.options.objective.rank
    return rank(*after) < rank(*before)


def _demanded(
    plan: Plan, device: Device, operators: Iterable[Operator], asked: Asked | None
) -> tuple[float, float] | None:
    """Return the seconds and the price of what stores are asked; None if they are unknown."""
    if asked is None:
        return None
    found = [*demands(operators, asked, plan.estimator, plan.options.link, device)]
    return (sum(of.seconds(link) for of, link in found), sum(of.money(link) for of, link in found)) if found else None
