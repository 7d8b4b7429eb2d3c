"""A service under mixed queries whose clients are killed at random: compares its resources at the end with those after
a warm-up (resident memory, descriptors, threads, processes, files of the cache).

The runtime is built before. The warm-up lasts until a minute of queries adds nothing: threads of pools begin when they
are needed first, and caches of plans, schemas and ended jobs fill up.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench._measure import Figure, remark, report
from bench.hosts import files, served
from jumpgate.codegen import cache, toolchain

CLIENTS = 6
#: of work between two counts, until these are alike, or so many have been made
PERIOD_S, PERIODS_MAX, ALIKE = 60.0, 10, 1.005
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


@dataclass(frozen=True)
class Process:
    """A process of the service: what it holds."""

    name: str
    resident_mb: float
    descriptors: int
    threads: int


def processes(root: int) -> list[Process]:
    """Return the process and all below it."""
    tree, found = [root], []
    for pid in tree:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ends
            of = Path(f"/proc/{pid}")
            threads = os.listdir(of / "task")
            pages = int((of / "statm").read_text().split()[1])
            for thread in threads:
                tree += map(int, (of / "task" / thread / "children").read_text().split())
            resident_mb = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
            name = (of / "comm").read_text().strip()
            found.append(Process(name, resident_mb, len(os.listdir(of / "fd")), len(threads)))
    return found


def held(root: int) -> dict[str, float]:
    """Return what the process and all below it hold together."""
    found = processes(root)
    temporary = cache.root() / "tmp"
    return {
        **{name: float(sum(getattr(of, name) for of in found)) for name in ("resident_mb", "descriptors", "threads")},
        "processes": float(len(found)),
        "files": float(sum(1 for _ in temporary.rglob("*"))) if temporary.exists() else 0.0,
    }


def _said(root: int) -> str:
    """Format the processes, the largest first, to see which one has grown."""
    largest = sorted(processes(root), key=lambda of: -of.resident_mb)
    return ", ".join(f"{of.name} {of.resident_mb:.1f} MB {of.threads} threads" for of in largest)


def soak(minutes: float, period_s: float) -> Figure:
    toolchain.runtime()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder, served() as (address, pid):
        paths = files(Path(folder))
        numbers = iter(range(10**9))
        first = _work(address, paths, chance, numbers, period_s, pid)
        periods, growth = 1, math.inf
        while growth > ALIKE and periods < PERIODS_MAX:
            before, first = first, _work(address, paths, chance, numbers, period_s, pid)
            periods, growth = periods + 1, _growth(before, first)
        remark(f"after {periods} periods of warm-up: {json.dumps(first)}; {_said(pid)}")
        last = _work(address, paths, chance, numbers, 60 * minutes, pid)
        remark(f"at the end: {json.dumps(last)}; {_said(pid)}")
    compared = f"{minutes:g} minutes beside a warm-up of {periods * period_s / 60:g}"
    return Figure("soak_growth", _growth(first, last), 1.02, "lower", compared)


def _growth(first: dict[str, float], last: dict[str, float]) -> float:
    return max(last[name] / max(1.0, first[name]) for name in first)


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
    parser.add_argument("--minutes", type=float, default=60.0, help="after the warm-up")
    parser.add_argument("--period-s", type=float, default=PERIOD_S, help="of the warm-up")
    options = parser.parse_args()
    report(soak(options.minutes, options.period_s), options.json)


if __name__ == "__main__":
    main()
