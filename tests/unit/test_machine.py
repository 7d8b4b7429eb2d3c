"""What the machine has."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from jumpgate import machine


@pytest.mark.parametrize(
    ("root", "limit", "none"), [("", "memory.max", "max"), ("memory", "memory.limit_in_bytes", str(2**63 - 4096))]
)
def test_memory_is_the_machine_s_or_the_container_s(
    root: str, limit: str, none: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_own_group", lambda controller: "jobs/one" if controller == root else "")
    whole = machine.memory_bytes(tmp_path)
    assert whole > 1 << 30
    own = tmp_path / root / "jobs" / "one"
    own.mkdir(parents=True)
    for text, expected in ((none, whole), ("1000000\n", 1_000_000), ("", whole)):
        (own / limit).write_text(text)
        assert machine.memory_bytes(tmp_path) == expected
    (own / limit).write_text("1000000")
    (tmp_path / root / limit).write_text("2000")
    assert machine.memory_bytes(tmp_path) == 2000


@pytest.mark.parametrize(
    ("root", "limit", "counted"),
    [
        ("", "memory.max", "anon 900000000\nfile 7\nshmem 50000000\n"),
        ("memory", "memory.limit_in_bytes", "rss 1\nshmem 1\ntotal_rss 900000000\ntotal_shmem 50000000\n"),
    ],
)
def test_what_others_of_the_group_hold_is_not_free(
    root: str, limit: str, counted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_kilobytes", lambda file: {"MemAvailable": 8 << 30, "VmRSS": 1 << 20})
    (tmp_path / root).mkdir(exist_ok=True)
    (tmp_path / root / limit).write_text("1000000000")
    (tmp_path / root / "memory.stat").write_text(counted)
    assert machine.free_bytes(tmp_path) == 50_000_000


def test_an_allocation_beyond_what_is_free_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    monkeypatch.setattr(machine, "free_bytes", lambda: 1 << 20)
    bound = machine.MemoryBound()
    with bound.held(), bound.held():
        with pytest.raises(MemoryError):
            bytearray(machine.SLACK_BYTES + (2 << 30))  # more than threads of this process may free meanwhile
        assert len(bytearray(64 << 20)) == 64 << 20
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_blocks_that_follow_each_other_look_at_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [1 << 30, 2 << 30]
    monkeypatch.setattr(machine, "free_bytes", looks.pop)
    bound = machine.MemoryBound()
    for _ in range(2):
        with bound.held():
            assert resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY
    assert looks == [1 << 30]
    monkeypatch.setattr(machine, "KNOWN_S", 0.0)
    with bound.held():
        assert not looks


def test_free_memory_is_that_of_the_machine() -> None:
    assert 0 < machine.free_bytes() < machine.memory_bytes()
