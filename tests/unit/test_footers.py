"""Footers of many files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.converters import footers
from jumpgate.errors import FileUnreadable


def test_footers_of_objects_are_read_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), file)
    together = threading.Barrier(footers.CONNECTIONS, timeout=60)  # breaks if one waits for another to be read

    def opened(path: str) -> IO[bytes]:
        together.wait()
        if path.endswith("/5"):
            raise FileUnreadable("there is none", file=path)
        return file.open("rb")

    monkeypatch.setattr(footers, "opened", opened)
    monkeypatch.setattr(footers, "version", lambda path: (1, 1))
    names = [f"s3://side-by-side/{number}" for number in range(footers.CONNECTIONS)]
    with pytest.raises(FileUnreadable, match="there is none"):
        footers.parquet_schema(names)
    found = footers.parquet_schema([name for name in names if not name.endswith("/5")])
    assert found.names == ("a",)
