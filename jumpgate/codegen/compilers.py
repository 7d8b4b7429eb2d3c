"""Runs compilers for a bounded time. They stay in the process group of who runs them, and end with it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from jumpgate.errors import TimedOut

#: of wall time for one program: a compiler that is stopped uses no CPU time, and would be waited for without end
COMPILE_S_MAX = 600.0


def run(
    what: str, command: Sequence[str], source: str, environment: dict[str, str], timeout_s: float | None
) -> tuple[int, str]:
    """The exit status, and what was written to standard error. Raises OSError, and TimedOut once the compiler and all
    that it started have been killed."""
    limit_s = min(timeout_s or COMPILE_S_MAX, COMPILE_S_MAX)
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
    ) as process:
        try:
            _, said = process.communicate(source, limit_s)
        except subprocess.TimeoutExpired:
            kill_tree(process.pid)
            raise TimedOut(f"{what} was not compiled within {limit_s:.3g} s: the compiler was ended") from None
        except BaseException:
            kill_tree(process.pid)
            raise
    return process.returncode, said


def kill_tree(pid: int) -> None:
    """Kills a process and all below it, parents first: they start no others then."""
    for found in (pid, *_below(pid)):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(found, signal.SIGKILL)


def _below(root: int) -> list[int]:
    """The processes that `root` started, those that these started, and so on."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
