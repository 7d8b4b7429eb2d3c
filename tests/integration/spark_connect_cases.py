"""Clients of a Spark Connect server that has the plugin: what they ask is offloaded, and they can end it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql.connect import functions as f
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.session import SparkSession

from jumpgate import spark as client
from jumpgate.client.session import Session
from jumpgate.hosts.config import local_hosts
from jumpgate.orchestrator.job import Event
from jumpgate.service import embedded
from tests.support.spark import Spark, equal
from tests.support.spark_cases import files

CONNECT = "org.apache.spark.sql.connect.SparkConnectPlugin"
ROWS = "select cast(id as int) n, id % 7 k, concat('t', id % 50) s, if(id % 11 = 0, null, id / 4d) x from range(5000)"
COLUMNS = "n int, k bigint, s string, x double"


@dataclass(frozen=True)
class Server:
    application: Spark
    port: int
    table: Path

    @contextlib.contextmanager
    def client(self, **settings: str) -> Iterator[SparkSession]:
        """A session of a client, which finds the table `t` in it."""
        session = SparkSession.builder.remote(f"sc://127.0.0.1:{self.port}").create()
        try:
            for name, value in settings.items():
                session.conf.set(name.replace("_", "."), value)
            session.read.schema(COLUMNS).parquet(str(self.table)).createOrReplaceTempView("t")
            yield session
        finally:
            session.stop()

    @property
    def fallbacks(self) -> int:
        return self.application.fallbacks


@pytest.fixture(scope="module")
def server(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("connect")
    application = Spark(
        one_host, folder / "warehouse", spark_plugins=f"{client.PLUGIN},{CONNECT}",
        spark_connect_grpc_binding_address="127.0.0.1", spark_connect_grpc_binding_port="0",
    )  # fmt: skip
    files("parquet", COLUMNS, ROWS)(application.session, folder)
    service = getattr(application.jvm.org.apache.spark.sql.connect.service, "SparkConnectService$")
    yield Server(application, int(getattr(service, "MODULE$").localPort()), folder / "t")
    application.close()


def filtered(session: SparkSession) -> DataFrame:
    return session.table("t").filter("n % 3 <> 1")


# functions within functions go to Python's workers, which do not have this module, as they are
def frames_of_pandas(session: SparkSession) -> list[Any]:
    def doubled(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            frame["n"] = frame["n"] * 2
            yield frame

    return filtered(session).mapInPandas(doubled, COLUMNS).collect()


USES: dict[str, Callable[[SparkSession], list[Any]]] = {
    "sql": lambda session: session.sql("select k, count(*), sum(x) from t where n > :n group by k", {"n": 9}).collect(),
    "a frame": lambda session: filtered(session).groupBy("k").agg(f.max("s"), f.count("x")).orderBy("k").collect(),
    "a join": lambda session: filtered(session).join(session.sql("select distinct k from t"), "k").collect(),
    "a function": lambda session: (
        filtered(session).select(f.udf(lambda s, n: f"{s}{n}")("s", "n").alias("u"), "x").filter("u <> 't22'").collect()
    ),
    "frames of pandas": frames_of_pandas,
    "toPandas": lambda session: [
        tuple(map(str, row)) for row in filtered(session).select("n", "s").toPandas().itertuples(index=False)
    ],
    "toArrow": lambda session: [tuple(row.values()) for row in filtered(session).toArrow().to_pylist()],
    "toLocalIterator": lambda session: list(filtered(session).orderBy("n").toLocalIterator()),
}  # fmt: skip


def test_answers_are_spark_s(server: Server, one_host: str) -> None:
    before = server.fallbacks
    with server.client() as ours, server.client(spark_jumpgate_enabled="false") as own, Session(one_host) as service:
        for name, use in USES.items():
            jobs = len(service.jobs())
            expected = use(own)
            assert len(service.jobs()) == jobs, name  # each client has settings of its own
            assert equal(use(ours), expected) and expected, name
            assert server.fallbacks == before and len(service.jobs()) > jobs, name


def test_explain_shows_coverage(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    with server.client() as session:
        session.sql("select s, round(x, 1) from t").explain()
        shown = capsys.readouterr().out
    assert "Jumpgate [" in shown and "scan of parquet" in shown
    assert "2 of 3 operators (66 %) offloaded" in shown
    assert "Project stays: [expression] rounding of double is Spark's own" in shown


def operation(server: Server) -> str:
    """The id of the only operation that the server executes."""
    service = getattr(server.application.jvm.org.apache.spark.sql.connect.service, "SparkConnectService$")
    active = getattr(service, "MODULE$").executionManager().listActiveExecutions()
    infos = active.right().get() if active.isRight() else None
    assert infos is not None and infos.size() == 1
    return str(infos.head().operationId())


@pytest.mark.parametrize("way", ["interruptAll", "interruptTag", "interruptOperation"])
def test_an_interrupt_ends_the_job(server: Server, way: str) -> None:
    service = embedded.start(local_hosts(1))
    entered, left = threading.Event(), threading.Event()
    execute = service.engine.execute

    async def executed(id: str, *more: Any) -> AsyncGenerator[Event, None]:
        async with contextlib.aclosing(execute(id, *more)) as events:
            async for event in events:
                if event.state == "done":
                    entered.set()
                    try:
                        await asyncio.sleep(600)
                    finally:
                        left.set()
                yield event

    service.engine.execute = executed  # type: ignore[method-assign]
    before = server.fallbacks
    with ThreadPoolExecutor(1) as pool, server.client(spark_jumpgate_address=service.address) as session:

        def run() -> str:
            session.addTag("held")
            try:
                session.sql("select count(*), max(s) from t").collect()
            except Exception as error:
                return str(error)
            return "an answer"

        try:
            outcome = pool.submit(run)
            assert entered.wait(60)
            ended = {
                "interruptAll": session.interruptAll,
                "interruptTag": lambda: session.interruptTag("held"),
                "interruptOperation": lambda: session.interruptOperation(operation(server)),
            }[way]()
            assert len(ended) == 1
            assert "OPERATION_CANCELED" in outcome.result(60)
            assert left.wait(60)
        finally:
            service.close()
    assert server.fallbacks == before
