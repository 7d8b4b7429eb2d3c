"""The first run of queries with hundreds of columns, keys, measures and values, beside DataFusion.

    ./dev bench wide [--json] [--data DIR]

Each round asks for something that nobody has asked before, of a file that nobody has looked into: Jumpgate plans,
compiles and runs it. Both run the same text with as many threads. The figures are geometric means of the medians'
ratios: of wide_vs_datafusion with offload = always, of wide_auto_vs_datafusion with auto, where DataFusion may answer
while programs are built. Answers have as many rows.

named_of_50000_cpu_s is the CPU time of two named columns of a JSON file whose lines have 50,000, in the client and the
service within it, once such a query has run.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import click
import datafusion
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import jumpgate
from bench._measure import Figure, geometric_mean, remark, report
from jumpgate.codegen import toolchain

THREADS = len(os.sched_getaffinity(0))
ROUNDS, ROWS, COLUMNS = 5, 100_000, 520
#: figure → offload
FIGURES = {"wide_vs_datafusion": "always", "wide_auto_vs_datafusion": "auto"}
TARGET = 1.0
NAMED = "named_of_50000_cpu_s"
#: columns of the lines of which two columns are asked for
LINE_COLUMNS = 50_000

#: query → text of a round; each round has one column less
QUERIES: dict[str, Callable[[int], str]] = {
    "500 columns": lambda less: f"SELECT {_list(500 - less)} FROM t WHERE c1 = 3 AND c2 = 2 AND c519 > 0",
    "500 keys": lambda less: f"SELECT {_list(500 - less)}, count(*) n FROM t GROUP BY {_list(500 - less)}",
    "300 measures": lambda less: f"SELECT k, {_list(300 - less, 'sum(c{0}) s{0}')} FROM t GROUP BY k",
    "300 expressions": lambda less: f"SELECT {_list(300 - less, 'c{0} * 2 + k x{0}')} FROM t WHERE k < 25",
    "1,000-way IN": lambda less: (
        f"SELECT count(*) n FROM t WHERE {' + '.join(f'c{i}' for i in range(6 - less))} + k * 100"
        f" IN ({', '.join(str(3 * i) for i in range(1000))})"
    ),
}


def _list(count: int, text: str = "c{0}") -> str:
    return ", ".join(text.format(i) for i in range(count))


def generated(folder: Path) -> Path:
    file = folder / "wide.parquet"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        r = np.random.default_rng(1)
        columns = {f"c{i}": pa.array(r.integers(0, 4, ROWS), pa.int64()) for i in range(COLUMNS)}
        pq.write_table(pa.table({"k": pa.array(r.integers(0, 50, ROWS), pa.int64()), **columns}), file)
    return file


def seconds(run: Callable[[], int]) -> tuple[float, int]:
    start = time.perf_counter()
    rows = run()
    return time.perf_counter() - start, rows


def ratio(number: int, name: str, text: Callable[[int], str], file: Path, folder: Path, jg: Any) -> float:
    ours, theirs = [], []
    for round in range(ROUNDS):
        fresh = folder / f"{number}-{round}.parquet"
        os.link(file, fresh)
        fusion = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(THREADS))
        fusion.register_parquet("t", str(fresh))
        jg.register("t", fresh)
        asked = text(round)
        took, rows = seconds(lambda asked=asked: jg.sql(asked).to_arrow().num_rows)
        others, expected = seconds(lambda asked=asked, fusion=fusion: fusion.sql(asked).to_arrow_table().num_rows)
        if rows != expected:
            raise SystemExit(f"{name}: {rows} rows, DataFusion has {expected}")
        ours.append(took)
        theirs.append(others)
    remark(
        f"  {name}: {median(theirs) / median(ours):.2f} (ms: {median(ours) * 1000:.0f} and {median(theirs) * 1000:.0f})"
    )
    return median(theirs) / median(ours)


def named_of_50000_cpu_s() -> Figure:
    taken = []
    with tempfile.TemporaryDirectory() as folder, jumpgate.connect(offload="always") as jg:
        file = Path(folder) / "wide.json"
        file.write_text("".join(json.dumps({f"c{i}": i + n for i in range(LINE_COLUMNS)}) + "\n" for n in range(3)))
        jg.register("t", file)
        for first in range(ROUNDS + 1):
            began = time.process_time()
            found = jg.sql(f"SELECT c{first} a, c100 b FROM t ORDER BY a").to_arrow().to_pylist()
            taken.append(time.process_time() - began)
            if found != [{"a": first + n, "b": 100 + n} for n in range(3)]:
                raise SystemExit(f"a wrong answer: {found}")
    remark(f"the first one {taken[0]:.1f} s")
    return Figure(NAMED, median(taken[1:]), 2.0, "lower", f"two columns of {LINE_COLUMNS}, in JSON")


@click.command(help=__doc__)
@click.option("--json", "as_json", is_flag=True)
@click.option("--data", type=click.Path(path_type=Path), default=os.environ.get("JUMPGATE_BENCH_DATA", "data"))
@click.option("--only", type=click.Choice([*FIGURES, NAMED]), multiple=True, help="one of the figures")
def main(as_json: bool, data: Path, only: tuple[str, ...]) -> None:
    if not only or NAMED in only:
        report(named_of_50000_cpu_s(), as_json)
    file = generated(data / "wide")
    for figure in [name for name in FIGURES if not only or name in only]:
        with tempfile.TemporaryDirectory(dir=data / "wide") as folder:
            _forget_programs(Path(folder) / "cache")
            with jumpgate.connect(offload=FIGURES[figure]) as jg:
                _start(jg, Path(folder))
                remark(f"offload = {jg.offload}")
                ratios = [
                    ratio(i, name, text, file, Path(folder), jg) for i, (name, text) in enumerate(QUERIES.items())
                ]
        what = f"geometric mean of {len(ratios)} first runs, beside DataFusion's"
        report(Figure(figure, geometric_mean(ratios), TARGET, "higher", what), as_json)


def _forget_programs(folder: Path) -> None:
    """Use an empty cache with only the runtime library."""
    built = toolchain.runtime().library.parent.parent
    folder.mkdir()
    (folder / "runtime").symlink_to(built)
    os.environ["JUMPGATE_CACHE_DIR"] = str(folder)


def _start(jg: Any, folder: Path) -> None:
    """The service, its agent and its look into files are up."""
    pq.write_table(pa.table({"a": [1]}), folder / "one.parquet")
    jg.register("one", folder / "one.parquet")
    jg.sql("SELECT count(*) n FROM one", offload="always").to_arrow()


if __name__ == "__main__":
    main()
