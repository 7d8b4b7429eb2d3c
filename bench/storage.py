"""TPC-H over a store of S3 on the loopback beside DuckDB with httpfs, and over tables of Delta Lake and Iceberg.

    ./dev bench storage [--json] [--only tpch|select|hybrid|pushback|near] [--scale 1] [--runs 5] [--query 1 …]
                        [--minio] [--latency-ms 20] [--sweep NAME …] [--rows N] [--page FILE] [--data DIR]

`select` is PushdownDB's sweeps behind links of 1 and 10 Gbit/s (bench/_pushdown.py), and its queries of TPC-H over CSV
behind the slower one (bench/_pushdown_csv.py). `hybrid`, `pushback` and `near` are FlexPushdownDB's comparisons at 1
Gbit/s (bench/_hybrid.py). All of these need root.

The store is hadro, a process of its own, which counts requests and bytes, or MinIO. Both contenders read the same
Parquet files with as many threads, warm, in turns; DuckDB keeps no bytes of files from run to run. A figure is the
geometric mean over the queries of the medians' ratios; requests and bytes are those of one warm run of all queries.
Answers are compared with those of DuckDB over local files first. Needs duckdb-extension-httpfs from PyPI, of DuckDB's
version.
"""

from __future__ import annotations

import importlib
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import jumpgate
from bench import _hybrid, _minio, _pushdown
from bench._measure import Figure, alternate, geometric_mean, medians, remark, report
from bench._pushdown import KEY, SECRET, counted
from jumpgate.client import read_delta, read_iceberg
from jumpgate.tpcds.data import generate, path, quoted
from jumpgate.tpch import TPCH

THREADS = len(os.sched_getaffinity(0))
SECONDS_MAX = 30.0

Run = Callable[[str], pa.Table]
#: figure → (contender measured, contender that it is compared with, target, words)
TIMES = {
    "s3_parquet_vs_duckdb": ("s3", "duckdb s3", 1.2, "the store, beside DuckDB's httpfs"),
    "s3_vs_local": ("s3", "local", 0.7, "the store, beside local files"),
    "delta_vs_parquet": ("delta", "local", 0.9, "a Delta table, beside its plain Parquet"),
    "iceberg_vs_parquet": ("iceberg", "iceberg files", 0.9, "an Iceberg table, beside its plain Parquet"),
}
PARTS = ("tpch", "select", *_hybrid.PARTS)
#: of the sweeps, in tc's notation
LINKS = ("1gbit", "10gbit")
LATENCY_TARGET = 1.5
COUNTS = {"requests_vs_duckdb": "requests", "bytes_vs_duckdb": "bytes"}


@contextmanager
def hadro(directory: Path, latency_ms: float = 0) -> Iterator[str]:
    """Serve a folder as a bucket of hadro, from a process that counts, and waits before each answer; yield the
    address."""
    with tempfile.TemporaryDirectory() as buckets:
        (Path(buckets) / directory.name).symlink_to(directory)
        command = [sys.executable, "-m", "bench._store_server", buckets, KEY, SECRET]
        env = {**os.environ, "HADRO_LATENCY_MS": str(latency_ms)}
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield server.stdout.readline().strip()
            finally:
                server.terminate()


@contextmanager
def minio(directory: Path) -> Iterator[str]:
    """Serve a folder as a bucket of MinIO, from a copy of its Parquet files; yield the address."""
    endpoint = f"http://127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="jumpgate-bench-") as data:
        env = {**os.environ, **_minio.environment(KEY, SECRET)}
        command = _minio.command(endpoint, Path(data) / "minio")
        with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                _minio.fill(endpoint, KEY, SECRET, directory / "parquet", [f"{directory.name}/parquet"])
                yield endpoint
            finally:
                server.terminate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def lakes(directory: Path) -> dict[str, dict[str, Any]]:
    """Return kind of table → table → what a connection registers. Delta's files are the generator's; those of Iceberg
    have ids of columns, and are read as plain Parquet, too."""
    from deltalake import convert_to_deltalake
    from pyiceberg.catalog.sql import SqlCatalog

    folder = directory / "lakes"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/iceberg")
    catalog.create_namespace("tpch")
    found: dict[str, dict[str, Any]] = {"delta": {}, "iceberg": {}, "iceberg files": {}}
    for table in TPCH.tables:
        file = path(directory, table, "parquet")
        (folder / "delta" / table).mkdir(parents=True)
        os.link(file, folder / "delta" / table / "part.parquet")
        convert_to_deltalake(folder / "delta" / table)
        found["delta"][table] = read_delta(str(folder / "delta" / table))
        made = catalog.create_table(f"tpch.{table}", pq.read_schema(file))
        made.append(pq.read_table(file))
        found["iceberg"][table] = read_iceberg(made)
        files = (str(task.file.file_path) for task in made.scan().plan_files())
        found["iceberg files"][table] = [file.removeprefix("file://") for file in files]
    return found


@contextmanager
def contenders(directory: Path, endpoint: str) -> Iterator[dict[str, Run]]:
    """Yield name → what answers a query."""
    bucket = f"s3://{directory.name}/parquet"
    files = {table: path(directory, table, "parquet") for table in TPCH.tables}
    sources: dict[str, dict[str, Any]] = {
        "local": files,
        "s3": {table: f"{bucket}/{table}.parquet" for table in files},
        **lakes(directory),
    }
    with ExitStack() as stack:
        duck = stack.enter_context(duckdb.connect())
        duck.execute(f"SET threads = {THREADS}; SET enable_external_file_cache = false")
        extension = Path(str(importlib.import_module("duckdb_extension_httpfs").__file__)).parent
        duck.execute(f"LOAD {quoted(next(extension.glob('extensions/*/*.duckdb_extension')))}")
        duck.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{KEY}', SECRET '{SECRET}', REGION 'us-east-1', URL_STYLE 'path',"
            f" USE_SSL false, ENDPOINT '{endpoint.removeprefix('http://')}')"
        )
        duck.execute("CREATE SCHEMA local; CREATE SCHEMA s3")
        for table in files:
            for place in ("local", "s3"):
                duck.execute(f"CREATE VIEW {place}.{table} AS FROM read_parquet('{sources[place][table]}')")
        yield {
            **{
                name: _ours(stack.enter_context(jumpgate.connect(offload="always")), of) for name, of in sources.items()
            },
            **{f"duckdb {place}": _theirs(duck, place) for place in ("local", "s3")},
        }


def _ours(jg: Any, tables: dict[str, Any]) -> Run:
    for table, source in tables.items():
        jg.register(table, source)
    return lambda text: jg.sql(text).to_arrow()


def _theirs(duck: duckdb.DuckDBPyConnection, place: str) -> Run:
    return lambda text: duck.execute(f"SET schema = '{place}'; {text}").to_arrow_table()


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows to be compared: in one order, numbers by nine digits."""
    rows = [tuple(map(_plain, row.values())) for row in table.to_pylist()]
    return sorted(rows, key=repr)


def _plain(value: Any) -> Any:
    try:
        return f"{float(value):.9g}" if not isinstance(value, str) else value
    except (TypeError, ValueError):
        return str(value)


def checked(texts: dict[int, str], runs: dict[str, Run], endpoint: str) -> dict[str, dict[str, int]]:
    """Compare the answers; return contender → what all queries take of the store, each warm, if it counts."""
    totals = {name: dict.fromkeys(COUNTS.values(), 0) for name in ("s3", "duckdb s3")}
    for number, text in texts.items():
        expected = rows_of(runs["duckdb local"](text))
        for name, run in runs.items():
            if rows_of(run(text)) != expected:
                raise SystemExit(f"query {number}: {name} has another answer than DuckDB over local files")
            if endpoint and name in totals:
                counted(endpoint)
                run(text)
                found = counted(endpoint)
                totals[name] = {what: count + int(found[what]) for what, count in totals[name].items()}
    return totals


def tpch(
    scale: float, runs: int, queries: tuple[int, ...], data: Path, with_minio: bool, latency_ms: float
) -> Iterator[Figure]:
    """Yield the figures of TPC-H over a store of the loopback: hadro, which counts, or MinIO, which is faster; with
    latency, the one that depends on it."""
    directory = data / f"tpch-{scale:g}"
    generate(directory, scale, ["parquet"], suite=TPCH)
    texts = {number: text for number, text in TPCH.queries().items() if not queries or number in queries}
    served, name = (minio(directory), "MinIO") if with_minio else (hadro(directory, latency_ms), "hadro")
    with served as endpoint:
        os.environ |= {"AWS_ENDPOINT_URL_S3": endpoint, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
                       "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}  # fmt: skip
        with contenders(directory, endpoint) as asked:
            if latency_ms:
                asked = {name: asked[name] for name in (*asked, "duckdb local") if "s3" in name or "local" in name}
            totals = checked(texts, asked, "" if with_minio else endpoint)
            times = {number: _measured(number, text, asked, runs) for number, text in texts.items()}
    what = f"{len(times)} queries of TPC-H, scale {scale:g}, {name} on the loopback, {THREADS} threads"
    if latency_ms:
        ratio = geometric_mean(found["duckdb s3"] / found["s3"] for found in times.values())
        words = f"{what}: the store, {latency_ms:g} ms before each answer, beside DuckDB's httpfs"
        yield Figure(f"s3_parquet_vs_duckdb_{latency_ms:g}_ms", ratio, LATENCY_TARGET, "higher", words)
        return
    for figure, (ours, other, target, words) in TIMES.items():
        ratio = geometric_mean(found[other] / found[ours] for found in times.values())
        yield Figure(figure, ratio, target, "higher", f"{what}: {words}")
    for figure, kind in () if with_minio else COUNTS.items():
        ours, other = (totals[name][kind] for name in ("s3", "duckdb s3"))
        remark(f"  {kind}: {ours} and DuckDB {other}")
        words = f"{kind} that a warm run takes of the store"
        yield Figure(figure, ours / other if other else math.inf, 1.0, "lower", f"{what}: {words}")


@click.command(help=__doc__)
@click.option("--json", "as_json", is_flag=True)
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="parts of the benchmark; absent: all")
@click.option("--scale", default=1.0, show_default=True, help="TPC-H's")
@click.option("--runs", default=5, show_default=True)
@click.option("--query", "queries", type=int, multiple=True, help="numbers of TPC-H's queries; absent: all")
@click.option("--minio", "with_minio", is_flag=True, help="TPC-H and sweeps over MinIO, which must be on the path")
@click.option("--latency-ms", default=0.0, help="of each answer to TPC-H over hadro: that figure alone")
@click.option("--sweep", "names", multiple=True, help="names of sweeps, such as 'TPC-H'; absent: all")
@click.option("--rows", default=_pushdown.ROWS, show_default=True, help="of the tables of sweeps, but for TPC-H's")
@click.option("--page", type=click.Path(path_type=Path), help="draw the sweeps beside the published ones")
@click.option("--data", type=click.Path(path_type=Path), default=Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")))
def main(
    as_json: bool,
    only: tuple[str, ...],
    scale: float,
    runs: int,
    queries: tuple[int, ...],
    with_minio: bool,
    latency_ms: float,
    names: tuple[str, ...],
    rows: int,
    page: Path | None,
    data: Path,
) -> None:
    found: list[Figure] = []
    if not only or "tpch" in only:
        for figure in tpch(scale, runs, queries, data.absolute(), with_minio, latency_ms):
            report(figure, as_json)
            found.append(figure)
    if not only or "select" in only:
        points = {link: _pushdown.behind(link, data.absolute(), runs, scale, names, rows, with_minio) for link in LINKS}
        for figure in _pushdown.figures(points, scale):
            report(figure, as_json)
            found.append(figure)
        if page:
            page.write_text(_pushdown.page(points, found, scale), encoding="utf-8")
            remark(f"wrote {page}")
    for part in _hybrid.PARTS:
        if not only or part in only:
            for figure in _hybrid.figures(part, _hybrid.behind(part, data.absolute() / "select", runs)):
                report(figure, as_json)


def _measured(number: int, text: str, asked: dict[str, Run], runs: int) -> dict[str, float]:
    timed = {name: lambda run=run: run(text) for name, run in asked.items() if name != "duckdb local"}
    found = medians(alternate(timed, runs, SECONDS_MAX))
    remark(f"  query {number} (ms): " + ", ".join(f"{name} {seconds * 1000:.0f}" for name, seconds in found.items()))
    return found


if __name__ == "__main__":
    main()
