"""Below which groups a semi join goes, and where its keys come from."""

from __future__ import annotations

import pytest

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.reduce_groups import reduce_groups
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import (
    Aggregate,
    Filter,
    Join,
    Measure,
    Operator,
    Project,
    Read,
    Send,
    UnionAll,
    column,
)
from jumpgate.dataflow.types import DataType, float64, int32
from jumpgate.nca.interface import ColumnStatistics, Statistics
from jumpgate.nca.registry import Registry
from tests.support.plans import equals, ref, table

#: rows and values of the key
TABLES = {"facts": (1_000_000.0, 100_000.0), "dims": (100_000.0, 100_000.0)}


def facts(key: DataType = int32) -> Read:
    return table("facts", k=key, v=int32)


def groups(input: Operator) -> Aggregate:
    return Aggregate(input, (ref(input, "k"),), ("k",), (Measure.of("sum", ref(input, "v"), name="s"),))


def few(key: DataType = int32) -> Operator:
    dims = table("dims", k=key, kind=int32)
    return Filter(dims, equals(dims, "kind", 1))


def joined(left: Operator, right: Operator, type: JoinType = JoinType.INNER) -> Join:
    return Join(left, right, type, (ref(left, "k"),), (ref(right, "k"),))


def planned(root: Operator, known: bool = True) -> Operator:
    def statistics(files: tuple[str, ...], format: str, options: object) -> Statistics:
        rows, values = TABLES[files[0].split("/")[-1].split(".")[0]]
        kind = ColumnStatistics(distinct=500.0)
        of = {"k": ColumnStatistics(distinct=values), "kind": kind, "v": kind}
        return Statistics(rows, 8 * rows, column=lambda name, type: of[name]) if known else Statistics()

    plan = Plan(Send(root, ()), CompileOptions(statistics=statistics), (), Registry(), Estimator(statistics))
    return reduce_groups(plan).root.input


def test_rows_that_are_grouped_have_a_key_of_the_other_side() -> None:
    found = planned(joined(few(), groups(facts())))
    assert isinstance(found, Join) and isinstance(found.right, Aggregate)
    below = found.right.input
    assert isinstance(below, Join) and below.type is JoinType.SEMI
    assert below.left == facts()
    assert isinstance(below.right, Project) and below.right.input is found.left


def test_a_table_that_another_join_has_is_shared() -> None:
    other = facts()
    keys = few()
    over = Join(other, keys, JoinType.INNER, (ref(other, "k"),), (ref(keys, "k"),))
    right = groups(facts())
    found = planned(Join(over, right, JoinType.INNER, (column(over.schema, 2),), (ref(right, "k"),)))
    assert isinstance(found, Join) and isinstance(found.left, Join) and isinstance(found.right, Aggregate)
    below = found.right.input
    assert isinstance(below, Join)
    assert below.right is found.left.right
    assert below.right_keys == found.left.right_keys


def test_each_member_of_a_union_is_reduced_by_one_table() -> None:
    found = planned(joined(few(), groups(UnionAll((facts(), facts())))))
    assert isinstance(found, Join) and isinstance(found.right, Aggregate) and isinstance(found.right.input, UnionAll)
    first, second = found.right.input.members
    assert isinstance(first, Join) and isinstance(second, Join)
    assert first.type is second.type is JoinType.SEMI
    assert first.right is second.right


@pytest.mark.parametrize("type", [JoinType.INNER, JoinType.LEFT, JoinType.SEMI, JoinType.ANTI])
def test_groups_that_look_for_nothing_may_go(type: JoinType) -> None:
    node = joined(few(), groups(facts()), type)
    assert planned(node) is not node


@pytest.mark.parametrize("type", [JoinType.RIGHT, JoinType.FULL, JoinType.MARK])
def test_groups_that_are_in_the_result_without_partners_stay(type: JoinType) -> None:
    node = joined(few(), groups(facts()), type)
    assert planned(node) is node


def test_groups_that_others_read_stay() -> None:
    shared = groups(facts())
    node = UnionAll((shared, Project(joined(few(), shared), (ref(shared, "k"), ref(shared, "s")), ("k", "s"))))
    assert planned(node) is node


def test_floats_stay_as_their_zeros_are_one_group() -> None:
    node = joined(few(float64), groups(facts(float64)))
    assert planned(node) is node


def test_what_is_not_known_or_spares_little_stays() -> None:
    node = joined(few(), groups(facts()))
    assert planned(node, known=False) is node
    most = joined(table("dims", k=int32, kind=int32), groups(facts()))
    assert planned(most) is most
