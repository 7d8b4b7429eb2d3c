"""approx_distinct as accelerators compute it, in place of DataFusion's own, which nothing else can reproduce.

aggregate, window: approx_distinct(x)  →  estimate(coupons)
                                            aggregate, window: count(DISTINCT coupon(x)) as coupons
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from jumpgate.client.sql import sketches
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import Types, project
from jumpgate.client.sql.logical.nodes import Name, Node, placed
from jumpgate.client.sql.logical.types import write_schema

_NAME = "approx_distinct"


@dataclass(frozen=True)
class Approximate:
    """An aggregation or a window in a plan: its kind, the names of its columns, and the types that the arguments of
    such functions are cast to, by the function's number."""

    place: pb.Plan
    kind: str
    names: list[Name]
    types: dict[int, pa.DataType]


def find(node: Node, plan: pb.Plan) -> Iterator[Approximate]:
    """Nodes with such functions in `plan`, which is the node's encoding or a copy of it; inner ones first."""
    for child, place in placed(node, plan):
        yield from find(child, place)
    if node.kind in ("aggregate", "window"):
        calls = {i: call for i, expr in enumerate(_exprs(plan)) if (call := _call(expr)) is not None}
        known = Types(node)
        found = {i: type for i, call in calls.items() if (type := sketches.hashed_as(known.of(call.args[0])))}
        if found:
            yield Approximate(plan, node.kind, node.names, found)


def replace(nodes: list[Approximate]) -> bool:
    """Changes what `find` found and is still there, in place; whether there was anything."""
    still = [node for node in nodes if node.place.WhichOneof("kind") == node.kind]
    for node in still:
        _replace(node)
    return bool(still)


def check(display: str, reason: str) -> None:
    """Raises InvalidSql if a plan, as displayed, has such functions and must run as it is."""
    if f"{_NAME}(" in display:
        raise InvalidSql(
            f"{_NAME} is refused here: DataFusion would compute another number than accelerators do ({reason}); use "
            "count(DISTINCT …), or compute it in a query of its own"
        )


def _exprs(plan: pb.Plan) -> list[pb.Expr]:
    return list(plan.window.exprs if plan.WhichOneof("kind") == "window" else plan.aggregate.measures)


def _bare(expr: pb.Expr) -> pb.Expr:
    while expr.WhichOneof("kind") == "alias":
        expr = expr.alias.input
    return expr


def _call(expr: pb.Expr) -> pb.AggregateCall | pb.WindowCall | None:
    expr = _bare(expr)
    if expr.WhichOneof("kind") == "window":
        return expr.window if expr.window.aggregate == _NAME else None
    return expr.aggregate if expr.aggregate.name == _NAME else None


def _replace(node: Approximate) -> None:
    counted = pb.Plan()
    counted.CopyFrom(node.place)
    exprs = _exprs(counted)
    computed = {}
    for number, type in node.types.items():
        call = _call(exprs[number])
        assert call is not None
        _count(call, type)
        inner = pb.Expr()
        inner.CopyFrom(_bare(exprs[number]))
        exprs[number].Clear()
        exprs[number].alias.name = f"coupons {number}"
        exprs[number].alias.input.CopyFrom(inner)
        estimate = computed[len(node.names) - len(exprs) + number] = pb.Expr()
        estimate.call.name = sketches.ESTIMATE
        estimate.call.args.add().column.name = f"coupons {number}"
    project(node.place, counted, node.names, computed)


def _count(call: pb.AggregateCall | pb.WindowCall, type: pa.DataType) -> None:
    """Makes it count(DISTINCT coupon(x))."""
    if isinstance(call, pb.WindowCall):
        call.aggregate = "count"
    else:
        call.name = "count"
    call.distinct = True
    value = pb.Expr()
    value.CopyFrom(call.args[0])
    call.args[0].Clear()
    coupon = call.args[0].call
    coupon.name = sketches.coupon_name(type)
    cast = coupon.args.add().cast
    cast.input.CopyFrom(value)
    written = pb.Schema()
    write_schema(written, pa.schema([pa.field("", type)]))
    cast.type.CopyFrom(written.fields[0].type)
