"""Measures several hosts: the faults they survive, the cost of a second one, the savings of filters, the help for a
slow one, and a crowd of clients; and what one service survives, and makes wait.

The former need network namespaces, so root, and sshd: each worker is a machine of its own that the service reaches by
SSH. The crowd, and the figures of one service, ask a service on this machine; hostile requests need a control group.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench._cluster import lab
from bench._filters import filters, star_filters
from bench._hostile import hostile_requests_survived
from bench._measure import Figure, counted, remark, report
from bench._operators import figures
from bench._stealing import stealing_vs_static
from jumpgate.client import col, connect, read, sum_
from jumpgate.client.session import Session
from jumpgate.codegen import cache
from jumpgate.dataflow.builder import Dataflow
from jumpgate.errors import JumpgateError
from jumpgate.study.paper.network import line
from jumpgate.tpcds.data import generate
from jumpgate.tpcds.suite import TPCDS
from tests.cluster.faults import Faults
from tests.cluster.lab import QUERIES, Lab, Service

WARM_RUNS = 60
ROWS = 200_000


# ---- faults ----


def faults_survived(rounds: int, seed: int) -> Figure:
    found = []
    with lab() as machines:
        faults = Faults(machines, wide=True)
        try:
            for number in counted(range(seed, seed + rounds), "faults"):
                found.append(faults.round(number))
                remark(str(found[-1]))
            if left := faults.end():
                raise SystemExit(f"processes are left on {', '.join(left)}")
        finally:
            faults.close()
    slowest = max(found, key=lambda r: r.seconds)
    for name, count in sorted(Counter((r.fault, r.outcome) for r in found).items()):
        remark(f"{name[0]}: {name[1]} {count} times")
    remark(f"the slowest answer after a fault: {slowest}")
    survived = sum(not r.wrong for r in found) / rounds
    return Figure("faults_survived", survived, 1.0, "higher", f"{rounds} rounds from seed {seed}, 3 workers")


# ---- a second host ----


def two_hosts_cluster_overhead_ms() -> Figure:
    """Medians of a warm query over small files, with one and with two workers."""
    taken = {}
    with lab() as machines:
        for name in ("worker1", "worker2"):
            machines.worker(name)
        for hosts in (("worker1",), ("worker1", "worker2")):
            service = machines.serve(machines.config(*hosts))
            taken[len(hosts)] = statistics.median(_warm(machines, service))
            remark(f"{len(hosts)} hosts: {1000 * taken[len(hosts)]:.1f} ms")
            service.end()
    return Figure("two_hosts_cluster_overhead_ms", 1000 * (taken[2] - taken[1]), 6.0, "lower", "a warm query over one")


def _warm(machines: Lab, service: Service) -> list[float]:
    client = machines.here.python(QUERIES, service.address, machines.folder, "0", *["short"] * (WARM_RUNS + 10))
    seconds = []
    for _ in range(WARM_RUNS + 10):
        line(client)
        seconds.append(json.loads(line(client))["seconds"])
    client.wait(60)
    return seconds[10:]


# ---- a crowd ----


def crowd(clients: int, seconds: float) -> tuple[Figure, Figure]:
    """Jobs a second of all clients at once beside those of one, and which share of them was answered rightly."""
    with tempfile.TemporaryDirectory() as folder, served() as (address, _):
        paths = files(Path(folder))
        alone = _Client(address, paths, 0)
        alone.work(min(20.0, seconds / 2))
        serial = len(alone.seconds) / sum(alone.seconds)
        members = [_Client(address, paths, number) for number in range(1, clients + 1)]
        threads = [threading.Thread(target=member.work, args=(seconds,)) for member in members]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
    asked = sum(len(m.seconds) + len(m.wrong) for m in members)
    right = sum(len(m.seconds) for m in members)
    for text, count in Counter(text for m in members for text in m.wrong).most_common(5):
        remark(f"{count} times: {text}")
    fewest, most = (f(len(m.seconds) for m in members) for f in (min, max))
    remark(f"{right} of {asked} jobs in {took:.0f} s, {fewest} to {most} a client; alone {serial:.1f} jobs/s")
    return (
        Figure("crowd_answered", right / max(1, asked), 1.0, "higher", f"{clients} clients, {seconds:g} s"),
        Figure("crowd_vs_serial", right / took / serial, 0.8, "higher", f"jobs/s of {clients} clients beside one's"),
    )


class _Client:
    """Asks one dataflow after the other: mostly of shapes that were seen before, now and then a new one."""

    def __init__(self, address: str, files: str, number: int) -> None:
        self._address, self._files, self._chance = address, files, random.Random(number)
        self.seconds: list[float] = []
        self.wrong: list[str] = []

    def work(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with connect(self._address, progress=False) as session:
            while time.monotonic() < until:
                began = time.monotonic()
                wrong = self._ask(session)
                if wrong:
                    self.wrong.append(wrong)
                else:
                    self.seconds.append(time.monotonic() - began)

    def _ask(self, session: Session) -> str:
        flow, right = question(self._files, self._chance)
        try:
            found = session.run(flow).to_pylist()
        except JumpgateError as error:
            return f"{error.code}: {error.message}"
        return "" if found == right else f"{found} instead of {right}"


def question(files: str, chance: random.Random) -> tuple[Dataflow, list[dict[str, int]]]:
    """A dataflow over `files` and its answer."""
    rows = read(files)
    kind = chance.randrange(20)
    if kind == 0:  # one of thousands of shapes
        x = col("x")
        for bit in f"{chance.randrange(1 << 12):b}":
            x = x + col("k") - col("k") if bit == "1" else x - col("k") + col("k")
        return rows.aggregate(s=sum_(x)), [{"s": sum(range(ROWS))}]
    limit = chance.randrange(ROWS)
    few = rows.filter(col("x") < limit)
    if kind < 10:
        return few.aggregate(s=sum_("x")), [{"s": sum(range(limit)) if limit else None}]  # type: ignore[dict-item]
    if kind < 15:
        found = [{"k": k, "s": sum(range(k, limit, 10))} for k in range(min(10, limit))]
        return few.aggregate(s=sum_("x"), by="k").sort("k"), found
    both = rows.filter(col("x") < limit % 1000).join(rows.select(x2=col("x")), left_on="x", right_on="x2")
    return both.aggregate(s=sum_("x2"), by="k").sort("k"), [
        {"k": k, "s": sum(range(k, limit % 1000, 10))} for k in range(min(10, limit % 1000))
    ]


def files(folder: Path) -> str:
    for part in range(4):
        rows = range(part * ROWS // 4, (part + 1) * ROWS // 4)
        pq.write_table(pa.table({"k": [x % 10 for x in rows], "x": rows}), folder / f"{part}.parquet")
    return f"{folder}/*.parquet"


@contextlib.contextmanager
def served() -> Iterator[tuple[str, int]]:
    """The address and the process of a service of its own."""
    words = ["-c", "from jumpgate.cli.main import main; main()", "serve", "--port", "0", "--json"]
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            while not said.rstrip().endswith("}"):
                said += process.stdout.readline()
            yield str(json.loads(said)["address"]), process.pid
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", action="append", metavar="FIGURE")
    parser.add_argument("--faults", type=int, default=500, help="rounds")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--rounds", type=int, default=100, help="of the figures of one service")
    parser.add_argument("--requests", type=int, default=20_000, help="hostile ones")
    parser.add_argument("--clients", type=int, default=100, help="in the crowd")
    parser.add_argument("--seconds", type=float, default=120.0, help="of the crowd")
    parser.add_argument("--data", type=Path, help="TPC-DS in Parquet, for filters (written at scale 0.1 without)")
    parser.add_argument("--queries", default="", help="numbers of TPC-DS's queries; all without")
    options = parser.parse_args()

    def wanted(*names: str) -> bool:
        return not options.only or any(name in options.only for name in names)

    if wanted("two_hosts_cluster_overhead_ms"):
        report(two_hosts_cluster_overhead_ms(), options.json)
    if wanted("stealing_vs_static"):
        report(stealing_vs_static(), options.json)
    if wanted("crowd_answered", "crowd_vs_serial"):
        for figure in crowd(options.clients, options.seconds):
            report(figure, options.json)
    if wanted("filters_bytes_saved", "transfer_vs_none"):
        data = options.data or cache.root() / "tpcds" / "sf0.1"
        if not options.data:
            generate(data, 0.1, ["parquet"], suite=TPCDS)
        numbers = [int(number) for number in options.queries.split(",") if number] or [*TPCDS.queries()]
        for figure in filters(numbers, data, wanted("transfer_vs_none")):
            report(figure, options.json)
    if wanted("star_filters_bytes_saved"):
        report(star_filters(), options.json)
    for name, measure in figures(options.rounds, options.seed).items():
        if wanted(name):
            report(measure(), options.json)
    if wanted("hostile_requests_survived"):
        report(hostile_requests_survived(options.requests, options.seed), options.json)
    if wanted("faults_survived"):
        report(faults_survived(options.faults, options.seed), options.json)


if __name__ == "__main__":
    main()
