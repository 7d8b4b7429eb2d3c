"""Queries that would never end in the client's process: `close` and the deadline end them, whoever computes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

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


@pytest.mark.parametrize("connection", [{"timeout_ms": None}], indirect=True)
def test_without_a_deadline_a_query_ends_by_itself(connection: Connection) -> None:
    assert connection.sql("SELECT 1 AS a").fetchall() == [(1,)]


#: what runs for ever, one after the other, while the parent sends Ctrl-C
INTERRUPTED = """
import signal
import sys
import jumpgate

signal.signal(signal.SIGINT, signal.default_int_handler)  # a child of a background process ignores it
ENDLESS = "SELECT count(*) AS n FROM range(100000000000)"
with jumpgate.connect(offload="never") as connection:
    works = {
        "rows": lambda: connection.sql(ENDLESS).to_arrow(),
        "shown": lambda: connection.sql(ENDLESS).show(),
        "stored": lambda: connection.sql(f"CREATE TABLE x AS {ENDLESS}"),
        "written": lambda: connection.sql(ENDLESS).write_csv(sys.argv[1]),
    }
    for name, work in works.items():
        try:
            print(name, flush=True)
            work()
        except KeyboardInterrupt:
            pass
    print(connection.sql("SELECT 1").fetchall(), flush=True)
"""


def test_ctrl_c_ends_what_runs_here(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "x.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(iter(child.stdout.readline, "")))  # type: ignore[union-attr]
        reader.start()
        for number in range(1, 5):
            assert wait_until(lambda n=number: len(lines) >= n, 60.0)  # type: ignore[misc]
            time.sleep(0.2)  # it may come before the work begins, or in the middle: both end it
            child.send_signal(signal.SIGINT)
            assert wait_until(lambda n=number: len(lines) > n, 60.0), f"{lines[-1]} does not end"  # type: ignore[misc]
        reader.join()
        assert lines[-1] == "[(1,)]\n" and child.wait() == 0, child.stderr.read()


def test_texts_that_grow_beyond_all_memory_are_errors() -> None:
    """DuckDB holds a vector of long texts outside of its limit; the process goes on."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.little_memory"], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr
