"""What the machine has."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from jumpgate import machine


def test_memory_is_the_machine_s_or_the_container_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_own_group", lambda: "jobs/one")
    whole = machine.memory_bytes(tmp_path)
    assert whole > 1 << 30
    own = tmp_path / "jobs" / "one"
    own.mkdir(parents=True)
    for text, expected in (("max\n", whole), ("1000000\n", 1_000_000), ("", whole)):
        (own / "memory.max").write_text(text)
        assert machine.memory_bytes(tmp_path) == expected
    (own / "memory.max").write_text("1000000")
    (tmp_path / "memory.max").write_text("2000")
    assert machine.memory_bytes(tmp_path) == 2000


def test_an_allocation_beyond_what_is_free_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    monkeypatch.setattr(machine, "free_bytes", lambda: 1 << 20)
    bound = machine.MemoryBound()
    with bound.held(), bound.held():
        with pytest.raises(MemoryError):
            bytearray(machine.SLACK_BYTES + (64 << 20))
        assert len(bytearray(64 << 20)) == 64 << 20
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_free_memory_is_that_of_the_machine() -> None:
    assert 0 < machine.free_bytes() < machine.memory_bytes()
