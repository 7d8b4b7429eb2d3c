"""The resources of this machine."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

#: that a service or an agent may have at once
OPEN_FILES = 65_536
#: niceness of a process that gives way to all others
LOWEST = 19


def memory_bytes(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the machine's memory, or the limit of this process's control group (a container) if that is less."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for folder in (groups, groups / _own_group()):
        try:
            most = (folder / "memory.max").read_text().strip()
        except OSError:
            continue
        if most.isdigit():  # "max": no limit
            found = min(found, int(most))
    return found


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


def _own_group() -> str:
    """Return the control group as its second version shows it, relative to the root."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ""
    return next((line[3:].lstrip("/") for line in lines if line.startswith("0::")), "")
