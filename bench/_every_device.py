"""One plan over every device: TPC-H over CSV objects of a store that computes, and two hosts with slow links, beside
which are switches and a card.

    python -m bench._every_device ADDRESS CONFIG CONFIG_WITHOUT_DEVICES RUNS SCALE QUERY…    # on the service's machine

Each query is run by hosts alone, with each device and pairs of them wherever they match, and as the estimate chooses.
Ways with the same plan are one candidate.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import jumpgate
from bench import _pushdown_csv
from bench._cluster import lab
from bench._measure import Figure, geometric_mean, remark
from bench._pushdown import KEY, SECRET, SELECT, rows_of
from bench._switch_grid import started
from jumpgate.hosts.config import load
from jumpgate.service import embedded
from jumpgate.study.paper.network import line
from jumpgate.tpch import TPCH

#: those over the tables that the store has
QUERIES = (1, 3, 4, 6, 12, 13, 14, 17, 18, 19, 22)
WORKERS = 2
#: of the links of hosts and of the store, as tc has it, and in bits
RATE, BITS = "10mbit", 10_000_000
#: of objects that this machine's store computes over, which shares two cores with all others
SCANNED_BYTES_S = 1e7
PROGRAMS = ("aggregate", "prune_topn")
#: accelerator → the kind of device that it runs on
KINDS = {
    "s3_select": "store", "switch_aggregate": "switch", "switch_prune": "switch", "fpga_join": "card",
}  # fmt: skip
#: way → the bucket that is read, and the kinds of devices that are preferred
WAYS = {
    "hosts": ("ranges", ()),
    "store": ("select", ("store",)),
    "switch": ("ranges", ("switch",)),
    "card": ("ranges", ("card",)),
    "store and switch": ("select", ("store", "switch")),
    "store and card": ("select", ("store", "card")),
    "chosen": ("select", ()),
}


def points(data: Path, runs: int, scale: float, queries: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the kinds of devices and the seconds of each way of each query. Needs root."""
    folder = data / "every"
    _pushdown_csv.generate(folder, data, scale)
    with lab() as machines:
        objects = machines.folder / "objects"
        for bucket in ("select", "ranges"):
            shutil.copytree(folder, objects / bucket, copy_function=os.link)
        workers = [machines.worker(f"w{i}") for i in range(WORKERS)]
        store, tor = machines.network.machine(), machines.network.machine()
        server = store.python("-m", "bench._store_server", objects, KEY, SECRET, store.address, "select")
        endpoint = line(server).strip()
        switches = [started(tor, program, i) + f'name = "{program}"\n' for i, program in enumerate(PROGRAMS)]
        for limited in (store, *(worker.machine for worker in workers)):
            limited.limit(RATE)
        config = machines.config(*(f"w{i}\ncores = 1\nlink_bits_per_s = {BITS}" for i in range(WORKERS)))
        stores = "".join(
            f'[[store]]\nurl = "s3://{bucket}"\nendpoint = "{endpoint}"\ninsecure = true\nbits_per_s = {BITS}\n'
            f"scanned_bytes_per_s = {SCANNED_BYTES_S}\n{more}\n"
            for bucket, more in (("select", SELECT), ("ranges", ""))
        )
        hosts = config.read_text() + stores
        without = config.with_name("without.toml")
        without.write_text(hosts)
        card = f'[[device]]\nname = "card"\nkind = "fpga"\naddress = "{machines.here.address}"\n'
        config.write_text("\n".join([hosts, *switches, card + f"memory_bytes = {1 << 30}\n"]))
        env = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
               "AWS_EC2_METADATA_DISABLED": "true", **machines.client.variables}  # fmt: skip
        here = machines.here.address
        asking = machines.here.python(
            "-m", "bench._every_device", here, config, without, str(runs), str(scale), *map(str, queries), env=env
        )
        for _ in queries:
            point = json.loads(line(asking))
            told = (
                f"{way} {statistics.median(of['seconds']):.2f} s ({'+'.join(of['kinds'])})"
                for way, of in point["ways"].items()
            )
            remark(f"query {point['query']}: {', '.join(told)}")
            yield point


def figures(found: list[dict[str, Any]], scale: float) -> Iterator[Figure]:
    ratios, several = [], []
    for point in found:
        plans = _plans(point)
        best = min(plans, key=lambda plan: plans[plan][0])
        chosen = plans[point["ways"]["chosen"]["plan"]]
        ratios.append(chosen[0] / plans[best][0])
        if len(plans[best][1]) > 1:
            several.append(point["query"])
        remark(f"query {point['query']}: chosen {chosen[0]:.2f} s ({'+'.join(chosen[1])}), best {plans[best][0]:.2f} s "
               f"({'+'.join(plans[best][1])}), of {len(plans)} plans")  # fmt: skip
    where = f"TPC-H, CSV in a store, scale {scale:g}, {WORKERS} hosts at {RATE}, switches, a card"
    words = f"of {len(found)} queries, those whose best plan has two or more kinds of device, hosts counted; {where}"
    yield Figure("device_plans", len(several), 10, "higher", words)
    words = f"{len(ratios)} queries beside the best of all candidates that were run, worst {max(ratios):.2f}; {where}"
    yield Figure("chosen_vs_best", geometric_mean(ratios), 1.15, "lower", words)


def _plans(point: dict[str, Any]) -> dict[str, tuple[float, list[str]]]:
    """Return the median seconds, and the kinds of devices, of each plan of a query: ways may have the same."""
    seconds: dict[str, list[float]] = {}
    for of in point["ways"].values():
        seconds.setdefault(of["plan"], []).extend(of["seconds"])
    kinds = {of["plan"]: of["kinds"] for of in point["ways"].values()}
    return {plan: (statistics.median(taken), kinds[plan]) for plan, taken in seconds.items()}


class _Way:
    """Runs SQL over the tables of a bucket."""

    def __init__(self, address: str, here: str, bucket: str, scale: float, kinds: tuple[str, ...]) -> None:
        prefer = tuple(nca for nca, kind in KINDS.items() if kind in kinds)
        self.kinds = kinds
        self._connection = jumpgate.connect(address, offload="always", progress=False, host=here, prefer=prefer)
        self._seen: set[str] = set()
        for name in _pushdown_csv.TABLES:
            self._connection.register(name, _pushdown_csv.table(f"s3://{bucket}", name, scale))

    def run(self, text: str) -> tuple[pa.Table, float]:
        """Return the answer, and the seconds that it took."""
        self._seen = {job.id for job in self._connection.session.jobs()}
        start = time.perf_counter()
        found = self._connection.sql(text).to_arrow()
        return found, time.perf_counter() - start

    def used(self) -> tuple[list[str], str]:
        """Return the kinds of devices of the last run's jobs, and what tells their plans from others."""
        session = self._connection.session
        new = {job.id for job in session.jobs()} - self._seen
        records = [record for job in new if (record := session.describe(job).record) is not None]
        parts = [(i["nca"], i["host"], i["fragment"]) for record in records for i in record["instances"]]
        kinds = {KINDS.get(nca, "host") for nca, *_ in parts} | {"host"}
        return sorted(kinds), json.dumps(sorted(parts))


def measured(ways: dict[str, _Way], query: int, runs: int) -> dict[str, Any]:
    """Run each way of a query once, then so many times, in turns; without these the first run counts."""
    text, expected = TPCH.queries()[query], None
    found: dict[str, dict[str, Any]] = {}
    for name, way in ways.items():
        answer, seconds = way.run(text)  # it also builds what the plan needs
        rows = rows_of(answer)
        if expected is not None and rows != expected:
            raise SystemExit(f"query {query}: {name} has another answer")
        expected, (kinds, plan) = rows, way.used()
        if {*way.kinds} <= {*kinds}:  # otherwise nothing of it matches: it is another way
            found[name] = {"seconds": [] if runs else [seconds], "kinds": kinds, "plan": plan}
    for _ in range(runs):
        for name, of in found.items():
            of["seconds"].append(ways[name].run(text)[1])
    return {"query": query, "ways": found}


def main(here: str, config: str, without: str, runs: str, scale: str, *queries: str) -> None:
    by_hosts, by_any = embedded.start(load(without)), embedded.start(load(config))
    ways = {
        name: _Way((by_hosts if name in ("hosts", "store") else by_any).address, here, bucket, float(scale), kinds)
        for name, (bucket, kinds) in WAYS.items()
    }
    for query in queries:
        print(json.dumps(measured(ways, int(query), int(runs))), flush=True)
    by_any.close()
    by_hosts.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
