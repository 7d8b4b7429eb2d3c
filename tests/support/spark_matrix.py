"""The matrix of Spark: every option, setting, feature of a table and function, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable

from tests.support import spark_files, spark_functions, spark_nested, spark_times
from tests.support.spark_cases import Case

PARTS = (spark_files.cases, spark_functions.cases, spark_nested.cases, spark_times.cases)


def cases() -> dict[str, Case]:
    """Return the cases by name, those of files of other types aside."""
    return _named(case for part in PARTS for case in part())


def evolving() -> dict[str, Case]:
    """Return the cases of files of other types than their tables', by name."""
    return _named(spark_files.evolving())


def _named(cases: Iterable[Case]) -> dict[str, Case]:
    found: dict[str, Case] = {}
    for case in cases:
        assert case.name not in found, case.name
        found[case.name] = case
    return found
