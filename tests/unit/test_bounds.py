"""Bounds of columns that a source gets from a filter."""

from __future__ import annotations

import pytest

from jumpgate.codegen.bounds import VALUES_MAX, bounds
from jumpgate.dataflow.expressions import ColumnRef, Expression, InList, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.types import binary, bool_, float64, int64, string

N, S, X, B = (ColumnRef(type, i) for i, type in enumerate((int64, string, float64, binary)))


def of(column: ColumnRef, value: object) -> Literal:
    return Literal(column.type.with_nullable(value is None), value)  # type: ignore[arg-type]


def equal(column: ColumnRef, value: object) -> Expression:
    return bind("eq", (column, of(column, value)))


def one_of(column: ColumnRef, *values: object) -> Expression:
    return InList(bool_, column, tuple(of(column, v) for v in values))


def any_of(column: int, *values: str) -> tuple[tuple[int, str, str], ...]:
    return tuple((column, "any", v) for v in values)


CASES: dict[str, tuple[Expression, tuple[tuple[int, str, str], ...]]] = {
    "a value": (equal(N, 3), ((0, "eq", "3"),)),
    "swapped": (bind("lt", (of(N, 3), N)), ((0, "gt", "3"),)),
    "both ends": (
        bind("and", (bind("ge", (N, of(N, 3))), bind("is_not_null", (S,)))),
        ((0, "ge", "3"), (1, "is_not_null", "")),
    ),
    "a list": (one_of(N, 7, -3, None, 7), any_of(0, "-3", "7")),
    "texts": (one_of(S, "b", "a"), any_of(1, "a", "b")),
    "an OR": (bind("or", (equal(N, 5), one_of(N, 9, 1), bind("eq", (of(N, 4), N)))), any_of(0, "1", "4", "5", "9")),
    "a NULL that nothing equals": (bind("or", (equal(N, 5), equal(N, None))), any_of(0, "5")),
    "NULL alone": (one_of(N, None), ()),
    "an OR of two columns": (bind("or", (equal(N, 5), equal(S, "a"))), ()),
    "an OR of more than equalities": (bind("or", (equal(N, 5), bind("lt", (N, of(N, 1))))), ()),
    "floats": (bind("and", (one_of(X, 1.0), equal(X, 2.0))), ()),
    "a long list": (one_of(N, *range(VALUES_MAX + 1)), ((0, "ge", "0"), (0, "le", str(VALUES_MAX)))),
    "bytes that are no text": (one_of(B, b"a", b"\xff"), ((3, "ge", "a"),)),
    "two lists": (
        bind("and", (one_of(N, 1, 2), one_of(N, 2, 8))),
        (*any_of(0, "1", "2"), (0, "ge", "2"), (0, "le", "8")),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bounds(case: str) -> None:
    predicate, expected = CASES[case]
    assert bounds(predicate) == expected


def test_no_filter_has_no_bounds() -> None:
    assert bounds(None) == ()


def test_long_lists_are_told_apart_and_move_with_their_column() -> None:
    """A list of thousands is not looked at value by value to be found again, or when columns have other places."""
    k = ColumnRef(int64, 3, "k")
    first, again, other = (one_of(k, *range(100), last) for last in (7, 7, 8))
    assert first == again and hash(first) == hash(again)
    assert first != other and len({first, again, other}) == 2
    assert first.columns() == {3}
    moved = first.remap(lambda i: ColumnRef(int64, i + 1, "k"))
    assert moved == one_of(ColumnRef(int64, 4, "k"), *range(100), 7)
