"""Makes -0.0 and 0.0 equal where DataFusion takes them for two values.

It compares them as equal and groups them together, but joins, orders and looks them up in lists by their bits. Keys of
joins, sorts and windows, and what is looked up, become `x + 0.0`, which is 0.0 for both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pyarrow as pa
from google.protobuf.message import Message

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import Node, flat_name, inputs, subquery_exprs

_ARITHMETIC = frozenset(("Plus", "Minus", "Multiply", "Divide", "Modulo"))


def normalise(node: Node, plan: pb.Plan) -> bool:
    """Changes `plan`, a copy of the node's, in place, with all below it; whether there was anything to change."""
    changed = False
    if node.kind:
        columns = (zip(child.flat_names, child.types, strict=True) for child in node.children)
        types = dict(itertools.chain.from_iterable(columns))
        body = getattr(plan, node.kind)
        for position, outer in _outer(body):
            before = changed
            changed = False
            for expr in list(_compared(outer)):
                if (type := _float_type(expr, types)) is not None:
                    _add_zero(expr, type)
                    changed = True
            if changed and position is not None and isinstance(outer, pb.Expr):
                _named(outer, node.names[position].name)
            changed |= before
    subqueries = (expr.subquery.plan.plan for expr in subquery_exprs(plan))
    places = [*inputs(plan), *subqueries]
    for child, place in zip((*node.children, *node.subqueries), places, strict=True):
        changed |= normalise(child, place)
    return changed


def _outer(body: Message) -> Iterator[tuple[int | None, Message]]:
    """The expressions of a node whose values are columns, with the positions of these; else the node itself."""
    if isinstance(body, pb.Projection):
        yield from enumerate(body.exprs)
    elif isinstance(body, pb.Aggregate):
        measures = list(body.measures)
        yield from ((None, key) for key in body.keys)
        yield from enumerate(measures, -len(measures))
    elif isinstance(body, pb.Window):
        yield from enumerate(body.exprs, -len(body.exprs))
    else:
        yield None, body


def _named(expr: pb.Expr, name: str) -> None:
    """Gives an expression the name that it had before it was changed."""
    if expr.WhichOneof("kind") != "alias":
        inner = pb.Expr()
        inner.CopyFrom(expr)
        expr.Clear()
        expr.alias.input.CopyFrom(inner)
        expr.alias.name = name


def _compared(body: Message) -> Iterator[pb.Expr]:
    """The expressions of one node that DataFusion compares by their bits."""
    if isinstance(body, pb.Join):
        yield from body.left_keys
        yield from body.right_keys
    elif isinstance(body, pb.Sort):
        yield from (key.expr for key in body.keys)
    stack: list[Message] = [body]
    while stack:
        message = stack.pop()
        if isinstance(message, pb.WindowCall):
            yield from message.partition_by
            yield from (key.expr for key in message.order_by)
        elif isinstance(message, pb.InList):
            yield message.input
            yield from message.list
        for field, value in message.ListFields():
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                found: Iterable[Message] = value if field.is_repeated else (value,)
                stack.extend(m for m in found if not isinstance(m, pb.Plan))


def _float_type(expr: pb.Expr, types: dict[str, pa.DataType]) -> pa.DataType | None:
    """The type of what is surely a float; None for everything else."""
    kind = expr.WhichOneof("kind")
    if kind == "column":
        type = types.get(flat_name(expr.column))
        return type if type is not None and pa.types.is_floating(type) else None
    if kind == "literal":
        value = expr.literal.WhichOneof("kind")
        return {"float32": pa.float32(), "float64": pa.float64()}.get(value or "")
    if kind == "binary" and expr.binary.operator in _ARITHMETIC:
        found = [_float_type(operand, types) for operand in expr.binary.operands]
        return next((type for type in found if type is not None), None)
    return None


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
