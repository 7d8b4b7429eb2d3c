"""Changes of a plan's expressions that keep its columns' names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
from google.protobuf.message import Message

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import Name, Node, flat_name, placed, qualify

_ARITHMETIC = frozenset(("Plus", "Minus", "Multiply", "Divide", "Modulo"))


class Types:
    """The types of expressions over a node's inputs."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._columns: dict[str, pa.DataType] = {}
        for child in node.children:
            self._columns.update(zip(child.flat_names, child.types, strict=True))

    def of_float(self, expr: pb.Expr) -> pa.DataType | None:
        """The type of what is surely a float; None for everything else."""
        kind = expr.WhichOneof("kind")
        if kind == "alias":
            return self.of_float(expr.alias.input)
        if kind == "column":
            type = self._columns.get(flat_name(expr.column))
            return type if type is not None and pa.types.is_floating(type) else None
        if kind in ("literal", "cast", "try_cast"):
            name = expr.literal.WhichOneof("kind") if kind == "literal" else getattr(expr, kind).type.WhichOneof("kind")
            return {"float32": pa.float32(), "float64": pa.float64()}.get(name or "")
        if kind == "negative":
            return self.of_float(expr.negative.input)
        if kind == "case":  # whose values have one type
            values = [*(clause.then for clause in expr.case.whens), expr.case.otherwise]
            return next((type for value in values if (type := self.of_float(value)) is not None), None)
        if kind == "binary" and expr.binary.operator in _ARITHMETIC:
            found = [self.of_float(operand) for operand in expr.binary.operands]
            return next((type for type in found if type is not None), None)
        told = self.of(expr) if kind in ("call", "subquery") else None
        return told if told is not None and pa.types.is_floating(told) else None

    def of(self, expr: pb.Expr) -> pa.DataType | None:
        """The type of any expression, by DataFusion; None if it is not known."""
        plan = pb.Plan()
        plan.projection.exprs.add().CopyFrom(expr)
        inputs = [child.plan for child in self._node.children]
        if len(inputs) == 1:
            plan.projection.input.CopyFrom(inputs[0])
        elif len(inputs) == 2:
            plan.projection.input.cross_join.left.CopyFrom(inputs[0])
            plan.projection.input.cross_join.right.CopyFrom(inputs[1])
        else:
            return None
        try:
            (type,) = self._node.subquery(plan).types
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            return None  # of columns that are not the inputs'
        return type


#: changes an expression in place and says whether it did; told whether it is the key of groups
Change = Callable[[Message, Types, bool], bool]


def mend(node: Node, plan: pb.Plan, change: Change) -> bool:
    """Lets `change` have each expression of `plan`, which is the node's encoding or a copy of it, or, of nodes whose
    expressions are not columns, the node's own message."""
    changed = False
    if node.kind:
        types = Types(node)
        for position, outer, is_key in _outer(getattr(plan, node.kind)):
            if change(outer, types, is_key):
                changed = True
                if position is not None and isinstance(outer, pb.Expr):
                    _named(outer, node.names[position])
    for child, place in placed(node, plan):
        changed |= mend(child, place, change)
    return changed


def project(place: pb.Plan, below: pb.Plan, names: Sequence[Name], computed: Mapping[int, pb.Expr]) -> None:
    """Makes `place` a projection of `below` with these columns; those at the positions in `computed` are these."""
    place.Clear()
    place.projection.input.CopyFrom(below)
    for position, name in enumerate(names):
        target = place.projection.exprs.add()
        if position not in computed:
            target.column.name = name.name
            if name.relation:
                target.column.relation.name = name.relation
        else:
            target.CopyFrom(computed[position])
            _named(target, name)


def _outer(body: Message) -> Iterator[tuple[int | None, Message, bool]]:
    """The expressions of a node whose values are columns, with the positions of these, and whether they are keys of
    groups; else the node itself."""
    if isinstance(body, pb.Projection):
        yield from ((i, expr, False) for i, expr in enumerate(body.exprs))
    elif isinstance(body, pb.Aggregate):
        measures = list(body.measures)
        yield from ((i, key, True) for i, key in _keys(body))
        yield from ((i, expr, False) for i, expr in enumerate(measures, -len(measures)))
    elif isinstance(body, pb.Window):
        yield from ((i, expr, False) for i, expr in enumerate(body.exprs, -len(body.exprs)))
    else:
        yield None, body, False


def _keys(aggregate: pb.Aggregate) -> Iterator[tuple[int, pb.Expr]]:
    """The keys of an aggregate, those of all its grouping sets, with the positions of their columns."""
    positions: dict[bytes, int] = {}
    for expr in list(aggregate.keys):
        kind = expr.WhichOneof("kind")
        if kind == "grouping_sets":
            found = [key for keys in expr.grouping_sets.sets for key in keys.exprs]
        elif kind in ("cube", "rollup"):
            found = list(getattr(expr, kind).exprs)
        else:
            found = [expr]
        for key in found:
            yield positions.setdefault(key.SerializeToString(deterministic=True), len(positions)), key


def _named(expr: pb.Expr, name: Name) -> None:
    """Gives an expression the name that it had before it was changed."""
    if expr.WhichOneof("kind") != "alias":
        inner = pb.Expr()
        inner.CopyFrom(expr)
        expr.Clear()
        expr.alias.input.CopyFrom(inner)
        expr.alias.name = name.name
        if name.relation:
            qualify(expr.alias.relation.add(), name.relation)
