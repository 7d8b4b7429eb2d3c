"""A table, a query over it, and what becomes of it in Spark with the plugin: Spark's rows, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tests.support.spark import Spark, equal, own

WHOLE, OFFLOADED, REFUSED, FALLS_BACK = "offloaded as a whole", "offloaded", "refused", "falls back"
#: whatever Jumpgate makes of it
ANY = "of Spark's rows"
FORMATS = ("parquet", "orc", "json", "csv")
TEXT = ("json", "csv")
ANSI = "spark.sql.ansi.enabled"
COLUMNS = "a int, b string, d date, n decimal(9,2)"
ROWS = """select * from values (1, 'x', date'2024-01-31', 1.50bd), (2, 'y z', date'1969-07-20', null),
          (null, null, null, -2.25bd) as t(a, b, d, n)"""


@dataclass(frozen=True)
class Case:
    """A table and what becomes of a query over it; by default of all its columns."""

    name: str
    outcome: str
    make: Callable[[SparkSession, Path], DataFrame]
    settings: dict[str, str] = field(default_factory=dict)
    query: str = "select * from t"


def plain(format: str, **options: str) -> Callable[[SparkSession, Path], DataFrame]:
    """A table of this test's rows, read with options."""

    def make(session: SparkSession, folder: Path) -> DataFrame:
        frame = session.sql(ROWS).selectExpr("cast(a as int) a", "b", "d", "cast(n as decimal(9,2)) n")
        frame.coalesce(1).write.format(format).save(str(folder / "t"))
        return session.read.format(format).schema(COLUMNS).options(**options).load(str(folder / "t"))

    return make


def text(format: str, content: str | bytes, columns: str = "a int", name: str = "", **options: str) -> Any:
    """A table of one file of text."""

    def make(session: SparkSession, folder: Path) -> DataFrame:
        data = content.encode() if isinstance(content, str) else content
        (folder / (name or f"t.{format}")).write_bytes(data)
        return session.read.format(format).schema(columns).options(**options).load(str(folder))

    return make


def files(format: str, schema: str, *parts: str, **options: str) -> Any:
    """A table of several files, each of a query."""

    def make(session: SparkSession, folder: Path) -> DataFrame:
        for part in parts:
            session.sql(part).coalesce(1).write.mode("append").format(format).save(str(folder / "t"))
        return session.read.format(format).schema(schema).options(**options).load(str(folder / "t"))

    return make


def catalog(*statements: str) -> Callable[[SparkSession, Path], DataFrame]:
    """A table `m` of the catalog, in a folder of the test's."""

    def make(session: SparkSession, folder: Path) -> DataFrame:
        session.sql("drop table if exists m")
        for statement in statements:
            session.sql(statement.replace("FOLDER", str(folder)))
        return session.table("m")

    return make


def of_arrow(table: pa.Table, schema: str, **write: Any) -> Callable[[SparkSession, Path], DataFrame]:
    def make(session: SparkSession, folder: Path) -> DataFrame:
        pq.write_table(table, folder / "t.parquet", **write)
        return session.read.schema(schema).parquet(str(folder))

    return make


#: options that leave rows as they are


def failure(case: Case, spark: Spark, folder: Path) -> str:
    """Run a case in a folder of its own; return what is wrong, empty if nothing is."""
    session = spark.session
    table = case.make(session, folder)
    for setting, value in case.settings.items():
        session.conf.set(setting, value)
    try:
        table.createOrReplaceTempView("t")
        before, frame = spark.fallbacks, session.sql(case.query)
        queried: Any = frame._jdf.queryExecution()
        if case.outcome != ANY:
            plan = queried.executedPlan().toString()
            if ("Jumpgate [" in plan) == (case.outcome == REFUSED):
                return f"not {case.outcome}: {plan}"
            if case.outcome == REFUSED:
                return ""
            offloaded, operators = spark.coverage(frame)
            if offloaded < operators and case.outcome == WHOLE:
                return str(spark.jvm.io.jumpgate.spark.JumpgateExplain.coverage(queried.executedPlan()).text())
        ours, theirs = _rows(frame.collect), _rows(lambda: own(session, case.query))
        if not equal(ours, theirs):
            return f"{ours} instead of {theirs}"
        if case.outcome != ANY and spark.fallbacks != before + (case.outcome == FALLS_BACK):
            return f"not {case.outcome}, but with Spark's rows: {spark.fallbacks - before} fall-backs"
        return ""
    finally:
        for setting in case.settings:
            session.conf.unset(setting)


def _rows(ask: Callable[[], Any]) -> Any:
    """Or what the error is about."""
    try:
        return ask()
    except Exception as error:
        condition = re.search(r"\[[A-Z0-9_.]+", str(error))
        return [(condition.group() if condition else str(error),)]
