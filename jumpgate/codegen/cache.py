"""The user's cache directory, which keeps built libraries between runs and is safe for concurrent processes.

Only this user has access (mode 0700), as its files are executed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from jumpgate.errors import BuildError
from jumpgate.trust import seal, state

#: seconds since the last use before an entry may be evicted: a process that looked it up may be about to load it
RECENT_S = 600


def root() -> Path:
    """Return $JUMPGATE_CACHE_DIR, else $XDG_CACHE_HOME/jumpgate, else ~/.cache/jumpgate. It may not exist yet."""
    own = os.environ.get("JUMPGATE_CACHE_DIR")
    if own:
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "jumpgate"


def folder(*names: str) -> Path:
    """Return a folder below root(), created if needed. Raises BuildError if the cache is not writable."""
    path = root().joinpath(*names)
    with explained():
        path.mkdir(parents=True, exist_ok=True)
        _own(str(root()))
    return path


@functools.cache
def _own(root: str) -> None:
    state.make_private(Path(root))


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turns an operating system's error on the cache into BuildError with the way out."""
    try:
        yield
    except OSError as error:
        raise unusable(error.strerror or str(error), full=error.errno in (errno.ENOSPC, errno.EDQUOT)) from error


def unusable(cause: str, full: bool) -> BuildError:
    """Return the error for a cache that is full or not writable."""
    if full:
        return BuildError(
            f"the disk of the cache {root()} is full: free some space there, "
            "or set JUMPGATE_CACHE_DIR to a folder on another disk",
            directory=root(),
        )
    return BuildError(
        f"cannot write to the cache {root()}: {cause}; make it writable or set JUMPGATE_CACHE_DIR to another folder",
        directory=root(),
    )


@contextlib.contextmanager
def locked(name: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Holds the machine-wide lock `name` (ends with the process); calls `on_wait` once if another process has it."""
    path = folder("locks") / f"{name}.lock"
    with explained():
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder on the cache's disk, so that its content can be renamed into place; removed afterwards."""
    base = folder("tmp")
    with explained():
        path = Path(tempfile.mkdtemp(dir=base))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def mark_used(path: Path) -> bool:
    """Marks an entry as just used; False if there is none."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    except OSError:
        return path.exists()
    return True


def publish(built: Path, target: Path) -> None:
    """Moves a file that was built to where it is kept, with its seal (jumpgate/trust/seal.py)."""
    with explained():
        seal.seal(built, target.name)
        seal.beside(built).rename(seal.beside(target))
        built.rename(target)


def is_usable(path: Path) -> bool:
    """Return whether a sealed file or folder is intact; mark it as used."""
    if not mark_used(path):
        return False
    if seal.is_sealed(path):
        return True
    if seal.beside(path).exists():  # otherwise an earlier version built it
        print(f"jumpgate: {path} is not what was built here: it is built again", file=sys.stderr, flush=True)
    return False


#: of entries that this process uses, as long as it lives
_held: dict[Path, int] = {}


def hold(folder: Path) -> None:
    """Keeps others from removing an entry that this process, or one that it forks, uses: until these end."""
    if (earlier := _held.pop(folder, None)) is not None:
        os.close(earlier)  # of one that is gone
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(handle, fcntl.LOCK_SH)
    _held[folder] = handle


@contextlib.contextmanager
def unused(folder: Path) -> Iterator[bool]:
    """Return whether nobody holds an entry; nobody can while the block runs."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(handle)


def evict(paths: Iterator[Path], bytes_max: int) -> None:
    """Remove the least recently used of `paths` until the rest has at most `bytes_max` bytes, or was used in the last
    RECENT_S. Safe for concurrent processes."""
    found = []
    with contextlib.suppress(OSError):  # the folder is gone
        for path in paths:
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in found)
    recent = time.time_ns() - RECENT_S * 1_000_000_000
    for used, size, path in sorted(found):
        if total <= bytes_max or used > recent:
            return
        with contextlib.suppress(OSError):
            if path.stat().st_mtime_ns == used:  # otherwise it was used meanwhile
                seal.remove(path)
                total -= size
