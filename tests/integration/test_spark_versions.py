"""Versions of Spark that other tests do not run: with the plugin for each it answers as it does alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyspark
import pytest

from bench._spark_comet import environment
from jumpgate import spark
from jumpgate.codegen import cache
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.service.embedded import Embedded
from tests.support import jvm, presto
from tests.support.spark_lakes import ALWAYS, OWN
from tests.support.spark_peer import Peer

pytestmark = pytest.mark.timeout(1800)  # a plugin is built, and on a new machine a Spark is fetched

#: releases by what jars are for; PySpark of 3.5 is another one than that of 4
RELEASES = {"4.1_2.13": "4.1.1", "4.0_2.13": "4.0.1", "3.5_2.13": "3.5.8", "3.5_2.12": "3.5.8"}
FORMATS = ("parquet", "orc", "json", "csv")
PLAIN = (
    "cast(id as int) a, concat('r', id % 50) b, date_add(date'2024-01-31', cast(id % 9 as int)) d, "
    "cast(id / 4 as decimal(9,2)) n"
)
NESTED = "named_struct('x', id % 5, 'y', concat('s', id % 3)) s, array(id, id + 1) l"
QUERIES = {
    "a filter": "select a, b, d, n from {t} where a % 3 = 1 and b <> 'r4'",
    "a join and groups": "select t.b, count(*), sum(n), max(u.d) from {t} t join (select a, d from {t} where a < 99) u "
    "on t.a = u.a + 1 group by t.b",
    "a window": "select a, b, sum(n) over (partition by b order by a), rank() over (order by d, a) from {t}",
    "an order": "select b, d, a from {t} where n > 20 order by d desc, b, a limit 20",
}
OF_NESTED = {
    "fields": "select s.y, count(*), sum(s.x) from {t} where s.x > 1 group by s.y",
    "elements": "select a, e from {t} lateral view explode(l) as e where size(l) = 2 and s.x = 1",
    "nested values": "select a, s, l from {t} where a < 20",
}


@pytest.fixture(params=RELEASES)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def service() -> Iterator[Embedded]:
    with closing(embedded.start(local_hosts(1))) as service:
        yield service


@pytest.fixture
def application(version: str, service: Embedded, tmp_path: Path) -> Iterator[Peer]:
    jvm.build(version)
    python, home = installed(version, tmp_path / "home")
    settings = {
        "spark.master": "local[2]", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join(jvm.BRIEF), "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"), "spark.jars": str(spark.jar(version)),
        "spark.plugins": spark.PLUGIN, "spark.jumpgate.address": service.address,
        "spark.jumpgate.timeoutSeconds": "300",
    }  # fmt: skip
    with closing(Peer(python, settings, {}, home)) as application:
        yield application


def installed(version: str, home: Path) -> tuple[Path, Path | None]:
    """Return the Python that drives a version of Spark, and the folder `home` with it, unless PySpark has it."""
    scala = version.partition("_")[2]
    is_old = version.startswith("3")
    python = environment(cache.folder("comet")) if is_old else Path(sys.executable)
    if is_old and scala == "2.12":
        return python, None
    jars = presto.fetched(
        f"spark-{RELEASES[version]}_{scala}", "spark", "dependency:copy-dependencies",
        f"-Dspark.version={RELEASES[version]}", f"-Dscala.version={scala}", pom="plain.xml",
    )  # fmt: skip
    found = subprocess.run([python, "-c", "import pyspark; print(pyspark.__file__)"], capture_output=True, text=True)
    of = Path(found.stdout.strip() if is_old else pyspark.__file__)
    shutil.copytree(of.with_name("bin"), home / "bin")
    (home / "jars").symlink_to(jars)
    return python, home


@pytest.mark.nightly(like="tests/integration/test_spark.py::test_answers_are_spark_s")
def test_a_version_answers_as_it_does_alone(version: str, application: Peer, service: Embedded) -> None:
    tables = [
        f"create table {f} using {f} as select {PLAIN}{'' if f == 'csv' else ', ' + NESTED} from range(500)"
        for f in FORMATS
    ]
    for format in FORMATS:
        for name, text in {**QUERIES, **({} if format == "csv" else OF_NESTED)}.items():
            query = text.format(t=format)
            own, tables = application.answer(query, OWN, tables), []
            ours = application.answer(query, ALWAYS)
            assert ours["digest"] == own["digest"] and ours["rows"], (format, name)
            assert "100 %" in ours["offloaded"] and ours["fallbacks"] == 0, (format, name, ours)

    partly = "select b, round(cast(a as double), 1) r from orc"
    assert "stays: [expression] rounding of double" in application.answer(partly, ALWAYS)["offloaded"]
    shown = application.answer(f"explain {partly}", ALWAYS)["first"]
    assert "Jumpgate [" in shown
    assert ("Project stays: [expression]" in shown) == (not version.startswith("3"))  # whose EXPLAIN cannot be extended

    query = QUERIES["a join and groups"].format(t="parquet")
    own = application.answer(query, OWN)
    service.close()
    ours = application.answer(query, ALWAYS)
    assert ours["digest"] == own["digest"] and ours["fallbacks"] == 1
    ours = application.answer(query, {**ALWAYS, "spark.jumpgate.offload": "auto"})
    assert ours["digest"] == own["digest"] and "no Jumpgate service answers" in ours["offloaded"]
