"""A session of Spark's with the plugin, queries of tests and benchmarks, and a comparison of answers."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from jumpgate import spark
from jumpgate.tpcds.suite import TPCDS
from tests.support import jvm

SQL_TYPES = {"int32": "int", "int64": "bigint", "string": "string", "date": "date"}


class Spark:
    """Everything is offloaded that can be; `sessions` of one application have tables and settings of their own."""

    def __init__(self, address: str, warehouse: Path, master: str = "local[2]", **settings: str) -> None:
        jvm.build()
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["PYSPARK_PYTHON"] = sys.executable  # of functions in Python
        common = {
            "spark_driver_host": "127.0.0.1", "spark_driver_bindAddress": "127.0.0.1", "spark_ui_enabled": "false",
            "spark_jumpgate_offload": "always", "spark_jumpgate_timeoutSeconds": "300",
            "spark_sql_shuffle_partitions": "2", "spark_sql_warehouse_dir": str(warehouse),
        }  # fmt: skip
        self.session: SparkSession = spark.session(address, master=master, **{**common, **settings})

    def close(self) -> None:
        self.session.stop()

    @property
    def jvm(self) -> Any:
        return self.session.sparkContext._jvm

    @property
    def fallbacks(self) -> int:
        """Return how often Spark computed a part that was meant for accelerators, so far."""
        return int(self.jvm.io.jumpgate.spark.exec.Submissions.fallbacks())

    def coverage(self, frame: DataFrame) -> tuple[int, int]:
        """Operators that are offloaded, and all."""
        plan: Any = frame._jdf.queryExecution().executedPlan()
        found = self.jvm.io.jumpgate.spark.JumpgateExplain.coverage(plan)
        return found.offloaded(), found.operators()

    def tpcds(self, folder: Path, format: str, **settings: str) -> SparkSession:
        """A session in which all tables of TPC-DS are a format's files; settings as of `spark.session`."""
        session = self.session.newSession()
        for name, value in settings.items():
            session.conf.set(name.replace("_", "."), value)
        for table in TPCDS.tables:
            tpcds_table(session, folder, table, format).createOrReplaceTempView(table)
        return session


def tpcds_table(session: SparkSession, folder: Path, table: str, format: str) -> DataFrame:
    reader = session.read.format(format)
    if format in ("json", "csv"):
        columns = [f"{f.name} {_sql(f.type)}" for f in TPCDS.schema(table)]
        reader = reader.schema(", ".join(columns)).options(**({"header": "true"} if format == "csv" else {}))
    return reader.load(f"{folder}/{format}/{table}.{format}")


def _sql(type: Any) -> str:
    return f"decimal({type.precision},{type.scale})" if type.kind == "decimal" else SQL_TYPES[type.kind]


def received(frame: DataFrame) -> DataFrame:
    """The rows of an RDD: all parts of the query that are offloaded have been received when it returns."""
    session: Any = frame.sparkSession
    rdd = frame._jdf.toJavaRDD()
    return DataFrame(session._jsparkSession.createDataFrame(rdd, frame._jdf.schema()), session)


def own(session: SparkSession, query: str) -> list[Row]:
    """Spark's own answer."""
    session.conf.set("spark.jumpgate.enabled", "false")
    try:
        return session.sql(query).collect()
    finally:
        session.conf.set("spark.jumpgate.enabled", "true")


def equal(ours: Sequence[Row], theirs: Sequence[Row], ordered: bool = False) -> bool:
    """Rows in any order, unless `ordered`. Floats may differ in their last digits; 0 and -0, and all NaN, are one."""
    if not ordered:
        ours, theirs = sorted(ours, key=_key), sorted(theirs, key=_key)
    return len(ours) == len(theirs) and all(map(_same_row, ours, theirs))


def _same_row(ours: Iterable[Any], theirs: Iterable[Any]) -> bool:
    a, b = tuple(ours), tuple(theirs)
    return len(a) == len(b) and all(map(_near, a, b))


def _key(row: Row) -> list[str]:
    return [f"{v + 0.0:.6e}" if isinstance(v, float) else repr(v) for v in row]


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    return type(a) is type(b) and a == b
