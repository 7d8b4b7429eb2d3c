"""Measures this machine for whoever started this process, unless that was done, or another process does it.

All that it makes is in one folder of the cache, which is removed at the end, or by the next one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from jumpgate.client.sql import calibrate
from jumpgate.codegen import cache
from jumpgate.errors import JumpgateError
from jumpgate.machine import yield_to_others
from jumpgate.service import calibration

#: of the cache, what the measurement shares with others: what is built
SHARED = ("runtime", "artifacts")


class _Busy(Exception):
    """Another process measures the machine."""


def main(root: str, effort: calibrate.Effort = calibrate.BRIEF) -> None:
    """Measure, and keep the result in the cache `root`. End when standard input does."""
    yield_to_others()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["JUMPGATE_CACHE_DIR"] = root
    try:
        once(effort)
    except JumpgateError as error:
        sys.exit(f"jumpgate: this machine was not measured: {error.message}")


def once(effort: calibrate.Effort) -> bool:
    """Measure the machine if that is needed and nobody else does; return whether this was done. Raises what `measure`
    raises."""
    file = calibration.path()

    def busy() -> None:
        raise _Busy

    try:
        with cache.locked(f"calibration-{file.stem}", busy):
            if calibration.is_measured():
                return False
            with _apart(file.with_suffix("")):
                measured = measure(effort)
            calibration.save(measured)
            return True
    except _Busy:
        return False


def measure(effort: calibrate.Effort) -> dict[str, dict[str, float]]:
    """Measure with a service of this process."""
    import jumpgate

    with jumpgate.connect(progress=False) as connection:
        return calibrate.measure(connection, effort=effort)


@contextlib.contextmanager
def _apart(folder: Path) -> Iterator[None]:
    """Keep everything in a folder meanwhile, but for what is built: of these jobs nobody wants a record."""
    shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
    with cache.explained():
        folder.mkdir(parents=True)
        for name in SHARED:
            (folder / name).symlink_to(cache.folder(name))
    before = os.environ.get("JUMPGATE_CACHE_DIR")
    os.environ["JUMPGATE_CACHE_DIR"], tempfile.tempdir = str(folder), str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = None
        if before is None:
            del os.environ["JUMPGATE_CACHE_DIR"]
        else:
            os.environ["JUMPGATE_CACHE_DIR"] = before
        shutil.rmtree(folder, ignore_errors=True)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)
