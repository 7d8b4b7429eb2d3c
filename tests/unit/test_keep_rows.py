"""Which operators keep their rows for all who read them."""

from __future__ import annotations

import pytest

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.operators import Aggregate, Filter, Join, Operator, Read, UnionAll, numbered
from jumpgate.dataflow.types import int64
from jumpgate.nca.interface import Device, JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.runtime.lifecycle import SoftwareLifecycle
from tests.support.plans import equals, grouped, joined, measured, statistics, table

FACT = table("fact", "parquet", fk=int64, fv=int64)
DIM = table("dim", "parquet", dk=int64, dv=int64)
ROWS = statistics({"fact": 1e7, "dim": 1e4})
#: a hundredth of the rows, or all of them
FEW = joined(FACT, Filter(Filter(DIM, equals(DIM, "dv", 1)), equals(DIM, "dk", 1)), "fk", "dk")
ALL = joined(FACT, DIM, "fk", "dk")


def plan(root: Operator, can: bool = True) -> JobPlan:
    host = Device("a", "host", 2, 8 << 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SoftwareLifecycle, "keeps_rows", can)
        return compile_dataflow(root, (host,), default_registry(), CompileOptions(statistics=ROWS))


def kept(root: Operator, can: bool = True) -> list[Operator]:
    (instance,) = plan(root, can).instances
    return [numbered(instance.root)[n] for n in instance.kept_rows]


def twice(node: Operator) -> Operator:
    """Two different aggregates of the same rows."""
    return UnionAll(
        (
            grouped(node, ("fv",), measured(node, "sum", "fk", "s")),
            grouped(node, ("fv",), measured(node, "max", "fk", "s")),
        )
    )


def test_few_rows_of_much_work_are_kept() -> None:
    (node,) = kept(twice(FEW))
    assert node.schema.names == FEW.schema.names or set(node.schema.names) <= set(FEW.schema.names)
    assert any(isinstance(n, Join) for n in numbered(node)) and not any(
        isinstance(n, Aggregate) for n in numbered(node)
    )


def test_many_rows_are_computed_again() -> None:
    assert kept(twice(ALL)) == []


def test_what_one_reads_is_not_kept() -> None:
    assert kept(grouped(FEW, ("fv",), measured(FEW, "sum", "fk", "s"))) == []


def test_columns_are_read_again() -> None:
    assert kept(twice(Filter(FACT, equals(FACT, "fv", 1)))) == []


@pytest.mark.parametrize("format", ["json", "csv"])
def test_text_is_parsed_once(format: str) -> None:
    fact = table("fact", format, fk=int64, fv=int64)
    (node,) = kept(twice(fact))
    assert isinstance(node, Read)


def test_conditions_over_kept_rows_are_computed_again() -> None:
    fact = table("fact", fk=int64, fv=int64)
    few = [Filter(fact, equals(fact, "fv", value)) for value in (1, 2)]
    (node,) = kept(UnionAll(tuple(member for f in few for member in twice(f).inputs)))
    assert isinstance(node, Read)


def test_groups_are_shared_as_they_are() -> None:
    groups = grouped(FEW, ("fv",), measured(FEW, "sum", "fk", "s"))
    assert kept(UnionAll((Filter(groups, equals(groups, "fv", 1)), Filter(groups, equals(groups, "fv", 2))))) == []


def test_few_of_many_groups_are_kept() -> None:
    groups = grouped(FACT, ("fk", "fv"), measured(FACT, "max", "fv", "m"))
    few = Filter(Filter(groups, equals(groups, "fk", 1)), equals(groups, "m", 2))
    (node,) = kept(twice(few))
    assert isinstance(node, Filter)


def test_joins_that_build_by_the_same_keys_are_one_reader() -> None:
    one, two = table("one", ak=int64, av=int64), table("two", ck=int64, cv=int64)
    pair = [joined(t, FEW, key, "fk") for t, key in ((one, "ak"), (two, "ck"))]
    both = UnionAll(tuple(grouped(p, ("fv",), measured(p, "sum", "dk", "s")) for p in pair))
    assert kept(both) == []


def test_explain_names_them() -> None:
    (line,) = (line for line in explain_text(plan(twice(FEW)).explain).splitlines() if "keeps its rows" in line)
    assert "join inner" in line or "project" in line


def test_accelerators_that_keep_no_rows_are_not_asked_to() -> None:
    assert kept(twice(FEW), can=False) == []
