"""Tables of Delta Lake and Iceberg in Spark: offloaded as a whole, with the rows that Spark reads of them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from jumpgate import spark
from tests.support import jvm, presto
from tests.support.spark_lakes import catalogs, compared
from tests.support.spark_peer import Peer

pytestmark = pytest.mark.timeout(900)  # on a new machine Spark is fetched first

#: of those that `./dev bench spark --only lakes_right` compares
CASES = [
    ("delta", "partitions with vectors"), ("delta", "merged by vectors"), ("delta", "a renamed column"),
    ("delta", "mapped by id"), ("iceberg", "hidden partitions"), ("iceberg", "rows deleted by position"),
    ("iceberg", "rows deleted by values"), ("iceberg", "rows deleted by vectors"),
    ("iceberg", "a column renamed twice"), ("iceberg", "files of ORC"), ("delta", "renamed parts of columns"),
    ("iceberg", "renamed parts of columns"), ("iceberg", "an initial default"),
]  # fmt: skip


@pytest.fixture(scope="module")
def lakes(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """An application of the Spark that both formats are made for, which PySpark of another version drives."""
    jvm.build()
    folder = tmp_path_factory.mktemp("lakes")
    shutil.copytree(Path(pyspark.__file__).with_name("bin"), folder / "home" / "bin")
    jars = presto.fetched("spark-4.1.1", "spark", "dependency:copy-dependencies")
    (folder / "home" / "jars").symlink_to(jars)
    settings = {
        "spark.master": "local[1]", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join(jvm.BRIEF), "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1", "spark.jars": str(spark.jar()),
        "spark.plugins": spark.PLUGIN, "spark.jumpgate.address": one_host, "spark.jumpgate.strict": "true",
        "spark.jumpgate.timeoutSeconds": "300", **catalogs(folder),
    }  # fmt: skip
    application = Peer(Path(sys.executable), settings, {}, folder / "home")
    yield application
    application.close()


@pytest.mark.nightly(
    but=("partitions with vectors", "a renamed column", "by values", "by vectors", "of ORC", "parts", "default")
)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_rows_are_spark_s(lakes: Peer, kind: str, name: str) -> None:
    _, problems = compared(lakes, kind, name)
    assert not problems
