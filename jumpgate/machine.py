"""The resources of this machine."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path

#: that a service or an agent may have at once
OPEN_FILES = 65_536
#: niceness of a process that gives way to all others
LOWEST = 19
#: of the memory that is free when work begins, what this process may take for it
FREE_SHARE = 0.9
#: that it may always map, for its threads and others' work, and its share of all memory for good
SLACK_BYTES, WHOLE_SHARE = 256 << 20, 0.95
#: how long what the system said is believed
KNOWN_S = 0.1
#: that it may map in any case, for threads
THREAD_BYTES = 64 << 20


def memory_bytes(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the machine's memory, or the limit of this process's control group (a container) if that is less."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for folder, limit in _groups(groups):
        try:
            most = (folder / limit).read_text().strip()
        except OSError:
            continue
        if most.isdigit():  # "max": no limit
            found = min(found, int(most))
    return found


def free_bytes(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the memory, swap included, that processes can still have, or what the control group has left."""
    machine, own = _kilobytes("/proc/meminfo"), _kilobytes("/proc/self/status")
    free = machine["MemAvailable"] + machine.get("SwapFree", 0)
    return max(0, min(free, memory_bytes(groups) - max(own["VmRSS"], _held_bytes(groups))))


class MemoryBound:
    """Has allocations of this process fail where the system would else end it for lack of memory, while work runs in
    a block: libraries that hold more than they count, as vectors of long texts, then raise an error.

    It counts what is resident, and what was mapped and not used when the first block began: allocators keep mappings
    of which they have given the memory back. Blocks of several threads share the bound of the first. Processes that
    begin meanwhile inherit it, until they call `lift_memory_bound`. Without /proc there is none.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._before = resource.RLIM_INFINITY
        self._unused: int | None = None  # bytes that were mapped and not resident
        self._looked = -math.inf  # when the system was asked last: what was free, and how much there is
        self._free = self._whole = 0

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the bound in the block."""
        with self._lock:
            self._blocks += 1
            if self._blocks == 1:
                self._set()
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
                if self._blocks == 0:
                    _limit_data(self._before)

    def _set(self) -> None:
        self._before, most = resource.getrlimit(resource.RLIMIT_DATA)
        try:
            own = _kilobytes("/proc/self/status")
            self._look()
        except OSError:
            return
        if self._unused is None:
            self._unused = max(0, own["VmData"] - own["RssAnon"])
        bound = max(own["RssAnon"] + self._unused + int(FREE_SHARE * self._free), own["VmData"] + SLACK_BYTES)
        bound = min(bound, self._unused + int(WHOLE_SHARE * self._whole))
        bound = max(bound, own["VmData"] + THREAD_BYTES)  # of freed mappings, too, some are kept
        limits = [limit for limit in (self._before, most) if limit != resource.RLIM_INFINITY]
        _limit_data(min([bound, *limits]))

    def _look(self) -> None:
        """Ask the system, unless it was asked a moment ago: many short blocks follow each other."""
        now = time.monotonic()
        if now > self._looked + KNOWN_S:
            self._free, self._whole, self._looked = free_bytes(), memory_bytes(), now


#: of this process
memory_bound = MemoryBound()


def lift_memory_bound() -> None:
    """Let this process have what the system gives, whatever the one that started it was bound to."""
    _limit_data(resource.getrlimit(resource.RLIMIT_DATA)[1])


def is_stopped(pid: int) -> bool:
    """Return whether a signal has stopped the process; a debugger's stop does not count."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def raise_open_files() -> None:
    """Lets this process have as many connections and files as it may: shells often set fewer."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    if resource.RLIM_INFINITY != now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def yield_to_others() -> None:
    """Give way to all other processes. Linux compares those of one session only, and then sessions: this process must
    lead its own."""
    os.nice(LOWEST - os.nice(0))
    with contextlib.suppress(OSError):  # sessions are all alike there
        Path("/proc/self/autogroup").write_text(f"{LOWEST}\n")


def _limit_data(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (size, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _kilobytes(file: str) -> dict[str, int]:
    """Return what a file of /proc says in kB, in bytes."""
    words = (line.split() for line in Path(file).read_text().splitlines())
    return {w[0].rstrip(":"): 1024 * int(w[1]) for w in words if len(w) == 3 and w[2] == "kB"}


def _groups(groups: Path) -> Iterator[tuple[Path, str]]:
    """Yield folders with a limit of this process's memory, and the limit's file, in both versions of the kernel's
    interface: a container sees its own group as the root."""
    for root, controller, limit in ((groups, "", "memory.max"), (groups / "memory", "memory", "memory.limit_in_bytes")):
        yield root, limit
        yield root / _own_group(controller), limit


def _held_bytes(groups: Path) -> int:
    """Return the memory that processes of the same control group hold for good."""
    held = [0]
    for folder, _ in _groups(groups):
        with contextlib.suppress(OSError):
            counted = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            kinds = ("total_rss", "total_shmem") if "total_rss" in counted else ("anon", "shmem")
            held.append(sum(int(counted.get(kind, 0)) for kind in kinds))
    return held[-1]


def _own_group(controller: str) -> str:
    """Return the control group of a controller ("": of the second version of the interface), relative to the root."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ""
    found = (line.split(":", 2) for line in lines)
    return next((path.lstrip("/") for _, names, path in found if controller in names.split(",")), "")
