"""Which outer joins are reduced, and what keeps the others; rows of random dataflows stay as they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.normalise import normalise
from jumpgate.compiler.logical.order_joins import order_joins
from jumpgate.compiler.logical.push_filters import push_filters
from jumpgate.compiler.logical.reduce_outer_joins import reduce_outer_joins
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.compiler.tree import project, references, unique
from jumpgate.compiler.verify import problem
from jumpgate.dataflow.expressions import Cast, ColumnRef, Expression, Literal, conjunction
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import (
    Aggregate,
    Filter,
    Join,
    Limit,
    Measure,
    Operator,
    Partitioning,
    Project,
    Send,
    Shuffle,
    Sort,
    SortKey,
    UnionAll,
    Window,
    WindowFunction,
    window_type,
)
from jumpgate.dataflow.types import int32, string
from jumpgate.nca.registry import Registry
from jumpgate.testing import dataflows, oracle
from tests.support.plans import equals, joined, ref, statistics, table

L, R, S = table("l", lk=int32, lv=int32, lt=string), table("r", rk=int32, rv=int32), table("s", sk=int32, sv=int32)
TYPES = (JoinType.LEFT, JoinType.RIGHT, JoinType.FULL)
SEEDS = 300
UNKNOWN = CompileOptions()


def planned(root: Operator, options: CompileOptions = UNKNOWN) -> Plan:
    plan = Plan(Send(root, ()), options, (), Registry(), Estimator(options.statistics))
    found = reduce_outer_joins(plan)
    assert not any(map(problem, unique(found.root)))
    assert found.root.schema.names == plan.root.schema.names
    return found


def reduced(root: Operator) -> Operator:
    return planned(root).root.input


def outer(type: JoinType = JoinType.LEFT) -> Join:
    return joined(L, R, "lk", "rk", type)


def types(root: Operator) -> list[str]:
    """Of all joins that were outer joins of `l` and `r`, from the root down."""
    return [n.type.value for n in reduced(root).walk() if isinstance(n, Join) and n.left == L]


def over(node: Operator, name: str = "rv") -> Operator:
    """Rows of which the column is 1."""
    return Filter(node, equals(node, name, 1))


@pytest.mark.parametrize(
    ("type", "by_left", "by_right"), [("left", "left", "inner"), ("right", "inner", "right"), ("full", "left", "right")]
)
def test_filters_and_keys_drop_rows_without_a_partner(type: str, by_left: str, by_right: str) -> None:
    for name, expected in (("lv", by_left), ("rv", by_right)):
        node = outer(JoinType(type))
        assert types(over(node, name)) == [expected]
        assert types(joined(node, S, name, "sk")) == [expected]
        assert types(joined(S, node, "sk", name)) == [expected]
        assert types(joined(node, S, name, "sk", JoinType.SEMI)) == [expected]
        assert types(joined(node, S, name, "sk", JoinType.RIGHT)) == [expected]
        assert types(joined(S, node, "sk", name, JoinType.LEFT)) == [expected]
        assert types(joined(S, node, "sk", name, JoinType.ANTI)) == [expected]
        for kept in (JoinType.LEFT, JoinType.FULL, JoinType.ANTI, JoinType.MARK):
            assert types(joined(node, S, name, "sk", kept)) == [type], kept
        for kept in (JoinType.RIGHT, JoinType.FULL, JoinType.MARK):
            assert types(joined(S, node, "sk", name, kept)) == [type], kept
    both = over(over(outer(JoinType(type)), "lv"), "rv")
    assert types(both) == ["inner"]


def test_columns_are_where_they_were() -> None:
    node = outer()
    root = joined(node, S, "rv", "sk")
    found = reduced(root)
    assert found == root.with_inputs((replace(node, type=JoinType.INNER), S))


def test_what_is_without_outer_joins_or_keeps_their_rows_is_the_same_object() -> None:
    for root in (joined(joined(L, R, "lk", "rk"), S, "rv", "sk"), outer(), over(outer(), "lv")):
        assert reduced(root) is root


def test_keys_for_which_nulls_are_equal_reject_none() -> None:
    node = outer()
    pairs = (ref(node, "rv"), ColumnRef(int32, len(node.schema), "sk"))
    assert types(Join(node, S, JoinType.INNER, (), (), bind("is_not_distinct", pairs))) == ["left"]
    assert types(Join(node, S, JoinType.INNER, (), (), bind("lt", pairs))) == ["inner"]


def test_through_projections() -> None:
    node = outer()
    chosen = project(node, references(node.schema, [4, 0]), ("x", "y"))
    assert types(joined(chosen, S, "x", "sk")) == ["inner"]
    assert types(joined(chosen, S, "y", "sk")) == ["left"]
    default = bind("coalesce", (ref(node, "rv"), Literal(int32.with_nullable(False), 0)))
    less = bind("upper", (Cast(string, ref(node, "rv"), "null"),))
    made = Project(node, (default, less), ("x", "t"))
    assert types(joined(made, S, "x", "sk")) == ["left"]
    assert types(Filter(made, bind("eq", (ref(made, "t"), Literal(string, "1"))))) == ["inner"]


def test_through_other_joins() -> None:
    for type in (JoinType.INNER, JoinType.LEFT, JoinType.RIGHT, JoinType.FULL):
        assert types(over(joined(outer(), S, "lk", "sk", type))) == ["inner"], type
        assert types(over(joined(S, outer(), "sk", "lk", type))) == ["inner"], type
    for type in (JoinType.SEMI, JoinType.ANTI, JoinType.MARK):
        assert types(over(joined(outer(), S, "lk", "sk", type))) == ["inner"], type


def test_one_reduction_brings_another() -> None:
    node = joined(outer(), S, "rv", "sk", JoinType.LEFT)
    assert [n.type.value for n in reduced(over(node, "sv")).walk() if isinstance(n, Join)] == ["inner", "inner"]
    assert [n.type.value for n in reduced(over(node, "rv")).walk() if isinstance(n, Join)] == ["left", "inner"]
    assert [n.type.value for n in reduced(over(node, "lv")).walk() if isinstance(n, Join)] == ["left", "left"]


def test_through_groups_by_their_keys() -> None:
    node = outer()
    groups = Aggregate(node, (ref(node, "rv"), ref(node, "lv")), ("x", "y"), (Measure.of("count_star", name="n"),))
    assert types(joined(groups, S, "x", "sk")) == ["inner"]
    assert types(joined(groups, S, "y", "sk")) == ["left"]
    assert types(over(groups, "n")) == ["left"]
    total = Aggregate(node, (), (), (Measure.of("sum", ref(node, "rv"), name="n"),))
    assert types(over(total, "n")) == ["left"], "other rows count"


def window(node: Operator, *partition: str) -> Window:
    numbers = WindowFunction("row_number", (), window_type("row_number", ()), "n")
    return Window(node, tuple(ref(node, p) for p in partition), (SortKey(ref(node, "lv")),), (numbers,))


def test_through_windows_by_whole_partitions() -> None:
    assert types(over(window(outer(), "rv", "lk"))) == ["inner"]
    assert types(over(window(outer(), "lk"))) == ["left"]
    assert types(over(window(outer()))) == ["left"]
    assert types(over(window(outer(), "rk"), "rv")) == ["left"]


def test_through_unions_and_sorts_but_no_limits() -> None:
    node = outer()
    one, two = outer(), outer(JoinType.FULL)
    assert types(over(UnionAll((one, two)))) == ["inner", "right"]
    assert types(over(Sort(node, (SortKey(ref(node, "rv")),)))) == ["inner"]
    assert types(over(Sort(node, (SortKey(ref(node, "rv")),), 5))) == ["left"]
    assert types(over(Limit(node, 5))) == ["left"]
    assert types(over(Shuffle(node, Partitioning("hash", (0,), 4)))) == ["inner"]


def test_all_readers_of_a_join_must_drop_the_rows() -> None:
    node = outer()
    chosen = project(node, references(node.schema, [4, 0]), ("x", "y"))
    both = UnionAll((over(chosen, "x"), Filter(chosen, bind("lt", references(chosen.schema)))))
    found = reduced(both)
    assert types(both) == ["inner", "inner"]
    assert sum(isinstance(n, Join) for n in unique(found)) == 1
    assert types(UnionAll((over(chosen, "x"), chosen))) == ["left", "left"]
    assert types(UnionAll((over(chosen, "x"), over(chosen, "y")))) == ["left", "left"]
    assert types(UnionAll((over(chosen, "x"), over(Limit(chosen, 3), "x")))) == ["left", "left"]


def test_of_a_join_with_itself_both_sides_must_drop_the_rows() -> None:
    node = project(outer(), references(outer().schema, [0, 4]), ("x", "y"))
    other = project(node, references(node.schema), ("a", "b"))
    assert types(joined(node, other, "y", "b")) == ["inner", "inner"]
    assert types(joined(node, other, "y", "a")) == ["left", "left"]
    assert types(over(joined(node, other, "x", "a"), "y")) == ["left", "left"]


@pytest.mark.parametrize("how", [JoinType.SEMI, JoinType.ANTI, JoinType.MARK])
def test_rows_that_are_only_asked_for_stay(how: JoinType) -> None:
    """A filter above drops rows of the left input, not those of the right one, which may be the same."""
    node = project(outer(), references(outer().schema, [0, 4]), ("x", "y"))
    assert types(over(joined(node, node, "x", "y", how), "y")) == (["left"] * 2 if how.marks else ["inner"] * 2)
    less = bind("is_null", (ref(joined(node, project(node, references(node.schema), ("a", "b")), "x", "a"), "b"),))
    asked = replace(joined(node, project(node, references(node.schema), ("a", "b")), "x", "a", how), residual=less)
    assert types(over(asked, "y")) == ["left"] * 2


def test_joins_of_shared_joins_are_looked_at_once() -> None:
    """Each level is read twice by the next one: as a tree it would have 2⁶⁰ leaves."""
    node: Operator = table("fact", k1=int32, k2=int32)
    for _ in range(60):
        pair = joined(node, node, "k1", "k2", JoinType.LEFT)
        node = project(pair, references(pair.schema, [2, 3]), ("k1", "k2"))
    found = reduced(over(node, "k2"))
    kinds = [n.type.value for n in unique(found) if isinstance(n, Join)]
    assert kinds == ["inner"] * 60, "both keys are NULL"


def fails(e: Expression) -> Expression:
    """What may fail of a number."""
    found = bind("int_divide", (Literal(e.type.with_nullable(False), 1), e))
    assert may_fail(found)
    return found


def test_whether_a_query_fails_stays() -> None:
    """Rows are not dropped where something may fail for them, unless it is NULL for them."""
    node = outer()
    rejecting, failing = equals(node, "rv", 1), bind("gt", (fails(ref(node, "lv")), Literal(int32, 0)))
    assert types(Filter(node, conjunction((rejecting, failing)))) == ["inner"], "terms guard those behind them"
    assert types(Filter(node, conjunction((failing, rejecting)))) == ["left"]
    for computed, expected in (("lv", "left"), ("rv", "inner")):
        made = Project(node, (ref(node, "rv"), fails(ref(node, computed))), ("x", "y"))
        assert types(joined(made, S, "x", "sk")) == [expected]


def test_no_more_is_computed_of_what_may_fail() -> None:
    key = fails(ref(L, "lk"))
    for type, expected in ((JoinType.LEFT, "left"), (JoinType.FULL, "right")):
        node = Join(L, R, type, (key,), (Cast(key.type, ref(R, "rk")),))
        assert types(over(node)) == [expected], "terms of an inner join can become keys"
    first, other = joined(outer(), S, "rv", "sk"), table("u", uk=int32)
    key = fails(ref(first, "rk"))
    root = Join(first, other, JoinType.INNER, (key,), (Cast(key.type, ref(other, "uk")),))
    rows = CompileOptions(statistics=statistics({"l": 1e6, "r": 1e6, "s": 1e6, "u": 10.0}))
    ordered = order_joins(planned(root, rows)).root.input
    joins = [n for n in ordered.walk() if isinstance(n, Join)]
    assert [n.type.value for n in joins] == ["inner"] * 3
    assert [any(map(may_fail, (*n.left_keys, *n.right_keys))) for n in joins] == [True, False, False], "it comes last"


class OuterJoins(dataflows.Generator):
    """Dataflows of joins, half of them outer ones, of few types of columns."""

    def __init__(self, seed: int, folder: Path) -> None:
        kinds = (*("join",) * 5, *("filter",) * 3, "project", "aggregate", "union", "window", "distinct")
        super().__init__(seed, folder, ("parquet",), kinds)

    def join(self, left: Operator, right: Operator) -> Operator:
        node = super().join(left, left if self.random.random() < 0.4 else right)
        assert isinstance(node, Join)
        return replace(node, type=self.random.choice(TYPES)) if self.random.random() < 0.5 else node


def test_rows_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's answers to random dataflows, before and after."""
    monkeypatch.setattr(dataflows, "ROWS", (0, 2, 5, 10))
    changed = 0
    for seed in range(SEEDS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        root = OuterJoins(seed, folder)._node(4)
        plan = Plan(Send(root, ()), UNKNOWN, (), Registry(), Estimator(None))
        before = push_filters(normalise(plan))
        after = reduce_outer_joins(before)
        if after is not before:
            changed += 1
            after = push_filters(after)
            wrong = oracle.difference(oracle.run(after.root.input), root)
            assert not wrong, f"seed {seed}: {wrong}\n{oracle.to_sql(root)}"
    assert changed > SEEDS / 20
