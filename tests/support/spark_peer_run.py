"""Asks queries in a Spark of its own version, whose environment has PySpark and nothing else of ours: a program.

The first line of stdin has the settings and the tables, files of Parquet by name; each further one a query, settings
for it and statements before it; statements `delete equal` and `add default` are what functions of these names do. For
each query a line of stdout has its seconds, its number of rows, the first one, a digest of all, how many of its
operators are offloaded and how often Spark has computed such, or the error.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from typing import Any, TextIO

from pyspark.sql import DataFrame, SparkSession

EQUAL, DEFAULT = "delete equal ", "add default "


def ask(spark: SparkSession, question: dict[str, Any]) -> dict[str, Any]:
    for name, value in question["settings"].items():
        spark.conf.set(name, value)
    try:
        for statement in question.get("statements", ()):
            if statement.startswith(EQUAL):
                delete_equal(spark, statement.removeprefix(EQUAL))
            elif statement.startswith(DEFAULT):
                add_default(spark, statement.removeprefix(DEFAULT))
            else:
                spark.sql(statement).collect()
        start = time.perf_counter()
        frame = spark.sql(question["query"])
        rows = frame.collect()
        took = time.perf_counter() - start
    except Exception as error:
        return {"error": str(error).partition("\n")[0]}
    digest = hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()
    first = str(rows[0][0]) if rows else ""
    return {"seconds": took, "rows": len(rows), "first": first, "digest": digest, **offloaded(spark, frame)}


def delete_equal(spark: Any, words: str) -> None:
    """Delete the rows of the Iceberg table `t` whose column, the first word, has one of the integers after it, or NULL:
    by a file of these values, as Flink writes it and Spark does not."""
    name, *values = words.split()
    java, gateway = spark._jvm.org.apache.iceberg, spark.sparkContext._gateway
    table = iceberg(spark)
    id = table.schema().findField(name).fieldId()
    columns = java.types.TypeUtil.select(table.schema(), spark._jvm.java.util.HashSet([id]))
    ids = gateway.new_array(gateway.jvm.int, 1)
    ids[0] = id
    factory = java.data.GenericAppenderFactory(table.schema(), table.spec(), ids, columns, None)
    file = table.io().newOutputFile(f"{table.location()}/data/equal-{time.time_ns()}.parquet")
    encrypted = java.encryption.EncryptedFiles.encryptedOutput(file, java.encryption.EncryptionKeyMetadata.EMPTY)
    writer = factory.newEqDeleteWriter(encrypted, java.FileFormat.PARQUET, None)
    for value in values:
        record = java.data.GenericRecord.create(columns)
        record.setField(name, None if value == "null" else int(value))
        writer.write(record)
    writer.close()
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    spark.sql("refresh table t")


def add_default(spark: Any, words: str) -> None:
    """Add a column of integers, the first word, to the Iceberg table `t`, whose rows have the second word in it: Spark
    has no statement for that."""
    name, value = words.split()
    java = spark._jvm.org.apache.iceberg
    whole = java.types.Types.IntegerType.get()
    iceberg(spark).updateSchema().addColumn(name, whole, java.expressions.Expressions.lit(int(value))).commit()
    spark.sql("refresh table t")


def iceberg(spark: Any) -> Any:
    """Return the table `t` as Iceberg has it."""
    place = spark.sql("select current_catalog() || '.' || current_database()").first()[0]
    return spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, f"{place}.t")


def offloaded(spark: Any, frame: DataFrame) -> dict[str, Any]:
    """Return how many operators are offloaded, and why others are not, and how often that was not done at run time;
    nothing in an application without the plugin."""
    if "jumpgate" not in spark.conf.get("spark.plugins", ""):
        return {"offloaded": "", "fallbacks": 0}
    plan: Any = frame._jdf.queryExecution().executedPlan()
    ours = spark._jvm.io.jumpgate.spark
    return {
        "offloaded": str(ours.JumpgateExplain.coverage(plan).text()),
        "fallbacks": ours.exec.Submissions.fallbacks(),
    }


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
