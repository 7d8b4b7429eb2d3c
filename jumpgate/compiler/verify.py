"""Checks a plan after every pass, so that a pass's mistake is found where it is made."""

from __future__ import annotations

from jumpgate.compiler.plan import Mapped, Plan
from jumpgate.compiler.tree import unique
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import (
    Aggregate,
    Filter,
    Join,
    Operator,
    Project,
    Read,
    Skyline,
    Sort,
    UnionAll,
)
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
    match node:
        case Filter():
            if node.predicate.type.kind != "bool":
                return f"predicate is {node.predicate.type}"
            return _references((node.predicate,), node.input.schema)
        case Project():
            if len(node.names) != len(node.expressions):
                return f"{len(node.names)} names for {len(node.expressions)} expressions"
            return _references(node.expressions, node.input.schema)
        case Read():
            return "" if all(c < len(node.file_schema) for c in node.columns) else "column beyond the file's schema"
        case Join():
            return _join(node)
        case Aggregate():
            arguments = () if node.phase == "final" else tuple(e for m in node.measures for e in m.expressions)
            return _references((*node.keys, *arguments), node.input.schema)
        case Sort() | Skyline():
            return _references(tuple(k.expression for k in node.keys), node.input.schema)
        case UnionAll():
            first = node.members[0].schema
            return "" if all(_same_types(m.schema, first) for m in node.members) else "members differ in types"
        case Mapped():
            return "" if len(node.members) == len(node.leaves) else "members do not fit the match's inputs"
    return ""


def _join(node: Join) -> str:
    for a, b in zip(node.left_keys, node.right_keys, strict=True):
        if not a.type.same(b.type):
            return f"key {a} is {a.type}, {b} is {b.type}"
    both = Schema((*node.left.schema, *node.right.schema))
    residual = (node.residual,) if node.residual is not None else ()
    return (
        _references(node.left_keys, node.left.schema)
        or _references(node.right_keys, node.right.schema)
        or _references(residual, both)
    )


def _same_types(a: Schema, b: Schema) -> bool:
    return len(a) == len(b) and all(x.type.same(y.type) for x, y in zip(a, b, strict=True))


def _references(expressions: tuple[Expression, ...], schema: Schema) -> str:
    fields = schema.fields
    for expression in expressions:
        for e in (expression,) if isinstance(expression, ColumnRef) else expression.walk():
            if isinstance(e, ColumnRef):
                if not 0 <= e.index < len(fields):
                    return f"{e} refers beyond {len(fields)} columns"
                if not e.type.same(fields[e.index].type):
                    return f"{e} is {e.type}, the column is {fields[e.index].type}"
    return ""
