"""docs/functions.md is what the declarations say."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpgate.dataflow.describe import page

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page(), encoding="utf-8")
    assert page() == PAGE.read_text(encoding="utf-8"), "docs/functions.md differs: run ./dev golden --update-golden"
