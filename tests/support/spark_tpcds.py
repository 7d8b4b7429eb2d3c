"""All queries of TPC-DS with the plugin, from each format, beside the answers of Spark alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sqlglot

from jumpgate.tpcds.data import generate
from jumpgate.tpcds.suite import TPCDS
from tests.support.spark import Spark, equal

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

FORMATS = ("json", "orc", "parquet")


def queries() -> dict[int, str]:
    """In Spark's dialect."""
    return {
        number: sqlglot.transpile(text, read="duckdb", write="spark")[0] for number, text in TPCDS.queries().items()
    }


@dataclass(frozen=True)
class Outcome:
    """The outcome of a query on a format: whether the answer is Spark's, and how much was offloaded; `error`: there is
    none."""

    query: int
    format: str
    right: bool = False
    offloaded: int = 0
    operators: int = 0
    error: str = ""

    def __str__(self) -> str:
        verdict = self.error or ("right" if self.right else "ANOTHER ANSWER")
        return f"query {self.query} from {self.format}: {verdict}, {self.offloaded} of {self.operators} operators"


@contextmanager
def comparing(
    spark: Spark, folder: Path, scale: float, numbers: Sequence[int] = (), workers: int = 2
) -> Iterator[dict[tuple[int, str], Future[Outcome]]]:
    """Outcomes by query and format, as they come: an answer that Spark gave in the plugin's place is an error.

    Spark alone answers from Parquet, whatever the format.
    """
    generate(folder, scale, FORMATS)
    alone = spark.tpcds(folder, "parquet", spark_jumpgate_enabled="false")
    offloading = {format: spark.tpcds(folder, format, spark_jumpgate_strict="true") for format in FORMATS}
    texts = queries()
    pool = ThreadPoolExecutor(workers)
    found = {}
    try:
        for number in numbers or texts:
            expected = pool.submit(_answer, alone, texts[number])
            for format, session in offloading.items():
                found[number, format] = pool.submit(_outcome, spark, session, number, format, texts[number], expected)
        yield found
    finally:
        pool.shutdown(cancel_futures=True)


def _answer(session: SparkSession, text: str) -> list[Row]:
    return session.sql(text).collect()


def _outcome(
    spark: Spark, session: SparkSession, number: int, format: str, text: str, expected: Future[list[Row]]
) -> Outcome:
    try:
        frame = session.sql(text)
        rows = frame.collect()
        return Outcome(number, format, equal(rows, expected.result()), *spark.coverage(frame))
    except Exception as error:  # whatever it is, it belongs to this query
        return Outcome(number, format, error=str(error))
