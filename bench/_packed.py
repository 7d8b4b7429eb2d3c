"""Text that is packed: sums over JSON and CSV in gzip and zstd, whole and in parts, beside DuckDB on the same files."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

import jumpgate
from bench._measure import Figure, alternate, geometric_mean, medians, remark

FIGURE, TARGET = "packed_vs_duckdb", 1.5
THREADS = len(os.sched_getaffinity(0))
RUNS, SECONDS_MAX = 5, 20.0
ROWS = 2_000_000
#: bytes of text of a member of BGZF, and of a frame of zstd
BLOCK_BYTES, FRAME_BYTES = 0xFF00, 4 << 20
TABLE = (
    "SELECT i AS id, hash(i) % 1000 AS k, hash(i + 1) % 1000000 / 100 AS v, concat('name ', hash(i) % 9999) AS name"
    " FROM range({rows}) numbers(i)"
)
QUERY = "SELECT k, sum(id) s, max(v) m, min(name) n FROM {table} GROUP BY k"
SCHEMA = {"id": "BIGINT", "k": "BIGINT", "v": "DOUBLE", "name": "VARCHAR"}


def _blocks(text: bytes) -> bytes:
    """As bgzip packs it."""
    made = []
    for begin in range(0, len(text) + BLOCK_BYTES, BLOCK_BYTES):
        part = text[begin : begin + BLOCK_BYTES]
        deflated = zlib.compress(part, wbits=-15)
        made.append(struct.pack("<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(deflated) + 25))
        made.append(deflated + struct.pack("<II", zlib.crc32(part), len(part)))
    return b"".join(made)


def _zstd(text: bytes, size: int) -> bytes:
    return b"".join(pa.compress(text[i : i + size], "zstd", asbytes=True) for i in range(0, len(text), size))


#: name → suffix and packer
PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gz", lambda text: gzip.compress(text, 6)),
    "gzip in blocks": ("gz", _blocks),
    "zstd": ("zst", lambda text: _zstd(text, len(text))),
    "zstd in frames": ("zst", lambda text: _zstd(text, FRAME_BYTES)),
}


def generated(folder: Path) -> dict[tuple[str, str], Path]:
    """Format and packing → file, made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for format in ("json", "csv"):
        plain = folder / f"t.{format}"
        for name, (suffix, pack) in PACKED.items():
            file = files[format, name] = folder / f"{name.replace(' ', '_')}.{format}.{suffix}"
            if file.exists():
                continue
            if not plain.exists():
                with duckdb.connect() as duck:
                    duck.execute(f"COPY ({TABLE.format(rows=ROWS)}) TO '{plain}' (FORMAT {format})")
            file.write_bytes(pack(plain.read_bytes()))
        plain.unlink(missing_ok=True)
    return files


def figure(folder: Path) -> Figure:
    """DuckDB's time ÷ Jumpgate's; their answers are compared first."""
    ratios = []
    types = ", ".join(f"'{name}': '{type}'" for name, type in SCHEMA.items())
    with jumpgate.connect(offload="always") as jg, duckdb.connect(config={"threads": THREADS}) as duck:
        for (format, name), file in generated(folder).items():
            jg.register("packed", file)
            ours, theirs = (
                QUERY.format(table="packed"),
                QUERY.format(table=f"read_{format}('{file}', columns = {{{types}}})"),
            )
            contenders: dict[str, Callable[[], pa.Table]] = {
                "jumpgate": lambda text=ours: jg.sql(text).to_arrow(),
                "duckdb": lambda text=theirs: duck.execute(text).to_arrow_table(),
            }
            answers = [sorted(tuple(map(str, r.values())) for r in run().to_pylist()) for run in contenders.values()]
            if answers[0] != answers[1]:
                raise SystemExit(f"{format}, {name}: jumpgate and duckdb differ")
            times = medians(alternate(contenders, RUNS, SECONDS_MAX))
            ratios.append(times["duckdb"] / times["jumpgate"])
            words = ", ".join(f"{engine} {seconds * 1000:.0f}" for engine, seconds in times.items())
            remark(f"  {format}, {name}: {ratios[-1]:.2f} (ms: {words})")
    what = f"geometric mean of {len(ratios)}: JSON and CSV, gzip and zstd, whole and in parts, beside DuckDB"
    return Figure(FIGURE, geometric_mean(ratios), TARGET, "higher", f"{what}, {ROWS:,} rows")
