"""First runs: which plan is chosen, and what is remembered of those that were refused or failed."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.operators import Read, Send
from jumpgate.dataflow.request import Flow, Request, RunOptions
from jumpgate.dataflow.types import Schema, int64
from jumpgate.errors import Cancelled, CannotPlace, Overflow
from jumpgate.nca.interface import JobFigures, JobPlan
from jumpgate.service.first_runs import REMEMBERED_MAX, FirstRuns


def request(**options: Any) -> Request:
    root = Read(("/d/t.parquet",), "parquet", Schema.of(v=int64), (0,))
    return Request(Flow.of(Send(root, ("",)), DEFAULT), ("127.0.0.1:1",), RunOptions(**options))


def plan(seconds: float | None, nca: str = "engine") -> JobPlan:
    return JobPlan((), (), 1, "result", {"ncas": [nca]}, JobFigures(seconds=seconds))


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPGATE_FIRST_RUNS", "")


def chosen(runs: FirstRuns, built_s: float | None, build_s: float, **options: Any) -> tuple[JobPlan | None, str]:
    return asyncio.run(runs.plan(request(**options), plan(built_s, "cpp"), build_s))


def test_the_faster_plan_is_chosen() -> None:
    first = plan(1.0)
    runs = FirstRuns(lambda _: first)
    assert chosen(runs, 0.5, 0.0) == (None, "")  # the programs are there
    assert chosen(runs, 0.5, 0.8)[0] is first
    found, reason = chosen(runs, 0.1, 0.8)
    assert found is None and "slower than programs that are built first" in reason
    assert chosen(runs, None, 0.8)[0] is first
    found, reason = chosen(runs, 0.1, math.inf)
    assert found is first and reason.endswith("its programs cannot be built")


def test_who_prefers_an_accelerator_or_programs_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = FirstRuns(lambda _: plan(0.0))
    assert runs.applies(request(), plan(0.5))
    assert not runs.applies(request(prefer=("cpp",)), plan(0.5))
    assert not runs.applies(request(wait_for_programs=True), plan(0.5))
    monkeypatch.setenv("JUMPGATE_FIRST_RUNS", "build")
    assert not runs.applies(request(), plan(0.5))


def test_what_is_refused_is_not_planned_again() -> None:
    asked: list[Request] = []

    def refuse(request: Request) -> JobPlan:
        asked.append(request)
        raise CannotPlace("no such operator")

    runs = FirstRuns(refuse)
    assert chosen(runs, 0.5, 0.8) == chosen(runs, 0.5, 0.8) == (None, "no such operator")
    assert len(asked) == 1


def test_a_first_run_that_failed_is_not_repeated() -> None:
    runs, built = FirstRuns(lambda _: plan(0.0)), plan(0.5, "cpp")
    runs.failed("another", Overflow("of another job"))
    assert runs.ended("another") is None
    runs.submitted("job", request(), built)
    runs.failed("job", Cancelled("by its client"))
    assert chosen(runs, 0.5, 0.8)[0] is not None
    runs.failed("job", Overflow("too much"))
    assert runs.ended("job") is built and runs.ended("job") is None
    assert chosen(runs, 0.5, 0.8) == (None, "it failed: too much")


def test_little_is_remembered() -> None:
    runs = FirstRuns(lambda _: plan(0.0))
    for number in range(REMEMBERED_MAX + 10):
        runs.submitted(str(number), request(), plan(0.5))
    assert len(runs._jobs) == REMEMBERED_MAX
