"""Filters that travel: TPC-DS and star queries over four machines, with filter edges and without."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench._cluster import lab
from bench._measure import Figure, geometric_mean, remark
from bench._star import QUERIES, tables
from jumpgate.codegen import cache
from jumpgate.study.paper.network import line
from tests.cluster.lab import Lab

WORKERS = 4
RATE = "1gbit"
#: queries that are run without filters, then with them
PART = 10
#: makes a service plan without filter edges
WITHOUT = """
from jumpgate.compiler import compile
compile.PASSES = tuple(step for step in compile.PASSES if step.__name__ != "filter_edges")
"""
LEFT_HOST = """
def left_host(record):
    host = {i["id"]: i["host"] for i in record["instances"]}
    edges = {e["id"]: e for e in record["edges"]}
    for instance, counters in record["counters"].items():
        for sink in counters["sinks"]:
            edge = edges[sink["edge"]]
            to = [host[c] for c in edge["consumers"]]
            if edge["partitioning"] == "paired":
                to = [to[edge["producers"].index(instance)]]
            yield sink["bytes"] * sum(h != host[instance] for h in to) / len(to) if to else 0
"""
#: runs each query, if it is timed twice; reports the last run's time, what left its host, and problems
CLIENT = (
    LEFT_HOST
    + """
import json, sys, time
from pathlib import Path
import jumpgate
from jumpgate.client import connect
from jumpgate.study import suites
from jumpgate.tpcds.suite import TPCDS

address, data, timed, *numbers = sys.argv[1:]
oracle = suites.Oracle(TPCDS, Path(data), "parquet", 1)

with jumpgate.connect(address, offload="always", progress=False) as connection, connect(address) as session:
    suites.register(connection, TPCDS, Path(data), "parquet")
    for number in map(int, numbers):
        text = TPCDS.queries()[number]
        if timed == "timed":
            connection.sql(text).to_arrow()
        before = {job.id for job in session.jobs()}
        query, began = connection.sql(text), time.monotonic()
        answer = query.to_arrow()
        seconds = time.monotonic() - began
        records = [session.describe(job.id).record for job in session.jobs() if job.id not in before]
        print(json.dumps({
            "query": number, "seconds": seconds, "bytes": sum(b for r in records for b in left_host(r)),
            "wrong": oracle.difference(answer, text),
        }), flush=True)
oracle.close()
"""
)
#: runs each star query; reports what left its host and the answer
STAR_CLIENT = (
    LEFT_HOST
    + """
import json, sys
from jumpgate.client import connect
from bench._star import QUERIES, star

address, folder = sys.argv[1:]
with connect(address, progress=False) as session:
    for joins, groups in QUERIES.values():
        answer = session.run(star(folder, joins, groups)).to_arrow().to_pylist()
        record = session.describe(session.jobs()[0].id).record
        print(json.dumps({"bytes": sum(left_host(record)), "answer": sorted(map(str, answer))}), flush=True)
"""
)


class Run(NamedTuple):
    seconds: float
    bytes: float


def filters(queries: Sequence[int], data: Path, timed: bool) -> list[Figure]:
    """Bytes between hosts and, if `timed`, seconds without filters ÷ with them, geometric means over the queries."""
    with lab() as machines:
        names = _workers(machines)
        if timed:
            for machine in machines.network.machines:
                machine.limit(RATE)
        pairs = []
        for part in (queries[i : i + PART] for i in range(0, len(queries), PART)):
            found = []
            for before in (WITHOUT, ""):
                service = machines.serve(machines.config(*names), before=before)
                how = "timed" if timed else "counted"
                client = machines.here.python("-c", CLIENT, service.address, data, how, *map(str, part))
                found.append([_run(client) for _ in part])
                client.wait(60)
                service.end()
            for number, a, b in zip(part, *found, strict=True):
                pairs.append((number, a, b))
                times = f", {a.seconds:.2f} → {b.seconds:.2f} s" if timed else ""
                remark(f"Q{number}: {a.bytes / 1e6:.3f} → {b.bytes / 1e6:.3f} MB{times}")
    which = f"{len(pairs)} queries of TPC-DS from {data}, {WORKERS} hosts"
    saved = geometric_mean([max(a.bytes, 1.0) / max(b.bytes, 1.0) for _, a, b in pairs])
    figures = [Figure("filters_bytes_saved", saved, 2.0, "higher", f"bytes between hosts without filters; {which}")]
    if timed:
        faster = geometric_mean([a.seconds / b.seconds for _, a, b in pairs])
        figures.append(Figure("transfer_vs_none", faster, 1.5, "higher", f"without filters, links of {RATE}; {which}"))
    return figures


def star_filters() -> Figure:
    """Measure the filters of star queries at scale 1, whose answers are compared with each other."""
    with lab() as machines:
        names = _workers(machines)
        tables(machines.folder, 10)
        ways = []
        for before in (WITHOUT, ""):
            service = machines.serve(machines.config(*names), before=before)
            client = machines.here.python("-c", STAR_CLIENT, service.address, machines.folder)
            ways.append([json.loads(line(client)) for _ in QUERIES])
            client.wait(60)
            service.end()
    saved = []
    for name, plain, filtered in zip(QUERIES, *ways, strict=True):
        assert plain["answer"] == filtered["answer"], name
        saved.append(max(plain["bytes"], 1.0) / max(filtered["bytes"], 1.0))
        remark(f"{name}: {plain['bytes'] / 1e6:.3f} → {filtered['bytes'] / 1e6:.3f} MB")
    which = f"bytes between hosts without filters; {len(saved)} star queries, {WORKERS} hosts"
    return Figure("star_filters_bytes_saved", geometric_mean(saved), 2.0, "higher", which)


def _workers(machines: Lab) -> list[str]:
    names = [f"worker{number}" for number in range(1, WORKERS + 1)]
    for name in names:
        share_programs(machines.folder / name / "cache")
        machines.worker(name)
    return names


def share_programs(worker: Path) -> None:
    """Let a worker use the programs that others have compiled, with no more cores than this machine has."""
    worker.mkdir(parents=True)
    for kind in ("runtime", "artifacts", "locks"):
        (cache.root() / kind).mkdir(exist_ok=True)
        (worker / kind).symlink_to(cache.root() / kind)


def _run(client: subprocess.Popen[str]) -> Run:
    text = ""
    while not text.startswith("{"):  # DuckDB shows how far it is in between
        text = line(client)
    said = json.loads(text)
    if said["wrong"]:
        raise SystemExit(f"query {said['query']} is wrong: {said['wrong']}")
    return Run(said["seconds"], said["bytes"])
