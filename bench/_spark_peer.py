"""Asks queries in a Spark of its own version, whose environment has PySpark and nothing else of ours: a program.

The first line of stdin has the settings and the tables, files of Parquet by name; each further one a query, settings
for it and statements before it. For each query a line of stdout has its seconds, its number of rows, a digest of these
and how many of its operators are offloaded, or the error.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from typing import Any, TextIO

from pyspark.sql import DataFrame, SparkSession


def ask(spark: SparkSession, question: dict[str, Any]) -> dict[str, Any]:
    for name, value in question["settings"].items():
        spark.conf.set(name, value)
    try:
        for statement in question.get("statements", ()):
            spark.sql(statement).collect()
        start = time.perf_counter()
        frame = spark.sql(question["query"])
        rows = frame.collect()
        took = time.perf_counter() - start
    except Exception as error:
        return {"error": str(error).partition("\n")[0]}
    digest = hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()
    return {"seconds": took, "rows": len(rows), "digest": digest, "offloaded": offloaded(spark, frame)}


def offloaded(spark: SparkSession, frame: DataFrame) -> str:
    """Return how many operators are offloaded, and why others are not; empty in an application without the plugin."""
    if "jumpgate" not in spark.conf.get("spark.plugins", ""):
        return ""
    plan: Any = frame._jdf.queryExecution().executedPlan()
    return str(spark._jvm.io.jumpgate.spark.JumpgateExplain.coverage(plan).text())


def main(questions: TextIO, answers: TextIO) -> None:
    setup = json.loads(questions.readline())
    builder = SparkSession.builder
    for name, value in setup["settings"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for table, file in setup["tables"].items():
        spark.read.parquet(file).createOrReplaceTempView(table)
    for line in questions:
        print(json.dumps(ask(spark, json.loads(line))), file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
