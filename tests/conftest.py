"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import fuzz

GOLDEN = Path(__file__).parent / "golden"

# what is tested on little data is what the optimiser makes of programs; test_optimised_later compares both
os.environ["JUMPGATE_QUICK_BUILDS"] = "0"

# how long an example takes depends on what else the machine does
settings.register_profile(
    "untimed", deadline=None, derandomize=fuzz.SEED != 0, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")


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
