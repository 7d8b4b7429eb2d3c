"""Runs compilers for a bounded time. They stay in the process group of who runs them, and end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from jumpgate.errors import TimedOut
from jumpgate.machine import is_stopped

#: of wall time for one program: a compiler that is stopped uses no CPU time, and would be waited for without end
COMPILE_S_MAX = 600.0
#: seconds between two looks, and looks after which one that a signal stopped is ended
LOOK_S, STOPPED_LOOKS_MAX = 1.0, 3


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
        over, stopped = threading.Event(), threading.Event()
        watch = threading.Thread(
            target=_watch, args=(process.pid, over, stopped), name="jumpgate-compiler", daemon=True
        )
        watch.start()
        try:
            _, said = process.communicate(source, limit_s)
        except subprocess.TimeoutExpired:
            kill_tree(process.pid)
            raise TimedOut(f"{what} was not compiled within {limit_s:.3g} s: the compiler was ended") from None
        except BaseException:
            kill_tree(process.pid)
            raise
        finally:
            over.set()
            watch.join()
    if stopped.is_set():
        raise TimedOut(f"{what} was not compiled: a signal had stopped the compiler, which was ended; run it again")
    return process.returncode, said


def _watch(pid: int, over: threading.Event, stopped: threading.Event) -> None:
    """Kill the compiler once a signal has stopped it, or what it has started, for several looks."""
    seen = 0
    while seen < STOPPED_LOOKS_MAX:
        if over.wait(LOOK_S):
            return
        seen = seen + 1 if any(map(is_stopped, (pid, *_below(pid)))) else 0
    stopped.set()
    kill_tree(pid)


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
