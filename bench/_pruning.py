"""Pruning by the compiled programs of p4/programs, column by column, and the Big Data benchmark's tables.

A tuple is a packet of its own, as rows that a switch prunes are. It was pruned if it came back as acknowledgement,
which is shorter than a packet that goes on.
"""

from __future__ import annotations

import ctypes as c
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bench import _switch_load as load
from jumpgate.p4.programs import skyline
from jumpgate.p4.programs.render import PruneSizes
from tests.support.switch_programs import Bench, region

U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]

BATCH = 4096
PORT = 1


class Program:
    """A program of one algorithm. Every column that it prunes finds empty registers."""

    def __init__(self, sizes: PruneSizes) -> None:
        self.sizes = sizes
        self.made = Bench(sizes)

    def pruned(self, keys: U64, values: U64, **flow: int) -> Flags:
        """`values` are `a` in the upper half and `b` in the lower one; `flow` as in `region`."""
        self.made.start({load.FLOW: region(self.sizes, self.sizes.algorithms[0], **flow)})
        return self._run(keys, values)

    def then(self, keys: U64, values: U64, **flow: int) -> Flags:
        """Prune with a second flow, which finds the first one's state."""
        self.made.again({load.FLOW: region(self.sizes, self.sizes.algorithms[0], **flow)})
        return self._run(keys, values)

    def _run(self, keys: U64, values: U64) -> Flags:
        frames = load.packets(keys, values, slots=1)
        count, size = frames.shape
        ports, lengths = (c.c_uint16 * BATCH)(*[PORT] * BATCH), (c.c_uint32 * BATCH)(*[size] * BATCH)
        out: list[int] = []
        for at in range(0, count, BATCH):
            batch = frames[at : at + BATCH]
            out += self.made.switch.process_lengths(ports, lengths, batch.tobytes(), len(batch))
        if len(out) != count:
            raise AssertionError(f"{count - len(out)} of {count} packets were dropped")
        return np.array(out, dtype=np.uint32) < size


@functools.cache
def program(sizes: PruneSizes) -> Program:
    return Program(sizes)


def _log2(number: int) -> int:
    bits = number.bit_length() - 1
    if number != 1 << bits:
        raise ValueError(f"a program has 2^n rows, not {number}")
    return bits


def _values(a: U32, b: U32 | int = 0) -> U64:
    return a.astype(np.uint64) << np.uint64(32) | np.asarray(b, dtype=np.uint64)


def _no_keys(like: U32) -> U64:
    return np.zeros(len(like), dtype=np.uint64)


def distinct(keys: U64, rows: int, columns: int, kind: str = "lru") -> Flags:
    sizes = PruneSizes((f"distinct_{kind}",), distinct_bits=_log2(rows), distinct_columns=columns)
    return program(sizes).pruned(keys, np.zeros_like(keys))


def topn_rand(values: U32, rows: int, columns: int) -> Flags:
    """With the switch's own random numbers, which go on from one call to the next."""
    sizes = PruneSizes(("topn_rand",), topn_bits=_log2(rows), topn_columns=columns)
    return program(sizes).pruned(_no_keys(values), _values(values))


def topn_det(values: U32, n: int, thresholds: int) -> Flags:
    sizes = PruneSizes(("topn_det",), topn_thresholds=thresholds)
    return program(sizes).pruned(_no_keys(values), _values(values), threshold=n)


def groupby(keys: U32, values: U32, rows: int, columns: int) -> Flags:
    sizes = PruneSizes(("groupby",), groupby_bits=_log2(rows), groupby_columns=columns)
    return program(sizes).pruned(keys.astype(np.uint64), _values(values))


def join(build: U64, probe: U64, bits_per_hash: int) -> Flags:
    made = program(PruneSizes(("join_bf",), bloom_bits=_log2(bits_per_hash)))
    made.pruned(build, np.zeros_like(build), side=1, adds=1, absorbs=1)
    return made.then(probe, np.zeros_like(probe))


def having(keys: U64, values: U32, threshold: int, width: int) -> Flags:
    """Prune HAVING in one pass: a row is dropped while its key's sum cannot exceed the threshold."""
    sizes = PruneSizes(("having",), having_bits=_log2(width))
    return program(sizes).pruned(keys, _values(values), threshold=threshold, adds=1)


def skyline_points(x: U32, y: U32, points: int, kind: str) -> Flags:
    made = program(PruneSizes(("skyline",), skyline_points=points))
    if kind == "aph":
        _enter_logarithms(made, x, y, skyline.LOGS, skyline.LOGS)
    elif kind == "share":  # of a sample, as the planner has it
        first, second = (skyline.share_table(column[:: max(1, len(column) // 5_000)].tolist()) for column in (x, y))
        _enter_logarithms(made, x, y, first, second)
    return made.pruned(_no_keys(x), _values(x, y), threshold=int(kind != "sum"))


def _enter_logarithms(made: Program, x: U32, y: U32, first: list[int], second: list[int]) -> None:
    """Enter the logarithms that the columns need."""
    for axis, column, logs in (("x", x, first), ("y", y, second)):
        table = f"sky_logs_{axis}_0"
        made.made.clear(table)
        for lead in _leading(column):
            made.made.enter(table, f"sky_log_{axis}_0", (lead,), (logs[lead],))


def _leading(values: U32) -> Iterable[int]:
    """The different numbers of 16 bits that values begin with."""
    bits = np.frexp(values.astype(np.float64))[1]  # exact: 32 bits fit a double
    found: list[int] = np.unique(values >> np.maximum(bits - 16, 0).astype(np.uint32)).tolist()
    return found


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
