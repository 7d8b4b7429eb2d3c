"""Structs, lists and maps: what comes out of files of every kind, on every road, is what went in."""

from __future__ import annotations

import datetime
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.client import col, count, read, when
from jumpgate.client.session import Session
from jumpgate.converters import footers
from jumpgate.dataflow import types as t
from jumpgate.errors import InvalidDataflow, MalformedData, SchemaMismatch

#: scalars of every width, as files of all formats have them
SCALARS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False]),
    (pa.int64(), [0, -1, 2**53, -(2**60)]),
    (pa.float64(), [0.5, -2.0, 1e300]),
    (pa.string(), ["", "x", 'q"\\\n', "naïve", "long " * 30]),
    (pa.date32(), [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
]
#: further ones, of Parquet and ORC alone
BINARY = [
    (pa.int8(), [-128, 127]),
    (pa.int16(), [300]),
    (pa.float32(), [0.25]),
    (pa.timestamp("us"), [datetime.datetime(2024, 2, 29, 12, 30, 1, 5)]),
    (pa.binary(), [b"\x00\xff"]),
]


def random_type(rng: random.Random, depth: int, scalars: list[tuple[pa.DataType, list[Any]]]) -> pa.DataType:
    kind = rng.choice(["scalar", "struct", "list", "map"]) if depth else "scalar"
    if kind == "struct":
        count = rng.randint(1, 12 if depth == 1 else 3)
        return pa.struct([(f"f{i}", random_type(rng, depth - 1, scalars)) for i in range(count)])
    if kind == "list":
        return pa.list_(pa.field("element", random_type(rng, depth - 1, scalars)))
    if kind == "map":
        return pa.map_(pa.string(), random_type(rng, depth - 1, scalars))
    return rng.choice(scalars)[0]


def random_value(rng: random.Random, type: pa.DataType) -> Any:
    if rng.random() < 0.2:
        return None
    if pa.types.is_struct(type):
        return {field.name: random_value(rng, field.type) for field in type}
    if pa.types.is_map(type):
        return [(f"k{i}", random_value(rng, type.item_type)) for i in range(rng.randint(0, 3))]
    if pa.types.is_list(type):
        return [random_value(rng, type.value_type) for _ in range(rng.choice([0, 1, 2, 9]))]
    return rng.choice({str(k): v for k, v in (*SCALARS, *BINARY)}[str(type)])


def random_table(seed: int, rows: int, scalars: list[tuple[pa.DataType, list[Any]]]) -> pa.Table:
    rng = random.Random(seed)
    types = [pa.struct([("a", pa.int64()), ("b", random_type(rng, 2, scalars))])]
    types += [random_type(rng, 3, scalars) for _ in range(3)]
    columns = {f"c{i}": pa.array([random_value(rng, type) for _ in range(rows)], type) for i, type in enumerate(types)}
    return pa.table({"id": pa.array(range(rows)), **columns})


def plain(value: Any, type: pa.DataType) -> Any:
    """As json.dumps writes it: maps are objects, dates texts."""
    if value is None:
        return None
    if pa.types.is_struct(type):
        return {f.name: plain(value[f.name], f.type) for f in type}
    if pa.types.is_map(type):
        return {k: plain(v, type.item_type) for k, v in value}
    if pa.types.is_list(type):
        return [plain(v, type.value_type) for v in value]
    return str(value) if isinstance(value, datetime.date) else value


def write(table: pa.Table, path: Path, seed: int) -> Path:
    """The table as a file of that suffix, in one of the ways in which it can be written."""
    rng = random.Random(seed)
    if path.suffix == ".parquet":
        pq.write_table(
            table, path, row_group_size=rng.choice([100, 100_000]), data_page_size=rng.choice([64, 1 << 20]),
            write_batch_size=rng.choice([1, 64, 1024]), use_dictionary=rng.random() < 0.5,
            data_page_version=rng.choice(["1.0", "2.0"]), compression=rng.choice(["none", "snappy", "zstd"]),
        )  # fmt: skip
    elif path.suffix == ".orc":
        pa.orc.write_table(
            table, path, stripe_size=rng.choice([1 << 12, 1 << 20]), batch_size=100,
            compression=rng.choice(["uncompressed", "zstd"]), dictionary_key_size_threshold=rng.choice([0.0, 1.0]),
        )  # fmt: skip
    else:
        with path.open("w") as file:
            for row in table.to_pylist():
                pairs = [(n, plain(v, table.schema.field(n).type)) for n, v in row.items()]
                kept = [(n, v) for n, v in pairs if v is not None or rng.random() < 0.5]
                rng.shuffle(kept)
                file.write(json.dumps(dict(kept), ensure_ascii=rng.random() < 0.5) + "\n")
    return path


def rows(result: Any) -> list[dict[str, Any]]:
    return sorted(result.to_arrow().to_pylist(), key=lambda row: row["id"])


def sources(session: Session, result: Any) -> list[dict[str, Any]]:
    """The counters of what the job has read."""
    record = session.describe(result.job).record
    assert record is not None
    return [source for counters in record["counters"].values() for source in counters["sources"]]


def declared(table: pa.Table) -> t.Schema | None:
    """Of JSON, whose objects would be structs all of them."""

    def type_of(arrow: pa.DataType) -> t.DataType:
        if pa.types.is_struct(arrow):
            return t.struct(*(t.Field(f.name, type_of(f.type)) for f in arrow))
        if pa.types.is_map(arrow):
            return t.map_(type_of(arrow.key_type), type_of(arrow.item_type))
        if pa.types.is_list(arrow):
            return t.list_(type_of(arrow.value_type))
        names = {"double": "float64", "date32[day]": "date"}
        return t.DataType(names.get(str(arrow), str(arrow)))

    return t.Schema(tuple(t.Field(f.name, type_of(f.type)) for f in table.schema))


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("suffix", ["parquet", "orc", "json"])
def test_what_was_written_is_read(local: Session, tmp_path: Path, suffix: str, seed: int) -> None:
    table = random_table(seed, 700, SCALARS if suffix == "json" else [*SCALARS, *BINARY])
    path = write(table, tmp_path / f"t.{suffix}", seed)
    data = read(str(path), schema=declared(table) if suffix == "json" else None)
    result = local.run(data)
    assert rows(result) == table.to_pylist()
    assert result.schema.types == table.schema.types
    some = local.run(data.filter((col("id") % 7) == 3))
    assert rows(some) == [row for row in table.to_pylist() if row["id"] % 7 == 3]
    taken = data.filter(col("c0").field("a") > 0).select("id", b=col("c0").field("b"), none=col("c0").is_null())
    assert rows(local.run(taken)) == [
        {"id": row["id"], "b": row["c0"]["b"], "none": False}
        for row in table.to_pylist()
        if row["c0"] is not None and (row["c0"]["a"] or 0) > 0
    ]
    nulls = data.select("id", **{f"c{i}": col(f"c{i}").is_null() for i in range(4)}, b=col("c0").field("b").is_null())
    assert rows(local.run(nulls)) == [
        {
            "id": row["id"],
            **{n: row[n] is None for n in ("c0", "c1", "c2", "c3")},
            "b": (row["c0"] or {}).get("b") is None,
        }
        for row in table.to_pylist()
    ]


@pytest.fixture(params=["parquet", "orc", "json"])
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    kind = pa.struct([("n", pa.int64()), ("name", pa.string()), ("at", pa.struct([("x", pa.float64())]))])
    values = [{"n": i, "name": f"p{i % 5}", "at": None if i % 4 == 0 else {"x": i / 2}} for i in range(40)]
    data = {"id": range(40), "s": pa.array([None if i % 10 == 0 else v for i, v in enumerate(values)], kind),
            "l": [[i] * (i % 3) for i in range(40)]}  # fmt: skip
    return write(pa.table(data), tmp_path / f"people.{request.param}", 1)


def test_structs_pass_joins_unions_and_windows_and_their_fields_are_read_beyond(local: Session, people: Path) -> None:
    data = read(str(people))
    left = data.select("id", "s", "l")
    right = data.select(k=col("id"), t=col("s")).filter(col("k") < 20)
    joined = left.join(right, left_on="id", right_on="k", how="left")
    taken = joined.select("id", "t", "l", x=col("t").field("at").field("x"), none=col("t").is_null())
    found = rows(local.run(taken))
    assert len(found) == 40
    for row in found:
        i = row["id"]
        known = i < 20 and i % 10 != 0
        assert row["none"] == (not known)
        assert row["x"] == (i / 2 if known and i % 4 else None)
        assert row["l"] == [i] * (i % 3)
        assert row["t"] == (
            None if not known else {"n": i, "name": f"p{i % 5}", "at": None if i % 4 == 0 else {"x": i / 2}}
        )
    both = data.select("id", "s").union_all(data.select("id", "s")).select("id", n=col("s").field("n"))
    assert [row["n"] for row in rows(local.run(both))] == [None if i % 10 == 0 else i for i in range(40) for _ in "ab"]
    grouped = data.aggregate(c=count(), s=count("s"), by=[col("s").field("name").alias("name")])
    counts = {row["name"]: (row["c"], row["s"]) for row in local.run(grouped).to_pylist()}
    assert counts == {None: (4, 0), "p0": (4, 4), **{f"p{i}": (8, 8) for i in range(1, 5)}}
    top = data.select("id", "s", "l").top(3, col("s").field("n").desc())
    assert [row["l"] for row in rows(local.run(top))] == [[37], [38, 38], []]


def test_a_field_of_a_computed_struct_is_read_from_its_bytes(local: Session, people: Path) -> None:
    data = read(str(people))
    chosen = data.select("id", s=when(col("id") < 20).then(col("s")).otherwise(None))
    taken = chosen.select("id", n=col("s").field("n"), name=col("s").field("name"), x=col("s").field("at").field("x"))
    for row in rows(local.run(taken)):
        i = row["id"]
        known = i < 20 and i % 10 != 0
        assert row == {"id": i, "n": i if known else None, "name": f"p{i % 5}" if known else None,
                       "x": i / 2 if known and i % 4 else None}  # fmt: skip


def test_a_field_costs_no_more_than_itself(local: Session, tmp_path: Path) -> None:
    kind = pa.struct([("n", pa.int64()), ("text", pa.string())])
    data = pa.table({"s": pa.array([{"n": i, "text": f"{i}" * 50} for i in range(20_000)], kind)})
    pq.write_table(data, tmp_path / "t.parquet", compression="none", use_dictionary=False)
    table = read(str(tmp_path / "t.parquet"))
    assert "(s.n)" in local.explain(table.select(n=col("s").field("n")))
    assert "(present(s))" in local.explain(table.select(n=col("s").is_null()))
    result = local.run(table.filter(col("s").field("n") == 19_999).select(n=col("s").field("n")))
    assert result.to_pylist() == [{"n": 19_999}]
    assert sum(source["bytes"] for source in sources(local, result)) < 200_000


def test_row_groups_are_skipped_by_the_statistics_of_a_field(local: Session, tmp_path: Path) -> None:
    values = [None if i % 3 == 0 else {"n": i} for i in range(10_000)]
    table = pa.table({"s": pa.array(values, pa.struct([("n", pa.int64())]))})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1000)
    result = local.run(read(str(tmp_path / "t.parquet")).filter(col("s").field("n") >= 9500).aggregate(c=count()))
    assert result.to_pylist() == [{"c": sum(1 for i in range(9500, 10_000) if i % 3)}]
    assert sum(source["pruned_bytes"] for source in sources(local, result)) > 0


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("offload", ["never", "always"])
def test_sql_takes_nested_values_apart_on_every_road(people: Path, offload: str) -> None:
    with jumpgate.connect() as connection:
        connection.register("t", str(people))

        def ask(text: str) -> list[dict[str, Any]]:
            return connection.sql(text, offload=offload).to_pylist()

        assert ask("SELECT s.n AS n, s['at']['x'] AS x FROM t WHERE s.at.x > 15 ORDER BY n LIMIT 2") == [
            {"n": 31, "x": 15.5}, {"n": 33, "x": 16.5}]  # fmt: skip
        assert ask("SELECT count(*) AS c, count(s) AS s, sum(s.n) AS n FROM t WHERE s.name = 'p1'") == [
            {"c": 8, "s": 8, "n": sum(range(1, 40, 5))}]  # fmt: skip
        assert ask("SELECT id FROM t WHERE s IS NULL ORDER BY id") == [{"id": i} for i in (0, 10, 20, 30)]
        assert ask("SELECT sum(u) AS u FROM (SELECT unnest(l) AS u FROM t)") == [
            {"u": sum(i * (i % 3) for i in range(40))}]  # fmt: skip
        assert ask("SELECT l[2] AS e, array_length(l) AS n FROM t WHERE id = 5") == [{"e": 5, "n": 2}]
        assert ask("SELECT s, l FROM t WHERE id = 7") == [{"s": {"n": 7, "name": "p2", "at": {"x": 3.5}}, "l": [7]}]
        assert ask("SELECT s.name AS name, count(*) AS c FROM t GROUP BY s.name ORDER BY name") == [
            {"name": name, "c": c} for name, c in (("p0", 4), ("p1", 8), ("p2", 8), ("p3", 8), ("p4", 8), (None, 4))
        ]


def test_columns_of_arrow_tables_go_out() -> None:
    maps = pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64()))
    data = pa.table({"n": [1, 2], "m": maps, "s": [{"x": 1}, {"x": 2}]})
    with jumpgate.connect(offload="always") as connection:
        connection.register("t", data)
        query = connection.sql("SELECT m, s FROM t WHERE s.x = 1")
        assert query.to_pylist() == [{"m": [("a", 1)], "s": {"x": 1}}] and query.jobs
        query = connection.sql("SELECT n + 1 AS x FROM t WHERE n = 1")
        assert query.to_pylist() == [{"x": 2}] and query.jobs


def test_nested_values_are_not_compared(people: Path) -> None:
    data = read(str(people))
    with pytest.raises(
        InvalidDataflow, match=r"aggregate: a key or measure is of 's', a struct<.*>: nested values are not compared"
    ):
        data.aggregate(c=count(), by=["s"])
    with pytest.raises(InvalidDataflow, match=r"sort: a key is 'l', a list<int64>: nested values are not compared"):
        data.sort("l")
    with pytest.raises(InvalidDataflow, match="a column is 's', a struct"):
        data.distinct()
    with pytest.raises(InvalidDataflow, match="join: a key is 's'"):
        data.join(data.select(t=col("s")), left_on="s", right_on="t")
    with pytest.raises(InvalidDataflow, match=r"eq takes no list<int64>; name fields of it"):
        data.filter(col("l") == col("l"))
    with pytest.raises(InvalidDataflow, match=r"s is a struct<.*> without a field 'nam'; did you mean 'name'\?"):
        data.select(x=col("s").field("nam"))
    with pytest.raises(InvalidDataflow, match=r"l is a list<int64> without a field 'x'"):
        data.select(x=col("l").field("x"))


def test_structs_of_several_files_have_the_fields_of_all(local: Session, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [0], "s": [{"a": 1}]}), tmp_path / "0.parquet")
    wider = pa.struct([("b", pa.list_(pa.string())), ("a", pa.int32())])
    pq.write_table(pa.table({"id": [1], "s": pa.array([{"b": ["x"], "a": 2}], wider)}), tmp_path / "1.parquet")
    data = read(str(tmp_path))
    assert str(data.schema) == "(id: int64?, s: struct<a int64, b list<string>>?)"
    assert rows(local.run(data)) == [{"id": 0, "s": {"a": 1, "b": None}}, {"id": 1, "s": {"a": 2, "b": ["x"]}}]
    fields = data.select("id", a=col("s").field("a"), b=col("s").field("b"))
    assert rows(local.run(fields)) == [{"id": 0, "a": 1, "b": None}, {"id": 1, "a": 2, "b": ["x"]}]


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_a_field_that_is_spelled_in_another_case(local: Session, tmp_path: Path, suffix: str) -> None:
    """Engines do not agree which rows such files have."""
    write(pa.table({"id": [1], "s": [{"Name": "x", "a": 1}]}), tmp_path / f"t.{suffix}", 0)
    data = read(str(tmp_path / f"t.{suffix}"), schema={"id": "int64", "s": "struct<name string, a int64>"})
    for flow in (data, data.select(x=col("s").field("name"))):
        with pytest.raises(SchemaMismatch, match="whose field 'name' is spelled in another case"):
            local.run(flow).to_arrow()
    assert local.run(data.select(x=col("s").field("a"))).to_pylist() == [{"x": 1}]


def test_what_is_too_deep_is_opaque(tmp_path: Path) -> None:
    type, value = pa.int64(), 1
    for _ in range(t.NESTING_MAX + 1):
        type, value = pa.list_(type), [value]
    pq.write_table(pa.table({"deep": pa.array([value], type), "x": [1]}), tmp_path / "t.parquet")
    assert footers.parquet_schema([str(tmp_path / "t.parquet")])[0].type.is_opaque
    (tmp_path / "t.json").write_text(json.dumps({"deep": value, "x": 1}) + "\n")
    with pytest.raises(InvalidDataflow, match="column 'deep' is a JSON value of more than 32 levels"):
        read(str(tmp_path / "t.json"), columns=["deep"])


def test_shapes_of_lists_that_old_writers_made(local: Session, tmp_path: Path) -> None:
    """A repeated field in a struct is a list, and so are groups of the older shapes (LogicalTypes.md, "Lists")."""
    data = pa.table({"l": pa.array([[1, 2], [], None, [3]], pa.list_(pa.int64()))})
    for compliant in (True, False):
        pq.write_table(data, tmp_path / "t.parquet", use_compliant_nested_type=compliant)
        assert local.run(read(str(tmp_path / "t.parquet"))).to_arrow()["l"].to_pylist() == data["l"].to_pylist()


def test_times_in_structs_and_lists(local: Session, tmp_path: Path) -> None:
    zoned = pa.timestamp("us", "Europe/Berlin")
    kind = pa.struct([("t", pa.time64("us")), ("n", pa.timestamp("ns")), ("z", zoned), ("x", pa.int32())])
    moment = datetime.datetime(2024, 1, 1)
    value = {"t": datetime.time(1, 2, 3, 4), "n": moment, "z": moment.replace(tzinfo=datetime.UTC), "x": 7}
    values = [value, None, dict.fromkeys(value)]
    data = pa.table({"s": pa.array(values, kind), "l": pa.array([[v] for v in values], pa.list_(kind))})
    pq.write_table(data, tmp_path / "t.parquet")
    result = local.run(read(str(tmp_path / "t.parquet"))).to_arrow()
    assert result.to_pylist() == data.to_pylist()
    assert result.schema.field("s").type == kind


# ---- JSON ------------------------------------------------------------------------------------------------------------


def test_json_finds_nested_types(tmp_path: Path) -> None:
    lines = [
        '{"a": {"x": 1}, "e": {}, "l": [], "m": [1, "x"]}',
        '{"a": {"y": [{"z": "2024-01-01"}]}, "l": [null, 2.5], "m": {}}',
    ]
    (tmp_path / "t.json").write_text("\n".join(lines))
    schema = read(str(tmp_path / "t.json")).schema
    assert str(schema) == (
        "(a: struct<x int64, y list<struct<z date>>>?, e: map<string, string>?, l: list<float64>?, "
        "m: JSON object or array?)"
    )
    with pytest.raises(InvalidDataflow, match="column 'm' is a JSON object or array"):
        read(str(tmp_path / "t.json"), columns=["m"])


def test_of_a_nested_key_that_occurs_twice_the_last_one_counts(local: Session, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"s": {"a": 1, "\\u0061": 2}, "m": {"k": 1, "j": 3, "k": 2}}\n')
    data = read(str(tmp_path / "t.json"), schema={"s": "struct<a int64>", "m": "map<string, int8>"})
    assert local.run(data).to_pylist() == [{"s": {"a": 2}, "m": [("k", 2), ("j", 3)]}]
    assert local.run(data.select(a=col("s").field("a"))).to_pylist() == [{"a": 2}]


def test_numbers_of_nested_json_are_of_any_size(local: Session, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"s": {"a": 123456789012345678901234, "b": [1E400]}}\n')
    data = read(str(tmp_path / "t.json"), schema={"s": "struct<a decimal(38, 0)>"})
    assert local.run(data).to_pylist() == [{"s": {"a": Decimal("123456789012345678901234")}}]


def test_json_values_that_are_not_of_the_type_say_where(local: Session, tmp_path: Path) -> None:
    path = tmp_path / "t.json"

    def fails(line: str, type: str, **options: Any) -> str:
        path.write_text('{"s": null}\n' + line + "\n")
        with pytest.raises((SchemaMismatch, MalformedData)) as error:
            local.run(read(str(path), schema={"s": type}, **options)).to_arrow()
        return error.value.message

    assert "line 2" in fails('{"s": {"a": {"b": "x"}}}', "struct<a struct<b int64>>")
    assert "holds \"x\" in its part 'b', which is not of type int64" in fails(
        '{"s": {"a": {"b": "x"}}}', "struct<a struct<b int64>>"
    )
    assert "column 's' holds [1], which is not of type struct" in fails('{"s": [1]}', "struct<a int64>")
    assert "column 's' holds 1, which is not of type list" in fails('{"s": 1}', "list<int64>")
    assert "not valid JSON" in fails('{"s": {"a": 1,}}', "struct<a int64>")
    assert "not valid JSON" in fails('{"s": [1 2]}', "list<int64>")
    assert "not valid JSON" in fails('{"s": {"a": 123456789012345678901234, "b": 01}}', "struct<a decimal(38, 0)>")
    path.write_text('{"s": [1]}\n{"s": ["x"]}\n{"s": [2]}\n')
    kept = local.run(read(str(path), schema={"s": "list<int64>"}, on_error="skip"))
    assert kept.to_pylist() == [{"s": [1]}, {"s": [2]}]


def test_fields_of_a_struct_that_is_null_are_null(one_host: str) -> None:
    """Arrow may have any value there."""
    y = pa.StructArray.from_arrays([pa.array([1, 2, 3, 4])], ["y"], mask=pa.array([False, True, False, False]))
    z = pa.StructArray.from_arrays([pa.array([5, 6, 7])], ["z"], mask=pa.array([True, False, False]))
    items = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 3]), z)
    outer = pa.StructArray.from_arrays([y, items], ["x", "l"], mask=pa.array([False, False, True, False]))
    table = pa.table({"id": [0, 1, 2, 3], "s": outer})
    with jumpgate.connect(one_host) as connection:
        connection.register("t", table)
        connection.register("later", table.slice(1))
        for offload in ("never", "auto", "always"):
            taken = "SELECT s['x']['y'] AS y, s['l'][1]['z'] AS z FROM {} ORDER BY id"
            found = connection.sql(taken.format("t"), offload=offload).to_arrow().to_pydict()
            assert found == {"y": [1, None, None, 4], "z": [None, 6, None, None]}, offload
            found = connection.sql(taken.format("later"), offload=offload).to_arrow().to_pydict()
            assert found == {"y": [None, None, 4], "z": [6, None, None]}, offload
