"""Changes of a plan's expressions that keep its columns' names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from google.protobuf.message import Message

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import Node, flat_name, inputs, subquery_exprs

#: the types of an input's columns by their names with qualifiers
Types = dict[str, pa.DataType]
_ARITHMETIC = frozenset(("Plus", "Minus", "Multiply", "Divide", "Modulo"))


def mend(node: Node, plan: pb.Plan, change: Callable[[Message, Types], bool]) -> bool:
    """Lets `change` have each expression of `plan`, which is the node's encoding or a copy of it, or, of nodes whose
    expressions are no columns, the node's own message. It changes them in place and says whether it did."""
    changed = False
    if node.kind:
        columns = (zip(child.flat_names, child.types, strict=True) for child in node.children)
        types = dict(itertools.chain.from_iterable(columns))
        for position, outer in _outer(getattr(plan, node.kind)):
            if change(outer, types):
                changed = True
                if position is not None and isinstance(outer, pb.Expr):
                    _named(outer, node.names[position].name)
    places = [*inputs(plan)]
    if node.nests:
        places += [expr.subquery.plan.plan for expr in subquery_exprs(plan)]
    for child, place in zip((*node.children, *node.subqueries), places, strict=True):
        changed |= mend(child, place, change)
    return changed


def within(message: Message) -> Iterator[Message]:
    """The message and all within it, but for plans."""
    stack = [message]
    while stack:
        message = stack.pop()
        yield message
        for field, value in message.ListFields():
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                found: Iterable[Message] = value if field.is_repeated else (value,)
                stack.extend(m for m in found if not isinstance(m, pb.Plan))


def float_type(expr: pb.Expr, types: Types) -> pa.DataType | None:
    """The type of what is surely a float; None for everything else."""
    kind = expr.WhichOneof("kind")
    if kind == "alias":
        return float_type(expr.alias.input, types)
    if kind == "column":
        type = types.get(flat_name(expr.column))
        return type if type is not None and pa.types.is_floating(type) else None
    if kind in ("literal", "cast", "try_cast"):
        name = expr.literal.WhichOneof("kind") if kind == "literal" else getattr(expr, kind).type.WhichOneof("kind")
        return {"float32": pa.float32(), "float64": pa.float64()}.get(name or "")
    if kind == "negative":
        return float_type(expr.negative.input, types)
    if kind == "case":  # whose values have one type
        values = [*(clause.then for clause in expr.case.whens), expr.case.otherwise]
        return next((type for value in values if (type := float_type(value, types)) is not None), None)
    if kind == "binary" and expr.binary.operator in _ARITHMETIC:
        found = [float_type(operand, types) for operand in expr.binary.operands]
        return next((type for type in found if type is not None), None)
    return None


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
