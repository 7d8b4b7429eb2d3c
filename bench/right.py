"""The figures of right answers: whatever is asked, wherever it runs.

    ./dev bench right --json [--queries 8000] [--random 20000] [--seed 0] [--only FIGURE …]

JUMPGATE_SLT names folders of suites, as PATH does: sqllogictest files (SQLite's, DuckDB's) and psql's scripts
(PostgreSQL's src/test/regress). Without them the cases of this repository are run.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import click

import jumpgate
from bench._measure import Figure, remark, report
from tests.support import roads_run, sqllogic, sqllogic_run, suites
from tests.support.hostile_runs import files_right_or_typed
from tests.support.random_trial import Trial

T = TypeVar("T")
CASES = Path(__file__).parents[1] / "tests" / "cases" / "sql"
FILES = 1000
#: texts of one shape
FILLS = 60
#: the most problems to list for each figure
SHOWN = 40
PROGRESS_S = 30.0
TIMEOUT_MS = 20_000


class Bench:
    """Suites and results that several figures share; each runs when first needed."""

    def __init__(self, queries: int, random: int, seed: int) -> None:
        self.queries, self.random, self.seed = queries, random, seed
        named = [Path(f) for f in os.environ.get("JUMPGATE_SLT", "").split(os.pathsep) if f]
        self.suites = named or [CASES]
        self.which = (
            f"suites: {', '.join(folder.name for folder in named)}"
            if named
            else "no suite at hand: the repository's cases"
        )

    @cached_property
    def logic(self) -> sqllogic_run.Summary:
        chosen = sqllogic.sample(suites.files(self.suites), self.queries, self.seed)
        outcomes = sqllogic_run.run(chosen, self.seed, workers=len(os.sched_getaffinity(0)))
        found = sqllogic_run.summary(map(_told, watched(outcomes, "queries on a road")))
        remark(f"  {dict(found.verdicts)}")
        return found

    @cached_property
    def trial(self) -> tuple[int, int]:
        """Texts asked, and those that failed."""
        with (
            tempfile.TemporaryDirectory(prefix="right-") as folder,
            jumpgate.connect(timeout_ms=TIMEOUT_MS) as connection,
        ):
            trial, wrong, start = Trial(connection, Path(folder)), 0, time.monotonic()
            seeds = itertools.takewhile(lambda _: trial.asked < self.random, itertools.count(self.seed))
            shapes = (list(trial.shape(seed, FILLS)) for seed in seeds)
            for failures in watched(shapes, "shapes"):
                wrong += len(failures)
                if failures:
                    remark(f"  {failures[0]}\n    and {len(failures) - 1} more of this shape")
            remark(f"  {trial.asked} texts in {time.monotonic() - start:.0f} s")
            return trial.asked, wrong

    def roads(self) -> tuple[int, int]:
        """Rows on a road, and those that were right."""
        with (
            tempfile.TemporaryDirectory(prefix="right-") as folder,
            jumpgate.connect(timeout_ms=TIMEOUT_MS) as connection,
        ):
            results = list(watched(roads_run.run(connection, Path(folder)), "rows on a road"))
        wrong = [result for result in results if result.wrong]
        for result in wrong[:SHOWN]:
            remark(f"  {result.text} ({result.road}): {result.wrong}")
        return len(results), len(results) - len(wrong)


def _told(outcome: sqllogic_run.Outcome) -> sqllogic_run.Outcome:
    """The outcome; says so if it is wrong."""
    if outcome.verdict in sqllogic_run.WRONG:
        remark(
            f"  {outcome.file}:{outcome.line}, {outcome.road}: {outcome.verdict}: {outcome.detail}\n    {outcome.text}"
        )
    return outcome


def watched(items: Iterable[T], what: str) -> Iterator[T]:
    """The items; says now and then how many there were."""
    said = time.monotonic()
    for count, item in enumerate(items, 1):
        yield item
        if time.monotonic() - said > PROGRESS_S:
            said = time.monotonic()
            remark(f"  {count} {what}")


def figures(bench: Bench) -> dict[str, Callable[[], Figure]]:
    """Every figure by name, in the order in which they are measured."""

    def same() -> Figure:
        found = bench.logic
        compared = f"of {found.answered} queries that plain DuckDB answers, on all roads; {bench.which}"
        return Figure("slt_same", found.share_same, 1.0, "higher", compared)

    def offloaded() -> Figure:
        found = bench.logic
        compared = f"of {found.over_files} queries over files, with offload = always or auto; {bench.which}"
        return Figure("slt_offloaded", found.share_offloaded, 0.5, "higher", compared)

    def asked() -> Figure:
        compared = "texts over awkward values in four formats, each beside plain DuckDB"
        return Figure("random_queries", bench.trial[0], 20_000, "higher", compared)

    def wrong() -> Figure:
        compared = f"of {bench.trial[0]} texts: always, some auto and never; partitions and NoREC"
        return Figure("random_wrong", bench.trial[1], 0, "lower", compared)

    def agree() -> Figure:
        count, right = bench.roads()
        compared = f"of {count}: the tables of docs/sql.md from {', '.join(roads_run.FORMATS)}, always, auto and never"
        return Figure("roads_agree", right / count, 1.0, "higher", compared)

    def files() -> Figure:
        right, count = files_right_or_typed(FILES, bench.seed)
        return Figure("files_right_or_typed", right / count, 1.0, "higher", f"of {count} damaged or awkward files")

    return {
        "slt_same": same,
        "slt_offloaded": offloaded,
        "random_queries": asked,
        "random_wrong": wrong,
        "roads_agree": agree,
        "files_right_or_typed": files,
    }


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--queries", default=8000, show_default=True, help="To draw from sqllogictest suites.")
@click.option("--random", default=20_000, show_default=True, help="Random texts.")
@click.option("--seed", default=0, show_default=True)
@click.option("--only", multiple=True, help="A figure's name; may be repeated. [default: all]")
def main(as_json: bool, queries: int, random: int, seed: int, only: tuple[str, ...]) -> None:
    """Measures the figures of right answers."""
    known = figures(Bench(queries, random, seed))
    unknown = sorted(set(only) - set(known))
    if unknown:
        raise click.UsageError(f"no figure '{unknown[0]}'; there are {', '.join(known)}")
    for name, measure in known.items():
        if not only or name in only:
            report(measure(), as_json)


if __name__ == "__main__":
    main()
