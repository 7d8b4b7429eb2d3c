"""The request's messages: lossless for any dataflow, and no malformed or lying request gets in."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpgate.dataflow import proto
from jumpgate.dataflow.aggregates import AGGREGATES
from jumpgate.dataflow.builder import Dataflow, read
from jumpgate.dataflow.casts import TypeMismatch, can_cast, cast_type, common_type, from_unscaled
from jumpgate.dataflow.dialect import CHOICES, Dialect
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, Value
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.functions import BUILT_IN, bind, cast_to
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.measures import count, sum_
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Emit,
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
    Sort,
    SortKey,
    UnionAll,
)
from jumpgate.dataflow.types import INTEGERS, KINDS, UNITS, ZONED, DataType, Field, Schema, bool_, int32, int64
from jumpgate.dataflow.unresolved import col, f
from jumpgate.dataflow.validate import problems
from jumpgate.errors import InvalidDataflow
from jumpgate.v1 import dataflow_pb2 as pb

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@st.composite
def types(draw: st.DrawFn) -> DataType:
    kind = draw(st.sampled_from(KINDS))
    precision = draw(st.integers(1, 38)) if kind == "decimal" else 0
    scale = draw(st.integers(0, precision)) if kind == "decimal" else 0
    zone = draw(st.sampled_from(("UTC", "Europe/Berlin", "-03:30"))) if kind in ZONED else ""
    unit = draw(st.sampled_from(UNITS)) if kind == "duration" else ""
    return DataType(kind, precision, scale, draw(st.booleans()), zone=zone, unit=unit)


def values(type: DataType) -> st.SearchStrategy[Value]:
    if type.kind in INTEGERS:
        half = 1 << int(type.kind[3:]) - 1
        return st.integers(-half, half - 1)
    if type.kind == "decimal":
        bound = 10**type.precision - 1
        return st.integers(-bound, bound).map(lambda n: from_unscaled(n, type.scale))
    return {
        "bool": st.booleans(),
        "float32": st.floats(width=32, allow_nan=False),
        "float64": st.floats(allow_nan=False),
        "date": st.dates(),
        "time": st.times(),
        **dict.fromkeys(("timestamp", "timestamptz"), st.datetimes()),
        **dict.fromkeys(("timestamp_ns", "timestamptz_ns", "duration"), st.integers(-(2**63), 2**63 - 1)),
        "binary": st.binary(max_size=9),
        "string": NAMES,
    }[type.kind]


@st.composite
def literals(draw: st.DrawFn, type: DataType) -> Literal:
    value = draw(st.none() | values(type))
    return Literal(type.with_nullable(value is None), value)


@st.composite
def expressions(draw: st.DrawFn, schema: Schema, depth: int = 3) -> Expression:
    index = draw(st.integers(0, len(schema) - 1))
    column = ColumnRef(schema[index].type, index, schema[index].name)
    kind = draw(st.sampled_from(("column", "literal", "call", "cast", "case", "in"))) if depth else "column"
    if kind == "column":
        return column
    if kind == "literal":
        return draw(literals(draw(types())))
    inner = draw(expressions(schema, depth - 1))
    if kind == "call":
        return draw(calls(inner, draw(expressions(schema, depth - 1))))
    if kind == "cast":
        target, on_failure = draw(types()), draw(st.sampled_from(("error", "null")))
        if can_cast(inner.type, target):
            return Cast(cast_type(inner.type, target, on_failure), inner, on_failure)
        return inner
    if kind == "in":
        options = tuple(draw(st.lists(literals(inner.type), max_size=4)))
        nullable = bool(options) and inner.type.nullable or any(o.value is None for o in options)
        return InList(bool_.with_nullable(nullable), inner, options)
    otherwise = draw(literals(inner.type))
    type = common_type((inner.type, otherwise.type))
    return Case(type, (bind("is_null", (inner,)), inner, bind("eq", (inner, otherwise)), otherwise), otherwise)


@st.composite
def calls(draw: st.DrawFn, first: Expression, second: Expression) -> Expression:
    """A call of some function that takes these arguments, in one of several shapes; else the first argument."""
    shapes = ((first,), (first, first), (first, second), (first, Literal(int32.with_nullable(False), 1)))
    found = []
    for name in BUILT_IN:
        for shape in shapes:
            try:
                found.append(bind(name, shape))
            except TypeMismatch:
                continue
    found = [call for call in found if not call.type.is_nested]  # such values have no literals
    return draw(st.sampled_from(found)) if found else first


def conditions(schema: Schema) -> st.SearchStrategy[Expression]:
    return expressions(schema).map(lambda e: e if e.type.kind == "bool" else bind("is_not_null", (e,)))


@st.composite
def reads(draw: st.DrawFn) -> Operator:
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    schema = Schema(tuple(Field(n, draw(types())) for n in names))
    columns = tuple(draw(st.lists(st.integers(0, len(names) - 1), min_size=1, max_size=4)))
    format = draw(st.sampled_from(tuple(formats())))
    options = (("delimiter", "|"), ("header", "true")) if format == "csv" else ()
    predicate = draw(st.none() | conditions(schema.select(columns)))
    files = draw(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1))
    return Read(tuple("/" + f for f in files), format, schema, columns, options, predicate)


@st.composite
def operators(draw: st.DrawFn, depth: int = 4) -> Operator:
    if depth == 0:
        return draw(reads())
    below = draw(operators(depth - draw(st.integers(1, depth))))
    schema = below.schema
    kind = draw(
        st.sampled_from(("filter", "project", "join", "aggregate", "sort", "limit", "distinct", "union_all", "shuffle"))
    )
    if kind == "filter":
        return Filter(below, draw(conditions(schema)))
    if kind == "project":
        found = draw(st.lists(expressions(schema), min_size=1, max_size=3))
        return Project(below, tuple(found), tuple(draw(NAMES) for _ in found))
    if kind == "join":
        other = draw(st.just(below) | operators(depth - 1))  # a shared input as well
        key = draw(expressions(schema))
        keys = (key, cast_to(draw(literals(key.type)), key.type))
        both = Schema((*schema, *other.schema))
        return Join(
            below, other, draw(st.sampled_from(tuple(JoinType))), keys[:1], keys[1:], draw(st.none() | conditions(both))
        )
    if kind == "aggregate":
        keys_found = tuple(draw(st.lists(expressions(schema), max_size=2)))
        measures = [draw(measures_of(schema)) for _ in range(draw(st.integers(1, 3)))]
        names = tuple(draw(NAMES) for _ in keys_found)
        splits = all(m.declaration.has_parts for m in measures)
        phase = draw(st.sampled_from(("full", "partial"))) if splits else "full"
        return Aggregate(below, keys_found, names, tuple(measures), phase)
    if kind == "sort":
        sort_keys = [
            SortKey(e, draw(st.booleans()), draw(st.booleans()))
            for e in draw(st.lists(expressions(schema), min_size=1, max_size=2))
        ]
        return Sort(below, tuple(sort_keys), draw(st.none() | st.integers(0, 9)), draw(st.integers(0, 9)))
    if kind == "limit":
        return Limit(below, draw(st.integers(0, 2**63 - 1)), draw(st.integers(0, 9)))
    if kind == "distinct":
        return Distinct(below)
    if kind == "shuffle":
        return Shuffle(below, Partitioning("hash", (len(schema) - 1, 0), draw(st.integers(1, 9))))
    return UnionAll((below, Distinct(below), below))


@st.composite
def measures_of(draw: st.DrawFn, schema: Schema) -> Measure:
    values = draw(st.lists(expressions(schema), min_size=2, max_size=2))
    function = draw(st.sampled_from(("count", "count_star", "min", "max", "first_value", "mode", "quantile_disc")))
    if all(v.type.is_numeric for v in values):
        function = draw(st.sampled_from(("sum", "avg", "stddev", "covar_pop", "corr", "median", "quantile_cont")))
    declaration = AGGREGATES[function]
    options = [Literal(t.with_nullable(False), draw(st.floats(0, 1))) for t in declaration.options]
    keys = draw(st.lists(st.tuples(expressions(schema), st.booleans(), st.booleans()), max_size=2))
    order = tuple(SortKey(*k) for k in keys) if declaration.ordered else ()
    return Measure.of(function, *values[: declaration.arity], *options, name=draw(NAMES), order=order)


dialects = st.builds(Dialect, **{name: st.sampled_from(choices) for name, choices in CHOICES.items()})


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(operators(), dialects, st.booleans())
def test_round_trip(root: Operator, dialect: Dialect, send: bool) -> None:
    for node in root.walk():
        assert problems(node) == []
    if send:
        root = Send(root, ("127.0.0.1:1", "127.0.0.1:2"), Partitioning("round_robin", (), 2), "row")
    data = proto.encode(root, dialect).SerializeToString()
    assert proto.from_bytes(data) == (root, dialect)
    assert proto.from_json(proto.to_json(root, dialect)) == (root, dialect)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_or_valid(data: bytes) -> None:
    try:
        root, _ = proto.from_bytes(data)
    except InvalidDataflow:
        return
    assert problems(root) == []


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_damaged_request_is_refused_or_valid(data: st.DataObject) -> None:
    good = bytearray(proto.encode(sample().root).SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    try:
        root, _ = proto.from_bytes(bytes(good))
    except InvalidDataflow:
        return
    for node in root.walk():
        assert problems(node) == []


def sample() -> Dataflow:
    table = Dataflow(Read(("/t.json",), "json", Schema.of(a=int32, b=int64, c=DataType("string")), (0, 1, 2)))
    return (
        table.filter(f.starts_with(col("c"), "x") & (col("a") * 2 > 5))
        .aggregate(by=["c"], s=sum_("a"), n=count())
        .top(3, "s")
    )


def test_shared_parts_stay_shared() -> None:
    node = sample().root
    for _ in range(8):
        node = UnionAll((node, node))
    message = proto.encode(node)
    assert len(message.operators) == 4 + 8
    root, _ = proto.decode(message)
    assert root.inputs[0] is root.inputs[1]


def test_dags_that_explode_are_refused() -> None:
    node = sample().root
    for _ in range(60):
        node = UnionAll((node, node))
    with pytest.raises(InvalidDataflow, match="more than 2000 operators"):
        proto.decode(proto.encode(node))


def test_deep_requests_are_refused_without_a_crash() -> None:
    node = sample().root
    for _ in range(20_000):
        node = Limit(node, 1)
    with pytest.raises(InvalidDataflow, match="200 on one path"):
        proto.decode(proto.encode(node))
    expression: Expression = ColumnRef(bool_, 0)
    for _ in range(20_000):
        expression = Case(bool_, (expression, expression), expression)
    with pytest.raises(InvalidDataflow, match="parts or 200 levels"):
        proto.decode(proto.encode(Filter(sample().root, expression)))


def test_wide_requests_are_refused_before_anything_is_made_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    root = sample().root
    with pytest.raises(InvalidDataflow, match="more than 2000 operators"):
        proto.decode(proto.encode(UnionAll(tuple(Limit(root, i) for i in range(10_000)))))
    terms: list[Expression] = [ColumnRef(bool_, 0)] * 4096
    while len(terms) > 1:
        terms = [Call(bool_, "or", (a, b)) for a, b in zip(terms[::2], terms[1::2], strict=True)]
    with pytest.raises(InvalidDataflow, match="more than 5000 parts"):
        proto.decode(proto.encode(Filter(root, terms[0])))
    wide = Schema(tuple(Field(f"c{i}", bool_) for i in range(10_000)))
    read = Read(("/a.csv",), "csv", wide, tuple(range(10_000)))
    assert len(proto.decode(proto.encode(UnionAll((read,) * 50)))[0].schema) == 10_000
    with pytest.raises(InvalidDataflow, match="more than 1000000 columns"):
        proto.decode(proto.encode(UnionAll((read,) * 100)))
    monkeypatch.setattr(proto, "EXPRESSIONS_MAX", 1)
    with pytest.raises(InvalidDataflow, match="at most 1 expressions"):
        proto.decode(proto.encode(Filter(root, Call(bool_, "not", (ColumnRef(bool_, 0),)))))


def test_compilers_operators_are_no_part_of_a_request() -> None:
    with pytest.raises(InvalidDataflow, match="emit is the compiler's own"):
        proto.encode(Emit(sample().root, "e0", Partitioning()))


def _set(path: str, value: object) -> Callable[[pb.Dataflow], None]:
    """Sets one field of the sample's message, named by its path."""

    def change(m: pb.Dataflow) -> None:
        *parents, last = path.split(".")
        at: object = m
        for name in parents:
            at = at[int(name)] if name.isdigit() else getattr(at, name)  # type: ignore[index]
        if last.isdigit():
            at[int(last)] = value  # type: ignore[index]
        else:
            setattr(at, last, value)

    return change


def _number(kind: str, m: pb.Dataflow | None = None) -> int:
    message = m or proto.encode(sample().root)
    return next(i for i, e in enumerate(message.expressions) if e.WhichOneof("kind") == kind)


LIES = [
    (_set("operators.1.inputs.0", 1), "operator 1 (filter): its input 1 does not come before it"),
    (_set("operators.1.filter.predicate", 999), "operator 1 (filter): it refers to expression 999"),
    (_set("operators.1.filter.predicate", 0), "filter: predicate is string?, must be bool"),
    (lambda m: m.operators[0].ClearField("read"), "operator 0 (None): it has no kind"),
    (lambda m: m.operators[1].ClearField("inputs"), "it has 0 inputs, must have 1"),
    (lambda m: m.ClearField("operators"), "it has no operators"),
    (_set("operators.0.read.format", "xml"), "read: unknown format 'xml'"),
    (_set("operators.0.read.columns.0", 7), "read: columns (7, 1, 2) of a file with 3"),
    (_set("operators.0.read.files.0", "../etc/passwd"), "read: '../etc/passwd' is not an absolute path"),
    (lambda m: m.operators[0].read.ClearField("files"), "read: no files"),
    (lambda m: m.operators[0].read.options.update(x="y"), "read: json has no option 'x'"),
    (_set("operators.0.read.file_schema.fields.1.name", "a"), "read: two columns called 'a'"),
    (_set("operators.0.read.file_schema.fields.0.type.kind", "int33"), "unknown type 'int33'"),
    (_set("operators.0.read.file_schema.fields.0.type.precision", 3), "int32 has no precision or scale"),
    (_set("operators.2.aggregate.phase", "half"), "aggregate: unknown phase 'half'"),
    (
        _set("operators.2.aggregate.measures.0.function", "medium"),
        "aggregate: unknown measure 'medium'; did you mean 'median'?",
    ),
    (_set("operators.2.aggregate.measures.0.type.kind", "int32"), "sum declared as int32?, its type is int64?"),
    (lambda m: m.operators[2].aggregate.measures[0].ClearField("argument"), "sum takes 1 argument, not 0"),
    (_set("operators.2.aggregate.key_names.0", "k"), None),
    (_set("operators.3.sort.limit", 1 << 63), "sort: 9223372036854775808 rows"),
    (lambda m: m.operators[3].sort.ClearField("keys"), "sort: no keys"),
    (_set("dialect.nan", "smallest"), "dialect: nan is 'smallest'; it can be largest, ieee"),
    (lambda m: _set(f"expressions.{_number('column')}.column.index", 9)(m), "column #9 of an input with 3 columns"),
    (lambda m: _set(f"expressions.{_number('column')}.type.required", True)(m), "declared as string"),
    (
        lambda m: _set(f"expressions.{_number('call')}.call.function", "strats_with")(m),
        "unknown function 'strats_with'; did you mean 'starts_with'?",
    ),
    (lambda m: m.expressions[_number("call")].call.arguments.append(0), "starts_with takes 2 arguments, not 3"),
    (lambda m: _set(f"expressions.{_number('call')}.type.kind", "int32")(m), "starts_with: declared as int32?"),
    (lambda m: _set(f"expressions.{_number('call')}.call.arguments.0", 99)(m), "which does not come before it"),
    (lambda m: _set(f"expressions.{_number('literal')}.literal.integer", 5)(m), "5 is not a value of type string"),
    (lambda m: m.expressions[_number("literal")].literal.Clear(), "NULL in a literal of type string"),
    (lambda m: m.expressions[0].ClearField("column"), "expression 0: it has no kind"),
]


@pytest.mark.parametrize(("lie", "message"), LIES, ids=[str(m)[:70] for _, m in LIES])
def test_lie(lie: Callable[[pb.Dataflow], None], message: str | None) -> None:
    request = proto.encode(sample().root)
    lie(request)
    if message is None:
        proto.decode(request)
        return
    with pytest.raises(InvalidDataflow) as raised:
        proto.decode(request)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("literal", "type", "message"),
    [
        (pb.Literal(integer=128), "int8", "128 is out of the range of int8"),
        (pb.Literal(decimal="1.234"), "decimal", "1.234 is out of the range of decimal(3, 2)"),
        (pb.Literal(decimal="10"), "decimal", "10 is out of the range of decimal(3, 2)"),
        (pb.Literal(decimal="1e9"), "decimal", "'1e9' is not a decimal"),
        (pb.Literal(decimal="-"), "decimal", "a literal is out of range"),
        (pb.Literal(days=2**30), "date", "a literal is out of range"),
        (pb.Literal(microseconds=2**62), "timestamp", "a literal is out of range"),
        (pb.Literal(floating=0.1), "float32", "0.1 is not a float32"),
        (pb.Literal(boolean=True), "int32", "True is not a value of type int32"),
        (pb.Literal(microseconds=0), "date", "is not a value of type date"),
    ],
)
def test_literal_out_of_range(literal: pb.Literal, type: str, message: str) -> None:
    digits = {"precision": 3, "scale": 2} if type == "decimal" else {}
    request = proto.encode(sample().root)
    request.expressions.append(pb.Expression(type=pb.Type(kind=type, required=True, **digits), literal=literal))
    request.operators.append(
        pb.Operator(inputs=[3], project=pb.Project(expressions=[len(request.expressions) - 1], names=["x"]))
    )
    with pytest.raises(InvalidDataflow) as raised:
        proto.decode(request)
    assert message in str(raised.value)


def test_send_is_the_root_only() -> None:
    request = proto.encode(sample().send("127.0.0.1:1").root)
    request.operators.append(pb.Operator(inputs=[len(request.operators) - 1], distinct=pb.Distinct()))
    with pytest.raises(InvalidDataflow, match="its input is a send, which must be the root"):
        proto.decode(request)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"operators": 3}', '{"nothing": 1}', "[" * 5000])
def test_malformed_json(text: str) -> None:
    with pytest.raises(InvalidDataflow, match="malformed request"):
        proto.from_json(text)


def test_exact_literals(tmp_path: Path) -> None:
    (tmp_path / "t.csv").touch()
    table = read(tmp_path / "t.csv", schema={"d": "decimal(38,10)", "t": "timestamp", "f": "float64", "s": "string"})
    flow = table.filter(
        col("d") == Decimal("-1234567890123456789012345678.0123456789"),
        col("t") < datetime.datetime(1, 1, 1, 0, 0, 0, 1),
        col("f") != -0.0,
        col("s") == "\0\"'\\%s{{x}}??/\n",
    )
    assert proto.from_json(proto.to_json(flow.root))[0] == flow.root
