"""Checks a plan after every pass, so that a pass's mistake is found where it is made."""

from __future__ import annotations

from collections.abc import Iterable

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import unique
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import Aggregate, Operator
from jumpgate.dataflow.traits import scoped
from jumpgate.dataflow.types import Schema
from jumpgate.errors import InternalError


class Verifier:
    """Checks each node once, so that a pass that changes little costs little."""

    def __init__(self, plan: Plan) -> None:
        self._result = plan.root.schema
        self._seen: dict[int, Operator] = {}

    def verify(self, plan: Plan, after: str) -> None:
        """Raise InternalError that names the pass, the operator and the problem."""
        for node in unique(plan.root):
            if id(node) in self._seen:
                continue
            self._seen[id(node)] = node
            wrong = problem(node)
            if wrong:
                raise InternalError(f"{after} left a wrong plan: {node.kind}: {wrong}", operator=node.kind, step=after)
        have, want = plan.root.schema, self._result
        if have.names != want.names or not _same_types(have, want):
            raise InternalError(f"{after} changed the result from {want} to {have}", step=after)


def problem(node: Operator) -> str:
    """Return the problem of one operator over its inputs; empty if there is none."""
    expressions: Iterable[tuple[Expression, Schema]] = scoped(node) if node.inputs else ()
    if isinstance(node, Aggregate) and node.phase == "final":  # its measures' arguments are of the rows before
        expressions = ((key, node.input.schema) for key in node.keys)
    return node.defect or next((found for e, schema in expressions if (found := _references(e, schema))), "")


def _same_types(a: Schema, b: Schema) -> bool:
    return len(a) == len(b) and all(x.type.same(y.type) for x, y in zip(a, b, strict=True))


def _references(expression: Expression, schema: Schema) -> str:
    fields = schema.fields
    for e in (expression,) if isinstance(expression, ColumnRef) else expression.walk():
        if isinstance(e, ColumnRef):
            if not 0 <= e.index < len(fields):
                return f"{e} refers beyond {len(fields)} columns"
            if not e.type.same(fields[e.index].type):
                return f"{e} is {e.type}, the column is {fields[e.index].type}"
    return ""
