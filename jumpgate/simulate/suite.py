"""Simulates the queries of a suite on a cluster and at a scale that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumpgate.client.sql.connection import Connection
from jumpgate.compiler.estimate import STRING_BYTES
from jumpgate.compiler.plan import StatisticsFunction
from jumpgate.dataflow.operators import Operator
from jumpgate.errors import JumpgateError
from jumpgate.nca.interface import JobPlan, Statistics
from jumpgate.nca.registry import Registry
from jumpgate.simulate.model import Cluster, Simulated, simulate
from jumpgate.simulate.plans import grown_tables
from jumpgate.simulate.tasks import sent_bytes
from jumpgate.tpcds.suite import Suite

#: rows of a list of values in a query, which travels as a file that is written when the query runs
LISTED = 10.0


@dataclass(frozen=True)
class SimulatedQuery:
    """A query's jobs, one after the other. read_bytes: of files; shuffled_bytes: those that cross links between hosts.
    kept: operators that stay with the client, which are not simulated. why: the reason for no result."""

    query: int
    seconds: float = 0.0
    started_s: float = 0.0
    bound_by: str = ""
    busy: float = 0.0
    read_bytes: float = 0.0
    shuffled_bytes: float = 0.0
    result_bytes: float = 0.0
    stages: int = 0
    kept: int = 0
    why: str = ""


def at_scale(known: StatisticsFunction, suite: Suite, files: Mapping[str, Path], scale: float) -> StatisticsFunction:
    """Return the statistics of a suite's tables at another scale than that of its `files`, by their names."""
    of_file = {str(path): table for table, path in files.items()}

    def growth(table: str) -> float:
        wanted = suite.rows(table, scale)
        there = known((str(files[table]),), files[table].suffix[1:], ()).rows if table in files else None
        return wanted / there if wanted and there else 1.0

    def of_any(paths: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...]) -> Statistics:
        return known(paths, format, options) if paths[0] in of_file else Statistics(LISTED, LISTED * STRING_BYTES)

    by_table = {table: growth(table) for table in files}
    return grown_tables(
        of_any,
        lambda paths: by_table.get(of_file.get(paths[0], ""), 1.0),
        lambda column: by_table.get(suite.numbered(column), 1.0),
    )


def simulated(
    connection: Connection,
    queries: Mapping[int, str],
    plan: Callable[[Operator], JobPlan],
    registry: Registry,
    cluster: Cluster,
    speeds: Mapping[str, float],
) -> Iterator[SimulatedQuery]:
    """Simulate each query's jobs, planned by `plan`. A query that cannot be planned says why."""
    for number, text in queries.items():
        try:
            with connection.sql(text, offload="always") as query:
                split = query.split
            plans = [plan(cut.operator) for cut in split.cuts]
            runs = [simulate(each, registry, cluster, speeds) for each in plans]
        except JumpgateError as error:
            yield SimulatedQuery(number, why=error.message)
            continue
        if runs:
            yield _summed(number, plans, runs, len(split.kept))
        else:
            yield SimulatedQuery(number, kept=len(split.kept), why="the client computes all of it")


def _summed(number: int, plans: Sequence[JobPlan], runs: Sequence[Simulated], kept: int) -> SimulatedQuery:
    seconds = sum(run.seconds for run in runs)
    busy = {name: sum(run.busy[name] * run.seconds for run in runs) / seconds for name in runs[0].busy}
    bound_by = max(busy, key=lambda name: busy[name])
    return SimulatedQuery(
        number,
        seconds,
        sum(run.started_s for run in runs),
        bound_by,
        busy[bound_by],
        sum(run.read_bytes for run in runs),
        sum(sum(plan.figures.crossing.values()) for plan in plans),
        sum(sent_bytes(plan).get("result", 0.0) for plan in plans),
        sum(plan.stages for plan in plans),
        kept,
    )
