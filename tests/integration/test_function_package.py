"""A package outside the tree adds a scalar function: tests/packages/function_example, installed as pip installs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

PACKAGE = Path(__file__).parents[1] / "packages" / "function_example"
NAMES = [None, "", "Robert", "Rupert", "Ashcraft", "Tymczak", "Pfister", "Honeyman", "o'Hara-Lee", "Müller", "1", "a"]
CODES = [None, "", "R163", "R163", "A261", "T522", "P236", "H555", "O640", "M460", "", "A000"]


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=240, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed package, its metadata included; the sources are a copy, since builds write there."""
    place = tmp_path_factory.mktemp("installed")
    copy = tmp_path_factory.mktemp("sources") / "package"
    for path in (p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".h", ".toml")):
        target = copy / path.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
    run(sys.executable, "-m", "pip", "install", *offline, "--target", place, copy)
    return place


def test_it_works_on_every_road(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "names.parquet"
    pyarrow.parquet.write_table(pa.table({"name": pa.array(NAMES, pa.string())}), file)
    answers = json.loads(run(sys.executable, PACKAGE / "try_it.py", file, PYTHONPATH=str(place)))
    expected = [{"name": name, "code": code} for name, code in zip(NAMES, CODES, strict=True)]
    for road in ("dataflow", "substrait", "always", "never"):
        assert answers[road] == expected, road
    assert answers["always offloads"] and not answers["never offloads"]


def test_without_the_package_it_is_unknown() -> None:
    code = "from jumpgate.dataflow.functions import known; print(known('soundex'))"
    assert run(sys.executable, "-c", code).strip() == "None"
