"""First runs of TPC-H's dataflows by a service that is up, whose programs are not built.

    python -m bench._first_dataflows auto|interpreted|built|duckdb DIRECTORY

`auto` runs them elsewhere while it builds their programs, `interpreted` has no compiler, `built` waits for programs,
`duckdb` runs the texts alone. Each line of standard input asks for the next query, whose number and seconds are printed
once nothing runs any more. A query that reads what its text holds is left out: that is no file before it runs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.codegen import toolchain
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.operators import Read
from jumpgate.testing.leaks import wait_until
from jumpgate.tpch import TPCH

MODES = AUTO, INTERPRETED, BUILT, PLAIN = ("auto", "interpreted", "built", "duckdb")
#: until the next query: a process that waits has started again
PAUSE_S, BUILD_S_MAX = 1.5, 120.0


def main() -> None:
    mode, directory = sys.argv[1], Path(sys.argv[2])
    os.environ["JUMPGATE_FIRST_RUNS"] = "build" if mode == BUILT else ""
    if mode == INTERPRETED:
        os.environ["JUMPGATE_RUNTIME"] = str(toolchain.runtime().library.parent)
        os.environ["JUMPGATE_CXX"] = "no-compiler"
        toolchain.compiler.cache_clear()
    found = plain(directory) if mode == PLAIN else runs(mode, directory)
    while sys.stdin.readline() and (one := next(found, None)):
        print(*one, flush=True)


def runs(mode: str, directory: Path) -> Iterator[tuple[int, float]]:
    """Yield the seconds of each dataflow's first run."""
    from jumpgate.client.session import Session
    from jumpgate.hosts.config import local_hosts
    from jumpgate.service import embedded

    found = dict(dataflows(directory))
    service = embedded.start(local_hosts(1))
    with Session(service.address) as session:
        some = next(o for o in found[6].root.walk() if isinstance(o, Read))
        session.run(Dataflow(some).limit(1), DUCKDB).to_arrow()  # starts the agent, and a process that waits
        time.sleep(PAUSE_S)
        for number, flow in found.items():
            seconds = timed(lambda flow=flow: session.run(flow, DUCKDB).to_arrow())  # type: ignore[misc]
            if mode == AUTO:
                wait_until(lambda flow=flow: session.prepare(flow, DUCKDB, patience_s=BUILD_S_MAX) == 0, BUILD_S_MAX)  # type: ignore[misc]
            time.sleep(PAUSE_S)
            yield number, seconds
    service.close()


def plain(directory: Path) -> Iterator[tuple[int, float]]:
    """Yield the seconds of each text in DuckDB alone."""
    from jumpgate.tpcds import compare

    database = compare.duckdb_over(directory, "parquet", threads=len(os.sched_getaffinity(0)), suite=TPCH)
    for number, _ in dataflows(directory):
        text = TPCH.queries()[number]
        yield number, timed(lambda text=text: database.execute(text).to_arrow_table())  # type: ignore[misc]


def dataflows(directory: Path) -> Iterator[tuple[int, Dataflow]]:
    """Yield the queries that are one dataflow over files."""
    import jumpgate
    from jumpgate.study import suites

    with jumpgate.connect() as connection:
        suites.register(connection, TPCH, directory, "parquet")
        for number, text in TPCH.queries().items():
            cuts = connection.sql(text, offload="always").split.cuts
            files = {file for cut in cuts for o in cut.operator.walk() if isinstance(o, Read) for file in o.files}
            if len(cuts) == 1 and all(Path(file).is_relative_to(directory) for file in files):
                yield number, Dataflow(cuts[0].operator)


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
