"""Keeps the names of common subexpressions apart that two runs of DataFusion's optimiser find.

Each run calls them `__common_expr_1`, `__common_expr_2` …; over a plan that has such columns from an earlier run, a
later one would take one for the other without a word.
"""

from __future__ import annotations

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import below, within

GIVEN, _KEPT = "__common_expr_", "__planned_expr_"
#: operators of which the encoding here does not have all names
_UNKNOWN = frozenset((None, "unnest", "distinct_on", "repartition", "view"))


def rename(plan: pb.Plan, nests: bool = True) -> bool:
    """Gives the columns of a planned query, and all that are named after them, other names, in place; whether it knows
    all names of the plan. nests: as of a Node."""
    plans = list(below(plan, nests))
    if any(node.WhichOneof("kind") in _UNKNOWN for node in plans):
        return False
    for node in plans if GIVEN.encode() in plan.SerializeToString() else ():
        for message in within(getattr(node, node.WhichOneof("kind") or "")):
            if isinstance(message, pb.Column | pb.Alias) and GIVEN in message.name:
                message.name = message.name.replace(GIVEN, _KEPT)
    return True
