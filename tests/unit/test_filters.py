"""The order in which conditions are tried, and what is known of each."""

from __future__ import annotations

from jumpgate.codegen.filters import coded_column, in_steps, is_plain
from jumpgate.codegen.program import Parameter, SourceColumn
from jumpgate.dataflow.expressions import Call, Expression, InList, Literal
from jumpgate.dataflow.types import bool_, decimal, int32, int64, string

A, B, TEXT, WIDE = (SourceColumn(t, i) for i, t in enumerate((int64, int32, string, decimal(30, 2))))


def compare(function: str, *arguments: Expression) -> Call:
    return Call(bool_, function, arguments)


ONE = Literal(int64, 1)
RANGE = (compare("ge", A, ONE), compare("lt", A, ONE))
EQUAL, PAIR = compare("eq", B, ONE), compare("lt", A, B)
LIKE = compare("like", TEXT, Literal(string, "%a%"))
PICKED = InList(bool_, TEXT, (Literal(string, "x"),))


def test_numbers_come_first_and_single_values_before_ranges() -> None:
    terms = (LIKE, PAIR, RANGE[0], EQUAL, RANGE[1])
    assert in_steps(terms) == [(EQUAL,), RANGE, (PAIR,), (LIKE,)]
    assert in_steps((LIKE, PICKED)) == [(LIKE, PICKED)], "one column is one step"


def test_literals_do_not_matter() -> None:
    other = (compare("ge", A, Literal(int64, 99)), LIKE)
    assert in_steps(other[::-1]) == [(other[0],), (LIKE,)]


def test_conditions_stay_in_order_where_one_can_fail() -> None:
    divided = compare("gt", Call(int64, "int_divide", (A, B)), ONE)
    assert in_steps((LIKE, EQUAL, divided, RANGE[0])) == [(LIKE,), (EQUAL,), (divided,), (RANGE[0],)]
    assert in_steps((RANGE[0], divided, RANGE[1])) == [(RANGE[0],), (divided,), (RANGE[1],)]
    assert in_steps((*RANGE, divided)) == [RANGE, (divided,)]


def test_a_wide_filter_has_few_steps() -> None:
    terms = tuple(compare("eq", SourceColumn(int64, i), ONE) for i in range(100))
    steps = in_steps(terms)
    assert len(steps) == 4 and tuple(t for step in steps for t in step) == terms


def test_plain_conditions_compare_small_numbers() -> None:
    assert is_plain(PAIR) and is_plain(compare("is_null", A))
    assert not any(map(is_plain, (LIKE, compare("eq", WIDE, WIDE), PICKED, compare("or", EQUAL, PAIR))))


def test_a_column_that_decides_alone() -> None:
    assert coded_column((LIKE, compare("eq", TEXT, Parameter(string, 3)))) == TEXT
    assert coded_column((EQUAL,)) == B
    assert coded_column((LIKE, EQUAL)) is None
    assert coded_column((compare("eq", TEXT, SourceColumn(string, 7)),)) is None
