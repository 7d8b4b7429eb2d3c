"""Counts the cache lines that move between the threads of an instance: what more cores would wait for.

The runtime and the generated programs are built with -fsanitize=thread, whose functions bench/line_counter.cpp has in
place of the sanitizer's."""

from __future__ import annotations

import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import jumpgate
from bench._measure import Figure, remark
from jumpgate.codegen import cache, toolchain
from jumpgate.tpcds.data import generate, path
from jumpgate.tpch import TPCH
from tests.support import cpp

FIGURE, TARGET = "busiest_line_share", 0.1
QUERIES = (1, 3, 6, 9, 13, 18, 21)
RUNS = 5
#: of an instance whose lines are counted; of the machine on paper
THREADS, CORES = 8, 64
#: for a line to come from a core of another socket
MOVE_S = 1.5e-7
#: lines that moved most, to be told
TOLD = 3


@dataclass(frozen=True)
class Moved:
    """Moves of all lines; of those that moved most: moves, threads, and the function that touched it last."""

    moves: int
    most: tuple[tuple[int, int, str], ...]


def figure(folder: Path) -> Figure:
    """Return the largest share, over the queries, of the time on a machine of many cores that its busiest line would
    move: moves of one line follow each other. Those of all lines are shared by all cores, and told beside it."""
    generate(folder, 1.0, ["parquet"], suite=TPCH)
    busiest, whole = [], []
    with jumpgate.connect(offload="always") as jg:
        for name in TPCH.tables:
            jg.register(name, path(folder, name, "parquet"))
        own = {query: _seconds(jg, TPCH.queries()[query]) for query in QUERIES}
    with tempfile.TemporaryDirectory() as work:
        environment = _counting()
        for query, seconds in own.items():
            moved = _moved(folder, query, environment, Path(work))
            cores_s = seconds * _cores()
            most = max((moves for moves, *_ in moved.most), default=0)
            of_all, of_one = moved.moves * MOVE_S / cores_s, most * MOVE_S / (cores_s / CORES)
            busiest.append(of_one)
            whole.append(of_all)
            waits = f"{of_all:.4f} of the cores' time; one line {of_one:.3f} of the whole"
            remark(f"  query {query}: {moved.moves:,} moves, {waits}")
            for times, threads, where in moved.most:
                remark(f"    {times:,} by {threads} threads: {where}")
    what = f"{len(QUERIES)} queries of TPC-H at scale 1: part of the time on {CORES} cores that one cache line moves"
    how = f"{MOVE_S * 1e9:.0f} ns a move, {THREADS} threads counted; all lines, of all cores' time: {max(whole):.2f}"
    return Figure(FIGURE, max(busiest), TARGET, "lower", f"{what}, the worst; {how}")


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _seconds(jg: jumpgate.Connection, text: str) -> float:
    took = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        jg.sql(text).to_arrow()
        took.append(time.perf_counter() - began)
    return statistics.median(took[1:])


def _counting() -> dict[str, str]:
    """Return the environment of a process whose programs count: its compiler links them with the counter."""
    source = Path(__file__).with_name("line_counter.cpp")
    built = cpp.build("line_counter", [source], ("-O2", "-shared", "-fPIC"))
    folder = cache.folder("counting")
    shutil.copy(built, folder / "libtsan.so")
    compiler = folder / "counting-g++"
    linked = f"-L{folder} -Wl,-rpath,{folder} -Wl,--no-as-needed"
    compiler.write_text(f'#!/bin/sh\nexec {shlex.quote(toolchain.compiler())} -fsanitize=thread -g1 {linked} "$@"\n')
    compiler.chmod(0o755)
    return {
        **os.environ, "JUMPGATE_CXX": str(compiler), "JUMPGATE_CACHE_DIR": str(folder / "cache"),
        "JUMPGATE_QUICK_BUILDS": "never", "JUMPGATE_CALIBRATE": "never",
    }  # fmt: skip


def _moved(folder: Path, query: int, environment: dict[str, str], work: Path) -> Moved:
    command = [sys.executable, "-m", "bench._lines", str(folder), str(query)]
    subprocess.run(command, env=environment, check=True)  # builds
    found = work / str(query)
    found.mkdir()
    subprocess.run(command, env={**environment, "LINE_COUNTS": str(found)}, check=True)
    moves, most = 0, []
    for file in found.glob("jghost.*"):
        first, _, *lines = file.read_text().splitlines()
        moves += int(first.split()[1])
        for line in lines:
            count, threads, module, offset = line.split()
            most.append((int(count), int(threads), module, offset))
    most.sort(reverse=True)
    return Moved(moves, tuple((c, t, _function(module, offset)) for c, t, module, offset in most[:TOLD]))


def _function(module: str, offset: str) -> str:
    done = subprocess.run(["addr2line", "-Cfise", module, offset], capture_output=True, text=True)
    name, _, place = done.stdout.partition("\n")
    return f"{name} ({place.splitlines()[0]})" if place else module


def main(folder: str, query: str) -> None:
    """Run one query of TPC-H as users do."""
    with jumpgate.connect(offload="always", threads=THREADS) as jg:
        for name in TPCH.tables:
            jg.register(name, path(Path(folder), name, "parquet"))
        jg.sql(TPCH.queries()[int(query)]).to_arrow()
        time.sleep(0.5)  # until the counter has told


if __name__ == "__main__":
    main(*sys.argv[1:])
