"""Selective scans of one column of Parquet beside reading memory: bytes a second by the same number of threads.

The bytes of a scan are those of its column's pages after decompression, still encoded: what any reader has to look at.
A filter keeps one row in a thousand, and these are counted; the job's fixed time is in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import jumpgate
from bench._measure import Figure, alternate, geometric_mean, medians, remark
from tests.support import cpp

FIGURE, TARGET = "scan_vs_memory_bandwidth", 0.5
ROWS, GROUP_ROWS, SEED = 40_000_000, 1_000_000, 7
RUNS, SECONDS_MAX = 9, 20.0
#: of each thread, far more than caches hold
MEMORY_BYTES, MEMORY_ROUNDS = 512 << 20, 9
THREADS = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Case:
    """`low`, `high`: the values that the filter keeps."""

    name: str
    values: Callable[[np.random.Generator], np.ndarray]
    low: int
    high: int
    dictionary: bool = False
    compression: str = "NONE"


def _random(type: type, high: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda random: random.integers(0, high, ROWS).astype(type)


CASES = (
    Case("int32", _random(np.int32, 10**9), 5 * 10**8, 501 * 10**6),
    Case("int64", _random(np.int64, 10**15), 5 * 10**14, 501 * 10**12),
    Case("int64, snappy", _random(np.int64, 10**15), 5 * 10**14, 501 * 10**12, compression="SNAPPY"),
    Case("1,000 values as codes", _random(np.int32, 1000), 500, 500, dictionary=True),
)  # fmt: skip


def figure(folder: Path) -> Figure:
    """The geometric mean over all cases."""
    memory = memory_bytes_s()
    remark(f"  memory: {memory / 1e9:.1f} GB/s by {THREADS} threads")
    folder.mkdir(parents=True, exist_ok=True)
    with jumpgate.connect(offload="always") as jg:
        shares = [_bytes_s(jg, case, folder) / memory for case in CASES]
    what = f"encoded bytes a second of scans that keep a row in 1,000 ÷ a read of memory, {len(CASES)} columns"
    return Figure(FIGURE, geometric_mean(shares), TARGET, "higher", f"{what}, {ROWS:,} rows, {THREADS} threads")


def memory_bytes_s() -> float:
    """Bytes a second that so many threads read of memory."""
    program = cpp.build("memory_loop", [Path(__file__).parent / "memory_loop.cpp"], ("-O3", "-march=native"))
    command = [program, THREADS, MEMORY_BYTES, MEMORY_ROUNDS]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return float(done.stdout)


def _bytes_s(jg: jumpgate.Connection, case: Case, folder: Path) -> float:
    file = folder / f"{case.name.replace(', ', '-').replace(' ', '_').replace(',', '')}.parquet"
    if not file.exists():
        table = pa.table({"v": case.values(np.random.default_rng(SEED))})
        pq.write_table(
            table, file, compression=case.compression, row_group_size=GROUP_ROWS, use_dictionary=case.dictionary
        )
    values = pq.read_table(file).column("v").to_numpy()
    expected = int(((values >= case.low) & (values <= case.high)).sum())
    del values
    described = pq.ParquetFile(file).metadata
    encoded = sum(described.row_group(g).column(0).total_uncompressed_size for g in range(described.num_row_groups))
    jg.register("scanned", file)
    text = f"SELECT count(*) n FROM scanned WHERE v BETWEEN {case.low} AND {case.high}"
    found = jg.sql(text).to_arrow().column("n")[0].as_py()
    if found != expected:
        raise SystemExit(f"{case.name}: {found} rows, not {expected}")
    seconds = medians(alternate({"scan": lambda: jg.sql(text).to_arrow()}, RUNS, SECONDS_MAX))["scan"]
    remark(f"  {case.name}: {encoded / seconds / 1e9:.2f} GB/s ({encoded >> 20} MiB in {seconds * 1000:.0f} ms)")
    return encoded / seconds
