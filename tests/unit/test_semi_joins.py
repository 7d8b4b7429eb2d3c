"""Joins of which only the rows of one side count find one partner a row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical import semi_joins
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.dataflow.expressions import ColumnRef, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Filter, Join, Operator, Project, Send
from jumpgate.dataflow.types import bool_, int64
from jumpgate.nca.registry import Registry
from tests.support.plans import grouped, joined, measured, ref, statistics, table

A, B, C = (table(name, **{f"{name}k": int64, f"{name}v": int64}) for name in "abc")


def of(join: Join, name: str) -> Project:
    return Project(join, (ref(join, name),), (name,))


def after(root: Operator, **rows: float) -> Operator:
    known = Estimator(statistics({"a": 1000.0, "b": 1000.0, "c": 1000.0, **rows}))
    plan = Plan(Send(root, ()), CompileOptions(), (), Registry(), known)
    return semi_joins.semi_joins(plan).root.input


def inner(node: Operator) -> Operator:
    """The join below the projection of the last input."""
    return node.inputs[-1].inputs[0]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any pairs are many."""
    monkeypatch.setattr(semi_joins, "PAIRS_MIN", 0.0)


@pytest.mark.parametrize("column", ["bk", "ck"])
def test_one_side_is_asked_for(many: None, column: str) -> None:
    pairs = of(joined(B, C, "bk", "ck"), column)
    found = inner(after(joined(A, pairs, "ak", column, JoinType.SEMI)))
    assert isinstance(found, Join) and found.type is JoinType.SEMI
    assert (found.left is B) == (column == "bk")


def test_pairs_stay_where_they_count(many: None) -> None:
    both = joined(B, C, "bk", "ck")
    pairs = Project(both, (ref(both, "bk"), ref(both, "cv")), ("bk", "cv"))
    roots = [
        joined(A, pairs, "ak", "bk", JoinType.SEMI),
        joined(A, of(both, "bk"), "ak", "bk"),
        grouped(of(both, "bk"), ("bk",), measured(of(both, "bk"), "count_star", None, "n")),
    ]
    for root in roots:
        assert after(root) is root


def test_few_pairs_stay() -> None:
    few = joined(A, of(joined(B, C, "bk", "ck"), "bk"), "ak", "bk", JoinType.SEMI)
    assert after(few, c=10.0) is few


def test_rows_that_others_count_stay_pairs(many: None) -> None:
    pairs = of(joined(B, C, "bk", "ck"), "bk")
    root = joined(joined(A, pairs, "ak", "bk", JoinType.SEMI), pairs, "ak", "bk")
    assert after(root) is root


# ---- filters on whether there is a partner ----------------------------------------------------------------------


def existing(predicate: Expression, nullable: bool = False) -> tuple[Operator, Operator]:
    """The plan of a filter over a mark join of A and B before and after the pass; nullable: of the key."""
    left = replace(ref(A, "ak"), type=int64.with_nullable(nullable))
    join = Join(A, B, JoinType.MARK, (left,), (replace(ref(B, "bk"), type=int64.with_nullable(False)),))
    root = Filter(join, predicate)
    plan = Plan(Send(root, ()), CompileOptions(), (), Registry(), Estimator(statistics({"a": 9.0, "b": 9.0})))
    return root, semi_joins.existence_joins(plan).root.input


MARK = ColumnRef(bool_, len(A.schema), "mark")
IS_MARKED = bind("coalesce", (MARK, Literal(bool_.with_nullable(False), False)))
LARGE = bind("gt", (ref(A, "av"), Literal(int64.with_nullable(False), 3)))


@pytest.mark.parametrize("mark", [MARK, IS_MARKED])
@pytest.mark.parametrize("nullable", [False, True])
def test_a_mark_that_must_be_true_is_a_semi_join(mark: Expression, nullable: bool) -> None:
    root, found = existing(bind("and", (LARGE, mark)), nullable)
    assert isinstance(found, Filter) and found.predicate == LARGE and found.schema == root.schema
    assert isinstance(found.input, Project) and isinstance(found.input.expressions[-1], Literal)
    join = found.input.input
    assert isinstance(join, Join) and join.type is JoinType.SEMI and found.input.expressions[-1].value is True


def test_a_mark_that_must_be_false_is_an_anti_join_unless_it_may_be_null() -> None:
    for mark, nullable in ((IS_MARKED, True), (MARK, False)):
        _, found = existing(bind("not", (mark,)), nullable)
        assert isinstance(found, Project) and isinstance(found.input, Join) and found.input.type is JoinType.ANTI
    root, found = existing(bind("not", (MARK,)), True)
    assert found is root


def test_other_uses_of_a_mark_stay() -> None:
    for predicate in (bind("or", (LARGE, MARK)), bind("is_null", (MARK,))):
        root, found = existing(predicate)
        assert found is root
