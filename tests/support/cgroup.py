"""A control group that bounds the memory of the processes in it, by version 1 or 2 of the kernel's interface."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

ROOT = Path("/sys/fs/cgroup")


class MemoryGroup:
    """Processes whose id is written to `procs` have `bytes` together, and are killed beyond that."""

    def __init__(self, folder: Path, bytes: int, is_v1: bool) -> None:
        self.folder, self.procs = folder, folder / "cgroup.procs"
        self._events = folder / ("memory.oom_control" if is_v1 else "memory.events")
        (folder / ("memory.limit_in_bytes" if is_v1 else "memory.max")).write_text(str(bytes))

    @property
    def kills(self) -> int:
        """Processes that the kernel ended for want of memory."""
        counted = dict(line.split() for line in self._events.read_text().splitlines())
        return int(counted["oom_kill"])


@contextmanager
def memory_group(bytes: int) -> Iterator[MemoryGroup]:
    """Skips the test, and says so, where this user may not make one: CI runs as root."""
    is_v1 = (ROOT / "memory").is_dir()
    base = ROOT / "memory" if is_v1 else ROOT
    folder = base / f"jumpgate-test-{os.getpid()}"
    try:
        folder.mkdir()
        made = MemoryGroup(folder, bytes, is_v1)
    except OSError as error:
        with suppress(OSError):
            folder.rmdir()
        pytest.skip(f"needs root, and a control group of the kernel for memory: {error}")
    try:
        yield made
    finally:
        folder.rmdir()
