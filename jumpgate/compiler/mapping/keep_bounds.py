"""Refuses a request of which no plan is within the bounds of time and cost that it sets."""

from __future__ import annotations

from jumpgate.compiler.plan import MappedPlan


def keep_bounds(plan: MappedPlan) -> MappedPlan:
    """Return the plan. Raises CannotPlace if its best candidate is beyond a bound of the objective."""
    best = plan.candidates[0]
    plan.options.objective.check(best.seconds, best.money)
    return plan
