"""Equal sub-plans that hold rows are computed once."""

from __future__ import annotations

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.common_subplans import common_subplans
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.dataflow.expressions import Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Filter, Operator, Send, UnionAll
from jumpgate.dataflow.types import float64, int64
from jumpgate.nca.registry import Registry
from tests.support.plans import grouped, joined, measured, ref, table


def rows() -> Operator:
    return table("a", ak=int64, av=float64)


def counted(below: Operator, name: str = "n") -> Operator:
    return grouped(below, ("ak",), measured(below, "count_star", None, name))


def after(root: Operator) -> Operator:
    return common_subplans(Plan(Send(root, ()), CompileOptions(), (), Registry(), Estimator(None))).root.input


def above(below: Operator, value: float) -> Operator:
    return Filter(below, bind("gt", (ref(below, "av"), Literal(float64, value))))


def test_equal_groups_are_computed_once() -> None:
    found = after(joined(counted(rows()), counted(rows()), "ak", "ak"))
    left, right = found.inputs
    assert left is right
    assert after(found) is found


def test_groups_over_shared_groups_are_shared() -> None:
    twice = [counted(counted(rows()), "m") for _ in range(2)]
    left, right = after(UnionAll((*twice,))).inputs
    assert left is right


def test_other_groups_stay() -> None:
    for a, b in (
        (counted(rows()), counted(rows(), "m")),
        (counted(above(rows(), 0.0)), counted(above(rows(), -0.0))),
        (counted(rows()), counted(table("b", ak=int64, av=float64))),
    ):
        root = UnionAll((a, b))
        assert after(root) is root


def test_rows_that_nobody_holds_stay_apart() -> None:
    root = UnionAll((above(rows(), 1.0), above(rows(), 1.0)))
    assert after(root) is root
