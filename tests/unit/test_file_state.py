"""States of files: what changes after one was taken gives another."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from jumpgate.dataflow import file_state
from jumpgate.dataflow.file_state import FileState, digest, file_states, settle


def test_a_change_after_states_have_settled_shows(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for number in range(200):
        path.write_bytes(b"a")
        before = file_states([str(path)])
        settle(before)
        with path.open("r+b") as file:
            file.write(b"b")
        assert file_states([str(path)]) != before, number


def test_settling_waits_for_the_next_tick_of_the_clock_that_stamps() -> None:
    ticked_ns = time.clock_gettime_ns(file_state.CLOCK_REALTIME_COARSE)
    for behind_ns in (0, file_state.GRAIN_NS - 1):
        settle({"t": FileState(1, ticked_ns - behind_ns, 1, 1)})
        assert time.clock_gettime_ns(file_state.CLOCK_REALTIME_COARSE) >= ticked_ns + file_state.GRAIN_NS


def test_settling_does_not_wait_for_other_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(file_state.time, "sleep", waits.append)
    hour_ns = 3600 * 10**9
    settle({"t": FileState(1, time.time_ns() + hour_ns, 1, 1)})
    assert not waits


def test_digests_are_equal_where_the_bytes_are(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_bytes(b"xy")
    other.write_bytes(b"z")
    paths = [str(one), str(other)]
    first = digest(file_states(paths))
    assert first is not None and first == digest(file_states(reversed(paths)))
    one.unlink()
    one.write_bytes(b"xy")
    assert digest(file_states(paths)) == first
    one.write_bytes(b"x")
    other.write_bytes(b"yz")
    assert digest(file_states(paths)) not in (None, first)


def test_there_is_no_digest_of_other_states_nor_of_much(tmp_path: Path) -> None:
    file, much = tmp_path / "a", tmp_path / "much"
    file.write_bytes(b"x")
    states = file_states([str(file)])
    file.write_bytes(b"xy")
    assert digest(states) is None
    file.unlink()
    assert digest(states) is None
    os.mkfifo(file)
    assert digest(states) is None  # nor does it wait for somebody who writes
    much.write_bytes(bytes(file_state.COMPARED_BYTES_MAX))
    assert digest(file_states([str(much)])) is not None
    much.write_bytes(bytes(file_state.COMPARED_BYTES_MAX + 1))
    assert digest(file_states([str(much)])) is None
