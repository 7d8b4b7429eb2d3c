"""Verdicts of a Tofino's own compiler on public programs, beside those of the model of a Tofino 1.

`_tna_verdicts.json` has what p4c-barefoot 9.13.4 said of programs of `_tna_programs.REPOSITORIES`. None of them is
here: `JUMPGATE_TNA_PROGRAMS` names the folder where they lie, and they are known by the hash of their text. To ask that
compiler anew, as `JUMPGATE_P4C` names it:

    python -m bench._tna_verdicts FOLDER SECONDS    # of each program at most
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench import _tna_programs
from bench._measure import Figure, remark
from jumpgate.p4.compiler import P4Error, compile_source
from jumpgate.p4.compiler.judge import find, judge
from tests.support import vendor_cases

RECORDED = Path(__file__).with_name("_tna_verdicts.json")
HASH_DIGITS = 16
TARGET = 0.95
#: said of programs that lack a file or a macro, or that took too long
UNJUDGED = ("No such file", "#error", "did not end within", "ended with status")


def name_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def refusal(file: Path) -> str:
    """Return the first line of why the model of a Tofino 1 refuses a program; nothing if it accepts it."""
    try:
        compile_source(file.read_text(errors="replace"), str(file), includes=_tna_programs.includes(file))
    except P4Error as error:
        return str(error).splitlines()[0]
    return ""


def judged(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the programs below a folder that were judged, each text once, and whether that compiler accepted it."""
    recorded = {key: said["accepted"] for key, said in json.loads(RECORDED.read_text()).items()}
    for file in _tna_programs.programs(folder):
        accepted = recorded.pop(name_of(file.read_text(errors="replace")), None)
        if accepted is not None:
            yield file, accepted


def verdicts_agree() -> Figure:
    """Compare verdicts on small programs and on public ones. Raises KeyError where no folder is named."""
    folder = Path(os.environ[_tna_programs.VARIABLE]).absolute()
    public, small = [*judged(folder)], vendor_cases.cases()
    with ProcessPoolExecutor() as pool:
        refused = [*pool.map(refusal, (file for file, _ in public))]
    differing = [
        f"{file.relative_to(folder)}: {'accepted' if accepted else 'refused'}; the model: {text or 'accepted'}"
        for (file, accepted), text in zip(public, refused, strict=True)
        if accepted == bool(text)
    ]
    differing += [case.name for case in small if case.accepted == bool(vendor_cases.refusal(case))]
    for line in differing:
        remark(f"  {line.replace(f'{folder}/', '')}")
    count = len(public) + len(small)
    accepted = sum(accepted for _, accepted in public)
    words = (
        f"{count} programs that p4c-barefoot 9.13.4 judged: {len(small)} small ones, and {len(public)} public ones of "
        f"which it accepts {accepted}; of these the model agrees on {len(public) - len(differing)}"
    )
    return Figure("verdicts_agree", 1 - len(differing) / count, TARGET, "higher", words)


def main(folder: str, seconds: str) -> None:
    """Add verdicts to those that are recorded, and keep what was said of the refused ones."""
    known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    compiler = find(None)
    for file in _tna_programs.programs(Path(folder).absolute()):
        key = name_of(file.read_text(errors="replace"))
        if key in known:
            continue
        verdict = judge(file, compiler, float(seconds))
        said = verdict.problems[0].message if verdict.problems else ""
        print(file, verdict.stages, said, flush=True)
        if any(text in said for text in UNJUDGED):
            continue
        program = str(file.relative_to(Path(folder).absolute()))
        known[key] = {"program": program, "accepted": verdict.accepts, "said": said[:160]}
        by_program = sorted(known.items(), key=lambda item: str(item[1]["program"]))
        RECORDED.write_text(json.dumps(dict(by_program), indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
