"""The text readers alone, three of store_sales' 23 columns: JSON beside a bare simdjson loop, and CSV.

Each run is a process of its own that measures itself; contenders take turns, and their sums must agree.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

import click

from bench._measure import Figure, remark, report
from jumpgate.codegen import toolchain
from jumpgate.tpcds.data import generate, path
from tests.support import cpp

HERE = Path(__file__).parent
COLUMNS = ("ss_sold_date_sk", "ss_item_sk", "ss_ext_sales_price")
THREADS = len(os.sched_getaffinity(0))
RUNS = 9


def programs() -> tuple[Path, Path]:
    """(the bare loop, the readers' loop)"""
    import simdjson

    folder = Path(simdjson.__file__).parent
    runtime = toolchain.runtime()
    bare = cpp.build(
        "simdjson_loop", [HERE / "simdjson_loop.cpp", folder / "simdjson.cpp"], (*cpp.RELEASE, "-isystem", str(folder))
    )
    linked = ("-Wl,--no-as-needed", str(runtime.library), f"-Wl,-rpath,{runtime.library.parent}")
    return bare, cpp.build("reader_loop", [HERE / "reader_loop.cpp"], (*cpp.RELEASE, *linked))


def run(program: Path, file: Path, threads: int, *format: str) -> tuple[float, str]:
    """Return (bytes a second, the program's result)."""
    command = [program, *format, file, threads, *COLUMNS]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
    seconds, rows, total = done.stdout.split()
    return file.stat().st_size / float(seconds), f"{rows} rows, sum {total}"


def speeds(directory: Path, threads: int) -> dict[str, float]:
    """Median bytes a second of each contender."""
    bare, reader = programs()
    json, csv = path(directory, "store_sales", "json"), path(directory, "store_sales", "csv")
    contenders: dict[str, Callable[[], tuple[float, str]]] = {
        "simdjson": lambda: run(bare, json, threads),
        "json": lambda: run(reader, json, threads, "json"),
        "csv": lambda: run(reader, csv, threads, "csv"),
    }
    found = {contender()[1] for contender in contenders.values()}
    if len(found) > 1:
        raise SystemExit(f"the contenders disagree: {'; '.join(sorted(found))}")
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(RUNS):
        for name, contender in contenders.items():
            times[name].append(contender()[0])
    return {name: statistics.median(speeds) for name, speeds in times.items()}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--data", type=click.Path(path_type=Path), default=Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")))
def main(as_json: bool, data: Path) -> None:
    """Measures the text readers."""
    directory = data.absolute() / "sf1"
    formats = [f for f in ("json", "csv") if not path(directory, "store_sales", f).exists()]
    if formats:
        remark(f"generating store_sales at scale 1 in {directory}")
        generate(directory, 1.0, formats, ["store_sales"])
    ratios = []
    for threads in sorted({1, THREADS}):
        found = speeds(directory, threads)
        ratios.append(found["json"] / found["simdjson"])
        words = ", ".join(f"{name} {speed / 1e9:.2f} GB/s" for name, speed in found.items())
        remark(f"  {threads} thread{'s' * (threads > 1)}: {words}: json / simdjson {ratios[-1]:.2f}")
    text = f"bytes a second of 3 of 23 columns of store_sales, worse of 1 and {THREADS} threads, against a bare loop"
    report(Figure("json_scan_vs_simdjson", min(ratios), 0.6, "higher", text), as_json)


if __name__ == "__main__":
    main()
