"""Queries that would never end in the client's process: `close` and the deadline end them, whoever computes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.stopping import Stop
from jumpgate.errors import Cancelled, TimedOut
from jumpgate.testing.leaks import wait_until

#: DuckDB runs them
TEXTS = {
    "over tables": "SELECT sum(t0.a % 7 + t3.a) AS n FROM t AS t0, t AS t1, t AS t2, t AS t3 "
    "WHERE substr('abc', t1.a, 1) <> 'x'",
    "over a function": "SELECT count(*) AS n FROM range(100000000000)",
    "again and again": "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
}


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return {"t": pa.table({"a": list(range(1000))})}


@pytest.fixture
def connection(request: pytest.FixtureRequest, tables: dict[str, pa.Table]) -> Iterator[Connection]:
    with jumpgate.connect(offload="never", **getattr(request, "param", {})) as found:
        for name, table in tables.items():
            found.register(name, table)
        yield found


def is_ended_by_close(work: Callable[[], object], stop: Stop, close: Callable[[], object]) -> bool:
    """Return whether the work, which is closed while it is waited for, raises that it was."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:
            raised.append(error)

    running = threading.Thread(target=run)
    running.start()
    assert wait_until(lambda: stop._work is not None)
    close()
    running.join()
    return [type(error) for error in raised] == [Cancelled]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_close_ends_what_runs_here(connection: Connection, text: str) -> None:
    query = connection.sql(text)
    assert is_ended_by_close(query.to_arrow, query._stop, query.close)


@pytest.mark.parametrize("connection", [{"timeout_ms": 500}], indirect=True)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_deadline_ends_what_runs_here(connection: Connection, text: str) -> None:
    with connection.sql(text) as query, pytest.raises(TimedOut, match=r"did not end within 0\.5 s"):
        query.to_arrow()
