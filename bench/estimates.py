"""Compares estimated rows of operators with actual rows, from the records of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumpgate.compiler.explain import AGAIN
from jumpgate.compiler.physical.figures import measured


def quotients(record: dict[str, Any]) -> Iterator[tuple[float, float, float, float, str]]:
    """Yield for each operator of a job with an estimate and a count of all rows: max(e/a, a/e), both at least 1; then
    the estimate, the rows, the error factor, and the operator in words."""
    for name, fragment in record["explain"]["fragments"].items():
        were = measured(record["counters"], name)
        lines = [line for line in fragment["plan"] if not AGAIN.fullmatch(line)]
        for number, (line, expected) in enumerate(zip(lines, fragment["operators"], strict=True)):
            if "rows" not in were.get(number, {}) or "skipping" in were[number] or not expected:
                continue
            estimated, actual = max(1.0, expected["rows"]), max(1.0, were[number]["rows"])
            yield max(estimated / actual, actual / estimated), estimated, actual, expected["doubt"], line
