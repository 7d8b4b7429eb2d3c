"""Measures the conformance kit: the fraction of accelerators with one mistake each that fail it, and what it finds of
engines without a mistake."""

from __future__ import annotations

import argparse
import importlib
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench._driver_mutants import DRIVER_MUTANTS, missed_drivers
from bench._kit_engines import Engine, correct, plain
from bench._kit_mutants import PLAIN_MUTANTS, PlainMutant, end_what_is_left
from bench._measure import Figure, remark, report
from bench._mutants import MUTANTS, Mutant, importable
from jumpgate.hosts.config import this_machine
from jumpgate.nca.conformance import Case, Finding, Report, compare
from jumpgate.nca.interface import NCA
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.testing.directed import directed
from jumpgate.testing.in_process import InProcess
from jumpgate.testing.rig import LocalRig

#: random dataflows beside the directed ones
RANDOM = 30


class Bench:
    """One accelerator, run in this process. `directed`: the directed dataflows; None: all."""

    def __init__(self, nca: NCA, directed: Sequence[Case] | None = None) -> None:
        self.nca = nca
        registry = Registry([*(n for n in default_registry() if n.name != nca.name), self.nca])
        devices = (this_machine().device, *getattr(self.nca, "sample_devices", ()))
        self._runs = InProcess(self.nca)
        self.rig = LocalRig(registry, devices, runs=self._runs)
        if directed is not None:
            self.rig.directed = lambda: iter(directed)  # type: ignore[method-assign]

    def close(self) -> None:
        self.rig.close()
        self._runs.close()

    def check(self, stop: bool, cases: int = RANDOM) -> Report:
        return compare(self.nca, self.rig, cases, stop)


def missed(mutants: Sequence[Mutant]) -> Iterator[str]:
    """Yield the names of those that pass. Raises SystemExit if one of the right ones fails."""
    with importable():
        for package in dict.fromkeys(m.package for m in mutants):
            bench = Bench(importlib.import_module(package).NCA)
            try:
                right = bench.check(stop=False)
                _require_right(package, right.findings)
                remark(f"{package}: {right.compared} results compared")
                for mutant in (m for m in mutants if m.package == package):
                    with mutant.planted():
                        if not _found(mutant.name, bench.check(stop=True)):
                            yield mutant.name
            finally:
                bench.close()


def missed_plain(mutants: Sequence[PlainMutant], only: tuple[str, ...] = (), cases: int = RANDOM) -> Iterator[str]:
    """Yield the names of the mutants of the plain engine that pass. `only`: the operators whose directed dataflows
    run. Raises SystemExit if the engine fails without a mistake."""
    with tempfile.TemporaryDirectory() as folder:
        shared = [*directed(Path(folder), only=only)]
        bench = Bench(Engine("plain_python", plain()), shared)
        try:
            _require_right(bench.nca.name, _mistakes(bench.check(stop=True, cases=cases)))
        finally:
            bench.close()
        for mutant in mutants:
            bench = Bench(mutant.engine(), shared)
            try:
                if not _found(mutant.name, bench.check(stop=True, cases=cases)):
                    yield mutant.name
            finally:
                end_what_is_left()
                bench.close()


def _require_right(name: str, findings: Sequence[Finding]) -> None:
    if findings:
        raise SystemExit(f"{name} fails without a mistake: {findings[0]}")


def _mistakes(report: Report) -> list[Finding]:
    """Return what was found, but that too little was compared."""
    return [f for f in report.findings if f.part != "coverage"]


def _found(name: str, report: Report) -> bool:
    """Return whether something of it was found."""
    found = _mistakes(report)
    remark(f"{name}: {found[0] if found else 'NOT FOUND'}"[:200])
    return bool(found)


def kit_mutants_caught() -> Figure:
    count = len(MUTANTS) + len(PLAIN_MUTANTS) + len(DRIVER_MUTANTS)
    caught = count - len([*missed(MUTANTS), *missed_plain(PLAIN_MUTANTS), *missed_drivers()])
    return Figure("kit_mutants_caught", caught / count, 1.0, "higher", f"of {count} with one mistake each")


def kit_false_findings() -> Figure:
    """Count what is found of engines without a mistake."""
    found = 0
    with importable():
        engines: list[NCA] = [importlib.import_module("arrow_engine").NCA, default_registry().get("engine"), *correct()]
        for nca in engines:
            bench = Bench(nca)
            try:
                right = bench.check(stop=False)
            finally:
                bench.close()
            remark(f"{nca.name}: {right.compared} results compared")
            for finding in right.findings:
                remark(f"{nca.name}: {finding}"[:300])
            found += len(right.findings)
    return Figure("kit_false_findings", found, 0.0, "lower", f"over {len(engines)} engines without a mistake")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report(kit_false_findings(), as_json)
        report(kit_mutants_caught(), as_json)


if __name__ == "__main__":
    main()
