"""Queries of TPC-DS by Spark alone, offloaded, and as the plugin decides: seconds, and whether answers are the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bench._runs import Run
from jumpgate.client.session import Session
from tests.support.spark import Spark, equal

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

#: settings of `spark.jumpgate.offload`; the first one is Spark alone
WAYS = ("never", "always", "auto")
#: until an interrupted query has ended
GRACE_S = 60.0


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
        # Spark alone only reads for JSON: it is warm from the other formats
        warm = WAYS if format != "json" else WAYS[1:]
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
