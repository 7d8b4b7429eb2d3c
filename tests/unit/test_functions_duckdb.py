"""The reference bodies against DuckDB, on values at the edges of their types. Differences are named where they are."""

from __future__ import annotations

import datetime
import itertools
import math
from decimal import Decimal

import pytest

from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import Cast, ColumnRef, Expression, Value
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.literals import as_literal
from jumpgate.dataflow.types import DataType, parse_type
from jumpgate.errors import ComputeError

duckdb = pytest.importorskip("duckdb")

DATA: dict[str, list[Value]] = {
    "bool": [None, False, True],
    "int8": [None, 0, 1, -1, 127, -128],
    "int32": [None, 0, 7, -7, 2**31 - 1, -(2**31)],
    "int64": [None, 0, 10, -10, 2**63 - 1, -(2**63)],
    "decimal(4, 2)": [None, Decimal("0.00"), Decimal("1.25"), Decimal("-1.25"), Decimal("99.99"), Decimal("-99.99")],
    "decimal(20, 1)": [None, Decimal("0.0"), Decimal("12345678901234567.5"), Decimal("-0.5")],
    "float64": [None, 0.0, 0.5, -0.5, 1.5, 2.675, -1e300, math.inf],
    "string": [None, "", "a", " a ", "abc", "aXc", "é", "a%c", "A\nc", "😀b"],
    "date": [
        None,
        datetime.date(1970, 1, 1),
        datetime.date(1969, 12, 31),
        datetime.date(2000, 2, 29),
        datetime.date(1, 1, 1),
        datetime.date(9999, 12, 31),
        datetime.date(2024, 11, 24),
    ],
    "timestamp": [
        None,
        datetime.datetime(1970, 1, 1),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(2000, 2, 29, 12, 34, 56, 789000),
    ],
}
SQL_TYPES = {"int8": "TINYINT", "int32": "INTEGER", "int64": "BIGINT", "float64": "DOUBLE", "string": "VARCHAR"}
NUMBERS = ("int8", "int32", "int64", "decimal(4, 2)", "decimal(20, 1)", "float64")
DECIMALS = ("decimal(4, 2)", "decimal(20, 1)", "float64")
BINARY = {
    "eq": "{0} = {1}",
    "ne": "{0} <> {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "is_distinct": "{0} IS DISTINCT FROM {1}",
    "is_not_distinct": "{0} IS NOT DISTINCT FROM {1}",
}
UNARY = {
    "not": ("NOT {0}", ("bool",)),
    "is_null": ("{0} IS NULL", tuple(DATA)),
    "is_not_null": ("{0} IS NOT NULL", tuple(DATA)),
    "negate": ("-{0}", NUMBERS),
    "abs": ("abs({0})", NUMBERS),
    "floor": ("floor({0})", DECIMALS),
    "ceil": ("ceil({0})", DECIMALS),
    "sqrt": ("sqrt({0})", ("int32", "float64")),
    "char_length": ("length({0})", ("string",)),
    "trim": ("trim({0})", ("string",)),
    "ltrim": ("ltrim({0})", ("string",)),
    "rtrim": ("rtrim({0})", ("string",)),
    **{
        part: (f"{sql}({{0}})", ("date", "timestamp"))
        for part, sql in {
            "year": "year",
            "quarter": "quarter",
            "month": "month",
            "day": "day",
            "day_of_week": "dayofweek",
        }.items()
    },
    **{part: (f"{part}({{0}})", ("timestamp",)) for part in ("hour", "minute", "second")},
}


@pytest.fixture(scope="module")
def connection():  # type: ignore[no-untyped-def]
    return duckdb.connect()


def ours(expression: Expression, row: list[Value]) -> Value | type[Exception]:
    try:
        return evaluate(expression, row)
    except ComputeError:
        return ComputeError


def theirs(connection, sql: str, types: list[str], row: list[Value]):  # type: ignore[no-untyped-def]
    """DuckDB's value, ComputeError where it fails."""
    columns = [f"CAST(? AS {SQL_TYPES.get(t, t)})" for t in types]
    texts = [str(v) if isinstance(v, Decimal) else v for v in row]
    try:
        return connection.execute(f"SELECT {sql.format(*columns)}", texts).fetchone()[0]
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException):
        return ComputeError


def same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isnan(a) and math.isnan(b)
    return a == b


def compare(connection, expression: Expression, sql: str, types: list[str], rows: list[list[Value]]) -> None:  # type: ignore[no-untyped-def]
    for row in rows:
        mine, other = ours(expression, row), theirs(connection, sql, types, row)
        assert same(mine, other), f"{expression} on {row}: {mine!r}, DuckDB {other!r}"


def columns(*types: str) -> tuple[Expression, ...]:
    return tuple(ColumnRef(parse_type(t).with_nullable(True), i) for i, t in enumerate(types))


@pytest.mark.parametrize("function", UNARY)
def test_unary(connection, function: str) -> None:  # type: ignore[no-untyped-def]
    sql, types = UNARY[function]
    for type in types:
        rows = [[v] for v in DATA[type]]
        compare(connection, bind(function, columns(type)), sql, [type], rows)


@pytest.mark.parametrize("function", BINARY)
def test_comparisons(connection, function: str) -> None:  # type: ignore[no-untyped-def]
    mixed = [
        ("int32", "int64"),
        ("int64", "decimal(4, 2)"),
        ("decimal(4, 2)", "decimal(20, 1)"),
        ("date", "timestamp"),
        ("int32", "float64"),
    ]
    pairs = [(t, t) for t in DATA] + mixed
    for a, b in pairs:
        rows = [[x, y] for x, y in itertools.product(DATA[a], DATA[b])]
        compare(connection, bind(function, columns(a, b)), BINARY[function], [a, b], rows)


@pytest.mark.parametrize(
    ("function", "sql"), [("add", "{0} + {1}"), ("subtract", "{0} - {1}"), ("multiply", "{0} * {1}")]
)
@pytest.mark.parametrize("type", ["int8", "int32", "int64", "decimal(4, 2)", "decimal(9, 1)", "float64"])
def test_arithmetic(connection, function: str, sql: str, type: str) -> None:  # type: ignore[no-untyped-def]
    values = DATA.get(type, [None, Decimal("99999999.9"), Decimal("-0.5")])
    rows = [[x, y] for x, y in itertools.product(values, values)]
    compare(connection, bind(function, columns(type, type)), sql, [type, type], rows)


@pytest.mark.parametrize(
    ("function", "sql"), [("divide", "{0} / {1}"), ("int_divide", "{0} // {1}"), ("modulo", "{0} % {1}")]
)
def test_division(connection, function: str, sql: str) -> None:  # type: ignore[no-untyped-def]
    """Not by zero: DuckDB gives infinity or NULL, Jumpgate what the dialect says."""
    for type in ("int32", "int64", "decimal(4, 2)", "float64"):
        try:
            call = bind(function, columns(type, type))
        except TypeMismatch:
            assert function == "int_divide"
            continue
        rows = [[x, y] for x, y in itertools.product(DATA[type], DATA[type]) if y is None or y]
        rows = [r for r in rows if not (isinstance(r[0], float) and math.isinf(r[0]) and function == "modulo")]
        compare(connection, call, sql, [type, type], rows)


@pytest.mark.parametrize("digits", [-1, 0, 1, 2])
def test_round(connection, digits: int) -> None:  # type: ignore[no-untyped-def]
    for type in ("decimal(4, 2)", "float64", "int32"):
        rows = [[v] for v in DATA[type] if v is None or abs(v) < 2**30]  # DuckDB rounds infinity to 0 in tens
        call = bind("round", (*columns(type), as_literal(digits)))
        compare(connection, call, f"round({{0}}, {digits})", [type], rows)


@pytest.mark.parametrize("pattern", ["", "%", "a%", "%c", "_", "a_c", "%a%", "__", "%_%", "a%%c"])
def test_like(connection, pattern: str) -> None:  # type: ignore[no-untyped-def]
    call = bind("like", (*columns("string"), as_literal(pattern)))
    compare(connection, call, f"{{0}} LIKE '{pattern}'", ["string"], [[v] for v in DATA["string"]])


def test_strings(connection) -> None:  # type: ignore[no-untyped-def]
    pairs = [[x, y] for x, y in itertools.product(DATA["string"], DATA["string"])]
    for function, sql in (
        ("starts_with", "starts_with({0}, {1})"),
        ("ends_with", "suffix({0}, {1})"),
        ("contains", "contains({0}, {1})"),
        ("concat", "{0} || {1}"),
        ("coalesce", "coalesce({0}, {1})"),
        ("null_if", "nullif({0}, {1})"),
    ):
        compare(connection, bind(function, columns("string", "string")), sql, ["string", "string"], pairs)
    ascii_only = [[v] for v in DATA["string"] if v is None or str(v).isascii()]
    for function in ("upper", "lower"):
        compare(connection, bind(function, columns("string")), f"{function}({{0}})", ["string"], ascii_only)
    for start, length in itertools.product((1, 2, 4), (0, 1, 9)):
        call = bind("substring", (*columns("string"), as_literal(start), as_literal(length)))
        compare(connection, call, f"substring({{0}}, {start}, {length})", ["string"], [[v] for v in DATA["string"]])


def test_logic(connection) -> None:  # type: ignore[no-untyped-def]
    rows = [list(r) for r in itertools.product(DATA["bool"], repeat=3)]
    for function in ("and", "or"):
        sql = f"{{0}} {function} {{1}} {function} {{2}}"
        compare(connection, bind(function, columns("bool", "bool", "bool")), sql, ["bool"] * 3, rows)


def test_date_add_days(connection) -> None:  # type: ignore[no-untyped-def]
    rows = [[d, n] for d in DATA["date"][:4] for n in (None, 0, 1, -1, 366, -40000)]
    call = bind("date_add_days", columns("date", "int32"))
    compare(connection, call, "{0} + CAST({1} AS INTEGER)", ["date", "int32"], rows)


INTEGERS = ("int8", "int32", "int64")
CASTS = [
    *itertools.product(INTEGERS, (*INTEGERS, "decimal(4, 2)", "float64", "bool", "string")),
    *itertools.product(DECIMALS[:2], ("int8", "int64", "decimal(3, 1)", "decimal(30, 4)", "string")),
    ("float64", "int8"),
    ("float64", "int64"),
    ("float64", "decimal(4, 2)"),
    ("decimal(4, 2)", "float64"),
    ("bool", "int32"),
    ("bool", "string"),
    ("date", "string"),
    ("date", "timestamp"),
    ("timestamp", "date"),
    ("timestamp", "string"),
]


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_casts(connection, source: str, target: str) -> None:  # type: ignore[no-untyped-def]
    to: DataType = parse_type(target).with_nullable(True)
    sql = f"CAST({{0}} AS {SQL_TYPES.get(target, target)})"
    compare(connection, Cast(to, columns(source)[0]), sql, [source], [[v] for v in DATA[source]])
