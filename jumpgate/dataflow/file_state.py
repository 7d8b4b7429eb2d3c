"""Identifies a file's content by size, time of its last change, inode and device."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jumpgate.dataflow import beneath
from jumpgate.errors import FileChanged, FileUnreadable
from jumpgate.stores.names import is_remote

#: a configuration's numbers are signed and of 64 bits
NUMBER_MAX = 2**63 - 1


class FileState(NamedTuple):
    """Equal states of a path mean equal content, except for changes within one tick of the file system's clock that
    keep the size."""

    size: int
    mtime_ns: int
    inode: int
    device: int


#: the device of an object in a store, whose inode stands for its ETag
REMOTE = -1
#: the clock of Linux's file times, a few milliseconds behind and in steps; some file systems use it only until a file
#: has been looked at
CLOCK_REALTIME_COARSE = 5
#: granularity to which file systems round times down
GRAIN_NS = 1000
#: seconds between two reads of that clock
SETTLING_S = 2e-4

#: states of files by path
FileStates = Mapping[str, FileState]
#: the most bytes of files to compare, to see whether they were rewritten with equal content
COMPARED_BYTES_MAX = 256 << 10


def file_state(path: str) -> FileState:
    """Return the file's state. Raises FileUnreadable for a missing or non-regular file: reading a pipe or a device
    might never end."""
    if is_remote(path):
        from jumpgate.stores import objects

        found = objects.state(path)
        return FileState(found.size, 0, found.number, REMOTE)
    try:
        status = os.stat(path)
    except (OSError, ValueError) as e:
        raise FileUnreadable(f"cannot read '{path}': {getattr(e, 'strerror', None) or e}", file=path) from None
    if not stat.S_ISREG(status.st_mode):
        raise FileUnreadable(f"cannot read '{path}': it is {_kind(status.st_mode)}, not a regular file", file=path)
    return _state_of(status)


def _state_of(status: os.stat_result) -> FileState:
    return FileState(status.st_size, status.st_mtime_ns, status.st_ino & NUMBER_MAX, status.st_dev & NUMBER_MAX)


def file_states(paths: Iterable[str]) -> dict[str, FileState]:
    """Return the states of all paths. Raises FileUnreadable."""
    paths = list(paths)
    look(paths)
    return {path: file_state(path) for path in paths}


def look(paths: Iterable[str]) -> None:
    """Ask stores about objects among the paths side by side, before they are asked for one by one."""
    if remote := list(filter(is_remote, paths)):
        from jumpgate.stores import objects

        objects.look(remote)


def settle(states: FileStates) -> None:
    """Wait, after the states were taken, until another change of a file would get another time. A time ahead of the
    coarse clock is a finer one and needs no wait."""
    while True:
        ticked_ns = time.clock_gettime_ns(CLOCK_REALTIME_COARSE)
        if not any(0 <= ticked_ns - state.mtime_ns < GRAIN_NS for state in states.values()):
            return
        time.sleep(SETTLING_S)


def digest(states: FileStates) -> bytes | None:
    """Return the digest of all bytes in the files; None if there are too many to compare, or they can no longer be read
    in these states. Does not block on a pipe that replaced a file."""
    if any(map(is_remote, states)):  # a request for each costs more than to look anew
        return None
    if sum(state.size for state in states.values()) > COMPARED_BYTES_MAX:
        return None
    found = hashlib.blake2b(digest_size=16)
    for path, state in sorted(states.items()):
        content = _content(path, state)
        if content is None:
            return None
        found.update(f"{path}\0{len(content)}\0".encode(errors="surrogateescape"))
        found.update(content)
    return found.digest()


def _content(path: str, state: FileState) -> bytes | None:
    try:
        file = beneath.opener(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = os.read(file, state.size + 1) if stat.S_ISREG(os.fstat(file).st_mode) else b""
        return content if _state_of(os.fstat(file)) == state and len(content) == state.size else None
    except OSError:
        return None
    finally:
        os.close(file)


def check_unchanged(states: FileStates) -> None:
    """Raise FileChanged, which names the first file that has changed."""
    for path, state in states.items():
        try:
            now = file_state(path)
        except FileUnreadable:
            now = None
        if now != state:
            raise FileChanged(
                f"file '{path}' {changed(state, now)} while a query read it: run the query again", file=path
            )


def changed(before: FileState, now: FileState | None) -> str:
    """Describe a file's change as part of a sentence."""
    if now is None:
        return "was removed"
    if (now.inode, now.device) != (before.inode, before.device):
        return "was replaced"
    if now.size != before.size:
        return f"changed from {before.size} to {now.size} bytes"
    return "was written to"


def _kind(mode: int) -> str:
    names = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    return next((name for holds, name in names if holds(mode)), "a device")
