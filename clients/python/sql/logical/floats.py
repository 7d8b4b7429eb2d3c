"""Gives floats one order where DataFusion has two: -0.0 equals 0.0, a NaN is largest and equals every NaN.

DataFusion joins, groups, orders and looks floats up by their bits, in which -0.0 is below 0.0, and a NaN that a
processor computes (0/0) has the sign that makes it the smallest of all. So what is compared becomes
`nanvl(x + 0.0, NaN)`, one notation for equal values. Its max and min begin with the largest finite numbers, which is
wrong of nothing but infinities: they become the first value in the order of x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from google.protobuf.message import Message

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import Types, mend
from jumpgate.client.sql.logical.nodes import Node, within

_COMPARISONS = frozenset(("Eq", "NotEq", "Lt", "LtEq", "Gt", "GtEq", "IsDistinctFrom", "IsNotDistinctFrom"))
_COMPARING_CALLS = frozenset(("nullif", "greatest", "least"))
_EXTREMES = frozenset(("min", "max"))
#: aggregate functions whose result depends on the order of values
_ORDERED = _EXTREMES | {
    "median", "percentile_cont", "approx_median", "approx_percentile_cont", "approx_percentile_cont_with_weight",
}  # fmt: skip
#: by what is compared: the operands of comparisons, keys, and arguments whose order matters
_COMPARED: dict[type[Message], Callable[[Any], Iterable[pb.Expr]]] = {
    pb.Join: lambda join: (*join.left_keys, *join.right_keys),
    pb.SortKey: lambda key: (key.expr,),
    pb.WindowCall: lambda call: (
        *call.partition_by,
        *(call.args if call.distinct or call.aggregate in _ORDERED else ()),
    ),
    pb.AggregateCall: lambda call: call.args if call.distinct or call.name in _ORDERED else (),
    pb.InList: lambda rex: (rex.input, *rex.list),
    pb.Between: lambda between: (between.input, between.low, between.high),
    pb.Case: lambda case: (case.base, *(clause.when for clause in case.whens)) if case.HasField("base") else (),
    pb.Binary: lambda binary: binary.operands if binary.operator in _COMPARISONS else (),
    pb.Call: lambda call: call.args if call.name in _COMPARING_CALLS else (),
}


def normalise(node: Node, plan: pb.Plan) -> bool:
    """Changes `plan`, a copy of the node's, in place, with all below it; whether there was anything to change."""
    return mend(node, plan, _change)


def _change(message: Message, types: Types, is_key: bool) -> bool:
    keys = [message] if is_key and isinstance(message, pb.Expr) else []
    parts = [*within(message)]  # outer ones first
    found = [(expr, type) for expr in (*keys, *compared(parts)) if (type := types.of_float(expr)) is not None]
    extremes = [call for call in _extremes(parts) if types.of_float(call.args[0]) is not None]
    changed = [canonical(expr, type) for expr, type in reversed(found)]  # what is within another one comes first
    for call in extremes:
        _first(call)
    return any(changed) or bool(extremes)


def compared(messages: Iterable[Message]) -> Iterator[pb.Expr]:
    """The expressions whose order or equality matters to one of the messages."""
    for message in messages:
        if (found := _COMPARED.get(type(message))) is not None:
            yield from found(message)


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


def _extremes(messages: Iterable[Message]) -> Iterator[pb.AggregateCall]:
    for message in messages:
        if isinstance(message, pb.AggregateCall) and message.name in _EXTREMES and len(message.args) == 1:
            yield message


def _first(call: pb.AggregateCall) -> None:
    """Makes a max or min of what has canonical bits the first value in descending or ascending order."""
    key = call.order_by.add()
    key.expr.CopyFrom(call.args[0])
    key.ascending = call.name == "min"
    call.name = "first_value"
    call.distinct = False
