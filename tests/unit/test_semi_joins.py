"""Joins of which only the rows of one side count find one partner a row."""

from __future__ import annotations

import pytest

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical import semi_joins
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Join, Operator, Project, Send
from jumpgate.dataflow.types import int64
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
