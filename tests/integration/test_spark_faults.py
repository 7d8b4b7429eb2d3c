"""Spark on two executors with the plugin: whatever is lost in whatever phase of a job, the answer is right."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support import spark_faults
from tests.support.spark import Spark, equal, own
from tests.support.spark_faults import FAULTS, Fault, Trial

pytestmark = pytest.mark.timeout(900)  # a JVM starts, and much is compiled


@pytest.fixture(scope="module")
def spark(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    quick = os.environ["SPARK_SUBMIT_OPTS"]  # tests/conftest.py has it for the driver
    folder = tmp_path_factory.mktemp("warehouse")
    spark = Spark(one_host, folder, master="local-cluster[2,1,1024]", spark_executor_extraJavaOptions=quick)
    yield spark
    spark.close()


@pytest.fixture(scope="module")
def trial(spark: Spark, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return Trial(spark, tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize("query", [spark_faults.STREAM, spark_faults.AGGREGATE], ids=["stream", "aggregate"])
def test_results_come_to_both_executors(spark: Spark, trial: Trial, query: str) -> None:
    before = spark.fallbacks
    frame = spark.session.sql(query)
    assert equal(frame.collect(), own(spark.session, query))
    assert spark.coverage(frame)[0] > 0
    assert spark.fallbacks == before


def test_a_task_reads_what_another_executor_received(spark: Spark, trial: Trial) -> None:
    before = spark.fallbacks
    one = spark.session.table("faults").coalesce(1).selectExpr("k", "length(s) n", "rand() r").where("r >= 0")
    found = one.selectExpr("count(*)", "sum(k)", "sum(n)").collect()
    assert equal(found, own(spark.session, "select count(*), sum(k), sum(length(s)) from faults"))
    assert spark.fallbacks == before


@pytest.mark.nightly(every=4)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_answer_is_right_whatever_is_lost(trial: Trial, fault: Fault) -> None:
    assert trial.survived(fault)
