"""Finds what a test leaves behind: processes (also orphans), open descriptors of this process, files."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

#: every process that is started meanwhile inherits it
MARK = "JUMPGATE_LEAK_MARK"


@dataclass(frozen=True)
class Process:
    """A live process (not a zombie); `name` is what `ps` shows."""

    pid: int
    name: str


class Watch:
    """Knows every process that was started, at whatever remove, since it began."""

    def __init__(self, mark: str) -> None:
        self._mark = f"{MARK}={mark}".encode()

    def processes(self, prefix: str = "") -> list[Process]:
        """Return live processes whose name begins with `prefix` (instances: "jg ", zygotes: "jghost")."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) != os.getpid():
                process = self._read(int(entry))
                if process is not None and process.name.startswith(prefix):
                    found.append(process)
        return found

    def _read(self, pid: int) -> Process | None:
        try:
            if self._mark not in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                return None
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return None  # it has just ended, or is not ours
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        return None if fields["State"].startswith(("Z", "X")) else Process(pid, fields["Name"])


def descriptors(process: int | str = "self") -> list[str]:
    """Return the open descriptors of a process (by pid; default this one): sockets, pipes and files, as /proc names
    them."""
    found = []
    with contextlib.suppress(FileNotFoundError):  # it has ended
        for entry in os.listdir(f"/proc/{process}/fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(f"/proc/{process}/fd/{entry}"))
    return [f for f in found if not f.startswith("/proc/")]


class Held:
    """Counts what this process and those that it starts from now on hold. Temporary files go to a folder of their own
    meanwhile. Close it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="jumpgate-held-")
        self._before = {name: os.environ.get(name) for name in (MARK, "TMPDIR")}, tempfile.tempdir
        mark = os.environ.setdefault(MARK, uuid.uuid4().hex)
        os.environ["TMPDIR"] = tempfile.tempdir = self._folder.name
        self._watch = Watch(mark)

    def count(self) -> dict[str, int]:
        """Return the numbers of processes, of descriptors of them and this process, and of temporary files."""
        processes = self._watch.processes()
        opened = [len(descriptors()), *(len(descriptors(p.pid)) for p in processes)]
        files = sum(path.is_file() for path in Path(self._folder.name).rglob("*"))
        return {"processes": len(processes), "descriptors": sum(opened), "files": files}

    def close(self) -> None:
        """Restore the environment, and remove what is left in the folder."""
        variables, tempfile.tempdir = self._before
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._folder.cleanup()


def wait_until(holds: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    """Wait for `holds`; return whether it became true in time."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


@contextlib.contextmanager
def marked() -> Iterator[Watch]:
    """Over the processes that are started in the block."""
    mark = uuid.uuid4().hex
    outer = os.environ.get(MARK)
    os.environ[MARK] = mark
    try:
        yield Watch(mark)
    finally:
        if outer is None:
            del os.environ[MARK]
        else:
            os.environ[MARK] = outer


@contextlib.contextmanager
def nothing_left(folders: Sequence[Path] = (), timeout_s: float = 10.0) -> Iterator[Watch]:
    """Raises AssertionError unless, soon after the block, its processes, descriptors and `folders`' files are gone."""
    files_before = _files(folders)
    descriptors_before = set(descriptors())
    with marked() as watch:
        yield watch

    def left() -> list[object]:
        return [*watch.processes(), *(set(descriptors()) - descriptors_before), *(_files(folders) - files_before)]

    assert wait_until(lambda: not left(), timeout_s), f"left behind: {left()}"


def _files(folders: Sequence[Path]) -> set[Path]:
    return {path for folder in folders if folder.exists() for path in folder.rglob("*")}
