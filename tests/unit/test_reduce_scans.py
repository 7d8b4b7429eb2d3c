"""Which rows of a shared text are dropped before they are kept."""

from __future__ import annotations

import pytest

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical import reduce_scans
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import (
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Send,
    Sort,
    SortKey,
    UnionAll,
    column,
    numbered,
)
from jumpgate.dataflow.types import float64, int64
from jumpgate.nca.registry import Registry
from tests.support.plans import equals, grouped, joined, measured, ref, statistics, table

FACT = table("fact", fk=int64, fv=int64)
DIM = table("dim", "parquet", dk=int64, dv=int64)
ROWS = statistics({"fact": 1e7, "dim": 1e4, "other": 1e7})
FIRST, SECOND = (Filter(DIM, equals(DIM, "dv", v)) for v in (1, 2))


def planned(*members: Operator) -> list[Operator]:
    """After the pass, where these are read one after the other; each by its first column."""
    union = UnionAll(tuple(Project(m, (column(m.schema, 0),), ("x",)) for m in members))
    plan = Plan(Send(union, ()), CompileOptions(statistics=ROWS), (), Registry(), Estimator(ROWS))
    return numbered(reduce_scans.reduce_scans(plan).root)


def semi_joins(*members: Operator) -> list[Join]:
    return [n for n in planned(*members) if isinstance(n, Join) and n.type is JoinType.SEMI]


def with_dim(dim: Operator, fact: Operator = FACT, type: JoinType = JoinType.INNER) -> Join:
    return joined(fact, dim, "fk", "dk", type)


def test_rows_without_any_reader_s_partners_are_dropped_once() -> None:
    (semi,) = semi_joins(with_dim(FIRST), with_dim(SECOND))
    assert semi.left is FACT and semi.left_keys == (ref(FACT, "fk"),)
    assert isinstance(semi.right, UnionAll)
    assert [m.input for m in semi.right.members if isinstance(m, Project)] == [FIRST, SECOND]
    readers = [n for n in planned(with_dim(FIRST), with_dim(SECOND)) if isinstance(n, Join) and n.type.any_order]
    assert len({id(r.left) for r in readers}) == 1 and len(readers) == 2


def test_partners_that_all_readers_have_are_one_table() -> None:
    (semi,) = semi_joins(with_dim(FIRST), joined(FIRST, FACT, "dk", "fk"))
    assert semi.right is FIRST


def test_a_key_is_followed_through_what_is_between_read_and_join() -> None:
    chosen = Project(FACT, (ref(FACT, "fv"), ref(FACT, "fk")), ("fv", "fk"))
    other = table("other", ov=int64)
    far = joined(joined(Filter(chosen, equals(chosen, "fv", 3)), other, "fv", "ov"), FIRST, "fk", "dk")
    (semi,) = semi_joins(far, with_dim(SECOND, type=JoinType.SEMI), with_dim(SECOND))[:1]
    assert semi.left is FACT


def test_a_reader_who_needs_all_rows_has_them() -> None:
    assert semi_joins(with_dim(FIRST), with_dim(SECOND), FACT) == []
    assert semi_joins(with_dim(FIRST), grouped(FACT, ("fk",), measured(FACT, "sum", "fv", "s"))) == []
    by_value = joined(FACT, SECOND, "fv", "dk")
    assert semi_joins(with_dim(FIRST), by_value) == []
    other = bind("add", (ref(FACT, "fk"), ref(FACT, "fv")))
    assert semi_joins(with_dim(FIRST), with_dim(SECOND, Project(FACT, (other,), ("fk",)))) == []


@pytest.mark.parametrize("type", sorted({*JoinType} - {JoinType.INNER, JoinType.SEMI}))
def test_joins_that_keep_rows_without_partners_drop_nothing(type: JoinType) -> None:
    assert semi_joins(with_dim(FIRST), with_dim(SECOND, type=type)) == []


def test_a_read_is_not_reduced_by_itself() -> None:
    itself = joined(Filter(FACT, equals(FACT, "fv", 1)), Filter(FACT, equals(FACT, "fv", 2)), "fk", "fk")
    assert semi_joins(itself) == []


def test_two_reads_do_not_reduce_each_other() -> None:
    other = table("other", ok=int64, ov=int64)
    few = Filter(other, equals(other, "ov", 1)), Filter(other, equals(other, "ov", 2))
    small = Filter(FACT, equals(FACT, "fv", 1)), Filter(FACT, equals(FACT, "fv", 2))
    found = semi_joins(*(joined(a, b, "fk", "ok") for a, b in zip(small, few, strict=True)))
    assert len(found) == 1


def test_columns_floats_and_what_saves_little_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    columnar = table("fact", "parquet", fk=int64, fv=int64)
    assert semi_joins(with_dim(FIRST, columnar), with_dim(SECOND, columnar)) == []
    assert semi_joins(with_dim(DIM), with_dim(Filter(DIM, equals(DIM, "dv", 1)))) == []
    fact, dim = table("fact", fk=float64), table("dim", "parquet", dk=float64, dv=int64)
    assert semi_joins(*(with_dim(Filter(dim, equals(dim, "dv", v)), fact) for v in (1, 2))) == []
    monkeypatch.setattr(reduce_scans, "PARTNERS_MAX", 1)
    assert semi_joins(with_dim(FIRST), with_dim(SECOND)) == []


def test_partners_that_may_be_others_when_computed_again_drop_nothing() -> None:
    order = (SortKey(ref(SECOND, "dv")),)
    assert len(semi_joins(with_dim(FIRST), with_dim(Sort(SECOND, order)))) == 1
    for some in (Limit(SECOND, 3), Filter(Limit(SECOND, 3), equals(SECOND, "dk", 1)), Sort(SECOND, order, 3)):
        assert semi_joins(with_dim(FIRST), with_dim(some)) == []


def test_the_search_for_readers_ends() -> None:
    whole: Operator = with_dim(FIRST)
    for _ in range(40):  # with 2^40 ways to the top
        keys = (ref(whole, "fk"),)
        whole = Project(Join(whole, whole, JoinType.INNER, keys, keys), (*keys, ref(whole, "fv")), ("fk", "fv"))
    assert semi_joins(whole, with_dim(SECOND)) == []
