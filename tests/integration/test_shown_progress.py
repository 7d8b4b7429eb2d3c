"""Progress of jobs that run: from the instances' counters to what a display is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import col, connect, read
from jumpgate.client.progress import Progress
from jumpgate.client.sql import connect as connect_sql

ROWS = 4_000_000


class Shown:
    def __init__(self) -> None:
        self.seen = threading.Event()
        self.found: list[Progress] = []
        self.dropped = 0

    def show(self, job: str, progress: Progress) -> None:
        self.found.append(progress)
        self.seen.set()

    def drop(self, job: str) -> None:
        self.dropped += 1


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    """In place of the terminal; instances are asked more often than once a second."""
    display = Shown()
    monkeypatch.setattr("jumpgate.client.session.display", lambda: display)
    monkeypatch.setattr("jumpgate.orchestrator.progress.INTERVAL_S", 0.02)
    yield display


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Rows that fit into no socket's buffers: a job that sends all of them runs as long as its client likes."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([0]).take(pa.array([0] * ROWS))}), path)
    return path


def test_a_job_that_is_waited_for_shows_how_far_it_is(file: Path, shown: Shown) -> None:
    with connect() as session:
        flow = read(file).with_columns(**{f"b{n}": col("a") for n in range(8)})
        result = session.run(flow)
        batches = result.batches(watched=True)
        rows = next(batches).num_rows
        assert shown.seen.wait(60)
        rows += sum(batch.num_rows for batch in batches)
        assert rows == ROWS
    first = shown.found[0]
    assert first.stage == first.stages == 1 and first.share is not None and 0 <= first.share < 1
    assert first.rows == pytest.approx(first.share * ROWS) and first.bytes >= 0
    assert shown.dropped == 1


def test_it_is_not_shown_beside_batches_that_somebody_prints(file: Path, shown: Shown) -> None:
    with connect() as session:
        batches = iter(session.run(read(file).with_columns(**{f"b{n}": col("a") for n in range(8)})))
        next(batches)
        before = len(shown.found)
        assert not shown.seen.wait(0.5) or len(shown.found) == before
        assert sum(batch.num_rows for batch in batches) < ROWS and len(shown.found) == before


def test_a_query_shows_it_too_unless_it_is_off(file: Path, shown: Shown) -> None:
    text = "SELECT a, " + ", ".join(f"a + {n} AS b{n}" for n in range(8)) + " FROM t"
    for progress in (True, False):
        shown.seen.clear()
        with connect_sql(offload="always", progress=progress) as connection:
            connection.register("t", str(file))
            batches = connection.sql(text).batches(watched=True)
            next(batches)
            assert shown.seen.wait(60 if progress else 0.5) == progress
            batches.close()  # type: ignore[attr-defined]
