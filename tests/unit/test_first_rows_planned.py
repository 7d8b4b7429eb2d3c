"""Which filters above a window are told to it as its first rows, and what that is estimated to save."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.first_rows import first_rows
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.compiler.work import state_bytes, work
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import (
    Filter,
    FirstRows,
    Frame,
    Join,
    Operator,
    Send,
    SortKey,
    Window,
    WindowFunction,
    column,
    window_type,
)
from jumpgate.dataflow.types import Schema, int32, int64
from jumpgate.nca.interface import ColumnStatistics, Statistics
from jumpgate.nca.registry import Registry
from tests.support.plans import ref, table

A = table("a", k=int32, v=int32)


def over(*functions: str, ordered: bool = True) -> Window:
    """A window with these functions, by the names that they have."""
    calls = []
    for name in functions:
        arguments: tuple[Expression, ...] = (ref(A, "v"),) if name in ("lag", "lead", "first_value", "sum") else ()
        calls.append(WindowFunction(name, arguments, window_type(name, tuple(a.type for a in arguments)), name))
    return Window(A, (ref(A, "k"),), (SortKey(ref(A, "v")),) if ordered else (), tuple(calls))


def number(value: int) -> Literal:
    return Literal(int64.with_nullable(False), value)


def planned(root: Operator, rows: float | None = None, partitions: float = 10.0) -> Operator:
    def known(files: object, format: str, options: object) -> Statistics:
        found = Statistics() if rows is None else Statistics(rows, 8 * rows)
        return replace(found, column=lambda name, type: ColumnStatistics(distinct=partitions))

    plan = Plan(Send(root, ()), CompileOptions(statistics=known), (), Registry(), Estimator(known))
    return first_rows(plan).root.input


def first_of(window: Window, *terms: Expression, rows: float | None = None) -> FirstRows | None:
    predicate = terms[0] if len(terms) == 1 else bind("and", terms)
    found = planned(Filter(window, predicate), rows)
    assert isinstance(found, Filter)
    assert found.predicate == predicate
    assert isinstance(found.input, Window)
    return found.input.first


@pytest.mark.parametrize(
    ("function", "comparison", "bound", "expected"),
    [
        ("row_number", "le", 3, FirstRows(3, ties=False)),
        ("row_number", "lt", 3, FirstRows(2, ties=False)),
        ("row_number", "eq", 1, FirstRows(1, ties=False)),
        ("row_number", "le", 0, FirstRows(1, ties=False)),
        ("row_number", "le", -5, FirstRows(1, ties=False)),
        ("row_number", "le", 128, FirstRows(128, ties=False)),
        ("row_number", "le", 129, None),
        ("row_number", "ge", 3, None),
        ("row_number", "ne", 3, None),
        ("rank", "le", 3, FirstRows(3, ties=True)),
        ("dense_rank", "eq", 1, FirstRows(1, ties=True)),
        ("dense_rank", "lt", 2, FirstRows(1, ties=True)),
        ("dense_rank", "le", 2, None),
        ("count_star", "le", 3, None),
    ],
)
def test_bounds(function: str, comparison: str, bound: int, expected: FirstRows | None) -> None:
    window = over(function)
    assert first_of(window, bind(comparison, (ref(window, function), number(bound)))) == expected


@pytest.mark.parametrize(("comparison", "expected"), [("gt", 2), ("ge", 3), ("eq", 3), ("le", None), ("lt", None)])
def test_bounds_with_the_literal_first(comparison: str, expected: int | None) -> None:
    window = over("row_number")
    found = first_of(window, bind(comparison, (number(3), ref(window, "row_number"))))
    assert found == (None if expected is None else FirstRows(expected, ties=False))


def test_the_least_of_several_bounds_counts() -> None:
    window = over("row_number", "rank")
    terms = [bind("le", (ref(window, name), number(n))) for name, n in (("row_number", 7), ("rank", 5))]
    other = bind("gt", (ref(window, "v"), Literal(int32.with_nullable(False), 0)))
    assert first_of(window, *terms, other) == FirstRows(5, ties=True)


@pytest.mark.parametrize(
    ("function", "follows"),
    [("lag", True), ("first_value", True), ("lead", False), ("sum", False), ("count_star", False)],
)
def test_functions_that_see_later_rows_need_them(function: str, follows: bool) -> None:
    window = over("row_number", function)
    assert (first_of(window, bind("le", (ref(window, "row_number"), number(3)))) is not None) == follows


@pytest.mark.parametrize(
    ("frame", "function", "follows"),
    [
        (Frame("rows", None, 2), "first_value", True),
        (Frame("rows", 1, 2), "first_value", False),
        (Frame("rows", 0, None), "first_value", False),
        (Frame("rows", 1, 2), "lag", True),  # which has no frame
    ],
)
def test_the_first_of_a_frame_may_be_a_later_row(frame: Frame, function: str, follows: bool) -> None:
    window = replace(over("row_number", function), frame=frame)
    assert (first_of(window, bind("le", (ref(window, "row_number"), number(3)))) is not None) == follows


def test_ties_without_an_order_are_all_rows() -> None:
    window = over("rank", ordered=False)
    assert first_of(window, bind("le", (ref(window, "rank"), number(3)))) is None


def test_another_user_needs_all_rows() -> None:
    window = over("row_number")
    first = Filter(window, bind("le", (ref(window, "row_number"), number(3))))
    both = Join(first, window, "inner", (ref(A, "k"),), (ref(A, "k"),))
    assert planned(both) == both


def test_what_saves_little_is_not_asked_for() -> None:
    window = over("row_number")
    term = bind("le", (column(Schema(window.schema.fields), 2), number(3)))
    assert first_of(window, term, rows=25.0) is None
    assert first_of(window, term, rows=10_000.0) == FirstRows(3, ties=False)


def test_less_is_held_and_sorted() -> None:
    estimator = Estimator(lambda *_: Statistics(1e6, 8e6, column=lambda *_: ColumnStatistics(distinct=100.0)))
    window = over("row_number")
    reduced = replace(window, first=FirstRows(1, ties=False))
    assert estimator.held(window) == 1e6
    assert 100 * 10 < estimator.held(reduced) < 100 * 11
    assert state_bytes(reduced, estimator) * 100 < state_bytes(window, estimator)
    before, after = work(window, estimator), work(reduced, estimator)
    assert before is not None
    assert after is not None
    assert after["sort"] * 100 < before["sort"]
