"""The figures of the core: seven TPC-DS queries beside other engines, overhead, transport, memory.

    ./dev bench core --json [--scale 1] [--data DIR] [--only FIGURE …]

The other engines read the same files with the same number of threads in the same process, in turns with Jumpgate.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bench._measure import Figure, alternate, geometric_mean, medians, remark, report
from bench._results import HOMES
from jumpgate import client
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow, read
from jumpgate.dataflow.measures import count, sum_
from jumpgate.dataflow.unresolved import col
from jumpgate.tpcds import compare
from jumpgate.tpcds.data import generate, path
from jumpgate.tpcds.queries import QUERIES, Query
from jumpgate.tpcds.schemas import schema

THREADS = len(os.sched_getaffinity(0))
RUNS = 9
SECONDS_MAX = 40.0  # for one query and format
OVERHEAD_RUNS = 40
COMPILED_RUNS = 9


def tables_of(scale: float, data: Path, formats: list[str], names: set[str]) -> Path:
    """The directory of TPC-DS at `scale`, generated where it is missing."""
    directory = data / f"sf{scale:g}"
    if any(not path(directory, table, format).exists() for format in formats for table in names):
        remark(f"generating TPC-DS at scale {scale:g} in {directory}")
        generate(directory, scale, formats, sorted(names))
    return directory


def engines(query: Query, directory: Path, format: str, session: Session) -> dict[str, Callable[[], Any]]:
    """Return Jumpgate and the engines that it is compared with on this format."""
    dataflow = query.dataflow(compare.tables(directory, format))
    duckdb = compare.duckdb_over(directory, format, query.tables, THREADS)
    contenders: dict[str, Callable[[], Any]] = {
        "jumpgate": lambda: session.run(dataflow).to_arrow(),
        "duckdb": lambda: duckdb.execute(query.sql).to_arrow_table(),
    }
    if format == "orc":
        from bench import _acero

        words = set(re.findall(r"\w+", query.sql))
        pruned = query.dataflow(
            lambda name: read(
                path(directory, name, "orc"),
                schema=schema(name),
                columns=[column for column in schema(name).names if column in words],
            )
        )
        contenders["acero"] = lambda: _acero.run(pruned.root)
        contenders["datafusion"] = datafusion(query, directory)
    return contenders


def datafusion(query: Query, directory: Path) -> Callable[[], Any]:
    """DataFusion over pyarrow datasets of the ORC files."""
    from datafusion import SessionConfig, SessionContext
    from pyarrow import dataset

    context = SessionContext(SessionConfig().with_target_partitions(THREADS))
    for name in query.tables:
        context.register_dataset(name, dataset.dataset(str(path(directory, name, "orc")), format="orc"))
    return lambda: context.sql(query.sql).to_arrow_table()


def seven_queries(format: str, directory: Path, session: Session) -> float:
    """Geometric mean over the queries of: the best other engine's median ÷ Jumpgate's median."""
    ratios = []
    for query in QUERIES.values():
        contenders = engines(query, directory, format, session)
        difference = compare.difference(contenders["jumpgate"](), contenders["duckdb"]())
        if difference:
            raise SystemExit(f"{query.name} from {format}: Jumpgate and DuckDB disagree: {difference}")
        found = medians(alternate(contenders, RUNS, SECONDS_MAX))
        ours = found.pop("jumpgate")
        ratios.append(min(found.values()) / ours)
        others = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in found.items())
        remark(f"  {format} {query.name}: jumpgate {ours:.3f} s, {others}: ratio {ratios[-1]:.2f}")
    return geometric_mean(ratios)


def small_plan(directory: Path, shape: int) -> Dataflow:
    """Eight operators over tables of one row; `shape` changes the expressions, not only their literals."""
    left, right = directory / "left.json", directory / "right.json"
    left.write_text('{"id": 1, "a": 2, "b": 3}\n')
    right.write_text('{"id": 1, "name": "one"}\n')
    mixed = col("a")
    for bit in range(12):
        mixed = mixed + col("b") if shape >> bit & 1 else mixed - col("b")
    return (
        read(left, schema={"id": "int64", "a": "int64", "b": "int64"})
        .filter(col("a") > 0)
        .with_columns(mixed=mixed)
        .join(read(right, schema={"id": "int64", "name": "string"}).filter(col("name") != ""), on="id")
        .aggregate(by=["name"], total=sum_("mixed"), rows=count())
        .sort("name")
    )


def overhead(session: Session, directory: Path, compiled: bool) -> float:
    """Median milliseconds from submitting the small plan to having its whole (one-row) result."""
    base = time.time_ns() % 2048 * 2
    session.run(small_plan(directory, base)).to_arrow()
    times = []
    for run in range(COMPILED_RUNS if compiled else OVERHEAD_RUNS):
        plan = small_plan(directory, base + 1 + run if compiled else base)
        start = time.perf_counter()
        assert session.run(plan).to_arrow().num_rows == 1
        times.append(1e3 * (time.perf_counter() - start))
    remark(f"  overhead: {min(times):.1f} to {max(times):.1f} ms")
    return statistics.median(times)


def memory_growth(data: Path, session: Session) -> float:
    """The largest ratio, over the formats, of an instance's peak memory scanning store_sales at scale 3 and at 1."""
    ratios = []
    for format in ("json", "csv", "parquet", "orc"):
        peaks = []
        for scale in (1, 3):
            directory = tables_of(scale, data, [format], {"store_sales"})
            sales = compare.tables(directory, format)("store_sales")
            answer = session.run(sales.filter(col("ss_quantity") > 50).aggregate(n=count(), s=sum_("ss_net_paid")))
            answer.to_arrow()
            record = session.describe(answer.job).record
            assert record is not None
            peaks.append(max(counters["rss_peak_bytes"] for counters in record["counters"].values()))
        ratios.append(peaks[1] / peaks[0])
        remark(f"  {format}: {peaks[0] >> 20} MiB at scale 1, {peaks[1] >> 20} MiB at scale 3")
    return max(ratios)


def elsewhere(figure: str, data: Path) -> Figure:
    """A figure that another benchmark prints."""
    command = [sys.executable, "-m", f"bench.{HOMES[figure]}", "--json"]
    environment = {**os.environ, "JUMPGATE_BENCH_DATA": str(data)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    line = next(line for line in lines if line["figure"] == figure)
    return Figure(figure, line["value"], line["target"], line["better"], str(line.get("compared", "")))


def figures(scale: float, data: Path, session: Session, work: Path) -> dict[str, Callable[[], Figure]]:
    """Every figure of the core by name, in the order in which they are measured."""
    names = {table for query in QUERIES.values() for table in query.tables}
    targets = {"json": 3.0, "csv": 1.5, "orc": 1.5, "parquet": 0.5 if scale < 10 else 0.83}

    def queries(name: str, format: str) -> Figure:
        directory = tables_of(scale, data, [format], names)
        other = "the best of DuckDB, DataFusion and Acero" if format == "orc" else "DuckDB"
        value = seven_queries(format, directory, session)
        text = f"speed of 7 TPC-DS queries, {format} at scale {scale:g}, {THREADS} threads, against {other}"
        return Figure(name, value, targets[format], "higher", text)

    def overheads(name: str, compiled: bool) -> Figure:
        how = "a shape never seen before" if compiled else "a shape seen before"
        text = f"submit to result of an 8-operator plan over one-row tables, {how}"
        return Figure(name, overhead(session, work, compiled), 60.0 if compiled else 3.0, "lower", text)

    def memory() -> Figure:
        text = "peak memory of a scan of store_sales at scale 3 against scale 1, the worst of 4 formats"
        return Figure("scan_memory_growth", memory_growth(data, session), 1.2, "lower", text)

    return {
        "q7_json_vs_duckdb": lambda: queries("q7_json_vs_duckdb", "json"),
        "q7_csv_vs_duckdb": lambda: queries("q7_csv_vs_duckdb", "csv"),
        "q7_orc_vs_best": lambda: queries("q7_orc_vs_best", "orc"),
        "q7_parquet_vs_duckdb": lambda: queries("q7_parquet_vs_duckdb", "parquet"),
        "json_scan_vs_simdjson": lambda: elsewhere("json_scan_vs_simdjson", data),
        "overhead_cached_ms": lambda: overheads("overhead_cached_ms", compiled=False),
        "overhead_compiled_ms": lambda: overheads("overhead_compiled_ms", compiled=True),
        "ntf_vs_socket": lambda: elsewhere("ntf_vs_socket", data),
        "scan_memory_growth": memory,
    }


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--scale", type=float, default=1.0, show_default=True, help="TPC-DS scale of the queries.")
@click.option("--data", type=click.Path(path_type=Path), default=Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")))
@click.option("--only", multiple=True, help="A figure's name; may be repeated. [default: all]")
def main(as_json: bool, scale: float, data: Path, only: tuple[str, ...]) -> None:
    """Measures the core's figures."""
    import tempfile

    import pyarrow as pa

    pa.set_cpu_count(THREADS)
    with tempfile.TemporaryDirectory() as work, client.connect() as session:
        known = figures(scale, data.absolute(), session, Path(work))
        unknown = sorted(set(only) - set(known))
        if unknown:
            raise click.UsageError(f"no figure '{unknown[0]}'; there are {', '.join(known)}")
        for name, measure in known.items():
            if not only or name in only:
                report(measure(), as_json)


if __name__ == "__main__":
    main()
