"""The kit's parts in order, the rig that it works on, and what it reports."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from jumpgate.dataflow.operators import Operator
from jumpgate.errors import CannotPlace, JumpgateError
from jumpgate.nca.conformance.answers import ask
from jumpgate.nca.conformance.breaks import WAYS, LiveHosts, break_off
from jumpgate.nca.interface import NCA, Device, JobPlan

#: plans whose life-cycles are broken off in every way
BROKEN_PLANS = 2


@dataclass(frozen=True)
class Finding:
    """Something wrong. `part` is answers, results or life-cycle; `case` says how to make it again."""

    part: str
    case: str
    what: str

    def __str__(self) -> str:
        return f"{self.part}, {self.case}: {self.what}"


@dataclass
class Report:
    """What the kit saw. An accelerator passes when nothing was found, and it was run and broken off.

    asked: dataflows about whose nodes it was asked; matched and refused count its answers. compared: results that it
    took part in. broken_off: life-cycles of its instances that did not come to their end.
    """

    nca: str
    asked: int = 0
    matched: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    compared: int = 0
    broken_off: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.findings and self.compared > 0 and self.broken_off > 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "nca": self.nca,
            "passed": self.passed,
            "asked": self.asked,
            "matched": self.matched,
            "refused": self.refused,
            "compared": self.compared,
            "broken_off": self.broken_off,
            "findings": [str(f) for f in self.findings],
        }


class Rig(Protocol):
    """What the kit needs around an accelerator: data, compiler, a way to run, a reference (jumpgate.testing.rig)."""

    devices: tuple[Device, ...]

    def dataflow(self, seed: int) -> Operator:
        """A random small dataflow over files that exist; the same for the same seed."""

    def plan(self, root: Operator, prefer: str) -> JobPlan:
        """The plan that uses the accelerator `prefer` wherever it matches. Raises CannotPlace."""

    def run(self, plan: JobPlan, root: Operator) -> Any:
        """The result as the accelerators compute it."""

    def difference(self, result: Any, root: Operator) -> str:
        """How `result` differs from the reference engine's; empty when it does not."""

    def live_hosts(self) -> AbstractAsyncContextManager[LiveHosts]:
        """Hosts of all devices that have one, for driving life-cycles; they end with the context."""


def check(nca: NCA, rig: Rig, cases: int = 50) -> Report:
    """Runs the whole kit on one accelerator with dataflows of seeds 0 to cases - 1."""
    report = Report(nca.name)
    for seed in range(cases):
        root = rig.dataflow(seed)
        problems = ask(nca, root, rig.devices, report.matched, report.refused)
        report.asked += 1
        report.findings += [Finding("answers", f"seed {seed}", p) for p in problems]
        plan = _planned(nca, rig, root)
        if plan is not None and nca.name in plan.explain["ncas"]:
            _compare(rig, seed, plan, root, report)
    asyncio.run(_break_off(nca, rig, cases, report))
    return report


def _planned(nca: NCA, rig: Rig, root: Operator) -> JobPlan | None:
    try:
        return rig.plan(root, nca.name)
    except CannotPlace:
        return None  # the rest of the dataflow found no place: nothing said about this accelerator


def _compare(rig: Rig, seed: int, plan: JobPlan, root: Operator, report: Report) -> None:
    try:
        wrong = rig.difference(rig.run(plan, root), root)
    except JumpgateError as error:
        wrong = f"{error.code}: {error}"
    report.compared += 1
    if wrong:
        report.findings.append(Finding("results", f"seed {seed}", wrong))


async def _break_off(nca: NCA, rig: Rig, cases: int, report: Report) -> None:
    plans = list(_own(nca, rig, cases))
    if not plans:
        return
    async with rig.live_hosts() as live:
        for seed, plan in plans:
            for way in WAYS:
                problems = await break_off(nca.lifecycle, plan, nca.name, way, live)
                report.broken_off += 1
                report.findings += [Finding("life-cycle", f"seed {seed}, {way}", p) for p in problems]
            if any(f.part == "life-cycle" for f in report.findings):
                return  # another plan would show the same, at the cost of every wait


def _own(nca: NCA, rig: Rig, cases: int) -> Iterator[tuple[int, JobPlan]]:
    """The first plans with instances of this accelerator. Parts of dataflows are planned, too: where it is fused with
    others, the life-cycle of the topmost one is used."""
    found = 0
    for seed in range(cases):
        for node in rig.dataflow(seed).walk():
            plan = _planned(nca, rig, node)
            if plan is not None and any(i.nca == nca.name for i in plan.instances):
                yield seed, plan
                found += 1
                break
        if found == BROKEN_PLANS:
            return
