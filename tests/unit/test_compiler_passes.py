"""What each logical pass does, and what it must leave alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from jumpgate.compiler.describe import tree
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.narrow_builds import narrow_builds
from jumpgate.compiler.logical.normalise import fold, normalise
from jumpgate.compiler.logical.order_joins import order_joins
from jumpgate.compiler.logical.prune_columns import prune_columns
from jumpgate.compiler.logical.push_filters import push_filters
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.compiler.tree import project, references, unique
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.expressions import Cast, Expression, Literal
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Read,
    Send,
    Sort,
    SortKey,
    UnionAll,
    column,
)
from jumpgate.dataflow.types import DataType, Schema, bool_, decimal, float64, int32, int64, string
from jumpgate.nca.interface import Device
from jumpgate.nca.registry import Registry
from tests.support.plans import equals, grouped, joined, measured, query3, query65, ref, statistics, table

A = table("a", ak=int32, av=int32, at=string)
B = table("b", bk=int32, bv=int32)
C = table("c", ck=string, cv=int32)
TRUE = Literal(bool_.with_nullable(False), True)


def after(step: Callable[[Plan], Plan], root: Operator, **rows: float) -> Operator:
    options = CompileOptions(statistics=statistics(rows))
    plan = Plan(Send(root, ()), options, (), Registry(), Estimator(options.statistics))
    return step(plan).root.input


def named(schema: Schema, name: str) -> Expression:
    return column(schema, schema.names.index(name))


def number(value: int, type: DataType = int32) -> Literal:
    return Literal(type.with_nullable(False), value)


# ---- normalise ------------------------------------------------------------------------------------------------------


def test_distinct_is_an_aggregate() -> None:
    assert after(normalise, Distinct(A)) == Aggregate(A, references(A.schema), A.schema.names, ())


@pytest.mark.parametrize(
    ("count", "offset", "limit", "skip", "expected"),
    [(10, 0, None, 0, (10, 0)), (10, 2, None, 0, (10, 2)), (10, 2, 5, 1, (3, 3)), (10, 7, 5, 0, (0, 7))],
)
def test_limit_over_sort_is_a_top_n(count: int, offset: int, limit: int | None, skip: int, expected: tuple) -> None:
    keys = (SortKey(ref(A, "ak")),)
    assert after(normalise, Limit(Sort(A, keys, limit, skip), count, offset)) == Sort(A, keys, *expected)


def test_limits_of_limits() -> None:
    assert after(normalise, Limit(Limit(A, 10, 5), 7, 6)) == Limit(A, 4, 11)


def test_filters_become_one_inner_terms_first() -> None:
    inner, outer = equals(A, "ak", 1), equals(A, "av", 2)
    assert after(normalise, Filter(Filter(A, inner), outer)) == Filter(A, bind("and", (inner, outer)))


def test_trifles_go() -> None:
    assert after(normalise, Filter(A, TRUE)) is A
    assert after(normalise, Project(A, references(A.schema), A.schema.names)) is A
    assert after(normalise, UnionAll((A,))) is A
    renamed = Project(A, references(A.schema), ("x", "y", "z"))
    assert after(normalise, renamed) == renamed


def test_constants_are_computed() -> None:
    total = bind("add", (number(1), number(2)))
    assert fold(total, DEFAULT) == Literal(total.type, 3)
    assert fold(bind("eq", (ref(A, "ak"), total)), DEFAULT).children[1] == Literal(total.type, 3)


def test_what_fails_when_computed_is_left_to_the_run() -> None:
    by_zero = bind("int_divide", (number(1), number(0)))
    assert fold(by_zero, DEFAULT) is by_zero


# ---- push_filters ---------------------------------------------------------------------------------------------------


def lines(root: Operator) -> list[str]:
    return [line.strip() for line in tree(root)]


def test_a_filter_reaches_the_read_as_a_hint_and_stays() -> None:
    pushed = after(push_filters, Filter(A, equals(A, "ak", 1)))
    assert isinstance(pushed, Filter)
    assert isinstance(pushed.input, Read)
    assert pushed.input.predicate == pushed.predicate == equals(A, "ak", 1)


@pytest.mark.parametrize(
    ("type", "left", "right"),
    [("inner", True, True), ("left", True, False), ("right", False, True), ("full", False, False)],
)
def test_filters_over_joins(type: str, left: bool, right: bool) -> None:
    join = joined(A, B, "ak", "bk", type)
    for name, goes in (("av", left), ("bv", right)):
        pushed = after(push_filters, Filter(join, equals(join, name, 1)))
        assert isinstance(pushed, Join if goes else Filter)
        assert any("where" in line for line in lines(pushed) if line.startswith("read")) == goes


@pytest.mark.parametrize("type", ["semi", "anti", "mark"])
def test_filters_over_joins_that_output_the_left_side(type: str) -> None:
    join = joined(A, B, "ak", "bk", type)
    assert isinstance(after(push_filters, Filter(join, equals(join, "av", 1))), Join)
    if type == "mark":
        assert isinstance(after(push_filters, Filter(join, ref(join, "mark"))), Filter)


def test_an_equality_of_both_sides_becomes_a_key() -> None:
    every = Join(A, B, "inner", (), ())
    pushed = after(push_filters, Filter(every, bind("eq", (ref(every, "bk"), ref(every, "ak")))))
    assert pushed == joined(A, B, "ak", "bk")


def test_one_condition_goes_down_while_another_comes_in() -> None:
    pairs = replace(joined(A, B, "ak", "bk"), residual=equals(joined(A, B, "ak", "bk"), "av", 1))
    both = bind("lt", (ref(pairs, "av"), ref(pairs, "bv")))
    pushed = after(push_filters, Filter(pairs, both))
    assert isinstance(pushed, Join) and pushed.residual == both
    assert pushed.left == Filter(replace(A, predicate=equals(A, "av", 1)), equals(A, "av", 1))


def test_an_equality_that_may_fail_becomes_a_key_where_nothing_is_asked_before_it() -> None:
    pairs = Join(A, B, "inner", (), ())
    more = bind("add", (ref(pairs, "av"), number(1)))
    risky, plain = (
        bind("eq", (more, Cast(more.type, ref(pairs, "bk")))),
        bind("eq", (ref(pairs, "ak"), ref(pairs, "bv"))),
    )

    def keys(join: Join) -> int:
        pushed = after(push_filters, join)
        assert isinstance(pushed, Join)
        return len(pushed.left_keys)

    assert may_fail(risky)
    assert keys(replace(pairs, residual=risky)) == 1
    assert keys(replace(pairs, residual=bind("and", (risky, plain)))) == 2
    assert keys(replace(pairs, residual=bind("and", (plain, risky)))) == 1
    assert keys(replace(joined(A, B, "ak", "bk"), residual=risky)) == 1


def test_what_may_fail_stays_above_the_join() -> None:
    join = joined(A, B, "ak", "bk")
    risky = bind("eq", (bind("int_divide", (number(10), ref(join, "av"))), number(1)))
    assert isinstance(after(push_filters, Filter(join, risky)), Filter)


@pytest.mark.parametrize(
    ("make", "fails"),
    [
        (lambda a: bind("divide", (a, a)), True),
        (lambda a: bind("divide", (a, number(2))), False),
        (lambda a: bind("add", (a, a)), True),
        (lambda a: bind("eq", (a, number(2))), False),
        (lambda a: bind("initcap", (ref(A, "at"),)), True),
        (lambda a: bind("substring", (ref(A, "at"), number(1, int64), number(2, int64))), False),
        (lambda a: bind("substring", (ref(A, "at"), number(1, int64), number(-2, int64))), True),
        (lambda a: bind("substring", (ref(A, "at"), number(1, int64), Cast(int64, a))), True),
        (lambda a: bind("substring", (ref(A, "at"), Cast(int64, a))), False),
        (lambda a: bind("multiply", (number(1, float64), number(1, float64))), False),
        (lambda a: bind("add", (Literal(decimal(7, 2), None), Literal(decimal(7, 2), None))), False),
        (lambda a: bind("add", (Literal(decimal(38, 2), None), Literal(decimal(38, 2), None))), True),
    ],
)
def test_what_may_fail(make: Callable[[Expression], Expression], fails: bool) -> None:
    assert may_fail(make(ref(A, "ak"))) == fails


@pytest.mark.parametrize("make", [query3, query65])
def test_filters_that_were_pushed_stay(make: Callable[[], Operator]) -> None:
    pushed = after(push_filters, make())
    assert after(push_filters, pushed) is pushed


def test_filters_over_groups_go_below_by_keys_only() -> None:
    groups = grouped(A, ("ak",), measured(A, "count", "av", "n"))
    assert isinstance(after(push_filters, Filter(groups, equals(groups, "ak", 1))), Aggregate)
    assert isinstance(after(push_filters, Filter(groups, equals(groups, "n", 1))), Filter)
    whole = grouped(A, (), measured(A, "count", "av", "n"))
    assert isinstance(after(push_filters, Filter(whole, equals(whole, "n", 1))), Filter)


def test_filters_go_through_unions_and_sorts_but_no_limits() -> None:
    union = UnionAll((A, table("c", ak=int32.with_nullable(False), av=int32, at=string)))
    pushed = after(push_filters, Filter(union, equals(union, "ak", 1)))
    assert isinstance(pushed, UnionAll)
    assert all(isinstance(m, Filter) for m in pushed.members)
    keys = (SortKey(ref(A, "ak")),)
    assert isinstance(after(push_filters, Filter(Sort(A, keys), equals(A, "ak", 1))), Sort)
    assert isinstance(after(push_filters, Filter(Sort(A, keys, 5), equals(A, "ak", 1))), Filter)
    assert isinstance(after(push_filters, Filter(Limit(A, 5), equals(A, "ak", 1))), Filter)


def test_a_shared_node_keeps_each_users_filter_above_it() -> None:
    shared = grouped(A, ("ak",), measured(A, "sum", "av", "s"))
    left = Filter(shared, equals(shared, "ak", 1))
    pushed = after(push_filters, Join(left, shared, "inner", (ref(shared, "ak"),), (ref(shared, "ak"),)))
    assert isinstance(pushed, Join)
    assert isinstance(pushed.left, Filter)
    assert pushed.left.input is pushed.right is shared


# ---- prune_columns --------------------------------------------------------------------------------------------------


def test_needs_of_all_users_are_united() -> None:
    shared = Filter(A, equals(A, "ak", 1))
    left = Project(shared, (ref(shared, "av"),), ("x",))
    right = Project(shared, (ref(shared, "ak"),), ("y",))
    pruned = after(prune_columns, UnionAll((left, right)))
    assert isinstance(pruned, UnionAll)
    assert pruned.members[0].inputs[0] is pruned.members[1].inputs[0]
    assert pruned.members[0].inputs[0].schema.names == ("ak", "av")


def test_measures_that_nobody_needs_go() -> None:
    groups = grouped(A, ("ak",), measured(A, "sum", "av", "s"), measured(A, "max", "at", "m"))
    pruned = after(prune_columns, Project(groups, (ref(groups, "s"),), ("s",)))
    assert pruned.inputs[0].schema.names == ("ak", "s")
    assert pruned.inputs[0].inputs[0].schema.names == ("ak", "av")


def test_counting_rows_reads_the_cheapest_column() -> None:
    wide = table("w", s=string, d=decimal(30, 2), k=int32)
    pruned = after(prune_columns, grouped(wide, (), measured(wide, "count_star", None, "n")))
    assert pruned.inputs[0].schema.names == ("k",)


def test_a_residual_keeps_its_columns() -> None:
    pair = Join(A, B, "left", (ref(A, "ak"),), (ref(B, "bk"),))
    residual = bind("lt", (ref(pair, "av"), ref(pair, "bv")))
    pair = Join(A, B, "left", pair.left_keys, pair.right_keys, residual)
    pruned = after(prune_columns, Project(pair, (ref(pair, "ak"),), ("ak",)))
    join = pruned.inputs[0]
    assert isinstance(join, Join)
    assert join.left.schema.names == ("ak", "av")
    assert str(join.residual) == "lt(#1:av, #3:bv)"


def test_what_only_a_filter_needs_does_not_travel_to_devices() -> None:
    pair = joined(Filter(A, equals(A, "av", 1)), B, "ak", "bk")
    root = Project(pair, (ref(pair, "at"), ref(pair, "bv")), ("at", "bv"))
    for kind, names in (("host", ("ak", "av", "at")), ("board", ("ak", "at"))):
        plan = Plan(Send(root, ()), CompileOptions(), (Device("d", kind),), Registry(), Estimator(None))
        pruned = prune_columns(plan).root.input
        assert pruned.schema.names == ("at", "bv")
        (join,) = (node for node in pruned.walk() if isinstance(node, Join))
        assert join.left.schema.names == names and join.right.schema.names == ("bk", "bv")
        (chosen,) = (node for node in pruned.walk() if isinstance(node, Filter))
        assert chosen.schema.names == ("ak", "av", "at")


def test_a_build_keeps_no_column_that_only_filters_and_joins_below_it_need() -> None:
    inner = joined(Filter(A, equals(A, "av", 1)), B, "ak", "bk")  # ak, av, at, bk, bv
    upper = Join(C, inner, "inner", (ref(C, "ck"),), (ref(inner, "at"),))
    root = Project(upper, (ref(upper, "cv"), ref(upper, "bv")), ("cv", "bv"))
    (join,) = (n for n in after(narrow_builds, root).walk() if isinstance(n, Join) and isinstance(n.left, Read))
    assert join.right.schema.names == ("at", "bv") and join.left.schema.names == ("ck", "cv")
    (below,) = (n for n in join.right.walk() if isinstance(n, Join))
    assert below.right.schema.names == ("bk", "bv") and isinstance(below.left, Filter)  # which is not kept


def test_joins_that_share_a_build_go_on_sharing_it() -> None:
    build = Filter(B, equals(B, "bv", 1))
    first, second = (Join(A, build, "inner", (ref(A, "ak"),), (ref(build, "bk"),)) for _ in range(2))
    members = (Project(first, (ref(first, "av"),), ("x",)), Project(second, (ref(second, "bk"),), ("x",)))
    joins = [n for n in unique(after(narrow_builds, UnionAll(members))) if isinstance(n, Join)]
    assert joins[0].right is joins[1].right and joins[0].right.schema.names == ("bk",)


# ---- order_joins ----------------------------------------------------------------------------------------------------


def test_the_smaller_side_is_built() -> None:
    ordered = after(order_joins, joined(A, B, "ak", "bk"), a=10, b=1000)
    join = ordered.inputs[0]
    assert isinstance(join, Join)
    assert join.left == B
    assert join.right == A
    assert ordered.schema == joined(A, B, "ak", "bk").schema


def test_without_statistics_the_request_decides() -> None:
    root = joined(A, B, "ak", "bk")
    assert after(order_joins, root) is root
    assert after(order_joins, root, a=10) is root


def test_selective_builds_come_first() -> None:
    big = table("big", k1=int32, k2=int32)
    small = Filter(B, equals(B, "bv", 1))
    root = joined(joined(big, A, "k1", "ak"), small, "k2", "bk")
    ordered = after(order_joins, root, big=1e6, a=1000, b=1000)
    assert [line for line in lines(ordered) if line.startswith("join")] == [
        "join inner on #0:k1 = #0:ak",
        "join inner on #1:k2 = #0:bk",
    ]


def test_a_star_builds_its_dimensions() -> None:
    """The large table is read once and probes both; the order of the columns stays."""
    fact = table("fact", k1=int32, k2=int32)
    root = joined(joined(A, fact, "ak", "k1"), B, "k2", "bk")
    ordered = after(order_joins, root, fact=1e6, a=100, b=1000)
    outer = ordered.inputs[0]
    assert isinstance(outer, Join)
    assert isinstance(outer.left, Join)
    assert (outer.left.left, {outer.left.right, outer.right}) == (fact, {A, B})
    assert ordered.schema == root.schema


def test_conditions_that_may_fail_wait_for_the_joins_before_them() -> None:
    """Which may drop the rows that they fail for; computed of all rows of one input, they may come at any time."""
    fact = table("fact", k1=int32, k2=int32)
    few = Filter(B, equals(B, "bv", 1))

    def next_to_fact(key: Expression, other: Expression) -> Operator:
        root = Join(joined(fact, A, "k1", "ak"), few, "inner", (key,), (other,))
        ordered = after(order_joins, root, fact=1e6, a=1e6, b=1e4)
        assert ordered.schema == root.schema
        joins = [node for node in ordered.walk() if isinstance(node, Join)]
        (found,) = (join for join in joins if fact in join.inputs)
        return found.right if found.left == fact else found.left

    below = joined(fact, A, "k1", "ak")
    k2, bk = named(below.schema, "k2"), ref(few, "bk")
    more = bind("add", (k2, number(1)))
    both = Schema((*below.schema, *few.schema))
    assert next_to_fact(k2, bk) == few
    assert next_to_fact(more, Cast(more.type, bk)) == A
    assert next_to_fact(Cast(more.type, k2), bind("add", (bk, number(1)))) == few
    sums = bind("add", (named(both, "k2"), named(both, "bv")))
    root = Join(below, few, "inner", (k2,), (bk,), bind("lt", (sums, Literal(sums.type, 9))))
    top, first = (n for n in after(order_joins, root, fact=1e6, a=1e6, b=1e4).walk() if isinstance(n, Join))
    assert top.residual is not None and first.residual is None
    assert may_fail(more) and may_fail(sums) and A in (top.left, top.right)


@pytest.mark.parametrize("b", [98.5, 100, 101.5])
def test_a_little_more_or_less_changes_no_order(b: float) -> None:
    fact = table("fact", fa=int32, fb=int32)
    root = joined(joined(fact, A, "fa", "ak"), B, "fb", "bk")
    other = joined(joined(fact, B, "fb", "bk"), A, "fa", "ak")
    assert tree(after(order_joins, root, fact=1e6, a=100, b=b)) == tree(root)
    assert tree(after(order_joins, other, fact=1e6, a=100, b=b)) == tree(other)
    assert tree(after(order_joins, root, fact=1e6, a=100, b=50)) != tree(root)


def test_two_facts_meet_after_each_was_filtered_by_its_dimension() -> None:
    """Bushy: each fact shrinks by its own dimension before the facts are joined."""
    sold, back = table("sold", s1=int32, sk=int32), table("back", r1=int32, rk=int32)
    few, rare = Filter(A, equals(A, "av", 1)), Filter(B, equals(B, "bv", 1))
    root = joined(joined(joined(sold, back, "sk", "rk"), few, "s1", "ak"), rare, "r1", "bk")
    ordered = after(order_joins, root, sold=1e6, back=1e6, a=1000, b=1000)
    assert ordered.schema == root.schema
    top = ordered.inputs[0]
    assert isinstance(top, Join)
    assert isinstance(top.left, Join)
    assert isinstance(top.right, Join)
    pairs = {frozenset((side.left, side.right)) for side in (top.left, top.right) if isinstance(side, Join)}
    assert pairs == {frozenset((sold, few)), frozenset((back, rare))}


def test_outer_joins_change_sides_only_when_it_pays() -> None:
    root = joined(A, B, "ak", "bk", "left")
    assert after(order_joins, root, a=1000, b=3000) is root
    swapped = after(order_joins, root, a=1000, b=100_000).inputs[0]
    assert isinstance(swapped, Join)
    assert (swapped.type, swapped.left, swapped.right) == ("right", B, A)


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_semi_joins_build_the_far_smaller_side(how: str) -> None:
    root = joined(A, B, "ak", "bk", how)
    for rows_a, rows_b in ((1e6, 1), (100, 300), (0, 0)):
        assert after(order_joins, root, a=rows_a, b=rows_b) is root
    left_built = after(order_joins, root, a=1, b=1e6)
    assert left_built == replace(root, builds_left=True)
    assert isinstance(left_built, Join)
    assert (left_built.build, left_built.probe, left_built.schema) == (A, B, root.schema)
    crossed = Join(A, B, how, (), ())
    assert after(order_joins, crossed, a=1, b=1e6) is crossed


def test_products_hold_their_inputs_and_no_product() -> None:
    c = table("c", ck=int32, cv=int32)
    inner = Join(A, B, "inner", (), ())
    turned = project(inner, references(inner.schema, [3, 0]), ("bk", "ak"))
    both = Schema((*c.schema, *turned.schema))
    less = bind("lt", (named(both, "cv"), named(both, "ak")))
    root = Join(c, turned, "inner", (), (), less)
    ordered = after(order_joins, root, a=100, b=100, c=100)
    assert ordered.schema == root.schema
    top = ordered.inputs[0]
    assert (
        isinstance(top, Join)
        and top.right == B
        and top.residual == bind("lt", (column(top.schema, 1), column(top.schema, 2)))
    )
    assert top.left == Join(c, A, "inner", (), ())


def test_a_product_holds_the_far_smaller_input() -> None:
    root = Join(A, B, "inner", (), ())
    assert after(order_joins, root, a=100, b=300) is root
    swapped = after(order_joins, root, a=1, b=1000)
    assert isinstance(swapped, Project) and swapped.schema == root.schema
    assert swapped.input == Join(B, A, "inner", (), ())


def test_a_mark_join_keeps_its_sides() -> None:
    root = joined(A, B, "ak", "bk", "mark")
    assert after(order_joins, root, a=1, b=1e6) is root


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_a_semi_join_goes_below_inner_joins_to_its_keys(how: str) -> None:
    """Below both joins, and a choice of columns between them, if there are no more rows to look up there."""
    fact, c = table("fact", k1=int32, k2=int32), table("c", ck=int32)
    inner = joined(fact, A, "k1", "ak")
    turned = project(inner, references(inner.schema, [1, 0]), ("k2", "k1"))
    root = joined(joined(turned, B, "k2", "bk"), c, "k1", "ck", how)
    ordered = after(order_joins, root, fact=1000, a=1000, b=1000, c=1e6)
    assert ordered.schema == root.schema
    (low,) = (node for node in ordered.walk() if isinstance(node, Join) and node.type == how)
    assert (low.left, low.right) == (fact, c)
    assert low.left_keys == (ref(fact, "k1"),)


@pytest.mark.parametrize("how", ["left", "semi", "anti", "mark"])
def test_a_join_that_depends_on_one_side_waits_for_inner_joins_that_leave_fewer_rows(how: str) -> None:
    fact, c = table("fact", k1=int32, k2=int32), table("c", ck=int32, cv=int32)
    few, all_rows = Filter(A, equals(A, "av", 1)), A
    below = joined(fact, c, "k2", "ck", how)

    def waits(root: Operator) -> bool:
        ordered = after(order_joins, root, fact=1e6, a=1e5, b=1e5, c=1e6)
        assert ordered.schema == root.schema
        joins = [node for node in ordered.walk() if isinstance(node, Join)]
        (other,) = (join for join in joins if not join.type.any_order)
        return all(join in other.walk() for join in joins)

    assert waits(joined(below, few, "k1", "ak"))
    assert waits(joined(few, below, "ak", "k1"))
    assert waits(joined(joined(below, B, "k2", "bk"), few, "k1", "ak"))
    chosen = project(below, references(below.schema, [1, 0]), ("k2", "k1"))
    assert waits(joined(chosen, few, "k1", "ak"))
    assert waits(joined(Project(chosen, (*references(chosen.schema), number(5)), ("k2", "k1", "n")), few, "k1", "ak"))
    assert not waits(joined(below, all_rows, "k1", "ak"))
    total = Project(fact, (bind("add", (ref(fact, "k1"), number(1))), ref(fact, "k2")), ("k1", "k2"))
    fails = joined(joined(total, c, "k2", "ck", how), few, "k1", "ak")
    assert waits(fails), "what is computed below both is computed anyway"
    key = bind("add", (ref(below, "k1"), number(1)))
    assert may_fail(key)
    assert not waits(Join(below, few, "inner", (key,), (Cast(key.type, ref(few, "ak")),)))


def test_what_needs_a_column_of_an_outer_joins_other_side_comes_after_it() -> None:
    fact, c = table("fact", k1=int32, k2=int32), table("c", ck=int32, cv=int32)
    few = Filter(A, equals(A, "av", 1))
    root = joined(joined(fact, c, "k2", "ck", "left"), few, "cv", "ak")
    ordered = after(order_joins, root, fact=1e6, a=1e5, c=1e6)
    (outer,) = (n for n in ordered.walk() if isinstance(n, Join) and n.type.extends_right)
    assert outer.left == fact


def test_a_condition_of_a_join_that_waits_finds_its_columns() -> None:
    fact, c = table("fact", k1=int32, k2=int32), table("c", ck=int32, cv=int32)
    below = joined(fact, c, "k2", "ck", "left")
    both = Schema((*fact.schema, *c.schema))
    below = replace(below, residual=bind("lt", (named(both, "k1"), named(both, "cv"))))
    ordered = after(order_joins, joined(below, Filter(A, equals(A, "av", 1)), "k1", "ak"), fact=1e6, a=1e5, c=1e6)
    (outer,) = (n for n in ordered.walk() if isinstance(n, Join) and n.residual is not None)
    pairs = Schema((*outer.left.schema, *outer.right.schema))
    assert outer.residual == bind("lt", (named(pairs, "k1"), named(pairs, "cv")))


def test_readers_of_a_join_have_it_in_an_order_of_their_own_where_it_drops_little() -> None:
    """They could also read its rows once these are kept: that is less where it drops most."""
    fact = table("fact", k1=int32, k2=int32)

    def joins_of_fact(build: Operator, fails: bool = False) -> int:
        shared = joined(fact, build, "k2", "bk")
        key = bind("add", (ref(shared, "k1"), number(1))) if fails else ref(shared, "k1")
        few = (Filter(A, equals(A, "av", n)) for n in range(3))
        root = UnionAll(tuple(Join(shared, a, "inner", (key,), (Cast(key.type, ref(a, "ak")),)) for a in few))
        ordered = after(order_joins, root, fact=1e6, a=1e5, b=1e6)
        assert ordered.schema == root.schema
        return sum(isinstance(n, Join) and fact in n.inputs for n in unique(ordered))

    assert joins_of_fact(B) == 3
    assert joins_of_fact(Filter(B, equals(B, "bv", 1))) == 1
    assert joins_of_fact(B, fails=True) == 1, "the shared join may drop what fails"


def test_joins_of_shared_joins_are_not_written_out() -> None:
    """Each level is read twice by the next one: as a tree it would have 2⁵⁰ leaves."""
    node: Operator = table("fact", k1=int32, k2=int32)
    for _ in range(50):
        pair = joined(node, node, "k1", "k2")
        node = project(pair, references(pair.schema, [0, 1]), ("k1", "k2"))
    ordered = after(order_joins, node, fact=1e4)
    assert sum(isinstance(n, Join) for n in unique(ordered)) == 50


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_a_semi_join_stays_above(how: str) -> None:
    """Where more rows would be looked up below, keys are of both inputs or can fail, or there is a condition."""
    fact, c = table("fact", k1=int32, k2=int32), table("c", ck=int32, cv=int32)

    def stays(root: Join, rows: float = 1000) -> bool:
        ordered = after(order_joins, root, fact=rows, a=1000, b=1000, c=1e5)
        assert ordered.schema == root.schema
        (found,) = (node for node in ordered.walk() if isinstance(node, Join) and node.type == how)
        return found.left.schema.names == root.left.schema.names

    all_rows, few_rows = joined(fact, A, "k1", "ak"), joined(fact, Filter(A, equals(A, "av", 1)), "k1", "ak")
    assert not stays(joined(all_rows, c, "k2", "ck", how))
    assert not stays(joined(all_rows, c, "av", "ck", how))
    assert stays(joined(few_rows, c, "k2", "ck", how), rows=1e6)
    of_both = (ref(all_rows, "k2"), ref(all_rows, "av"))
    assert stays(Join(all_rows, c, how, of_both, references(c.schema)))
    total = bind("add", (ref(all_rows, "k2"), number(1)))
    assert may_fail(total)
    assert stays(Join(all_rows, c, how, (total,), (Cast(total.type, ref(c, "ck")),)))
    both = Schema((*all_rows.schema, *c.schema))
    less = bind("lt", (named(both, "k1"), named(both, "cv")))
    assert stays(replace(joined(all_rows, c, "k2", "ck", how), residual=less))


@pytest.mark.parametrize("how", ["semi", "anti", "mark"])
def test_joins_without_a_condition_ask_for_one_row(how: str) -> None:
    expected = Join(A, Limit(B, 1), how, (), ())
    assert after(normalise, Join(A, B, how, (), ())) == expected
    assert after(normalise, Join(A, B, how, (), (), bind("and", (TRUE, TRUE)))) == expected
    assert after(normalise, expected) == expected
    less = Join(A, B, how, (), (), bind("lt", (ref(A, "ak"), number(3))))
    assert after(normalise, less) is less
    assert after(normalise, Join(A, B, "left", (), (), TRUE)) == Join(A, B, "left", (), ())


def test_projections_collapse() -> None:
    once = Project(A, (ref(A, "av"), ref(A, "ak")), ("x", "y"))
    assert project(once, (ref(once, "y"),), ("z",)) == Project(A, (ref(A, "ak"),), ("z",))
