"""Files that are damaged or made to hurt: right or one typed error, soon, and the connection goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hostile import PECULIAR, hostile_files
from tests.support.hostile_runs import Outcome, files_right_or_typed, outcomes

FILES = 150


def describe(outcome: Outcome) -> str:
    return f"{outcome.file.path} ({outcome.file.what}), offload = {outcome.mode}: {outcome.detail}"


def test_hostile_files_are_answered_or_refused(tmp_path: Path) -> None:
    found = list(outcomes(FILES, seed=1, folder=tmp_path))
    failures = [describe(outcome) for outcome in found if outcome.verdict == "failure"]
    assert not failures, "\n".join(failures)
    assert len(found) == FILES
    assert {outcome.verdict for outcome in found} == {"right", "typed"}


@pytest.mark.nightly(like="tests/fuzz/test_hostile_files.py::test_hostile_files_are_answered_or_refused")
def test_peculiar_files_in_another_mode(tmp_path: Path) -> None:
    for outcome in outcomes(len(PECULIAR), 2, tmp_path):  # the modes take turns by seeds
        assert outcome.verdict != "failure", describe(outcome)


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    count = len(PECULIAR) + 20

    def contents(name: str) -> list[bytes]:
        folder = tmp_path / name
        folder.mkdir()
        files = list(hostile_files(count, 5, folder))[len(PECULIAR) :]
        return [Path(file.path).read_bytes() for file in files]

    assert contents("first") == contents("second")


def test_the_share_for_the_benchmark() -> None:
    assert files_right_or_typed(8, seed=1) == (8, 8)
