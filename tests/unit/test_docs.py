"""Pages of docs/ quote what is there, and their examples in Python give what the pages say."""

from __future__ import annotations

import doctest
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: an indented block after the name of the file that it stands in
QUOTED = re.compile(r"From\s`((?:jumpgate|ncas|tests)/[\w./]+)`:\n\n((?:    [^\n]*\n|\n)+)")


@pytest.mark.parametrize("page", ["add-a-layout.md", "add-a-transport.md"])
def test_a_page_quotes_what_is_there(page: str) -> None:
    blocks = QUOTED.findall((ROOT / "docs" / page).read_text())
    assert len(blocks) >= 3
    for name, block in blocks:
        lines = textwrap.dedent(block).strip().splitlines()
        text = [line.strip() for line in (ROOT / name).read_text().splitlines()]
        wanted = [line.strip() for line in lines]
        places = [i for i in range(len(text)) if text[i : i + len(wanted)] == wanted]
        assert places, f"{name} does not hold:\n{block}"


@pytest.mark.parametrize("page", ["add-a-layout.md", "add-a-transport.md"])
def test_the_examples_of_a_page_are_right(page: str) -> None:
    found = doctest.testfile(str(ROOT / "docs" / page), module_relative=False, encoding="utf-8")
    assert found.attempted >= 5 and found.failed == 0


def test_every_environment_variable_is_described() -> None:
    folders = ("jumpgate", "clients/python", "ncas", "converters", "p4", "bench")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    used = {name for path in files for name in re.findall(r'"(JUMPGATE_[A-Z0-9_]+)"', path.read_text())}
    page = (ROOT / "docs" / "configuration.md").read_text()
    described = set(re.findall(r"^\| `(JUMPGATE_\w+)` \|", page, re.M))
    assert len(used) > 10
    assert described == (used - {"JUMPGATE_LEAK_MARK"}) | {"JUMPGATE_VENV"}  # a mark of tests; of ./dev


def test_the_site_shows_every_page() -> None:
    """Every page of docs/ has a place in the navigation."""
    listed = set(re.findall(r": ([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    assert {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")} <= listed
