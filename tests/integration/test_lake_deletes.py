"""Deleted rows of Delta Lake and Iceberg are left out on every road, as their own libraries do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import FileFormat
from pyiceberg.typedef import Record
from pyiceberg.types import StringType

import jumpgate
from jumpgate.client import Dataflow, col, count, max_, min_, read, read_delta, read_iceberg
from jumpgate.client.session import Session
from jumpgate.errors import FileUnreadable, InvalidDataflow, MalformedData
from jumpgate.flight import lakes
from jumpgate.lakes import deletes
from tests.support.deletes import delete_from_delta, delete_from_iceberg, positions_file, puffin_file
from tests.support.object_store import KEY, SECRET, Store, credentials

ROWS = 3_000
TABLE = pa.table({"a": range(ROWS), "p": [row % 3 for row in range(ROWS)], "s": [f"{row % 7}" for row in range(ROWS)]})
#: all rows of one file, many of another, none of the third
LOST = {"p=0": range(1_000), "p=1": [0, *range(2, 999, 5), 999]}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Delta tables: `parted`, and `odd` of one file in a folder of a strange name."""
    found = tmp_path_factory.mktemp("deletes")
    write_deltalake(found / "b/parted", TABLE, partition_by=["p"])
    delete_from_delta(found / "b/parted", LOST)
    write_deltalake(found / "b/a b ü/odd", TABLE)
    delete_from_delta(found / "b/a b ü/odd", {"": [5, ROWS - 1]})
    return found


def delta_rows(folder: Path) -> list[dict[str, Any]]:
    query = QueryBuilder().register("t", DeltaTable(folder))
    return pa.table(query.execute("select a, p, s from t order by a")).to_pylist()


def check(local: Session, flow: Dataflow, expected: list[dict[str, Any]]) -> None:
    """Compare rows, counts and bounds, of all and of some, on all roads."""
    keys = [row["a"] for row in expected]
    some = [row for row in expected if row["p"] == 1 and row["a"] > 100]
    flow = flow.select("a", "p", "s")
    assert local.run(flow.sort("a")).to_pylist() == expected
    numbers = flow.aggregate(n=count(), low=min_("a"), high=max_("a"))
    assert local.run(numbers).to_pylist() == [{"n": len(keys), "low": keys[0], "high": keys[-1]}]
    assert local.run(flow.filter((col("p") == 1) & (col("a") > 100)).sort("a")).to_pylist() == some
    with jumpgate.connect() as connection:
        connection.register("t", flow)
        for offload in ("always", "auto", "never"):
            found = connection.sql("select * from t order by a", offload=offload).to_arrow().to_pylist()
            assert found == expected, offload
            text = "select count(*) n, count(s) s, min(a) low, max(a) high from t"
            found = connection.sql(text, offload=offload).to_arrow().to_pylist()
            assert found == [{"n": len(keys), "s": len(keys), "low": keys[0], "high": keys[-1]}], offload
            found = connection.sql("select a from t where p = 1 and a > 100 order by a", offload=offload).to_arrow()
            assert found.column("a").to_pylist() == [row["a"] for row in some], offload


def test_deletion_vectors_of_delta(local: Session, bucket: Path) -> None:
    for name in ("parted", "a b ü/odd"):
        folder = bucket / "b" / name
        expected = delta_rows(folder)
        assert len(expected) == ROWS - {"parted": 1_000 + 202}.get(name, 2)
        check(local, read(str(folder)), expected)
        with jumpgate.connect() as connection:
            connection.register("t", str(folder))  # as the files themselves, which DuckDB must not open
            found = connection.sql("select a, p, s from t order by a", offload="never").to_arrow()
            assert found.to_pylist() == expected


def test_a_table_in_a_store(local: Session, bucket: Path) -> None:
    store = Store(bucket, access_key=KEY, secret_key=SECRET)
    with credentials(store.endpoint):
        for name in ("parted", "a b ü/odd"):
            assert local.run(read(f"s3://b/{name}").select("a", "p", "s").sort("a")).to_pylist() == delta_rows(
                bucket / "b" / name
            )
    store.close()


def test_flight_sql_leaves_deleted_rows_out(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("parted", "a b ü/odd"):
        _, text = lakes.find("delta", str(bucket / "b" / name))
        with duckdb.connect() as connection:
            found = connection.sql(f"SELECT a, p, s FROM ({text}) ORDER BY a").to_arrow_table().to_pylist()
        assert found == delta_rows(bucket / "b" / name)
    lakes._snapshot.cache_clear()
    monkeypatch.setattr(lakes, "RUNS_MAX", 1)
    with pytest.raises(InvalidDataflow, match="have lost more than 1 runs of rows"):
        lakes.find("delta", str(bucket / "b/parted"))


def test_damaged_or_large_deletes_are_refused(bucket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_deltalake(tmp_path / "beyond", TABLE)
    delete_from_delta(tmp_path / "beyond", {"": [1, ROWS]})
    with pytest.raises(FileUnreadable, match=f"Delta table '.*beyond'.* mask length {ROWS + 1} exceeds"):
        read(str(tmp_path / "beyond"))
    monkeypatch.setattr(deletes, "TEXTS_BYTES_MAX", 10)
    with pytest.raises(InvalidDataflow, match="deleted more rows than a plan holds"):
        read(str(bucket / "b/parted"))
    masks = pa.table({"filepath": ["file:///f"], "selection_vector": [[True, False]]})
    monkeypatch.setattr(DeltaTable, "deletion_vectors", lambda table: masks)
    with pytest.raises(InvalidDataflow, match="a deletion vector of '/f', which is no file of this version"):
        read_delta(str(bucket / "b/parted"))


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> SqlCatalog:
    folder = tmp_path_factory.mktemp("iceberg")
    found = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/w")
    found.create_namespace("n")
    return found


Deleter = Callable[[Any, Path], None]


def files_of(table: Any) -> list[str]:
    """The files, the one with most rows first."""
    files = sorted((task.file for task in table.scan().plan_files()), key=lambda file: -file.record_count)
    return [file.file_path for file in files]


def positions(table: Any, folder: Path) -> None:
    """Positions unsorted and named twice, in two files, of which one is of all of the table's files."""
    first, second = files_of(table)
    rows = [(first, row) for row in (7, 3, 3, *range(100, 900))] + [(second, 0)]
    delete_from_iceberg(table, positions_file(folder / "one.parquet", rows))
    delete_from_iceberg(table, positions_file(folder / "two.parquet", [(first, 3), (first, ROWS - 1)]))


def vectors(table: Any, folder: Path) -> None:
    first, second = files_of(table)
    delete_from_iceberg(table, puffin_file(folder / "dv.puffin", {first: [1, 2, 3, 900], second: range(500)}))


@pytest.mark.parametrize("deleter", [positions, vectors])
def test_positions_and_vectors_of_iceberg(
    local: Session, catalog: SqlCatalog, tmp_path: Path, deleter: Deleter
) -> None:
    table: Any = catalog.create_table(f"n.{deleter.__name__}", TABLE.schema, properties={"format-version": "2"})
    table.append(TABLE)
    table.append(TABLE.slice(0, 1_000))
    before = table.current_snapshot().snapshot_id
    deleter(table, tmp_path)
    table.append(TABLE.slice(0, 3))  # after the deletes
    expected = table.scan().to_arrow().sort_by([("a", "ascending")]).to_pylist()
    assert len(expected) < 2 * ROWS - 300
    keys = sorted((row["a"], row["p"]) for row in expected)
    found = local.run(read_iceberg(table).sort("a")).to_pylist()
    assert sorted((row["a"], row["p"]) for row in found) == keys
    assert local.run(read_iceberg(table).aggregate(n=count())).to_pylist() == [{"n": len(expected)}]
    assert local.run(read_iceberg(table, snapshot=before).aggregate(n=count())).to_pylist() == [{"n": ROWS + 1_000}]
    with jumpgate.connect() as connection:
        connection.register("t", read_iceberg(table))
        for offload in ("always", "never"):
            found = connection.sql("select a, p from t", offload=offload).to_arrow().to_pylist()
            assert sorted((row["a"], row["p"]) for row in found) == keys, offload


def test_deletes_of_a_partition(local: Session, catalog: SqlCatalog, tmp_path: Path) -> None:
    table = catalog.create_table("n.parted", TABLE.schema)
    with table.update_spec() as spec:
        spec.add_identity("p")
    table.append(TABLE)
    task = next(task for task in table.scan().plan_files() if task.file.partition[0] == 1)
    rows = [(task.file.file_path, row) for row in range(0, 1_000, 3)]
    delete_from_iceberg(table, positions_file(tmp_path / "d.parquet", rows), Record(1))
    check(local, read_iceberg(table), table.scan().to_arrow().sort_by("a").to_pylist())


def test_what_is_damaged_or_not_known_is_refused(local: Session, catalog: SqlCatalog, tmp_path: Path) -> None:
    def fresh(name: str) -> tuple[Any, str]:
        table = catalog.create_table(f"n.{name}", TABLE.schema)
        table.append(TABLE)
        return table, next(iter(table.scan().plan_files())).file.file_path

    table, file = fresh("beyond")
    delete_from_iceberg(table, positions_file(tmp_path / "beyond.parquet", [(file, ROWS + 7)]))
    with pytest.raises(MalformedData, match=f"deletes row {ROWS + 7}"):
        local.run(read_iceberg(table)).to_pylist()
    table, file = fresh("negative")
    delete_from_iceberg(table, positions_file(tmp_path / "negative.parquet", [(file, -1)]))
    with pytest.raises(MalformedData, match="row -1 does not follow"):
        read_iceberg(table)
    table, file = fresh("flipped")
    puffin = puffin_file(tmp_path / "flipped.puffin", {file: [1, 2]})
    content = bytearray((tmp_path / "flipped.puffin").read_bytes())
    content[40] ^= 1
    (tmp_path / "flipped.puffin").write_bytes(content)
    delete_from_iceberg(table, puffin)
    with pytest.raises(MalformedData, match="a deletion vector in '.*flipped.puffin' is damaged"):
        read_iceberg(table)


def values_file(path: Path, rows: pa.Table, ids: dict[str, int]) -> tuple[str, FileFormat]:
    """A file of deleted values, whose columns have these ids."""
    fields = [f.with_metadata({"PARQUET:field_id": str(ids[f.name])}) for f in rows.schema]
    pq.write_table(rows.cast(pa.schema(fields)), path)
    return f"file://{path}", FileFormat.PARQUET


def test_values_that_are_deleted(local: Session, catalog: SqlCatalog, tmp_path: Path) -> None:
    """Of earlier files only; NULL is deleted by NULL; names do not matter, ids do; positions are applied, too."""
    rows = pa.table({"a": [1, 2, None, 4, 5, 6], "s": ["x", None, None, "y", "x", "z"], "f": [1.5] * 6})
    table: Any = catalog.create_table("n.values", rows.schema)
    table.append(rows)
    table.append(rows.slice(3))
    first = files_of(table)[0]
    gone = pa.table({"k": pa.array([2, None, 6, 5], pa.int32()), "t": [None, None, "x", "x"]})
    delete_from_iceberg(table, values_file(tmp_path / "1.parquet", gone, {"k": 1, "t": 2}), equal=[1, 2])
    delete_from_iceberg(table, positions_file(tmp_path / "2.parquet", [(first, 0)]))
    before = table.current_snapshot().snapshot_id
    table.append(rows.slice(1, 1))
    with table.update_schema() as update:
        update.rename_column("a", "b")
        update.add_column("new", StringType())

    def found(snapshot: int | None = None) -> list[tuple[Any, ...]]:
        rows = local.run(read_iceberg(table, snapshot=snapshot)).to_pylist()
        return sorted((tuple(row.values())[:2] for row in rows), key=repr)

    kept = [(4, "y"), (4, "y"), (6, "z"), (6, "z")]
    assert found(before) == kept and found() == sorted([*kept, (2, None)], key=repr)
    nothing = pa.table({"new": pa.array([None], pa.string())})  # which no file has
    delete_from_iceberg(table, values_file(tmp_path / "3.parquet", nothing, {"new": 4}), equal=[4])
    table.append(pa.table({"b": [7], "s": ["w"], "f": [0.0], "new": ["n"]}))
    assert found() == [(7, "w")]


def test_deleted_values_of_a_partition_and_such_that_are_refused(
    local: Session, catalog: SqlCatalog, tmp_path: Path
) -> None:
    table: Any = catalog.create_table("n.sides", TABLE.schema)
    with table.update_spec() as spec:
        spec.add_identity("p")
    table.append(TABLE)
    gone = values_file(tmp_path / "a.parquet", pa.table({"s": ["3", "4"]}), {"s": 3})
    delete_from_iceberg(table, gone, Record(1), equal=[3])
    expected = [row for row in TABLE.to_pylist() if row["p"] != 1 or row["s"] not in ("3", "4")]
    check(local, read_iceberg(table), expected)
    lacking = values_file(tmp_path / "b.parquet", pa.table({"s": ["3"]}), {"s": 3})
    delete_from_iceberg(table, lacking, Record(1), equal=[1])
    with pytest.raises(MalformedData, match="lacks a column that its deletes are of"):
        read_iceberg(table)
    floats: Any = catalog.create_table("n.floats", pa.schema([("f", pa.float64())]))
    floats.append(pa.table({"f": [0.0]}))
    delete_from_iceberg(floats, values_file(tmp_path / "f.parquet", pa.table({"f": [-0.0]}), {"f": 1}), equal=[1])
    with pytest.raises(InvalidDataflow, match=r"equality deletes by column 'f' \(double\), which are not applied yet"):
        read_iceberg(floats)
