"""Hooks of pytest that make the end of a long run readable: the official log of a run is cut to its last lines."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

from tests.support import nightly

#: columns of a line that names a test that failed
SUMMARY_WIDTH = 200
#: errors of fixtures, and the test that was the first to meet each
_MET: list[tuple[BaseException, str]] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report the error of a fixture once, not for each test that needs the fixture."""
    report = yield
    if call.when == "setup" and call.excinfo is not None and report.failed:
        error = call.excinfo.value
        first = next((test for met, test in _MET if met is error), None)
        if first is None:
            _MET.append((error, item.nodeid))
        else:
            report.longrepr = f"a fixture failed, as for {first}"
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many tests were left out. A line for each test that failed comes after it: where CI is set, pytest lists
    whole messages, among which the names are not found."""
    os.environ.pop("CI", None)
    terminalreporter._tw.fullwidth = max(SUMMARY_WIDTH, terminalreporter._tw.fullwidth)
    if left := nightly.left(config):
        terminalreporter.write_line(
            f"{left:,} tests are left to the nightly run: `./dev test nightly`; `./dev test all` runs everything"
        )
