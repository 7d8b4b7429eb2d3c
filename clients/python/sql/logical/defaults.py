"""lag and lead with a default that is no constant, which DataFusion plans and cannot execute.

window: lag(x, n, d)  →  CASE WHEN there IS NOT NULL THEN value ELSE d END
                           window: lag(x, n) as value, lag('there', n) as there
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import project
from jumpgate.client.sql.logical.nodes import Name, Node, placed
from jumpgate.client.sql.logical.types import write_schema

_OFFSETS = ("lag", "lead")


@dataclass(frozen=True)
class Defaulted:
    """A window in a plan: the names and types of its columns, and its functions with such defaults, by number."""

    place: pb.Plan
    names: list[Name]
    schema: pa.Schema
    calls: dict[int, pb.WindowCall]


def find(node: Node, plan: pb.Plan) -> Iterator[Defaulted]:
    """Windows with such functions in `plan`, which is the node's encoding or a copy of it; inner ones first."""
    for child, place in placed(node, plan):
        yield from find(child, place)
    if node.kind == "window":
        calls = {i: call for i, expr in enumerate(plan.window.exprs) if _has_default(call := _call(expr))}
        if calls:
            yield Defaulted(plan, node.names, node.schema, calls)


def replace(windows: list[Defaulted]) -> bool:
    """Changes what `find` found and is still there, in place; whether there was anything."""
    still = [window for window in windows if window.place.WhichOneof("kind") == "window"]
    for window in still:
        _replace(window)
    return bool(still)


def _call(expr: pb.Expr) -> pb.WindowCall:
    while expr.WhichOneof("kind") == "alias":
        expr = expr.alias.input
    return expr.window


def _has_default(call: pb.WindowCall) -> bool:
    return call.window in _OFFSETS and len(call.args) == 3 and call.args[2].WhichOneof("kind") != "literal"


def _replace(window: Defaulted) -> None:
    extended = pb.Plan()
    extended.CopyFrom(window.place)
    exprs = extended.window.exprs
    width = len(window.names) - len(exprs)
    added: dict[bytes, int] = {}  # equal expressions would be taken out of the window, into a projection
    computed = {}
    for number, call in window.calls.items():
        bare = pb.WindowCall()
        bare.CopyFrom(call)
        bare.args[2].literal.null.null.SetInParent()
        first = added.setdefault(bare.SerializeToString(deterministic=True), number)
        if first == number:
            _alias(exprs.add(), f"value {number}", bare)
            bare.args[0].literal.utf8 = f"there {number}"
            if call.nulls != pb.IGNORE:  # else what is found is not NULL
                _alias(exprs.add(), f"there {number}", bare)
        case = computed[width + number] = pb.Expr()
        when = case.case.whens.add()
        when.when.is_not_null.input.column.name = f"{'value' if call.nulls == pb.IGNORE else 'there'} {first}"
        when.then.column.name = f"value {first}"
        cast = case.case.otherwise.cast
        cast.input.CopyFrom(call.args[2])
        written = pb.Schema()
        write_schema(written, pa.schema([window.schema.field(width + number)]))
        cast.type.CopyFrom(written.fields[0].type)
    for number in sorted(window.calls, reverse=True):
        del exprs[number]
    project(window.place, extended, window.names, computed)


def _alias(target: pb.Expr, name: str, call: pb.WindowCall) -> None:
    target.alias.name = name
    target.alias.input.window.CopyFrom(call)
