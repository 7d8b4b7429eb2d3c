"""The clients for the JVM have their vocabulary from the Python declarations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jvm_sources import sources, typed_calls

SOURCES = Path(__file__).parents[2] / "clients" / "jvm" / "src" / "main" / "java" / "io" / "jumpgate"
CALLS = Path(__file__).parent / "requests" / "types.json"


@pytest.mark.parametrize("name", sources())
def test_the_source_is_up_to_date(request: pytest.FixtureRequest, name: str) -> None:
    text = _formatted(sources()[name])
    if request.config.getoption("--update-golden"):
        (SOURCES / name).write_text(text, encoding="utf-8")
    assert text == (SOURCES / name).read_text(encoding="utf-8"), f"{name} differs: run ./dev golden --update-golden"


def test_the_types_of_calls_are_up_to_date(request: pytest.FixtureRequest) -> None:
    text = json.dumps(typed_calls()).replace("}, {", "},\n{") + "\n"
    if request.config.getoption("--update-golden"):
        CALLS.write_text(text, encoding="utf-8")
    assert text == CALLS.read_text(encoding="utf-8"), "types.json differs: run ./dev golden --update-golden"


def _formatted(text: str) -> str:
    style = [Path(sys.executable).with_name("clang-format"), f"--assume-filename={SOURCES / 'Any.java'}"]
    return subprocess.run(style, input=text, capture_output=True, text=True, check=True).stdout
