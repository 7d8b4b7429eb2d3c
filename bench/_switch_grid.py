"""A grid of queries and link speeds, over hosts and a switch in network namespaces: what the planner chooses, beside
what either way took.

`points` makes the network. This module as a program is what runs on the service's machine, for one link speed:
python -m bench._switch_grid ADDRESS CONFIG CONFIG_WITHOUT_DEVICES FOLDER
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import jumpgate.p4.programs
from bench._cluster import lab
from jumpgate.client import avg, col, count, max_, min_, read, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.hosts.config import load
from jumpgate.service import embedded
from jumpgate.study.paper.network import Machine, line
from tests.cluster.lab import Lab

#: as tc has it, and in bits; the last one is not limited
LINKS = (("50mbit", 50_000_000), ("200mbit", 200_000_000), ("1gbit", 1_000_000_000), ("", 0))
PROGRAMS = ("aggregate", "prune", "prune_topn")
WORKERS, ROWS = 2, 40_000
RUNS = 3
SERVICES = ("switch_aggregate", "switch_prune")


def queries(folder: Path) -> dict[str, Dataflow]:
    facts, others = read(f"{folder}/facts*.parquet"), read(f"{folder}/others*.parquet")
    v = col("v")
    five = {"s": sum_(v), "n": count(v), "least": min_(v), "most": max_(v), "mean": avg(v)}
    joined = facts.join(others, left_on="key", right_on="other")
    return {
        "sum by 100": facts.aggregate(by=["few"], s=sum_(v)),
        "sum by 30,000": facts.aggregate(by=["many"], s=sum_(v)),
        "sum by key": facts.aggregate(by=["key"], s=sum_(v)),
        "five by 30,000": facts.aggregate(by=["many"], **five),
        "five by key": facts.aggregate(by=["key"], **five).top(10, "s"),
        "distinct 100": facts.select("few").distinct(),
        "distinct 30,000": facts.select("many").distinct(),
        "distinct keys": facts.select("key").distinct().aggregate(n=count("key")),
        "top 100 of few columns": facts.select("key", "amount").top(100, col("amount").desc()),
        "top 100 of wide rows": facts.top(100, col("amount").desc()),
        "max by 30,000": facts.aggregate(by=["many"], most=max_("amount")),
        "join": joined.aggregate(by=["few"], s=sum_(v)),
        "join of wide rows": joined.top(1000, "key"),
    }


def make_data(folder: Path) -> None:
    chance = np.random.default_rng(5)
    for part in range(WORKERS):
        keys = np.arange(part, WORKERS * ROWS, WORKERS, dtype=np.int64)
        cents = chance.integers(0, 10**7, ROWS)
        facts = {
            "few": chance.integers(0, 100, ROWS), "many": chance.integers(0, 30_000, ROWS), "key": keys,
            "v": pa.array([Decimal(int(c)) / 100 for c in cents], pa.decimal128(9, 2)),
            "amount": chance.integers(0, 2**30, ROWS).astype(np.int32),
            "text": pa.array([f"{'row':>40} {k}" for k in keys]),
        }  # fmt: skip
        pq.write_table(pa.table(facts), folder / f"facts{part}.parquet")
        pq.write_table(pa.table({"other": keys[::20], "o": keys[::20]}), folder / f"others{part}.parquet")


@dataclass(frozen=True)
class Point:
    """One query at one link speed; seconds of either way, and whether the planner took a switch."""

    link: str
    query: str
    hosts_s: float
    switch_s: float
    chosen: bool

    def right(self, tie: float) -> bool:
        """Return whether the chosen way was at most `tie` times as slow as the other one."""
        mine, other = (self.switch_s, self.hosts_s) if self.chosen else (self.hosts_s, self.switch_s)
        return mine <= other * tie


def points() -> Iterator[Point]:
    for rate, bits in LINKS:
        with lab() as machines:
            make_data(machines.folder)
            yield from _at(machines, rate, bits)


def _at(machines: Lab, rate: str, bits: int) -> Iterator[Point]:
    names = [f"w{i}" for i in range(WORKERS)]
    limited = [machines.here, *(machines.worker(name).machine for name in names)]
    tor = machines.network.machine()
    devices = "\n".join(started(tor, program, i) + f'name = "{program}"\n' for i, program in enumerate(PROGRAMS))
    if rate:
        for machine in limited:
            machine.limit(rate)
    config = machines.config(*(f"{name}\ncores = 1\nlink_bits_per_s = {bits}" for name in names))
    without = config.with_name("without.toml")
    without.write_text(config.read_text())
    config.write_text(config.read_text() + devices)
    process = machines.here.python("-m", "bench._switch_grid", machines.here.address, config, without,
                                   machines.folder, env=machines.client.variables)  # fmt: skip
    for _ in queries(machines.folder):
        yield Point(rate or "unlimited", **json.loads(line(process)))


def started(tor: Machine, program: str, index: int = 0) -> str:
    """Start a switch that runs the program; return its table of jumpgate.toml, without a name."""
    data, control = (f"{tor.address}:{base + index}" for base in (9801, 9559))
    source = Path(jumpgate.p4.programs.__file__).with_name(f"{program}.p4")
    running = tor.jumpgate("switch", "run", source, "--port", f"1={data},as=9801", "--p4runtime", control, "--anyone")
    line(running)
    line(running)
    return f'[[device]]\nkind = "switch"\nprogram = "{program}"\np4runtime = "{control}"\ndata = "{data}"\n'


def main(here: str, config: str, without: str, folder: str) -> None:
    by_hosts, by_any = embedded.start(load(without)), embedded.start(load(config))
    with (
        Session(by_hosts.address, host=here) as hosts,
        Session(by_any.address, host=here) as free,
        Session(by_any.address, host=here, prefer=SERVICES) as switch,
    ):
        for name, query in queries(Path(folder)).items():
            plan = switch.explain_data(query)
            assert any(nca in SERVICES for nca in plan["ncas"]), f"no switch takes {name}"
            chosen = any(nca in SERVICES for nca in free.explain_data(query)["ncas"])
            print(json.dumps({
                "query": name, "chosen": chosen, "hosts_s": _seconds(hosts, query), "switch_s": _seconds(switch, query),
            }), flush=True)  # fmt: skip
            print(name, "estimates", hosts.explain_data(query)["seconds"], plan["seconds"], file=sys.stderr)
    by_any.close()
    by_hosts.close()


def _seconds(session: Session, query: Dataflow) -> float:
    """The median of warm runs."""
    taken = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        session.run(query).to_arrow()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])


if __name__ == "__main__":
    main(*sys.argv[1:])
