"""Measures how soon Spark has the first row of a table, beside the last one, and what first runs of queries take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession

from bench._measure import Figure, geometric_mean, remark
from tests.support.served import serving
from tests.support.spark import Spark

#: of TPC-DS, few tables each
FIRST = (3, 7, 19, 42, 43, 52, 55, 68, 79, 96)
QUERY = "SELECT * FROM store_sales"
RUNS = 5


def first_row_share(session: SparkSession) -> Figure:
    """Compare the time until a task of Spark's has a row with the time until all tasks have had all rows."""
    shares = []
    for run in range(RUNS + 1):
        first, whole = seen(session)
        if run:  # the first one compiles
            remark(f"the first row after {first:.3f} s, all after {whole:.3f} s")
            shares.append(first / whole)
    return Figure(
        "first_row_share", statistics.median(shares), 0.3, "lower", f"{QUERY}: seconds to the first row ÷ to all"
    )


def seen(session: SparkSession) -> tuple[float, float]:
    """Return the seconds until a task has its first row, and until the last one of all has its last."""

    def times(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        at = [time.time() for batch in batches if len(batch)]
        yield pa.RecordBatch.from_pydict({"first": at[:1], "last": at[-1:]})

    began = time.time()
    found = session.sql(QUERY).mapInArrow(times, "first double, last double").collect()
    return min(row.first for row in found) - began, max(row.last for row in found) - began


def first_run_vs_spark(master: str, cores: int, data: Path, texts: Mapping[int, str]) -> Figure:
    """Compare Spark alone, warm, with the first run of each query that the plugin decides on, beside an empty cache."""
    ratios = []
    environment = {"JUMPGATE_FIRST_RUNS": ""}  # as users have it
    with TemporaryDirectory() as name, serving(Path(name), JUMPGATE_CACHE_DIR=f"{name}/cache", **environment) as served:
        spark = Spark(served.address, Path(name) / "warehouse", master, spark_sql_shuffle_partitions=str(cores))
        try:
            session = spark.tpcds(data, "parquet")
            numbers = [n for n in FIRST if n in texts]
            own = {n: min(seconds(session, texts[n], "never") for _ in range(2)) for n in numbers}
            for n in numbers:
                first = seconds(session, texts[n], "auto")
                remark(f"query {n}: Spark alone {own[n]:.2f} s, the first run {first:.2f} s")
                ratios.append(own[n] / first)
        finally:
            spark.close()
    compared = f"Spark alone ÷ the first run with the plugin, {len(ratios)} queries, the least {min(ratios):.2f}"
    return Figure("first_run_vs_spark", geometric_mean(ratios), 1.0, "higher", compared)


def seconds(session: SparkSession, text: str, way: str) -> float:
    session.conf.set("spark.jumpgate.offload", way)
    began = time.monotonic()
    session.sql(text).collect()
    return time.monotonic() - began
