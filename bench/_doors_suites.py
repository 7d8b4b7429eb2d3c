"""Run what others test doors with: the driver validation suite of ADBC, and Ibis's own tests of its backend for DuckDB.

Both are found in their projects' repositories; neither is on a package registry as a whole.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq

from jumpgate.flight.clients import Clients
from jumpgate.flight.door import Door
from jumpgate.hosts.config import TableConfig, local_hosts
from jumpgate.service import embedded

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Count:
    """Tests of a run, without those that were skipped or are known to fail; `failed` names those that did."""

    passed: int
    failed: tuple[str, ...]

    @property
    def share(self) -> float:
        """Return the part of the tests that passed."""
        return self.passed / (self.passed + len(self.failed))


def adbc(python: Path) -> Count:
    """Run the validation suite by an interpreter that has it, with ADBC's driver for Flight SQL, on a service."""
    with tempfile.TemporaryDirectory() as name:
        file, report = Path(name) / "t.parquet", Path(name) / "report.xml"
        pq.write_table(pa.table({"a": [1]}), file)
        config = replace(local_hosts(1), tables=(TableConfig("t", (str(file),), "parquet", "extra"),))
        service = embedded.start(config)
        door = Door(Clients(lambda: config, service.guard, service.stub), "127.0.0.1", 0, None)
        known = {"SERVICE_URI": door.address, "SERVICE_AUTHORIZATION": f"Bearer {service.token}"}
        try:
            _pytest(python, report, str(ROOT / "bench" / "adbc_suite"), **known)
        finally:
            door.close()
            service.close()
        return counted(report)


def ibis(checkout: Path) -> tuple[Count, Count]:
    """Run Ibis's tests of backends on DuckDB's, and on Jumpgate's, which offloads whatever can be.

    checkout: of ibis-project/ibis at the version that is installed, with ibis-project/testing-data in
    `ci/ibis-testing-data`. The tests need pytest-mock, pytest-snapshot, pytest-benchmark and filelock.
    """
    # time limits are for idle machines, warnings for the versions that Ibis locks; a group shares the tables of TPC
    options = ["-m", "duckdb", "-o", "addopts=", "-o", "filterwarnings=", "-p", "no:timeout", "--import-mode=importlib"]
    options += ["-n", "2", "--dist", "loadgroup"]
    # NIX_: without extensions that DuckDB would fetch
    known = {"PYTHONPATH": f"{checkout}{os.pathsep}{ROOT}", "NIX_JUMPGATE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    tests = [str(checkout / "ibis" / "backends" / part) for part in ("tests", "duckdb/tests")]
    found = []
    with tempfile.TemporaryDirectory() as name:
        for number, more in enumerate(([], ["-p", "bench._ibis_in_place"])):
            report = Path(name) / f"report{number}.xml"
            _pytest(Path(sys.executable), report, *options, *more, *tests, **known)
            found.append(counted(report))
    return found[0], found[1]


def counted(report: Path) -> Count:
    """Return what a report of pytest says, in JUnit's form."""
    passed, failed = 0, []
    for case in ElementTree.parse(report).getroot().iter("testcase"):  # noqa: S314  pytest's own
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif case.find("skipped") is None:
            passed += 1
    return Count(passed, tuple(sorted(set(failed))))


def _pytest(python: Path, report: Path, *words: str, **variables: str) -> None:
    """Run tests, some of which may fail."""
    command = [str(python), "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", f"--junitxml={report}", *words]
    done = subprocess.run(
        command, cwd=report.parent, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
