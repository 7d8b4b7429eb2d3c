"""The reference bodies of functions and casts against cases worked out by hand."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pytest

from jumpgate.dataflow.casts import TypeMismatch, cannot_fail, cast_value
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import Case, Cast, ColumnRef, Expression, InList, Literal, Value
from jumpgate.dataflow.fingerprints import fingerprint
from jumpgate.dataflow.functions import BUILT_IN, bind, check
from jumpgate.dataflow.literals import as_literal
from jumpgate.dataflow.types import (
    DataType,
    binary,
    bool_,
    date,
    decimal,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    parse_type,
    string,
    timestamp,
)
from jumpgate.dataflow.unresolved import f
from jumpgate.errors import CannotPlace, ComputeError, DivisionByZero, InvalidCast, Overflow
from tests.support.function_cases import CASES, FAILURES

DAY = datetime.date
TIME = datetime.datetime
NAN = math.nan


def run(name: str, *args: tuple[Value, DataType] | Value, dialect: Dialect | None = None) -> Value:
    """Binds the function to columns of the given types (bare values: literals) and evaluates it on one row."""
    expressions: list[Expression] = []
    row: list[Value] = []
    for arg in args:
        if isinstance(arg, tuple):
            expressions.append(ColumnRef(arg[1], len(row)))
            row.append(arg[0])
        else:
            expressions.append(as_literal(arg))
    call = bind(name, tuple(expressions))
    check(call)
    return evaluate(call, row, dialect or Dialect())


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}{c[1:-1]}")
def test_value(case: tuple) -> None:
    name, *args, expected = case
    value = run(name, *args)
    assert type(value) is type(expected)
    assert value == expected or value != value and expected != expected


def test_every_function_has_a_case() -> None:
    assert {c[0] for c in CASES} == set(BUILT_IN)


ALIKE = [
    [(0.0, float64), (-0.0, float64), (0.0, float32)],
    [(NAN, float64), (-NAN, float64), (NAN, float32)],
    [(7, int8), (7, int64)],
    [(Decimal("1.5"), decimal(2, 1)), (Decimal("1.5"), decimal(38, 1))],
    [("é", string), ("é".encode(), binary)],
    [(None, string), (None, int8), (None, float64)],
]
UNLIKE = [
    [("", string), ("\0", string), ("\0\0", string), (" ", string), (None, string)],
    [("a" * 8, string), ("a" * 9, string), ("a" * 8 + "\0", string), ("a" * 16, string)],
    [(0, int64), (-1, int64), (2**63 - 1, int64), (-(2**63), int64), (None, int64)],
    [(Decimal(0), decimal(38, 0)), (Decimal(2**64), decimal(38, 0)), (Decimal(-(2**64)), decimal(38, 0))],
]


@pytest.mark.parametrize("values", ALIKE)
def test_equal_values_have_equal_fingerprints(values: list) -> None:
    assert len({run("fingerprint", v) for v in values}) == 1
    assert len({run("fingerprint", (1, int8), v, v) for v in values}) == 1


@pytest.mark.parametrize("values", UNLIKE)
def test_other_values_have_other_fingerprints(values: list) -> None:
    pairs = [(a, b) for a in values for b in values]
    found = [run("fingerprint", v) for v in values] + [run("fingerprint", *p) for p in pairs]
    assert len(set(found)) == len(values) + len(pairs), "order matters, and how many there are"


def test_fingerprints_of_pairs_of_small_numbers_do_not_collide() -> None:
    small = range(-200, 200)
    assert len({fingerprint((a, b), (int32, int32)) for a in small for b in small}) == len(small) ** 2


def test_no_request_names_a_fingerprint() -> None:
    assert "fingerprint" not in dir(f) and "year" in dir(f)
    with pytest.raises(AttributeError, match="there is no function 'fingerprint'"):
        f.fingerprint  # noqa: B018


@pytest.mark.parametrize("failure", FAILURES, ids=lambda f: f"{f[1]}{f[2:]}")
def test_failure(failure: tuple) -> None:
    error, name, *args = failure
    with pytest.raises(error):
        run(name, *args)


@pytest.mark.parametrize("failure", [f for f in FAILURES if f[0] is not ComputeError], ids=lambda f: f"{f[1]}{f[2:]}")
def test_failure_becomes_null_where_the_dialect_says_so(failure: tuple) -> None:
    _, name, *args = failure
    assert run(name, *args, dialect=Dialect(on_overflow="null", division_by_zero="null")) is None


def test_wrap_is_refused() -> None:
    with pytest.raises(CannotPlace, match="wrap-around"):
        run("add", (127, int8), (1, int8), dialect=Dialect(on_overflow="wrap"))
    assert run("add", (1, int8), (1, int8), dialect=Dialect(on_overflow="wrap")) == 2


@pytest.mark.parametrize(
    ("function", "a", "b", "expected"),
    [
        ("divide", 1.0, 0.0, math.inf),
        ("divide", 1.0, -0.0, -math.inf),
        ("divide", -math.inf, 0.0, -math.inf),
        ("divide", 0.0, 0.0, NAN),
        ("divide", NAN, 0.0, NAN),
        ("modulo", 1.0, 0.0, NAN),
    ],
)
def test_floats_divided_by_zero_as_ieee_754_has_it(function: str, a: float, b: float, expected: float) -> None:
    found = run(function, (a, float64), (b, float64), dialect=Dialect(division_by_zero="ieee"))
    assert str(found) == str(expected)


@pytest.mark.parametrize("function", ["int_divide", "modulo"])
def test_integers_divided_by_zero_are_an_error_beside_ieee_floats(function: str) -> None:
    with pytest.raises(DivisionByZero):
        run(function, (1, int32), (0, int32), dialect=Dialect(division_by_zero="ieee"))


def test_wide_products_are_exact_where_they_fit() -> None:
    wide = Decimal("1234567890123456789012345678.1234567890")
    assert run("multiply", (wide, decimal(38, 10)), (-8, int16)) == Decimal("-9876543120987654312098765424.9876543120")


def test_ieee_nan() -> None:
    ieee = Dialect(nan="ieee")
    results = {n: run(n, (NAN, float64), (NAN, float64), dialect=ieee) for n in ("eq", "ne", "lt", "le", "gt", "ge")}
    assert results == {"eq": False, "ne": True, "lt": False, "le": False, "gt": False, "ge": False}


@pytest.mark.parametrize(
    ("name", "types", "expected"),
    [
        ("add", ("int8?", "int32"), "int32?"),
        ("add", ("decimal(7,2)", "decimal(5,3)"), "decimal(9,3)?"),
        ("subtract", ("decimal(38,2)", "decimal(38,2)"), "decimal(38,2)?"),
        ("multiply", ("decimal(7,2)", "decimal(7,2)"), "decimal(14,4)?"),
        ("multiply", ("int32", "decimal(7,2)"), "decimal(17,2)?"),
        ("multiply", ("int16", "decimal(38,10)"), "decimal(38,10)?"),
        ("truncate", ("int32",), "float64"),
        ("least", ("int32?", "int64"), "int64"),
        ("concat_ws", ("string", "string?"), "string"),
        ("divide", ("decimal(7,2)", "int32"), "float64?"),
        ("divide", ("float32", "float32"), "float32?"),
        ("modulo", ("decimal(7,2)", "decimal(5,3)"), "decimal(8,3)?"),
        ("eq", ("int32", "int64"), "bool"),
        ("eq", ("int32?", "int64"), "bool?"),
        ("is_distinct", ("int32?", "int64?"), "bool"),
        ("coalesce", ("int32?", "int64"), "int64"),
        ("null_if", ("int32", "int32"), "int32?"),
        ("char_length", ("string",), "int64"),
        ("floor", ("decimal(7,2)",), "decimal(7,0)"),
    ],
)
def test_result_type(name: str, types: tuple[str, ...], expected: str) -> None:
    call = bind(name, tuple(ColumnRef(parse_type(t), i) for i, t in enumerate(types)))
    assert call.type == parse_type(expected)


@pytest.mark.parametrize(
    ("name", "types", "message"),
    [
        ("add", ("string", "int32"), "takes numbers, not string, int32"),
        ("eq", ("string", "int32"), "string and int32 have no common type; cast one of them"),
        ("eq", ("decimal(38,0)", "decimal(38,10)"), "need 48 digits together, a decimal has 38; cast one of them"),
        (
            "multiply",
            ("decimal(38,20)", "decimal(38,19)"),
            "needs 39 digits after the point, a decimal has 38; cast one of them to fewer",
        ),
        ("year", ("string",), "takes date or timestamp, not string"),
        ("and", ("bool",), "and takes 2 or more arguments, not 1"),
        ("like", ("string", "string"), "like: argument 2 must be a literal"),
        ("uper", ("string",), "unknown function 'uper'; did you mean 'upper'?"),
    ],
)
def test_refusal(name: str, types: tuple[str, ...], message: str) -> None:
    with pytest.raises(TypeMismatch) as raised:
        bind(name, tuple(ColumnRef(parse_type(t), i) for i, t in enumerate(types)))
    assert message in str(raised.value)


CASTS = [
    (300, int32, int16, 300),
    (True, bool_, int32, 1),
    (0, int32, bool_, False),
    (2.5, float64, int32, 2),
    (3.5, float64, int32, 4),
    (Decimal("2.5"), decimal(2, 1), int32, 3),
    (Decimal("-2.5"), decimal(2, 1), int32, -3),
    (Decimal("1.235"), decimal(4, 3), decimal(3, 2), Decimal("1.24")),
    (7, int32, decimal(3, 2), Decimal("7.00")),
    (0.125, float64, decimal(3, 2), Decimal("0.13")),
    (Decimal("0.1"), decimal(2, 1), float64, 0.1),
    (0.1, float64, float32, 0.10000000149011612),
    (" -12 ", string, int32, -12),
    ("1.005", string, decimal(3, 2), Decimal("1.01")),
    ("1e3", string, float64, 1000.0),
    ("2024-02-29", string, date, DAY(2024, 2, 29)),
    ("2024-02-29 01:02:03.5", string, timestamp, TIME(2024, 2, 29, 1, 2, 3, 500000)),
    ("2024-02-29", string, timestamp, TIME(2024, 2, 29)),
    ("True", string, bool_, True),
    (" YES\n", string, bool_, True),
    ("of", string, bool_, False),
    ("2024-2-9", string, date, DAY(2024, 2, 9)),
    ("20240209", string, date, DAY(2024, 2, 9)),
    ("2024-02-28T23:00:00-05:00", string, date, DAY(2024, 2, 29)),
    ("2024-02-29 01:02:03.1234567Z", string, timestamp, TIME(2024, 2, 29, 1, 2, 3, 123456)),
    ("2024-02-29 00:00:60 +0130", string, timestamp, TIME(2024, 2, 28, 22, 31)),
    ("\t7", string, int32, 7),
    ("é", string, binary, b"\xc3\xa9"),
    (b"\xc3\xa9", binary, string, "é"),
    (-5, int32, string, "-5"),
    (False, bool_, string, "false"),
    (Decimal("-0.50"), decimal(3, 2), string, "-0.50"),
    (DAY(1, 1, 1), date, string, "0001-01-01"),
    (TIME(2024, 1, 1, 0, 0, 0, 120000), timestamp, string, "2024-01-01 00:00:00.12"),
    (TIME(2024, 1, 1), timestamp, string, "2024-01-01 00:00:00"),
    (DAY(2024, 1, 1), date, timestamp, TIME(2024, 1, 1)),
    (TIME(1969, 12, 31, 23), timestamp, date, DAY(1969, 12, 31)),
    (None, string, int32, None),
]


@pytest.mark.parametrize("case", CASTS, ids=str)
def test_cast(case: tuple) -> None:
    value, source, target, expected = case
    result = cast_value(value, source, target)
    assert result == expected and type(result) is type(expected)
    if isinstance(expected, Decimal):
        assert result.as_tuple() == expected.as_tuple()


def test_truncating_dialect() -> None:
    truncate = Dialect(to_integer="truncate")
    assert cast_value(-2.9, float64, int32, truncate) == -2
    assert cast_value(Decimal("-2.9"), decimal(2, 1), int32, truncate) == -2


@pytest.mark.parametrize(
    ("value", "source", "target", "error"),
    [
        (300, int32, int8, Overflow),
        (NAN, float64, int32, Overflow),
        (1e300, float64, decimal(38, 2), Overflow),
        (2.0**63, float64, int64, Overflow),
        (Decimal("99.95"), decimal(4, 2), decimal(3, 1), Overflow),
        ("128", string, int8, Overflow),
        ("1.5", string, int32, InvalidCast),
        ("", string, int32, InvalidCast),
        ("1_000", string, int32, InvalidCast),
        ("٣", string, int32, InvalidCast),
        ("2023-02-29", string, date, InvalidCast),
        ("2023-2-9x", string, date, InvalidCast),
        ("yess", string, bool_, InvalidCast),
        (b"\xff", binary, string, InvalidCast),
    ],
)
def test_cast_failure(value: Value, source: DataType, target: DataType, error: type[Exception]) -> None:
    with pytest.raises(error):
        cast_value(value, source, target)
    assert not cannot_fail(source, target)
    assert evaluate(Cast(target, ColumnRef(source, 0), "null"), [value]) is None


def test_casts_that_do_not_exist() -> None:
    for source, target in [(float64, string), (date, int32), (bool_, float64), (timestamp, bool_)]:
        with pytest.raises(TypeMismatch, match="there is no cast"):
            cast_value(1, source, target)


def test_in_list_with_nulls() -> None:
    options = (Literal(int32.with_nullable(False), 1), Literal(int32, None))
    within = InList(bool_, ColumnRef(int32, 0), options)
    assert [evaluate(within, [v]) for v in (1, 2, None)] == [True, None, None]
    assert evaluate(InList(bool_, ColumnRef(int32, 0), ()), [None]) is False


def test_logic_evaluates_only_what_it_needs() -> None:
    column = ColumnRef(int32, 0)
    fails = bind("gt", (bind("divide", (as_literal(1), column)), as_literal(0.0)))
    zero = bind("eq", (column, as_literal(0)))
    assert evaluate(bind("or", (zero, fails)), [0]) is True
    assert evaluate(bind("and", (bind("not", (zero,)), fails)), [0]) is False
    assert evaluate(bind("coalesce", (column, bind("int_divide", (as_literal(1), as_literal(0))))), [3]) == 3
    with pytest.raises(DivisionByZero):
        evaluate(bind("or", (fails, zero)), [0])


def test_case_evaluates_only_what_it_selects() -> None:
    column = ColumnRef(int32, 0)
    guarded = Case(
        float64, (bind("eq", (column, as_literal(0))), Literal(float64, None)), bind("divide", (as_literal(1), column))
    )
    assert [evaluate(guarded, [v]) for v in (0, 4, None)] == [None, 0.25, None]
