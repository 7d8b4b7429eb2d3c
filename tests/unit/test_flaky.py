"""`./dev test` runs the few tests that failed once more: one that fails again fails the run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: takes the place of pytest: notes its arguments, one a line, and fails as the file beside it says
PYTEST = """#!/bin/sh
printf '%s\\n' "$@" >> told
exit "$(cat again)"
"""
LOAD = (
    "import importlib.machinery as m, importlib.util as u, sys; "
    "loader = m.SourceFileLoader('runner', 'dev'); module = u.module_from_spec(u.spec_from_loader('runner', loader)); "
    "sys.modules['runner'] = module; loader.exec_module(module); sys.exit(module.settled(int(sys.argv[1])))"
)


def settled(folder: Path, first: int, again: int, names: list[str]) -> tuple[int, list[str], str]:
    """Return the exit status of a run that ended with `first`, what pytest was told then, and the last words."""
    shutil.copyfile(ROOT / "dev", folder / "dev")
    (folder / "again").write_text(str(again))
    kept = folder / ".pytest_cache" / "v" / "cache"
    for made in (kept, folder / ".venv" / "bin"):
        made.mkdir(parents=True)
    (kept / "lastfailed").write_text(json.dumps(dict.fromkeys(names, True)))
    pytest_ = folder / ".venv" / "bin" / "pytest"
    pytest_.write_text(PYTEST)
    pytest_.chmod(0o755)
    command = [sys.executable, "-c", LOAD, str(first)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    told = folder / "told"
    return done.returncode, told.read_text().splitlines() if told.exists() else [], done.stderr


def test_one_that_passes_then_is_named(tmp_path: Path) -> None:
    names = ["tests/a.py::test_x[a@b]@spark", "tests/b.py::test_y@integration/b.py"]
    code, told, said = settled(tmp_path, 1, 0, names)
    assert code == 0
    assert told == ["--run=all", "-n", "0", "tests/a.py::test_x[a@b]", "tests/b.py::test_y"]
    assert [line.split()[:2] for line in said.splitlines()] == [
        ["FLAKY:", "tests/a.py::test_x[a@b]"], ["FLAKY:", "tests/b.py::test_y"],
    ]  # fmt: skip


def test_one_that_fails_again_fails_the_run(tmp_path: Path) -> None:
    assert settled(tmp_path, 1, 1, ["tests/a.py::test_x"])[0] == 1


@pytest.mark.parametrize(("first", "failed"), [(0, 1), (1, 6), (2, 1), (3, 1)])
def test_nothing_else_is_run_again(tmp_path: Path, first: int, failed: int) -> None:
    code, told, said = settled(tmp_path, first, 0, [f"tests/a.py::test_{n}" for n in range(failed)])
    assert (code, told, said) == (first, [], "")
