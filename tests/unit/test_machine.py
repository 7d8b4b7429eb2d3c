"""What the machine has."""

from __future__ import annotations

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
