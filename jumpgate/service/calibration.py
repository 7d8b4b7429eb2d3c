"""Keeps measured speeds of this machine in the cache: seconds for a unit of each kind of work.

`jumpgate calibrate` measures them, or the first service of the machine (jumpgate/service/calibrating.py). A file that
is damaged or of an earlier version counts for nothing, and a warning says so.
"""

from __future__ import annotations

import functools
import json
import math
import os
import platform
import warnings
from collections.abc import Mapping
from pathlib import Path

from jumpgate.codegen import cache
from jumpgate.nca.speeds import assumed, unit_seconds

__all__ = ["assumed", "cores", "is_measured", "load", "path", "save", "stamp", "unit_seconds"]

#: of the file: what was measured by an earlier one is not comparable
VERSION = 2
#: who was measured: a host's core under generated programs, and DuckDB in the client
WHO = ("host", "duckdb")


def load(who: str) -> Mapping[str, float]:
    """Return the measured speeds of `who`; empty if there are none. A file that cannot be used is a warning."""
    return _found().get(who, {})


def is_measured() -> bool:
    """Return whether there are figures of this machine that can be used."""
    return bool(_found())


def stamp() -> int:
    """Return a number that is another one once the machine has been measured anew."""
    try:
        return os.stat(path()).st_mtime_ns
    except OSError:
        return 0


def _found() -> dict[str, dict[str, float]]:
    file = path()
    try:
        state = os.stat(file)
    except OSError:
        return {}
    return _load(file, state.st_mtime_ns, state.st_size)


def save(measured: Mapping[str, Mapping[str, float]]) -> Path:
    """Keeps what was measured for this machine; raises BuildError where the cache cannot be written."""
    file = path()
    cache.folder("calibration")
    staged = file.with_suffix(f".{os.getpid()}")
    text = json.dumps({"version": VERSION, "seconds": measured}, indent=1)
    with cache.explained():
        staged.write_text(text + "\n")
        os.replace(staged, file)
    return file


def path() -> Path:
    """Where the figures of this machine are, with as many cores."""
    host = "".join(c if c.isalnum() else "-" for c in platform.node()) or "localhost"
    return cache.root() / "calibration" / f"{host}-{cores()}.json"


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0))


@functools.lru_cache(maxsize=4)
def _load(file: Path, _modified_ns: int, _size: int) -> dict[str, dict[str, float]]:
    try:
        found = json.loads(file.read_text())
        wrong = _wrong(found)
    except (OSError, ValueError, RecursionError) as error:
        found, wrong = None, f"it cannot be read ({error})"
    if wrong:
        warnings.warn(
            f"what was measured of this machine is ignored, as {file} is of no use: {wrong}; run `jumpgate calibrate`",
            stacklevel=4,
        )
        return {}
    return {who: {str(k): float(v) for k, v in found["seconds"][who].items()} for who in WHO}


def _wrong(found: object) -> str:
    """Why the content of a file is of no use, or nothing."""
    if not isinstance(found, dict) or found.get("version") != VERSION:
        return "it was measured by another version of Jumpgate"
    seconds = found.get("seconds")
    if not isinstance(seconds, dict) or not all(isinstance(seconds.get(who), dict) for who in WHO):
        return "its figures are missing"
    for of_one in seconds.values():
        for name, value in of_one.items():
            try:
                unit_seconds(name, {})
            except (KeyError, ValueError):
                return f"there is no such work as {name!r}"
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
                return f"{name!r} takes {value!r}"
    return ""
