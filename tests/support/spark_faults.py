"""Takes away a part of Jumpgate, or an executor of Spark's, when a job comes to a phase."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpgate.hosts.config import local_hosts
from jumpgate.orchestrator.job import Event
from jumpgate.service import embedded
from jumpgate.testing.leaks import MARK, Watch, wait_until
from tests.support.spark import Spark, equal, received

#: while it is planned and compiled, when it is executed, while rows come, and when all are there
PHASES = ("plan", "execute", "stream", "commit")
#: when the job has ended, and Spark has yet to read what was received
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


@dataclass(frozen=True)
class Fault:
    victim: str
    phase: str

    def __str__(self) -> str:
        return f"{self.victim} at {self.phase}"

    @property
    def query(self) -> str:
        return {"commit": AGGREGATE, READ: HELD}.get(self.phase, STREAM)


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
        """Whether the fault was injected, and the answer is right. Raises what the query raises."""
        assert wait_until(lambda: self._receivers() == EXECUTORS, RESTART_TIMEOUT_S), "executors did not come back"
        with sabotaged(fault, self._executors) as (address, injected):
            self._spark.session.conf.set("spark.jumpgate.address", address)
            frame = self._spark.session.sql(fault.query)
            if fault.phase == READ:
                held = received(frame)
                _kill(self._executors()[:1])
                injected.append(fault)
                rows = held.collect()
            else:
                rows = frame.collect()
        return bool(injected) and equal(rows, self._expected[fault.query])

    def _receivers(self) -> int:
        alive = len(self._executors())
        known: int = self._spark.jvm.org.apache.spark.sql.jumpgate.Receivers.all().size()
        return known if known == alive else 0

    def _executors(self) -> list[int]:
        """Processes that the driver started."""
        driver = self._spark.jvm.java.lang.ProcessHandle.current().pid()
        return [pid for pid in children(driver) if EXECUTOR in _read(pid, "cmdline")]


@contextlib.contextmanager
def sabotaged(fault: Fault, executors: Any) -> Iterator[tuple[str, list[Fault]]]:
    """The address of a service whose next job meets the fault, and a list that has it once it was injected."""
    outer, mark = os.environ.get(MARK), uuid.uuid4().hex
    os.environ[MARK] = mark
    watch, injected = Watch(mark), list[Fault]()
    service = embedded.start(local_hosts(1))
    prepare, execute = service.engine.prepare, service.engine.execute

    def strike() -> None:
        if injected:
            return
        injected.append(fault)
        if fault.victim == "service":
            service.close()
        elif fault.victim == "executor":
            _kill(executors()[:1])
        elif fault.victim == "agent":
            _kill([p.pid for p in watch.processes() if b"jumpgate.hosts.agent" in _read(p.pid, "cmdline")])
        else:
            assert wait_until(lambda: bool(watch.processes("jg ")))
            _kill([p.pid for p in watch.processes("jg ")])

    async def prepared(*arguments: Any) -> Any:
        if fault.phase == "plan":
            await service.engine.agents.lend(
                {service.engine.config.hosts[0].device.name}, []
            )  # else there may be no agent yet
            await asyncio.to_thread(strike)
        return await prepare(*arguments)

    async def executed(id: str, client: str = "") -> AsyncGenerator[Event, None]:
        if fault.phase == "execute" and fault.victim != "instance":
            await asyncio.to_thread(strike)
        async with contextlib.aclosing(execute(id, client)) as events:
            async for event in events:
                at = {"configuring": "execute", "running": "stream", "done": "commit"}.get(event.state)
                if at == fault.phase:
                    await asyncio.to_thread(strike)
                yield event

    service.engine.prepare, service.engine.execute = prepared, executed  # type: ignore[method-assign, assignment]
    try:
        yield service.address, injected
    finally:
        service.close()
        if outer is None:
            del os.environ[MARK]
        else:
            os.environ[MARK] = outer


def _kill(pids: list[int]) -> None:
    assert pids, "there is nobody to kill"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not any(_read(pid, "cmdline") for pid in pids))


def children(parent: int) -> list[int]:
    """Processes, by the second field after the name in /proc/PID/stat."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [pid for pid in pids if _read(pid, "stat").rpartition(b") ")[2].split()[1:2] == [str(parent).encode()]]


def _read(pid: int, name: str) -> bytes:
    """Nothing of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
