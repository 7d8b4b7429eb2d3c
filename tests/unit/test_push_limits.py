"""Limits reach sorts and limits below."""

from __future__ import annotations

import pytest

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.push_limits import push_limits
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.compiler.tree import references
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Filter, Limit, Operator, Project, Send, Sort, SortKey, UnionAll
from jumpgate.dataflow.types import bool_, int64
from jumpgate.nca.registry import Registry
from tests.support.plans import joined, ref, table

A, B = table("a", ak=int64, av=int64), table("b", bk=int64, bv=int64)


def by_key(limit: int | None = None, offset: int = 0, of: Operator = A) -> Sort:
    return Sort(of, (SortKey(references(of.schema)[0]),), limit, offset)


def doubled(node: Operator) -> Project:
    return Project(node, (references(node.schema)[1],), ("v",))


def after(root: Operator) -> Operator:
    plan = Plan(Send(root, ()), CompileOptions(), (), Registry(), Estimator(None))
    return push_limits(plan).root.input


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        pytest.param(Limit(doubled(by_key()), 3, 2), Limit(doubled(by_key(5)), 3, 2), id="below a projection"),
        pytest.param(Limit(doubled(by_key(9, 4)), 3), Limit(doubled(by_key(3, 4)), 3), id="a sort keeps its offset"),
        pytest.param(Limit(doubled(by_key(2)), 3), Limit(doubled(by_key(2)), 3), id="the lower one stays"),
        pytest.param(Limit(doubled(Limit(A, 7, 1)), 3), Limit(doubled(Limit(A, 3, 1)), 3), id="a limit below"),
        pytest.param(
            Limit(UnionAll((by_key(), by_key(1), A)), 3), Limit(UnionAll((by_key(3), by_key(1), A)), 3), id="a union"
        ),
        pytest.param(
            Limit(joined(by_key(), B, "ak", "bk", JoinType.LEFT), 3),
            Limit(joined(by_key(3), B, "ak", "bk", JoinType.LEFT), 3),
            id="each row of the left side has a result",
        ),
    ],
)
def test_bounded(before: Operator, wanted: Operator) -> None:
    assert after(before) == wanted


@pytest.mark.parametrize("type", [JoinType.INNER, JoinType.FULL, JoinType.RIGHT, JoinType.SEMI, JoinType.ANTI])
def test_joins_that_drop_rows_or_add_some_read_all(type: JoinType) -> None:
    root = Limit(joined(by_key(), by_key(of=B), "ak", "bk", type), 3)
    assert after(root) is root


def test_filters_and_other_consumers_read_all() -> None:
    flag = table("f", f=bool_)
    filtered = Limit(Filter(by_key(of=flag), ref(flag, "f")), 3)
    assert after(filtered) is filtered
    rows = by_key()
    both = UnionAll((Limit(rows, 3), rows))
    assert after(both) is both
