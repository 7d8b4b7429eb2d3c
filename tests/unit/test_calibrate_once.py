"""A machine is measured by one process at a time, and whatever became of the last one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jumpgate.client.sql import calibrate_once
from jumpgate.client.sql.calibrate import BRIEF, Effort
from jumpgate.codegen import cache
from jumpgate.errors import BuildError
from jumpgate.service import calibration

MEASURED = {"host": {"probe": 1e-9}, "duckdb": {"job": 0.5}}
#: holds the lock with a folder of results, says so, and waits
HOLDER = """
import sys
from jumpgate.client.sql import calibrate_once
def measure(effort):
    print("measures", flush=True)
    sys.stdin.read()
calibrate_once.measure = measure
calibrate_once.once(calibrate_once.calibrate.BRIEF)
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The caches in which was measured."""
    caches: list[Path] = []

    def measure(effort: Effort) -> dict[str, dict[str, float]]:
        caches.append(cache.root())
        cache.folder("jobs")
        return MEASURED

    monkeypatch.setattr(calibrate_once, "measure", measure)
    return caches


def test_a_machine_is_measured_once_and_apart(root: Path, measured: list[Path]) -> None:
    assert calibrate_once.once(BRIEF)
    assert calibration.load("host") == MEASURED["host"]
    assert not calibrate_once.once(BRIEF)
    (apart,) = measured
    assert apart.parent == root / "calibration"
    assert list(apart.parent.iterdir()) == [calibration.path()]  # the folder is gone, with its records of jobs
    assert cache.root() == root and not (root / "jobs").exists()


def test_what_fails_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch, measured: list[Path]) -> None:
    def fail(effort: Effort) -> dict[str, dict[str, float]]:
        raise BuildError("no compiler")

    with monkeypatch.context() as failing, pytest.raises(BuildError):
        failing.setattr(calibrate_once, "measure", fail)
        calibrate_once.once(BRIEF)
    assert not list((root / "calibration").iterdir()) and cache.root() == root
    assert calibrate_once.once(BRIEF)


def test_one_process_measures_and_one_that_is_killed_does_not_keep_others_from_it(measured: list[Path]) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None and holder.stdout is not None
    try:
        assert holder.stdout.readline() == b"measures\n"
        assert not calibrate_once.once(BRIEF) and not measured
    finally:
        holder.kill()
        assert holder.wait() == -signal.SIGKILL
        holder.stdin.close()
        holder.stdout.close()
    assert calibration.path().with_suffix("").is_dir()  # what it left
    assert calibrate_once.once(BRIEF) and measured
    assert not calibration.path().with_suffix("").exists()


def test_the_process_ends_with_its_standard_input() -> None:
    program = "from jumpgate.client.sql import calibrate_once; calibrate_once._end_with_parent()"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait() == 1


def test_a_process_gives_way_with_its_session() -> None:
    program = "import os; from jumpgate.machine import yield_to_others; yield_to_others(); print(os.nice(0))"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, start_new_session=True
    )
    assert found.stdout == "19\n" and os.nice(0) < 19
