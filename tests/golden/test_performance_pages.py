"""bench/README.md and docs/performance show what bench/results holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import _pages
from bench._results import benches, load, text


@pytest.mark.parametrize("page", _pages.pages(), ids=lambda page: page.stem)
def test_page_and_picture_are_up_to_date(request: pytest.FixtureRequest, page: Path) -> None:
    wanted = {page: _pages.expanded(page.read_text(encoding="utf-8"))}
    if page != _pages.README:
        wanted[page.with_suffix(".svg")] = _pages.picture(wanted[page])
    for file, made in wanted.items():
        if request.config.getoption("--update-golden"):
            file.write_text(made, encoding="utf-8")
        assert file.exists() and file.read_text(encoding="utf-8") == made, f"{file}: run ./dev golden --update-golden"


def test_every_result_is_shown_once() -> None:
    """Each page has the figures of its topic, together all of them; a table is on one page."""
    found = [_pages.BLOCK.findall(page.read_text(encoding="utf-8")) for page in _pages.pages()[1:]]
    shown = [name for blocks in found for kind, names in blocks if kind == "figures" for name in names.split()]
    tables = [names for blocks in found for kind, names in blocks if kind == "table"]
    assert sorted(shown) == [bench for bench in benches() if load(bench).figures]
    assert sorted(tables) == sorted(f"{bench} {t.name}" for bench in benches() for t in load(bench).tables)


@pytest.mark.parametrize("bench", benches())
def test_results_are_complete(bench: str) -> None:
    results = load(bench)
    file = _pages.ROOT / "bench" / "results" / f"{bench}.json"
    assert file.read_text(encoding="utf-8") == text(results)
    keys = [(r.figure, r.setting) for r in results.figures]
    assert len(keys) == len(set(keys))
    for result in results.figures:
        assert result.better in ("higher", "lower") and result.unit and result.commit and result.machine
        assert result.reached or result.note, f"{bench}: why is the target of {result.figure} missed?"
