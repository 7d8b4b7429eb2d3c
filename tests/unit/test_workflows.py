"""Workflows are valid YAML, and run tasks and scripts that exist; a release has what its parts promise."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from test_tidy import ROOT

import jumpgate
from release import bundle

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_run_what_there_is(file: Path) -> None:
    found = yaml.safe_load(file.read_text())
    assert {"name", True, "permissions", "jobs"} <= set(found)  # YAML takes the key `on` for true
    listed = subprocess.run([sys.executable, str(ROOT / "dev")], capture_output=True, text=True, check=True).stdout
    tasks = set(re.findall(r"^  (\w+) ", listed, re.MULTILINE))
    for job in found["jobs"].values():
        assert job["timeout-minutes"] if "needs" not in job else True
        texts = [step.get("run", "") for step in job["steps"]]
        named = [f"./dev {task}" for task in job.get("strategy", {}).get("matrix", {}).get("task", ())]
        used = re.findall(r"\./dev (\w+)", " ".join([*texts, *named]))
        assert set(used) <= tasks, file
        for script in re.findall(r"bash (\S+)", " ".join(texts)):
            assert (ROOT / script).exists()


def test_there_is_one_for_each_occasion() -> None:
    assert [file.stem for file in WORKFLOWS] == ["ci", "nightly", "release"]


def test_notes_are_the_section_of_the_version() -> None:
    text = "# Changelog\n\n## 2.0.0\n\n- New.\n\n## 1.0.0\n\n- Old.\n"
    assert bundle.notes(text, "2.0.0") == "# Jumpgate 2.0.0\n\n- New.\n"
    with pytest.raises(SystemExit, match="no section '## 3.0.0'"):
        bundle.notes(text, "3.0.0")


def test_parts_are_what_an_installation_needs() -> None:
    found = json.loads(bundle.parts("jumpgate-nca"))
    names = {part["name"] for part in found["components"]}
    assert {"pyarrow", "duckdb", "markupsafe"} <= names  # the last is needed by Jinja
    assert not names & {"jumpgate-nca", "pytest", "ruff"}
    assert found["metadata"]["component"]["version"] == jumpgate.__version__


def test_checksums_are_those_of_all_files(tmp_path: Path) -> None:
    for name in ("b.jar", "a.whl", bundle.SUMS):
        (tmp_path / name).write_text(name)
    lines = bundle.checksums(tmp_path).splitlines()
    assert lines == [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}" for name in ("a.whl", "b.jar")]
