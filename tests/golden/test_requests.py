"""Requests that clients in other languages must write, too: tests/golden/requests, in protobuf's JSON form."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from jumpgate.dataflow import proto
from jumpgate.dataflow.dialect import DEFAULT, Dialect
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
    Sort,
    SortKey,
    UnionAll,
    Window,
    WindowFunction,
)
from jumpgate.dataflow.types import (
    DataType,
    Field,
    Schema,
    bool_,
    date,
    decimal,
    float64,
    int32,
    int64,
    parse_type,
    string,
    timestamp,
)

ITEM = Schema(
    (Field("id", int32.with_nullable(False)), Field("price", decimal(7, 2)), Field("day", date), Field("name", string))
)


def column(node: Operator, index: int) -> ColumnRef:
    return ColumnRef(node.schema[index].type, index, node.schema[index].name)


def literal(value: Value, type: DataType) -> Literal:
    return Literal(type.with_nullable(value is None), value)


def call(function: str, type: DataType, *args: Expression) -> Call:
    return Call(type.with_nullable(any(a.type.nullable for a in args)), function, args)


def items() -> Read:
    return Read(("/data/item.csv",), "csv", ITEM, (0, 1, 2, 3), (("delimiter", "|"),))


def operators() -> tuple[Operator, Dialect]:
    """Every operator, and what is shared."""
    left = items()
    id, name = column(left, 0), column(left, 3)
    wanted = call("gt", bool_, id, literal(7, int32))
    first = Filter(Read(("/a", "/b"), "parquet", ITEM, (0, 1, 2, 3), (), wanted), wanted)
    inner = Join(
        first, left, "inner", (column(first, 0),), (id,), call("ne", bool_, name, ColumnRef(string, 7, "name"))
    )
    kept = Project(inner, tuple(column(inner, i) for i in (0, 1, 6, 3)), ("id", "price", "day", "name"))
    outer = Join(kept, left, "full", (column(kept, 0), column(kept, 3)), (id, name))
    some = Project(outer, tuple(column(outer, i) for i in (0, 1, 2, 3)), ("id", "price", "day", "name"))
    for type in ("left", "semi", "anti", "mark"):
        joined = Join(some, left, type, (column(some, 0),), (id,))
        some = Project(joined, tuple(column(joined, i) for i in (0, 1, 2, 3)), ("id", "price", "day", "name"))
    both = UnionAll((some, left, some))
    amount = column(both, 1)
    measures = (
        Measure.of("count_star", name="n"),
        Measure.of("sum", amount, name="total"),
        Measure.of("avg", amount, name="mean"),
        Measure.of("min", column(both, 2), name="first"),
        Measure.of("stddev", amount, name="spread"),
    )
    partial = Aggregate(both, (column(both, 3),), ("name",), measures, "partial")
    spread = Shuffle(partial, Partitioning("hash", (0,), 4))
    of_states = tuple(replace(m, arguments=tuple(literal(None, a.type) for a in m.arguments)) for m in measures)
    final = Aggregate(spread, (column(spread, 0),), ("name",), of_states, "final")
    listed = Measure.of(
        "string_agg", column(final, 0), literal(", ", string), name="names", order=(SortKey(column(final, 1), True),)
    )
    whole = Aggregate(final, (column(final, 1),), ("n",), (listed, Measure.of("count", column(final, 3), name="c")))
    rank = WindowFunction("rank", (), int64.with_nullable(False), "rank")
    before = WindowFunction("sum", (column(whole, 0),), int64, "before")
    window = Window(
        Distinct(Limit(whole, 1000, 10)),
        (column(whole, 1),),
        (SortKey(column(whole, 0), nulls_first=True),),
        (rank, before),
        Frame("rows", None, -1),
    )
    top = Sort(Sort(window, (SortKey(column(window, 3)),)), (SortKey(column(window, 4), True),), 100, 5)
    return Send(top, ("h1:1", "h2:2"), Partitioning("murmur3", (0, 1), 2), "row"), Dialect(
        "null", "ieee", "truncate", "ieee"
    )


TYPES = (
    "bool", "int8", "int16", "int64", "float32", "binary", "time", "timestamp", "timestamp_ns", "timestamptz(UTC)",
    "timestamptz_ns(Europe/Berlin)", "duration(ms)", "decimal(38, 10)",
)  # fmt: skip


def expressions() -> tuple[Operator, Dialect]:
    """Every type, every kind of expression and of literal."""
    person = DataType("struct", parts=(Field("name", string), Field("age", int32)))
    tags = DataType("list", parts=(Field("element", string),))
    counts = DataType("map", parts=(Field("key", string.with_nullable(False)), Field("value", int64)))
    nested = [Field("person", person), Field("tags", tags), Field("counts", counts)]
    opaque = Field("odd", DataType("opaque", description="union<int, string>"))
    flat = [Field(f"c{i}", parse_type(t).with_nullable(True)) for i, t in enumerate(TYPES)]
    table = Read(("/t",), "orc", Schema((*flat, *nested, opaque)), tuple(range(16)))
    flag, small, wide, real, data = (column(table, i) for i in (0, 1, 3, 4, 5))
    age = Member(int32, column(table, 13), 1)
    tests = (
        call("and", bool_, flag, call("not", bool_, flag)),
        call("or", bool_, flag, Call(bool_.with_nullable(False), "is_null", (data,))),
        Call(bool_.with_nullable(False), "is_not_null", (age,)),
        InList(bool_, wide, (literal(1, int64), literal(None, int64))),
        InList(bool_.with_nullable(False), literal(5, int64), (literal(5, int64),)),
    )
    values = (
        Cast(int64, small),
        Cast(float64, wide, "null"),
        Cast(parse_type("int8").with_nullable(True), literal(300, int64), "null"),
        Cast(int64.with_nullable(False), literal(True, bool_), "null"),
        Cast(decimal(19, 0, False), literal(1, int64), "null"),
        Cast(decimal(18, 0), literal(1, int64), "null"),
        Call(int64, "add", (wide, literal(-3, int64))),
        Case(int64, (flag, wide, tests[2], literal(1, int64)), literal(None, int64)),
        Case(string.with_nullable(False), (flag, literal("a", string)), literal("é", string)),
        literal(0.5, float64),
        literal(b"\0\xff", DataType("binary")),
        literal(Decimal("-12.50"), decimal(7, 2)),
        literal(datetime.date(2000, 1, 2), date),
        literal(datetime.datetime(1970, 1, 1, 0, 0, 1), timestamp),
        literal(datetime.time(0, 0, 1), DataType("time")),
        literal(86_400_000, DataType("duration", unit="ms")),
        age,
        column(table, 14),
        column(table, 15),
    )
    shown = (*tests, *values)
    return Project(table, shown, tuple(f"x{i}" for i in range(len(shown)))), DEFAULT


@pytest.mark.parametrize("made", [operators, expressions])
def test_requests(made: Callable[[], tuple[Operator, Dialect]], golden: Callable[[str, str], None]) -> None:
    root, dialect = made()
    text = proto.to_json(root, dialect)
    assert proto.from_json(text) == (root, dialect)
    golden(f"requests/{made.__name__}.json", text + "\n")
