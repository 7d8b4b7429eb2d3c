"""Correlations and regressions of a constant are NULL, also where DataFusion merges what several threads found.

There the mean of equal numbers is not always that number, so that a constant seems to vary by its last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import Node
from jumpgate.client.sql.logical.replacing import Call, Calls, Replacement
from jumpgate.dataflow.aggregates import COMOMENTS

#: aggregate → its arguments, y and x, of which a constant makes it NULL
_VARYING = {name: comoment.varying for name, comoment in COMOMENTS.items() if comoment.varying}


def find(node: Node, calls: Sequence[Call]) -> Replacement | None:
    """Return the changes for an aggregation's calls that are NULL where an argument is constant."""
    found = [i for i, call in enumerate(calls) if isinstance(call, pb.AggregateCall) and call.name in _VARYING]
    return partial(_replace, found) if found else None


def _replace(numbers: Sequence[int], calls: Calls) -> None:
    """A call becomes CASE WHEN max(x) - min(x) = 0 … THEN NULL ELSE the call END, over the pairs that it is of."""
    for number in numbers:
        call, name = calls[number], calls.name(number)
        assert isinstance(call, pb.AggregateCall)
        case = calls.compute(number).case
        for side in _VARYING[call.name]:
            own, other = call.args if side == "y" else reversed(call.args)
            for extreme in ("max", "min"):
                _extreme(calls.add(f"{extreme} {side} {number}").aggregate, extreme, call, own, other)
            _is_constant(case.whens.add(), f"{side} {number}")
        case.otherwise.column.name = name.name
        if name.relation:
            case.otherwise.column.relation.name = name.relation


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
