"""Vectorised pruning: the algorithms of jumpgate.p4.programs over columns, and the Big Data benchmark's tables."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from jumpgate.p4.programs import crc, skyline

U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]


@functools.cache
def _library() -> ctypes.CDLL:
    source = Path(__file__).with_name("pruning_loops.cpp")
    with tempfile.TemporaryDirectory(prefix="jumpgate-pruning-") as folder:
        built = Path(folder) / "loops.so"
        subprocess.run(["g++", "-O2", "-std=c++20", "-shared", "-fPIC", source, "-o", built], check=True)
        return ctypes.CDLL(str(built))


def _run(name: str, n: int, *arguments: U32 | U64 | int) -> Flags:
    pruned = np.zeros(n, dtype=np.uint8)
    kept = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    words = [a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else ctypes.c_uint32(a) for a in kept]
    getattr(_library(), name)(ctypes.c_size_t(n), *words, pruned.ctypes.data_as(ctypes.c_void_p))
    return pruned.astype(np.bool_)


def _row(keys: U64, rows: int, which: int = 0) -> U32:
    row: U32 = crc.hash_keys(which, keys) % np.uint32(rows)
    return row


def distinct(keys: U64, rows: int, columns: int, kind: str = "lru") -> Flags:
    return _run(f"distinct_{kind}", len(keys), _row(keys, rows), keys ^ np.uint64(1 << 63), rows, columns)


def topn_rand(values: U32, rows: int, columns: int, random: np.random.Generator) -> Flags:
    row = random.integers(0, rows, len(values), dtype=np.uint32)
    return _run("topn_rand", len(values), row, values, rows, columns)


def topn_det(values: U32, n: int, thresholds: int) -> Flags:
    return _run("topn_det", len(values), values, n, thresholds)


def groupby(keys: U32, values: U32, rows: int, columns: int) -> Flags:
    return _run(
        "groupby", len(keys), _row(keys.astype(np.uint64), rows), keys ^ np.uint32(1 << 31), values, rows, columns
    )


def join(build: U64, probe: U64, bits_per_hash: int, hashes: int = 3) -> Flags:
    found = np.ones(len(probe), dtype=np.bool_)
    for which in range(hashes):
        bits = np.zeros(bits_per_hash, dtype=np.bool_)
        bits[_row(build, bits_per_hash, which)] = True
        found &= bits[_row(probe, bits_per_hash, which)]
    return ~found


def having(keys: U64, values: U32, threshold: int, width: int, depth: int) -> Flags:
    rows = np.concatenate([_row(keys, width, which) for which in range(depth)])
    return _run("having", len(keys), rows, values, width, depth, threshold)


def skyline_points(x: U32, y: U32, points: int, kind: str) -> Flags:
    if kind == "aph":
        score = _logarithm(x, skyline.LOGS) + _logarithm(y, skyline.LOGS)
    elif kind == "share":  # of a sample, as the planner has it
        first, second = (skyline.share_table(column[:: max(1, len(column) // 5_000)].tolist()) for column in (x, y))
        score = _logarithm(x, first) + _logarithm(y, second)
    else:
        score = np.minimum(x.astype(np.uint64) + y, 0xFFFFFFFF).astype(np.uint32)
    return _run("skyline", len(x), score, x, y, points)


def _logarithm(values: U32, table: list[int]) -> U32:
    logs = np.array(table, dtype=np.uint32)
    bits = np.frexp(values.astype(np.float64))[1]  # exact: 32 bits fit a double
    shift = np.maximum(bits - 16, 0).astype(np.uint32)
    return logs[values >> shift] + np.uint32(skyline.SCALE) * shift


@dataclass(frozen=True)
class UserVisits:
    """The columns that the queries read; strings are numbered, adRevenue is in billionths."""

    user_agent: U64
    ad_revenue: U32
    language: U64
    dest_url: U64


@dataclass(frozen=True)
class Rankings:
    page_url: U64
    page_rank: U32
    avg_duration: U32


USER_AGENTS, LANGUAGES = 2_000, 100


def user_visits(rows: int, pages: int, random: np.random.Generator) -> UserVisits:
    """Agents and revenue (0 to 1) uniform; languages and destinations Zipf (0.5), half of these unranked."""
    return UserVisits(
        random.integers(0, USER_AGENTS, rows, dtype=np.uint64),
        random.integers(0, 10**9, rows, dtype=np.uint32),
        (LANGUAGES * random.random(rows) ** 2).astype(np.uint64),
        (pages * random.random(rows) ** 2).astype(np.uint64) * np.uint64(2),
    )


def rankings(rows: int, random: np.random.Generator) -> Rankings:
    """pageRank is Zipf and the table roughly sorted on it, rising; avgDuration is uniform from 1 to 100."""
    order = np.argsort(np.arange(rows) + random.normal(0, rows / 50, rows))
    rank = (10_000 / np.sqrt(np.arange(rows, 0, -1)) + 1).astype(np.uint32)
    return Rankings(np.arange(rows, dtype=np.uint64), rank[order], random.integers(1, 101, rows, dtype=np.uint32))
