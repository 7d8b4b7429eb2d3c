"""Nested column pruning: reads the fields of structs that a plan uses as columns of their own, so that files return no
others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.prune_columns import prune_columns
from jumpgate.compiler.tree import map_expressions, project, references, unique
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Member
from jumpgate.dataflow.join_types import Output
from jumpgate.dataflow.operators import (
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
    cross,
    expressions_of,
)
from jumpgate.dataflow.types import Field, Schema, struct

#: stands for a struct's validity: it is read as a struct without fields
PRESENCE = None
#: field names from a column down; PRESENCE may be the last
Path = tuple[str | None, ...]
#: (column of the old node, path) → column of the new one
Where = dict[tuple[int, Path], int]


def member_columns(plan: Plan) -> Plan:
    """Read each used field, and each struct tested for NULL, as a column of the reads below, as far as the struct was
    only passed on; then prune structs that are not needed whole."""
    nodes = [*unique(plan.root)]
    if not any(f.type.kind == "struct" for n in nodes if isinstance(n, Read) for f in n.schema):
        return plan
    wanted = _wanted(nodes)
    built: dict[int, tuple[Operator, Where]] = {}
    for node in nodes:
        built[id(node)] = _with_members(node, sorted(wanted[id(node)], key=str), [built[id(i)] for i in node.inputs])
    root = built[id(plan.root)][0]
    assert isinstance(root, Send)
    return plan if root is plan.root else prune_columns(replace(plan, root=root))


def _wanted(nodes: Sequence[Operator]) -> dict[int, set[tuple[int, Path]]]:
    """Return the fields of each node's output columns that are used by themselves."""
    wanted: dict[int, set[tuple[int, Path]]] = {id(n): set() for n in nodes}
    for node in reversed(nodes):
        above = wanted[id(node)]
        used = {u for e in expressions_of(node) for u in _uses(e)} if not isinstance(node, Read) else set()
        match node:
            case Filter() | Sort() | Limit() | Skyline() | Shuffle() | Window() | Send():
                width = len(node.input.schema)
                wanted[id(node.input)] |= used | {(i, p) for i, p in above if i < width}
            case Project():
                below = {(a[0], (*a[1], *p)) for i, p in above if (a := _access(node.expressions[i])) is not None}
                wanted[id(node.input)] |= used | below
            case Join():
                width, total = len(node.left.schema), len(node.left.schema) + len(node.right.schema)
                residual = set() if node.residual is None else _uses(node.residual)
                both = {(i, p) for i, p in above | residual if i < total}
                wanted[id(node.left)] |= {(i, p) for i, p in both if i < width}
                wanted[id(node.left)] |= {u for k in node.left_keys for u in _uses(k)}
                wanted[id(node.right)] |= {(i - width, p) for i, p in both if i >= width}
                wanted[id(node.right)] |= {u for k in node.right_keys for u in _uses(k)}
            case UnionAll():
                for member in node.members:
                    wanted[id(member)] |= above
            case _:
                for input in node.inputs:
                    wanted[id(input)] |= used
    return wanted


def _access(e: Expression) -> tuple[int, Path] | None:
    """Return the column and the path if the expression is only a field access."""
    if isinstance(e, Member):
        found = _access(e.input)
        return None if found is None else (found[0], (*found[1], e.name))
    return (e.index, ()) if isinstance(e, ColumnRef) else None


def _tested(e: Expression) -> tuple[int, Path] | None:
    """Return the struct whose validity a test for NULL reads."""
    if isinstance(e, Call) and e.function in ("is_null", "is_not_null") and e.args[0].type.kind == "struct":
        found = _access(e.args[0])
        return None if found is None else (found[0], (*found[1], PRESENCE))
    return None


def _uses(e: Expression) -> set[tuple[int, Path]]:
    found = _tested(e) or _access(e)
    if found is not None:
        return {found} if found[1] else set()
    return {u for c in e.children for u in _uses(c)}


def _moved(e: Expression, input: Operator, where: Where) -> Expression:
    """Return the expression over the new input; the same object if nothing moved."""
    tested = _tested(e)
    if tested in where:
        return e.with_children((column(input.schema, where[tested]),))
    access = _access(e)
    if access in where:
        new = column(input.schema, where[access])
        return e if new == e else new
    children = tuple(_moved(c, input, where) for c in e.children)
    return e if all(a is b for a, b in zip(children, e.children, strict=True)) else e.with_children(children)


def _with_members(
    node: Operator, wanted: list[tuple[int, Path]], inputs: list[tuple[Operator, Where]]
) -> tuple[Operator, Where]:
    """Return the node over its new inputs, and the new positions of its columns and wanted fields."""
    if isinstance(node, Read):
        return _read(node, wanted)
    if isinstance(node, Join):
        return _join(node, inputs)
    if isinstance(node, UnionAll):
        return _union(node, wanted, inputs)
    if len(inputs) != 1:
        return node, _old(node)
    ((input, where),) = inputs
    if input is node.inputs[0]:
        return node, _old(node)
    new = map_expressions(node, lambda e: _moved(e, input, where)).with_inputs((input,))
    match new:
        case Project():
            return _project(new, node, wanted, where)
        case Window():
            shift = len(input.schema) - len(node.inputs[0].schema)
            width = len(node.inputs[0].schema)
            return new, where | {(width + i, ()): width + shift + i for i in range(len(new.functions))}
        case Shuffle():
            keys = tuple(where[k, ()] for k in new.partitioning.keys)
            return replace(new, partitioning=replace(new.partitioning, keys=keys)), where
        case Filter() | Sort() | Limit() | Skyline():
            return new, where
        case Send():
            return new.with_inputs((_exactly(input, node.inputs[0], where, []),)), _old(node)
    if not expressions_of(node):
        new = node.with_inputs((_exactly(input, node.inputs[0], where, []),))
    return new, _old(node)


def _old(node: Operator) -> Where:
    return {(i, ()): i for i in range(len(node.schema))}


def _read(node: Read, wanted: list[tuple[int, Path]]) -> tuple[Operator, Where]:
    where = _old(node)
    fields, columns = [*node.file_schema], [*node.columns]
    names = {f.name for f in fields}
    for i, path in wanted:
        type = node.schema[i].type
        for part in path:
            type = struct() if part is PRESENCE else next(p.type for p in type.parts if p.name == part)
        down = (node.schema[i].name, *(part for part in path if part is not None))
        name = ".".join(down) if path[-1] is not PRESENCE else f"present({'.'.join(down)})"
        while name in names:
            name += "'"
        names.add(name)
        where[i, path] = len(columns)
        columns.append(len(fields))
        fields.append(Field(name, type.with_nullable(True), down))
    if len(columns) == len(node.columns):
        return node, where
    return replace(node, file_schema=Schema(tuple(fields)), columns=tuple(columns)), where


def _project(new: Project, old: Operator, wanted: list[tuple[int, Path]], below: Where) -> tuple[Operator, Where]:
    assert isinstance(old, Project)
    where = _old(old)
    expressions, names = [*new.expressions], [*new.names]
    for i, path in wanted:
        access = _access(old.expressions[i])
        at = None if access is None else below.get((access[0], (*access[1], *path)))
        if at is not None:
            where[i, path] = len(expressions)
            expressions.append(column(new.input.schema, at))
            names.append(new.input.schema[at].name)
    return replace(new, expressions=tuple(expressions), names=tuple(names)), where


def _join(node: Join, inputs: list[tuple[Operator, Where]]) -> tuple[Operator, Where]:
    (left, left_where), (right, right_where) = inputs
    if left is node.left and right is node.right:
        return node, _old(node)
    width, shifted = len(node.left.schema), len(left.schema)
    both = left_where | {(i + width, p): j + shifted for (i, p), j in right_where.items()}
    left_keys = tuple(_moved(k, left, left_where) for k in node.left_keys)
    right_keys = tuple(_moved(k, right, right_where) for k in node.right_keys)
    pair = cross(left, right)
    residual = None if node.residual is None else _moved(node.residual, pair, both)
    new = replace(node, left=left, right=right, left_keys=left_keys, right_keys=right_keys, residual=residual)
    if node.type.output is Output.LEFT:
        return new, left_where
    return new, left_where | {(width, ()): shifted} if node.type.marks else both


def _union(
    node: UnionAll, wanted: list[tuple[int, Path]], inputs: list[tuple[Operator, Where]]
) -> tuple[Operator, Where]:
    if all(new is old for (new, _), old in zip(inputs, node.members, strict=True)):
        return node, _old(node)
    found = [w for w in wanted if all(w in where for _, where in inputs)]
    members = tuple(_exactly(new, old, where, found) for (new, where), old in zip(inputs, node.members, strict=True))
    return UnionAll(members), _old(node) | {w: len(node.schema) + i for i, w in enumerate(found)}


def _exactly(new: Operator, old: Operator, where: Where, further: list[tuple[int, Path]]) -> Operator:
    """Return the old node's columns, then the `further` ones."""
    places = [where[key] for key in [*((i, ()) for i in range(len(old.schema))), *further]]
    names = (*old.schema.names, *(new.schema[where[key]].name for key in further))
    return project(new, references(new.schema, places), names)
