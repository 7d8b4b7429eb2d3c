"""Runs the kit's parts in order; declares the rig that it needs and the report that it makes."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Operator
from jumpgate.errors import CannotPlace, JumpgateError
from jumpgate.nca.conformance import breaks
from jumpgate.nca.conformance.answers import ask, operator_of
from jumpgate.nca.conformance.breaks import LIMIT_S_MAX, ROUND_TRIPS, WAYS, LiveHosts, break_off, raised
from jumpgate.nca.conformance.coverage import parts
from jumpgate.nca.interface import NCA, Device, JobPlan
from jumpgate.nca.transport import TCP

#: plans whose life-cycles are interrupted in every way
BROKEN_PLANS = 2
#: the fewest results that each claimed operator must have contributed to
COMPARED_MIN = 4
#: wrong results of directed dataflows after which the kit stops
WRONG_MAX = 20
#: runs of one dataflow, each of which must give its result and leave nothing behind
REPEATS = 5


@dataclass(frozen=True)
class Case:
    """A dataflow to ask about and run, with the dialect that it is computed by and the instances of each operator.
    `error` is the code of the only correct error, if any."""

    name: str
    root: Operator
    error: str = ""
    dialect: Dialect = DEFAULT
    parallelism: int = 1


class NotUsed(Exception):
    """The plan that ran has no part of the accelerator, whatever was planned."""


@dataclass(frozen=True)
class Finding:
    """A problem. `part` is answers, results, coverage or life-cycle; `case` says how to reproduce it."""

    part: str
    case: str
    what: str

    def __str__(self) -> str:
        return f"{self.part}, {self.case}: {self.what}"


@dataclass
class Report:
    """The kit's observations. An accelerator passes if it was run and interrupted and nothing was found.

    asked: dataflows about whose nodes it was asked; matched and refused count its answers. compared: results that it
    contributed to; `operators` counts them by operator, `parts` by function, measure, shape of join and literal
    (coverage.py): 0 of what it claimed, but no plan had. broken_off: life-cycles of its instances that were
    interrupted.
    """

    nca: str
    asked: int = 0
    matched: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    compared: int = 0
    operators: dict[str, int] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    broken_off: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Return whether results were compared, life-cycles interrupted, and nothing was found."""
        return not self.findings and self.compared > 0 and self.broken_off > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "nca": self.nca,
            "passed": self.passed,
            "asked": self.asked,
            "matched": self.matched,
            "refused": self.refused,
            "compared": self.compared,
            "operators": self.operators,
            "parts": dict(sorted(self.parts.items())),
            "broken_off": self.broken_off,
            "findings": [str(f) for f in self.findings],
        }


class Rig(Protocol):
    """The environment of an accelerator under test: data, compiler, a way to run, a reference
    (jumpgate.testing.rig)."""

    devices: tuple[Device, ...]

    def directed(self) -> Iterable[Case]:
        """Yield dataflows for behaviour in which engines differ, and those of the accelerator's author."""

    def dataflow(self, seed: int) -> Operator:
        """Return a random small dataflow over existing files; the same for the same seed."""

    def plan(self, case: Case, prefer: str) -> JobPlan:
        """Return the plan that uses the accelerator `prefer` wherever it matches. Raises CannotPlace."""

    def run(self, plan: JobPlan, case: Case) -> Any:
        """Return the accelerators' result. Raises NotUsed if another plan ran, without the preferred accelerator."""

    def difference(self, result: Any, case: Case) -> str:
        """Return the difference between `result` and the reference engine's; empty if there is none."""

    def held(self) -> Mapping[str, int]:
        """Count what jobs can leave behind when they end: processes, descriptors and files, by kind."""

    def live_hosts(self) -> AbstractAsyncContextManager[LiveHosts]:
        """Return hosts for all devices that have one, to drive life-cycles on; they end with the context."""


def check(nca: NCA, rig: Rig, cases: int = 50, before: Report | None = None) -> Report:
    """Run the whole kit on one accelerator: the directed dataflows, and random ones of seeds 0 to cases - 1. The report
    includes that of `before`, from another rig."""
    report = compare(nca, rig, cases, before=before)
    asyncio.run(_break_off(nca, rig, cases, report))
    return report


def compare(nca: NCA, rig: Rig, cases: int = 50, stop: bool = False, before: Report | None = None) -> Report:
    """Run the kit without life-cycles. `stop`: at the first finding. `before` as for `check`."""
    report = before or Report(nca.name)
    wrong = 0
    repeated: list[Case] = []
    for case in itertools.chain(rig.directed(), _random(rig, cases)):
        matched: dict[str, int] = {}
        claimed: set[str] = set()
        try:
            problems = ask(nca, case.root, rig.devices, matched, report.refused, case.dialect, claimed)
        except Exception as error:  # any exception of an answer is the finding
            problems = [raised("asking it", error)]
        for part in claimed:
            report.parts.setdefault(part, 0)
        for name, times in matched.items():
            report.matched[name] = report.matched.get(name, 0) + times
        report.asked += 1
        report.findings += [Finding("answers", case.name, p) for p in problems]
        try:
            plan = _planned(nca, rig, case)
        except Exception as error:
            report.findings.append(Finding("answers", case.name, raised("planning", error)))
            continue
        if plan is not None and nca.name in plan.explain["ncas"]:
            found, was = report.compared, wrong
            wrong += _compare(rig, case, plan, report)
            if report.compared > found:
                kinds = {operator_of(name) for name in matched}
                if wrong == was and not case.error and any(kind not in report.operators for kind in kinds):
                    repeated.append(case)  # the first of its operator
                for kind in kinds:
                    report.operators[kind] = report.operators.get(kind, 0) + 1
                for part in claimed & _ran(nca, plan):
                    report.parts[part] = report.parts.get(part, 0) + 1
        if wrong >= WRONG_MAX or (stop and report.findings):
            return report
    for case in repeated:
        report.findings += _repeat(nca, rig, case)
    report.findings += _thin(report)
    return report


def _random(rig: Rig, cases: int) -> Iterator[Case]:
    """Yield the random dataflows; every third runs on two instances of each operator."""
    for seed in range(cases):
        yield Case(f"seed {seed}", rig.dataflow(seed), parallelism=2 if seed % 3 == 1 else 1)


def _repeat(nca: NCA, rig: Rig, case: Case) -> Iterator[Finding]:
    """Yield what an accelerator keeps of jobs that have ended: state that changes later results, and resources of
    which each run leaves some."""
    name = f"{case.name}, run {REPEATS} times"
    try:
        before = rig.held()
        for _ in range(REPEATS):
            plan = _planned(nca, rig, case)
            assert plan is not None, "it was planned before"
            if wrong := rig.difference(rig.run(plan, case), case):
                yield Finding("results", name, wrong)
                return
        grown = _grown(rig, before)
    except Exception as error:
        yield Finding("results", name, raised("running it", error))
        return
    for kind, count in grown.items():
        yield Finding("life-cycle", name, f"each run leaves {kind} behind: {count} more than before")


def _grown(rig: Rig, before: Mapping[str, int]) -> dict[str, int]:
    """Return how many more there are of what each of REPEATS runs may have left behind; what is ended late has time."""
    deadline = time.monotonic() + breaks.GONE_S
    while True:
        grown = {kind: count - before.get(kind, 0) for kind, count in rig.held().items()}
        if not (left := {kind: count for kind, count in grown.items() if count >= REPEATS}):
            return {}
        if time.monotonic() > deadline:
            return left
        time.sleep(breaks.POLL_S)


def _ran(nca: NCA, plan: JobPlan) -> set[str]:
    """Return the parts of the accelerator's instances, and of those that compute its wires."""
    wires = {name for e in plan.edges if e.transport != TCP for name in (*e.producers, *e.consumers)}
    return parts(node for i in plan.instances if i.nca == nca.name or i.id in wires for node in i.root.walk())


def _thin(report: Report) -> Iterator[Finding]:
    """Yield claimed operators that were hardly compared."""
    if not report.compared:
        reasons = sorted(report.refused, key=lambda reason: -report.refused[reason])[:3]
        said = f"; what it said most: {'; '.join(reasons)}" if reasons else ""
        yield Finding("coverage", "all dataflows", f"no result that it took part in was compared{said}. {MORE}")
        return
    for kind in sorted({operator_of(name) for name in report.matched}):
        if (compared := report.operators.get(kind, 0)) < COMPARED_MIN:
            yield Finding("coverage", kind, f"compared {compared} times, at least {COMPARED_MIN} are needed. {MORE}")


#: the remedy for too few comparisons
MORE = "Add dataflows that it takes: jumpgate nca check --dataflows FILE."


def _planned(nca: NCA, rig: Rig, case: Case) -> JobPlan | None:
    try:
        return rig.plan(case, nca.name)
    except CannotPlace:
        return None  # the rest of the dataflow found no place: nothing learned about this accelerator


def _compare(rig: Rig, case: Case, plan: JobPlan, report: Report) -> bool:
    """Run and compare one case. Return whether there was a problem."""
    wrong = ""
    try:
        result = rig.run(plan, case)
        wrong = f"a result, where {case.error} is right" if case.error else rig.difference(result, case)
    except NotUsed as error:
        report.findings.append(Finding("results", case.name, str(error)))
        return True
    except JumpgateError as error:
        if error.code != case.error:
            wrong = f"{error.code}: {error}"
    except Exception as error:
        wrong = raised("running it", error)
    report.compared += 1
    if wrong:
        report.findings.append(Finding("results", case.name, wrong))
    return bool(wrong)


async def _break_off(nca: NCA, rig: Rig, cases: int, report: Report) -> None:
    plans = list(_own(nca, rig, cases))
    if not plans:
        what = f"no plan has an instance of it, so that no life-cycle was interrupted. {MORE}"
        report.findings.append(Finding("life-cycle", "all dataflows", what))
        return
    async with rig.live_hosts() as live:
        limit_s = breaks.LIMIT_S
        for name, plan in plans:
            for way in WAYS:
                began = time.monotonic()
                problems = await break_off(nca.lifecycle, plan, nca.name, way, live, limit_s)
                took_s = time.monotonic() - began
                if way.verb == "allocate" and way.end == "destroyed" and not problems:
                    limit_s = max(limit_s, min(LIMIT_S_MAX, ROUND_TRIPS * took_s))  # on a loaded machine it has more
                report.broken_off += 1
                report.findings += [Finding("life-cycle", f"{name}, {way}", p) for p in problems]
            if any(f.part == "life-cycle" for f in report.findings):
                return  # another plan would show the same and wait as long


def _own(nca: NCA, rig: Rig, cases: int) -> Iterator[tuple[str, JobPlan]]:
    """Yield the first plans with instances of this accelerator. Parts of dataflows are planned, too: fused with others,
    only the topmost one's life-cycle is used."""
    found = 0
    for case in itertools.chain((Case(f"seed {s}", rig.dataflow(s)) for s in range(cases)), rig.directed()):
        for node in case.root.walk():
            try:
                plan = _planned(nca, rig, replace(case, root=node))
            except Exception:  # it was found when the answers were compared
                plan = None
            if plan is not None and any(i.nca == nca.name for i in plan.instances):
                yield case.name, plan
                found += 1
                break
        if found == BROKEN_PLANS:
            return
