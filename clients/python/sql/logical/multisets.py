"""EXCEPT ALL and INTERSECT ALL, which DataFusion plans as joins that do not count rows.

Each copy of a row gets a number, and only copies of one number are partners:

    anti join (l, r)  →  columns of l of: anti join (l with the number of the copy, r likewise)
"""

from __future__ import annotations

import datafusion
import pyarrow.types as at
from datafusion.plan import LogicalPlan

from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import project
from jumpgate.client.sql.logical.nodes import Node, inputs, subquery_exprs

_SETS = (pb.Join.LEFT_ANTI, pb.Join.LEFT_SEMI)


def counted(frame: datafusion.DataFrame, context: datafusion.SessionContext) -> datafusion.DataFrame:
    """A query that is not optimised yet, with such joins changed. Raises InvalidSql for one that cannot be encoded."""
    logical = frame.logical_plan()
    try:
        encoded = logical.to_bytes(context)
        if LogicalPlan.from_bytes(context, encoded) != logical:
            raise ValueError("the encoding is another plan")
    except Exception as error:
        raise InvalidSql(
            "EXCEPT ALL and INTERSECT ALL are refused in a query that also has IN or EXISTS with a subquery, or is "
            "recursive or lateral: repeated rows would not be counted; use joins, or several queries"
        ) from error
    plan = pb.Plan.FromString(encoded)
    _visit(Node(pb.Plan.FromString(encoded), logical, context), plan)
    return context.create_dataframe_from_logical_plan(LogicalPlan.from_bytes(context, plan.SerializeToString()))


def _visit(node: Node, plan: pb.Plan) -> None:
    """Changes `plan`, a copy of the node's encoding, in place, with all below it.

    In what is not optimised only set operations are joins for which NULLs are equal; without ALL the left input is
    distinct, which the numbers leave as it is.
    """
    places = [*inputs(plan), *(expr.subquery.plan.plan for expr in subquery_exprs(plan))]
    for child, place in zip((*node.children, *node.subqueries), places, strict=True):
        _visit(child, place)
    if node.kind != "join" or not plan.join.nulls_are_equal or plan.join.type not in _SETS:
        return
    if plan.join.left.WhichOneof("kind") != "distinct":
        _count(node, plan)


def _count(node: Node, place: pb.Plan) -> None:
    left, right = node.children
    for name, one, other in zip(left.names, left.types, right.types, strict=True):
        if at.is_floating(one) != at.is_floating(other):
            raise InvalidSql(f"column '{name.name}' is {one} on the left of a set operation with ALL, and {other} on "
                             "the right, where unequal numbers may become equal; cast one of them")  # fmt: skip
    changed = pb.Plan()
    changed.CopyFrom(place)
    join = changed.join
    for side, keys, which in ((join.left, join.left_keys, "left"), (join.right, join.right_keys, "right")):
        numbered = pb.Plan()
        alias = numbered.window.exprs.add().alias
        alias.name = f"copy on the {which}"
        call = alias.input.window
        call.window = "row_number"
        call.partition_by.extend(keys)
        for bound, kind in ((call.frame.start, pb.Bound.PRECEDING), (call.frame.end, pb.Bound.FOLLOWING)):
            bound.kind = kind
            bound.offset.null.uint64.SetInParent()
        numbered.window.input.CopyFrom(side)
        side.CopyFrom(numbered)
        keys.add().column.name = alias.name
    project(place, changed, left.names, {})
