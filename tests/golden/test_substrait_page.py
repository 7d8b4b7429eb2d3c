"""docs/substrait.md is what the reader's tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpgate.dataflow.substrait.describe import page

PAGE = Path(__file__).parents[2] / "docs" / "substrait.md"


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page(), encoding="utf-8")
    assert page() == PAGE.read_text(encoding="utf-8"), "docs/substrait.md differs: run ./dev golden --update-golden"
