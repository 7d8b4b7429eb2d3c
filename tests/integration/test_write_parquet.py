"""Results are written whole or not at all, here and in stores, and Jumpgate reads the same rows again."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.client import read
from jumpgate.client.session import Session
from jumpgate.client.writing import write_parquet
from jumpgate.errors import FileUnreadable, Forbidden, InvalidDataflow
from jumpgate.stores import uploads
from tests.support.object_store import KEY, SECRET, Store, credentials
from tests.support.upload_store import UploadStore

DAY = datetime.date(2024, 1, 1)
TABLE = pa.table({
    "a": pa.array(range(6), pa.int64()),
    "text": ["a b", "x=1/%", "ü", None, "a b", ""],
    "n": pa.array([1, None, -2, 1, 1, 1], pa.int32()),
    "day": [DAY, DAY, None, DAY, DAY, DAY],
})  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[UploadStore]:
    (tmp_path / "bucket").mkdir()
    found = UploadStore(tmp_path)
    with credentials(found.endpoint):
        yield found
    found.close()


def written(target: str | Path, table: pa.Table = TABLE, **how: Any) -> int:
    return write_parquet(table.to_batches(2), table.schema, str(target), **how)


def failing() -> Iterator[pa.RecordBatch]:
    yield from TABLE.to_batches(2)[:2]
    raise ZeroDivisionError("in the middle")


def rows_of(local: Session, path: str) -> list[dict[str, Any]]:
    return local.run(read(path).select(*TABLE.column_names).sort("a")).to_pylist()


@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
def test_a_file_replaces_another(local: Session, tmp_path: Path, compression: str) -> None:
    target = tmp_path / "t.parquet"
    target.write_text("old")
    assert written(target, compression=compression) == 6
    assert rows_of(local, str(target)) == TABLE.to_pylist()
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]
    assert written(tmp_path / "none.parquet", TABLE.slice(0, 0)) == 0
    assert pq.read_table(tmp_path / "none.parquet").schema.equals(TABLE.schema)


def test_folders_by_values(local: Session, tmp_path: Path) -> None:
    assert written(tmp_path / "t", partition_by=["n", "text", "day"]) == 6
    assert rows_of(local, str(tmp_path / "t")) == TABLE.to_pylist()
    (tmp_path / "empty").mkdir()
    assert written(tmp_path / "empty", partition_by=["day"]) == 6
    assert written(tmp_path / "none", TABLE.slice(0, 0), partition_by=["day"]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["empty", "none", "t"]


@pytest.mark.parametrize("partition_by", [[], ["n"]])
def test_a_failure_leaves_nothing(tmp_path: Path, partition_by: list[str]) -> None:
    with pytest.raises(ZeroDivisionError, match="in the middle"):
        write_parquet(failing(), TABLE.schema, str(tmp_path / "t"), partition_by=partition_by)
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileUnreadable, match="cannot write '.*': "):
        written(tmp_path / "t", compression="rar", partition_by=partition_by)
    assert not list(tmp_path.iterdir())


def test_targets_and_columns_are_refused_by_name(tmp_path: Path) -> None:
    written(tmp_path / "t", partition_by=["n"])
    times = pa.table({"a": [1], "t": pa.array([0], pa.timestamp("us"))})
    null = pa.table({"a": [1], "t": ["__HIVE_DEFAULT_PARTITION__"]})
    (tmp_path / "file").touch()
    for target, message, table, by in (
        ("t", "is a folder with files; remove it", TABLE, ["n"]), ("t", "is a folder; remove it", TABLE, []),
        ("file", "is a file; remove it", TABLE, ["n"]), ("no/t", "there is no folder '.*no'", TABLE, []),
        ("u", "names 'b', which must be one column of a, text", TABLE, ["b"]),
        ("u", "names 'n', which must be one column", TABLE, ["n", "n"]),
        ("u", "names all columns", times.select(["a"]), ["a"]), ("u", r"'t' is timestamp\[us\]", times, ["t"]),
        ("u", "'t' has the text '__HIVE", null, ["t"]),
    ):  # fmt: skip
        with pytest.raises(InvalidDataflow, match=message):
            written(tmp_path / target, table, partition_by=by)
    for target in ("http://127.0.0.1/t", "s3://bucket", "s3://bucket/t/"):
        with pytest.raises(InvalidDataflow, match="write: "):
            written(target)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "t"]


def test_objects(local: Session, store: UploadStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", 500)  # several parts
    assert written("s3://bucket/t.parquet") == 6
    assert written("s3a://bucket/folder/t", partition_by=["n", "day"]) == 6
    assert len(store.objects) == 4 and not store.uploads
    with pytest.raises(InvalidDataflow, match="'s3://bucket/folder/t/' has objects"):
        written("s3://bucket/folder/t", partition_by=["n"])
    served = Store(store.folder, access_key=KEY, secret_key=SECRET)
    with credentials(served.endpoint):
        assert rows_of(local, "s3://bucket/t.parquet") == TABLE.to_pylist()
        assert rows_of(local, "s3://bucket/folder/t/") == TABLE.to_pylist()
    served.close()


def test_queries_write_objects(store: UploadStore) -> None:
    with jumpgate.connect(offload="never") as connection:
        query = connection.sql("SELECT i, i % 2 AS k FROM range(10) t(i)")
        query.write_parquet("s3://bucket/q.parquet", compression="zstd")
        query.write_parquet("s3://bucket/q", partition_by=["k"])
        folders = [f"bucket/q/k={k}/part-0.parquet" for k in range(2)]
        assert sorted(store.objects) == ["bucket/q.parquet", *folders]
        assert pq.read_table(store.folder / "bucket" / "q.parquet")["i"].to_pylist() == [*range(10)]
        with pytest.raises(InvalidDataflow, match="is in a store, where there is no row_group_size"):
            query.write_parquet("s3://bucket/r", row_group_size=5)


def test_failures_leave_no_object_and_no_upload(store: UploadStore) -> None:
    with pytest.raises(ZeroDivisionError):
        write_parquet(failing(), TABLE.schema, "s3://bucket/t", partition_by=["n"])
    assert not store.objects and not store.uploads
    for method, at in (("PUT", 2), ("POST", 2), ("POST", 4), ("POST", 6)):  # a part, a start, a first and last end
        seen: list[str] = []

        def refuse(asked: str, name: str, seen: list[str] = seen, method: str = method, at: int = at) -> int:
            seen.append(asked)
            return 403 if asked == method and seen.count(method) == at else 0

        store.before = refuse
        with pytest.raises(Forbidden, match="the store refuses"):
            written("s3://bucket/t", partition_by=["n"])
        assert (method, at, store.objects, store.uploads) == (method, at, [], {})
