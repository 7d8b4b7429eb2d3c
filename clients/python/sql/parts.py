"""Runs the cuts of a query as jobs, whose results are tables for the text above them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb.above import cut_name
from jumpgate.client.duckdb.passed import cut_columns
from jumpgate.client.duckdb.sources import quoted
from jumpgate.client.result import Result
from jumpgate.client.spool import Spool
from jumpgate.client.sql.plan import Cut
from jumpgate.codegen import cache

#: jobs of one query that run at the same time
JOBS_AT_ONCE = 4


@contextmanager
def tables_of(
    cuts: Sequence[Cut], database: duckdb.DuckDBPyConnection, run: Callable[[Cut], Result], cancel: Callable[[], None]
) -> Iterator[None]:
    """Make the results of the cuts tables of the database, which are gone afterwards. run: starts a job; cancel: ends
    all of them. Raises what ended a job."""
    with ExitStack() as stack:
        spools = [stack.enter_context(Spool(cache.folder("spool"))) for _ in cuts]
        with ThreadPoolExecutor(JOBS_AT_ONCE, "jumpgate-cuts") as pool:
            filled = [pool.submit(_fill, run, cut, spool) for cut, spool in zip(cuts, spools, strict=True)]
            try:
                for future in filled:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                cancel()
                raise
        for number, (cut, spool) in enumerate(zip(cuts, spools, strict=True)):
            rows = f"jumpgate rows {number}"
            with pa.memory_map(spool.path) as source:
                database.register(rows, pa.ipc.open_file(source).read_all())
            stack.callback(database.unregister, rows)
            view = quoted(cut_name(number))
            selected = f"SELECT {cut_columns(cut.types)} FROM {quoted(rows)}"
            database.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {selected}")
            stack.callback(database.execute, f"DROP VIEW {view}")
        yield


def _fill(run: Callable[[Cut], Result], cut: Cut, spool: Spool) -> None:
    result = run(cut)
    schema = pa.schema([(f"c{i}", type) for i, type in enumerate(result.schema.types)])
    batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in result.batches())
    spool.fill(schema, batches)
