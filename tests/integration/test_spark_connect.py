"""Spark Connect's tests (spark_connect_cases.py), in a process of their own: its client and that of P4Runtime register
different files as google/rpc/status.proto."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).with_name("spark_connect_cases.py")


def test_clients_of_spark_connect() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(CASES)]
    done = subprocess.run(command, cwd=CASES.parents[2], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr
