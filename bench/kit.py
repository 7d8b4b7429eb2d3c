"""Measures the conformance kit: the fraction of accelerators with one mistake each that fail it."""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections.abc import Sequence

from bench._measure import Figure, remark, report
from bench._mutants import MUTANTS, Mutant, importable
from jumpgate.hosts.config import this_machine
from jumpgate.nca.conformance import Report, compare
from jumpgate.nca.interface import NCA
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.testing.in_process import InProcess
from jumpgate.testing.rig import LocalRig

#: random dataflows beside the directed ones
RANDOM = 30


class Bench:
    """One accelerator of tests/packages, run in this process."""

    def __init__(self, package: str) -> None:
        self.nca: NCA = importlib.import_module(package).NCA
        registry = Registry([*default_registry(), self.nca])
        devices = (this_machine().device, *getattr(self.nca, "sample_devices", ()))
        self._runs = InProcess(self.nca)
        self.rig = LocalRig(registry, devices, runs=self._runs)

    def close(self) -> None:
        self.rig.close()
        self._runs.close()

    def check(self, stop: bool) -> Report:
        return compare(self.nca, self.rig, RANDOM, stop)


def missed(mutants: Sequence[Mutant]) -> list[str]:
    """The names of those that pass. Raises SystemExit if one of the right ones fails."""
    passed: list[str] = []
    with importable(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in dict.fromkeys(m.package for m in mutants):
            bench = Bench(package)
            try:
                right = bench.check(stop=False)
                if right.findings:
                    raise SystemExit(f"{package} fails: {right.findings[0]}")
                remark(f"{package}: {right.compared} results compared")
                for mutant in (m for m in mutants if m.package == package):
                    with mutant.planted():
                        found = bench.check(stop=True).findings
                    remark(f"{mutant.name}: {found[0] if found else 'NOT FOUND'}"[:200])
                    passed += [] if found else [mutant.name]
            finally:
                bench.close()
    return passed


def kit_mutants_caught() -> Figure:
    caught = len(MUTANTS) - len(missed(MUTANTS))
    return Figure(
        "kit_mutants_caught", caught / len(MUTANTS), 1.0, "higher", f"of {len(MUTANTS)} with one mistake each"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    report(kit_mutants_caught(), parser.parse_args().json)


if __name__ == "__main__":
    main()
