"""Counting rows takes no column that need not be read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.errors import DataError


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_rows_are_counted_although_the_narrowest_column_is_damaged(tmp_path: Path, suffix: str) -> None:
    data = pa.table({"n": pa.array(range(100), pa.int8()), "s": [f"row {i}" for i in range(100)]})
    path = tmp_path / f"t.{suffix}"
    if suffix == "orc":
        orc.write_table(data, path, compression="uncompressed")
    else:
        pq.write_table(data, path, compression="none")
    data_at = path.read_bytes().index(bytes(range(100))) - 1 if suffix == "orc" else len("PAR1")
    with path.open("r+b") as file:  # the run that holds the values, or the page's header
        file.seek(data_at)
        file.write(b"\xff" * 101)
    with jumpgate.connect() as connection:
        connection.register("t", path)
        for offload in ("never", "auto", "always"):
            assert connection.sql("SELECT count(*) AS n FROM t", offload=offload).to_pylist() == [{"n": 100}]
            assert connection.sql("SELECT count(s) AS n FROM t", offload=offload).to_pylist() == [{"n": 100}]
            with pytest.raises(DataError), connection.sql("SELECT sum(n) AS n FROM t", offload=offload) as query:
                query.to_arrow()
            pairs = connection.sql("SELECT count(*) AS n FROM t a, t b WHERE a.s > 'row 5'", offload=offload)
            assert pairs.to_pylist() == [{"n": 5400}]
