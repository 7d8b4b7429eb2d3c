"""Spark with the plugin beside Spark alone: all queries of TPC-DS, with the same cores, over the same files.

    ./dev bench spark --json [--scale 1] [--data DIR] [--queries 1,2,…] [--only FIGURE]…

Needs the extras `spark`, `data` and `dev`, and the plugin's jar. Both take turns in one session, warm; a ratio is the
geometric mean over the queries of Spark's median ÷ that with the plugin.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import sqlglot
from pyspark.sql import SparkSession

from bench._measure import Figure, alternate, geometric_mean, medians, remark, report
from jumpgate import spark
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.tpcds.data import generate
from jumpgate.tpcds.suite import TPCDS

CORES = len(os.sched_getaffinity(0))
RUNS = 3
SECONDS_MAX = 30.0  # for one query and format
FORMATS = ("json", "orc", "parquet")
TARGETS = {"json": 5.0, "orc": 2.0, "parquet": 2.0}
SQL_TYPES = {"int32": "int", "int64": "bigint", "string": "string", "date": "date"}
#: rows of the table whose columns are received for their own sake
RECEIVED_ROWS = 20_000_000


class Bench:
    """A session with the plugin, a service, and the tables of one format at a time."""

    def __init__(self, data: Path, scale: float, numbers: Sequence[int]) -> None:
        self.folder = data / f"sf{scale:g}"
        generate(self.folder, scale, FORMATS)
        texts = TPCDS.queries()
        self.queries = {n: sqlglot.transpile(texts[n], read="duckdb", write="spark")[0] for n in numbers or texts}
        self.service = embedded.start(local_hosts(1))
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        self.session: SparkSession = spark.session(
            self.service.address, master=f"local[{CORES}]", spark_jumpgate_offload="always", spark_ui_enabled="false",
            spark_driver_host="127.0.0.1", spark_driver_bindAddress="127.0.0.1", spark_driver_memory="6g",
            spark_sql_shuffle_partitions=str(CORES), spark_jumpgate_timeoutSeconds="600",
        )  # fmt: skip

    def close(self) -> None:
        self.session.stop()
        self.service.close()

    def use(self, format: str) -> None:
        for table in TPCDS.tables:
            reader = self.session.read.format(format)
            if format == "json":
                reader = reader.schema(", ".join(f"{f.name} {_sql(f.type)}" for f in TPCDS.schema(table)))
            reader.load(f"{self.folder}/{format}/{table}.{format}").createOrReplaceTempView(table)

    @contextmanager
    def offload(self, value: str) -> Iterator[None]:
        self.session.conf.set("spark.jumpgate.offload", value)
        try:
            yield
        finally:
            self.session.conf.set("spark.jumpgate.offload", "always")

    def rows(self, query: str, offload: str = "always") -> list[Any]:
        with self.offload(offload):
            return self.session.sql(query).collect()

    def seconds(self, query: str, *ways: str) -> dict[str, float]:
        return medians(alternate({way: partial(self.rows, query, way) for way in ways}, RUNS, SECONDS_MAX))

    @property
    def fallbacks(self) -> int:
        jvm: Any = self.session.sparkContext._jvm
        return int(jvm.io.jumpgate.spark.exec.Submissions.fallbacks())

    def coverage(self, query: str) -> tuple[int, int]:
        frame = self.session.sql(query)
        frame.collect()
        jvm: Any = self.session.sparkContext._jvm
        found = jvm.io.jumpgate.spark.JumpgateExplain.coverage(frame._jdf.queryExecution().executedPlan())
        return found.offloaded(), found.all()


def _sql(type: Any) -> str:
    return f"decimal({type.precision},{type.scale})" if type.kind == "decimal" else SQL_TYPES[type.kind]


def _same(ours: list[Any], theirs: list[Any]) -> bool:
    """Rows that tie in a query's order may come in any."""

    def key(row: Any) -> list[str]:
        return [f"{v:.6e}" if isinstance(v, float) else repr(v) for v in row]

    def near(a: Any, b: Any) -> bool:
        return math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b

    pairs = zip(sorted(ours, key=key), sorted(theirs, key=key), strict=False)
    return len(ours) == len(theirs) and all(all(map(near, a, b)) for a, b in pairs)


def answers_right(bench: Bench) -> Figure:
    """An answer that Spark gave in the plugin's place does not count."""
    right = 0
    for format in FORMATS:
        bench.use(format)
        for number, query in bench.queries.items():
            before = bench.fallbacks
            same = _same(bench.rows(query), bench.rows(query, "never"))
            fell = bench.fallbacks - before
            right += same and not fell
            if not same or fell:
                remark(f"{format} query {number}: {'same' if same else 'ANOTHER ANSWER'}, {fell} fall-backs")
    count = len(bench.queries) * len(FORMATS)
    return Figure("answers_right", right, count, "higher", f"of {count}: Spark's answer, offloaded")


def operators_offloaded(bench: Bench) -> Figure:
    bench.use("parquet")
    found = [bench.coverage(query) for query in bench.queries.values()]
    share = sum(offloaded for offloaded, _ in found) / sum(operators for _, operators in found)
    return Figure("operators_offloaded", share, 0.9, "higher", f"of all operators of {len(found)} queries")


def versus_spark(bench: Bench, format: str) -> Figure:
    bench.use(format)
    ratios = []
    for number, query in bench.queries.items():
        seconds = bench.seconds(query, "always", "never")
        ratios.append(seconds["never"] / seconds["always"])
        remark(f"{format} query {number}: {seconds['never']:.3f} s, with Jumpgate {seconds['always']:.3f} s")
    return Figure(
        f"{format}_vs_spark", geometric_mean(ratios), TARGETS[format], "higher", "Spark alone ÷ with the plugin"
    )


def auto_worst(bench: Bench) -> Figure:
    ratios = {}
    for format in FORMATS:
        bench.use(format)
        for number, query in bench.queries.items():
            seconds = bench.seconds(query, "auto", "never")
            ratios[f"{format} query {number}"] = seconds["never"] / seconds["auto"]
    worst = min(ratios, key=lambda name: ratios[name])
    return Figure("auto_worst", ratios[worst], 0.95, "higher", f"Spark alone ÷ offload = auto, {worst}")


def receive_gb_per_core_s(bench: Bench) -> Figure:
    """A table of four numbers, received and counted by Spark; its bytes over the job's execution, on one core."""
    files = str(bench.folder / "received")
    if not Path(files).exists():
        bench.session.range(RECEIVED_ROWS).selectExpr("id a", "id * 3 b", "id % 7 c", "-id d").write.parquet(files)
    bench.session.read.parquet(files).createOrReplaceTempView("received")
    # Spark aggregates what it has received: collect_set stays
    query = "select size(collect_set(c)), sum(a + b + d) from received"
    seconds = bench.seconds(query, "always")["always"]
    return Figure(
        "receive_gb_per_core_s", RECEIVED_ROWS * 32 / seconds / CORES / 1e9, 1.5, "higher",
        "bytes of a query's columns over its whole time and all cores",
    )  # fmt: skip


def faults_survived(bench: Bench) -> Figure:
    """The service is gone: Spark answers."""
    bench.use("parquet")
    numbers = list(bench.queries)[:5]
    expected = {n: bench.rows(bench.queries[n], "never") for n in numbers}
    survived = 0
    bench.session.conf.set("spark.jumpgate.address", "127.0.0.1:1")
    try:
        for number in numbers:
            survived += _same(bench.rows(bench.queries[number]), expected[number])
    finally:
        bench.session.conf.set("spark.jumpgate.address", bench.service.address)
    return Figure("faults_survived", survived, len(numbers), "higher", "queries of a service that is gone")


FIGURES: dict[str, Callable[[Bench], Figure]] = {
    "answers_right": answers_right,
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
    parser.add_argument("--only", action="append", choices=FIGURES)
    arguments = parser.parse_args()
    bench = Bench(arguments.data.absolute(), arguments.scale, arguments.queries)
    try:
        for name in arguments.only or FIGURES:
            report(FIGURES[name](bench), arguments.json)
    finally:
        bench.close()


if __name__ == "__main__":
    main()
