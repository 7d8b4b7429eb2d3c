"""CI keeps a share of every kind of test that it leaves to the nightly run, and its last lines name what failed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

#: options of the outer run must not change what an inner one prints
PLAIN = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent


def markers(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield (name of the test, class or module that has the marker, the marker's arguments)."""
    module = path.relative_to(ROOT).as_posix()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from ((f"{module}::{node.name}", found) for found in calls(node.decorator_list))
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            yield from ((module, found) for found in calls([node.value]))


def calls(nodes: list[ast.expr]) -> Iterator[dict[str, object]]:
    for node in nodes:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.nightly":
                yield {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}


MARKERS = {
    name: found
    for path in TESTS.rglob("test_*.py")
    if "mark.nightly(" in path.read_text()
    for name, found in markers(path)
}
LEFT = {name for name, found in MARKERS.items() if "like" in found}


@pytest.mark.parametrize("text", ["x" * 200_000, b"x" * 200_000])
def test_a_long_parameter_leaves_room_for_the_environment_of_processes(text: str | bytes) -> None:
    assert len(text) > len(os.environ["PYTEST_CURRENT_TEST"])
    subprocess.run([sys.executable, "-c", ""], check=True)


def test_ci_has_a_test_like_each_that_it_leaves_out() -> None:
    assert LEFT
    for name in LEFT:
        like = str(MARKERS[name]["like"])
        module, _, words = like.partition("::")
        text = (ROOT / module).read_text()
        assert all(f"def {word}(" in text or f"class {word}" in text for word in words.split("::")), like
        assert not {like, module, f"{module}::{words.partition('::')[0]}"} & LEFT, f"{name}: {like} is nightly, too"


def test_words_name_cases_that_ci_keeps() -> None:
    named = {name for name, found in MARKERS.items() if "but" in found}
    modules = sorted({name.partition("::")[0] for name in named})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--run=ci", *modules]
    done = subprocess.run(command, cwd=ROOT, env=PLAIN, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    kept = [line for line in done.stdout.splitlines() if line.partition("[")[0] in named]
    assert {line.partition("[")[0] for line in kept} == named
    for name in named:
        but = MARKERS[name]["but"]
        for word in (but,) if isinstance(but, str) else but:  # type: ignore[attr-defined]
            assert any(line.startswith(name) and word in line for line in kept), f"{name} has no case {word}"


SUITE = """
import pytest

@pytest.fixture(scope="module")
def server():
    raise RuntimeError("many lines of a log\\nthe server does not start")

def test_one(server): pass
def test_two(server): pass
def test_wrong(): assert False, "first line" + chr(10) + "second line"
"""
CONFTEST = """
from tests.support.reports import pytest_runtest_makereport, pytest_terminal_summary
from tests.support.nightly import add_option as pytest_addoption
"""


def test_the_last_lines_name_each_test_that_failed(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(SUITE)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    command = [sys.executable, "-m", "pytest", "-ra", "--rootdir", str(tmp_path), "-c", "/dev/null", str(tmp_path)]
    environment = {**PLAIN, "CI": "true", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    last = lines[next(i for i, line in enumerate(lines) if "short test summary" in line) + 1 :]
    assert sorted(line.partition(" - ")[0] for line in last[:3]) == [
        "ERROR test_some.py::test_one", "ERROR test_some.py::test_two", "FAILED test_some.py::test_wrong",
    ]  # fmt: skip
    assert len(last) == 4, done.stdout
    assert done.stdout.count("raise RuntimeError") == 1
    assert "a fixture failed, as for test_some.py::test_one" in done.stdout
