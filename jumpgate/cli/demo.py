"""`jumpgate demo`: TPC-DS query 3 from four formats, with plan, timeline and times beside DuckDB's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumpgate.cli import output, result
from jumpgate.cli.options import json_option
from jumpgate.codegen import cache
from jumpgate.dataflow.formats import formats
from jumpgate.tpcds import compare
from jumpgate.tpcds.data import generate
from jumpgate.tpcds.queries import QUERIES
from jumpgate.words import duration

if TYPE_CHECKING:
    import pyarrow as pa

    from jumpgate.client.session import Session

QUERY = QUERIES["Q3"]
RUNS = 3


@dataclass(frozen=True)
class Outcome:
    """One format: the first run compiles (`first_s`), the others hit the caches (`best_s`)."""

    format: str
    first_s: float
    best_s: float
    duckdb_s: float
    difference: str | None
    job: str


@click.command("demo")
@click.option("--scale", type=float, default=0.1, show_default=True, help="1 ≈ 1 GB of data.")
@click.option("--data", type=click.Path(path_type=Path), help="Where the data is kept. [default: the cache]")
@json_option
@click.pass_context
def command(context: click.Context, scale: float, data: Path | None, as_json: bool) -> None:
    """TPC-DS query 3 by Jumpgate's accelerators and by DuckDB, from the same files. Exit code 1 if results differ."""
    from jumpgate import client

    directory = data or cache.folder("tpcds", f"sf{scale:g}")
    with output.progress() as progress:
        generate(directory, scale, formats(), QUERY.tables, progress=progress)
    with client.connect(first_runs=False) as session:  # what accelerators do is shown
        outcomes = []
        answer = None
        for format in formats():
            outcome, answer = _compare(session, directory, format)
            outcomes.append(outcome)
        if as_json:
            output.print_json({"query": QUERY.name, "scale": scale, "formats": [asdict(o) for o in outcomes]})
        else:
            _show(session, directory, scale, outcomes, answer)
    if any(outcome.difference for outcome in outcomes):
        context.exit(1)


def _compare(session: Session, directory: Path, format: str) -> tuple[Outcome, pa.Table]:
    dataflow = QUERY.dataflow(compare.tables(directory, format))
    jobs: list[str] = []

    def run() -> pa.Table:
        answer = session.run(dataflow)
        jobs.append(answer.job)
        return answer.to_arrow()

    first_s, ours = _timed(run)
    best_s = min(_timed(run)[0] for _ in range(RUNS))
    with compare.duckdb_over(directory, format, QUERY.tables) as duckdb:
        times = [_timed(lambda: duckdb.execute(QUERY.sql).to_arrow_table()) for _ in range(1 + RUNS)]
    duckdb_s = min(seconds for seconds, _ in times[1:])
    return Outcome(format, first_s, best_s, duckdb_s, compare.difference(ours, times[0][1]), jobs[-1]), ours


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = run()
    return time.perf_counter() - start, value


def _show(session: Session, directory: Path, scale: float, outcomes: list[Outcome], answer: pa.Table) -> None:
    from jumpgate.observe import text, timeline

    console = output.console()
    shown = outcomes[0]
    console.rule(f"plan of {QUERY.name} over {shown.format.upper()} files")
    console.print(session.explain(QUERY.dataflow(compare.tables(directory, shown.format))), markup=False)
    console.rule(f"timeline of job {shown.job}")
    record = session.describe(shown.job).record
    assert record is not None
    console.print(text.timeline(timeline.from_record(record), console.width))
    console.rule("result (its first rows)")
    result.show(answer.slice(0, 5))
    console.rule(f"{QUERY.name} at scale {scale:g}")
    rows = [
        (o.format, duration(o.first_s), duration(o.best_s), duration(o.duckdb_s), f"{o.duckdb_s / o.best_s:.1f}×",
         f"NO: {o.difference}" if o.difference else "yes")
        for o in outcomes
    ]  # fmt: skip
    columns = ("files", "first run", "next runs", "DuckDB", "speed-up", "same result")
    output.print_table("", columns, rows, right=columns[1:5])
    print("The first run of a shape of query generates and compiles its code.")
    lacking = [format.title for format in formats().values() if format.duckdb is None]
    if lacking:
        print(f"DuckDB reads {', '.join(lacking)} through pyarrow.")
    print(f"A picture of the job: jumpgate report {shown.job} -o report.html")
