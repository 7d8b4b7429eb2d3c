"""Queries of TPC-DS by Spark alone, offloaded, and as the plugin decides: seconds, and whether answers are the same.

Runs are written to a file as they end, and are not made again: what was ended goes on where it was.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench._measure import counted, remark
from jumpgate.client.session import Session
from tests.support.spark import Spark, equal

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

#: settings of `spark.jumpgate.offload`; the first one is Spark alone
WAYS = ("never", "always", "auto")
#: until an interrupted query has ended
GRACE_S = 60.0


@dataclass(frozen=True)
class Run:
    """A query from a format. `error`: why a way has no answer; seconds are those of the ways that have one."""

    query: int
    format: str
    seconds: dict[str, float] = field(default_factory=dict)
    right: bool = False
    offloaded: int = 0
    operators: int = 0
    error: str = ""

    def ratio(self, way: str) -> float:
        """Spark alone ÷ a way; a way that has no answer took for ever."""
        return self.seconds["never"] / self.seconds[way] if way in self.seconds else 0.0

    def __str__(self) -> str:
        took = ", ".join(f"{way} {seconds:.3f} s" for way, seconds in self.seconds.items())
        verdict = self.error.partition("\n")[0] or ("right" if self.right else "ANOTHER ANSWER")
        return (
            f"query {self.query} from {self.format}: {took}; {self.offloaded} of {self.operators} operators; {verdict}"
        )


class Journal:
    """Runs in a file, one JSON object a line."""

    def __init__(self, file: Path) -> None:
        self.file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self.runs = {(run.query, run.format): run for run in (Run(**json.loads(line)) for line in lines)}

    def add(self, run: Run) -> None:
        self.runs[run.query, run.format] = run
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as out:
            out.write(json.dumps(asdict(run)) + "\n")


class Interrupted(Exception):
    """A query took longer than it may, and was ended."""


class Runner:
    """Asks each query in turn, every way once to warm up and once for the clock."""

    def __init__(self, spark: Spark, address: str, sessions: Mapping[str, SparkSession], seconds_max: float) -> None:
        self.spark, self.address, self.sessions, self.seconds_max = spark, address, sessions, seconds_max

    def run(self, query: int, format: str, text: str) -> Run:
        session = self.sessions[format]
        seconds: dict[str, float] = {}
        answers: dict[str, list[Row]] = {}
        offloaded = operators = 0
        error = ""
        # what Spark alone takes for JSON is reading: it is warm from the other formats
        warm = WAYS[:2] if format != "json" else WAYS[1:2]
        for measured, way in [(False, way) for way in warm] + [(True, way) for way in WAYS]:
            if way in error:
                continue
            session.conf.set("spark.jumpgate.offload", way)
            session.conf.set("spark.jumpgate.strict", str(way == "always").lower())
            before = self.spark.fallbacks
            try:
                start = time.perf_counter()
                frame = session.sql(text)
                rows = self.bounded(frame.collect)
                took = time.perf_counter() - start
                if self.spark.fallbacks != before:
                    raise RuntimeError("Spark computed what accelerators should have")
            except Exception as problem:  # whatever it is, it belongs to this query
                error += f"{way}: {problem or type(problem).__name__} "
                continue
            if measured:
                seconds[way], answers[way] = took, rows
                if way == "always":
                    offloaded, operators = self.spark.coverage(frame)
        right = len(answers) == len(WAYS) and all(equal(rows, answers["never"]) for rows in answers.values())
        return Run(query, format, seconds, right, offloaded, operators, error.strip())

    def bounded(self, collect: Callable[[], list[Row]]) -> list[Row]:
        """Raises Interrupted when it takes too long, TimeoutError when it cannot even be ended."""
        found: list[list[Row]] = []
        problems: list[Exception] = []

        def ask() -> None:
            try:
                found.append(collect())
            except Exception as problem:
                problems.append(problem)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(self.seconds_max)
        if thread.is_alive():
            self.interrupt()
            thread.join(GRACE_S)
            if thread.is_alive():
                raise TimeoutError(f"a query goes on {GRACE_S:g} s after it was ended")
            raise Interrupted(f"more than {self.seconds_max:g} s")
        if problems:
            raise problems[0]
        return found[0]

    def interrupt(self) -> None:
        self.spark.session.sparkContext.cancelAllJobs()
        with Session(self.address) as session:
            for job in session.jobs():
                session.cancel(job.id)


def made(
    journal: Journal, wanted: dict[tuple[int, str], str], runner: Callable[[], AbstractContextManager[Runner]]
) -> list[Run]:
    """Runs by query and format, whose texts are given; those that the journal has not are made."""
    missing = [key for key in wanted if key not in journal.runs]
    if missing:
        with runner() as asked:
            for number, format in counted(missing, "runs"):
                run = asked.run(number, format, wanted[number, format])
                remark(str(run))
                journal.add(run)
    return [journal.runs[key] for key in wanted]
