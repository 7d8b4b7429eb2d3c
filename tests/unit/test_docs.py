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
