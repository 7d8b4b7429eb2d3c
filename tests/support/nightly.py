"""The tests that CI leaves to a nightly run, and the share of them that it keeps. CONTRIBUTING.md says what is where.

A test with the marker `nightly` takes long for what it finds. The marker says which of its cases CI still runs:

    nightly(but="parquet")    those whose parameters' name has the word, or one of a tuple of words
    nightly(every=4)          each fourth
    nightly(cover=True)       so many that each value of each parameter occurs
    nightly(like="test_name") none; the test of that name, in any module, finds a breakage of the same kind
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

#: values of the option --run
RUNS = ("ci", "nightly", "all")
LEFT = pytest.StashKey[int]()


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--run", choices=RUNS, default="ci", help="which tests: CI's, those it leaves out, or all")


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the tests that the option --run leaves out, and count those left to the nightly run."""
    run = config.getoption("--run")
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    late = {item for cases in tests.values() for item in _nightly(cases)}
    config.stash[LEFT] = len(late) if run == "ci" else 0
    if run == "all":
        return
    dropped = [item for item in items if (item in late) == (run == "ci")]
    items[:] = [item for item in items if (item in late) != (run == "ci")]
    config.hook.pytest_deselected(items=dropped)


def left(config: pytest.Config) -> int:
    """Return how many tests this run left to the nightly run."""
    return config.stash.get(LEFT, 0)


def tell_controller(config: pytest.Config) -> None:
    """Send the count from a worker of pytest-xdist, which collects, to the process that reports."""
    if hasattr(config, "workeroutput"):
        config.workeroutput["nightly"] = left(config)


def hear_worker(node: Any) -> None:
    """Take the count that a worker sent; all workers collect the same tests."""
    node.config.stash[LEFT] = getattr(node, "workeroutput", {}).get("nightly", 0) or left(node.config)


def _nightly(cases: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the cases of one test that CI leaves out."""
    marker = cases[0].get_closest_marker("nightly")
    if marker is None:
        return
    kept = _kept(cases, **marker.kwargs)
    yield from (case for case in cases if case not in kept)


def _kept(
    cases: list[pytest.Item], but: str | tuple[str, ...] = "", every: int = 0, cover: bool = False, like: str = ""
) -> set[pytest.Item]:
    if [bool(but), bool(every), cover, bool(like)].count(True) != 1:
        raise pytest.UsageError(f"{cases[0].nodeid}: the marker nightly needs one of but, every, cover and like")
    if but:
        words = (but,) if isinstance(but, str) else but
        return {case for case in cases if any(word in case.nodeid.partition("[")[2] for word in words)}
    if every:
        return set(cases[::every])
    return set(_covering(cases)) if cover else set()


def _covering(cases: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield cases, each with the most values that none before has, until every value of every parameter occurs."""
    values = {case: {(n, repr(v)) for n, v in case.callspec.params.items()} for case in cases}  # type: ignore[attr-defined]
    unseen = set().union(*values.values())
    while unseen:
        best = max(values, key=lambda case: len(values[case] & unseen))
        yield best
        unseen -= values[best]
