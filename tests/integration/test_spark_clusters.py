"""Spark on four executors and four agents, with a token, a certificate and ports as on a cluster."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client.session import Session
from jumpgate.hosts.config import ClientConfig, local_hosts
from jumpgate.service import embedded
from jumpgate.testing.leaks import wait_until
from jumpgate.trust import certificates
from tests.support.spark import Spark

pytestmark = pytest.mark.timeout(900)  # a JVM starts, and much is compiled

EXECUTORS, AGENTS, ROWS = 4, 4, 200_000
FIRST = random.randrange(20_000, 30_000)
PORTS = range(FIRST, FIRST + 200)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    folder = tmp_path_factory.mktemp("cluster")
    shipped = folder / "shipped"
    shipped.mkdir()
    (shipped / "spark.token").write_text("a token of the client spark\n")
    certificates.init(folder / "certs")
    issued = certificates.issue(folder / "certs", "driver", (), 10)
    archive = shutil.make_archive(str(shipped / "certs"), "zip", issued)
    data = folder / "data"
    data.mkdir()
    share = ROWS // AGENTS  # a part that is not split: no agent takes over another one's
    for part in range(AGENTS):
        keys = range(part * share, (part + 1) * share)
        pq.write_table(pa.table({"k": list(keys), "g": [k % 1000 for k in keys]}), data / f"{part}.parquet")
    client = ClientConfig("spark", str(shipped / "spark.token"), roots=(str(data),))
    service = embedded.start(replace(local_hosts(AGENTS), clients=(client,)))
    quick = os.environ["SPARK_SUBMIT_OPTS"]  # tests/conftest.py has it for the driver
    spark = Spark(
        service.address, folder / "warehouse", f"local-cluster[{EXECUTORS},1,512]",
        spark_executor_memory="512m", spark_executor_extraJavaOptions=quick,
        spark_jumpgate_ports=f"{PORTS[0]}-{PORTS[-1]}", spark_jumpgate_partitions=str(EXECUTORS),
        spark_jumpgate_tokenFile="spark.token",
        spark_files=str(shipped / "spark.token"), spark_archives=f"{archive}#certs",
    )  # fmt: skip
    try:
        spark.session.read.parquet(str(data)).createOrReplaceTempView("t")
        yield spark
    finally:
        spark.close()
        service.close()


def test_executors_share_the_rows_of_a_query(spark: Spark) -> None:
    before = spark.fallbacks
    frame = spark.session.sql("select k, g from t where k >= 0")
    assert spark.coverage(frame)[0] > 0
    # a worker's parent is the daemon of its executor
    of_rows = frame.rdd.mapPartitions(lambda rows: [(os.getppid(), sum(1 for _ in rows))]).collect()
    by_executor: Counter[int] = Counter()
    for executor, rows in of_rows:
        by_executor[executor] += rows
    assert by_executor.total() == ROWS and len(by_executor) == EXECUTORS
    assert max(by_executor.values()) <= 1.2 * min(by_executor.values()), by_executor
    assert spark.fallbacks == before


def test_agents_share_the_rows_of_a_query(spark: Spark) -> None:
    before = spark.fallbacks
    assert len(spark.session.sql("select k from t where k >= 1000").collect()) == ROWS - 1000
    assert spark.fallbacks == before
    record = _latest(spark)
    hosts = {i["id"]: i["device"] for f in record["explain"]["fragments"].values() for i in f["instances"]}
    sources = [(hosts[i], counters["sources"][0]) for i, counters in record["counters"].items()]
    by_agent = {host: source["rows"] for host, source in sources if source.get("shares")}
    assert len(by_agent) == AGENTS, by_agent
    assert max(by_agent.values()) <= 1.2 * min(by_agent.values()), by_agent


def test_results_are_received_at_the_ports_that_are_open(spark: Spark) -> None:
    before = spark.fallbacks
    assert len(spark.session.sql("select g, count(*) from t group by g").collect()) == 1000
    assert spark.fallbacks == before
    record = _latest(spark)
    assert record["client"] == "spark"  # by the token that Spark brought
    ends = next(edge["to"] for edge in record["explain"]["edges"] if edge["id"] == "result")
    assert len(ends) == EXECUTORS and all(int(end.rpartition(":")[2]) in PORTS for end in ends)


def _latest(spark: Spark) -> dict[str, Any]:
    """Return the record of the service's last job; other services keep theirs in the same folder."""
    with Session(spark.session.conf.get("spark.jumpgate.address")) as session:
        record = session.describe(session.jobs()[0].id).record
    assert record is not None
    return record


def test_a_certificate_comes_with_the_application(spark: Spark) -> None:
    folder = Path(str(spark.jvm.io.jumpgate.spark.exec.Shipped.path("certs")))
    assert {file.name for file in folder.iterdir()} >= {"ca.pem", "cert.pem", "key.pem"}
    assert stat.S_IMODE((folder / "key.pem").stat().st_mode) == 0o600
    assert str(spark.jvm.io.jumpgate.spark.exec.Shipped.path("/etc/hostname")) == "/etc/hostname"


def test_without_a_free_port_spark_computes(spark: Spark) -> None:
    before = spark.fallbacks
    with contextlib.ExitStack() as taken:
        for port in PORTS:
            with contextlib.suppress(OSError):  # somebody else has it
                taken.enter_context(socket.create_server(("127.0.0.1", port)))
        assert spark.session.sql("select max(k) from t where g = 7").collect()[0][0] == ROWS - 1000 + 7
    assert spark.fallbacks == before + 1


def test_results_go_to_the_executors_that_are_there(spark: Spark) -> None:
    """As with dynamic allocation: one is given back, and asked for again."""
    context, receivers = spark.session.sparkContext._jsc.sc(), spark.jvm.org.apache.spark.sql.jumpgate.Receivers
    before = spark.fallbacks
    changes = [
        (lambda: context.killExecutor("0"), EXECUTORS - 1),
        (lambda: context.requestExecutors(EXECUTORS), EXECUTORS),
    ]
    for change, left in changes:
        assert change() and wait_until(lambda left=left: receivers.all().size() == left, 120), left
        text = f"select count(k) n, sum(k) s from t where k >= 0 and g < {1000 + left}"  # another query each time
        (row,) = spark.session.sql(text).collect()
        assert (row.n, row.s) == (ROWS, ROWS * (ROWS - 1) // 2)
    assert spark.fallbacks == before
