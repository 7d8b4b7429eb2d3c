"""approx_distinct as accelerators compute it, in place of DataFusion's own, which nothing else can reproduce.

aggregate, window: approx_distinct(x)  →  estimate(coupons)
                                            aggregate, window: count(DISTINCT coupon(x)) as coupons
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa

from jumpgate.client.sql import sketches
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import Types
from jumpgate.client.sql.logical.nodes import Node, below
from jumpgate.client.sql.logical.replacing import Call, Calls, Replacement, calls_of
from jumpgate.client.sql.logical.types import write_schema

_NAME = "approx_distinct"
#: such a call in the display of an aggregation or a window, not a column, a name or a text
_CALL = re.compile(rf"(?:aggr|windowExpr)=\[\[(?:(?!\]\]).)*(?<=\[\[|, ){_NAME}\(")


def find(node: Node, calls: Sequence[Call]) -> Replacement | None:
    """Return the changes for such calls of an aggregation or a window."""
    found = {i: call.args[0] for i, call in enumerate(calls) if _function(call) == _NAME}
    if not found:
        return None
    types = Types(node)
    return partial(_replace, {i: types.of(arg) for i, arg in found.items()})


def remain(plan: pb.Plan, nests: bool = True) -> bool:
    """Return whether there are such calls in a plan. nests: as of a Node."""
    return any(_function(call) == _NAME for place in below(plan, nests) for call in calls_of(place))


def check(display: str, reason: str) -> None:
    """Raises InvalidSql if a plan, as displayed, has such functions and must run as it is."""
    if _CALL.search(display):
        raise InvalidSql(
            f"{_NAME} is refused here: DataFusion would compute another number than accelerators do ({reason}); use "
            "count(DISTINCT …), or compute it in a query of its own"
        )


def _function(call: Call) -> str:
    return call.name if isinstance(call, pb.AggregateCall) else call.aggregate


def _replace(types: Mapping[int, pa.DataType | None], calls: Calls) -> None:
    for number, type in types.items():
        hashed = sketches.hashed_as(type) if type is not None else ()
        if not hashed:
            raise InvalidSql(
                f"{_NAME} of {'what has no known type' if type is None else type} is refused: accelerators and "
                "DataFusion have no hash of it in common; use count(DISTINCT …)"
            )
        call = calls.take(number)
        target = calls.add(f"coupons {number}")
        if isinstance(call, pb.WindowCall):
            call.aggregate = "count"
            target.window.CopyFrom(call)
            _count(target.window, hashed)
        else:
            call.name = "count"
            target.aggregate.CopyFrom(call)
            _count(target.aggregate, hashed)
        estimate = calls.compute(number).call
        estimate.name = sketches.ESTIMATE
        estimate.args.add().column.name = f"coupons {number}"


def _count(call: Call, types: Sequence[pa.DataType]) -> None:
    """Makes the argument x of a count DISTINCT coupon(x)."""
    call.distinct = True
    value = pb.Expr()
    value.CopyFrom(call.args[0])
    written = pb.Schema()
    write_schema(written, pa.schema([pa.field("", type) for type in types]))
    for field in written.fields:
        value = pb.Expr(cast=pb.Cast(input=value, type=field.type))
    call.args[0].CopyFrom(pb.Expr(call=pb.Call(name=sketches.coupon_name(types[-1]), args=[value])))
