"""Dataflows as protobuf messages (jumpgate/v1/dataflow.proto) and JSON; lossless both ways, checked on the way in."""

from __future__ import annotations

import datetime
import decimal as pydecimal
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from jumpgate.dataflow.casts import from_unscaled, of_day, unscaled
from jumpgate.dataflow.dialect import CHOICES, DEFAULT, Dialect
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, Member, Value
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Frame,
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
    SortKey,
    UnionAll,
    Unnest,
    Window,
    WindowFunction,
)
from jumpgate.dataflow.types import DataType, Field, Schema, bool_
from jumpgate.dataflow.validate import DEPTH_MAX, problems
from jumpgate.errors import InvalidDataflow
from jumpgate.v1 import dataflow_pb2 as pb

#: the most operators of a request, counting a shared one for each use
OPERATORS_MAX = 2000
#: the most columns in the schemas of files and operators' inputs together
COLUMNS_MAX = 1_000_000
#: the most entries in the table of expressions, parts of one (a shared one counts for each use) and levels of nesting:
#: compilers take more than linear time
EXPRESSIONS_MAX, EXPRESSION_PARTS_MAX, EXPRESSION_DEPTH_MAX = 200_000, 5000, 200

T = TypeVar("T")

_EPOCH_DAY = datetime.date(1970, 1, 1)
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def to_json(root: Operator, dialect: Dialect = DEFAULT) -> str:
    """The request as JSON text (protobuf's JSON form)."""
    return json_format.MessageToJson(encode(root, dialect), preserving_proto_field_name=True, indent=1)


def from_json(text: str) -> tuple[Operator, Dialect]:
    """The inverse of to_json; raises InvalidDataflow."""
    try:
        message = json_format.Parse(text, pb.Dataflow())
    except (json_format.ParseError, RecursionError, ValueError) as e:
        raise InvalidDataflow(f"malformed request: {e}") from None
    return decode(message)


def from_bytes(data: bytes) -> tuple[Operator, Dialect]:
    """A serialised Dataflow message, decoded; raises InvalidDataflow."""
    try:
        return decode(pb.Dataflow.FromString(data))
    except DecodeError as e:
        raise InvalidDataflow(f"malformed request: {e}") from None


# ---- out -------------------------------------------------------------------------------------------------------------


def encode(root: Operator, dialect: Dialect = DEFAULT) -> pb.Dataflow:
    """The request message; operators and expressions that are shared in memory are shared in the message."""
    message = pb.Dataflow(dialect=pb.Dialect(**{name: getattr(dialect, name) for name in CHOICES}))
    writer = _Writer(message)
    for node in _after_parts(root, lambda n: n.inputs):
        writer.operator(node)
    return message


class _Writer:
    """Appends to the message's tables; remembers their entries by identity."""

    def __init__(self, message: pb.Dataflow) -> None:
        self.message = message
        self.indices: dict[int, int] = {}
        self.held: list[Expression] = []  # keeps ids valid

    def expression(self, root: Expression) -> int:
        for e in _after_parts(root, _parts):
            if id(e) not in self.indices:
                self.message.expressions.append(self._expression(e))
                self.indices[id(e)] = len(self.message.expressions) - 1
                self.held.append(e)
        return self.indices[id(root)]

    def _all(self, expressions: Iterable[Expression]) -> list[int]:
        return [self.expression(e) for e in expressions]

    def _sort_keys(self, keys: Iterable[SortKey]) -> list[pb.SortKey]:
        return [
            pb.SortKey(expression=self.expression(k.expression), descending=k.descending, nulls_first=k.nulls_first)
            for k in keys
        ]

    def _optional(self, expression: Expression | None) -> int | None:
        return None if expression is None else self.expression(expression)

    def _expression(self, e: Expression) -> pb.Expression:
        out = pb.Expression(type=_type(e.type))
        at = [self.indices[id(c)] for c in _parts(e)]
        match e:
            case ColumnRef():
                out.column.CopyFrom(pb.Expression.Column(index=e.index, name=e.name))
            case Literal():
                out.literal.CopyFrom(_literal(e))
            case Call():
                out.call.CopyFrom(pb.Expression.Call(function=e.function, arguments=at))
            case Cast():
                out.cast.CopyFrom(pb.Expression.Cast(input=at[0], null_on_failure=e.on_failure == "null"))
            case Case():
                out.case.CopyFrom(pb.Expression.Case(branches=at[:-1], otherwise=at[-1]))
            case Member():
                out.member.CopyFrom(pb.Expression.Member(input=at[0], index=e.number))
            case InList():
                getattr(out, "in").CopyFrom(pb.Expression.In(input=at[0], options=[_literal(o) for o in e.options]))
        return out

    def operator(self, node: Operator) -> None:
        out = pb.Operator(inputs=[self.indices[id(i)] for i in node.inputs])
        match node:
            case Read():
                out.read.CopyFrom(
                    pb.Read(
                        files=node.files,
                        format=node.format,
                        file_schema=_schema(node.file_schema),
                        columns=node.columns,
                        options=dict(node.options),
                        predicate=self._optional(node.predicate),
                    )
                )
            case Filter():
                out.filter.CopyFrom(pb.Filter(predicate=self.expression(node.predicate)))
            case Project():
                out.project.CopyFrom(pb.Project(expressions=self._all(node.expressions), names=node.names))
            case Join():
                out.join.CopyFrom(
                    pb.Join(
                        type=node.type,
                        left_keys=self._all(node.left_keys),
                        right_keys=self._all(node.right_keys),
                        residual=self._optional(node.residual),
                    )
                )
            case Aggregate():
                measures = [
                    pb.Measure(
                        function=m.function,
                        argument=self._optional(m.argument),
                        more_arguments=self._all(m.arguments[1:]),
                        type=_type(m.type),
                        name=m.name,
                        order=self._sort_keys(m.order),
                    )
                    for m in node.measures
                ]
                out.aggregate.CopyFrom(
                    pb.Aggregate(
                        keys=self._all(node.keys), key_names=node.key_names, measures=measures, phase=node.phase
                    )
                )
            case Sort():
                out.sort.CopyFrom(pb.Sort(keys=self._sort_keys(node.keys), limit=node.limit, offset=node.offset))
            case Skyline():
                out.skyline.CopyFrom(pb.Skyline(keys=self._sort_keys(node.keys)))
            case Window():
                functions = [
                    pb.WindowFunction(
                        function=f.function, arguments=self._all(f.arguments), type=_type(f.type), name=f.name
                    )
                    for f in node.functions
                ]
                frame = pb.Frame(unit=node.frame.unit, start=node.frame.start, end=node.frame.end)
                out.window.CopyFrom(
                    pb.Window(
                        partition_by=self._all(node.partition_by),
                        order_by=self._sort_keys(node.order_by),
                        functions=functions,
                        frame=frame,
                    )
                )
            case Unnest():
                out.unnest.CopyFrom(pb.Unnest(list=self.expression(node.list), name=node.name, outer=node.outer))
            case Limit():
                out.limit.CopyFrom(pb.Limit(count=node.count, offset=node.offset))
            case Distinct():
                out.distinct.SetInParent()
            case UnionAll():
                out.union_all.SetInParent()
            case Shuffle():
                out.shuffle.CopyFrom(pb.Shuffle(partitioning=_partitioning(node.partitioning)))
            case Send():
                out.send.CopyFrom(
                    pb.Send(endpoints=node.endpoints, partitioning=_partitioning(node.partitioning), layout=node.layout)
                )
            case _:
                raise InvalidDataflow(f"{node.kind} is the compiler's own and no part of a request", operator=node.kind)
        self.message.operators.append(out)
        self.indices[id(node)] = len(self.message.operators) - 1


def _parts(e: Expression) -> tuple[Expression, ...]:
    """The parts that are entries of the expression table (options of IN are inline)."""
    return (e.input,) if isinstance(e, InList) else e.children


def _after_parts(root: Any, parts: Callable[[Any], Sequence[Any]]) -> list[Any]:
    """Return everything below and including `root`, each once, after its parts; without recursion."""
    order: list[Any] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        item, expanded = stack.pop()
        if expanded:
            order.append(item)
        elif id(item) not in seen:
            seen.add(id(item))
            stack.append((item, True))
            stack += [(p, False) for p in reversed(parts(item))]
    return order


def _type(t: DataType) -> pb.Type:
    return pb.Type(
        kind=t.kind,
        precision=t.precision,
        scale=t.scale,
        required=not t.nullable,
        description=t.description,
        zone=t.zone,
        unit=t.unit,
        parts=[pb.Field(name=p.name, type=_type(p.type)) for p in t.parts],
    )


def _schema(schema: Schema) -> pb.Schema:
    types = {type: _type(type) for type in {f.type for f in schema}}
    return pb.Schema(fields=[pb.Field(name=f.name, type=types[f.type]) for f in schema])


def _partitioning(p: Partitioning) -> pb.Partitioning:
    return pb.Partitioning(kind=p.kind, keys=p.keys, count=p.count)


def _literal(literal: Literal) -> pb.Literal:
    value = literal.value
    match value:
        case None:
            return pb.Literal()
        case bool():
            return pb.Literal(boolean=value)
        case int():
            return pb.Literal(integer=value)
        case float():
            return pb.Literal(floating=value)
        case pydecimal.Decimal():
            scale = literal.type.scale
            return pb.Literal(decimal=f"{from_unscaled(unscaled(value, scale), scale):f}")
        case datetime.datetime():
            return pb.Literal(microseconds=(value - _EPOCH) // _MICROSECOND)
        case datetime.time():
            return pb.Literal(microseconds=of_day(value))
        case datetime.date():
            return pb.Literal(days=(value - _EPOCH_DAY).days)
        case str():
            return pb.Literal(text=value)
    return pb.Literal(data=value)


# ---- in --------------------------------------------------------------------------------------------------------------


def decode(message: pb.Dataflow) -> tuple[Operator, Dialect]:
    """Decode the operator tree and dialect of a request. Raises InvalidDataflow with every problem of the first wrong
    part.

    The request is not trusted: references, functions, arities, types and nullability are recomputed and compared.
    """
    dialect = _read_dialect(message.dialect)
    if not message.operators:
        raise InvalidDataflow("malformed request: it has no operators")
    reader = _Reader(message)
    reader.read_expressions()
    return reader.read_operators(), dialect


def _read_dialect(message: pb.Dialect) -> Dialect:
    try:
        return Dialect(**{name: getattr(message, name) or getattr(DEFAULT, name) for name in CHOICES})
    except ValueError as e:
        raise InvalidDataflow(str(e)) from None


class _Reader:
    """Builds tables of operators and expressions in message order, so that it does not recurse over a client's data."""

    def __init__(self, message: pb.Dataflow) -> None:
        self.message = message
        self.expressions: list[Expression] = []
        self.operators: list[Operator] = []

    def read_expressions(self) -> None:
        if len(self.message.expressions) > EXPRESSIONS_MAX:
            raise InvalidDataflow(f"a request holds at most {EXPRESSIONS_MAX} expressions")
        sizes: list[int] = []
        depths: list[int] = []
        for number, m in enumerate(self.message.expressions):
            where = f"expression {number}"
            parts = self._part_indices(m, where)
            for p in parts:
                if p >= number:
                    raise _malformed(where, f"it refers to expression {p}, which does not come before it")
            sizes.append(1 + sum(sizes[p] for p in parts))
            depths.append(1 + max((depths[p] for p in parts), default=0))
            if sizes[-1] > EXPRESSION_PARTS_MAX or depths[-1] > EXPRESSION_DEPTH_MAX:
                raise _malformed(
                    where, f"it has more than {EXPRESSION_PARTS_MAX} parts or {EXPRESSION_DEPTH_MAX} levels"
                )
            self.expressions.append(self._expression(m, [self.expressions[p] for p in parts], where))

    def _part_indices(self, m: pb.Expression, where: str) -> list[int]:
        match m.WhichOneof("kind"):
            case "call":
                return list(m.call.arguments)
            case "cast":
                return [m.cast.input]
            case "case":
                case = m.case
                return [*case.branches, case.otherwise]
            case "in":
                return [getattr(m, "in").input]
            case "member":
                return [m.member.input]
            case None:
                raise _malformed(where, "it has no kind")
        return []

    def _expression(self, m: pb.Expression, parts: list[Expression], where: str) -> Expression:
        type = _read_type(m.type, where)
        match m.WhichOneof("kind"):
            case "column":
                return ColumnRef(type, m.column.index, m.column.name)
            case "literal":
                return Literal(type, _read_value(m.literal, type, where))
            case "call":
                return Call(type, m.call.function, tuple(parts))
            case "cast":
                return Cast(type, parts[0], "null" if m.cast.null_on_failure else "error")
            case "case":
                return Case(type, tuple(parts[:-1]), parts[-1])
            case "member":
                return Member(type, parts[0], m.member.index)
        options = []
        for option in getattr(m, "in").options:
            value = _read_value(option, parts[0].type, where)
            options.append(Literal(parts[0].type.with_nullable(value is None), value))
        return InList(type if type.kind else bool_, parts[0], tuple(options))

    def read_operators(self) -> Operator:
        sizes: list[int] = []
        depths: list[int] = []
        columns = 0
        for number, m in enumerate(self.message.operators):
            kind = m.WhichOneof("kind")
            where = f"operator {number} ({kind})"
            if kind is None:
                raise _malformed(where, "it has no kind")
            for i in m.inputs:
                if i >= number:
                    raise _malformed(where, f"its input {i} does not come before it")
            sizes.append(1 + sum(sizes[i] for i in m.inputs))
            depths.append(1 + max((depths[i] for i in m.inputs), default=0))
            if sizes[-1] > OPERATORS_MAX or depths[-1] > DEPTH_MAX:
                raise _malformed(where, f"more than {OPERATORS_MAX} operators or {DEPTH_MAX} on one path")
            columns += len(m.read.file_schema.fields) + sum(len(self.operators[i].schema) for i in m.inputs)
            if columns > COLUMNS_MAX:
                raise _malformed(where, f"more than {COLUMNS_MAX} columns in all schemas together")
            self._check_inputs(m, kind, where)
            node = _READERS[kind](self, getattr(m, kind), [self.operators[i] for i in m.inputs], where)
            found = problems(node)
            if found:
                raise InvalidDataflow("; ".join(found), tuple(found), operator=node.kind)
            self.operators.append(node)
        return self.operators[-1]

    def _check_inputs(self, m: pb.Operator, kind: str, where: str) -> None:
        wanted = {"read": 0, "join": 2, "union_all": len(m.inputs)}.get(kind, 1)
        if len(m.inputs) != wanted:
            raise _malformed(where, f"it has {len(m.inputs)} inputs, must have {wanted}")
        if any(isinstance(self.operators[i], Send) for i in m.inputs):
            raise _malformed(where, "its input is a send, which must be the root")

    def at(self, index: int, where: str) -> Expression:
        if index >= len(self.expressions):
            raise _malformed(where, f"it refers to expression {index} of {len(self.expressions)}")
        return self.expressions[index]

    def all(self, indices: Iterable[int], where: str) -> tuple[Expression, ...]:
        return tuple(self.at(i, where) for i in indices)

    def optional(self, m: Any, name: str, where: str) -> Expression | None:
        return self.at(getattr(m, name), where) if m.HasField(name) else None

    def sort_keys(self, keys: Iterable[pb.SortKey], where: str) -> tuple[SortKey, ...]:
        return tuple(SortKey(self.at(k.expression, where), k.descending, k.nulls_first) for k in keys)

    def measure(self, m: pb.Measure, where: str) -> Measure:
        first = self.optional(m, "argument", where)
        arguments = (() if first is None else (first,)) + self.all(m.more_arguments, where)
        return Measure(m.function, arguments, _read_type(m.type, where), m.name, self.sort_keys(m.order, where))


_READERS: dict[str, Callable[[_Reader, Any, list[Operator], str], Operator]] = {
    "read": lambda r, m, i, w: Read(
        tuple(m.files),
        m.format,
        _read_schema(m.file_schema, w),
        tuple(m.columns),
        tuple(sorted(m.options.items())),
        r.optional(m, "predicate", w),
    ),
    "filter": lambda r, m, i, w: Filter(i[0], r.at(m.predicate, w)),
    "project": lambda r, m, i, w: Project(i[0], r.all(m.expressions, w), tuple(m.names)),
    "join": lambda r, m, i, w: Join(
        i[0], i[1], m.type, r.all(m.left_keys, w), r.all(m.right_keys, w), r.optional(m, "residual", w)
    ),
    "aggregate": lambda r, m, i, w: Aggregate(
        i[0], r.all(m.keys, w), tuple(m.key_names), tuple(r.measure(x, w) for x in m.measures), m.phase
    ),
    "sort": lambda r, m, i, w: Sort(
        i[0],
        r.sort_keys(m.keys, w),
        m.limit if m.HasField("limit") else None,
        m.offset,
    ),
    "skyline": lambda r, m, i, w: Skyline(i[0], r.sort_keys(m.keys, w)),
    "window": lambda r, m, i, w: Window(
        i[0],
        r.all(m.partition_by, w),
        r.sort_keys(m.order_by, w),
        tuple(WindowFunction(f.function, r.all(f.arguments, w), _read_type(f.type, w), f.name) for f in m.functions),
        Frame(
            m.frame.unit,
            m.frame.start if m.frame.HasField("start") else None,
            m.frame.end if m.frame.HasField("end") else None,
        ),
    ),
    "unnest": lambda r, m, i, w: Unnest(i[0], r.at(m.list, w), m.name, m.outer),
    "limit": lambda r, m, i, w: Limit(i[0], m.count, m.offset),
    "distinct": lambda r, m, i, w: Distinct(i[0]),
    "union_all": lambda r, m, i, w: UnionAll(tuple(i)),
    "shuffle": lambda r, m, i, w: Shuffle(i[0], _read_partitioning(m.partitioning)),
    "send": lambda r, m, i, w: Send(i[0], tuple(m.endpoints), _read_partitioning(m.partitioning), m.layout),
}


def _malformed(where: str, what: str) -> InvalidDataflow:
    return InvalidDataflow(f"malformed request, {where}: {what}")


def _read_type(m: pb.Type, where: str) -> DataType:
    if m.kind != "decimal" and (m.precision or m.scale):
        raise _malformed(where, f"{m.kind} has no precision or scale")
    try:
        parts = tuple(Field(p.name, _read_type(p.type, where)) for p in m.parts)
        return _shared_type(m.kind, m.precision, m.scale, not m.required, m.description, parts, m.zone, m.unit)
    except ValueError as e:
        raise _malformed(where, str(e)) from None


#: columns of one type share one object, which compares fast
_shared_type = lru_cache(maxsize=1000)(DataType)


def decode_schema(message: pb.Schema) -> Schema:
    """Decode a schema. Raises InvalidDataflow."""
    return _read_schema(message, "schema")


def _read_schema(m: pb.Schema, where: str) -> Schema:
    return Schema(tuple(Field(f.name, _read_type(f.type, where)) for f in m.fields))


def _read_partitioning(m: pb.Partitioning) -> Partitioning:
    return Partitioning(m.kind, tuple(m.keys), m.count)


def _read_value(m: pb.Literal, type: DataType, where: str) -> Value:
    match m.WhichOneof("value"):
        case None:
            return None
        case "boolean":
            return m.boolean
        case "integer":
            return m.integer
        case "floating":
            return m.floating
        case "decimal":
            return _read_decimal(m.decimal, where)
        case "days":
            return _checked(lambda: _EPOCH_DAY + datetime.timedelta(m.days), where)
        case "microseconds":
            moment = _checked(lambda: _EPOCH + m.microseconds * _MICROSECOND, where)
            return moment.time() if type.kind == "time" and moment.date() == _EPOCH_DAY else moment
        case "text":
            return m.text
    return m.data


def _read_decimal(text: str, where: str) -> pydecimal.Decimal:
    if len(text) > 80 or not text.isascii() or set(text) - set("+-.0123456789"):
        raise _malformed(where, f"{text[:80]!r} is not a decimal")
    return _checked(lambda: pydecimal.Decimal(text), where)


def _checked(make: Callable[[], T], where: str) -> T:
    try:
        return make()
    except (OverflowError, pydecimal.InvalidOperation):
        raise _malformed(where, "a literal is out of range") from None
