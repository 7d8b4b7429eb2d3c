"""Verdicts of a Tofino's own compiler that are on record, beside those of the model of a Tofino 1.

Small programs have theirs in tests/cases/vendor.toml. The others are those that open-p4studio, the vendor's kit, builds
for a Tofino 1 at each change of it (p4studio/profiles/testing.yaml): its compiler accepts them. They are no part of
this repository: `JUMPGATE_TNA_PROGRAMS` names the folder of _tna_programs, with KIT in it at the commit stated there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench import _tna_programs
from bench._measure import Figure, remark
from tests.support import vendor_cases

KIT = "p4lang/open-p4studio"
EXAMPLES, SWITCH = "pkgsrc/p4-examples", "pkgsrc/switch-p4-16/p4src"
#: in the lists that its builds are made of
_LISTED = re.compile(r"set \(P4_16_PROGRAMS\s+([^)]*)\)")
_PAIR = re.compile(r"\$\{program_name\}_[ab]-\$\{target_suffix\}")
_SWITCH = re.compile(r'set\(X2_TOFINO "\$\{TOFINO_PROGRAMS\}/(\w+\.p4)"\)')
TARGET = 0.95


def accepted(kit: Path) -> Iterator[Path]:
    """Yield the programs that the kit builds for a Tofino 1. Raises FileNotFoundError where its lists are not there."""
    lists = (kit / EXAMPLES / "CMakeLists.txt").read_text()
    folder = kit / EXAMPLES / "p4_16_programs"
    (names,) = _LISTED.findall(lists)
    for name in names.split():
        yield folder / name / f"{name}.p4"
    pair = folder / "tna_32q_multiprogram"
    assert _PAIR.search((pair / "CMakeLists.txt").read_text())
    for which in "ab":
        yield pair / f"program_{which}" / f"tna_32q_multiprogram_{which}.p4"
    (name,) = _SWITCH.findall((kit / SWITCH / "CMakeLists.txt").read_text())
    yield kit / SWITCH / "switch-tofino" / name


def verdicts_agree() -> Figure:
    """Compare the model with the verdicts. Raises KeyError where no folder is named."""
    folder = Path(os.environ[_tna_programs.VARIABLE]).absolute()
    small, large = vendor_cases.cases(), [*accepted(folder / KIT.replace("/", "+"))]
    with ProcessPoolExecutor() as pool:
        refusals = [*pool.map(_tna_programs.refusal, large, ["tofino1"] * len(large))]
    differing = [f"{case.name}: {case.source}" for case in small if case.accepted == bool(vendor_cases.refusal(case))]
    differing += [text.removeprefix(f"{folder}/") for text in refusals if text]
    for text in differing:
        remark(f"  {text}")
    count = len(small) + len(large)
    words = (
        f"{count - len(differing)} of {count} programs: {len(small)} small ones that p4c-barefoot 9.13.4 judged, "
        f"{sum(case.accepted for case in small)} of them accepted, and {len(large)} that {KIT} builds for a Tofino 1"
    )
    return Figure("verdicts_agree", 1 - len(differing) / count, TARGET, "higher", words)
