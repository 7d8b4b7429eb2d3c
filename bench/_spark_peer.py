"""Asks queries in a Spark of its own version, whose environment has PySpark and nothing else of ours: a program.

The first line of stdin has the settings and the tables, files of Parquet by name; each further one a query and settings
for it. For each query a line of stdout has its seconds and its number of rows, or the error.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, TextIO

from pyspark.sql import SparkSession


def ask(spark: SparkSession, question: dict[str, Any]) -> dict[str, Any]:
    for name, value in question["settings"].items():
        spark.conf.set(name, value)
    start = time.perf_counter()
    try:
        rows = spark.sql(question["query"]).collect()
    except Exception as error:
        return {"error": str(error).partition("\n")[0]}
    return {"seconds": time.perf_counter() - start, "rows": len(rows)}


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
