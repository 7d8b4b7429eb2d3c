"""Hosts in racks, in network namespaces: the bytes on the links of racks and of the host that finishes a query, with a
switch above all hosts, and with switches in the racks, too.

This module as a program is what runs on the service's machine, for one configuration:
python -m bench._switch_trees ADDRESS CONFIG FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench._cluster import lab
from bench._measure import remark
from bench._switch_grid import started
from jumpgate.client import count, max_, min_, read, sum_
from jumpgate.client.session import Session
from jumpgate.hosts.config import load
from jumpgate.service import embedded
from jumpgate.study.paper.network import Machine, Rack, line
from tests.cluster.lab import Lab

RACKS, HOSTS = 4, 2
GROUPS = 2000
#: of the links of hosts and of switches, as the planner knows them: rows wait for the latter
HOST_BITS, SWITCH_BITS = 10_000_000_000, 100_000_000
MEASURES = {"s": ("v", "sum"), "n": ("v", "count"), "least": ("v", "min"), "most": ("v", "max")}


@dataclass(frozen=True)
class Counted:
    """Bytes of frames while a job ran: those that left each rack, those that reached the host that finishes, and what
    the plan expected to leave each rack."""

    up: list[int]
    arrived: int
    expected: list[float]


def counted(rows: int) -> dict[str, Counted]:
    """Run a query over so many rows of each host, with one switch and with a tree. Its answers are compared with
    Arrow's."""
    with lab() as machines:
        racks = [machines.network.rack() for _ in range(RACKS)]
        workers = {f"w{i}": machines.worker(f"w{i}", rack=racks[i // HOSTS]).machine for i in range(RACKS * HOSTS)}
        tors = [machines.network.machine(rack) for rack in racks]
        spine = machines.network.machine()
        for machine in machines.network.machines:
            machine.cut_packets()
        truth = make_data(machines.folder, rows)
        switches = {f"tor{i}": started(tor, "aggregate") for i, tor in enumerate(tors)}
        above = f'{started(spine, "aggregate")}name = "spine"\n'
        names = [f'{name}\ncores = 1\nlink_bits_per_s = {HOST_BITS}\nnetwork = "tor{i // HOSTS}"'
                 for i, name in enumerate(workers)]  # fmt: skip
        config = machines.config(*names)
        hosts = config.read_text()
        link = f'network = "spine"\nlink_bits_per_s = {SWITCH_BITS}\n'
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
    for _ in range(2):  # programs are built and shipped before the run that counts
        before = [rack.crossed()[0] for rack in racks], {name: m.crossed()[1] for name, m in workers.items()}
        process.stdin.write("run\n")
        process.stdin.flush()
        said = json.loads(line(process))
        up, arrived = [rack.crossed()[0] for rack in racks], {name: m.crossed()[1] for name, m in workers.items()}
    process.stdin.close()
    process.wait()
    answer = pq.read_table(machines.folder / "answer.parquet").sort_by("k")
    if answer.select(truth.column_names).cast(truth.schema) != truth:
        raise SystemExit("the answer through switches differs")
    sent = [after - earlier for after, earlier in zip(up, before[0], strict=True)]
    finisher = said["finisher"]
    return Counted(sent, arrived[finisher] - before[1][finisher], [said["expected"][f"tor{i}"] for i in range(RACKS)])


def main(here: str, config: str, folder: str) -> None:
    service = embedded.start(load(config))
    with Session(service.address, host=here, prefer=("switch_aggregate",)) as session:
        flow = read(f"{folder}/rows*.parquet").aggregate(
            by=["k"], s=sum_("v"), n=count("v"), least=min_("v"), most=max_("v")
        )
        for _ in sys.stdin:
            pq.write_table(session.run(flow).to_arrow(), f"{folder}/answer.parquet")
            record = session.describe(session.jobs()[0].id).record
            assert record is not None
            explained = record["explain"]
            assert explained["ncas"] and "switch_aggregate" in explained["ncas"], "no switch is used"
            host_of = {i["id"]: i["host"] for i in record["instances"]}
            leaving = next(e for e in record["edges"] if [host_of[p] for p in e["producers"]] == ["spine"])
            finisher = host_of[leaving["consumers"][0]]
            expected = {name: ways["up"] for name, ways in explained["networks"].items()}
            print(json.dumps({"finisher": finisher, "expected": expected}), flush=True)
    service.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
