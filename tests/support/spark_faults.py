"""Queries of which Jumpgate, or an executor of Spark's, loses a part when a job comes to a phase."""

from __future__ import annotations

import os
from pathlib import Path

from jumpgate.testing.leaks import wait_until
from tests.support.faults import PHASES, Fault, kill, read, sabotaged
from tests.support.spark import Spark, equal, received

#: the job has ended, and Spark has yet to read the received rows
READ = "read"
VICTIMS = ("service", "agent", "instance", "executor")
EXECUTOR = b"CoarseGrainedExecutorBackend"
EXECUTORS = 2
#: for an executor to be there again
RESTART_TIMEOUT_S = 60.0
#: enough to be interrupted amid them
ROWS = 300_000
#: rand() stays with Spark, to which all rows are sent
STREAM = (
    "select count(*), sum(k), sum(length(s)) from (select k, s, rand() r from "
    "(select k, s from faults union all select k + 1, s from faults)) where r >= 0"
)
#: more than executors send with the tasks that read it, and nothing of it is moved before these
HELD = "select k, s from (select k, s, rand() r from faults where k % 5 = 0) where r >= 0"
#: a small result
AGGREGATE = "select k % 7, count(*), max(s) from faults group by 1"


def query_of(fault: Fault) -> str:
    return {"commit": AGGREGATE, READ: HELD}.get(fault.phase, STREAM)


#: an instance exists from execution on
FAULTS = (
    *(Fault(v, p) for v in VICTIMS for p in PHASES if (v, p) != ("instance", "plan")),
    Fault("executor", READ),
)


class Trial:
    """Queries over a table of `ROWS` rows, each with a service of its own."""

    def __init__(self, spark: Spark, folder: Path) -> None:
        self._spark = spark
        files = str(folder / "faults")
        columns = "id k", "concat('a text of some length ', id) s"
        spark.session.range(ROWS).selectExpr(*columns).write.mode("overwrite").parquet(files)
        spark.session.read.parquet(files).createOrReplaceTempView("faults")
        spark.session.conf.set("spark.jumpgate.enabled", "false")
        self._expected = {query: spark.session.sql(query).collect() for query in (STREAM, HELD, AGGREGATE)}
        spark.session.conf.set("spark.jumpgate.enabled", "true")

    def survived(self, fault: Fault) -> bool:
        """Return whether the fault was injected and the answer is right. Raises what the query raises."""
        query = query_of(fault)
        assert wait_until(lambda: self._receivers() == EXECUTORS, RESTART_TIMEOUT_S), "executors did not come back"
        with sabotaged(fault, self._executors) as (service, injected):
            self._spark.session.conf.set("spark.jumpgate.address", service.address)
            frame = self._spark.session.sql(query)
            if fault.phase == READ:
                held = received(frame)
                kill(self._executors()[:1])
                injected.append(fault)
                rows = held.collect()
            else:
                rows = frame.collect()
        return bool(injected) and equal(rows, self._expected[query])

    def _receivers(self) -> int:
        alive = len(self._executors())
        known: int = self._spark.jvm.org.apache.spark.sql.jumpgate.Receivers.all().size()
        return known if known == alive else 0

    def _executors(self) -> list[int]:
        """Processes that the driver started."""
        driver = self._spark.jvm.java.lang.ProcessHandle.current().pid()
        return [pid for pid in children(driver) if EXECUTOR in read(pid, "cmdline")]


def children(parent: int) -> list[int]:
    """Processes, by the second field after the name in /proc/PID/stat."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [pid for pid in pids if read(pid, "stat").rpartition(b") ")[2].split()[1:2] == [str(parent).encode()]]
