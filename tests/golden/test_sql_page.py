"""The tables of docs/sql.md are what support.roads says, which is what is tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import roads

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
MARK = "<!-- the tables: tests/support/roads.py -->\n"


def test_the_tables_are_up_to_date(request: pytest.FixtureRequest) -> None:
    words, _, tables = PAGE.read_text(encoding="utf-8").partition(MARK)
    expected = "\n" + roads.page()
    if request.config.getoption("--update-golden"):
        PAGE.write_text(words + MARK + expected, encoding="utf-8")
        tables = expected
    assert tables == expected, "docs/sql.md differs: run ./dev golden --update-golden"
