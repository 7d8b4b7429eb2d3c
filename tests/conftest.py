"""What all tests share."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Generator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support import fuzz, nightly
from tests.support.jvm import BRIEF
from tests.support.reports import pytest_runtest_makereport as pytest_runtest_makereport
from tests.support.reports import pytest_terminal_summary as pytest_terminal_summary

GOLDEN = Path(__file__).parent / "golden"

# the optimiser takes most of a program's compilation; integration/conftest.py lists those that need it
os.environ.setdefault("JUMPGATE_QUICK_BUILDS", "always")

# what a test runs is what its plan says: a first run would be another accelerator's
os.environ.setdefault("JUMPGATE_FIRST_RUNS", "build")

# no service measures the machine beside the tests
os.environ["JUMPGATE_CALIBRATE"] = "never"

for name in ("SPARK_SUBMIT_OPTS", "MAVEN_OPTS"):
    os.environ.setdefault(name, " ".join(BRIEF))

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


#: engines by the files that start them: one worker has all of an engine's, so that few servers run at a time
ENGINE_TIMEOUT_S = 900  # a server starts, and on a new machine it is fetched first
ENGINES = {"spark": "spark", "presto": "presto", "trino": "presto"}
#: fixtures that start an engine's server
SERVERS = {"presto_answers": "presto", "trino_answers": "presto"}


#: files of few tests that take minutes: no worker should begin one when the others are about to end
LONG = ("test_readme", "test_fpga_rtl", "test_tpcds_sql", "test_install", "test_datagrams", "test_text_fuzz")


#: characters of a parameter that a test's name has at most
PARAMETER_MAX = 1000


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a long text by its length: processes get the test's name in their environment, which has limits."""
    return f"{argname} of {len(val)}" if isinstance(val, str | bytes) and len(val) > PARAMETER_MAX else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from looking at thousands of tests again and again: all of them live to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their files, and group them for workers: by file, so that fixtures are made once, or by engine.

    What takes long comes first: workers take the next group when they are done with one, and should end together.
    """
    nightly.select(config, items)
    sizes = Counter(item.path for item in items)
    for item in items:
        words = [item.path.parent.name, *item.path.stem.split("_")]
        for mark in (mark for mark, names in MARKS.items() if set(words).intersection(names)):
            item.add_marker(mark)
        if item.get_closest_marker("engine") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(ENGINE_TIMEOUT_S))
        engine = _engine(item, words)
        item.add_marker(pytest.mark.xdist_group(engine or item.path.relative_to(GOLDEN.parent).as_posix()))
    items.sort(key=lambda item: (*_slowness(item), -sizes[item.path], item.path))


def _engine(item: pytest.Item, words: list[str]) -> str | None:
    """Return the engine whose server a test needs; None for unit tests and those of no engine."""
    if words[0] == "unit":
        return None
    named = (ENGINES[word] for word in words if word in ENGINES)
    started = (SERVERS[name] for name in getattr(item, "fixturenames", ()) if name in SERVERS)
    return next(chain(named, started), None)


def _slowness(item: pytest.Item) -> tuple[bool, bool, bool, bool, str]:
    """Sort key of a test's file: engines first, then clusters of hosts and what is long; unit tests last."""
    (group,) = (mark.args[0] for mark in item.iter_markers("xdist_group"))
    is_engine = group in ENGINES.values()
    return (
        not is_engine,
        not item.get_closest_marker("cluster"),
        item.path.stem not in LONG,
        item.path.parent.name in ("unit", "golden"),
        group if is_engine else "",
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what the tests found into tests/golden/")
    nightly.add_option(parser)


def pytest_sessionfinish(session: pytest.Session) -> None:
    nightly.tell_controller(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    nightly.hear_worker(node)


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
