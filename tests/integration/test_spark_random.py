"""Random queries over awkward values: with the plugin and without it, Spark has the same answer, or the same error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.spark import Spark
from tests.support.spark_random import Trial, write

#: `./dev bench spark --only random_right --random N --seed N` asks more
QUERIES = 30
#: of those that have an answer
OFFLOADED_MIN = 0.5

pytestmark = pytest.mark.timeout(900)  # a JVM starts, and much is compiled


@pytest.fixture(scope="module")
def spark(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    folder = tmp_path_factory.mktemp("tables")
    spark = Spark(one_host, folder / "warehouse")
    write(spark, folder)
    yield spark
    spark.close()


def test_random_queries(spark: Spark) -> None:
    trial = Trial(spark.session, spark)
    failures = list(trial.run(QUERIES))
    assert not failures, "\n".join(map(str, failures))
    assert trial.answered >= QUERIES / 2
    assert trial.offloaded >= OFFLOADED_MIN * trial.answered, (trial.offloaded, trial.answered)
