"""Results of the benchmarks, one file each in bench/results. `./dev bench NAME --json --record` adds to them.

A file holds `figures` and `tables`, one a line, so that a difference shows what was measured again. A figure is known
by its name and its setting: the arguments that change what is measured, such as `--scale 10`.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "bench" / "results"
#: figures that several benchmarks print, by the one whose file has them
HOMES = {"json_scan_vs_simdjson": "scan", "ntf_vs_socket": "ntf"}
#: arguments that choose or place what is measured, and do not change it
NEUTRAL = ("--only", "--data", "--journal", "--page", "--ibis", "--adbc-python")


@dataclass(frozen=True)
class Result:
    """One figure. `target`: None where it is only reported; `note`: why a target is missed, as far as it is known."""

    figure: str
    value: float
    target: float | None
    better: str
    compared: str
    commit: str
    machine: str
    load: str
    unit: str = ""
    setting: str = ""
    note: str = ""

    @property
    def reached(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.better == "higher" else self.value <= self.target

    @property
    def margin(self) -> float | None:
        """Return by which factor the target is exceeded; None where that says nothing."""
        if self.target is None or self.target <= 0 or self.value <= 0:
            return None
        return self.value / self.target if self.better == "higher" else self.target / self.value


@dataclass(frozen=True)
class Table:
    """Numbers behind figures. `rows`: a label, then numbers or texts."""

    name: str
    shows: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    commit: str
    machine: str
    load: str


@dataclass(frozen=True)
class Results:
    figures: tuple[Result, ...] = ()
    tables: tuple[Table, ...] = ()

    def added(self, new: Result) -> Results:
        """Replace the figure's earlier result. Unit and note stay, the note only while the target is missed."""
        key = (new.figure, new.setting)
        old = next((r for r in self.figures if (r.figure, r.setting) == key), None)
        if old is None:
            return replace(self, figures=(*self.figures, new))
        new = replace(new, unit=new.unit or old.unit, note="" if new.reached else old.note)
        return replace(self, figures=tuple(new if r is old else r for r in self.figures))


def load(bench: str, folder: Path = FOLDER) -> Results:
    file = folder / f"{bench}.json"
    if not file.exists():
        return Results()
    found = json.loads(file.read_text(encoding="utf-8"))
    tables = (Table(**{**t, "columns": (*t["columns"],), "rows": (*map(tuple, t["rows"]),)}) for t in found["tables"])
    return Results(tuple(Result(**r) for r in found["figures"]), tuple(tables))


def text(results: Results) -> str:
    figures = [{k: v for k, v in asdict(r).items() if v != ""} for r in results.figures]
    tables = [asdict(t) for t in results.tables]
    return f'{{\n  "figures": {_lines(figures)},\n  "tables": {_lines(tables)}\n}}\n'


def _lines(items: Sequence[dict[str, Any]]) -> str:
    inside = ",\n".join(f"    {json.dumps(item, ensure_ascii=False)}" for item in items)
    return f"[\n{inside}\n  ]" if items else "[]"


def benches(folder: Path = FOLDER) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.json"))


def setting(arguments: Iterable[str]) -> str:
    """Return the arguments that change what is measured."""
    left, skipped = [], False
    for word in arguments:
        if not skipped and word not in ("--json", "--record") and word not in NEUTRAL:
            left.append(word)
        skipped = not skipped and word in NEUTRAL
    return " ".join(left)


def read(line: str, arguments: Sequence[str], commit: str, machine: str, load: str) -> Result:
    """Return the result that a benchmark printed as JSON. A figure that is only reported says so, and has no target."""
    printed = json.loads(line)
    compared = printed["compared"]
    target = None if "reported" in compared else printed["target"]
    return Result(
        printed["figure"], printed["value"], target, printed["better"], compared, commit, machine, load,
        setting=setting(arguments),
    )  # fmt: skip


def record(bench: str, arguments: Sequence[str], folder: Path = FOLDER) -> int:
    """Run a benchmark, pass on what it prints, and write each figure into its file as it comes."""
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    machine = f"{len(os.sched_getaffinity(0))} cores of {_processor()}"
    load_before = f"load {os.getloadavg()[0]:.0f}"
    command = [sys.executable, "-m", f"bench.{bench}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            if line.startswith("{"):
                result = read(line, arguments, git.stdout.strip(), machine, load_before)
                home = HOMES.get(result.figure, bench)
                folder.mkdir(exist_ok=True)
                (folder / f"{home}.json").write_text(text(load(home, folder).added(result)), encoding="utf-8")
    return running.returncode


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    sys.exit(record(sys.argv[1], sys.argv[2:]))
