"""Prunes columns: narrows reads, projections, measures and edges to the columns that are used; names and order stay."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from jumpgate.compiler.plan import Exchange, MappedPlan, Plan
from jumpgate.compiler.tree import project, references, unique
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.operators import Aggregate, Join, Operator, Project, Read, UnionAll, column
from jumpgate.dataflow.types import DataType

AnyPlan = TypeVar("AnyPlan", bound=Plan)
#: output column of the old node → output column of the new one
Where = dict[int, int]


def prune_columns(plan: AnyPlan) -> AnyPlan:
    """Drop columns that nothing needs. Those that only filters need are dropped before devices other than hosts are
    asked, as all that is left may travel to them."""
    travels = not isinstance(plan, MappedPlan) and any(device.kind != "host" for device in plan.devices)
    return pruned(plan, lambda node: node.inputs if travels and isinstance(node, Join | Aggregate) else ())


def pruned(plan: AnyPlan, narrows: Callable[[Operator], Sequence[Operator]]) -> AnyPlan:
    """Collect the columns that each node's consumers need, from the root down; then rebuild the nodes from the leaves
    up. narrows: the inputs of a node that are to have no columns but those."""
    nodes = [*unique(plan.root)]
    need = _needs(nodes, plan.root)
    built: dict[int, tuple[Operator, Where]] = {}
    narrow: dict[int, tuple[Operator, Where]] = {}  # one for all consumers of a node, who may share a build
    for node in nodes:
        inputs = {id(i): built[id(i)] for i in node.inputs}
        for i in narrows(node):
            if id(i) not in narrow:
                narrow[id(i)] = _only(*built[id(i)], sorted(need[id(i)]))
            inputs[id(i)] = narrow[id(i)]
        built[id(node)] = _narrowed(node, sorted(need[id(node)]), [inputs[id(i)] for i in node.inputs])
    root = built[id(plan.root)][0]
    return plan.over(root)


def _needs(nodes: Sequence[Operator], root: Operator) -> dict[int, set[int]]:
    need: dict[int, set[int]] = {id(n): set() for n in nodes}
    need[id(root)] = {*range(len(root.schema))}
    for node in reversed(nodes):
        if not need[id(node)] and len(node.schema) and node.inputs and not node.passes:
            need[id(node)] = {0}  # its rows are counted: it must have a column
        for child, wanted in zip(node.inputs, node.needs(need[id(node)]), strict=True):
            need[id(child)] |= wanted
    return need


def _narrowed(node: Operator, need: list[int], inputs: list[tuple[Operator, Where]]) -> tuple[Operator, Where]:
    """Return the node over its new inputs, and the new positions of its needed columns."""
    match node:
        case Read():
            return _read(node, need)
        case Project():
            ((input, where),) = inputs
            if len(need) == len(node.names) and input is node.input:
                return node, _positions(need)
            expressions = tuple(_moved(node.expressions[i], input, where) for i in need)
            return project(input, expressions, tuple(node.names[i] for i in need)), _positions(need)
        case Aggregate():
            return _aggregate(node, need, *inputs[0])
        case UnionAll():
            return _over(node, *(_exactly(m, w, need) for m, w in inputs)), _positions(need)
        case Exchange():
            return _exchange(node, need, *inputs[0])
    new, places = tuple(i for i, _ in inputs), [w for _, w in inputs]
    if not node.uses_all:
        return node.over(new, places), node.output_places(new, places)
    whole = [_exactly(i, w, [*range(len(o.schema))]) for (i, w), o in zip(inputs, node.inputs, strict=True)]
    return _over(node, *whole), {i: i for i in range(len(node.schema))}


def _read(node: Read, need: list[int]) -> tuple[Operator, Where]:
    used = {*need} | (node.predicate.columns() if node.predicate is not None else set())
    if not used and node.columns:  # rows must still be counted: read the cheapest column
        used = {min(range(len(node.columns)), key=lambda i: (_cost(node.schema[i].type), i))}
    kept = sorted(used)
    where = _positions(kept)
    if len(kept) == len(node.columns):
        return node, where
    new = replace(node, columns=tuple(node.columns[i] for i in kept), predicate=None)
    if node.predicate is not None:
        new = replace(new, predicate=_moved(node.predicate, new, where))
    return new, where


def _cost(type: DataType) -> float:
    return math.inf if type.is_opaque else type.width


def _aggregate(node: Aggregate, need: list[int], input: Operator, where: Where) -> tuple[Operator, Where]:
    if node.phase != "full":
        return _over(node, input), {i: i for i in range(len(node.schema))}
    width = len(node.keys)
    kept = [i for i in range(len(node.measures)) if i + width in need]
    positions = _positions([*range(width), *(i + width for i in kept)])
    if input is node.input and len(kept) == len(node.measures):
        return node, positions
    keys = tuple(_moved(k, input, where) for k in node.keys)
    measures = tuple(
        m.with_expressions([_moved(e, input, where) for e in m.expressions]) for m in (node.measures[i] for i in kept)
    )
    return replace(node, input=input, keys=keys, measures=measures), positions


def _exchange(node: Exchange, need: list[int], input: Operator, where: Where) -> tuple[Operator, Where]:
    """Narrow the rows that travel to the needed columns and the partitioning's keys."""
    if not node.narrows:
        return _over(node, input), where
    kept = sorted({*need, *node.partitioning.keys})
    if kept:
        input, where = _exactly(input, where, kept), _positions(kept)
    return node.over((input,), (where,)), where


def _only(input: Operator, where: Where, columns: list[int]) -> tuple[Operator, Where]:
    """Return `input` without columns other than `columns`; unchanged if there are none, or if nothing would be left."""
    if not columns or len(columns) == len(input.schema):
        return input, where
    return _exactly(input, where, columns), _positions(columns)


def _exactly(input: Operator, where: Where, columns: list[int]) -> Operator:
    """Return `input` with exactly `columns` (of the old numbering), in that order."""
    wanted = [where[c] for c in columns]
    return project(input, references(input.schema, wanted), tuple(input.schema.names[i] for i in wanted))


def _positions(kept: Sequence[int]) -> Where:
    return {old: new for new, old in enumerate(kept)}


def _moved(expression: Expression, input: Operator, where: Where) -> Expression:
    return expression.remap(lambda i: column(input.schema, where[i]))


def _over(node: Operator, *inputs: Operator) -> Operator:
    same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
    return node if same else node.with_inputs(inputs)
