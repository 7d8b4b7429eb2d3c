"""What row indexes and Bloom filters of ORC files rule out is not read, and everything else is."""

from __future__ import annotations

import datetime
import functools
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc
import pytest

from jumpgate.client import col, read
from jumpgate.client.session import Session
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Field, Schema
from jumpgate.errors import JumpgateError, MalformedData
from jumpgate.testing.lab import Lab
from tests.support import probe
from tests.support.orc_tail import Message, OrcFile, packed
from tests.support.ordered_rows import COMPARE, VALUES, OrderedRows, random_bounds, wanted

#: the last row group is short
ROWS, STRIDE = 58_000, 5_000
SCHEMA = Schema((
    Field("n", t.int64), Field("i", t.int32), Field("day", t.date), Field("x", t.float64), Field("name", t.string),
    Field("row", t.int64), Field("text", t.string), Field("at", t.timestamp), Field("price", t.decimal(9, 2)),
    Field("tiny", t.int8), Field("flag", t.bool_), Field("large", t.decimal(38, 3)), Field("real", t.float32),
))  # fmt: skip


@functools.cache
def table(seed: int = 1) -> pa.Table:
    """Rows that follow each other have values that lie close together, with NULLs among them; `row` and `text` tell
    rows apart, as the others do in part."""
    rows = OrderedRows(ROWS, seed)
    some = rows.some
    eighths = [s / 8 if not 40_000 <= row < 41_000 else float("nan") for row, s in enumerate(rows.steps)]
    columns = {
        **rows.columns,
        "x": pa.array(some(eighths)),
        "at": pa.array(some(rows.hours), pa.timestamp("us")),
        "price": pa.array([Decimal(row).scaleb(-2) for row in range(ROWS)], pa.decimal128(9, 2)),
        "tiny": pa.array(some([row % 100 - 50 for row in range(ROWS)]), pa.int8()),
        "flag": pa.array(some([row % 3 == 0 for row in range(ROWS)])),
        "large": pa.array(some([Decimal(row * 10**20).scaleb(-3) for row in range(ROWS)]), pa.decimal128(38, 3)),
        "real": pa.array(some([row / 4 for row in range(ROWS)]), pa.float32()),
    }
    return pa.table({name: columns[name] for name in SCHEMA.names})


def write(folder: Path, data: pa.Table, **options: Any) -> str:
    path = folder / "t.orc"
    orc.write_table(data, path, **{"row_index_stride": STRIDE, **options})
    return str(path)


WAYS: dict[str, dict[str, Any]] = {
    "plain": {"compression": "uncompressed"},
    "zlib": {"compression": "zlib"},
    "zstd": {"compression": "zstd"},
    "dictionary": {"compression": "snappy", "dictionary_key_size_threshold": 1.0},
    "old": {"compression": "lz4", "file_version": "0.11"},
    "stripes": {"compression": "zlib", "stripe_size": 400_000},
}


def physical(column: pa.ChunkedArray, name: str) -> list[Any]:
    match column.type:
        case pa.Decimal128Type():
            digits = {"price": 2, "large": 3}[name]
            return [None if value is None else int(value.scaleb(digits)) for value in column.to_pylist()]
        case pa.TimestampType():
            return column.cast(pa.int64()).to_pylist()
        case type_ if type_ == pa.date32():
            return column.cast(pa.int32()).to_pylist()
        case type_ if type_ == pa.string():
            return column.cast(pa.binary()).to_pylist()
    return column.to_pylist()


def rows_of(scan: probe.Scan, data: pa.Table) -> list[int]:
    """The rows that a scan gave, each as the file has it."""
    rows = scan.columns[SCHEMA.names.index("row")]
    taken = data.take(pa.array(rows, pa.int64()))
    for name, have in zip(SCHEMA.names, scan.columns, strict=True):
        if name != "x":  # NaN equals nothing
            assert have == physical(taken[name], name), name
    return rows


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", VALUES)
def test_row_groups_out_of_bounds_are_not_read(tmp_path: Path, name: str, way: str) -> None:
    data = table()
    path = write(tmp_path, data, **WAYS[way])
    value, text = VALUES[name]
    whole = probe.scan("orc", [path], SCHEMA)
    assert rows_of(whole, data) == list(range(ROWS))
    for op in COMPARE:
        scan = probe.scan("orc", [path], SCHEMA, bounds=[(SCHEMA.names.index(name), op, text.encode())])
        rows = rows_of(scan, data)
        assert rows == sorted(set(rows)) and wanted(data, name, op, value) <= set(rows), op
        assert scan.rows == len(rows)
        if not (name == "x" and op in ("gt", "ge")):  # where NaN may be, nothing is ruled out but NULLs
            assert scan.rows <= 0.75 * ROWS and scan.pruned_bytes > 0, op
    equal = probe.scan("orc", [path], SCHEMA, bounds=[(SCHEMA.names.index(name), "eq", text.encode())])
    assert equal.rows <= (4 if name == "x" else 3) * STRIDE and equal.bytes < 0.8 * whole.bytes


def test_bounds_of_several_columns(tmp_path: Path) -> None:
    """Ranges of rows that do not follow each other, late columns, threads, shares of instances."""
    data = table(2)
    path = write(tmp_path, data, compression="zlib")
    rng = random.Random(3)
    others = {
        "name": lambda far: (f"name {far:05}", f"name {far:05}"),
        "n": lambda far: (far * 10**10, str(far * 10**10)),
    }
    for _ in range(12):
        bounds, expected = random_bounds(rng, data, others)
        found: list[int] = []
        late = tuple(rng.sample([i for i, n in enumerate(SCHEMA.names) if n != "row"], 6))
        for share in range(2):
            of_share = functools.partial(probe.scan, "orc", [path], SCHEMA, bounds=bounds, share=(share, 2), threads=2)
            rows_of(of_share(late=late, select=lambda rows: list(range(0, rows, 3))), data)
            found += rows_of(of_share(), data)
        assert len(found) == len(set(found)) and expected <= set(found)


def test_a_list_of_values_reads_what_holds_one_of_them(tmp_path: Path) -> None:
    """Not what lies between them; a value that cannot be read makes the list say nothing."""
    data = table()
    path = write(tmp_path, data)
    values = [50 * 10**10, 500 * 10**10]
    bounds = [(0, "any", str(v).encode()) for v in values]
    scan = probe.scan("orc", [path], SCHEMA, bounds=bounds)
    rows = set(rows_of(scan, data))
    assert wanted(data, "n", "eq", values[0]) | wanted(data, "n", "eq", values[1]) <= rows
    assert scan.rows <= 4 * STRIDE and not rows & set(range(15_000, 40_000))
    both = [*bounds, (0, "le", str(values[0]).encode())]
    assert probe.scan("orc", [path], SCHEMA, bounds=both).rows <= 2 * STRIDE
    assert probe.scan("orc", [path], SCHEMA, bounds=[*bounds, (0, "any", b"x")]).rows == ROWS


def test_row_groups_of_nulls_and_without_them(tmp_path: Path) -> None:
    data = table()
    path = write(tmp_path, data)
    rows = rows_of(probe.scan("orc", [path], SCHEMA, bounds=[(0, "is_not_null", b"")]), data)
    assert set(data.filter(pc.is_valid(data["n"]))["row"].to_pylist()) <= set(rows)
    assert not set(rows) & set(range(20_000, 25_000)), "a row group of NULLs"
    few = data.set_column(0, "n", pa.array([None if row == 31_000 else row for row in range(ROWS)]))
    path = write(tmp_path, few)
    assert rows_of(probe.scan("orc", [path], SCHEMA, bounds=[(0, "is_null", b"")]), few) == [*range(30_000, 35_000)]


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("stride", [0, ROWS, 10 * ROWS])
def test_files_of_one_row_group(tmp_path: Path, stride: int) -> None:
    data = table()
    path = write(tmp_path, data, compression="uncompressed", row_index_stride=stride or STRIDE)
    file = OrcFile.read(path)
    file.footer.put(8, stride)
    file.write(path)
    for op in COMPARE:
        scan = probe.scan("orc", [path], SCHEMA, bounds=[(0, op, VALUES["n"][1].encode())])
        assert rows_of(scan, data) == list(range(ROWS))


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("way", ["plain", "zstd"])
@pytest.mark.parametrize("name", ["n", "i", "day", "name"])
def test_bloom_filters_rule_out_values_between_others(tmp_path: Path, name: str, way: str) -> None:
    data = table()
    even = data.filter(pc.equal(pc.bit_wise_and(pc.cast(data["i"], pa.int32()), 1), 0))
    filters = {"bloom_filter_columns": [1 + even.column_names.index(name)], "bloom_filter_fpp": 1e-6}
    path = write(tmp_path, even, **WAYS[way], **filters)
    column = SCHEMA.names.index(name)
    text = VALUES[name][1]
    found = probe.scan("orc", [path], SCHEMA, bounds=[(column, "eq", text.encode())])
    assert wanted(even, name, "eq", VALUES[name][0]) <= set(rows_of(found, data)) and found.rows < 3 * STRIDE
    absent = text.replace("300", "301", 1) if name != "n" else str(301 * 10**10)
    without = probe.scan("orc", [write(tmp_path, even, **WAYS[way])], SCHEMA, bounds=[(column, "eq", absent.encode())])
    assert without.rows > 0
    path = write(tmp_path, even, **WAYS[way], **filters)
    missing = probe.scan("orc", [path], SCHEMA, bounds=[(column, "eq", absent.encode())])
    assert missing.rows == 0 and missing.pruned_bytes > without.pruned_bytes
    both = [(column, "eq", text.encode()), (column, "eq", absent.encode())]
    assert probe.scan("orc", [path], SCHEMA, bounds=both).rows == 0
    lists = [[(column, "any", v.encode()) for v in (text, absent)], [(column, "any", absent.encode())] * 2]
    assert [probe.scan("orc", [path], SCHEMA, bounds=b).rows for b in lists] == [found.rows, 0]
    assert probe.scan("orc", [path], SCHEMA, bounds=[(column, "ge", absent.encode())]).rows > 0


def test_bloom_filters_know_every_value(tmp_path: Path) -> None:
    """Extremes of integers, texts of all lengths around the hash's words, bytes that are no text."""
    rng = random.Random(6)
    numbers = [0, -1, 1, 2**63 - 1, -(2**63), *(rng.randrange(-(2**63), 2**63) for _ in range(200))]
    texts = ["", "\U0001f600", "ÿ" * 9, *("x" * n for n in range(1, 40)), *(f"{n}" * (n % 5) for n in range(100))]
    for name, type_, values in (("n", t.int64, numbers), ("s", t.string, texts)):
        path = tmp_path / "one.orc"
        orc.write_table(pa.table({name: values}), path, bloom_filter_columns=[1], bloom_filter_fpp=0.001)
        for value in values:
            bound = (0, "eq", str(value).encode())
            assert probe.scan("orc", [str(path)], Schema((Field(name, type_),)), bounds=[bound]).rows == len(values)


def plain(tmp_path: Path, **options: Any) -> tuple[pa.Table, str, OrcFile]:
    data = table()
    path = write(tmp_path, data, compression="uncompressed", **options)
    return data, path, OrcFile.read(path)


def test_an_index_of_other_rows_rules_nothing_out(tmp_path: Path) -> None:
    """Of another stride, though there are as many row groups, and of too few of them."""
    data, path, file = plain(tmp_path)
    bounds = [(0, "ge", VALUES["n"][1].encode())]
    expected = wanted(data, "n", "ge", VALUES["n"][0])
    file.footer.put(8, STRIDE - 100)
    file.write(path)
    scan = probe.scan("orc", [path], Schema((SCHEMA[0],)), bounds=bounds)
    assert scan.rows == ROWS
    for stride in (1, STRIDE // 2, STRIDE + 1000, 2 * STRIDE):
        file.footer.put(8, stride)
        file.write(path)
        scan = probe.scan("orc", [path], SCHEMA, bounds=bounds)
        assert expected <= set(rows_of(scan, data)) and scan.rows == ROWS


def each_stream(file: OrcFile, kind: int, column: int, change: Callable[[Message], Message]) -> None:
    """Replaces the stream of that kind of the stripes' indexes."""
    for stripe in file.stripes:
        index, at, streams = bytearray(), 0, []
        for stream in stripe.footer.messages(1):
            size = stream.integer(3)
            if at < len(stripe.index):
                data = stripe.index[at : at + size]
                if (stream.integer(1), stream.integer(2)) == (kind, column):
                    data = change(Message.parse(data)).encode()
                index += data
                stream.put(3, len(data))
            at += size
            streams.append(stream)
        stripe.index = bytes(index)
        stripe.footer.put(1, *streams)


ROW_INDEX, BLOOM_FILTER, BLOOM_FILTER_UTF8 = 6, 7, 8


def test_statistics_that_are_missing_rule_nothing_out(tmp_path: Path) -> None:
    data, path, file = plain(tmp_path)
    each_stream(file, ROW_INDEX, 1, lambda index: index.each(1, lambda entry: entry.put(2)))
    file.write(path)
    scan = probe.scan("orc", [path], SCHEMA, bounds=[(0, "ge", VALUES["n"][1].encode())])
    assert rows_of(scan, data) == list(range(ROWS))


def test_hostile_bloom_filters_rule_nothing_out(tmp_path: Path) -> None:
    data, path, _ = plain(tmp_path, bloom_filter_columns=[1], bloom_filter_fpp=1e-6)
    absent = [(0, "eq", b"3000000000001")]
    assert probe.scan("orc", [path], SCHEMA, bounds=absent).rows == 0

    def changed(change: Callable[[Message], Message]) -> int:
        file = OrcFile.read(path)
        each_stream(file, BLOOM_FILTER_UTF8, 1, change)
        return probe.scan("orc", [file.write(tmp_path / "changed.orc")], SCHEMA, bounds=absent).rows

    assert changed(lambda index: index) == 0
    assert changed(lambda index: index.each(1, lambda f: f.put(1, 2**32 - 1))) > 0
    assert changed(lambda index: index.each(1, lambda f: f.put(1))) > 0
    assert changed(lambda index: index.each(1, lambda f: f.put(3))) > 0
    assert changed(lambda index: index.each(1, lambda f: f.put(3, b""))) > 0
    assert changed(lambda index: index.put(1, *index.messages(1)[:-1])) > 0
    assert changed(lambda _: Message([(1, 2, b"\xff\xff\xff")])) > 0
    old = OrcFile.read(path)
    for stripe in old.stripes:  # the kind that is known to be unreliable
        stripe.footer.each(1, lambda s: s.put(1, BLOOM_FILTER) if s.integer(1) == BLOOM_FILTER_UTF8 else s)
    assert probe.scan("orc", [old.write(tmp_path / "old.orc")], SCHEMA, bounds=absent).rows > 0
    assert rows_of(probe.scan("orc", [path], SCHEMA), data) == list(range(ROWS))


def test_positions_out_of_their_streams_are_typed_errors(tmp_path: Path) -> None:
    data, path, _ = plain(tmp_path)
    bounds = [(0, "ge", VALUES["n"][1].encode())]
    for positions in ([2**40] * 7, [0, 2**40, 0, 0, 2**40, 0], [1, 1, 9, 1, 1, 1]):
        file = OrcFile.read(path)
        values = packed(positions[: len(positions) - 1])
        each_stream(file, ROW_INDEX, 1, lambda index, v=values: index.each(1, lambda e: e.put(1, v)))  # type: ignore[misc]
        changed = file.write(tmp_path / "changed.orc")
        try:
            probe.scan("orc", [changed], Schema((SCHEMA[0],)), bounds=bounds)
        except JumpgateError as error:
            assert isinstance(error, MalformedData), error
    file = OrcFile.read(path)
    far = packed([2**20, 0, 0, 2**20, 0])
    each_stream(file, ROW_INDEX, 1, lambda index: index.each(1, lambda e: e.put(1, far)))
    with pytest.raises(MalformedData, match="a row index points outside its stream"):
        probe.scan("orc", [file.write(tmp_path / "far.orc")], Schema((SCHEMA[0],)), bounds=bounds)


def test_damaged_indexes_end_in_answers_or_typed_errors(tmp_path: Path) -> None:
    """An index has no checksum, so that a wrong one may hide rows."""
    _, path, file = plain(tmp_path, bloom_filter_columns=[1])
    whole = bytearray(Path(path).read_bytes())
    end = 3 + len(file.stripes[0].index)
    rng = random.Random(4)
    answers = 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.randrange(3, end)] ^= 1 << rng.randrange(8)
        Path(path).write_bytes(damaged)
        bound = rng.choice([(0, "ge", VALUES["n"][1].encode()), (0, "eq", VALUES["n"][1].encode())])
        try:
            answers += probe.scan("orc", [path], Schema((SCHEMA[0],)), bounds=[bound]).rows > 0
        except JumpgateError as error:
            assert isinstance(error, MalformedData), error
    assert answers > 200


def test_fields_of_structs(tmp_path: Path) -> None:
    """Their own row indexes have bounds for rows; whole structs and lists beside them are decoded and passed over."""
    rows = range(ROWS)
    structs = [None if row % 7 == 0 else {"k": row, "l": [str(row)] * (row % 3)} for row in rows]
    type_ = pa.struct({"k": pa.int64(), "l": pa.list_(pa.string())})
    path = write(tmp_path, pa.table({"s": pa.array(structs, type_), "row": pa.array(rows)}))
    with Session(parallelism=1) as session:
        flow = read(path).filter((col("s").field("k") >= 30_001) & (col("s").field("k") < 30_500))
        got = session.run(flow).to_arrow().sort_by("row").to_pylist()
    assert got == [{"s": structs[row], "row": row} for row in range(30_001, 30_500) if row % 7]


def test_filters_and_joins_read_the_row_groups_that_they_need(tmp_path: Path, one_host: str) -> None:
    data = table()
    path = write(tmp_path, data)
    with Session(one_host, parallelism=2) as session:
        lab = Lab(session, tmp_path)
        few = lab.table({"k": "int64"}, [(k * 10**10,) for k in (410, 411, 455)])
        for flow in (
            read(path).filter((col("day") >= datetime.date(1971, 6, 1)) & (col("i") < -515)).select("row", "text", "x"),
            read(path).filter(col("n").isin([10**11, 57 * 10**11])).select("row", "text"),
            read(path).filter((col("i") == -100) | (col("i") == -570)).select("row", "text"),
            read(path).join(few, left_on=col("n"), right_on=col("k")).select("row", "text", "k"),
        ):
            lab.check(flow)
            record = session.describe(session.jobs()[0].id).record
            assert record is not None
            sources = [s for c in record["counters"].values() for s in c["sources"] if s["name"].endswith("t.orc")]
            assert sources and 0 < sum(s["rows"] for s in sources) < 0.3 * ROWS
