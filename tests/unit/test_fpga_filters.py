"""Filters of a card's joins: the hosts that send it the build sides send their keys to who reads the other side."""

from __future__ import annotations

import pytest

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Filter, Join, Operator, Read, Receive, numbered
from jumpgate.dataflow.types import int64
from jumpgate.nca.interface import InstancePlan, JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.fpga_join.kind import FPGA
from tests.support.plans import equals, host, joined, statistics, table

DEVICES = (host("a"), host("b"), FPGA.device("card"))
FACT = table("fact", fd=int64, fk=int64, value=int64)
DAYS = table("days", dk=int64, year=int64)
ITEMS = table("items", ik=int64, brand=int64)
ROWS = {"fact": 1e6, "days": 1e3, "items": 1e4}


def compiled(root: Operator) -> JobPlan:
    options = CompileOptions(statistics=statistics(ROWS), broadcast_bytes_max=0.0, prefer=("fpga_join",))
    return compile_dataflow(root, DEVICES, default_registry(), options)


def reader(plan: JobPlan, name: Operator) -> InstancePlan:
    """Of the table for the card."""
    (card,) = (i for i in plan.instances if i.nca == "fpga_join")
    senders = {plan.edge(edge).producers[0] for edge in card.inputs}
    return next(i for i in plan.instances if i.id in senders and name in numbered(i.root))


def few(node: Read, column: str) -> Operator:
    return Filter(node, equals(node, column, 7))


def semi_joins(instance: InstancePlan) -> list[Join]:
    return [n for n in numbered(instance.root) if isinstance(n, Join)]


def test_rows_without_partners_do_not_reach_the_card() -> None:
    plan = compiled(joined(joined(FACT, few(DAYS, "year"), "fd", "dk"), few(ITEMS, "brand"), "fk", "ik"))
    facts = reader(plan, FACT)
    found = semi_joins(facts)
    assert [j.type for j in found] == [JoinType.SEMI] * 2
    for semi in found:
        assert isinstance(semi.right, Receive)
        edge = plan.edge(semi.right.edge)
        assert edge.partitioning.kind == "broadcast"
        assert all(i.nca == "cpp" for i in plan.instances if i.id in edge.producers)
        assert dict(zip(facts.inputs, facts.input_stages, strict=True))[edge.id] < facts.stage


@pytest.mark.parametrize("type", [JoinType.LEFT, JoinType.ANTI])
def test_rows_that_stay_without_a_partner_reach_it(type: JoinType) -> None:
    assert semi_joins(reader(compiled(joined(FACT, few(DAYS, "year"), "fd", "dk", type)), FACT)) == []


def test_no_filter_where_all_have_partners() -> None:
    assert semi_joins(reader(compiled(joined(FACT, DAYS, "fd", "dk")), FACT)) == []
