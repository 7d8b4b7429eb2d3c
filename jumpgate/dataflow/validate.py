"""Checks an operator tree of a request: nothing that a client says about types is trusted."""

from __future__ import annotations

import os

from jumpgate.dataflow import deleted
from jumpgate.dataflow.aggregates import AGGREGATES, known_aggregate
from jumpgate.dataflow.casts import TypeMismatch, can_cast, cast_type
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, Member
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.functions import check
from jumpgate.dataflow.literals import holds
from jumpgate.dataflow.located import split
from jumpgate.dataflow.nested import compared_nested
from jumpgate.dataflow.operators import (
    FRAME_UNITS,
    PHASES,
    WINDOW_FUNCTIONS,
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Measure,
    Operator,
    Partitioning,
    Project,
    Read,
    Send,
    Shuffle,
    Skyline,
    Sort,
    UnionAll,
    Window,
    WindowFunction,
    has_differences,
    partial_state,
    window_type,
)
from jumpgate.dataflow.partitions import from_option
from jumpgate.dataflow.resolve import suggest
from jumpgate.dataflow.traits import scoped
from jumpgate.dataflow.types import Schema, bool_, not_read
from jumpgate.errors import JumpgateError
from jumpgate.stores.names import canonical, is_remote

#: the most operators on one path from the root
DEPTH_MAX = 200
PARTITIONINGS = ("single", "hash", "round_robin", "broadcast", "murmur3")


def problems(node: Operator) -> list[str]:
    """Return the problems of one operator, assuming that its inputs are valid; sentences that name the operator."""
    if isinstance(node, Read):
        found = _read(node) or [p for e in node.own_expressions for p in _expression(e, node.schema)]
        return [f"read: {p}" for p in found]
    inputs = Schema(tuple(f for i in node.inputs for f in i.schema))
    passes = isinstance(node, Project)
    found = [p for e, schema in scoped(node) for p in _expression(e, schema, passes)]
    match node:
        case Filter():
            found += _condition("predicate", node.predicate)
        case Project():
            if len(node.expressions) != len(node.names):
                found.append(f"{len(node.expressions)} expressions, {len(node.names)} names")
        case Join():
            found += _join(node)
        case Aggregate():
            found += _aggregate(node)
        case Sort():
            found += [] if node.keys else ["no keys"]
            found += _counts(0 if node.limit is None else node.limit, node.offset)
        case Skyline():
            found += [] if node.keys else ["no keys"]
        case Window() if not found:
            found += _window(node)
        case Limit():
            found += _counts(node.count, node.offset)
        case UnionAll():
            found += _union(node)
        case Distinct():
            found += [not_read(f.name, f.type) for f in inputs if f.type.is_opaque]
        case Shuffle():
            found += _partitioning(node.partitioning, inputs)
        case Send():
            found += _send(node, inputs)
        case _ if node.defect:
            found.append(node.defect)
    found += compared_nested(node) if not found else []
    return [f"{node.kind}: {p}" for p in dict.fromkeys(found)]


def _is_plain_column(column: ColumnRef, schema: Schema) -> bool:
    """Return whether it is a column of values, with exactly the schema's type, as nearly all columns of wide rows
    are."""
    in_schema = 0 <= column.index < len(schema)
    return in_schema and column.type is schema[column.index].type and not column.type.is_opaque


def _expression(root: Expression, schema: Schema, passes: bool = False) -> list[str]:
    """Check an expression. `passes`: an opaque column may be the whole expression."""
    if isinstance(root, ColumnRef) and _is_plain_column(root, schema):
        return []
    opaque = [e for e in root.walk() if e.type.is_opaque]
    if opaque and not (passes and isinstance(root, ColumnRef)):
        return [
            not_read(e.name, e.type) if isinstance(e, ColumnRef) else f"no value is a {e.type.name}" for e in opaque
        ]
    found: list[str] = []
    for e in root.walk():
        try:
            match e:
                case ColumnRef():
                    if not 0 <= e.index < len(schema):
                        found.append(f"column #{e.index} of an input with {len(schema)} columns")
                    elif e.type != schema[e.index].type:
                        found.append(f"column #{e.index} is {schema[e.index].type}, declared as {e.type}")
                case Literal():
                    found += [p for p in [holds(e)] if p]
                case Call():
                    check(e)
                case Cast():
                    found += _cast(e)
                case Member():
                    found += _member(e)
                case Case():
                    found += _case(e)
                case InList():
                    found += [f"in: {o.type} beside {e.input.type}" for o in e.options if not o.type.same(e.input.type)]
                    nullable = e.input.type.nullable and bool(e.options) or any(o.value is None for o in e.options)
                    found += [] if e.type == bool_.with_nullable(nullable) else [f"in: declared as {e.type}"]
        except TypeMismatch as mismatch:
            found.append(str(mismatch))
    return found


def _member(e: Member) -> list[str]:
    if e.input.type.kind != "struct" or not 0 <= e.number < len(e.input.type.parts):
        return [f"{e.input.type.name} has no field #{e.number}"]
    expected = e.input.type.parts[e.number].type
    return [] if e.type == expected else [f"a field declared as {e.type}, its type is {expected}"]


def _cast(e: Cast) -> list[str]:
    if e.on_failure not in ("error", "null"):
        return [f"cast: on_failure is {e.on_failure!r}"]
    if not can_cast(e.input.type, e.type):
        return [f"there is no cast from {e.input.type} to {e.type}"]
    expected = cast_type(e.input.type, e.type, e.on_failure)
    return [] if e.type == expected else [f"cast: declared as {e.type}, its type is {expected}"]


def _case(e: Case) -> list[str]:
    if not e.branches or len(e.branches) % 2:
        return ["case: conditions and values must come in pairs"]
    values = (*e.branches[1::2], e.otherwise)
    found = [p for c in e.branches[::2] for p in _condition("case condition", c)]
    found += [f"case: a value is {v.type}, declared as {e.type}" for v in values if not v.type.same(e.type)]
    if e.type.nullable != any(v.type.nullable for v in values):
        found.append(f"case: declared as {e.type}")
    return found


def _condition(what: str, e: Expression) -> list[str]:
    return [] if e.type.kind == "bool" else [f"{what} is {e.type}, must be bool"]


def _read(node: Read) -> list[str]:
    try:
        format = formats()[node.format]
    except JumpgateError as error:
        return [error.message.removeprefix("read: ")]
    found = [p.removeprefix("read: ") for p in format.problems(dict(node.options))]
    found += [] if node.files else ["no files"]
    found += [f"{f!r} is not an absolute path" for f in node.files if not _is_path(f)]
    if not all(0 <= c < len(node.file_schema) for c in node.columns):
        found.append(f"columns {node.columns} of a file with {len(node.file_schema)}")
    if not format.opaque:
        found += [
            f"a column of a {format.title} file cannot be of type {f.type.name}"
            for f in node.file_schema
            if f.type.is_opaque
        ]
    if not format.nested:
        nested = [f for f in node.file_schema if f.type.is_nested]
        found += [f"column {f.name!r} is a {f.type.name}, which is not read from {format.title} files" for f in nested]
    positions = node.file_schema.positions
    found += [f"two columns called {n!r}" for n, at in positions.items() if len(at) > 1]
    folders = from_option(dict(node.options))
    files = len(deleted.of_files(dict(node.options)))
    found += (
        [f"deleted rows of {files} files, and {len(node.files)} are read"] if files not in (0, len(node.files)) else []
    )
    found += [f"no column {n!r}, which is in the names of folders" for n in folders if n not in positions]
    if node.predicate is not None and not found:
        found += _condition("predicate", node.predicate)
    return found


def _is_path(file: str) -> bool:
    if not is_remote(file):
        return os.path.isabs(split(file)[1]) and "\0" not in file
    try:
        return canonical(file) == file
    except JumpgateError:
        return False


def _join(node: Join) -> list[str]:
    found = ["this type cannot build its left input"] if node.builds_left and not node.type.may_build_left else []
    if len(node.left_keys) != len(node.right_keys):
        found.append(f"{len(node.left_keys)} left keys, {len(node.right_keys)} right keys")
    for a, b in zip(node.left_keys, node.right_keys, strict=False):
        if not a.type.same(b.type):
            found.append(f"keys of type {a.type} and {b.type}")
    return found + (_condition("residual", node.residual) if node.residual is not None else [])


def _aggregate(node: Aggregate) -> list[str]:
    found = [] if node.phase in PHASES else [f"unknown phase {node.phase!r}"]
    if len(node.keys) != len(node.key_names):
        found.append(f"{len(node.keys)} keys, {len(node.key_names)} names")
    for m in node.measures:
        found += _measure(m)
        if not found and node.phase != "full" and not m.declaration.has_parts:
            found.append(f"{m.function} has no partial state")
    if node.phase == "final" and not found:
        states = [t for m in node.measures for t in partial_state(m)]
        have = node.input.schema.types[len(node.keys) :]
        if len(have) != len(states) or not all(a.same(b) for a, b in zip(have, states, strict=False)):
            found.append("the input is not the partial phase's output")
    return found


def _measure(m: Measure) -> list[str]:
    if known_aggregate(m.function) is None:
        return [f"unknown measure {m.function!r}{suggest(m.function, AGGREGATES)}"]
    declaration = m.declaration
    if len(m.values) != declaration.arity or len(m.arguments) != declaration.arity + len(declaration.options):
        takes = declaration.arity + len(declaration.options)
        return [f"{m.function} takes {takes} argument{'s' * (takes != 1)}, not {len(m.arguments)}"]
    options = m.arguments[declaration.arity :]
    for option, type in zip(options, declaration.options, strict=True):
        if not isinstance(option, Literal) or option.value is None or not option.type.same(type):
            return [f"{m.function}: {option} must be a literal, a {type.name}"]
    if m.order and not declaration.ordered:
        return [f"{m.function} has an order"]
    if m.order and declaration.distinct_of and any(k.expression != m.argument for k in m.order):
        return [f"{m.function}: values that differ can be ordered by themselves only"]
    try:
        expected = declaration.type_of(m.row_types[0], [o.value for o in m.options])
    except TypeMismatch as mismatch:
        return [str(mismatch)]
    return [] if m.type == expected else [f"{m.function} declared as {m.type}, its type is {expected}"]


def _window(node: Window) -> list[str]:
    found = [] if node.functions else ["no functions"]
    frame = node.frame
    if frame.unit not in FRAME_UNITS:
        found.append(f"unknown frame unit {frame.unit!r}{suggest(frame.unit, FRAME_UNITS)}")
    if frame.start is not None and frame.end is not None and frame.start > frame.end:
        found.append(f"a frame from {frame.start} to {frame.end}")
    if frame.unit != "rows" and (frame.start or frame.end):
        found += _distance(node)
    return found + [p for f in node.functions for p in _window_function(f)]


def _distance(node: Window) -> list[str]:
    """Return the problems of the order for a frame with distances from a row."""
    if node.frame.unit == "groups":
        return [] if node.order_by else ["a frame of groups without an order"]
    if len(node.order_by) != 1:
        return [f"a range of values by {len(node.order_by)} keys; it needs one"]
    type = node.order_by[0].expression.type
    if has_differences(type):
        return []
    return [f"a range of values by {type.name}; it needs an integer, a decimal, a date or a timestamp"]


#: the number of arguments, for functions that do not take one
_ARGUMENTS = dict.fromkeys(("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "count_star"), (0, 0)) | {
    "lag": (1, 3), "lead": (1, 3), "nth_value": (2, 2),
}  # fmt: skip


def _window_function(f: WindowFunction) -> list[str]:
    if f.function not in WINDOW_FUNCTIONS:
        return [f"unknown window function {f.function!r}{suggest(f.function, WINDOW_FUNCTIONS)}"]
    least, most = _ARGUMENTS.get(f.function, (1, 1))
    if not least <= len(f.arguments) <= most:
        return [f"{f.function} of {len(f.arguments)} arguments"]
    types = tuple(a.type for a in f.arguments)
    if f.function in ("sum", "avg", "stddev") and not types[0].is_numeric:
        return [f"{f.function} of {types[0].name}"]
    if f.count is not None:
        a = f.arguments[f.count]
        if not (isinstance(a, Literal) and isinstance(a.value, int) and a.type.is_integer and a.value >= 0):
            return [f"{f.function}: its count must be a literal, an integer of at least 0"]
        if f.function == "ntile" and a.value == 0:
            return ["ntile of 0 parts"]
        if f.function == "nth_value" and a.value == 0:
            return ["nth_value of row 0; the first one is 1"]
    if f.function in ("lag", "lead") and len(types) == 3 and not types[2].same(types[0]):
        return [f"{f.function} of {types[0].name} with a default of {types[2].name}; cast one of them"]
    if f.type != window_type(f.function, types):
        return [f"{f.function}: declared as {f.type}, its type is {window_type(f.function, types)}"]
    return []


def _counts(count: int, offset: int) -> list[str]:
    return [f"{n} rows" for n in (count, offset) if not 0 <= n < 1 << 63]


def _union(node: UnionAll) -> list[str]:
    if not node.members:
        return ["no inputs"]
    first = node.members[0].schema
    for i, member in enumerate(node.members[1:], 2):
        other = member.schema
        if len(other) != len(first) or not all(a.same(b) for a, b in zip(first.types, other.types, strict=True)):
            return [f"input {i} is {other}, input 1 is {first}"]
    return []


def _partitioning(p: Partitioning, schema: Schema) -> list[str]:
    found = [] if p.kind in PARTITIONINGS else [f"unknown partitioning {p.kind!r}"]
    if not all(0 <= k < len(schema) for k in p.keys):
        found.append(f"partitioning keys {p.keys} of an input with {len(schema)} columns")
    else:
        found += [not_read(schema[k].name, schema[k].type) for k in p.keys if schema[k].type.is_opaque]
    if (p.kind in ("hash", "murmur3")) != bool(p.keys):
        found.append(f"partitioning {p.kind} with {len(p.keys)} keys")
    if p.count < 1 or (p.kind == "single" and p.count != 1):
        found.append(f"partitioning {p.kind} over {p.count}")
    return found


def _send(node: Send, schema: Schema) -> list[str]:
    found = _partitioning(node.partitioning, schema)
    if len(node.endpoints) != node.partitioning.count:
        found.append(f"{len(node.endpoints)} endpoints for {node.partitioning.count} partitions")
    return found
