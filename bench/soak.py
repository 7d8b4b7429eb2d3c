"""A service under mixed queries whose clients are killed at random: compares its resources at the end with those after
the first minute (resident memory, descriptors, threads, processes, files of the cache)."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench._measure import Figure, remark, report
from bench.hosts import files, served
from jumpgate.codegen import cache

CLIENTS = 6
FIRST_S = 60.0
#: between two clients that are killed
KILL_S = 3.0
#: seconds without a change before resources are counted, and the most seconds to wait for that
STILL_S, REST_S_MAX = 10.0, 120.0

CLIENT = """
import random, sys
from bench.hosts import question
from jumpgate.client import connect

chance = random.Random(int(sys.argv[3]))
with connect(sys.argv[1], progress=False) as session:
    while True:
        flow, right = question(sys.argv[2], chance)
        found = session.run(flow).to_pylist()
        assert found == right, (found, right)
"""


class Client:
    """A client that queries until it is killed; a wrong answer ends it."""

    def __init__(self, address: str, files: str, number: int) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", CLIENT, address, files, str(number)])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def held(root: int) -> dict[str, float]:
    """By the process and all below it."""
    tree, found = [root], {"resident_mb": 0.0, "descriptors": 0.0, "threads": 0.0, "processes": 0.0}
    for pid in tree:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ends
            threads = os.listdir(f"/proc/{pid}/task")
            descriptors = len(os.listdir(f"/proc/{pid}/fd"))
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            for thread in threads:
                tree += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
            found["threads"] += len(threads)
            found["processes"] += 1
            found["descriptors"] += descriptors
            found["resident_mb"] += pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    temporary = cache.root() / "tmp"
    found["files"] = float(sum(1 for _ in temporary.rglob("*"))) if temporary.exists() else 0.0
    return found


def soak(minutes: float) -> Figure:
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder, served() as (address, pid):
        paths = files(Path(folder))
        numbers = iter(range(10**9))
        until = time.monotonic() + 60 * minutes
        first = _work(address, paths, chance, numbers, min(FIRST_S, 30 * minutes), pid)
        remark(f"after the first minute: {json.dumps(first)}")
        last = _work(address, paths, chance, numbers, until - time.monotonic(), pid)
        remark(f"at the end: {json.dumps(last)}")
    growth = max(last[name] / max(1.0, first[name]) for name in first)
    return Figure("soak_growth", growth, 1.02, "lower", f"{minutes:g} minutes beside the first of them")


def _work(
    address: str, paths: str, chance: random.Random, numbers: Iterator[int], seconds: float, pid: int
) -> dict[str, float]:
    """Run clients for `seconds`, one of which is killed now and then; return the resources held once all have gone."""
    clients = [Client(address, paths, next(numbers)) for _ in range(CLIENTS)]
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            time.sleep(chance.uniform(0, 2 * KILL_S))
            victim = chance.randrange(CLIENTS)
            for client in clients:
                if client.process.poll() is not None:
                    raise SystemExit("a client got a wrong answer or an error; see above")
            clients[victim].kill()
            clients[victim] = Client(address, paths, next(numbers))
    finally:
        for client in clients:
            client.kill()
    return _at_rest(pid)


def _at_rest(root: int) -> dict[str, float]:
    """Return the resources held once all work has ended, including compilations for clients."""
    began = since = time.monotonic()
    found = held(root)
    while time.monotonic() < min(since + STILL_S, began + REST_S_MAX):
        time.sleep(1.0)
        now = held(root)
        if any(now[name] != found[name] for name in ("processes", "threads", "files")):
            since = time.monotonic()
        found = now
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--minutes", type=float, default=30.0)
    options = parser.parse_args()
    report(soak(options.minutes), options.json)


if __name__ == "__main__":
    main()
