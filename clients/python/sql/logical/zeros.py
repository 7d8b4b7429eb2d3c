"""Makes -0.0 and 0.0 equal where DataFusion takes them for two values.

It compares them as equal and groups them together, but joins, orders and looks them up in lists by their bits. Keys of
joins, sorts and windows, and what is looked up, become `x + 0.0`, which is 0.0 for both.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from google.protobuf.message import Message

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import Types, float_type, mend, within
from jumpgate.client.sql.logical.nodes import Node


def normalise(node: Node, plan: pb.Plan) -> bool:
    """Changes `plan`, a copy of the node's, in place, with all below it; whether there was anything to change."""
    return mend(node, plan, _change)


def _change(message: Message, types: Types) -> bool:
    found = [(expr, type) for expr in _compared(message) if (type := float_type(expr, types)) is not None]
    for expr, type in found:
        _add_zero(expr, type)
    return bool(found)


def _compared(outer: Message) -> Iterator[pb.Expr]:
    """The expressions that DataFusion compares by their bits."""
    if isinstance(outer, pb.Join):
        yield from outer.left_keys
        yield from outer.right_keys
    elif isinstance(outer, pb.Sort):
        yield from (key.expr for key in outer.keys)
    for message in within(outer):
        if isinstance(message, pb.WindowCall):
            yield from message.partition_by
            yield from (key.expr for key in message.order_by)
        elif isinstance(message, pb.InList):
            yield message.input
            yield from message.list


def _add_zero(expr: pb.Expr, type: pa.DataType) -> None:
    inner = pb.Expr()
    inner.CopyFrom(expr)
    expr.Clear()
    expr.binary.operator = "Plus"
    expr.binary.operands.add().CopyFrom(inner)
    zero = expr.binary.operands.add().literal
    if pa.types.is_float32(type):
        zero.float32 = 0.0
    else:
        zero.float64 = 0.0
