"""Spark with the plugin beside Spark alone: all queries of TPC-DS, with the same cores, over the same files.

    ./dev bench spark --json [--scale 1] [--data DIR] [--queries 1,2,…] [--journal FILE] [--only FIGURE]… [--page FILE]

Needs the extra `dev`, and the plugin's jar (`./dev jvm`). Ways take turns in one session, warm; a ratio is the
geometric mean over the queries of Spark's seconds ÷ those with the plugin. Runs are written to the journal as they end,
and what it has is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from bench import _spark_comet, _spark_first, _spark_lakes, _spark_page, _spark_service
from bench._measure import Figure, counted, geometric_mean, remark, report
from bench._runs import Journal, Run, made
from bench._spark_runs import Runner
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.tpcds.data import generate
from tests.support import jvm, spark_cases, spark_matrix, spark_random
from tests.support.spark import Spark
from tests.support.spark_faults import FAULTS
from tests.support.spark_faults import Trial as FaultTrial
from tests.support.spark_tpcds import queries

CORES = len(os.sched_getaffinity(0))
SECONDS_MAX = 120.0  # for one query
BESIDE_COMET = "parquet beside Comet"
#: by format; in the order of measuring: JSON, of which all is reading, needs a warm JVM least
TARGETS = {"parquet": 5.5, "orc": 5.5, "json": 7.0}


class Bench:
    """The data, one Spark application with a service at a time, and the measurements so far."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.scale, self.master = arguments.scale, arguments.master
        data = arguments.data.absolute()
        self.folder = data / f"sf{self.scale:g}"
        self.journal = Journal(arguments.journal or data / f"spark-sf{self.scale:g}.jsonl")
        self.random, self.seed = arguments.random, arguments.seed
        texts = queries()
        self.queries = {n: texts[n] for n in arguments.queries or texts}

    @contextmanager
    def spark(self, master: str = "") -> Iterator[Spark]:
        service = embedded.start(local_hosts(1))
        with TemporaryDirectory() as warehouse:
            spark = Spark(
                service.address, Path(warehouse), master=master or self.master, spark_driver_memory="6g",
                spark_sql_shuffle_partitions=str(CORES), spark_jumpgate_timeoutSeconds="600",
                spark_ui_showConsoleProgress="false",
            )  # fmt: skip
            try:
                yield spark
            finally:
                spark.close()
                service.close()

    @contextmanager
    def runner(self) -> Iterator[Runner]:
        with self.spark() as spark:
            address = spark.session.conf.get("spark.jumpgate.address")
            sessions = {format: self.tables(spark, format) for format in TARGETS}
            yield Runner(spark, address, sessions, SECONDS_MAX)

    def tables(self, spark: Spark, format: str) -> SparkSession:
        generate(self.folder, self.scale, [format])
        return spark.tpcds(self.folder, format)

    def runs(self, *formats: str) -> list[Run]:
        """Return the runs of all queries over the formats."""
        wanted = {(number, format): text for format in formats for number, text in self.queries.items()}
        return made(self.journal, wanted, self.runner)


def answers_right(bench: Bench) -> Figure:
    """An answer that Spark gave in the plugin's place does not count."""
    found = bench.runs(*TARGETS)
    for run in found:
        if not run.right:
            remark(str(run))
    count = len(found)
    return Figure("answers_right", sum(r.right for r in found), count, "higher", f"of {count}: offloaded, and Spark's")


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


def feature_matrix_right(bench: Bench) -> Figure:
    """Compare rows or errors, and what is offloaded, for each option, setting, function and feature of a table."""
    cases = [*spark_matrix.cases().values(), *spark_matrix.evolving().values()]
    wrong = 0
    with bench.spark("local[1]") as spark:
        for case in cases:
            with TemporaryDirectory() as folder:
                try:
                    problem = spark_cases.failure(case, spark, Path(folder))
                except Exception as error:  # of a case that Spark itself refuses
                    problem = str(error)
                if problem:
                    remark(f"{case.name}: {problem}")
                    wrong += 1
    compared = f"of {len(cases)} cases: offloaded or refused as they should be, and Spark's rows"
    return Figure("feature_matrix_right", (len(cases) - wrong) / len(cases), 1.0, "higher", compared)


def operators_offloaded(bench: Bench) -> Figure:
    found = bench.runs(*TARGETS)
    share = sum(run.offloaded for run in found) / sum(run.operators for run in found)
    return Figure("operators_offloaded", share, 0.98, "higher", f"of all operators of {len(found)} queries")


def versus_spark(bench: Bench, format: str) -> Figure:
    """Compare the queries that both have answered; answers_right covers the others."""
    found = [run.ratio("always") for run in bench.runs(format) if {"always", "never"} <= run.seconds.keys()]
    compared = f"Spark alone ÷ with the plugin, {len(found)} queries, the least {min(found):.2f}"
    return Figure(f"{format}_vs_spark", geometric_mean(found), TARGETS[format], "higher", compared)


def parquet_vs_comet(bench: Bench) -> Figure:
    """Compare the queries that both have answered."""
    generate(bench.folder, bench.scale, ["parquet"])
    wanted = [n for n in bench.queries if (n, BESIDE_COMET) not in bench.journal.runs]
    if wanted:
        with _spark_comet.peers(bench.folder, CORES) as applications:
            for number in counted(wanted, BESIDE_COMET):
                run = Run(number, BESIDE_COMET, _spark_comet.measured(applications, bench.queries[number]))
                remark(f"query {number}: {run.seconds}")
                bench.journal.add(run)
    runs = [bench.journal.runs[n, BESIDE_COMET].seconds for n in bench.queries]
    found = [seconds for seconds in runs if len(seconds) == len(_spark_comet.WAYS)]
    comet, own = (geometric_mean(s[f"{way}'s spark"] / s[way] for s in found) for way in ("comet", "jumpgate"))
    compared = f"Comet's seconds ÷ ours, {len(found)} queries; over their own Spark alone {comet:.2f} and {own:.2f}"
    value = geometric_mean(seconds["comet"] / seconds["jumpgate"] for seconds in found)
    return Figure("parquet_vs_comet", value, 3.0, "higher", compared)


def auto_worst(bench: Bench) -> Figure:
    found = [run for run in bench.runs(*TARGETS) if {"auto", "never"} <= run.seconds.keys()]
    worst = min(found, key=lambda run: run.ratio("auto"))
    below = sum(run.ratio("auto") < 0.95 for run in found)
    compared = (
        f"Spark alone ÷ offload = auto, query {worst.query} from {worst.format}; {below} of {len(found)} below 0.95"
    )
    return Figure("auto_worst", worst.ratio("auto"), 0.95, "higher", compared)


def receive_gb_per_core_s(bench: Bench) -> Figure:
    """Measure the thread that receives columns, from one producer."""
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


def first_row_share(bench: Bench) -> Figure:
    with bench.spark() as spark:
        return _spark_first.first_row_share(bench.tables(spark, "parquet"))


def first_run_vs_spark(bench: Bench) -> Figure:
    generate(bench.folder, bench.scale, ["parquet"])
    return _spark_first.first_run_vs_spark(bench.master, CORES, bench.folder, bench.queries)


def versus_parquet(bench: Bench, way: str) -> Figure:
    generate(bench.folder, bench.scale, ["parquet"])
    runs = _spark_lakes.beside_parquet(bench.folder, CORES, bench.queries, bench.journal)
    return _spark_lakes.versus_parquet(runs, way)


FIGURES: dict[str, Callable[[Bench], Figure]] = {
    "answers_right": answers_right,
    "random_right": random_right,
    "feature_matrix_right": feature_matrix_right,
    "operators_offloaded": operators_offloaded,
    **{f"{format}_vs_spark": partial(versus_spark, format=format) for format in TARGETS},
    "parquet_vs_comet": parquet_vs_comet,
    **{f"{way}_vs_parquet": partial(versus_parquet, way=way) for way in ("delta", "iceberg")},
    "lakes_right": lambda bench: _spark_lakes.lakes_right(CORES),
    "auto_worst": auto_worst,
    "first_row_share": first_row_share,
    "first_run_vs_spark": first_run_vs_spark,
    "receive_gb_per_core_s": receive_gb_per_core_s,
    "faults_survived": faults_survived,
    "blackout_cost_s": lambda bench: _spark_service.blackout_cost_s(bench.master),
    "restart_used_s": lambda bench: _spark_service.restart_used_s(bench.master),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")))
    parser.add_argument("--queries", type=lambda text: [int(n) for n in text.split(",")], default=[])
    parser.add_argument("--journal", type=Path, help="where runs are kept, and not made again; beside the data")
    parser.add_argument("--master", default=f"local[{CORES}]", help="Spark's, for the queries of TPC-DS")
    parser.add_argument("--random", type=int, default=1000, help="how many random queries")
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument("--only", action="append", choices=FIGURES)
    parser.add_argument("--page", type=Path, help="also draw all runs of TPC-DS, as HTML")
    arguments = parser.parse_args()
    bench = Bench(arguments)
    for name in arguments.only or FIGURES:
        report(FIGURES[name](bench), arguments.json)
    if arguments.page:
        runs = bench.runs(*TARGETS)
        arguments.page.write_text(_spark_page.page(runs, list(TARGETS), bench.scale, bench.master))


if __name__ == "__main__":
    main()
