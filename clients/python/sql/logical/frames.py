"""Aggregates of floats over frames that move, as window functions of the session (jumpgate.client.sql.moving).

window: sum(f) over a frame  →  window: moving(f, f, at, end, rows) over all rows, by partition and at
                                  window: count(*) up to the row as at, up to the frame's end as end, over the frame
                                          as rows
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from jumpgate.client.sql import moving
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import Types
from jumpgate.client.sql.logical.nodes import Node
from jumpgate.client.sql.logical.replacing import Call, Calls, Replacement

#: counts of rows in a partition: up to a row, up to the end of its frame, in the frame
POSITIONS = ("at", "end", "rows")
_MOVING = re.compile(
    rf"({'|'.join(moving.FUNCTIONS)})\((?:(?!WindowAggr).)*? (?:ROWS|RANGE|GROUPS) BETWEEN "
    r"(?!UNBOUNDED PRECEDING)[^\[\]]*?:Float64"
)


def find(node: Node, calls: Sequence[Call]) -> Replacement | None:
    """Return the changes for a window's calls of that sort."""
    if node.kind != "window":
        return None
    types = Types(node)
    found = [i for i, call in enumerate(calls) if isinstance(call, pb.WindowCall) and _moves(call, types)]
    return partial(_replace, found) if found else None


def check(display: str, reason: str) -> None:
    """Raises InvalidSql if a plan, as displayed with its schema, has such functions and must run as it is."""
    found = _MOVING.search(display)
    if found:
        raise InvalidSql(
            f"{found[1]} of floats over a frame that moves is refused here: DataFusion would subtract what leaves "
            f"the frame ({reason}); cast to a decimal, or compute it in a query of its own"
        )


def _moves(call: pb.WindowCall, types: Types) -> bool:
    start = call.frame.start
    unbounded = start.kind == pb.Bound.PRECEDING and start.offset.WhichOneof("kind") in (None, "null")
    if call.aggregate not in moving.FUNCTIONS or call.distinct or unbounded:
        return False
    return any(types.of_float(arg) is not None for arg in call.args)


def _replace(numbers: Sequence[int], calls: Calls) -> None:
    frames: dict[bytes, int] = {}
    for number in numbers:
        call = calls.take(number)
        assert isinstance(call, pb.WindowCall)
        spec = pb.WindowCall(partition_by=call.partition_by, order_by=call.order_by, frame=call.frame)
        frame = frames.setdefault(spec.SerializeToString(deterministic=True), number)
        if frame == number:
            _count(calls, call, number)
        _move(calls.add_above(f"moving {number}").window, call, frame)
        calls.compute(number).column.name = f"moving {number}"


def _count(calls: Calls, call: pb.WindowCall, number: int) -> None:
    for name in POSITIONS:
        count = calls.add(f"{name} {number}").window
        count.aggregate = "count"
        count.args.add().literal.utf8 = f"{name} {number}"  # no other count, with which DataFusion would join it
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


def _move(function: pb.WindowCall, call: pb.WindowCall, frame: int) -> None:
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
