"""Asks a Tofino's own compiler what it says of a program: p4c-barefoot with its assembler, or bf-p4c of a vendor's kit.

It is a judge, not a dependency: nothing else needs it. Its errors come back in our form, and what it placed is counted
from what every version of it writes: stages from the assembly, ALUs and memory from `context.json`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpgate.errors import ConfigError
from jumpgate.p4.compiler.frontend.source import Position, Problem

VARIABLE = "JUMPGATE_P4C"
#: header vector allocation of a program that does not fit may go on for hours
SECONDS_MAX = 1200
STAGES = 12
_REMEDY = (
    f"give --compiler PATH, or set {VARIABLE}, to p4c-barefoot (the Tofino back end of the open-source compiler "
    "p4lang/p4c, configured with ENABLE_TOFINO and built with its assembler bfas) or to bf-p4c of a vendor's kit"
)
#: `x.p4(12): [--Werror=unsupported] error: …`, `x.bfa:12: error: …`, `error: …`
_ERROR = re.compile(
    r"^(?:(?P<file>[^\s:()]+)(?:\((?P<line>\d+)\)|:(?P<at>\d+)):? ?)?(?:\[[^]]*\] ?)?error: (?P<text>.*)"
)
_CARET = re.compile(r"^\s*\^+\s*$")
_STAGE = re.compile(r"^stage (\d+) (?:ingress|egress|ghost):", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """`stages` is None where it placed nothing, the rest where it assembled nothing. `problems`: why it refused."""

    compiler: str
    problems: tuple[Problem, ...]
    stages: int | None = None
    stateful_alus: int | None = None
    sram_blocks: int | None = None

    @property
    def accepts(self) -> bool:
        return not self.problems and self.stages is not None and self.stages <= STAGES

    def to_dict(self) -> dict[str, Any]:
        return {
            "compiler": self.compiler,
            "accepts": self.accepts,
            "problems": [str(p) for p in self.problems],
            "stages": self.stages,
            "stateful_alus": self.stateful_alus,
            "sram_blocks": self.sram_blocks,
        }


def find(path: str | None) -> Path:
    """The compiler: at `path`, else where the variable says. Raises ConfigError that says how to get one."""
    wanted = path or os.environ.get(VARIABLE)
    if not wanted:
        raise ConfigError(f"no Tofino compiler is known: {_REMEDY}")
    found = shutil.which(wanted)
    if found is None:
        raise ConfigError(f"there is no Tofino compiler at '{wanted}': {_REMEDY}")
    return Path(found).absolute()


def judge(source: Path, compiler: Path, seconds: float = SECONDS_MAX) -> Verdict:
    """Compiles and assembles `source` for a Tofino 1. Raises ConfigError if the compiler cannot be run."""
    text = source.read_text()
    with tempfile.TemporaryDirectory(prefix="jumpgate-judge-") as folder:
        out = Path(folder)
        said = ""
        for command in _commands(compiler, source.absolute(), out):
            try:
                status, more = _run(command, out, seconds)
            except subprocess.TimeoutExpired:
                late = f"the compiler did not end within {seconds:g} seconds: it found no place for the program"
                return Verdict(compiler.name, (Problem(Position(str(source), 1, 1), late, ""),), _stages(out))
            said += more
            if status:
                problems = tuple(_problems(said, source, text))
                if not problems:
                    last = (said.strip().splitlines() or ["it said nothing"])[-1]
                    ended = f"the compiler ended with status {status}: {last}"
                    problems = (Problem(Position(str(source), 1, 1), ended, ""),)
                return Verdict(compiler.name, problems, _stages(out))
        return Verdict(compiler.name, (), _stages(out), *_counts(out))


def _commands(compiler: Path, source: Path, out: Path) -> Iterator[list[str]]:
    """bf-p4c and p4c assemble themselves; p4c-barefoot leaves it to bfas, for each file that it wrote."""
    target = ["--target", "tofino", "--arch", "tna"]
    yield [str(compiler), *target, "-o", str(out), str(source)]
    if compiler.name == "p4c-barefoot":
        for made in sorted(out.rglob("*.bfa")):
            yield [str(_assembler(compiler)), "--no-warn", "--target", "tofino", "-o", str(made.parent), str(made)]


def _assembler(compiler: Path) -> Path:
    folders = [compiler.resolve().parent]
    folders += [up / below for up in compiler.resolve().parents for below in ("bf-asm", "backends/tofino/bf-asm")]
    found = next((folder / "bfas" for folder in folders if (folder / "bfas").is_file()), None) or shutil.which("bfas")
    if found is None:
        raise ConfigError(f"there is no assembler 'bfas' beside {compiler} or on the PATH: {_REMEDY}")
    return Path(found)


def _run(command: Sequence[str], folder: Path, seconds: float) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
            timeout=seconds, text=True, errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise ConfigError(f"cannot run {command[0]}: {error.strerror}") from error
    return done.returncode, done.stdout


def _problems(said: str, source: Path, text: str) -> Iterator[Problem]:
    """The errors in the compiler's form: file(line): error: text, the line itself, a caret below it."""
    lines, own = said.splitlines(), text.splitlines()
    for i, line in enumerate(lines):
        found = _ERROR.match(line)
        if found is None:
            continue
        number = int(found["line"] or found["at"] or 1)
        column, shown = 1, ""
        if found["line"] and Path(found["file"]).name == source.name:
            shown = own[number - 1] if number <= len(own) else ""
            caret = lines[i + 2] if i + 2 < len(lines) else ""
            column = caret.index("^") + 1 if _CARET.match(caret) else 1
        else:
            number = 1  # of a file that is gone when this is read
        yield Problem(Position(str(source), number, column), found["text"].strip(), shown)


def _stages(out: Path) -> int | None:
    numbers = [int(n) for made in out.rglob("*.bfa") for n in _STAGE.findall(made.read_text(errors="replace"))]
    return max(numbers) + 1 if numbers else None


def _counts(out: Path) -> tuple[int | None, int | None]:
    """Stateful ALUs and blocks of SRAM, spare banks too."""
    files = list(out.rglob("context.json"))
    if not files:
        return None, None
    alus, blocks = 0, set()
    for number, file in enumerate(files):
        for table in json.loads(file.read_text()).get("tables", []):
            alus += table.get("table_type") == "stateful"
            blocks |= {(number, *block) for block in _memory(table, -1)}
    return alus, len(blocks)


def _memory(node: Any, stage: int) -> Iterator[tuple[int, int]]:
    """(stage, unit) of all SRAM that is allocated somewhere in there."""
    if isinstance(node, list):
        for item in node:
            yield from _memory(item, stage)
    elif isinstance(node, dict):
        stage = node.get("stage_number", stage)
        if node.get("memory_type") == "sram":
            spare = node.get("spare_bank_memory_unit")
            units = [u for group in node.get("memory_units_and_vpns", ()) for u in group["memory_units"]]
            units += spare if isinstance(spare, list) else [spare] if spare is not None else []
            yield from ((stage, unit) for unit in units)
        for value in node.values():
            yield from _memory(value, stage)
