"""What programs of PySpark do with rows beside SQL: Python's functions, pandas, RDDs, and batches of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from tests.support.spark import Spark, equal
from tests.support.spark_cases import files

ROWS = "select cast(id as int) n, id % 7 k, concat('t', id % 50) s, if(id % 11 = 0, null, id / 4d) x from range(20000)"


@pytest.fixture(scope="module")
def spark(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    folder = tmp_path_factory.mktemp("python")
    spark = Spark(one_host, folder / "warehouse")
    files("parquet", "n int, k bigint, s string, x double", ROWS)(spark.session, folder).createOrReplaceTempView("t")
    yield spark
    spark.close()


def filtered(session: SparkSession) -> DataFrame:
    return session.sql("select n, k, s, x from t where n % 3 <> 1")


# functions within functions go to Python's workers, which do not have this module, as they are
def frames_of_pandas(session: SparkSession) -> list[Any]:
    def doubled(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            frame["n"] = frame["n"] * 2
            yield frame

    return filtered(session).mapInPandas(doubled, "n int, k long, s string, x double").collect()


def groups_of_pandas(session: SparkSession) -> list[Any]:
    def sums(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": [int(frame["k"].iloc[0])], "n": [int(frame["n"].sum())]})

    return filtered(session).select("k", "n").groupBy("k").applyInPandas(sums, "k long, n long").collect()


def from_pandas(session: SparkSession, arrow: str) -> list[Any]:
    session.conf.set("spark.sql.execution.arrow.pyspark.enabled", arrow)
    try:
        frame = filtered(session).select("n", "k", "s").toPandas()
    finally:
        session.conf.unset("spark.sql.execution.arrow.pyspark.enabled")
    return [Row(*map(str, row)) for row in frame.itertuples(index=False)]


#: rows in any order
USES: dict[str, Callable[[SparkSession], list[Any]]] = {
    "a function": lambda session: (
        filtered(session).select(f.udf(lambda s, n: f"{s}{n}")("s", "n").alias("u"), "x").filter("u <> 't22'").collect()
    ),
    "a function below a group": lambda session: (
        filtered(session)
        .groupBy(f.udf(lambda k: k % 2, "bigint")("k").alias("g"))
        .agg(f.sum("n"), f.max("s"))
        .collect()
    ),
    "frames of pandas": frames_of_pandas,
    "groups of pandas": groups_of_pandas,
    "toPandas": lambda session: from_pandas(session, "false"),
    "toPandas by Arrow": lambda session: from_pandas(session, "true"),
    "toArrow": lambda session: [Row(**row) for row in filtered(session).toArrow().to_pylist()],
    "rdd": lambda session: filtered(session).rdd.map(lambda row: Row(row.n + 1, row.s)).collect(),
    "toLocalIterator": lambda session: list(filtered(session).orderBy("n").toLocalIterator()),
    "foreachPartition": lambda session: counted(session),
    "take": lambda session: filtered(session).orderBy("n").take(7) + filtered(session).orderBy("n").tail(5),
    "a cached frame": lambda session: filtered(session).cache().groupBy("k").count().collect(),
}


def counted(session: SparkSession) -> list[Any]:
    total = session.sparkContext.accumulator(0)
    filtered(session).foreachPartition(lambda rows: total.add(sum(row.n for row in rows)))
    return [Row(total.value)]


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("name", USES)
def test_rows_are_the_same_beside_python(spark: Spark, name: str) -> None:
    session, before = spark.session, spark.fallbacks
    assert spark.coverage(filtered(session))[0] > 0
    found = USES[name](session)
    session.catalog.clearCache()
    session.conf.set("spark.jumpgate.enabled", "false")
    try:
        expected = USES[name](session)
    finally:
        session.conf.set("spark.jumpgate.enabled", "true")
        session.catalog.clearCache()
    assert found
    assert equal(found, expected)
    assert spark.fallbacks == before


def test_batches_of_a_stream_join_what_is_offloaded(spark: Spark, tmp_path: Path) -> None:
    """The stream's own rows are Spark's to read; queries of its batches are offloaded beside them."""
    session, found = spark.session, []

    def batch(frame: DataFrame, number: int) -> None:
        groups = session.sql("select k, count(*) c from t where n < 1000 group by k")
        assert spark.coverage(groups)[0] > 0
        found.extend(frame.join(groups, "k").select("id", "c").collect())

    for n in range(2):
        session.sql(f"select id, id % 7 k from range({n * 20}, {n * 20 + 20})").write.mode("append").parquet(
            f"{tmp_path}/in"
        )
    before = spark.fallbacks
    reader = session.readStream.schema("id long, k long").option("maxFilesPerTrigger", "1").parquet(f"{tmp_path}/in")
    plain = reader.join(session.sql("select distinct k from t"), "k")
    query = plain.writeStream.foreachBatch(batch).trigger(availableNow=True)
    query.option("checkpointLocation", f"{tmp_path}/state").start().awaitTermination(120)
    counts = {k: sum(n % 7 == k for n in range(1000)) for k in range(7)}
    assert sorted(found) == [Row(id, counts[id % 7]) for id in range(40)]
    assert spark.fallbacks == before
