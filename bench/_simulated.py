"""Compares simulated times of dataflows with measured ones on machines whose links have a limited speed.

python -m bench._simulated SERVICE FOLDER NAME RUNS    runs one of them as a client, and says its median seconds
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench._cluster import lab
from bench._measure import Figure, remark
from jumpgate.client import connect, count_distinct, read, sum_
from jumpgate.compiler import CompileOptions
from jumpgate.converters import probe
from jumpgate.converters.prober import prober
from jumpgate.dataflow.builder import Dataflow
from jumpgate.nca.registry import default_registry
from jumpgate.nca.speeds import assumed
from jumpgate.service import planning
from jumpgate.simulate.model import Cluster, simulate
from jumpgate.simulate.plans import ENDPOINT, hosts
from jumpgate.study.paper.network import line

ROWS, KEYS, SMALL = 3_000_000, 1_000_000, 1_000_000
RATE, LINK_BYTES_S = "50mbit", 6.25e6
CORES = 2  #: that all machines share
RUNS = 3
SPIN = """
import time
until = time.monotonic() + 3
while time.monotonic() < until:
    pass
print(time.process_time())
"""


def write(folder: Path) -> None:
    chance = np.random.default_rng(1)
    for part in range(8):
        rows = ROWS // 8
        table = {"k": chance.integers(0, KEYS, rows), "x": chance.integers(0, 1 << 40, rows)}
        pq.write_table(pa.table(table), folder / f"big-{part}.parquet", row_group_size=rows // 4)
    for part in range(4):
        keys = np.arange(part * SMALL // 4, (part + 1) * SMALL // 4)
        pq.write_table(pa.table({"k2": keys * (KEYS // SMALL), "y": keys}), folder / f"small-{part}.parquet")


def flows(folder: Path) -> dict[str, Dataflow]:
    """One for each way over links: to the client, to one host by a key, and to all hosts."""
    big, small = read(f"{folder}/big-*.parquet"), read(f"{folder}/small-*.parquet")
    return {
        "send": big.select("k", "x"),
        "shuffle": big.aggregate(n=count_distinct("x"), by="k").aggregate(s=sum_("n")),
        "broadcast": big.join(small, left_on="k", right_on="k2").aggregate(s=sum_("y")),
    }


def simulator_error() -> Figure:
    """Return the worst relative error of simulated times against the median of measured ones."""
    with lab() as machines:
        write(machines.folder)
        for number in range(1, 5):
            machines.worker(f"worker{number}")
        for machine in machines.network.machines:
            machine.limit(RATE)
        worst = 0.0
        for count in (2, 4):
            service = machines.serve(machines.config(*(f"worker{n}\ncores = 1" for n in range(1, count + 1))))
            for name, flow in flows(machines.folder).items():
                before = _cores_left()
                client = machines.here.python(
                    "-m", "bench._simulated", service.address, machines.folder, name, str(RUNS)
                )
                took = float(line(client))
                client.wait(60)
                left = (before + _cores_left()) / 2
                said = _simulated(flow, count, {work: seconds * CORES / left for work, seconds in assumed().items()})
                worst = max(worst, abs(said / took - 1))
                remark(
                    f"{name} over {count} hosts: {took:.2f} s, simulated {said:.2f} s ({said / took - 1:+.0%}), "
                    f"while others left {left:.2f} of {CORES} cores"
                )
            service.end()
    return Figure("simulator_error", worst, 0.25, "lower", f"2 and 4 hosts, links of {RATE}, {CORES} cores for all")


def _cores_left() -> float:
    """Return how many of CORES other processes leave idle."""
    began = time.monotonic()
    spinning = [
        subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE, start_new_session=True, text=True)
        for _ in range(CORES)
    ]
    used = sum(float(process.communicate()[0]) for process in spinning)
    return used / (time.monotonic() - began)


def _simulated(flow: Dataflow, count: int, speeds: Mapping[str, float]) -> float:
    cluster = Cluster(link_bytes_s=LINK_BYTES_S, shared_cores=CORES)
    prober.hold()
    try:
        options = CompileOptions(endpoints=(ENDPOINT,), statistics=probe.estimate, look=probe.look, speeds=speeds)
        plan = planning.plan(flow.root, hosts(count, 1, 8 << 30), default_registry(), options)
    finally:
        prober.release()
    return simulate(plan, default_registry(), cluster, speeds).seconds


def main(address: str, folder: str, name: str, runs: str) -> None:
    flow, seconds = flows(Path(folder))[name], []
    with connect(address, progress=False) as session:
        for _ in range(1 + int(runs)):
            began = time.monotonic()
            for _ in session.run(flow):
                pass
            seconds.append(time.monotonic() - began)
    print(statistics.median(seconds[1:]), flush=True)  # the first one was compiled


if __name__ == "__main__":
    main(*sys.argv[1:])
