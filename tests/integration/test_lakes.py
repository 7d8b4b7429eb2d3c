"""Tables of Delta Lake and Iceberg have the rows that their own libraries say, or are refused by the feature's name."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import flight
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import BooleanType, DateType, DecimalType, DoubleType, LongType, StringType, TimestampType
from pyiceberg.utils.config import Config

import jumpgate
from jumpgate.cli.main import main
from jumpgate.client import Dataflow, col, count, max_, read, read_delta, read_iceberg, sum_
from jumpgate.client.session import Session
from jumpgate.errors import FileUnreadable, Forbidden, InvalidDataflow, SchemaMismatch
from jumpgate.flight.clients import Clients
from jumpgate.flight.door import Door
from jumpgate.hosts.config import TableConfig, local_hosts
from jumpgate.service import embedded
from tests.support.deletes import delete_from_delta
from tests.support.flight import Raw
from tests.support.object_store import KEY, SECRET, Store, credentials

DAY = datetime.date(2024, 1, 1)


def rows_of(local: Session, flow: Dataflow, key: str = "a") -> list[dict[str, Any]]:
    return local.run(flow.sort(key)).to_pylist()


def delta_rows(folder: Path, version: int | None = None, key: str = "a") -> list[dict[str, Any]]:
    """What the library itself reads, in Arrow's order of the key with NULL last."""
    return DeltaTable(folder, version=version).to_pyarrow_table().sort_by(key).to_pylist()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bucket with Delta tables `grown` (a column is added, rows are deleted) and `parted`."""
    found = tmp_path_factory.mktemp("lakes")
    grown, parted = found / "lake/grown", found / "lake/parted"
    write_deltalake(grown, pa.table({"a": [1, 2, 3], "s": ["x", None, ""]}))
    write_deltalake(grown, pa.table({"a": [4], "s": ["y"], "x": [0.5]}), mode="append", schema_mode="merge")
    DeltaTable(grown).delete("a = 1")
    days = [DAY + datetime.timedelta(n) for n in range(4)]
    for first in (0, 4):
        content = {
            "a": range(first, first + 4),
            "day": pa.array(days),
            "n": pa.array([None, 1, 1, -2], pa.int32()),
            "text": ["a b", "x=1/%", "ü", None],
            "d": pa.array([Decimal("1.50"), None, Decimal("1.50"), Decimal("0.25")], pa.decimal128(9, 2)),
        }
        write_deltalake(parted, pa.table(content), mode="append", partition_by=["day", "n", "text", "d"])
    return found


@pytest.fixture(scope="module")
def store(lake: Path) -> Iterator[Store]:
    found = Store(lake, access_key=KEY, secret_key=SECRET)
    with credentials(found.endpoint):
        yield found
    found.close()


@pytest.mark.parametrize("name", ["grown", "parted"])
def test_delta_has_the_librarys_rows_wherever_it_is(local: Session, store: Store, lake: Path, name: str) -> None:
    expected = delta_rows(lake / "lake" / name)
    for path in (str(lake / "lake" / name), f"s3://lake/{name}", f"s3a://lake/{name}/"):
        assert rows_of(local, read(path)) == expected, path
        assert rows_of(local, read_delta(path)) == expected, path
    with jumpgate.connect() as connection:
        for path in (str(lake / "lake" / name), f"s3://lake/{name}"):
            connection.register("t", path)
            for offload in ("always", "auto", "never"):
                found = connection.sql("select * from t order by a", offload=offload).to_arrow().to_pylist()
                assert found == expected, (path, offload)


def test_the_command_reads_delta(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "query.sql"
    query.write_text("select max(a) m, count(x) n from t")
    with pytest.raises(SystemExit) as ended:
        main(["sql", str(query), "--table", f"t={lake}/lake/grown", "--offload", "never", "--json"])
    assert not ended.value.code and json.loads(capsys.readouterr().out)["result"] == [[4, 1]]


def test_versions_and_moments(local: Session, lake: Path) -> None:
    folder = lake / "lake/grown"
    for version in range(3):
        assert rows_of(local, read_delta(str(folder), version=version)) == delta_rows(folder, version)
    now = datetime.datetime.now(datetime.UTC)
    assert rows_of(local, read_delta(str(folder), version=now)) == delta_rows(folder)
    for version in (9, "yesterday"):
        with pytest.raises(FileUnreadable, match="cannot read Delta table .*grown"):
            read_delta(str(folder), version=version)
    with pytest.raises(FileUnreadable, match="cannot read Delta table .*nowhere"):
        read_delta(str(lake / "nowhere"))


def test_predicates_on_partitions_and_columns(local: Session, lake: Path) -> None:
    folder = lake / "lake/parted"
    flow = read_delta(str(folder)).filter((col("day") >= DAY + datetime.timedelta(1)) & (col("n") == 1))
    found = local.run(flow.aggregate(n=count(), t=sum_("a"), m=max_("text"))).to_pylist()
    assert found == [{"n": 4, "t": 1 + 2 + 5 + 6, "m": "ü"}]
    assert local.run(read_delta(str(folder), columns=["n", "a"]).top(1, "a")).to_pylist() == [{"n": None, "a": 0}]


def test_wrong_credentials_and_folders_of_a_store(store: Store) -> None:
    with credentials(store.endpoint, KEY, "wrong"), pytest.raises(Forbidden, match="refuses these credentials"):
        read_delta("s3://lake/grown")
    with pytest.raises(FileUnreadable, match="cannot read Delta table 's3://lake/nothing': it has no _delta_log"):
        read_delta("s3://lake/nothing")


def edited(folder: Path, change: Callable[[dict[str, Any]], None], rows: pa.Table | None = None) -> str:
    """A new Delta table whose log's first entries were changed."""
    write_deltalake(folder, rows if rows is not None else pa.table({"p": [1, 2], "q": ["x", "y"]}))
    log = folder / "_delta_log/00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        change(action)
    log.write_text("\n".join(map(json.dumps, actions)))
    return str(folder)


def mapped(mode: str) -> Callable[[dict[str, Any]], None]:
    """Name the columns `a` and `b`, which are `p` and `q` in the files."""

    def change(action: dict[str, Any]) -> None:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in action:
            data = action["metaData"]
            data["configuration"] |= {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "2"}
            schema = json.loads(data["schemaString"])
            for number, (field, name) in enumerate(zip(schema["fields"], "ab", strict=True), 1):
                field["metadata"] = {
                    "delta.columnMapping.id": number,
                    "delta.columnMapping.physicalName": field["name"],
                }
                field["name"] = name
            data["schemaString"] = json.dumps(schema)

    return change


def features(*names: str) -> Callable[[dict[str, Any]], None]:
    def change(action: dict[str, Any]) -> None:
        if "protocol" in action:
            action["protocol"] = {
                "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names,
            }  # fmt: skip

    return change


def test_columns_that_are_mapped_by_name(local: Session, tmp_path: Path) -> None:
    path = edited(tmp_path / "t", mapped("name"))
    assert rows_of(local, read(path)) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    with jumpgate.connect() as connection:
        connection.register("t", path)
        for offload in ("always", "never"):
            assert connection.sql("select b from t where a = 2", offload=offload).to_arrow().to_pylist() == [{"b": "y"}]
    with pytest.raises(InvalidDataflow, match="columnMapping of mode 'id'"):
        read(edited(tmp_path / "id", mapped("id")))


def test_parts_of_columns_that_are_mapped_by_name(local: Session, tmp_path: Path) -> None:
    def change(action: dict[str, Any]) -> None:
        mapped("name")(action)
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            (nested,) = (f["type"] for f in schema["fields"] if isinstance(f["type"], dict))
            inner = nested["elementType"]["fields"]
            for number, (field, name) in enumerate(zip(inner, "uv", strict=True), 3):
                field["metadata"] = {
                    "delta.columnMapping.id": number,
                    "delta.columnMapping.physicalName": field["name"],
                }
                field["name"] = name
            action["metaData"]["schemaString"] = json.dumps(schema)

    lists = [[{"x": 1, "y": "one"}, None], None]
    of = pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))
    path = edited(tmp_path / "t", change, pa.table({"p": [1, 2], "q": pa.array(lists, of)}))
    flow = read(path)
    assert rows_of(local, flow) == [{"a": 1, "b": [{"u": 1, "v": "one"}, None]}, {"a": 2, "b": None}]
    found = local.run(flow.unnest("b", name="e").select("a", v=col("e").field("v")).sort("v")).to_pylist()
    assert found == [{"a": 1, "v": "one"}, {"a": 1, "v": None}]
    with jumpgate.connect() as connection:
        connection.register("t", path)
        for offload in ("always", "never"):
            rows = connection.sql("select b from t where a = 1", offload=offload).to_arrow().to_pylist()
            assert rows == [{"b": [{"u": 1, "v": "one"}, None]}], offload


def test_features_that_are_not_known_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises((InvalidDataflow, FileUnreadable), match="fancyThing"):
        read(edited(tmp_path / "fancy", features("fancyThing")))

    def clone(action: dict[str, Any]) -> None:
        if "add" in action:
            action["add"]["path"] = "file:///elsewhere/" + action["add"]["path"]

    with pytest.raises(InvalidDataflow, match="is not in its folder"):
        read(edited(tmp_path / "clone", clone))

    def wrong(action: dict[str, Any]) -> None:
        if "metaData" in action:
            action["metaData"]["schemaString"] = action["metaData"]["schemaString"].replace('"long"', '"short"')

    with pytest.raises(SchemaMismatch, match="column 'p' is int16, but int64 in its files"):
        read(edited(tmp_path / "wrong", wrong))


def test_types_that_a_later_version_has_wider(local: Session, tmp_path: Path) -> None:
    """Delta's typeWidening: files that are there keep their types."""

    def wider(action: dict[str, Any]) -> None:
        features("typeWidening")(action)
        if "metaData" in action:
            text = action["metaData"]["schemaString"]
            for old, new in (("integer", "long"), ("float", "double"), ("decimal(5,2)", "decimal(20,2)")):
                text = text.replace(f'"{old}"', f'"{new}"')
            action["metaData"]["schemaString"] = text

    rows = {"a": pa.array([1, 2**31 - 1, None], pa.int32()), "f": pa.array([0.5, None, -1.5], pa.float32()),
            "d": pa.array([Decimal("1.25"), None, Decimal("-999.99")], pa.decimal128(5, 2))}  # fmt: skip
    flow = read(edited(tmp_path / "t", wider, pa.table(rows)))
    assert [field.type.name for field in flow.schema] == ["int64", "float64", "decimal(20, 2)"]
    assert rows_of(local, flow) == pa.table(rows).to_pylist()


def test_moments_of_96_bits(local: Session, tmp_path: Path) -> None:
    moments = pa.array([datetime.datetime(2024, 1, 1, 12, 0, 0, 5, datetime.UTC), None], pa.timestamp("us", "UTC"))
    path = edited(tmp_path / "t", lambda action: None, pa.table({"a": [1, 2], "t": moments}))
    (file,) = (tmp_path / "t").glob("*.parquet")
    pq.write_table(pq.read_table(file), file, use_deprecated_int96_timestamps=True)
    assert rows_of(local, read(path)) == [{"a": 1, "t": moments[0].as_py()}, {"a": 2, "t": None}]


@pytest.fixture(scope="module")
def iceberg(lake: Path, store: Store) -> Any:
    """A table whose columns are renamed, added, widened and reordered, with hidden partitions by day."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{lake}/c.db", warehouse=f"file://{lake}/lake/ice")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", pa.schema([("a", pa.int32()), ("s", pa.string()), ("day", pa.date32())]))
    with table.update_spec() as spec:
        spec.add_identity("day")
    day = pa.array([DAY, DAY + datetime.timedelta(1), None])
    table.append(pa.table({"a": pa.array([1, 2, 3], pa.int32()), "s": ["x", None, "z"], "day": day}))
    with table.update_schema() as update:
        update.rename_column("s", "label")
    with table.update_schema() as update:
        update.add_column("s", DoubleType())
        update.update_column("a", LongType())
        update.move_first("label")
    table.append(pa.table({"label": ["w"], "a": [4], "day": [DAY], "s": [0.5]}))
    with table.update_schema() as update:
        update.add_column("more", StringType())
    return table


def iceberg_rows(table: Any, snapshot: int | None = None) -> list[dict[str, Any]]:
    return table.scan(snapshot_id=snapshot).to_arrow().sort_by("a").to_pylist()


def test_iceberg_has_the_librarys_rows(local: Session, iceberg: Any) -> None:
    expected = iceberg_rows(iceberg)
    for source in (iceberg, iceberg.metadata_location, iceberg.metadata_location.removeprefix("file://")):
        assert rows_of(local, read_iceberg(source)) == expected
    for snapshot in iceberg.snapshots():
        found = rows_of(local, read_iceberg(iceberg, snapshot=snapshot.snapshot_id))
        assert found == iceberg_rows(iceberg, snapshot.snapshot_id)
    with jumpgate.connect() as connection:
        connection.register("t", read_iceberg(iceberg))
        for offload in ("always", "auto", "never"):
            found = connection.sql("select * from t order by a", offload=offload).to_arrow().to_pylist()
            assert found == expected, offload
            text = "select day, count(*) n from t where label <> 'x' and a > 1 group by day order by day"
            assert connection.sql(text, offload=offload).to_arrow().to_pylist() == [
                {"day": DAY, "n": 1}, {"day": None, "n": 1},
            ]  # fmt: skip
        with pytest.raises(InvalidDataflow, match="computes something, which SQL may mean otherwise"):
            connection.register("u", read_iceberg(iceberg).filter(col("a") > 1))
    with pytest.raises(FileUnreadable, match="has no snapshot 7"):
        read_iceberg(iceberg, snapshot=7)
    with pytest.raises(InvalidDataflow, match="is no metadata file of Iceberg"):
        read_iceberg("/tmp")


def test_types_that_all_files_have_narrower(local: Session, iceberg: Any) -> None:
    types = {"a": (pa.int32(), LongType()), "f": (pa.float32(), DoubleType()),
             "d": (pa.decimal128(5, 2), DecimalType(20, 2))}  # fmt: skip
    table = iceberg.catalog.create_table("n.wide", pa.schema([(name, old) for name, (old, _) in types.items()]))
    rows = {"a": [1, None], "f": [0.1, 2.5], "d": [Decimal("1.25"), None]}
    table.append(pa.table({name: pa.array(rows[name], old) for name, (old, _) in types.items()}))
    with table.update_schema() as update:
        for name, (_, new) in types.items():
            update.update_column(name, new)
    assert rows_of(local, read_iceberg(table)) == iceberg_rows(table)


def test_parts_of_columns_go_by_their_ids(local: Session, iceberg: Any) -> None:
    """Of structs in all places: a part of an old name is another part, and one of another name the same."""
    inner = pa.struct([("x", pa.int64()), ("y", pa.int64())])
    schema = pa.schema([("a", pa.int64()), ("s", inner), ("m", pa.map_(pa.string(), inner)), ("l", pa.list_(inner))])
    value = {"x": 1, "y": 2}
    table = iceberg.catalog.create_table("n.parts", schema)
    rows = [
        {"a": 1, "s": value, "m": [("k", value)], "l": [value]},
        {"a": 2, "s": None, "m": [("k", None)], "l": [None]},
    ]
    table.append(pa.Table.from_pylist(rows, schema))
    assert rows_of(local, read_iceberg(table)) == iceberg_rows(table)
    places = (("s",), ("m", "value"), ("l", "element"))
    for place in places:
        with table.update_schema() as update:
            update.delete_column((*place, "x"))
            update.rename_column((*place, "y"), "z")
        with table.update_schema() as update:
            update.add_column((*place, "x"), LongType())
            update.rename_column((*place, "z"), "u")
    assert rows_of(local, read_iceberg(table)) == iceberg_rows(table)
    table.append(pa.Table.from_pylist(iceberg_rows(table), table.schema().as_arrow()))
    flow = read_iceberg(table)
    assert rows_of(local, flow) == iceberg_rows(table)
    grouped = local.run(flow.filter(col("s").field("u") == 2).aggregate(n=count(), x=count(col("s").field("x"))))
    assert grouped.to_pylist() == [{"n": 2, "x": 0}]
    with table.update_schema() as update:
        update.delete_column(("s", "u"))
    with pytest.raises(InvalidDataflow, match="column 's' has none of its parts in some files"):
        read_iceberg(table)


def test_rows_from_before_a_column_have_its_default(local: Session, iceberg: Any, tmp_path: Path) -> None:
    """pyiceberg reads tables of version 3, and writes none: a table of version 2 is changed to one."""
    added: dict[str, tuple[Any, Any, Any]] = {
        "z": (LongType(), 5, 5), "s": (StringType(), "old", "old"), "d": (DateType(), "2024-01-01", DAY),
        "n": (DecimalType(9, 2), "1.50", Decimal("1.50")), "b": (BooleanType(), True, True),
        "t": (TimestampType(), "2024-01-01T05:00:00", datetime.datetime(2024, 1, 1, 5)),
    }  # fmt: skip
    table = iceberg.catalog.create_table("n.defaults", pa.schema([("a", pa.int64())]))
    table.append(pa.table({"a": [1, 2]}))
    with table.update_schema() as update:
        for name, (type, _, _) in added.items():
            update.add_column(name, type)
    table.append(pa.Table.from_pylist([{"a": 3, "z": 7}], table.schema().as_arrow()))
    metadata = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    metadata |= {"format-version": 3, "next-row-id": 0}
    for schema in metadata["schemas"]:
        for field in schema["fields"]:
            if field["name"] in added:
                field["initial-default"] = added[field["name"]][1]
    (tmp_path / "v3.metadata.json").write_text(json.dumps(metadata))
    flow = read_iceberg(str(tmp_path / "v3.metadata.json"))
    before = {name: value for name, (_, _, value) in added.items()}
    after = {**dict.fromkeys(added), "z": 7}
    assert rows_of(local, flow) == [{"a": 1, **before}, {"a": 2, **before}, {"a": 3, **after}]
    found = local.run(flow.filter(col("z") == 5).aggregate(by=["d"], n=count())).to_pylist()
    assert found == [{"d": DAY, "n": 2}]
    with jumpgate.connect() as connection:
        connection.register("t", flow)
        for offload in ("always", "never"):
            text = "select z, count(s) n from t group by z order by z"
            rows = connection.sql(text, offload=offload).to_arrow().to_pylist()
            assert rows == [{"z": 5, "n": 2}, {"z": 7, "n": 0}]


def test_iceberg_in_a_store(local: Session, store: Store, lake: Path, iceberg: Any) -> None:
    """The same table, whose metadata name objects."""
    catalog = SqlCatalog("s", uri=f"sqlite:///{lake}/s.db", warehouse=f"file://{lake}/lake/there")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", pa.schema([("a", pa.int64())]))
    assert iceberg_rows(table) == []
    with pytest.raises(InvalidDataflow, match="this version has no files"):
        read_iceberg(table)
    location = iceberg.metadata_location.removeprefix(f"file://{lake}/")
    with pytest.raises((InvalidDataflow, FileUnreadable), match="'s3://lake/nothing.metadata.json'"):
        read_iceberg("s3://lake/nothing.metadata.json")
    assert rows_of(local, read_iceberg(f"s3://{location}")) == iceberg_rows(iceberg)


def test_a_folder_with_a_hint(local: Session, store: Store, lake: Path, iceberg: Any) -> None:
    """By number, the newest that is there; by name; and what says nothing is refused."""
    table = iceberg.catalog.create_table("n.hinted", pa.schema([("a", pa.int64())]))
    places = {}
    for number in (1, 2, 3):
        table.append(pa.table({"a": [number]}))
        places[number] = Path(table.metadata_location.removeprefix("file://"))
        places[number].with_name(f"v{number}.metadata.json").write_bytes(places[number].read_bytes())
    folder = places[1].parent.parent
    hint = folder / "metadata/version-hint.text"
    with pytest.raises(InvalidDataflow, match="no metadata/version-hint.text; name the newest metadata file"):
        read_iceberg(folder)
    there = f"s3://{folder.relative_to(lake)}/"
    with pytest.raises(
        InvalidDataflow, match="'s3://lake/ice/n/hinted' is no metadata file .* no metadata/version-hint"
    ):
        read_iceberg(there)
    for text, rows in (("3", 3), ("2\n", 3), (places[2].name, 2), (places[1].name.removesuffix(".metadata.json"), 1)):
        hint.write_text(text)
        for source in (folder, f"file://{folder}", there):
            expected = [{"a": number} for number in range(1, rows + 1)]
            assert rows_of(local, read_iceberg(source)) == expected, (text, source)
    hint.write_text("../elsewhere/x")
    with pytest.raises(InvalidDataflow, match="its version-hint.text says '../elsewhere/x'"):
        read_iceberg(folder)
    hint.write_text("7")
    with pytest.raises(FileUnreadable, match="v7.metadata.json"):
        read_iceberg(folder)


def test_iceberg_whose_files_are_objects(local: Session, store: Store, lake: Path) -> None:
    catalog = SqlCatalog("o", uri=f"sqlite:///{lake}/o.db", warehouse="s3://lake/objects", folder=f"{lake}/lake",
                         base="s3://lake", **{"py-io-impl": "tests.support.mirrored.Mirrored"})  # fmt: skip
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", pa.schema([("a", pa.int32()), ("s", pa.string()), ("day", pa.date32())]))
    with table.update_spec() as spec:
        spec.add_identity("day")
    table.append(pa.table({"a": pa.array([1, 2], pa.int32()), "s": ["x", None], "day": [DAY, None]}))
    with table.update_schema() as update:
        update.rename_column("s", "label")
        update.update_column("a", LongType())
    table.append(pa.table({"a": [2**40], "label": ["y"], "day": [DAY]}))
    expected = [{"a": 1, "label": "x", "day": DAY}, {"a": 2, "label": None, "day": None},
                {"a": 2**40, "label": "y", "day": DAY}]  # fmt: skip
    assert table.metadata_location.startswith("s3://lake/objects/")
    store.requests.clear()
    flow = read_iceberg(table.metadata_location)
    assert rows_of(local, flow) == expected
    assert len({path for _, path, _ in store.requests if path.endswith(".parquet")}) == 3
    found = local.run(flow.filter(col("day") == DAY).aggregate(n=count(), t=sum_("a"))).to_pylist()
    assert found == [{"n": 2, "t": 2**40 + 1}]


def test_equality_deletes_and_files_without_ids_are_refused(iceberg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.manifest import DataFileContent
    from pyiceberg.table import DataScan

    tasks = list(iceberg.scan().plan_files())
    deletes = type("Deletes", (), {"content": DataFileContent.EQUALITY_DELETES})()
    spoilt = type("Task", (), {"file": tasks[0].file, "delete_files": {deletes}})()
    monkeypatch.setattr(DataScan, "plan_files", lambda scan: [spoilt])
    with pytest.raises(InvalidDataflow, match="equality deletes, which are not applied yet"):
        read_iceberg(iceberg)
    monkeypatch.undo()
    file = Path(tasks[0].file.file_path.removeprefix("file://"))
    content = file.read_bytes()
    plain = pq.read_table(file)
    pq.write_table(plain.replace_schema_metadata().cast(pa.schema([(f.name, f.type) for f in plain.schema])), file)
    try:
        with pytest.raises(InvalidDataflow, match="columns without ids"):
            read_iceberg(iceberg)
    finally:
        file.write_bytes(content)


@pytest.fixture(scope="module")
def served(lake: Path, iceberg: Any) -> Iterator[Raw]:
    """A client of Flight SQL over the tables, and some that are refused; `fresh` is a table of its own."""
    own = lake / "own"
    write_deltalake(own / "fresh", pa.table({"a": [1]}))
    write_deltalake(own / "nulls", pa.table({"a": [1], "p": ["Null"]}), partition_by=["p"])
    twice = pa.table({"a": [1], "A": [2]})
    iceberg.catalog.create_table("n.twins", twice.schema).append(twice)
    edited(own / "mapped", mapped("name"))
    write_deltalake(own / "fewer", pa.table({"a": range(9)}))
    delete_from_delta(own / "fewer", {"": [0, 3, 4, 8]})
    moment = pa.array([datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.UTC)], pa.timestamp("us", "UTC"))
    edited(own / "moments", lambda action: None, pa.table({"t": moment}))
    (file,) = (own / "moments").glob("*.parquet")
    pq.write_table(pq.read_table(file), file, use_deprecated_int96_timestamps=True)
    folders = {"grown": lake / "lake/grown", "parted": lake / "lake/parted", "remote": "s3://lake/grown",
               **{of: own / of for of in ("fresh", "fewer", "nulls", "mapped", "moments", "nowhere")}}  # fmt: skip
    tables = [TableConfig(name, (str(folder),), "delta") for name, folder in folders.items()]
    tables += [TableConfig("ice", (iceberg.metadata_location,), "iceberg")]
    tables += [TableConfig(name, (f"n.{name}",), "iceberg", catalog="c") for name in ("t", "lost", "twins")]
    config = replace(local_hosts(1), tables=tuple(tables))
    service = embedded.start(config)
    door = Door(Clients(lambda: config, service.service, service.loop), "127.0.0.1", 0, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYICEBERG_CATALOG__C__TYPE", "sql")
        patch.setenv("PYICEBERG_CATALOG__C__URI", f"sqlite:///{lake}/c.db")
        patch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it was read when the package was imported
        yield Raw(flight.connect(door.address), service.token)
    door.close()
    service.close()


def told(raw: Raw, text: str) -> list[dict[str, Any]]:
    return raw.get(raw.info(text)).read_all().to_pylist()


def test_flight_sql_serves_snapshots(served: Raw, lake: Path, iceberg: Any) -> None:
    for name in ("grown", "parted"):
        assert told(served, f"SELECT * FROM {name} ORDER BY a") == delta_rows(lake / "lake" / name)
    for name in ("ice", "t"):
        assert told(served, f"SELECT * FROM {name} ORDER BY a") == iceberg_rows(iceberg)
    assert told(served, "SELECT a FROM parted WHERE text = 'x=1/%' AND n = 1 ORDER BY a") == [{"a": 1}, {"a": 5}]
    assert told(served, "SELECT * FROM mapped ORDER BY a") == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    for text, found in (("a FROM fewer WHERE a > 1 ORDER BY a", [2, 5, 6, 7]), ("count(*) AS a FROM fewer", [5])):
        assert told(served, f"SELECT {text}") == [{"a": a} for a in found]
    assert told(served, "SELECT epoch(t) s FROM moments") == [{"s": 1719835200.0}]
    served.option("offload", "always")
    assert told(served, "SELECT sum(a) s FROM fresh") == [{"s": 1}]
    served.option("offload", "auto")


def test_flight_sql_sees_the_next_snapshot(served: Raw, lake: Path, iceberg: Any) -> None:
    folder = lake / "own/fresh"
    assert told(served, "SELECT count(*) n FROM fresh") == [{"n": 1}]
    write_deltalake(folder, pa.table({"a": [2], "b": ["x"]}), mode="append", schema_mode="merge")
    assert told(served, "SELECT * FROM fresh ORDER BY a") == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]
    write_deltalake(folder, pa.table({"a": [3], "b": ["y"]}), mode="overwrite")
    assert told(served, "SELECT * FROM fresh") == [{"a": 3, "b": "y"}]
    before = told(served, "SELECT * FROM t ORDER BY a")
    iceberg.append(pa.table({"label": ["v"], "a": [9], "day": [DAY], "s": [1.5]}))
    assert told(served, "SELECT * FROM ice ORDER BY a") == before  # a metadata file is one snapshot
    assert told(served, "SELECT * FROM t ORDER BY a") == iceberg_rows(iceberg) != before


@pytest.mark.parametrize(
    ("name", "message"),
    [("remote", "table remote: .*'s3://lake/grown' is in a store"), ("nulls", "table nulls: .*'Null' in the names"),
     ("twins", "columns '[aA]' and '[aA]' are one name to DuckDB"), ("nowhere", "cannot read Delta table .*nowhere"),
     ("lost", "cannot read Iceberg table 'n.lost' of catalog 'c'")],
)  # fmt: skip
def test_flight_sql_refuses_by_name(served: Raw, name: str, message: str) -> None:
    with pytest.raises(pa.ArrowException, match=message):
        told(served, f"SELECT * FROM {name}")
