"""Measures a scan over two hosts of which one runs at a quarter of its speed, with and without work stealing."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from bench._cluster import lab
from bench._measure import Figure, remark
from jumpgate.study.paper.network import Machine, line
from tests.cluster.lab import QUERIES, Lab

#: number of files, row groups in each, rows in each group
FILES, GROUPS, GROUP_ROWS = 60, 16, 65_536
#: queries of each service, and services of each kind, in turns
QUERIES_EACH, SERVICES = 4, 2
#: of each period, how long the slow host runs
PERIOD_S, SPEED = 0.08, 0.25
#: makes a service give every instance a fixed share
STATIC = """
from jumpgate.ncas.runtime import configuration
shared = configuration._files
configuration._files = lambda *given: {name: x for name, x in shared(*given).items() if name != "shares"}
"""


def stealing_vs_static() -> Figure:
    """Medians of a warm query, the slow host's processes stopped for three quarters of the time."""
    with lab() as machines:
        folder = machines.folder / "scanned"
        folder.mkdir()
        numbers = range(GROUPS * GROUP_ROWS)
        rows = pa.table({"k": [n % 2 for n in numbers], "x": [n % 1000 for n in numbers]})
        pq.write_table(rows, folder / "0.parquet", row_group_size=GROUP_ROWS)
        for number in range(1, FILES):  # links of one file would be read once
            shutil.copy(folder / "0.parquet", folder / f"{number}.parquet")
        right = [[k, FILES * sum(n % 1000 for n in numbers[k::2])] for k in range(2)]
        names = ("worker1", "worker2")
        slow = [machines.worker(name).machine for name in names][1]
        taken: dict[str, list[float]] = {"static": [], "stealing": []}
        for _ in range(SERVICES):
            for how, found in taken.items():
                found += _seconds(machines, names, slow, STATIC if how == "static" else "", right)
        static, stealing = (statistics.median(taken[how]) for how in ("static", "stealing"))
        remark(f"static {static:.2f} s, stealing {stealing:.2f} s; {taken}")
    return Figure("stealing_vs_static", static / stealing, 1.7, "higher", "2 hosts of a core, one at a quarter")


def _seconds(
    machines: Lab, names: tuple[str, ...], slow: Machine, before: str, right: list[list[int]]
) -> Iterator[float]:
    """Yield the seconds of queries whose program and files are warm."""
    service = machines.serve(machines.config(*(f"{name}\ncores = 1" for name in names)), before=before)
    asked = ["new4095"] * (1 + QUERIES_EACH)
    client = machines.here.python(QUERIES, service.address, machines.folder / "scanned", "0", *asked)
    with contextlib.ExitStack() as during:
        for number in range(len(asked)):
            line(client)
            found = json.loads(line(client))
            assert found["rows"] == right, found
            if number == 0:
                during.enter_context(stopped_at_times(slow))
            else:
                yield float(found["seconds"])
    client.wait(60)
    service.end()


@contextlib.contextmanager
def stopped_at_times(machine: Machine) -> Iterator[None]:
    """Meanwhile its processes run for a quarter of the time."""
    over = threading.Event()

    def alternate() -> None:
        while not over.is_set():
            pids = machine.pids()
            for number, seconds in ((signal.SIGSTOP, (1 - SPEED) * PERIOD_S), (signal.SIGCONT, SPEED * PERIOD_S)):
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
                time.sleep(seconds)

    thread = threading.Thread(target=alternate)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
