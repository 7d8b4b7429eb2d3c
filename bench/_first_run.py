"""One TPC-DS text in a process of its own: how long its first run takes, here or in DuckDB by itself.

    python -m bench._first_run jumpgate|duckdb DIRECTORY QUERY

The tables are registered before; the seconds are what is printed.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from jumpgate.tpcds.suite import TPCDS

DUCKDB, JUMPGATE = "duckdb", "jumpgate"


def main() -> None:
    engine, directory, number = sys.argv[1:]
    text = TPCDS.queries()[int(number)]
    if engine == DUCKDB:
        from jumpgate.tpcds import compare

        database = compare.duckdb_over(Path(directory), "parquet", threads=len(os.sched_getaffinity(0)), suite=TPCDS)
        start = time.perf_counter()
        database.execute(text).to_arrow_table()
        print(time.perf_counter() - start)
        return
    import jumpgate
    from jumpgate.study import suites

    with jumpgate.connect() as connection:
        suites.register(connection, TPCDS, Path(directory), "parquet")
        start = time.perf_counter()
        connection.sql(text).to_arrow()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
