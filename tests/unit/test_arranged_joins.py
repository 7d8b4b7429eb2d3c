"""Joins that a card takes, though another one that it does not take stands between them in the plan."""

from __future__ import annotations

import pytest

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.mapping.arrange_joins import best_order, run_of
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Join, Operator, Project, numbered
from jumpgate.dataflow.types import decimal, int64
from jumpgate.nca.interface import JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.fpga_join.kind import FPGA
from tests.support.plans import host, joined, ref, statistics, table

FACTS = table("facts", "parquet", k0=int64, k1=int64, k2=int64, k3=int64)
SIDES = [table(f"t{i}", "parquet", **{f"t{i}": int64, f"v{i}": int64}) for i in range(4)]
WIDE = table("t1", "parquet", t1=int64, **{f"v{i}": decimal(38, 0) for i in range(4)})
ROWS = {"facts": 4e8, **{f"t{i}": 4e6 for i in range(4)}}


def run(*sides: Operator, types: str = "inner inner inner inner") -> Operator:
    flow: Operator = FACTS
    for i, (side, type) in enumerate(zip(sides, types.split(), strict=False)):
        flow = joined(flow, side, f"k{i}", f"t{i}", JoinType(type))
    return flow


def compiled(root: Operator, memory: int = 4 << 30) -> JobPlan:
    devices = (*(host(f"h{i}") for i in range(4)), FPGA.device("card", memory_bytes=memory))
    options = CompileOptions(
        statistics=statistics(ROWS), broadcast_bytes_max=1e6, speeds={"link": 8e-9}, prefer=("fpga_join",)
    )
    return compile_dataflow(root, devices, default_registry(), options)


def on_card(plan: JobPlan) -> list[str]:
    """The types of the joins there."""
    (card,) = (i for i in plan.instances if i.nca == "fpga_join")
    return [j.type for j in numbered(card.root) if isinstance(j, Join)]


def chosen(root: Operator, device: set[str], room: int, saved: dict[str, float]) -> list[str]:
    """Keys of the joins in the order that is found for a device which takes those of `device`, so many at once."""

    def key(join: Join) -> str:
        return join.left_keys[0].name  # type: ignore[attr-defined]

    def takes(tree: Operator, count: int) -> bool:
        keys = [key(n) for n in tree.walk() if isinstance(n, Join)]
        assert len(keys) == count
        return {*keys} <= device and count <= room

    found = run_of(root)
    assert found is not None
    tree = best_order(found, takes, lambda join: saved[key(join)])
    if tree is None:
        return []
    assert tree.schema == root.schema
    return [key(n) for n in tree.walk() if isinstance(n, Join)][::-1]


ALL = {f"k{i}": 10.0 for i in range(4)}


def test_joins_that_the_device_takes_come_first() -> None:
    root = run(*SIDES)
    assert chosen(root, {"k0", "k1", "k3"}, 4, ALL) == ["k0", "k1", "k3", "k2"]
    assert chosen(root, {"k0", "k3"}, 4, ALL) == ["k0", "k3", "k1", "k2"]


def test_those_that_save_most_of_what_fits() -> None:
    root = run(*SIDES)
    assert chosen(root, {*ALL}, 2, {"k0": 3, "k1": 1, "k2": 2, "k3": 1}) == ["k0", "k3", "k1", "k2"]
    assert chosen(root, {*ALL}, 2, {"k0": 2, "k1": 1, "k2": 3, "k3": 1}) == [], "they are next to each other"
    assert chosen(root, {"k0", "k3"}, 2, {**ALL, "k0": -1}) == [], "one that costs more than it saves"


def test_what_cannot_come_first_stays() -> None:
    """A key of another build side, and a join that adds rows of the other side."""
    snow = joined(joined(joined(FACTS, SIDES[0], "k0", "t0"), SIDES[1], "v0", "t1"), SIDES[2], "k2", "t2")
    assert chosen(snow, {"k0", "v0", "k2"}, 2, {"k0": 9, "v0": 9, "k2": 9}) == ["k0", "k2", "v0"]
    assert run_of(run(*SIDES[:3], types="inner full inner")) is None
    assert run_of(run(*SIDES[:2])) is None, "two joins are next to each other in any order"


@pytest.mark.parametrize("type", ["inner", "left", "semi"])
def test_a_card_has_the_joins_around_one_that_it_refuses(type: str) -> None:
    root = run(SIDES[0], WIDE, SIDES[2], types=f"{type} left {type}")
    plan = compiled(root)
    assert on_card(plan) == [type, type]
    assert "2 of 4 tables" in str(plan.explain["fragments"])
    assert any(isinstance(n, Join) and n.type is JoinType.LEFT for i in plan.instances if i.nca == "cpp"
               for n in numbered(i.root))  # fmt: skip


def test_of_joins_that_do_not_fit_together_two_that_are_not_neighbours() -> None:
    """The one between needs more memory than the others leave."""
    large = {**ROWS, "t1": 3e8}
    devices = (*(host(f"h{i}") for i in range(4)), FPGA.device("card", memory_bytes=1 << 30))
    options = CompileOptions(
        statistics=statistics(large), broadcast_bytes_max=1e6, speeds={"link": 8e-9}, prefer=("fpga_join",)
    )
    root = run(*SIDES[:3], types="left left left")
    plan = compile_dataflow(root, devices, default_registry(), options)
    assert on_card(plan) == ["left", "left"]
    assert explain_text(plan.explain).count("B between hosts and devices") == 1 + len(plan.explain["lost"]) > 1


def test_a_run_with_projections_between() -> None:
    first = joined(FACTS, SIDES[0], "k0", "t0")
    less = Project(first, (ref(first, "v0"), ref(first, "k2"), ref(first, "k1")), ("w", "k2", "k1"))
    root = joined(joined(less, WIDE, "k1", "t1"), SIDES[2], "k2", "t2")
    found = run_of(root)
    assert found is not None
    tree = found.arranged((0, 2))
    assert tree.schema == root.schema
    assert [len(n.schema) for n in tree.walk() if isinstance(n, Join)] == [10, 5, 6]


def test_columns_of_one_name_stay_apart() -> None:
    sides = [table(f"t{i}", "parquet", t=int64, v=int64) for i in range(3)]
    root: Operator = FACTS
    for i, side in enumerate(sides):
        root = Join(root, side, JoinType.LEFT, (ref(root, f"k{i}"),), (ref(side, "t"),))
    found = run_of(root)
    assert found is not None
    tree = found.arranged((0, 2))
    assert isinstance(tree, Project) and tree.schema == root.schema
    assert [e.index for e in tree.expressions if isinstance(e, ColumnRef)] == [0, 1, 2, 3, 4, 5, 8, 9, 6, 7]
