"""Every function that the SQL road offloads means what DataFusion's means, on values at the edges of their types."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterator

import pyarrow as pa
import pytest

from jumpgate.client.sql.function_names import ADAPTERS, add_interval, scalar
from jumpgate.client.sql.local import context
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import Cast, ColumnRef, Expression, Value
from jumpgate.dataflow.functions import built_in
from jumpgate.dataflow.literals import as_literal
from jumpgate.dataflow.types import parse_type
from jumpgate.errors import ComputeError
from jumpgate.testing.oracle import arrow_type
from tests.support.datafusion_calls import VALUES, calls, names

DAY, TIME = datetime.date, datetime.datetime
DIALECT = Dialect(division_by_zero="ieee", to_integer="truncate")


def test_every_name_has_a_call() -> None:
    assert {name.strip() for name in names()} == {*ADAPTERS, *built_in("sql")}


def theirs(sql: str, rows: list[tuple[Value, ...]], types: list[str]) -> Iterator[Value | type[ComputeError]]:
    """DataFusion's values; ComputeError where it fails, which it does for the whole of a query."""
    schema = pa.schema([(f"c{i}", arrow_type(parse_type(t))) for i, t in enumerate(types)])

    def run(some: list[tuple[Value, ...]]) -> list[Value | type[ComputeError]]:
        arrays = [pa.array([r[i] for r in some], f.type) for i, f in enumerate(schema)]
        ours = context()
        ours.register_record_batches("t", [[pa.RecordBatch.from_arrays(arrays, schema=schema)]])
        try:
            batches = ours.sql(f"SELECT {sql} AS x FROM t").collect()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            if len(some) == 1:
                return [ComputeError]
            half = len(some) // 2
            return run(some[:half]) + run(some[half:])
        return [v for b in batches for v in b.column(0).to_pylist()]

    yield from run(rows)


def same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isnan(a) and math.isnan(b) or a == b and math.copysign(1, a) == math.copysign(1, b)
    if isinstance(a, DAY) and isinstance(b, DAY):
        return TIME.fromisoformat(str(a)) == TIME.fromisoformat(str(b))
    return type(a) is type(b) and a == b


def compare(expression: Expression, sql: str, types: list[str]) -> None:
    values = [VALUES[t] for t in types]
    rows = list(itertools.product(*values))[:: 7 ** max(0, len(types) - 2)]
    for row, other in zip(rows, theirs(sql, rows, types), strict=True):
        try:
            mine: object = evaluate(expression, row, DIALECT)
        except ComputeError:
            mine = ComputeError
        assert same(mine, other), f"{expression} on {row}: {mine!r}, DataFusion {other!r}"


@pytest.mark.parametrize("name", names())
def test_function(name: str) -> None:
    for sql, expression, types in calls(name):
        compare(expression, sql.format(*(f"c{i}" for i in range(len(types)))), types)


@pytest.mark.parametrize("type", ["date", "timestamp"])
def test_intervals(type: str) -> None:
    column = ColumnRef(parse_type(type).with_nullable(True), 0)
    for months, days, seconds in ((1, 0, 0), (-1, 0, 0), (0, 31, 0), (13, -1, 90000), (0, 0, -90000), (0, 0, 3.5)):
        sql = f"c0 + INTERVAL '{months} months {days} days {seconds} seconds'"
        compare(add_interval(column, months, days, int(seconds * 10**9)), sql, [type])
    minus = add_interval(column, -1, -1, -(10**9))
    compare(minus, "c0 - INTERVAL '1 month 1 day 1 second'", [type])


TEXTS: list[Value] = [
    "", " ", "0", "-0", "+7", " 12 ", "\t12\n", "127", "128", "1.5", "-2.5", ".5", "5.", ".", "-", "+-1", "1e3",
    "1e400", "inf", "-INFINITY", "nan", "0x10", "1 2", "1_0", "99.994", "99.995", "-99.995", "1.005",
    "1.00499999999999", "9" * 39, "true", "F", "1", "yes", "tru", " oFf ", "nope", "2000-02-29", "1999-02-29",
    " 2000-01-01", "2000-1-1", "2000-1-1 ", "2000-01-1", "20000101", "20000230", "10000-01-01", "2000-01-01T",
    "2000-01-01 10", "2000-01-01 10:00", "2000-01-01 10:00:00", "2000-01-01t10:00:00.5",
    "2000-01-01 10:00:00.1234567", "2000-01-01 10:00:00.", "2000-01-01 10:00:60", "2000-01-01 24:00:00",
    "2000-01-01T10:00:00Z", "2000-01-01 23:00:00-05:00", "2000-01-01 00:00:00 +0530", "2000-01-01 00:00:00+05",
    "2000-01-01 10:00:00 Z", "1969-12-31 23:59:59.9999999", "2000-02-30 10:00:00",
]  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "type"),
    [
        ("CAST(c0 AS TINYINT)", "int8"),
        ("CAST(c0 AS BIGINT)", "int64"),
        ("CAST(c0 AS DOUBLE)", "float64"),
        ("CAST(c0 AS DECIMAL(4, 2))", "decimal(4, 2)"),
        ("CAST(c0 AS BOOLEAN)", "bool"),
        ("CAST(c0 AS DATE)", "date"),
        ("arrow_cast(c0, 'Timestamp(Microsecond, None)')", "timestamp"),
    ],
)
def test_casts_of_text(sql: str, type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VALUES, "string", TEXTS)
    compare(Cast(parse_type(type).with_nullable(True), ColumnRef(parse_type("string"), 0)), sql, ["string"])


def test_casts_of_numbers() -> None:
    for source in ("int32", "int64", "float64", "decimal(5, 2)", "decimal(38, 10)"):
        for target, sql in (("int8", "TINYINT"), ("int64", "BIGINT"), ("decimal(3, 1)", "DECIMAL(3, 1)"),
                            ("decimal(38, 4)", "DECIMAL(38, 4)"), ("float64", "DOUBLE")):  # fmt: skip
            to = parse_type(target).with_nullable(True)
            if source != target:
                compare(Cast(to, ColumnRef(parse_type(source), 0)), f"CAST(c0 AS {sql})", [source])


REFUSED = [
    ("nosuch", ("int32",), "function nosuch is not known"),
    ("sin", ("float32",), "sin of 32-bit floats is computed in 32 bits"),
    ("log", ("decimal(5, 2)",), "log of decimals and 32-bit floats is computed otherwise"),
    ("Divide", ("decimal(5, 2)", "int32"), "division of decimals: engines disagree about its digits"),
    ("LikeMatch", ("string", "string"), "like: the pattern must be a literal"),
    ("RegexMatch", ("string", "string"), "a regular expression must be a literal"),
    ("RegexMatch", ("string", r"'\bx'"), r"regular expression '\\\\bx': \\b is not known here"),
    ("RegexMatch", ("string", r"'\w{9}x'"), r"its automaton is too large"),
    ("regexp_like", ("string", "'a'", "'m'"), "the flags 'm' of a regular expression are not known"),
    ("regexp_count", ("string", "'a'", "2"), "regexp_count from a place on"),
    ("regexp_replace", ("string", "'a'", r"'\1'"), "replacing by what groups matched"),
    ("regexp_replace", ("string", "'a'", "string"), "what a match is replaced by must be a literal"),
    ("date_part", ("'century'", "date"), "date_part of 'century' is not known"),
    ("date_trunc", ("'millisecond'", "timestamp"), "date_trunc to 'millisecond' is not known"),
    ("btrim", ("string", "string"), "trim takes 1 arguments, not 2"),
]


@pytest.mark.parametrize(("name", "shape", "message"), REFUSED)
def test_what_stays_in_datafusion_says_why(name: str, shape: tuple[str, ...], message: str) -> None:
    arguments = [
        as_literal(p[1:-1]) if p.startswith("'") else as_literal(int(p)) if p.isdigit() else ColumnRef(parse_type(p), i)
        for i, p in enumerate(shape)
    ]
    with pytest.raises(TypeMismatch, match=message):
        scalar(name, arguments)


def test_intervals_of_nanoseconds_stay_in_datafusion() -> None:
    with pytest.raises(TypeMismatch, match="timestamps have microseconds"):
        add_interval(ColumnRef(parse_type("timestamp"), 0), 0, 0, 1)
