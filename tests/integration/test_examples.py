"""Every program in examples/ runs, and prints what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PRINTED = {
    "sql.py": "{'name': 'apple', 'sold': 334, 'paid': 167000.0}",
    "dataflow.py": "'name': None",
    "service.py": "[5, 50, 500, 5000]",
    "errors.py": "schema 3 |",
    "transactions.py": "[(1, 'Ada', 4), (2, 'Cleo', 6)]",
}


def test_each_is_listed_and_tested() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == set(PRINTED)
    assert all(f"({name})" in (EXAMPLES / "README.md").read_text() for name in names)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_it_runs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    assert PRINTED[name] in done.stdout
    assert not list(tmp_path.iterdir())
