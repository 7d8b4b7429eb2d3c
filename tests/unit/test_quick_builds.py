"""Which programs are built without the optimiser first, and when it has its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.types import int64
from jumpgate.errors import BuildError
from jumpgate.nca import quick_builds
from jumpgate.nca.interface import JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.runtime.configuration import Artifact
from jumpgate.ncas.runtime.lifecycle import Live, SoftwareLifecycle
from jumpgate.testing.rig import FakeHost, FakeInstance
from tests.support.plans import grouped, host, joined, measured, statistics, table

A, B = (table(name, **{f"{name}k": int64, f"{name}v": int64}) for name in "ab")
SUM = grouped(A, ("ak",), measured(A, "sum", "av", "total"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUMPGATE_QUICK_BUILDS")


def plan(root: Operator, **rows: float) -> JobPlan:
    options = CompileOptions(statistics=statistics(rows), quick_builds=quick_builds.wanted())
    return compile_dataflow(root, (host("a"),), default_registry(), options)


def allowed(plan: JobPlan) -> set[bool]:
    return {i.quick_build for i in plan.instances}


def test_little_work_is_built_quickly_and_much_is_not() -> None:
    assert allowed(plan(SUM, a=10)) == {True}
    assert allowed(plan(SUM, a=1e8)) == {False}


def test_an_estimate_that_may_be_far_off_counts_as_what_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Estimator, "doubt", lambda self, node: 1e9)
    assert allowed(plan(SUM, a=10)) == {False}


def test_what_is_not_known_may_be_much() -> None:
    assert allowed(plan(joined(A, B, "ak", "bk"), a=10)) == {False}


def test_nothing_is_built_quickly_where_that_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPGATE_QUICK_BUILDS", "never")
    assert allowed(plan(SUM, a=10)) == {False}


@dataclass
class Builder(FakeHost):
    """Compiles what is to be compiled later when it is told to; `refuses` quick builds."""

    refuses: bool = False
    sources: dict[str, str] = field(default_factory=dict)
    later: dict[str, Callable[[], str]] = field(default_factory=dict)

    async def compile(self, name: str, source: str, key: str) -> str:
        if self.refuses and quick_builds.UNOPTIMISED in source:
            raise BuildError("this does not compile")
        self.sources[key] = source
        return await super().compile(name, source, key)

    def compile_later(self, name: str, source: Callable[[], str], key: str) -> None:
        self.later[key] = source

    def known(self, key: str) -> str | None:
        return self.artifacts.get(key)


def path_of(builder: Builder, plan: JobPlan, lifecycle: SoftwareLifecycle | None = None) -> str:
    (instance,) = plan.instances
    artifact = asyncio.run((lifecycle or SoftwareLifecycle()).compile(instance, builder))
    return artifact.path


@dataclass
class Working(FakeInstance):
    """Works so long in each of its stages."""

    seconds: float = 0.0
    stages: int = 0

    async def call(self, verb: str, /, **arguments: Any) -> dict[str, Any]:
        self.stages += verb == "execute"
        return {"pipelines": [{"busy_ns": int(self.seconds * 1e9 * self.stages), "entered": []}], "sources": []}


def work(lifecycle: SoftwareLifecycle, path: str, seconds: float) -> None:
    """An instance of what was built at that path works so long in each of two stages."""
    program = SimpleNamespace(pipelines=(None, None))  # more than it has counters of: it asks for no operators
    live = Live(Working("i0", seconds=seconds), Artifact(path, program, None, {}))  # type: ignore[arg-type]
    for stage in (1, 2):
        asyncio.run(lifecycle.execute(live, stage))


def test_the_optimiser_has_its_turn_once_the_program_has_worked_much() -> None:
    little, builder, lifecycle = plan(SUM, a=10), Builder(host("a")), SoftwareLifecycle()
    first = path_of(builder, little, lifecycle)
    (instance,) = little.instances
    for _ in range(2):
        work(lifecycle, first, quick_builds.WORK_S_MAX / 5)
        assert path_of(builder, little, lifecycle) == first
        assert (again := lifecycle.compiled(instance, builder)) is not None
        assert again.path == first
        assert not builder.later
    work(lifecycle, first, quick_builds.WORK_S_MAX / 5)
    assert (again := lifecycle.compiled(instance, builder)) is not None
    assert again.path == first
    ((key, source),) = builder.later.items()
    assert first == f"/nowhere/{quick_builds.key(key)}.so"
    assert builder.sources == {quick_builds.key(key): quick_builds.text(source())}
    asyncio.run(builder.compile("f0", source(), key))
    assert (optimised := lifecycle.compiled(instance, builder)) is not None
    assert optimised.path == path_of(builder, little) == f"/nowhere/{key}.so"


def test_the_optimiser_is_not_asked_for_what_must_not_be_quick() -> None:
    builder, lifecycle = Builder(host("a")), SoftwareLifecycle()
    path_of(builder, plan(SUM, a=10), lifecycle)  # its quick build is there
    (instance,) = plan(SUM, a=1e8).instances
    assert lifecycle.compiled(instance, builder) is None
    assert not builder.later


def test_programs_that_worked_last_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_builds, "PROGRAMS_MAX", 2)
    uses, found = quick_builds.Uses(), []
    for key in "abacba":
        uses.add(key, quick_builds.WORK_S_MAX * 0.6)
        found.append(uses.are_much(key))
    assert found == [False, False, True, False, False, False]


def test_much_work_waits_for_the_optimiser_though_there_is_a_quick_build() -> None:
    builder = Builder(host("a"))
    quick = path_of(builder, plan(SUM, a=10))
    optimised = path_of(builder, plan(SUM, a=1e8))
    assert quick.replace("-quick", "") == optimised != quick
    assert quick_builds.UNOPTIMISED not in builder.sources[optimised.split("/")[-1].removesuffix(".so")]
    assert quick_builds.UNOPTIMISED in builder.sources[quick.split("/")[-1].removesuffix(".so")]


def test_what_only_an_optimiser_compiles_is_optimised_at_once() -> None:
    builder = Builder(host("a"), refuses=True)
    assert "-quick" not in path_of(builder, plan(SUM, a=10))
