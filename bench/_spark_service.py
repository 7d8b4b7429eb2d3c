"""Measures the cost of a stopped service to Spark, and how soon one that was started again is used."""

from __future__ import annotations

import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench._measure import Figure, remark
from tests.support.served import Served, serving
from tests.support.spark import Spark

ROWS, QUERIES = 200_000, 3
#: for a service to be used again
USED_S_MAX = 60.0


@contextmanager
def table(master: str) -> Iterator[tuple[Spark, Served, Path]]:
    """A session whose service is a process of its own, with a table `t`; yields the process's folder, too."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as served:
        folder = Path(name)
        pq.write_table(pa.table({"k": [i % 100 for i in range(ROWS)], "x": range(ROWS)}), folder / "t.parquet")
        spark = Spark(served.address, folder / "warehouse", master, spark_jumpgate_timeoutSeconds="60")
        try:
            spark.session.read.parquet(str(folder / "t.parquet")).createOrReplaceTempView("t")
            yield spark, served, folder
        finally:
            served.process.send_signal(signal.SIGCONT)
            spark.close()


def blackout_cost_s(master: str) -> Figure:
    """The seconds that queries take longer beside a stopped service than without the plugin, all together."""
    with table(master) as (spark, served, _):
        ask = asked(spark)
        for _ in range(QUERIES):  # warm, both ways
            ask()
        spark.session.conf.set("spark.jumpgate.enabled", "false")
        own = statistics.median(ask() for _ in range(QUERIES + 2))
        spark.session.conf.set("spark.jumpgate.enabled", "true")
        served.process.send_signal(signal.SIGSTOP)
        taken = [ask() for _ in range(QUERIES)]
    remark(f"Spark alone {own:.2f} s, beside a stopped service {', '.join(f'{s:.2f}' for s in taken)} s")
    return Figure("blackout_cost_s", sum(taken) - QUERIES * own, 2.0, "lower", f"of {QUERIES} queries")


def restart_used_s(master: str) -> Figure:
    """The seconds until a query is offloaded again, once a service that was killed has been started anew."""
    with table(master) as (spark, served, folder):
        ask = asked(spark)
        ask()
        served.stop()
        ask()  # Spark's
        with serving(folder, port=int(served.address.rpartition(":")[2])):
            began = time.monotonic()
            while time.monotonic() < began + USED_S_MAX:
                before, asked_at = spark.fallbacks, time.monotonic()
                ask()
                if spark.fallbacks == before:
                    break
            else:
                raise SystemExit(f"a service was not used again within {USED_S_MAX:g} s")
    return Figure("restart_used_s", asked_at - began, 1.0, "lower", "from its start to a query that it answers")


def asked(spark: Spark) -> Callable[[], float]:
    """Return what runs a query, each time another one, and returns its seconds."""
    numbers = iter(range(10**9))

    def ask() -> float:
        text = f"SELECT k, sum(x) AS s FROM t WHERE x > {next(numbers)} GROUP BY k"
        began = time.monotonic()
        assert len(spark.session.sql(text).collect()) == 100
        return time.monotonic() - began

    return ask
