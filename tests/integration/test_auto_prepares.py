"""offload = auto does not wait for programs and hosts: DuckDB answers while a faster job is prepared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.client.duckdb import decide
from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.sql import calibrate
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.experience import Experience
from jumpgate.codegen import toolchain
from jumpgate.dataflow.builder import Dataflow
from jumpgate.service import calibration
from jumpgate.testing.leaks import nothing_left, wait_until

ROWS = 2000
TEXT = "SELECT k, sum(v * 3 + 17) AS s, min(v) AS m FROM t GROUP BY k ORDER BY k"
ANSWER = [{"k": 1, "s": 3 * 999000 + 17000, "m": 0}, {"k": 2, "s": 3 * 1000000 + 17000, "m": 1}]


@pytest.fixture
def table(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """A job that is prepared would be faster, and one that is not would not, however long DuckDB took here."""
    monkeypatch.setattr(decide, "QUICK_S", 0.0)
    monkeypatch.setattr(decide, "STARTING_S", 0.0)
    monkeypatch.setattr(Experience, "seen", lambda self, text: {})
    monkeypatch.setattr(Experience, "factor", lambda self, kind: 1.0)
    monkeypatch.setattr(calibrate, "load", lambda: {**calibration.assumed(), "job": 0.03})
    return pa.table({"k": [1, 2] * (ROWS // 2), "v": range(ROWS)})


@pytest.fixture
def connection(grpc_is_up: None, table: pa.Table, tmp_path: Path) -> Iterator[Connection]:
    pq.write_table(table, tmp_path / "t.parquet")
    with nothing_left(), jumpgate.connect() as connection:
        connection.register("t", tmp_path / "t.parquet")
        yield connection


def begins_at_once(connection: Connection) -> bool:
    (cut,) = connection.sql(TEXT, offload="always").split.cuts
    return connection.session.prepare(Dataflow(cut.operator), DUCKDB, patience_s=60.0) == 0.0


def test_duckdb_answers_until_the_job_can_begin_at_once(connection: Connection) -> None:
    first = connection.sql(TEXT)
    assert "its programs are built" in first.split.kept[0].reason
    assert first.to_pylist() == ANSWER and not first.jobs
    assert wait_until(lambda: begins_at_once(connection), 60.0)
    second = connection.sql(TEXT)
    assert second.split.offloaded == second.split.operators
    assert second.to_pylist() == ANSWER and len(second.jobs) == 1


def test_a_connection_may_be_closed_while_a_job_is_prepared(connection: Connection) -> None:
    query = connection.sql(TEXT)
    assert "its programs are built" in query.split.kept[0].reason
    service = connection.session._service
    assert service is not None and (service.engine.preparing._begun or service.engine.agents.own)
    assert query.to_pylist() == ANSWER


def test_a_connection_may_be_closed_while_the_runtime_is_built(
    grpc_is_up: None, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow-g++"
    hangs = f"touch {tmp_path}/begun; sleep 600"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *jgruntime*) {hangs};; esac\nexec {toolchain.compiler()} "$@"\n')
    slow.chmod(0o755)
    pq.write_table(table, tmp_path / "t.parquet")
    monkeypatch.setenv("JUMPGATE_CXX", str(slow))
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "empty"))
    with nothing_left(), jumpgate.connect() as connection:
        connection.register("t", tmp_path / "t.parquet")
        assert connection.sql(TEXT).to_pylist() == ANSWER
        assert wait_until((tmp_path / "begun").exists, 60.0)
        assert "its programs are built" in connection.sql(TEXT).split.kept[0].reason


def test_meanwhile_duckdb_has_the_rows_that_only_a_job_reads(connection: Connection, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("".join(f'{{"k": {1 + i % 2}, "v": {i}}}\n' for i in range(ROWS)))
    connection.register("t", tmp_path / "t.json", schema={"k": "int64", "v": "int64"})
    query = connection.sql(TEXT)
    assert "its programs are built" in query.split.kept[0].reason
    assert query.to_pylist() == ANSWER and len(query.jobs) == 1


def test_nothing_is_begun_for_who_can_wait(connection: Connection) -> None:
    (cut,) = connection.sql(TEXT, offload="always").split.cuts
    for _ in range(2):
        assert connection.session.prepare(Dataflow(cut.operator), DUCKDB, patience_s=60.0) > 0.2
    service = connection.session._service
    assert service is not None and not service.engine.agents.own
