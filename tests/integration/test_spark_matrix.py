"""What decides which rows Spark reads, option, setting or feature of a table: offloaded with these rows, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import spark_matrix
from tests.support.spark import Spark, equal, own
from tests.support.spark_cases import failure, files
from tests.support.spark_functions import VALUES

CASES, EVOLVING = spark_matrix.cases(), spark_matrix.evolving()


@pytest.fixture(scope="module")
def spark(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    spark = Spark(one_host, tmp_path_factory.mktemp("warehouse"), master="local[1]")
    yield spark
    spark.close()


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("name", CASES)
def test_rows_are_spark_s(spark: Spark, tmp_path: Path, name: str) -> None:
    assert not failure(CASES[name], spark, tmp_path)


@pytest.mark.nightly(every=25)
@pytest.mark.parametrize("name", EVOLVING)
def test_files_of_other_types(spark: Spark, tmp_path: Path, name: str) -> None:
    assert not failure(EVOLVING[name], spark, tmp_path)


def test_lists_without_an_order(spark: Spark, tmp_path: Path) -> None:
    """Elements at one place of several lists are of one row; a query that orders its rows is Spark's."""
    session = spark.session
    files("parquet", "n int, b string, g int", VALUES)(session, tmp_path).createOrReplaceTempView("t")
    query = "select g, {made} from t where b is not null group by g"
    made = "collect_list(b) b, collect_list(n) n, collect_list(n) filter (where n > 9) e, array_agg(distinct b) d"
    frame = session.sql(query.format(made=made))
    offloaded, operators = spark.coverage(frame)
    assert offloaded == operators
    ours, theirs = (
        {r.g: (sorted(zip(r.b, r.n, strict=True)), r.e, sorted(r.d)) for r in rows}
        for rows in (frame.collect(), own(session, query.format(made=made)))
    )
    assert ours == theirs and all(e == [] for _, e, _ in ours.values())
    for rows in ("(select * from t order by n)", "(select g, explode(array(n, 1)) n from t)"):
        shown = str(
            session.sql(f"select g, collect_list(n) from {rows} group by g")._jdf.queryExecution().executedPlan()
        )
        assert "ObjectHashAggregate" in shown


WRITES = {
    "a file": lambda frame, folder: frame.write.parquet(str(folder / "out")),
    "partitions": lambda frame, folder: frame.write.partitionBy("g").orc(str(folder / "out")),
    "a table": lambda frame, folder: frame.write.format("parquet").saveAsTable("out"),
    "ctas": lambda frame, folder: frame.sparkSession.sql("create table out using parquet as select * from t"),
    "insert": lambda frame, folder: (
        frame.sparkSession.sql("create table out using parquet as select * from t limit 0"),
        frame.sparkSession.sql("insert into out select * from t"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_writes_take_rows_of_accelerators(spark: Spark, tmp_path: Path, name: str) -> None:
    session = spark.session
    files("parquet", "n int, b string, g int", VALUES)(session, tmp_path).createOrReplaceTempView("t")
    session.sql("drop table if exists out")
    before = spark.fallbacks
    WRITES[name](session.sql("select * from t"), tmp_path)
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    shown = session._jsparkSession.sharedState().statusStore().executionsList().last().physicalPlanDescription()
    assert "Jumpgate [" in shown, shown
    assert spark.fallbacks == before
    out = tmp_path / "out"
    written = (
        session.read.format("orc" if name == "partitions" else "parquet").load(str(out))
        if out.exists()
        else session.table("out")
    )
    assert equal(written.select("n", "b", "g").collect(), own(session, "select n, b, g from t"))
    session.sql("drop table if exists out")
