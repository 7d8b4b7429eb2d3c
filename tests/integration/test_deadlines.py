"""Whatever is stopped or slow, a query with a deadline ends; so does a service that is told to, and clients wait."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import Dataflow, col, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.codegen import toolchain
from jumpgate.errors import Cancelled, Draining, JumpgateError, TimedOut, Unreachable
from jumpgate.testing.leaks import wait_until
from tests.support.served import serving

#: for a query to end beyond its deadline
GRACE_S = 2.0
#: of a query that a compiler holds up
DEADLINE_MS = 6000
#: a compiler that never ends where there is a file `hang`, but says its version
SLOW_COMPILER = """#!/bin/sh
case "$*" in *-shared*|*/build/*) test -e {folder}/hang && echo $$ >> {folder}/pids && exec sleep 1000;; esac
exec g++ "$@"
"""


def table(folder: Path, rows: int = 1000) -> Dataflow:
    file = folder / "t.parquet"
    pq.write_table(pa.table({"x": list(range(rows))}), file)
    return read(str(file))


@pytest.fixture
def slow_compiler(tmp_path: Path) -> tuple[Path, Path]:
    """A compiler that hangs while there is a file `hang`, and the file with the processes that it was."""
    compiler = tmp_path / "slow-g++"
    compiler.write_text(SLOW_COMPILER.format(folder=tmp_path))
    compiler.chmod(0o755)
    return compiler, tmp_path / "pids"


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_compiler_that_hangs_ends_with_the_deadline(tmp_path: Path, slow_compiler: tuple[Path, Path]) -> None:
    runtime = toolchain.runtime()  # which is built already
    compiler, pids = slow_compiler
    environment = {"JUMPGATE_CXX": str(compiler), "JUMPGATE_RUNTIME": str(runtime.host_program.parent)}
    with serving(tmp_path, **environment) as served, Session(served.address, timeout_ms=DEADLINE_MS) as session:
        rows = table(tmp_path)
        with Session(served.address) as patient:
            assert patient.run(rows.aggregate(n=count())).to_pylist() == [{"n": 1000}]
        (tmp_path / "hang").touch()
        flow = rows.filter(col("x") % 7919 == 13).aggregate(n=count(), odd=sum_("x"))
        start = time.monotonic()
        with pytest.raises(TimedOut):
            session.run(flow).to_arrow()
        assert time.monotonic() - start < DEADLINE_MS / 1000 + GRACE_S
        assert wait_until(pids.exists)
        compilers = [int(pid) for pid in pids.read_text().split()]
        assert wait_until(lambda: all(map(is_gone, compilers)))


def test_a_stopped_service_ends_no_query_late(tmp_path: Path) -> None:
    with serving(tmp_path) as served, Session(served.address, timeout_ms=2000) as session:
        with Session(served.address) as patient:
            assert patient.run(table(tmp_path).aggregate(n=count())).to_pylist() == [{"n": 1000}]
        served.process.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        try:
            with pytest.raises((TimedOut, Unreachable)):
                session.run(table(tmp_path).aggregate(n=count())).to_arrow()
            assert time.monotonic() - start < 2 + GRACE_S
        finally:
            served.process.send_signal(signal.SIGCONT)


def test_a_service_that_is_ended_while_its_runtime_is_built_ends_soon(
    tmp_path: Path, slow_compiler: tuple[Path, Path]
) -> None:
    compiler, pids = slow_compiler
    environment = {"JUMPGATE_CXX": str(compiler), "JUMPGATE_CACHE_DIR": str(tmp_path / "cache")}
    with serving(tmp_path, "--drain-s", "0", **environment) as served, Session(served.address) as session:
        (tmp_path / "hang").touch()

        def ask() -> None:
            with contextlib.suppress(JumpgateError):
                session.run(table(tmp_path).aggregate(n=count())).to_arrow()

        asking = threading.Thread(target=ask)
        asking.start()
        assert wait_until(pids.exists, 30)
        start = time.monotonic()
        served.process.terminate()
        assert served.process.wait(20) == 0
        assert time.monotonic() - start < 10
        asking.join()
        compilers = [int(pid) for pid in pids.read_text().split()]
        assert wait_until(lambda: all(map(is_gone, compilers)))


def test_a_service_that_drains_refuses_new_jobs_and_ends_those_that_run(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain-s", "60") as served, Session(served.address) as session:
        small = table(tmp_path).aggregate(n=count())
        (tmp_path / "large").mkdir()
        running = session.run(table(tmp_path / "large", 3_000_000))
        batches = iter(running)
        rows = next(batches).num_rows  # it waits for this client from now on
        served.process.terminate()

        def refuses() -> bool:
            try:
                session.run(small).to_arrow()
            except Draining:
                return True
            return False

        assert wait_until(refuses)
        assert rows + sum(batch.num_rows for batch in batches) == 3_000_000
        assert served.process.wait(20) == 0


def test_a_service_logs_a_line_for_each_job(tmp_path: Path) -> None:
    """Without its text, or data."""
    rows = table(tmp_path)
    with serving(tmp_path) as served, Session(served.address) as session:
        answered = session.run(rows.limit(3), text="SELECT secret")
        assert len(answered.to_pylist()) == 3
        job = answered.job
        fails = session.run(rows.select(y=col("x") / 0))
        with pytest.raises(JumpgateError):
            fails.to_arrow()
        log = tmp_path / "service.log"
        assert wait_until(lambda: fails.job in log.read_text())
        lines = {line.split()[2]: line for line in log.read_text().splitlines() if "job=" in line}
        assert "secret" not in log.read_text()
    done, failed = lines[f"job={job}"], lines[f"job={fails.job}"]
    assert re.fullmatch(
        rf"\S+Z jumpgate: job={job} state=done client= peer=\S+ text=\w{{12}} rows=3 seconds=\d+\.\d{{3}} error=", done
    )
    assert failed.endswith("error=division_by_zero") and " state=failed " in failed


def test_a_restarted_service_is_found_within_a_second(tmp_path: Path) -> None:
    flow = table(tmp_path).aggregate(n=count())
    with serving(tmp_path) as first:
        port = int(first.address.rpartition(":")[2])
        with Session(first.address, retries=1) as session:
            assert session.run(flow).to_pylist() == [{"n": 1000}]
            first.stop()
            for _ in range(20):  # while it is away, a channel that was asked often waits longer and longer
                with pytest.raises(Unreachable):
                    session.jobs()
                time.sleep(0.1)
            with serving(tmp_path, port=port):
                start = time.monotonic()
                assert wait_until(lambda: _answers(session), 10)
                assert time.monotonic() - start < 1.0


def _answers(session: Session) -> bool:
    try:
        session.jobs()
    except Unreachable:
        return False
    return True


@pytest.mark.nightly(like="tests/integration/test_deadlines.py::test_a_restarted_service_is_found_within_a_second")
def test_retries_cover_a_restart(tmp_path: Path) -> None:
    flow = table(tmp_path).aggregate(n=count())
    with serving(tmp_path) as first:
        port = int(first.address.rpartition(":")[2])
        with Session(first.address, retries=1) as session:
            assert session.run(flow).to_pylist() == [{"n": 1000}]
            first.stop()
            answers: list[object] = []

            def ask() -> None:
                try:
                    answers.append(session.run(flow).to_pylist())
                except (JumpgateError, Cancelled) as error:
                    answers.append(error)

            asking = threading.Thread(target=ask)
            asking.start()
            with serving(tmp_path, port=port):
                asking.join(30)
                assert answers == [[{"n": 1000}]]
