"""Hosts in racks, in network namespaces: the bytes on the links of racks and of the host that finishes a query, with a
switch above all hosts, and with switches in the racks, too; beside both as `jumpgate simulate` has them.

This module as a program is what runs on the service's machine, for one configuration:
python -m bench._switch_trees ADDRESS CONFIG FOLDER
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench._cluster import lab
from bench._measure import remark
from bench._switch_grid import started
from jumpgate.client import count, max_, min_, read, sum_
from jumpgate.client.session import Session
from jumpgate.compiler import CompileOptions
from jumpgate.converters import probe
from jumpgate.converters.prober import prober
from jumpgate.dataflow.builder import Dataflow
from jumpgate.hosts.config import load
from jumpgate.nca.registry import default_registry
from jumpgate.service import embedded, planning
from jumpgate.simulate.model import Cluster, Simulated, simulate
from jumpgate.simulate.plans import ENDPOINT
from jumpgate.study.paper.network import Machine, Rack, line
from tests.cluster.lab import Lab

RACKS, HOSTS = 4, 2
GROUPS = 2000
#: of the links of hosts and of switches, as the planner knows them: rows wait for the latter
HOST_BITS, SWITCH_BITS = 10_000_000_000, 100_000_000
#: both as they are where times are compared with simulated ones, in bits and as tc has them
SLOW_BITS, SLOW, SLOW_RACK_BITS, SLOW_RACK = 25_000_000, "25mbit", 10_000_000, "10mbit"
CORES = 2  #: that all machines share
RUNS = 3
MEASURES = {"s": ("v", "sum"), "n": ("v", "count"), "least": ("v", "min"), "most": ("v", "max")}


@dataclass(frozen=True)
class Counted:
    """Bytes of frames while a job ran: those that left each rack, those that reached the host that finishes, and what
    the plan expected to leave each rack; seconds, and what the simulation has of both."""

    up: list[int]
    arrived: int
    expected: list[float]
    seconds: float
    simulated_up: list[float]
    simulated_s: float


def counted(rows: int, is_slow: bool = False) -> dict[str, Counted]:
    """Run a query over so many rows of each host, with one switch and with a tree, and with links that limit it if it
    `is_slow`. Its answers are compared with Arrow's."""
    with lab() as machines:
        racks = [machines.network.rack() for _ in range(RACKS)]
        workers = {f"w{i}": machines.worker(f"w{i}", rack=racks[i // HOSTS]).machine for i in range(RACKS * HOSTS)}
        tors = [machines.network.machine(rack) for rack in racks]
        spine = machines.network.machine()
        for machine in machines.network.machines:
            machine.cut_packets()
        for slow in workers.values() if is_slow else ():
            slow.limit(SLOW)
        for rack in racks if is_slow else ():
            rack.limit(SLOW_RACK)
        host_bits = SLOW_BITS if is_slow else HOST_BITS
        truth = make_data(machines.folder, rows)
        switches = {f"tor{i}": started(tor, "aggregate") for i, tor in enumerate(tors)}
        above = f'{started(spine, "aggregate")}name = "spine"\n'
        names = [f'{name}\ncores = 1\nlink_bits_per_s = {host_bits}\nnetwork = "tor{i // HOSTS}"'
                 for i, name in enumerate(workers)]  # fmt: skip
        config = machines.config(*names)
        hosts = config.read_text()
        rack_bits = SLOW_RACK_BITS if is_slow else SWITCH_BITS
        link = f'network = "spine"\nlink_bits_per_s = {rack_bits}\n'
        found = {}
        for which, tables in (
            ("one", [f'[[network]]\nname = "{name}"\n{link}' for name in switches]),
            ("tree", [f'{switch}name = "{name}"\n{link}' for name, switch in switches.items()]),
        ):
            config.write_text("\n".join([hosts, above, *tables]))
            found[which] = _run(machines, config, racks, workers, truth)
            remark(f"{which}: {found[which]}")
        return found


def make_data(folder: Path, rows: int) -> pa.Table:
    """Write a file for each host; return the answer."""
    chance = np.random.default_rng(11)
    tables = []
    for part in range(RACKS * HOSTS):
        tables.append(pa.table({"k": chance.integers(0, GROUPS, rows), "v": chance.integers(-(10**9), 10**9, rows)}))
        pq.write_table(tables[-1], folder / f"rows{part}.parquet")
    found = pa.concat_tables(tables).group_by("k").aggregate([*MEASURES.values()])
    return found.rename_columns({"k": "k", **{f"{of}_{by}": name for name, (of, by) in MEASURES.items()}}).sort_by("k")


def _run(machines: Lab, config: Path, racks: list[Rack], workers: dict[str, Machine], truth: pa.Table) -> Counted:
    process = machines.here.start(
        sys.executable, "-m", "bench._switch_trees", machines.here.address, config, machines.folder,
        env=machines.client.variables, stdin=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    times = []
    for _ in range(1 + RUNS):  # programs are built and shipped before the first run that counts
        before = [rack.crossed()[0] for rack in racks], {name: m.crossed()[1] for name, m in workers.items()}
        process.stdin.write("run\n")
        process.stdin.flush()
        said = json.loads(line(process))
        times.append(said["seconds"])
        up, arrived = [rack.crossed()[0] for rack in racks], {name: m.crossed()[1] for name, m in workers.items()}
    process.stdin.close()
    process.wait()
    answer = pq.read_table(machines.folder / "answer.parquet").sort_by("k")
    if answer.select(truth.column_names).cast(truth.schema) != truth:
        raise SystemExit("the answer through switches differs")
    sent = [after - earlier for after, earlier in zip(up, before[0], strict=True)]
    finisher = said["finisher"]
    expected = [said["expected"][f"tor{i}"] for i in range(RACKS)]
    as_simulated = _simulated(config, machines.folder)
    links = [as_simulated.links[f"tor{i}"][0] for i in range(RACKS)]
    median = statistics.median(times[1:])
    return Counted(sent, arrived[finisher] - before[1][finisher], expected, median, links, as_simulated.seconds)


def _simulated(config: Path, folder: Path) -> Simulated:
    """Simulate the query on these hosts and switches, as software on the cores that all machines share."""
    known = load(config)
    remote = ("p4runtime", "data")
    switches = (replace(d, properties=tuple(p for p in d.properties if p[0] not in remote)) for d in known.devices)
    devices = (*(host.device for host in known.hosts), *switches)
    cluster = Cluster(link_bytes_s=known.hosts[0].device.link_bits_per_s / 8, shared_cores=CORES)
    with prober.held():
        options = CompileOptions(
            endpoints=(ENDPOINT,), statistics=probe.estimate, look=probe.look, prefer=("switch_aggregate",)
        )
        plan = planning.plan(flow(folder).root, devices, default_registry(), options)
    return simulate(plan, default_registry(), cluster)


def flow(folder: Path) -> Dataflow:
    return read(f"{folder}/rows*.parquet").aggregate(
        by=["k"], s=sum_("v"), n=count("v"), least=min_("v"), most=max_("v")
    )


def errors(found: dict[str, Counted]) -> Iterator[tuple[str, float]]:
    """Yield the relative errors of simulated bytes on the links of racks, and of simulated times."""
    for which, ran in found.items():
        yield f"bytes of {which}", sum(ran.simulated_up) / sum(ran.up) - 1
        yield f"seconds of {which}", ran.simulated_s / ran.seconds - 1


def main(here: str, config: str, folder: str) -> None:
    service = embedded.start(load(config))
    with Session(service.address, host=here, prefer=("switch_aggregate",)) as session:
        for _ in sys.stdin:
            began = time.perf_counter()
            answer = session.run(flow(Path(folder))).to_arrow()
            seconds = time.perf_counter() - began
            pq.write_table(answer, f"{folder}/answer.parquet")
            record = session.describe(session.jobs()[0].id).record
            assert record is not None
            explained = record["explain"]
            assert explained["ncas"] and "switch_aggregate" in explained["ncas"], "no switch is used"
            host_of = {i["id"]: i["host"] for i in record["instances"]}
            leaving = next(e for e in record["edges"] if [host_of[p] for p in e["producers"]] == ["spine"])
            finisher = host_of[leaving["consumers"][0]]
            expected = {name: ways["up"] for name, ways in explained["networks"].items()}
            print(json.dumps({"finisher": finisher, "expected": expected, "seconds": seconds}), flush=True)
    service.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
