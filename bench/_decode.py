"""Decoding one column of Parquet by Jumpgate's reader beside Arrow's: gigabytes of decoded values in a second of a
core, by type and encoding, with the same number of threads, from the page cache. CPU time: other load counts little."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from bench._measure import Figure, geometric_mean, remark
from jumpgate.codegen import toolchain
from tests.support import cpp

FIGURE, TARGET = "parquet_decode_vs_arrow", 1.5
ROWS, GROUP_ROWS, SEED = 8_000_000, 500_000, 4
ROUNDS, RUNS = 3, 4
THREADS = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Case:
    """`jg_type`: of jg/batch.h, with precision and scale of a decimal; `written`: options of pyarrow's writer."""

    name: str
    values: Callable[[np.random.Generator], pa.Array]
    jg_type: tuple[int, int, int]
    written: dict[str, Any] = field(default_factory=dict)


def _encoded(encoding: str) -> dict[str, Any]:
    return {"use_dictionary": False, "column_encoding": {"v": encoding}}


def _integers(type: pa.DataType, high: int) -> Callable[[np.random.Generator], pa.Array]:
    stored = np.int32 if type.bit_width == 32 else np.int64
    return lambda random: pa.array(random.integers(0, high, ROWS).astype(stored)).cast(type)


def _decimals(random: np.random.Generator) -> pa.Array:
    return pa.array(random.integers(0, 10**7, ROWS)).cast(pa.decimal128(19)).cast(pa.decimal128(15, 2), safe=False)


def _texts(distinct: int) -> Callable[[np.random.Generator], pa.Array]:
    def make(random: np.random.Generator) -> pa.Array:
        return pc.binary_join_element_wise("item-", pa.array(random.integers(0, distinct, ROWS)).cast(pa.string()), "")

    return make


PLAIN = {"use_dictionary": False}
CASES = (
    Case("int32, plain", _integers(pa.int32(), 2**31), (3, 0, 0), PLAIN),
    Case("int64, plain", _integers(pa.int64(), 2**62), (4, 0, 0), PLAIN),
    Case("int64, dictionary", _integers(pa.int64(), 1000), (4, 0, 0)),
    Case("int64, delta", _integers(pa.int64(), 10**6), (4, 0, 0), _encoded("DELTA_BINARY_PACKED")),
    Case("double, plain", lambda r: pa.array(r.random(ROWS)), (6, 0, 0), PLAIN),
    Case("double, byte stream split", lambda r: pa.array(r.random(ROWS)), (6, 0, 0), _encoded("BYTE_STREAM_SPLIT")),
    Case("decimal(15,2), plain", _decimals, (7, 15, 2), {**PLAIN, "store_decimal_as_integer": True}),
    Case("date, dictionary", _integers(pa.date32(), 9000), (9, 0, 0)),
    Case("string, plain", _texts(ROWS), (13, 0, 0), PLAIN),
    Case("string, dictionary", _texts(1000), (13, 0, 0)),
    Case("string, delta", _texts(ROWS), (13, 0, 0), _encoded("DELTA_LENGTH_BYTE_ARRAY")),
)  # fmt: skip


def figure(folder: Path) -> Figure:
    """Over all cases, without NULLs and with a tenth of them; the answers of both readers are compared."""
    folder.mkdir(parents=True, exist_ok=True)
    program = _program()
    pa.set_cpu_count(THREADS)
    ratios = [_ratio(program, folder, case, nulls) for case in CASES for nulls in (False, True)]
    what = f"geometric mean over {len(ratios)} columns, GB/s a core beside Arrow's reader, {THREADS} threads"
    return Figure(FIGURE, geometric_mean(ratios), TARGET, "higher", what)


def _program() -> Path:
    library = toolchain.runtime().library
    linked = ("-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{library.parent}")
    return cpp.build("decode_loop", [Path(__file__).parent / "decode_loop.cpp"], (*cpp.RELEASE, *linked))


def _ratio(program: Path, folder: Path, case: Case, nulls: bool) -> float:
    name = f"{case.name}{', NULLs' if nulls else ''}"
    file = folder / f"{name.replace(', ', '-').replace(' ', '_')}.parquet"
    if not file.exists():
        random = np.random.default_rng(SEED)
        values = case.values(random)
        if nulls:
            values = pc.if_else(pa.array(random.random(ROWS) < 0.1), None, values)
        pq.write_table(pa.table({"v": values}), file, compression="NONE", row_group_size=GROUP_ROWS, **case.written)
    decoded, expected = _decoded(pq.read_table(file).column("v").combine_chunks())
    best: dict[str, list[float]] = {"jumpgate": [], "arrow": []}
    for _ in range(ROUNDS):
        best["jumpgate"].append(_jumpgate(program, file, case, expected))
        best["arrow"].append(_arrow(file))
    fastest = {engine: min(times) for engine, times in best.items()}
    speeds = ", ".join(f"{engine} {decoded / seconds / 1e9:.2f} GB/s" for engine, seconds in fastest.items())
    ratio = fastest["arrow"] / fastest["jumpgate"]
    remark(f"  {name}: {ratio:.2f} ({speeds})")
    return ratio


def _decoded(column: pa.Array) -> tuple[int, tuple[int, int]]:
    """Return the bytes of the values, their number, and the result of decode_loop.cpp."""
    there = column.drop_null()
    if pa.types.is_string(there.type):
        total = int(pc.sum(pc.binary_length(there)).as_py())
        return total + 4 * len(column), (len(there), total)
    words = 1 if there.type.bit_width == 32 else 2
    stored = np.frombuffer(there.buffers()[1], np.uint32)[: len(there) * there.type.bit_width // 32]
    low = stored.reshape(len(there), -1)[:, :words]
    return len(column) * 4 * words, (len(there), int(low.sum(dtype=np.uint64)))


def _jumpgate(program: Path, file: Path, case: Case, expected: tuple[int, int]) -> float:
    command = [program, file, THREADS, *case.jg_type, RUNS]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    for _, values, total in lines:
        if (int(values), int(total)) != expected:
            raise SystemExit(f"{file.name}: {values} values and a sum of {total}, Arrow has {expected}")
    return min(float(seconds) for seconds, *_ in lines)


def _arrow(file: Path) -> float:
    """The faster of Arrow's two ways: row groups side by side, and the whole file."""

    def took(read: Callable[[], object]) -> float:
        start = time.process_time()
        read()
        return time.process_time() - start

    ways = (lambda: ds.dataset(file).to_table(), lambda: pq.ParquetFile(file).read())
    return min(took(way) for way in ways for _ in range(RUNS))
