"""NOT IN of a correlated subquery as a join that DataFusion computes rightly.

Its join for NOT IN minds NULLs of the whole subquery, not of the members for which the other conditions hold, and takes
no second key. What passes is a row without a member that equals its value, or is NULL, or any if the value is: those
are conditions of an ordinary anti join.
"""

from __future__ import annotations

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import below


def mend(plan: pb.Plan, nests: bool = True) -> bool:
    """Changes `plan` in place, with all below it; whether there was anything to change. nests: as of a Node."""
    joins = [node.join for node in below(plan, nests) if node.WhichOneof("kind") == "join" and is_correlated(node.join)]
    for join in joins:
        rewrite(join)
    return bool(joins)


def is_correlated(join: pb.Join) -> bool:
    """Return whether it is the join of a correlated NOT IN."""
    return join.null_aware and (join.HasField("filter") or len(join.left_keys) > 1)


def rewrite(join: pb.Join) -> None:
    """Makes the join of a correlated NOT IN an ordinary one, in place."""
    value, member = join.left_keys.pop(0), join.right_keys.pop(0)  # DataFusion puts IN before what correlates
    either = pb.Expr()
    either.binary.operator = "Or"
    equal = either.binary.operands.add().binary
    equal.operator = "Eq"
    equal.operands.extend((value, member))
    either.binary.operands.add().is_null.input.CopyFrom(value)
    either.binary.operands.add().is_null.input.CopyFrom(member)
    if join.HasField("filter"):
        both = pb.Expr()
        both.binary.operator = "And"
        both.binary.operands.extend((either, join.filter))
        join.filter.CopyFrom(both)
    else:
        join.filter.CopyFrom(either)
    join.null_aware = False
