"""Correlations and regressions of a constant are NULL, also where DataFusion merges what several threads found.

There the mean of equal numbers is not always that number, so that a constant seems to vary by its last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import project
from jumpgate.client.sql.logical.nodes import Name, Node, placed
from jumpgate.dataflow.aggregates import COMOMENTS

#: aggregate → its arguments, y and x, of which a constant makes it NULL
_VARYING = {name: comoment.varying for name, comoment in COMOMENTS.items() if comoment.varying}


@dataclass(frozen=True)
class Varying:
    """An aggregation in a plan: the names of its columns, and the calls, by their number, that need what varies."""

    place: pb.Plan
    names: list[Name]
    calls: dict[int, pb.AggregateCall]


def find(node: Node, plan: pb.Plan) -> Iterator[Varying]:
    """Aggregations with such calls in `plan`, which is the node's encoding or a copy of it; inner ones first."""
    for child, place in placed(node, plan):
        yield from find(child, place)
    if node.kind == "aggregate":
        calls = {i: call for i, expr in enumerate(plan.aggregate.measures) if (call := _call(expr)).name in _VARYING}
        if calls:
            yield Varying(plan, node.names, calls)


def replace(aggregations: list[Varying]) -> bool:
    """Changes what `find` found and is still there, in place; whether there was anything."""
    still = [found for found in aggregations if found.place.WhichOneof("kind") == "aggregate"]
    for found in still:
        _replace(found)
    return bool(still)


def _call(expr: pb.Expr) -> pb.AggregateCall:
    while expr.WhichOneof("kind") == "alias":
        expr = expr.alias.input
    return expr.aggregate


def _replace(found: Varying) -> None:
    """A call becomes CASE WHEN max(x) - min(x) = 0 … THEN NULL ELSE the call END, over the pairs that it is of."""
    extended = pb.Plan()
    extended.CopyFrom(found.place)
    measures = extended.aggregate.measures
    width = len(found.names) - len(measures)
    computed = {}
    for number, call in found.calls.items():
        case = computed[width + number] = pb.Expr()
        for side in _VARYING[call.name]:
            own, other = call.args if side == "y" else reversed(call.args)
            for extreme in ("max", "min"):
                alias = measures.add().alias
                alias.name = f"{extreme} {side} {number}"
                _extreme(alias.input.aggregate, extreme, call, own, other)
            _is_constant(case.case.whens.add(), f"{side} {number}")
        name = found.names[width + number]
        case.case.otherwise.column.name = name.name
        if name.relation:
            case.case.otherwise.column.relation.name = name.relation
    project(found.place, extended, found.names, computed)


def _extreme(target: pb.AggregateCall, name: str, call: pb.AggregateCall, own: pb.Expr, other: pb.Expr) -> None:
    target.name = "first_value"  # DataFusion's max does not mind NaN
    when = target.args.add().case.whens.add()
    when.when.is_not_null.input.CopyFrom(other)
    when.then.CopyFrom(own)
    target.order_by.add(expr=target.args[0], ascending=name == "min")
    if call.HasField("filter"):
        target.filter.CopyFrom(call.filter)


def _is_constant(when: pb.When, which: str) -> None:
    equal = when.when.binary
    equal.operator = "Eq"
    difference = equal.operands.add().binary
    difference.operator = "Minus"
    for extreme in ("max", "min"):
        difference.operands.add().column.name = f"{extreme} {which}"
    equal.operands.add().literal.float64 = 0.0
    when.then.literal.null.float64.SetInParent()
