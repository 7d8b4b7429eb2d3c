"""Servers of tests and benches end with the process that started them, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jumpgate.testing.leaks import wait_until

ROOT = Path(__file__).parents[2]
END_S = 60.0
POSTGRES = """
import time
from pathlib import Path
from tests.support.pg import Postgres
postgres = Postgres()
folder = postgres.folder.name
print((Path(folder) / "postmaster.pid").read_text().split()[0], folder, flush=True)
time.sleep(600)
"""
STORE = """
import subprocess, sys, time
server = subprocess.Popen([sys.executable, "-m", "bench._store_server", sys.argv[1], "key", "secret"],
                          stdout=subprocess.PIPE, text=True)
server.stdout.readline()
print(server.pid, flush=True)
time.sleep(600)
"""


def started(text: str, *arguments: str) -> tuple[subprocess.Popen[str], list[str]]:
    process = subprocess.Popen([sys.executable, "-c", text, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().split()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_postgres_ends_and_its_folder_goes(number: signal.Signals) -> None:
    process, (pid, folder) = started(POSTGRES)
    os.kill(int(pid), 0)
    process.send_signal(number)
    process.wait()
    assert wait_until(lambda: not Path(f"/proc/{pid}").exists() and not Path(folder).exists(), END_S)


def test_a_store_ends(tmp_path: Path) -> None:
    process, (pid,) = started(STORE, str(tmp_path))
    os.kill(int(pid), 0)
    process.kill()
    process.wait()
    assert wait_until(lambda: not Path(f"/proc/{pid}").exists(), END_S)
