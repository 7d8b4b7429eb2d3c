"""Allows programs of little work to be built without the optimiser (nca/quick_builds.py)."""

from __future__ import annotations

from jumpgate.compiler.plan import PhysicalPlan
from jumpgate.nca.quick_builds import WORK_S_MAX


def build_quickly(plan: PhysicalPlan) -> PhysicalPlan:
    """Allow quick builds if the options say so, or leave it open and all of the job is known to be little work, by the
    high end of its estimates."""
    wanted = plan.options.quick_builds
    allowed = _is_little_work(plan) if wanted is None else wanted
    return plan.changed({i.fragment: {"quick_build": True} for i in plan.instances}) if allowed else plan


def _is_little_work(plan: PhysicalPlan) -> bool:
    """Return False, too, where the work is not known."""
    if plan.figures.seconds is None:
        return False
    return sum(f.seconds * f.doubt for f in plan.figures.operators.values()) <= WORK_S_MAX
