"""Spark reads rows while their job runs; whatever becomes of it, the answer is Spark's own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row

from jumpgate.errors import Unreachable
from jumpgate.hosts.config import local_hosts
from jumpgate.orchestrator.job import Event
from jumpgate.service import embedded
from jumpgate.testing.leaks import wait_until
from tests.support.spark import Spark, equal, own

pytestmark = pytest.mark.timeout(900)  # a JVM starts, and much is compiled

ROWS = 400_000
#: of one row each for every batch of a task: its rows and their sum
SUMS = "n bigint, total bigint"
ROWS_READ_S = 120.0
QUERIES = {
    "table": "select k, s from big",
    "rows of a filter": "select k + 1 k, s from big where k % 10 > 1",
    "union": "select k, s from big union all select k, upper(s) from big where k < 200000",
}


@pytest.fixture(scope="module")
def spark(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """With one try for each task, as `local` has it."""
    folder = tmp_path_factory.mktemp("streams")
    spark = Spark(one_host, folder / "warehouse")
    columns = "id k", "if(id % 1000 = 0, null, concat('a text of some length ', id)) s"
    spark.session.range(ROWS).selectExpr(*columns).repartition(3).write.parquet(str(folder / "big"))
    spark.session.read.parquet(str(folder / "big")).createOrReplaceTempView("big")
    yield spark
    spark.close()


@pytest.fixture
def address(spark: Spark) -> Iterator[str]:
    """The setting of the service's address, restored in the end."""
    name = "spark.jumpgate.address"
    before = spark.session.conf.get(name)
    yield name
    spark.session.conf.set(name, before)


def summed(frame: DataFrame, marker: Path) -> DataFrame:
    """Rows of each batch of a frame, summed; the marker is made when a task has its first one."""

    def of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            marker.touch()
            numbers = batch.column(0).to_numpy(zero_copy_only=False)
            yield pa.RecordBatch.from_pydict({"n": [len(batch)], "total": [int(numbers.sum())]})

    return frame.mapInArrow(of, SUMS)


class Held:
    """A service that holds the end of its jobs until Spark has read rows of one; then it ends as told."""

    def __init__(self, marker: Path, fate: str) -> None:
        self.service = embedded.start(local_hosts(1))
        self.was_read = self.was_cancelled = False
        self.marker, self.fate, self._execute = marker, fate, self.service.engine.execute
        self.service.engine.execute = self._executed  # type: ignore[method-assign]

    async def _executed(self, id: str, *more: Any) -> AsyncGenerator[Event, None]:
        try:
            async with contextlib.aclosing(self._execute(id, *more)) as events:
                async for event in events:
                    if event.state == "done":
                        await self._end()
                    yield event
        except (asyncio.CancelledError, GeneratorExit):
            self.was_cancelled = True
            raise

    async def _end(self) -> None:
        if self.fate == "wait":
            await asyncio.sleep(2 * ROWS_READ_S)
        self.was_read = await asyncio.to_thread(wait_until, self.marker.exists, ROWS_READ_S)
        if self.fate == "fail":
            raise Unreachable("the host of an instance is gone")
        if self.fate == "close":
            threading.Thread(target=self.service.close).start()
            await asyncio.sleep(2 * ROWS_READ_S)


@pytest.fixture
def held(spark: Spark, address: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Held]:
    service = Held(tmp_path / "read", request.param)
    spark.session.conf.set(address, service.service.address)
    yield service
    service.service.close()


def own_sums(spark: Spark, query: str) -> list[Row]:
    return own(spark.session, f"select count(*), sum(k) from ({query})")


@pytest.mark.parametrize("held", ["end", "fail", "close"], indirect=True)
@pytest.mark.parametrize("query", QUERIES)
def test_rows_come_while_the_job_runs(spark: Spark, tmp_path: Path, query: str, held: Held) -> None:
    before, frame = spark.fallbacks, summed(spark.session.sql(QUERIES[query]), tmp_path / "read")
    found = frame.selectExpr("sum(n)", "sum(total)").collect()
    assert held.was_read
    assert wait_until(lambda: spark.fallbacks == before + (held.fate != "end"), ROWS_READ_S)
    assert equal(found, own_sums(spark, QUERIES[query]))


@pytest.mark.parametrize("held", ["wait"], indirect=True)
def test_a_query_that_needs_no_more_rows_ends_the_job(spark: Spark, held: Held) -> None:
    before = spark.fallbacks
    assert len(spark.session.sql("select k, rand() r from big limit 5").collect()) == 5
    assert wait_until(lambda: held.was_cancelled, ROWS_READ_S)
    assert spark.fallbacks == before


@pytest.mark.parametrize("held", ["wait"], indirect=True)
def test_a_query_that_fails_ends_the_job(spark: Spark, held: Held) -> None:
    before = spark.fallbacks
    with pytest.raises(Exception, match="a mistake of the query"):
        failing = "select raise_error('a mistake of the query') e, s from big"  # which only Spark computes
        spark.session.sql(failing).collect()
    assert wait_until(lambda: held.was_cancelled, ROWS_READ_S)
    assert spark.fallbacks == before


@pytest.mark.parametrize("held", ["fail"], indirect=True)
def test_a_strict_query_fails(spark: Spark, tmp_path: Path, held: Held) -> None:
    spark.session.conf.set("spark.jumpgate.strict", "true")
    try:
        with pytest.raises(Exception, match="spark.jumpgate.strict is set: the host of an instance is gone"):
            summed(spark.session.sql(QUERIES["table"]), tmp_path / "read").collect()
    finally:
        spark.session.conf.set("spark.jumpgate.strict", "false")
    assert held.was_read


@pytest.mark.parametrize("held", ["end", "fail"], indirect=True)
def test_rows_that_are_read_twice(spark: Spark, tmp_path: Path, held: Held) -> None:
    """By both sides of a join, which are computed once."""
    held.marker.touch()
    query = """select count(*), sum(a.k) from (select k, rand() r from big) a join (select k, rand() q from big) b
               on a.k = b.k where r >= 0 and q >= 0"""
    assert equal(spark.session.sql(query).collect(), own(spark.session, query))
    assert held.was_read


def test_more_rows_than_memory_holds(spark: Spark, tmp_path: Path) -> None:
    """What is beyond the window of a partition that waits for its task is read from disk."""
    query = "select k, s, concat(s, s, s, s, s, s) t from big union all select k, s, concat(s, s, s, s, s, s) from big"
    spark.session.conf.set("spark.jumpgate.partitions", "4")
    try:
        before, frame = spark.fallbacks, summed(spark.session.sql(query), tmp_path / "read")
        for _ in range(2):
            assert equal(frame.selectExpr("sum(n)", "sum(total)").collect(), own_sums(spark, query))
        assert spark.fallbacks == before
    finally:
        spark.session.conf.set("spark.jumpgate.partitions", "0")
