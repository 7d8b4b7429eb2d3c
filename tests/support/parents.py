"""Servers that end with the process that started them, however that ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

#: between two looks at the parent
LOOK_S = 0.2
#: for PostgreSQL to leave its folder
END_S = 30.0


def end_with(parent: int) -> None:
    """End this process soon after its parent."""

    def watch() -> None:
        wait_for(parent)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def wait_for(parent: int) -> None:
    """Wait until the parent of this process has ended."""
    while os.getppid() == parent:
        time.sleep(LOOK_S)


def guard_postgres(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that, once this one has ended, ends the PostgreSQL server of the folder and removes that."""
    return subprocess.Popen([sys.executable, __file__, str(os.getpid()), str(folder)], start_new_session=True)


def main(parent: str, folder: str) -> None:
    wait_for(int(parent))
    pid_file = Path(folder) / "postmaster.pid"
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGQUIT)  # an immediate shutdown
    deadline = time.monotonic() + END_S
    while pid_file.exists() and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
