"""Prunes columns: narrows reads, projections, measures and edges to the columns that are used; names and order stay."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jumpgate.compiler.plan import Exchange, Plan
from jumpgate.compiler.tree import map_expressions, pair_references, project, references, unique
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.operators import (
    Aggregate,
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Read,
    Send,
    Shuffle,
    Skyline,
    Sort,
    UnionAll,
    Window,
    column,
    expressions_of,
)
from jumpgate.dataflow.types import DataType

#: output column of the old node → output column of the new one
Where = dict[int, int]


def prune_columns(plan: Plan) -> Plan:
    """Collect the columns that each node's consumers need, from the root down; then rebuild the nodes from the leaves
    up. Columns that only filters need are dropped before devices other than hosts are asked, as all that is left may
    travel to them."""
    nodes = [*unique(plan.root)]
    need = _needs(nodes, plan.root)
    travels = not plan.candidates and any(device.kind != "host" for device in plan.devices)
    built: dict[int, tuple[Operator, Where]] = {}
    for node in nodes:
        inputs = [built[id(i)] for i in node.inputs]
        if travels and isinstance(node, Join | Aggregate):
            wanted = _of_inputs(node, need[id(node)])
            inputs = [_only(*input, sorted(columns)) for input, columns in zip(inputs, wanted, strict=True)]
        built[id(node)] = _narrowed(node, sorted(need[id(node)]), inputs)
    root = built[id(plan.root)][0]
    assert isinstance(root, Send)
    return plan if root is plan.root else replace(plan, root=root)


def _needs(nodes: Sequence[Operator], root: Operator) -> dict[int, set[int]]:
    need: dict[int, set[int]] = {id(n): set() for n in nodes}
    need[id(root)] = {*range(len(root.schema))}
    for node in reversed(nodes):
        if not need[id(node)] and len(node.schema) and isinstance(node, Project | UnionAll | Aggregate):
            need[id(node)] = {0}  # its rows are counted: it must have a column
        for child, wanted in zip(node.inputs, _of_inputs(node, need[id(node)]), strict=True):
            need[id(child)] |= wanted
    return need


def _columns(expressions: Iterable[Expression]) -> set[int]:
    return {i for e in expressions for i in e.columns()}


def _of_inputs(node: Operator, wanted: set[int]) -> list[set[int]]:
    """Return the columns of each input that `node` needs for `wanted` of its output."""
    match node:
        case Project():
            return [_columns(node.expressions[i] for i in wanted)]
        case Filter() | Sort() | Skyline():
            return [wanted | _columns(expressions_of(node))]
        case Window():
            width = len(node.input.schema)
            return [{i for i in wanted if i < width} | _columns(expressions_of(node))]
        case Limit() | UnionAll():
            return [wanted for _ in node.inputs]
        case Aggregate() if node.phase == "full":
            measures = (m for i, m in enumerate(node.measures) if i + len(node.keys) in wanted)
            return [_columns((*node.keys, *(e for m in measures for e in m.expressions)))]
        case Join():
            return _of_join(node, wanted)
        case Shuffle():
            return [wanted | {*node.partitioning.keys}]
        case Exchange() if _narrows(node):
            return [wanted | {*node.partitioning.keys}]
    return [{*range(len(i.schema))} for i in node.inputs]


def _of_join(node: Join, wanted: set[int]) -> list[set[int]]:
    width, total = len(node.left.schema), len(node.left.schema) + len(node.right.schema)
    used = wanted | (node.residual.columns() if node.residual is not None else set())
    if not node.type.pairs:  # the mark column follows the left columns
        used = {i for i in wanted if i < width} | (node.residual.columns() if node.residual is not None else set())
    left = {i for i in used if i < width} | _columns(node.left_keys)
    right = {i - width for i in used if width <= i < total} | _columns(node.right_keys)
    return [left, right]


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
        case Filter():
            ((input, where),) = inputs
            if input is node.input:
                return node, where
            return Filter(input, _moved(node.predicate, input, where)), where
        case Sort() | Skyline():
            ((input, where),) = inputs
            if input is node.input:
                return node, where
            keys = tuple(replace(k, expression=_moved(k.expression, input, where)) for k in node.keys)
            return replace(node, input=input, keys=keys), where
        case Window():
            ((input, where),) = inputs
            width, new_width = len(node.input.schema), len(input.schema)
            out = where | {width + i: new_width + i for i in range(len(node.functions))}
            if input is node.input:
                return node, out
            window = map_expressions(node, lambda e: _moved(e, input, where))
            return window.with_inputs((input,)), out
        case Aggregate():
            return _aggregate(node, need, *inputs[0])
        case Join():
            return _join(node, inputs)
        case UnionAll():
            return _over(node, *(_exactly(m, w, need) for m, w in inputs)), _positions(need)
        case Shuffle() | Exchange():
            return _moved_rows(node, need, *inputs[0])
        case Limit():
            ((input, where),) = inputs
            return _over(node, input), where
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


def _join(node: Join, inputs: list[tuple[Operator, Where]]) -> tuple[Operator, Where]:
    (left, left_where), (right, right_where) = inputs
    old_width, new_width = len(node.left.schema), len(left.schema)
    both = left_where | {i + old_width: j + new_width for i, j in right_where.items()}
    out = both if node.type.pairs else left_where
    if node.type.marks:
        out = left_where | {old_width: new_width}
    if left is node.left and right is node.right:
        return node, out
    left_keys = tuple(_moved(k, left, left_where) for k in node.left_keys)
    right_keys = tuple(_moved(k, right, right_where) for k in node.right_keys)
    residual = node.residual
    if residual is not None:
        refs = pair_references(left.schema, right.schema)
        residual = residual.remap(lambda i: refs[both[i]])
    return replace(node, left=left, right=right, left_keys=left_keys, right_keys=right_keys, residual=residual), out


def _moved_rows(node: Shuffle | Exchange, need: list[int], input: Operator, where: Where) -> tuple[Operator, Where]:
    """Narrow the rows that travel to the needed columns and the partitioning's keys."""
    if isinstance(node, Exchange) and not _narrows(node):
        return _over(node, input), where
    kept = sorted({*need, *node.partitioning.keys})
    if isinstance(node, Exchange) and kept:
        input, where = _exactly(input, where, kept), _positions(kept)
    if input is node.input:
        return node, where
    keys = tuple(where[k] for k in node.partitioning.keys)
    return replace(node, input=input, partitioning=replace(node.partitioning, keys=keys)), where


def _narrows(node: Exchange) -> bool:
    """Return whether the compiler chooses the columns that travel."""
    return bool(node.site.fusion) and node.transport is None


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
