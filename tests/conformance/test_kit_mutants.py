"""Accelerators with one mistake each fail the conformance kit, and engines without a mistake pass it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from bench import kit
from bench._driver_mutants import DRIVER_MUTANTS, missed_drivers
from bench._kit_mutants import PLAIN_MUTANTS
from bench._mutants import MUTANTS

#: what CI runs, of each kind some; all of them are found by dataflows of these operators
SHARE = (
    "length is in bytes",
    "NULL_IF is inverted",
    "IN loses NULL",
    "the dialect is ignored",
    "only the first 30,000 rows are read",
    "rows of an equal plan come again",
    "a child outlives the job",
    "a file is left behind",
    "a descriptor stays open",
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Mutants spoil values in ways of which libraries warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_there_are_enough_mutants() -> None:
    names = [m.name for m in (*MUTANTS, *PLAIN_MUTANTS)] + [*DRIVER_MUTANTS]
    assert len(names) == len({*names}) >= 60


def test_some_mutants_are_found() -> None:
    mutants = [m for m in PLAIN_MUTANTS if m.name in SHARE]
    assert len(mutants) == len(SHARE)
    assert [*kit.missed_plain(mutants, ("filter", "function"), cases=0)] == []


def test_drivers_that_do_nothing_are_found() -> None:
    assert [*missed_drivers()] == []


@pytest.mark.nightly(like="tests/conformance/test_kit_mutants.py::test_some_mutants_are_found")
def test_all_mutants_are_found() -> None:
    assert kit.kit_mutants_caught().value == 1.0


@pytest.mark.nightly(like="tests/unit/test_conformance_kit.py::test_answers_and_results_of_ours")
def test_nothing_is_found_of_engines_without_a_mistake() -> None:
    assert kit.kit_false_findings().value == 0
