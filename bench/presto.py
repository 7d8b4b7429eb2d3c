"""Presto with the connector beside Presto's own hive connector: all queries of TPC-DS and TPC-H, same files and cores.

    ./dev bench presto --json [--scale 1] [--answers-scale 0.1] [--data DIR] [--queries tpch:1,tpcds:3,…]
        [--journal FILE] [--only FIGURE]…

Needs the extra `dev`, a Java 17 and Maven, which fetches both servers. The hive connector has a metastore of files, and
statistics by ANALYZE; the newest that can be had, 0.287, is older than the server that has the connector. Answers are
compared with its and with DuckDB's. A ratio is the geometric mean over the queries of Presto's own seconds ÷ those with
the connector, in turns, both warm. Runs are written to journals as they end, and what these have is not run again.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from bench._engine_runs import WAYS, Settings, texts
from bench._measure import Figure, geometric_mean, remark, report
from bench._runs import Run
from jumpgate.dataflow import builder, proto
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.tpcds.data import generate, path
from jumpgate.tpch import TPCH
from tests.support import jvm, presto

#: by format
TARGETS = {"parquet": 4.0, "orc": 3.5, "json": 9.0}


class Bench:
    """The queries and scales of the benchmark, and the measurements so far."""

    engine = "Presto"
    own = "Presto's hive connector"

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.queries = tuple(arguments.queries or texts(self.engine))

    def runs(self, *formats: str, timed: bool) -> list[Run]:
        """Return the runs of all queries over the formats."""
        scale = self.arguments.scale if timed else self.arguments.answers_scale
        data = self.arguments.data.absolute()
        kind = "times" if timed else "answers"
        journal = self.arguments.journal or data / f"{self.engine.lower()}.jsonl"
        file = journal.with_name(f"{journal.stem}-{kind}-sf{scale:g}.jsonl")
        return Settings(self.engine, scale, str(data), str(file), formats, self.queries, timed).runs()


def answers_right(bench: Bench) -> Figure:
    found = bench.runs(*TARGETS, timed=False)
    for run in found:
        if not run.right:
            remark(str(run))
    compared = f"of {len(found)}: those of {bench.own}, and DuckDB's"
    return Figure("answers_right", sum(run.right for run in found), len(found), "higher", compared)


def operators_offloaded(bench: Bench) -> Figure:
    found = bench.runs(*TARGETS, timed=False)
    share = sum(run.offloaded for run in found) / sum(run.operators for run in found)
    compared = f"of the operators below the last exchange of {len(found)} queries"
    return Figure("operators_offloaded", share, 0.85, "higher", compared)


def versus_own(bench: Bench, format: str, target: float) -> Figure:
    """Compare the queries that both have answered."""
    found = [run.ratio("always") for run in bench.runs(format, timed=True) if set(WAYS) <= run.seconds.keys()]
    compared = f"{bench.own}'s seconds ÷ the connector's, {len(found)} queries, the least {min(found):.2f}"
    return Figure(f"{format}_vs_{bench.engine.lower()}", geometric_mean(found), target, "higher", compared)


def auto_worst(bench: Bench) -> Figure:
    """Measure the default, in which the connector decides by its planner's rules alone."""
    found = [run for run in bench.runs(*TARGETS, timed=True) if set(WAYS) <= run.seconds.keys()]
    worst = min(found, key=lambda run: run.ratio("always"))
    below = sum(run.ratio("always") < 0.9 for run in found)
    compared = f"Presto's own ÷ the defaults, {worst.query} from {worst.format}; {below} of {len(found)} below 0.9"
    return Figure("auto_worst", worst.ratio("always"), 0.95, "higher", compared)


def pages_gb_per_core_s(bench: Bench) -> Figure:
    """Measure a connector's page source that receives a table, with the time of all threads of its process."""
    folder = bench.arguments.data / f"tpch-sf{bench.arguments.scale:g}"
    generate(folder, bench.arguments.scale, ("parquet",), suite=TPCH)
    file = path(folder, "lineitem", "parquet").absolute()
    read = builder.read(file, format="parquet", schema=TPCH.schema("lineitem"))
    request = base64.b64encode(proto.encode(read.root).SerializeToString()).decode()
    program = "io.jumpgate.presto.PagesBenchmark"
    command = jvm.java(program, "-Xmx1g", client="presto", library=f"{presto.library()}/*")
    service = embedded.start(local_hosts(1))
    try:
        done = subprocess.run([*command, service.address, request], stdout=subprocess.PIPE, check=True)
    finally:
        service.close()
    found = json.loads(done.stdout)
    compared = f"payload ÷ the receiving process's time on cores, {found['gigabytes']:.2f} GB of lineitem"
    return Figure("pages_gb_per_core_s", found["pages_gb_per_core_s"], 1.5, "higher", compared)


FIGURES: dict[str, Callable[[Bench], Figure]] = {
    "answers_right": answers_right,
    "operators_offloaded": operators_offloaded,
    **{f"{format}_vs_presto": partial(versus_own, format=format, target=target) for format, target in TARGETS.items()},
    "pages_gb_per_core_s": pages_gb_per_core_s,
    "auto_worst": auto_worst,
}


def main(
    description: str | None,
    bench: Callable[[argparse.Namespace], Bench] = Bench,
    figures: Mapping[str, Callable[[Bench], Figure]] = FIGURES,
) -> None:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--scale", type=float, default=1, help="of what is timed")
    parser.add_argument("--answers-scale", type=float, default=0.1)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")))
    parser.add_argument("--queries", type=lambda text: text.split(","), default=[])
    parser.add_argument("--journal", type=Path, help="where runs are kept, and not made again; beside the data")
    parser.add_argument("--only", action="append", choices=figures)
    arguments = parser.parse_args()
    made = bench(arguments)
    for name in arguments.only or figures:
        report(figures[name](made), arguments.json)


if __name__ == "__main__":
    main(__doc__)
