"""Aggregates of floats over frames that move, as window functions of the session (jumpgate.client.sql.moving).

window: sum(f) over a frame  →  window: moving(f, f, at, end, rows) over all rows, by partition and at
                                  window: count(*) up to the row as at, up to the frame's end as end, over the frame
                                          as rows
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jumpgate.client.sql import moving
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import Types, project
from jumpgate.client.sql.logical.nodes import Name, Node, placed

#: counts of rows in a partition: up to a row, up to the end of its frame, in the frame
POSITIONS = ("at", "end", "rows")
_MOVING = re.compile(
    rf"({'|'.join(moving.FUNCTIONS)})\((?:(?!WindowAggr).)*? (?:ROWS|RANGE|GROUPS) BETWEEN "
    r"(?!UNBOUNDED PRECEDING)[^\[\]]*?:Float64"
)


@dataclass(frozen=True)
class Moving:
    """A window in a plan: the names of its columns, and which of its functions, by their number, are replaced."""

    place: pb.Plan
    names: list[Name]
    replaced: list[int]


def find(node: Node, plan: pb.Plan) -> Iterator[Moving]:
    """Windows with such functions in `plan`, which is the node's encoding or a copy of it; inner ones first."""
    for child, place in placed(node, plan):
        yield from find(child, place)
    if node.kind == "window":
        types = Types(node)
        found = [i for i, expr in enumerate(plan.window.exprs) if _moves(_call(expr), types)]
        if found:
            yield Moving(plan, node.names, found)


def replace(windows: list[Moving]) -> bool:
    """Changes what `find` found and is still there, in place; whether there was anything."""
    still = [window for window in windows if window.place.WhichOneof("kind") == "window"]
    for window in still:
        _replace(window)
    return bool(still)


def check(display: str, reason: str) -> None:
    """Raises InvalidSql if a plan, as displayed with its schema, has such functions and must run as it is."""
    found = _MOVING.search(display)
    if found:
        raise InvalidSql(
            f"{found[1]} of floats over a frame that moves is refused here: DataFusion would subtract what leaves "
            f"the frame ({reason}); cast to a decimal, or compute it in a query of its own"
        )


def _call(expr: pb.Expr) -> pb.WindowCall:
    while expr.WhichOneof("kind") == "alias":
        expr = expr.alias.input
    return expr.window


def _moves(call: pb.WindowCall, types: Types) -> bool:
    start = call.frame.start
    unbounded = start.kind == pb.Bound.PRECEDING and start.offset.WhichOneof("kind") in (None, "null")
    if call.aggregate not in moving.FUNCTIONS or call.distinct or unbounded:
        return False
    return any(types.of_float(arg) is not None for arg in call.args)


def _replace(window: Moving) -> None:
    counted, above = pb.Plan(), pb.Plan()
    counted.CopyFrom(window.place)
    del counted.window.exprs[:]
    frames: dict[bytes, int] = {}
    for number, expr in enumerate(window.place.window.exprs):
        if number not in window.replaced:
            counted.window.exprs.add().CopyFrom(expr)
            continue
        call = _call(expr)
        spec = pb.WindowCall(partition_by=call.partition_by, order_by=call.order_by, frame=call.frame)
        key = spec.SerializeToString(deterministic=True)
        if key not in frames:
            frames[key] = number
            _counts(counted.window, call, number)
        _moving(above.window.exprs.add(), call, number, frames[key])
    above.window.input.CopyFrom(counted)
    width = len(window.names) - len(window.place.window.exprs)
    columns = {}
    for number in window.replaced:
        columns[width + number] = pb.Expr()
        columns[width + number].column.name = f"moving {number}"
    project(window.place, above, window.names, columns)


def _counts(window: pb.Window, call: pb.WindowCall, number: int) -> None:
    for name in POSITIONS:
        alias = window.exprs.add().alias
        alias.name = f"{name} {number}"
        count = alias.input.window
        count.aggregate = "count"
        count.args.add().literal.utf8 = name  # no count of the query, with which DataFusion would join it
        count.partition_by.extend(call.partition_by)
        count.order_by.extend(call.order_by)
        if name == "at":
            count.frame.unit = pb.Frame.ROWS
            count.frame.end.SetInParent()
        else:
            count.frame.CopyFrom(call.frame)
        if name != "rows":
            _unbound(count.frame.start, count.frame.unit)


def _unbound(bound: pb.Bound, unit: pb.Frame.Unit, kind: pb.Bound.Kind = pb.Bound.PRECEDING) -> None:
    bound.kind = kind
    bound.offset.Clear()
    null = bound.offset.null
    (null.null if unit == pb.Frame.RANGE else null.uint64).SetInParent()


def _moving(target: pb.Expr, call: pb.WindowCall, number: int, frame: int) -> None:
    target.alias.name = f"moving {number}"
    function = target.alias.input.window
    function.window = moving.PREFIX + call.aggregate
    for arg in (call.args[0], call.args[-1]):
        cast = function.args.add().cast
        cast.type.float64.SetInParent()
        if call.HasField("filter"):
            when = cast.input.case.whens.add()
            when.when.CopyFrom(call.filter)
            when.then.CopyFrom(arg)
        else:
            cast.input.CopyFrom(arg)
    for name in POSITIONS:
        function.args.add().column.name = f"{name} {frame}"
    for key in (*call.partition_by, function.args[2]):
        function.order_by.add(expr=key, ascending=True)
    _unbound(function.frame.start, pb.Frame.ROWS)
    _unbound(function.frame.end, pb.Frame.ROWS, pb.Bound.FOLLOWING)
