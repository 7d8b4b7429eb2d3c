"""Siblings share a scan out while they read: who has none left takes half of what another one has, and each row is read
once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate import errors
from jumpgate.client import Dataflow, col, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.service.engine import Engine
from jumpgate.trust import certificates

PAIRS, MANY, FEW = 12, 100_000, 3
TEXTS = {"json": (12, 1 << 20), "csv": (3, 8 << 20)}  # pairs of texts, and the bytes of a range of them


@pytest.fixture
def pair(four_hosts: str) -> Iterator[Session]:
    with Session(four_hosts, parallelism=2) as session:
        yield session


def alternating(folder: Path, format: str) -> tuple[str, int, int]:
    """Files whose parts are small and large by turns, so that one of two instances begins with nearly all rows; with
    the count and the sum of `x`."""
    start = 0
    if format == "parquet":
        with pq.ParquetWriter(folder / "all.parquet", pa.schema({"k": pa.int64(), "x": pa.int64()})) as writer:
            for rows in (FEW, MANY) * PAIRS:
                numbers = list(range(start, start + rows))
                writer.write_table(pa.table({"k": [n % 7 for n in numbers], "x": numbers}))
                start += rows
        return f"{folder}/*.parquet", start, sum(range(start))
    line = '{"k": 1, "x": %d}\n' if format == "json" else "1,%d\n"
    total, pad = 0, 10**9
    pairs, range_bytes = TEXTS[format]
    for part in range(2 * pairs):
        width = len(line % pad)
        rows = FEW if part % 2 == 0 else (range_bytes - 64) // width
        numbers = range(pad + start, pad + start + rows)
        head = "" if format == "json" else "k,x\n"
        (folder / f"{part:02}.{format}").write_text(head + "".join(line % n for n in numbers))
        start, total = start + rows, total + sum(numbers)
    return f"{folder}/*.{format}", start, total


def counted(session: Session, flow: Dataflow) -> tuple[Any, list[dict[str, int]]]:
    """The rows, and what each instance counted of its file."""
    found = session.run(flow).to_pylist()
    record = session.describe(session.jobs()[0].id).record
    assert record is not None
    readers = [c["sources"][0] for _, c in sorted(record["counters"].items()) if "shares" in c["sources"][0]]
    return found, [r for r in readers if r["shares"]]


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("format", ["parquet", "json", "csv", "parquet, encrypted"])
def test_who_has_none_left_takes_of_the_other(
    pair: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    format, _, encrypted = format.partition(", ")
    if encrypted:
        monkeypatch.setattr(Engine, "_certificate", lambda _: certificates.for_job())
    files, rows, total = alternating(tmp_path, format)
    flow = read(files).aggregate(n=count(), s=sum_("x"))
    taken: list[int] = []
    for _ in range(5):  # a busy machine may start one of them when the other has done all
        found, readers = counted(pair, flow)
        assert found == [{"n": rows, "s": total}]
        assert sum(r["rows"] for r in readers) == rows
        parts = 2 * (PAIRS if format == "parquet" else TEXTS[format][0])
        assert sum(r["shares"] for r in readers) == parts
        taken += [r["stolen_shares"] for r in readers if r["stolen_shares"]]
        if taken:
            break
    assert taken
    assert "of them taken over" in pair.explain_job(pair.jobs()[0].id)


def test_one_instance_asks_nobody(four_hosts: str, tmp_path: Path) -> None:
    files, rows, _ = alternating(tmp_path, "parquet")
    with Session(four_hosts, parallelism=1) as alone:
        found, (reader,) = counted(alone, read(files).aggregate(n=count()))
    assert found == [{"n": rows}]
    assert (reader["rows"], reader["stolen_shares"]) == (rows, 0)


def test_parts_without_partners_are_skipped_by_whoever_gets_them(pair: Session, tmp_path: Path) -> None:
    """Bounds from joins are found while the query runs; the parts keep their numbers."""
    files, rows, _ = alternating(tmp_path, "parquet")
    (tmp_path / "few").mkdir()
    pq.write_table(pa.table({"y": [rows - 2, rows - 1]}), tmp_path / "few" / "keys.parquet")
    flow = read(files).join(read(f"{tmp_path}/few/keys.parquet"), left_on="x", right_on="y")
    found = pair.run(flow.select("x").sort("x")).to_pylist()
    assert found == [{"x": rows - 2}, {"x": rows - 1}]
    record = pair.describe(pair.jobs()[0].id).record
    assert record is not None
    assert sum(s["pruned_bytes"] for c in record["counters"].values() for s in c["sources"]) > 0


def test_answers_are_duckdbs(cluster: Session, tmp_path: Path) -> None:
    files, _, _ = alternating(tmp_path, "parquet")
    flow = read(files).filter(col("x") % 3 == 0).aggregate(n=count(), s=sum_("x"), by="k").sort("k")
    right = duckdb.sql(f"SELECT k, count(*), sum(x) FROM '{files}' WHERE x % 3 = 0 GROUP BY k ORDER BY k").fetchall()
    assert [tuple(r.values()) for r in cluster.run(flow).to_pylist()] == right


def test_a_sibling_that_dies_fails_the_job_soon(pair: Session, tmp_path: Path) -> None:
    """Whoever asks it for shares does not wait for an answer."""
    files, _, _ = alternating(tmp_path, "parquet")
    wide = read(files).join(read(files).select(y=col("x"), j=col("k")), left_on="k", right_on="j")
    result = pair.run(wide.aggregate(s=sum_("y")))

    killed: list[float] = []

    def kill() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            record = pair.describe(result.job).record
            pids = [c["pid"] for c in record["counters"].values()] if record else []
            if pids:
                os.kill(pids[-1], signal.SIGKILL)
                killed.append(time.monotonic())
                return
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(errors.JumpgateError) as caught:
        result.to_arrow()
    killer.join()
    assert caught.value.code == "instance_failed", caught.value
    assert time.monotonic() - killed[0] < 20  # nobody waited for the 30 s of an edge
