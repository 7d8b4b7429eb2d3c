"""Queries of TPC-DS at scale 0.01 from JSON, ORC and Parquet: Spark's answers, computed by accelerators.

`./dev bench spark --only answers_right` asks all 99.

JUMPGATE_TPC_DATA names a folder that keeps the generated files between runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from jumpgate.tpcds.data import SCALE_MIN
from tests.support.spark import Spark
from tests.support.spark_tpcds import FORMATS, Outcome, comparing

QUERIES = range(3, 100, 20)
OFFLOADED_MIN = 0.95

pytestmark = pytest.mark.timeout(900)  # a JVM starts, and much is compiled


@pytest.fixture(scope="module")
def outcomes(
    one_host: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[int, str], Future[Outcome]]]:
    kept = os.environ.get("JUMPGATE_TPC_DATA")
    folder = Path(kept) / "tpcds" if kept else tmp_path_factory.mktemp("tpcds")
    spark = Spark(one_host, tmp_path_factory.mktemp("warehouse"))
    try:
        with comparing(spark, folder, SCALE_MIN, QUERIES) as found:
            yield found
    finally:
        spark.close()


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_spark_s(outcomes: dict[tuple[int, str], Future[Outcome]], query: int) -> None:
    found = [outcomes[query, format].result() for format in FORMATS]
    assert all(outcome.right for outcome in found), "\n".join(map(str, found))


def test_nearly_all_operators_are_offloaded(outcomes: dict[tuple[int, str], Future[Outcome]]) -> None:
    found = [future.result() for future in outcomes.values()]
    assert len(found) == len(QUERIES) * len(FORMATS)
    assert sum(o.offloaded for o in found) >= OFFLOADED_MIN * sum(o.operators for o in found)
