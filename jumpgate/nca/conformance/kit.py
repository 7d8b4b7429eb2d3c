"""The kit's parts in order, the rig that it works on, and what it reports."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from jumpgate.dataflow.operators import Operator
from jumpgate.errors import CannotPlace, JumpgateError
from jumpgate.nca.conformance.answers import ask
from jumpgate.nca.conformance.breaks import VERBS, break_off
from jumpgate.nca.interface import NCA, Device, Host, JobPlan


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
    """What the kit saw. An accelerator passes when nothing was found and something was run."""

    nca: str
    asked: int = 0
    matched: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    compared: int = 0
    broken_off: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.findings and self.compared > 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "nca": self.nca, "passed": self.passed, "asked": self.asked, "matched": self.matched,
            "refused": self.refused, "compared": self.compared, "broken_off": self.broken_off,
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

    def hosts(self) -> Mapping[str, Host]:
        """By device name, for driving life-cycles."""

    def leftovers(self) -> Sequence[str]:
        """Processes, sockets and files that runs left behind."""


def check(nca: NCA, rig: Rig, cases: int = 50) -> Report:
    """Runs the whole kit on one accelerator with dataflows of seeds 0 to cases - 1."""
    report = Report(nca.name)
    for seed in range(cases):
        root = rig.dataflow(seed)
        problems, claims = ask(nca, root, rig.devices, report.matched, report.refused)
        report.asked += 1
        report.findings += [Finding("answers", f"seed {seed}", p) for p in problems]
        if claims:
            _compare(nca, rig, seed, root, report)
    return report


def _compare(nca: NCA, rig: Rig, seed: int, root: Operator, report: Report) -> None:
    try:
        plan = rig.plan(root, nca.name)
    except CannotPlace:
        return  # the rest of the dataflow found no place: nothing said about this accelerator
    try:
        wrong = rig.difference(rig.run(plan, root), root)
    except JumpgateError as error:
        wrong = f"{error.code}: {error}"
    report.compared += 1
    if wrong:
        report.findings.append(Finding("results", f"seed {seed}", wrong))
    if report.broken_off < len(VERBS):
        verb = VERBS[report.broken_off]
        report.broken_off += 1
        problems = asyncio.run(break_off(nca.lifecycle, plan, nca.name, verb, rig.hosts()))
        problems += [f"left behind: {thing}" for thing in rig.leftovers()]
        report.findings += [Finding("life-cycle", f"seed {seed}, broken off after {verb}", p) for p in problems]
