"""Opens a file for the planner, here or in a store."""

from __future__ import annotations

import os
from typing import IO

from jumpgate.dataflow import beneath
from jumpgate.stores.names import is_remote


def opened(path: str) -> IO[bytes]:
    """Open a file for reading. Raises OSError, and of a store FileUnreadable, Forbidden, FileChanged."""
    if is_remote(path):
        from jumpgate.stores import reading

        return reading.opened(path)
    return open(path, "rb", opener=beneath.opener)


def version(path: str) -> tuple[int, int]:
    """Return the time or the number of a file's last change, under which what it holds may be remembered, and its size.
    Raises as `opened`."""
    if is_remote(path):
        from jumpgate.stores import objects

        return objects.stamp(path)
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


def size_of(path: str) -> int:
    """Return a file's bytes. Raises as `opened`."""
    return version(path)[1]
