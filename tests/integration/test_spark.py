"""Spark with the plugin answers what Spark alone answers, with a real service; and it does when there is none."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from jumpgate import spark
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.tpcds.data import generate
from jumpgate.tpcds.schemas import schema

TABLES = ("store_sales", "store_returns", "item", "date_dim", "customer", "store")
FORMATS = ("parquet", "orc", "json")
SQL_TYPES = {"int32": "int", "int64": "bigint", "string": "string", "date": "date"}

#: name → text
QUERIES = {
    name.removeprefix("-- "): text
    for name, _, text in (
        part.partition("\n")
        for part in (Path(__file__).parents[1] / "cases/spark/queries.sql").read_text().split("\n\n")[1:]
    )
}


@pytest.fixture(scope="module")
def session(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """With the plugin, everything offloaded that can be, and TPC-DS tables by format: `item_orc`."""
    data = tmp_path_factory.mktemp("tpcds")
    generate(data, 0.01, FORMATS, TABLES)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = spark.session(
        one_host, master="local[2]", spark_jumpgate_offload="always", spark_driver_host="127.0.0.1",
        spark_driver_bindAddress="127.0.0.1", spark_ui_enabled="false", spark_sql_shuffle_partitions="2",
        spark_sql_warehouse_dir=str(data / "warehouse"), spark_jumpgate_timeoutSeconds="300",
    )  # fmt: skip
    for format in FORMATS:
        for table in TABLES:
            reader = session.read.format(format)
            if format == "json":
                reader = reader.schema(", ".join(f"{f.name} {_sql(f.type)}" for f in schema(table)))
            reader.load(f"{data}/{format}/{table}.{format}").createOrReplaceTempView(f"{table}_{format}")
    yield session
    session.stop()


def _sql(type: Any) -> str:
    return f"decimal({type.precision},{type.scale})" if type.kind == "decimal" else SQL_TYPES[type.kind]


def of_format(query: str, format: str) -> str:
    return re.sub(rf"\b({'|'.join(TABLES)})\b", rf"\1_{format}", query)


def own(session: SparkSession, query: str) -> list[Row]:
    """Spark's own answer."""
    session.conf.set("spark.jumpgate.enabled", "false")
    try:
        return session.sql(query).collect()
    finally:
        session.conf.set("spark.jumpgate.enabled", "true")


def equal(ours: list[Row], theirs: list[Row], ordered: bool) -> bool:
    if not ordered:
        ours, theirs = sorted(ours, key=_key), sorted(theirs, key=_key)
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(_near, a, b)) for a, b in zip(ours, theirs, strict=True)
    )


def _key(row: Row) -> list[str]:
    return [f"{v:.6e}" if isinstance(v, float) else repr(v) for v in row]


def _near(a: Any, b: Any) -> bool:
    return math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b


def coverage(session: SparkSession, frame: DataFrame) -> tuple[int, int]:
    """Operators that are offloaded, and all."""
    jvm: Any = session.sparkContext._jvm
    found = jvm.io.jumpgate.spark.JumpgateExplain.coverage(frame._jdf.queryExecution().executedPlan())
    return found.offloaded(), found.all()


def fallbacks(session: SparkSession) -> int:
    jvm: Any = session.sparkContext._jvm
    return int(jvm.io.jumpgate.spark.exec.Submissions.fallbacks())


@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_spark_s(session: SparkSession, name: str) -> None:
    expected = own(session, of_format(QUERIES[name], "parquet"))
    before = fallbacks(session)
    for format in FORMATS:
        frame = session.sql(of_format(QUERIES[name], format))
        assert equal(frame.collect(), expected, "order by" in QUERIES[name] and "over" not in QUERIES[name]), format
        offloaded, operators = coverage(session, frame)
        assert offloaded == operators if name != "partly" else 0 < offloaded < operators, format
    assert fallbacks(session) == before


def test_explain_shows_what_is_offloaded_and_why_the_rest_is_not(
    session: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    session.sql(of_format("select i_color, round(cast(i_item_sk as double), 1) from item", "orc")).explain()
    shown = capsys.readouterr().out
    assert "Jumpgate [" in shown and "scan of orc" in shown
    assert "2 of 3 operators (66 %) offloaded" in shown
    assert "Project stays: [expression] rounding of double is Spark's own" in shown


def test_what_spark_reads_otherwise_is_left_to_spark(session: SparkSession, tmp_path: Path) -> None:
    """Spark has NULL for values of other types, and for lines that are not JSON."""
    (tmp_path / "t.json").write_text('{"a": 1}\n{"a": "2"}\n{"a": 3.0}\n{"a": \n')
    session.read.schema("a int").json(str(tmp_path)).createOrReplaceTempView("odd")
    before = fallbacks(session)
    assert [r[0] for r in session.sql("select a from odd").collect()] == [1, None, None, None]
    assert fallbacks(session) == before + 1


def test_an_error_of_a_query_is_spark_s(session: SparkSession) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        session.sql(of_format("select i_item_sk / (i_item_sk - i_item_sk) from item", "parquet")).collect()


def test_partition_columns(session: SparkSession, tmp_path: Path) -> None:
    frame = session.range(20).selectExpr("id % 3 p", "if(id % 4 = 0, null, concat('a b', id % 2)) q", "id v")
    frame.write.partitionBy("p", "q").parquet(str(tmp_path / "parts"))
    session.read.parquet(str(tmp_path / "parts")).createOrReplaceTempView("parts")
    query = "select p, q, sum(v) from parts where p > 0 group by p, q"
    before = fallbacks(session)
    assert equal(session.sql(query).collect(), own(session, query), ordered=False)
    assert fallbacks(session) == before


def test_a_service_that_is_gone(session: SparkSession) -> None:
    service = embedded.start(local_hosts(1))
    session.conf.set("spark.jumpgate.address", service.address)
    query = of_format("select count(*), sum(ss_quantity) from store_sales", "parquet")
    expected = own(session, query)
    try:
        assert session.sql(query).collect() == expected
        service.close()
        before = fallbacks(session)
        assert session.sql(query).collect() == expected
        assert fallbacks(session) == before + 1
        session.conf.set("spark.jumpgate.strict", "true")
        with pytest.raises(Exception, match="spark.jumpgate.strict is set: no Jumpgate service answers"):
            session.sql(query).collect()
        assert fallbacks(session) == before + 1
        session.conf.set("spark.jumpgate.offload", "auto")  # decided before anything runs
        frame = session.sql(query)
        assert frame.collect() == expected
        assert coverage(session, frame)[0] == 0
    finally:
        service.close()
        session.conf.set("spark.jumpgate.strict", "false")
        session.conf.set("spark.jumpgate.offload", "always")
        session.conf.set("spark.jumpgate.address", session.sparkContext.getConf().get("spark.jumpgate.address"))
