"""What all tests share."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import fuzz

GOLDEN = Path(__file__).parent / "golden"

# the optimiser takes most of a program's compilation; tests that need it set this to "never" (`optimised` fixtures)
os.environ.setdefault("JUMPGATE_QUICK_BUILDS", "always")

# how long an example takes depends on what else the machine does
settings.register_profile(
    "untimed", deadline=None, derandomize=fuzz.SEED != 0, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")


#: markers, by what files of tests are named after: `pytest -m "not engine"`
MARKS = {
    "engine": ("spark", "presto", "trino", "jvm"),
    "switch": ("switch", "p4", "pruning", "approximate", "skyline"),
    "fpga": ("fpga", "card"),
    "cluster": ("cluster",),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their files, and begin with files whose tests take long: workers take the next file when they are
    done with one, and should end at the same time."""
    sizes = Counter(item.path for item in items)
    for item in items:
        words = {item.path.parent.name, *item.path.stem.split("_")}
        for mark in (mark for mark, names in MARKS.items() if words.intersection(names)):
            item.add_marker(mark)
    items.sort(key=lambda item: (*_slowness(item), -sizes[item.path], item.path))


def _slowness(item: pytest.Item) -> tuple[int, ...]:
    """Sort key of a test's file: those that start engines or hosts first, unit tests last."""
    slow = any(item.get_closest_marker(mark) for mark in ("engine", "cluster"))
    return (not slow, item.path.parent.name in ("unit", "golden"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what the tests found into tests/golden/")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: text must equal tests/golden/name; with --update-golden it becomes that file."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} does not exist: run pytest --update-golden, and review it"
        assert text == path.read_text(encoding="utf-8"), f"{path} differs: run pytest --update-golden, and review it"

    return compare
