"""Spark with the plugin beside Spark alone: all queries of TPC-DS, with the same cores, over the same files.

    ./dev bench spark --json [--scale 1] [--data DIR] [--queries 1,2,…] [--random N] [--seed N] [--only FIGURE]…

Needs the extra `dev`, and the plugin's jar (`./dev jvm`). Both take turns in one session, warm; a ratio is the
geometric mean over the queries of Spark's median ÷ that with the plugin.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from bench._measure import Figure, alternate, geometric_mean, medians, remark, report
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.tpcds.data import generate
from tests.support import jvm, spark_random
from tests.support.spark import Spark
from tests.support.spark_faults import FAULTS
from tests.support.spark_faults import Trial as FaultTrial
from tests.support.spark_tpcds import FORMATS, comparing, queries

CORES = len(os.sched_getaffinity(0))
RUNS = 3
SECONDS_MAX = 30.0  # for one query and format
TARGETS = {"json": 5.0, "orc": 2.0, "parquet": 2.0}


class Bench:
    """The data, and one application of Spark's with a service at a time."""

    def __init__(self, data: Path, scale: float, numbers: Sequence[int], random: int, seed: int) -> None:
        self.scale, self.folder = scale, data / f"sf{scale:g}"
        self.random, self.seed = random, seed
        texts = queries()
        self.queries = {n: texts[n] for n in numbers or texts}

    @contextmanager
    def spark(self, master: str = f"local[{CORES}]") -> Iterator[Spark]:
        service = embedded.start(local_hosts(1))
        with TemporaryDirectory() as warehouse:
            spark = Spark(
                service.address, Path(warehouse), master=master, spark_driver_memory="6g",
                spark_sql_shuffle_partitions=str(CORES), spark_jumpgate_timeoutSeconds="600",
            )  # fmt: skip
            try:
                yield spark
            finally:
                spark.close()
                service.close()

    def tables(self, spark: Spark, format: str) -> SparkSession:
        generate(self.folder, self.scale, [format])
        return spark.tpcds(self.folder, format)


def rows(session: SparkSession, query: str, offload: str) -> int:
    session.conf.set("spark.jumpgate.offload", offload)
    return len(session.sql(query).collect())


def seconds(session: SparkSession, query: str, *ways: str) -> dict[str, float]:
    return medians(alternate({way: partial(rows, session, query, way) for way in ways}, RUNS, SECONDS_MAX))


def answers_right(bench: Bench) -> Figure:
    """An answer that Spark gave in the plugin's place does not count."""
    with bench.spark() as spark, comparing(spark, bench.folder, bench.scale, [*bench.queries], workers=1) as found:
        outcomes = [future.result() for future in found.values()]
    for outcome in outcomes:
        if not outcome.right:
            remark(str(outcome))
    count = len(outcomes)
    return Figure(
        "answers_right", sum(o.right for o in outcomes), count, "higher", f"of {count}: offloaded, and Spark's"
    )


def random_right(bench: Bench) -> Figure:
    with bench.spark() as spark, TemporaryDirectory() as folder:
        spark_random.write(spark, Path(folder))
        trial = spark_random.Trial(spark.session, spark)
        wrong = 0
        for failure in trial.run(bench.random, bench.seed):
            remark(str(failure))
            wrong += 1
    compared = f"of {trial.asked} random queries; {trial.answered} have answers, {trial.offloaded} of them offloaded"
    return Figure("random_right", trial.asked - wrong, trial.asked, "higher", compared)


def operators_offloaded(bench: Bench) -> Figure:
    with bench.spark() as spark:
        session = bench.tables(spark, "parquet")
        found = []
        for query in bench.queries.values():
            frame = session.sql(query)
            frame.collect()
            found.append(spark.coverage(frame))
    share = sum(offloaded for offloaded, _ in found) / sum(operators for _, operators in found)
    return Figure("operators_offloaded", share, 0.9, "higher", f"of all operators of {len(found)} queries")


def versus_spark(bench: Bench, format: str) -> Figure:
    ratios = []
    with bench.spark() as spark:
        session = bench.tables(spark, format)
        for number, query in bench.queries.items():
            took = seconds(session, query, "always", "never")
            ratios.append(took["never"] / took["always"])
            remark(f"{format} query {number}: {took['never']:.3f} s, with Jumpgate {took['always']:.3f} s")
    return Figure(
        f"{format}_vs_spark", geometric_mean(ratios), TARGETS[format], "higher", "Spark alone ÷ with the plugin"
    )


def auto_worst(bench: Bench) -> Figure:
    ratios = {}
    with bench.spark() as spark:
        for format in FORMATS:
            session = bench.tables(spark, format)
            for number, query in bench.queries.items():
                took = seconds(session, query, "auto", "never")
                ratios[f"{format} query {number}"] = took["never"] / took["auto"]
                remark(f"{format} query {number}: {took['never']:.3f} s, auto {took['auto']:.3f} s")
    worst = min(ratios, key=lambda name: ratios[name])
    return Figure("auto_worst", ratios[worst], 0.95, "higher", f"Spark alone ÷ offload = auto, {worst}")


def receive_gb_per_core_s(bench: Bench) -> Figure:
    """Of the thread that receives columns, from one producer."""
    done = subprocess.run(jvm.java("io.jumpgate.ntf.ReceiveBenchmark", "-Xmx1g"), stdout=subprocess.PIPE, check=True)
    value = json.loads(done.stdout)["receive_gb_per_core_s"]
    return Figure("receive_gb_per_core_s", value, 1.5, "higher", "payload ÷ the receiving thread's time on a core")


def faults_survived(bench: Bench) -> Figure:
    survived = 0
    with bench.spark("local-cluster[2,1,1024]") as spark, TemporaryDirectory() as folder:
        trial = FaultTrial(spark, Path(folder))
        for fault in FAULTS:
            right = trial.survived(fault)
            survived += right
            remark(f"{fault}: {'right' if right else 'ANOTHER ANSWER'}")
    return Figure(
        "faults_survived", survived, len(FAULTS), "higher", f"of {len(FAULTS)}: a part lost at a phase of a job"
    )


FIGURES: dict[str, Callable[[Bench], Figure]] = {
    "answers_right": answers_right,
    "random_right": random_right,
    "operators_offloaded": operators_offloaded,
    **{f"{format}_vs_spark": partial(versus_spark, format=format) for format in FORMATS},
    "auto_worst": auto_worst,
    "receive_gb_per_core_s": receive_gb_per_core_s,
    "faults_survived": faults_survived,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")))
    parser.add_argument("--queries", type=lambda text: [int(n) for n in text.split(",")], default=[])
    parser.add_argument("--random", type=int, default=1000, help="how many random queries")
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument("--only", action="append", choices=FIGURES)
    arguments = parser.parse_args()
    bench = Bench(arguments.data.absolute(), arguments.scale, arguments.queries, arguments.random, arguments.seed)
    for name in arguments.only or FIGURES:
        report(FIGURES[name](bench), arguments.json)


if __name__ == "__main__":
    main()
