"""Aggregations and windows some of whose calls are computed in another way, all of them in one pass.

aggregate, window: a, b  →  projection: a, an expression over b' and b'' as b
                              window: b'' over b' (if there is any)
                                aggregate, window: a, b'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import project
from jumpgate.client.sql.logical.nodes import Name, Node, placed

Call = pb.AggregateCall | pb.WindowCall


class Calls:
    """The calls of a node, by number, while some of them are replaced."""

    def __init__(self, node: Node, plan: pb.Plan) -> None:
        self._node, self._plan = node, plan
        self._left: dict[int, pb.Expr] = dict(enumerate(_exprs(plan)))
        self._width = len(node.names) - len(self._left)
        self._added: list[pb.Expr] = []
        self._above: list[pb.Expr] = []
        self._computed: dict[int, pb.Expr] = {}

    def __getitem__(self, number: int) -> Call:
        """One that is left."""
        return _called(self._left[number])

    def name(self, number: int) -> Name:
        """The name of a call's column."""
        return self._node.names[self._width + number]

    def type(self, number: int) -> pa.DataType:
        """The type of a call's column."""
        return self._node.types[self._width + number]

    def compute(self, number: int) -> pb.Expr:
        """An expression to fill: a call's column, over all that is left or added."""
        return self._computed.setdefault(self._width + number, pb.Expr())

    def take(self, number: int) -> Call:
        """A call that is no longer left."""
        return _called(self._left.pop(number))

    def add(self, name: str) -> pb.Expr:
        """An expression to fill: a call whose column has that name."""
        return _named(self._added, name)

    def add_above(self, name: str) -> pb.Expr:
        """The same of a window over all that is left or added."""
        return _named(self._above, name)

    def write(self) -> None:
        """Puts what they have become in place of the node."""
        found = pb.Plan()
        found.CopyFrom(self._plan)
        exprs = _exprs(found)
        del exprs[:]
        exprs.extend((*self._left.values(), *self._added))
        if self._above:
            found = pb.Plan(window=pb.Window(input=found, exprs=self._above))
        project(self._plan, found, self._node.names, self._computed)


#: replaces some of a node's calls
Replacement = Callable[[Calls], None]


@dataclass(frozen=True)
class Replaced:
    """A node in a plan with calls to replace, each by one of the replacements alone."""

    node: Node
    place: pb.Plan
    replacements: list[Replacement]


def find(
    node: Node, plan: pb.Plan, finders: Sequence[Callable[[Node, Sequence[Call]], Replacement | None]]
) -> Iterator[Replaced]:
    """Aggregations and windows in `plan`, which is the node's encoding or a copy of it, in whose calls a finder finds
    some to replace; inner ones first."""
    for child, place in placed(node, plan):
        yield from find(child, place, finders)
    if node.kind in ("aggregate", "window"):
        calls = [*calls_of(plan)]
        found = [replacement for look in finders if (replacement := look(node, calls)) is not None]
        if found:
            yield Replaced(node, plan, found)


def replace(nodes: Sequence[Replaced]) -> bool:
    """Changes what `find` found and is still there, in place; whether there was anything."""
    still = [found for found in nodes if found.place.WhichOneof("kind") == found.node.kind]
    for found in still:
        calls = Calls(found.node, found.place)
        for replacement in found.replacements:
            replacement(calls)
        calls.write()
    return bool(still)


def calls_of(plan: pb.Plan) -> Iterator[Call]:
    """Return the calls of an aggregation or a window; of other nodes none."""
    return map(_called, _exprs(plan))


def _called(expr: pb.Expr) -> Call:
    while expr.WhichOneof("kind") == "alias":
        expr = expr.alias.input
    return expr.window if expr.WhichOneof("kind") == "window" else expr.aggregate


def _exprs(plan: pb.Plan) -> RepeatedCompositeFieldContainer[pb.Expr]:
    return plan.window.exprs if plan.WhichOneof("kind") == "window" else plan.aggregate.measures


def _named(target: list[pb.Expr], name: str) -> pb.Expr:
    target.append(pb.Expr(alias=pb.Alias(name=name)))
    return target[-1].alias.input
