"""Gives floats one order where DataFusion has two: -0.0 equals 0.0, a NaN is largest and equals every NaN.

DataFusion joins, groups, orders and looks floats up by their bits, in which -0.0 is below 0.0, and a NaN that a
processor computes (0/0) has the sign that makes it the smallest of all. So what is compared becomes
`nanvl(x + 0.0, NaN)`, one notation for equal values. Its max and min begin with the largest finite numbers, which is
wrong of nothing but infinities: they become the first value in the order of x.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pyarrow as pa
from google.protobuf.message import Message

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import Types, mend, within
from jumpgate.client.sql.logical.nodes import Node

_COMPARISONS = frozenset(("Eq", "NotEq", "Lt", "LtEq", "Gt", "GtEq", "IsDistinctFrom", "IsNotDistinctFrom"))
_COMPARING_CALLS = frozenset(("nullif", "greatest", "least"))
_EXTREMES = frozenset(("min", "max"))
#: aggregate functions whose result depends on the order of values
_ORDERED = _EXTREMES | {
    "median", "percentile_cont", "approx_median", "approx_percentile_cont", "approx_percentile_cont_with_weight",
}  # fmt: skip


def normalise(node: Node, plan: pb.Plan) -> bool:
    """Changes `plan`, a copy of the node's, in place, with all below it; whether there was anything to change."""
    return mend(node, plan, _change)


def _change(message: Message, types: Types, is_key: bool) -> bool:
    keys = [message] if is_key and isinstance(message, pb.Expr) else []
    found = [(expr, type) for expr in (*keys, *compared(message)) if (type := types.of_float(expr)) is not None]
    extremes = [call for call in _extremes(message) if types.of_float(call.args[0]) is not None]
    changed = [canonical(expr, type) for expr, type in reversed(found)]  # what is within another one comes first
    for call in extremes:
        _first(call)
    return any(changed) or bool(extremes)


def compared(outer: Message) -> Iterator[pb.Expr]:
    """The expressions whose order or equality matters, outer ones first."""
    for message in within(outer):
        match message:
            case pb.Join():
                yield from (*message.left_keys, *message.right_keys)
            case pb.SortKey():
                yield message.expr
            case pb.WindowCall():
                yield from message.partition_by
                if message.distinct or message.aggregate in _ORDERED:
                    yield from message.args
            case pb.AggregateCall():
                if message.distinct or message.name in _ORDERED:
                    yield from message.args
            case pb.InList():
                yield from (message.input, *message.list)
            case pb.Between():
                yield from (message.input, message.low, message.high)
            case pb.Case():
                if message.HasField("base"):
                    yield from (message.base, *(clause.when for clause in message.whens))
            case pb.Binary():
                if message.operator in _COMPARISONS:
                    yield from message.operands
            case pb.Call():
                if message.name in _COMPARING_CALLS:
                    yield from message.args


def canonical(expr: pb.Expr, type: pa.DataType) -> bool:
    """Makes an expression one that has equal bits for equal values; whether it may have had others."""
    inner = pb.Expr()
    inner.CopyFrom(expr)
    if expr.WhichOneof("kind") == "literal":
        kind = expr.literal.WhichOneof("kind")
        value = getattr(expr.literal, kind) if kind in ("float32", "float64") else None
        if isinstance(value, float):
            _fill(expr.literal, math.nan if math.isnan(value) else value + 0.0, type)
        return expr.SerializeToString() != inner.SerializeToString()
    expr.Clear()
    expr.call.name = "nanvl"
    sum = expr.call.args.add().binary
    sum.operator = "Plus"
    sum.operands.add().CopyFrom(inner)
    _fill(sum.operands.add().literal, 0.0, type)
    _fill(expr.call.args.add().literal, math.nan, type)
    return True


def _fill(literal: pb.Scalar, value: float, type: pa.DataType) -> None:
    if pa.types.is_float32(type):
        literal.float32 = value
    else:
        literal.float64 = value


def _extremes(outer: Message) -> Iterator[pb.AggregateCall]:
    for message in within(outer):
        if isinstance(message, pb.AggregateCall) and message.name in _EXTREMES and len(message.args) == 1:
            yield message


def _first(call: pb.AggregateCall) -> None:
    """Makes a max or min of what has canonical bits the first value in descending or ascending order."""
    key = call.order_by.add()
    key.expr.CopyFrom(call.args[0])
    key.ascending = call.name == "min"
    call.name = "first_value"
    call.distinct = False
