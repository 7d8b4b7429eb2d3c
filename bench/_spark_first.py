"""Measures how soon Spark has the first row of a table, beside the last one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from bench._measure import Figure, remark

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
