"""Single operators over Parquet beside the best of DuckDB, DataFusion and Polars: group-bys, joins, windows,
filters that indexes help, approximate distinct counts, selective scans and few groups.

    ./dev bench speed [--json] [--rows 10000000] [--data DIR] [--only FIGURE …] [--query NAME …]

The engines take turns in one process, warm, with the same number of threads, over the same files. A query's ratio is
the fastest other engine's median ÷ Jumpgate's, or DuckDB's where the figure's name says so; a figure is their
geometric mean. Answers are compared first.
spill_right and spill_vs_memory are of tables on disk, beside Jumpgate's own in memory; parquet_decode_vs_arrow is the
reader alone, beside Arrow's; clickbench_vs_duckdb is 43 queries over one wide table; packed_vs_duckdb reads packed
text; scan_vs_memory_bandwidth has no other engine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

THREADS = len(os.sched_getaffinity(0))
os.environ.setdefault("POLARS_MAX_THREADS", str(THREADS))

import datafusion  # noqa: E402
import duckdb  # noqa: E402
import numpy as np  # noqa: E402
import polars as pl  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import jumpgate  # noqa: E402
from bench import _bandwidth, _decode, _orders, _packed, _spill, _web_hits  # noqa: E402
from bench._measure import Figure, alternate, geometric_mean, medians, remark, report  # noqa: E402

RUNS, SECONDS_MAX = 7, 30.0
SEED = 20

#: figure → (target, query → text)
FIGURES: dict[str, tuple[float, dict[str, str]]] = {
    "groupby_vs_best": (
        1.1,
        {
            "one group": "SELECT sum(v) s, avg(f) a FROM facts",
            "100 integers": "SELECT k100, sum(v) s, avg(f) a FROM facts GROUP BY k100",
            "100 strings": "SELECT s100, sum(v) s, avg(f) a FROM facts GROUP BY s100",
            "distinct in 100": "SELECT k100, count(DISTINCT q) d FROM facts GROUP BY k100",
            "1e5 integers": "SELECT k1e5, sum(v) s, avg(f) a FROM facts GROUP BY k1e5",
            "1e5 × 100": "SELECT k1e5, s100, sum(v) s FROM facts"
            " GROUP BY k1e5, s100 ORDER BY s DESC, k1e5, s100 LIMIT 10",
            "5e6 integers": "SELECT k5e6, sum(v) s FROM facts GROUP BY k5e6 ORDER BY s DESC, k5e6 LIMIT 10",
            "5e6 strings": "SELECT s5e6, sum(v) s FROM facts GROUP BY s5e6 ORDER BY s DESC, s5e6 LIMIT 10",
        },
    ),
    "join_vs_best": (
        1.3,
        {
            "small": "SELECT name, sum(v) s FROM facts JOIN small ON k100 = small.id GROUP BY name",
            "medium": "SELECT grade, sum(v) s FROM facts JOIN medium ON k1e5 = medium.id GROUP BY grade",
            "large": "SELECT grade, sum(v) s FROM facts JOIN large ON k5e6 = large.id GROUP BY grade",
            "semi": "SELECT k100, sum(v) s FROM facts"
            " WHERE k5e6 IN (SELECT id FROM large WHERE grade < 3) GROUP BY k100",
            "string key": "SELECT grade, sum(v) s FROM facts JOIN large ON s5e6 = code GROUP BY grade",
        },
    ),
    "window_vs_best": (
        2.0,
        {
            "rank": "SELECT sum(r) s FROM (SELECT rank() OVER (PARTITION BY k100 ORDER BY v) r FROM facts)",
            "first of each": "SELECT sum(v) s FROM"
            " (SELECT v, row_number() OVER (PARTITION BY k1e5 ORDER BY v, id) r FROM facts) WHERE r <= 3",
            "lag": "SELECT sum(v - p) s FROM (SELECT v, lag(v) OVER (PARTITION BY k1e5 ORDER BY id) p FROM facts)",
            "running": "SELECT max(s) m FROM (SELECT sum(v) OVER (PARTITION BY k1e5 ORDER BY id) s FROM facts)",
            "whole": "SELECT count(*) n FROM"
            " (SELECT v, avg(v) OVER (PARTITION BY k1e5) a FROM facts) WHERE v > 1.9 * a",
        },
    ),
    "pages_vs_best": (
        1.0,
        {
            "a range": "SELECT count(*) n, sum(v) s FROM indexed WHERE id BETWEEN 500000 AND 510000",
            "a value": "SELECT count(*) n, sum(v) s FROM indexed WHERE k5e6 = 123457",
            "a join": "SELECT grade, sum(v) s FROM indexed JOIN medium ON indexed.id = medium.id"
            " WHERE medium.id BETWEEN 50000 AND 51000 GROUP BY grade",
        },
    ),
    "approximate_vs_best": (  # compared by a value that all estimates agree on
        1.0,
        {
            "of all": "SELECT approx_count_distinct(k5e6) > 100000 b FROM facts",
            "by 100": "SELECT count(*) n FROM (SELECT k100, approx_count_distinct(k5e6) d FROM facts GROUP BY k100)"
            " WHERE d > 1000",
            "by 1e5": "SELECT count(*) n FROM (SELECT k1e5, approx_count_distinct(q) d FROM facts GROUP BY k1e5)"
            " WHERE d > 0",
        },
    ),
    **_orders.FIGURES,
}

#: figures with tables or queries of their own
ALONE = (*_spill.TARGETS, _web_hits.FIGURE, _decode.FIGURE, _bandwidth.FIGURE, _packed.FIGURE)
NAMES = (*FIGURES, *ALONE)


def generated(rows: int, folder: Path) -> dict[str, Path]:
    """Table → file; `facts` of so many rows, the same `indexed` (with a page index and Bloom filters of k5e6), and the
    tables that it joins, made where they are missing."""
    files = {name: folder / f"{name}.parquet" for name in ("facts", "indexed", "small", "medium", "large")}
    if all(f.exists() for f in files.values()):
        return files
    remark(f"generating {rows:,} rows in {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    keys = {name: random.integers(0, n, rows) for name, n in (("k100", 100), ("k1e5", 10**5), ("k5e6", rows // 2))}
    facts = {
        "id": np.arange(rows),
        **keys,
        "s100": _text("group ", keys["k100"]),
        "s5e6": _text("item-", keys["k5e6"]),
        "v": random.integers(0, 1_000_000, rows),
        "q": random.integers(0, 1000, rows).astype(np.int32),
        "f": random.random(rows),
    }
    pq.write_table(pa.table(facts), files["facts"])
    filters = {"k5e6": {"ndv": 10**6, "fpp": 0.01}}
    pq.write_table(pa.table(facts), files["indexed"], write_page_index=True, bloom_filter_options=filters)
    for name, size in (("small", 100), ("medium", 10**5), ("large", rows // 2)):
        ids = random.permutation(size)
        grade = random.integers(0, 10, size).astype(np.int32)
        columns = {"id": ids, "grade": grade, "name": _text("name ", ids), "code": _text("item-", ids)}
        pq.write_table(pa.table(columns), files[name])
    return files


def _text(prefix: str, numbers: Any) -> Any:
    return pa.compute.binary_join_element_wise(prefix, pa.array(numbers).cast(pa.string()), "")


def engines(files: dict[str, Path], jg: Any) -> dict[str, Callable[[str], pa.Table]]:
    """Return engine → function that answers a query."""
    duck = duckdb.connect()
    duck.execute(f"SET threads = {THREADS}")
    fusion = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(THREADS))
    polars = pl.SQLContext()
    for name, file in files.items():
        jg.register(name, file)
        duck.execute(f"CREATE VIEW {name} AS FROM '{file}'")
        fusion.register_parquet(name, str(file))
        polars.register(name, pl.scan_parquet(file))
    return {
        "jumpgate": lambda text: jg.sql(text).to_arrow(),
        "duckdb": lambda text: duck.execute(text).to_arrow_table(),
        "datafusion": lambda text: fusion.sql(
            text.replace("approx_count_distinct", "approx_distinct")
        ).to_arrow_table(),
        "polars": lambda text: polars.execute(text).collect().to_arrow(),
    }


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """To be compared: in one order, floats by nine digits."""
    return sorted(
        tuple(float(f"{v:.9g}") if not isinstance(v, str) else v for v in row.values()) for row in table.to_pylist()
    )


def compared(name: str, text: str, engines: dict[str, Callable[[str], pa.Table]]) -> float:
    """Return the best other's median ÷ Jumpgate's."""
    expected = rows_of(engines["duckdb"](text))
    able = {}
    for engine, run in engines.items():
        try:
            answer = rows_of(run(text))
        except Exception as error:
            if engine == "jumpgate":
                raise
            remark(f"  {name}: {engine} does not answer: {str(error).splitlines()[0][:80]}")
            continue
        if answer == expected:
            able[engine] = lambda run=run: run(text)
        elif engine == "jumpgate":
            raise SystemExit(f"{name}: jumpgate and duckdb differ")
        else:
            remark(f"  {name}: {engine} answers otherwise")
    times = medians(alternate(able, RUNS, SECONDS_MAX))
    best = min(seconds for engine, seconds in times.items() if engine != "jumpgate")
    words = ", ".join(f"{engine} {seconds * 1000:.0f}" for engine, seconds in times.items())
    remark(f"  {name}: {best / times['jumpgate']:.2f} (ms: {words})")
    return best / times["jumpgate"]


@click.command(help=__doc__)
@click.option("--json", "as_json", is_flag=True)
@click.option("--rows", default=10_000_000, show_default=True)
@click.option("--data", type=click.Path(path_type=Path), default=os.environ.get("JUMPGATE_BENCH_DATA", "data"))
@click.option("--only", "figures", multiple=True, type=click.Choice(NAMES))
@click.option("--query", "queries", multiple=True, help="of the figures' queries, by name")
def main(as_json: bool, rows: int, data: Path, figures: tuple[str, ...], queries: tuple[str, ...]) -> None:
    folder = data / f"speed-{math.log10(rows):g}"
    wanted = [name for name in NAMES if name in figures or not (figures or (queries and name in ALONE))]
    if any(name in FIGURES or name in _spill.TARGETS for name in wanted):
        files = generated(rows, folder) | _orders.generated(_orders.rows_of(rows), folder)
        _beside_others(files, rows, [name for name in wanted if name in FIGURES], queries, as_json)
        if spilled := [name for name in wanted if name in _spill.TARGETS]:
            for found in _spill.figures(files, spilled):
                report(found, as_json)
    if _web_hits.FIGURE in wanted:
        report(_web_hits.figure(_web_hits.rows_of(rows), folder, queries), as_json)
    if _decode.FIGURE in wanted:
        report(_decode.figure(data / "decode"), as_json)
    if _bandwidth.FIGURE in wanted:
        report(_bandwidth.figure(data / "bandwidth"), as_json)
    if _packed.FIGURE in wanted:
        report(_packed.figure(data / "packed"), as_json)


def _beside_others(
    files: dict[str, Path], rows: int, figures: list[str], queries: tuple[str, ...], as_json: bool
) -> None:
    """Report figures of FIGURES."""
    with jumpgate.connect(offload="always") as jg:
        contenders = engines(files, jg)
        for figure in figures:
            target, texts = FIGURES[figure]
            chosen = {name: text for name, text in texts.items() if not queries or name in queries}
            if not chosen:
                continue
            duckdb_alone = figure.endswith("_vs_duckdb")
            others = (
                {"jumpgate": contenders["jumpgate"], "duckdb": contenders["duckdb"]} if duckdb_alone else contenders
            )
            ratios = [compared(name, text, others) for name, text in chosen.items()]
            beside = "DuckDB" if duckdb_alone else "the best of DuckDB, DataFusion and Polars"
            size = _orders.rows_of(rows) if figure in _orders.FIGURES else rows
            what = f"geometric mean of {len(ratios)}, beside {beside}, {size:,} rows"
            report(Figure(figure, geometric_mean(ratios), target, "higher", what), as_json)


if __name__ == "__main__":
    main()
