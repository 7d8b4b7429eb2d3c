"""Deleted rows of Delta Lake and Iceberg are left out on every road, as their own libraries do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFileContent
from pyiceberg.typedef import Record

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


def test_flight_tables_are_refused(bucket: Path) -> None:
    with pytest.raises(InvalidDataflow, match="does not serve this table: it has deleted rows"):
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
    table, file = fresh("equality")
    equal = positions_file(tmp_path / "equality.parquet", [(file, 1)])
    delete_from_iceberg(table, equal, content=DataFileContent.EQUALITY_DELETES)
    with pytest.raises(InvalidDataflow, match="equality deletes"):
        read_iceberg(table)
