"""Footers that a process keeps for its next pipeline or job are those of the file as it is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import jumpgate

#: a file that was changed more recently has no footer that is kept
SETTLED_S = 2.2
#: so that some run has the process of one before it
RUNS = 5


def write(file: Path, first: int) -> None:
    """Write a thousand integers, always in as many bytes."""
    table = pa.table({"a": pa.array(range(first, first + 1000), pa.int64())})
    content = pa.BufferOutputStream()
    pq.write_table(table, content, use_dictionary=False, compression="none", row_group_size=500)
    with file.open("r+b" if file.exists() else "wb") as out:  # in place, so that it stays the same file
        out.write(content.getvalue())


def test_a_file_that_was_written_anew_and_has_its_old_time_is_read_anew(one_host: str, tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    write(file, 0)
    before = file.stat()
    time.sleep(SETTLED_S)
    with jumpgate.connect(one_host, offload="always") as connection:
        connection.register("t", file)
        for first in (0, 7000):
            if first:
                write(file, first)
                os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
                assert (file.stat().st_size, file.stat().st_ino) == (before.st_size, before.st_ino)
            for text, wanted in {
                "SELECT min(a) AS x, max(a) AS y, count(*) AS n FROM t": (first, first + 999, 1000),
                f"SELECT min(a) AS x, max(a) AS y, count(*) AS n FROM t WHERE a < {first + 10}": (first, first + 9, 10),
            }.items():
                for _ in range(RUNS):
                    (row,) = connection.sql(text).to_pylist()
                    assert tuple(row.values()) == wanted


def test_a_file_that_two_pipelines_read_is_right_in_both(one_host: str, tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", 0)
    time.sleep(SETTLED_S)
    with jumpgate.connect(one_host, offload="always") as connection:
        connection.register("t", tmp_path / "t.parquet")
        text = "SELECT count(*) AS n, sum(x.a) AS s FROM t AS x JOIN t AS y ON x.a = y.a + 1 WHERE y.a >= 900"
        for _ in range(RUNS):
            assert connection.sql(text).to_pylist() == [{"n": 99, "s": sum(range(901, 1000))}]
