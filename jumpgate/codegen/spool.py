"""Folders in the cache for rows that do not fit into memory. Each is held by its process; of one that was killed,
anybody may remove what it left."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jumpgate.codegen import cache

_PREFIX = "worker-"


@contextlib.contextmanager
def own() -> Iterator[Path]:
    """A folder for this process, as long as the block runs. Raises what cache.explained does."""
    sweep()
    while (made := _held()) is None:  # somebody swept it before it was held
        pass
    folder, held = made
    try:
        yield folder
    finally:
        os.close(held)
        _remove(folder)


def _held() -> tuple[Path, int] | None:
    with cache.explained():
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=cache.folder("spool")))
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    fcntl.flock(held, fcntl.LOCK_EX)
    if folder.exists():
        return folder, held
    os.close(held)
    return None


def sweep() -> None:
    """Remove the folders that no process holds."""
    for left in (cache.root() / "spool").glob(f"{_PREFIX}*"):
        _remove(left)


def _remove(folder: Path) -> None:
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # it is gone, or another user's
        return
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    os.close(held)
