"""States of files: what changes after one was taken gives another."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from jumpgate.dataflow import file_state
from jumpgate.dataflow.file_state import FileState, file_states, settle


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
