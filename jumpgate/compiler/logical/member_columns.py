"""Nested column pruning: reads the fields of structs that a plan uses as columns of their own, so that files return no
others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jumpgate.compiler.logical.prune_columns import prune_columns
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import project, references, unique
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Member
from jumpgate.dataflow.operators import Operator, Project, Read, Send, UnionAll, column
from jumpgate.dataflow.traits import scope_schema
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
        for e, scope in zip(node.own_expressions, node.scopes, strict=True) if node.inputs else ():
            for index, path in _uses(e):
                number, column_index = _input_column(node, scope, index)
                wanted[id(node.inputs[number])].add((column_index, path))
        for index, path in wanted[id(node)]:
            for number, e in node.lineage(index):
                below = _access(e)
                if below is not None:
                    wanted[id(node.inputs[number])].add((below[0], (*below[1], *path)))
    return wanted


def _input_column(node: Operator, scope: tuple[int, ...], index: int) -> tuple[int, int]:
    """Return the input, by number, and its column that an expression of that scope reads as column `index`."""
    for number in scope:
        width = len(node.inputs[number].schema)
        if index < width:
            return number, index
        index -= width
    raise IndexError(f"{node.kind} has no column beyond its inputs")


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


def _moved(e: Expression, schema: Schema, where: Where) -> Expression:
    """Return the expression over the new input; the same object if nothing moved."""
    tested = _tested(e)
    if tested in where:
        return e.with_children((column(schema, where[tested]),))
    access = _access(e)
    if access in where:
        new = column(schema, where[access])
        return e if new == e else new
    children = tuple(_moved(c, schema, where) for c in e.children)
    return e if all(a is b for a, b in zip(children, e.children, strict=True)) else e.with_children(children)


def _with_members(
    node: Operator, wanted: list[tuple[int, Path]], inputs: list[tuple[Operator, Where]]
) -> tuple[Operator, Where]:
    """Return the node over its new inputs, and the new positions of its columns and wanted fields."""
    if all(new is old for (new, _), old in zip(inputs, node.inputs, strict=True)):
        return _read(node, wanted) if isinstance(node, Read) else (node, _old(node))
    if isinstance(node, UnionAll):
        return _union(node, wanted, inputs)
    if node.uses_all:
        whole = (_exactly(new, old, where, []) for (new, where), old in zip(inputs, node.inputs, strict=True))
        return node.with_inputs(tuple(whole)), _old(node)
    over, places = tuple(new for new, _ in inputs), [where for _, where in inputs]
    scopes = zip(node.own_expressions, node.scopes, strict=True)
    moved = [_moved(e, scope_schema(over, scope), _joined(node, scope, over, places)) for e, scope in scopes]
    positions = {i: at for (i, path), at in places[0].items() if not path}
    new = (node.with_expressions(moved) if moved else node).with_positions(positions).with_inputs(over)
    if isinstance(new, Project):
        return _project(new, node, wanted, places[0])
    passed = _joined(node, node.passes, over, places)
    before, after = (sum(len(side[n].schema) for n in node.passes) for side in (node.inputs, over))
    return new, passed | {(before + i, ()): after + i for i in range(len(node.schema) - before)}


def _joined(node: Operator, numbers: tuple[int, ...], over: tuple[Operator, ...], places: Sequence[Where]) -> Where:
    """Return where the columns and fields of several inputs, one after the other, are in the new ones."""
    found: Where = {}
    before = after = 0
    for n in numbers:
        found |= {(before + i, path): after + at for (i, path), at in places[n].items()}
        before, after = before + len(node.inputs[n].schema), after + len(over[n].schema)
    return found


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


def _union(
    node: UnionAll, wanted: list[tuple[int, Path]], inputs: list[tuple[Operator, Where]]
) -> tuple[Operator, Where]:
    found = [w for w in wanted if all(w in where for _, where in inputs)]
    members = tuple(_exactly(new, old, where, found) for (new, where), old in zip(inputs, node.members, strict=True))
    return UnionAll(members), _old(node) | {w: len(node.schema) + i for i, w in enumerate(found)}


def _exactly(new: Operator, old: Operator, where: Where, further: list[tuple[int, Path]]) -> Operator:
    """Return the old node's columns, then the `further` ones."""
    places = [where[key] for key in [*((i, ()) for i in range(len(old.schema))), *further]]
    names = (*old.schema.names, *(new.schema[where[key]].name for key in further))
    return project(new, references(new.schema, places), names)
