"""Drops columns of builds of joins that only filters and joins below need, as the rows of a build are kept."""

from __future__ import annotations

from jumpgate.compiler.logical.prune_columns import pruned
from jumpgate.compiler.plan import Plan


def narrow_builds(plan: Plan) -> Plan:
    """Put a projection above each build that has such columns: last, as other passes look for joins of joins."""
    return pruned(plan, lambda node: node.held_inputs)
