"""Kinds of plans: each pass takes what the one before returns, and a physical plan is verified last."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from test_tidy import texts

from jumpgate.compiler.compile import PASSES, compile_dataflow
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.explain import explain_data
from jumpgate.compiler.physical.cut import cut
from jumpgate.compiler.plan import CompileOptions, PhysicalPlan, Plan
from jumpgate.compiler.verify import Verifier
from jumpgate.dataflow.operators import Operator, Project, Send, UnionAll, numbered
from jumpgate.dataflow.types import Field, int64, struct
from jumpgate.errors import InternalError
from jumpgate.nca.interface import JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.fpga_join.kind import FPGA
from tests.support.plans import ROWS, host, joined, query65, ref, statistics, table

KNOWN = CompileOptions(statistics=statistics(ROWS))
TWO = (host("a"), host("b"))


def physical(root: Operator) -> PhysicalPlan:
    """Return the plan after the last pass."""
    plan = Plan(Send(root, ()), KNOWN, TWO, default_registry(), Estimator(KNOWN.statistics))
    for step in PASSES:
        plan = step(plan)
    assert isinstance(plan, PhysicalPlan)
    return plan


def test_each_pass_takes_the_kind_of_plan_that_the_one_before_returns() -> None:
    given: type = Plan
    for step in PASSES:
        hints = typing.get_type_hints(step)
        (parameter,) = inspect.signature(step).parameters
        takes = hints[parameter]
        if isinstance(takes, typing.TypeVar):
            assert issubclass(given, takes.__bound__) and hints["return"] is takes
        else:
            assert issubclass(given, takes), step.__name__
            given = given if takes is Plan and hints["return"] is Plan and given is Plan else hints["return"]
    assert given is PhysicalPlan


def test_an_edge_carries_nested_values_as_bytes() -> None:
    nested = table("t", k=int64, v=struct(Field("a", int64)))
    assert [f.type.kind for f in physical(nested).edges[-1].ntf.schema] == ["int64", "binary"]


def test_explain_depends_on_the_physical_plan_alone() -> None:
    plan = physical(query65())
    assert (
        explain_data(plan) == explain_data(plan) == compile_dataflow(query65(), TWO, default_registry(), KNOWN).explain
    )


def _first(plan: PhysicalPlan, **changes: Any) -> PhysicalPlan:
    return plan.changed({plan.instances[0].fragment: changes})


def _all_kept(plan: PhysicalPlan) -> PhysicalPlan:
    return plan.changed({i.fragment: {"kept_rows": frozenset(range(len(numbered(i.root))))} for i in plan.instances})


BROKEN: dict[str, tuple[Callable[[PhysicalPlan], PhysicalPlan], str]] = {
    "sender": (lambda p: replace(p, instances=p.instances[1:]), "sends on edge"),
    "reader": (lambda p: replace(p, instances=tuple(replace(i, inputs=()) for i in p.instances)), "does not read edge"),
    "sibling": (lambda p: _first(p, count=3), "its fragment has 2"),
    "stage": (lambda p: replace(p, stages=1), "of 1"),
    "edge": (lambda p: replace(p, edges=p.edges[:-1]), "some are no edges of its own"),
    "schema": (lambda p: replace(p, edges=tuple(replace(e, ntf=p.edges[-1].ntf) for e in p.edges)), "which carries"),
    "spill": (lambda p: _first(p, joins_on_disk=frozenset({0})), "not all may spill"),
    "kept": (_all_kept, "some keep theirs"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_does_not_fit_together_is_found_after_the_pass_that_made_it(name: str) -> None:
    change, problem = BROKEN[name]
    plan = physical(query65())
    verifier = Verifier(plan)
    verifier.verify(plan, cut.__name__)
    with pytest.raises(InternalError, match=f"keep_rows left a wrong plan: .*{problem}"):
        verifier.verify(change(plan), "keep_rows")


def test_fragments_of_one_accelerator_have_notes_of_their_own() -> None:
    rows = {"a": 1e7, "b": 1e3, "c": 1e7, "d": 1e5}
    a, b, c = (table(name, **{f"{name}k": int64}) for name in "abc")
    d = table("d", dk=int64, dv=int64)
    cards = tuple(FPGA.device(name) for name in ("card", "other"))
    options = CompileOptions(statistics=statistics(rows), prefer=("fpga_join",))
    wide = joined(c, d, "ck", "dk")
    both = UnionAll((joined(a, b, "ak", "bk"), Project(wide, (ref(wide, "dv"), ref(wide, "dk")), ("ak", "bk"))))
    plan: JobPlan = compile_dataflow(both, (host("a"), *cards), default_registry(), options)
    notes = {f["note"] for f in plan.explain["fragments"].values() if f["nca"] == "fpga_join"}
    assert len(notes) == 2, notes


def test_the_product_plans_by_one_function() -> None:
    parts = ("jumpgate", "ncas", "clients", "converters")
    found = {
        p.as_posix() for p, text in texts() if p.parts[0] in parts and p.suffix == ".py" and "compile_dataflow(" in text
    }
    assert found == {"jumpgate/compiler/compile.py", "jumpgate/service/planning.py"}
