"""Parquet files as others write them: timestamps of every unit, columns that come and go, checksums, encryption."""

from __future__ import annotations

import datetime
import decimal
import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate import client
from jumpgate.client import col, run
from jumpgate.converters import footers
from jumpgate.converters.parquet import pages
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Schema
from jumpgate.errors import FileUnreadable, InvalidDataflow, MalformedData, Overflow, SchemaMismatch
from tests.support import probe
from tests.support.thrift import rewrite_footer

EPOCH = datetime.datetime(1970, 1, 1)
BINARY, I16, I32, I64, LIST, STRUCT = 8, 4, 5, 6, 9, 12


def write(path: Path, data: dict[str, Any] | pa.Table, **options: Any) -> str:
    pq.write_table(data if isinstance(data, pa.Table) else pa.table(data), path, **options)
    return str(path)


def scan(path: str, **columns: t.DataType) -> tuple[list[Any], ...]:
    return probe.scan("parquet", [path], Schema.of(**columns)).columns


def test_a_file_of_nulls_alone_after_one_of_texts(tmp_path: Path) -> None:
    """Its dictionary is empty, and its rows have no texts of the file before."""
    texts = write(tmp_path / "texts.parquet", {"s": ["a long text, which is in memory of its file"] * 3000})
    nulls = write(tmp_path / "nulls.parquet", {"s": pa.nulls(3000, pa.string())})
    found = probe.scan("parquet", [texts, nulls, texts], Schema.of(s=t.string)).columns[0]
    assert found.count(None) == 3000 and len(set(found)) == 2


# ---- timestamps ------------------------------------------------------------------------------------------------------


NANOS = [0, 999, 1_000, -1, -999, -1_001, 1_234_567_890_123_456_789, -1_234_567_890_123_456_789, None]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_nanoseconds_are_kept_or_refused(tmp_path: Path, zone: str | None) -> None:
    path = write(tmp_path / "t.parquet", {"x": pa.array(NANOS, pa.timestamp("ns", zone))})
    type = t.timestamp_of("ns", zone)
    assert footers.parquet_schema([path]) == Schema.of(x=type)
    assert scan(path, x=type)[0] == NANOS
    micros = type.kind.removesuffix("_ns")
    with pytest.raises(SchemaMismatch, match="digits below a microsecond; declare the column timestamp_ns"):
        scan(path, x=t.DataType(micros, zone=zone or ""))
    whole = [n if n is None else n // 1_000 * 1_000 for n in NANOS]
    path = write(tmp_path / "whole.parquet", {"x": pa.array(whole, pa.timestamp("ns", zone))})
    assert scan(path, x=t.DataType(micros, zone=zone or ""))[0] == [n if n is None else n // 1_000 for n in whole]


@pytest.mark.parametrize("unit, factor", [("s", 10**9), ("ms", 10**6), ("us", 10**3)])
def test_other_units_as_nanoseconds(tmp_path: Path, unit: str, factor: int) -> None:
    path = write(tmp_path / "t.parquet", {"x": pa.array([-1, 0, None, 86401], pa.timestamp(unit))})
    assert scan(path, x=t.timestamp_ns)[0] == [-factor, 0, None, 86401 * factor]
    path = write(tmp_path / "far.parquet", {"x": pa.array([2**60 // factor * 1000], pa.timestamp(unit))})
    with pytest.raises(Overflow):
        scan(path, x=t.timestamp_ns)


@pytest.mark.parametrize("type", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")], ids=str)
def test_times(tmp_path: Path, type: pa.DataType) -> None:
    factor = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 1}[type.unit]
    values = [0, 1, None, 86_400_000_000 // factor - 1]
    stored = [v * 1000 if v and type.unit == "ns" else v for v in values]
    path = write(tmp_path / "t.parquet", {"x": pa.array(stored, type)}, row_group_size=1)
    assert footers.parquet_schema([path]) == Schema.of(x=t.time)
    assert scan(path, x=t.time)[0] == [v if v is None else v * factor for v in values]


def test_a_time_below_a_microsecond_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"x": pa.array([1001], pa.time64("ns"))})
    with pytest.raises(SchemaMismatch, match="digits below a microsecond"):
        scan(path, x=t.time)


def test_decimals_of_more_digits_are_read_where_they_fit(tmp_path: Path) -> None:
    fits, far = decimal.Decimal(10**38 - 1).scaleb(-2), decimal.Decimal(10**38).scaleb(-2)
    for values in ([fits, None, -fits], [fits, far]):
        path = write(tmp_path / f"{len(values)}.parquet", {"x": pa.array(values, pa.decimal256(50, 2))})
        assert footers.parquet_schema([path]) == Schema.of(x=t.decimal(38, 2))
        if far in values:
            with pytest.raises(Overflow, match="a decimal has more than 38 digits"):
                scan(path, x=t.decimal(38, 2))
        else:
            assert scan(path, x=t.decimal(38, 2))[0] == [10**38 - 1, None, 1 - 10**38]


def test_int96_is_cut_towards_midnight(tmp_path: Path) -> None:
    """The day's nanoseconds towards midnight, which is not what a cast of nanoseconds since 1970 does."""
    data = pa.table({"x": pa.array(NANOS, pa.timestamp("ns"))})
    path = write(tmp_path / "t.parquet", data, use_deprecated_int96_timestamps=True)
    assert scan(path, x=t.timestamp)[0] == [n // 1000 if n is not None else None for n in NANOS]
    with jumpgate.connect() as connection:
        connection.register("t", path)
        answers = [connection.sql("SELECT x FROM t", offload=mode).to_arrow() for mode in ("never", "always")]
    assert answers[0].schema.field("x").type == pa.timestamp("us")
    assert [a["x"].cast(pa.int64()).to_pylist() for a in answers] == [scan(path, x=t.timestamp)[0]] * 2


def int96(path: Path, *moments: tuple[int, int]) -> str:
    """A file of (Julian day, nanoseconds of it), in place of the values that pyarrow writes."""
    write(path, {"x": pa.array([0] * len(moments), pa.timestamp("ns"))}, use_deprecated_int96_timestamps=True,
          use_dictionary=False, compression="none")  # fmt: skip
    old, new = struct.pack("<qi", 0, 2440588) * len(moments), b"".join(struct.pack("<qI", n, d) for d, n in moments)
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))
    return str(path)


def test_int96_far_from_today(tmp_path: Path) -> None:
    """Beyond what 64 bits of nanoseconds hold; what 64 bits of microseconds do not hold is an error."""
    day = 86_400_000_000
    moments = [(0, 0), (1_721_426, 1), (5_373_484, 86_399_999_999_999), (2_440_588 + 106_751_991, 14_454_775_807_000)]
    path = int96(tmp_path / "t.parquet", *moments)
    expected = [-2_440_588 * day, (1_721_426 - 2_440_588) * day, (5_373_485 - 2_440_588) * day - 1, 2**63 - 1]
    assert scan(path, x=t.timestamp)[0] == expected
    with jumpgate.connect() as connection:
        connection.register("t", path)
        found = connection.sql("SELECT x FROM t", offload="never").to_arrow()
    assert found["x"].cast(pa.int64()).to_pylist() == expected
    late = int96(tmp_path / "late.parquet", (2_440_588 + 106_751_991, 14_454_775_808_000))
    fits_not = r"column 'x': a timestamp does not fit 64 bits in microseconds"
    with pytest.raises(Overflow, match=fits_not):
        scan(late, x=t.timestamp)
    with jumpgate.connect() as connection:
        connection.register("late", late)
        for offload in ("always", "auto", "never"):
            with pytest.raises(Overflow, match=fits_not):
                connection.sql("SELECT max(x) FROM late", offload=offload).to_arrow()


def test_unsigned_integers_of_64_bits_are_decimals(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"x": pa.array([0, 2**63, 2**64 - 1, None, 7], pa.uint64())}, row_group_size=2)
    assert footers.parquet_schema([path]) == Schema.of(x=t.decimal(20))
    found = run(client.read(path).filter(col("x") >= decimal.Decimal(2**63)).sort("x")).to_arrow()["x"]
    assert found.to_pylist() == [decimal.Decimal(2**63), decimal.Decimal(2**64 - 1)]
    assert footers.parquet_footer(path).range("x") == footers.Range(0, 2**64 - 1, 1)


def test_halves_are_floats(tmp_path: Path) -> None:
    numbers = [0.0, -0.0, 1.5, -65504.0, 2**-24, float("inf"), None, float("nan")]
    path = write(tmp_path / "t.parquet", {"x": pa.array(numbers, pa.float16())})
    assert footers.parquet_schema([path]) == Schema.of(x=t.float32)
    for type in (t.float32, t.float64):
        assert list(map(repr, scan(path, x=type)[0])) == list(map(repr, numbers))


def test_a_logical_type_of_a_later_format_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, {"x": [b"a", None], "y": [1, 2]})

    def later(metadata: dict[int, Any]) -> None:
        for element in metadata[2][1][1][1:]:
            element[10] = (STRUCT, {99: (STRUCT, {})})

    rewrite_footer(path, later)
    assert footers.parquet_schema([str(path)]) == Schema.of(x=t.binary, y=t.int64)
    assert scan(str(path), x=t.binary, y=t.int64) == ([b"a", None], [1, 2])


def test_durations_are_no_integers(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"x": pa.array([1], pa.duration("us")), "y": [1]})
    assert footers.parquet_schema([path]) == Schema.of(x=t.duration("us"), y=t.int64)
    assert scan(path, x=t.duration("us"))[0] == [1]


# ---- files of one table ----------------------------------------------------------------------------------------------


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    """Other orders, columns added later, narrower types, and a column that holds nothing yet."""
    files = [
        write(tmp_path / "a.parquet", {"k": pa.array([1, 2], pa.int16()), "s": ["x", None]}),
        write(tmp_path / "b.parquet", {"s": ["y"], "k": pa.array([3], pa.int64()), "f": pa.array([1.5], pa.float32())}),
        write(tmp_path / "c.parquet", {"f": [2.5], "d": [decimal.Decimal("1.25")], "k": [4], "s": pa.nulls(1)}),
        write(tmp_path / "d.parquet", {"d": pa.array([decimal.Decimal("7.50")], pa.decimal128(12, 2)), "k": [5]}),
    ]
    dataflow = client.read(files)
    assert dataflow.schema == Schema.of(k=t.int64, s=t.string, f=t.float64, d=t.decimal(12, 2))
    rows = [
        (1, "x", None, None), (2, None, None, None), (3, "y", 1.5, None), (4, None, 2.5, decimal.Decimal("1.25")),
        (5, None, None, decimal.Decimal("7.50")),
    ]  # fmt: skip
    expected = [dict(zip("ksfd", row, strict=True)) for row in rows]
    assert run(dataflow.sort("k")).to_pylist() == expected
    assert run(dataflow.filter(col("f") > 1.0).sort("k")).to_pylist() == expected[2:4]
    assert run(dataflow.filter(col("s") == "y")).to_pylist() == expected[2:3]
    assert run(dataflow.filter(col("d").is_null(), col("k") > 1).sort("k")).to_pylist() == expected[1:3]
    assert run(dataflow.aggregate(by=["s"], n=client.count(), d=client.sum_("d")).sort("n", "s")).to_pylist() == [
        {"s": "x", "n": 1, "d": None},
        {"s": "y", "n": 1, "d": None},
        {"s": None, "n": 3, "d": decimal.Decimal("8.75")},
    ]


def test_what_a_file_lacks_is_null_only_if_another_has_it(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.parquet", {"x": [1]}), write(tmp_path / "b.parquet", {"x": [2], "y": [3]})
    assert footers.parquet_schema([b, a])[1].type.nullable
    schema = Schema.of(x=t.int64, y=t.int64)
    found = probe.scan("parquet", [a, b], schema, late=[1])
    assert found.columns == ([1, 2], [None, 3])
    pruned = probe.scan("parquet", [a, b], schema, bounds=[(1, "eq", b"3")])
    assert (pruned.columns, pruned.pruned_bytes > 0) == (([2], [3]), True)
    with pytest.raises(SchemaMismatch, match=f"'{a}': column 'y' is not in the file, which has: x"):
        probe.scan("parquet", [a, a], schema)
    assert probe.scan("parquet", [a, a], schema, options={"absent": "null"}).columns == ([1, 1], [None, None])
    assert probe.scan("parquet", [a], Schema.of(y=t.int64), options={"absent": "null"}).columns == ([None],)
    with pytest.raises(SchemaMismatch, match=f"'{a}': column 'y' is not in the file, which has: x"):
        probe.scan("parquet", [a, b], Schema.of(y=t.int64.with_nullable(False)))


@pytest.mark.parametrize(
    ("one", "other"),
    [(pa.int64(), pa.float64()), (pa.decimal128(9, 2), pa.decimal128(9, 3)), (pa.int32(), pa.string())],
)
def test_types_that_hold_not_each_others_values(tmp_path: Path, one: pa.DataType, other: pa.DataType) -> None:
    a = write(tmp_path / "a.parquet", {"x": pa.array([None], one)})
    b = write(tmp_path / "b.parquet", {"x": pa.array([None], other)})
    with pytest.raises(SchemaMismatch, match=f"files of one read differ: '{a}' has x: .*, '{b}' has x: "):
        client.read([a, b])


def test_opaque_columns_may_differ(tmp_path: Path) -> None:
    a = write(tmp_path / "a.parquet", {"x": [[1]], "y": [1]})
    b = write(tmp_path / "b.parquet", {"y": [2], "x": [{"z": 1}]})
    dataflow = client.read([a, b, a])
    assert dataflow.schema == Schema.of(x=t.opaque("list<int64> or struct<z int64>"), y=t.int64)
    assert run(dataflow.select("y").sort("y")).to_arrow()["y"].to_pylist() == [1, 1, 2]


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    data = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    path = write(tmp_path / "t.parquet", data)
    with pytest.raises(InvalidDataflow, match="two columns called 'x' in read"):
        client.read(path)
    with pytest.raises(SchemaMismatch, match=f"'{path}' has two columns called 'x'"):
        client.read([path, write(tmp_path / "u.parquet", {"x": [1]})])


# ---- checksums, encryption, codecs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy"])
def test_checksums_of_pages(tmp_path: Path, version: str, codec: str) -> None:
    data = {"x": list(range(100)), "y": [f"text {i}" for i in range(100)]}
    options: dict[str, Any] = {"use_dictionary": False, "compression": codec, "data_page_version": version}
    path = tmp_path / "t.parquet"
    write(path, data, write_page_checksum=True, **options)
    assert scan(str(path), x=t.int64)[0] == data["x"]
    chunk = pq.read_metadata(path).row_group(0).column(1)
    damaged = bytearray(path.read_bytes())
    damaged[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 1  # the last letter of the last text
    path.write_bytes(damaged)
    assert scan(str(path), x=t.int64)[0] == data["x"]
    with pytest.raises(MalformedData, match=f"'{path}' is damaged or incomplete: column 'y': .*CRC checksum") as e:
        scan(str(path), x=t.int64, y=t.string)
    assert e.value.fields == {"file": str(path), "column": "y"}


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_checksums_of_pages_on_every_road(tmp_path: Path, version: str, nested: bool) -> None:
    """DuckDB does not compare them."""
    texts: list[Any] = [f"text {i % 700}" for i in range(5000)]
    data = {"x": list(range(5000)), "y": [[t, None] for t in texts] if nested else texts, "y.z": texts}
    path = tmp_path / "t.parquet"
    write(path, data, write_page_checksum=True, data_page_version=version, data_page_size=2000, row_group_size=1500)
    groups = [pq.read_metadata(path).row_group(g) for g in range(4)]
    assert pages.with_checksums([str(path)]) == [str(path)]
    assert pages.check([str(path)], ("x", "y", "y.z"), 0) == -1
    whole = path.read_bytes()
    chance = random.Random(7)
    for number, column in enumerate(data):
        chunk = chance.choice(groups).column(number)
        start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
        damaged = bytearray(whole)
        damaged[start + chunk.total_compressed_size - 1 - chance.randrange(20)] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with jumpgate.connect() as connection:
            connection.register("t", path)
            for offload in ("never", "auto", "always"):
                others = ", ".join(f'"{name}"' for name in data if name != column)
                assert connection.sql(f"SELECT {others} FROM t", offload=offload).to_arrow().num_rows == 5000
                with pytest.raises(MalformedData, match=f"column '{column}': .*CRC checksum"):
                    connection.sql(f'SELECT "{column}" FROM t', offload=offload).to_arrow()


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip", "lz4", "brotli"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_codecs(tmp_path: Path, codec: str, version: str) -> None:
    """Of pages smaller and larger than what is read at once, flat and nested ones, of which some rows are left out."""
    chance = random.Random(3)
    data = {
        "i": list(range(40_000)),
        "n": [chance.randrange(10**6) for _ in range(40_000)],
        "f": [chance.random() for _ in range(40_000)],
        "s": [None if i % 7 == 0 else f"text {i % 900}" * (i % 40) for i in range(40_000)],
        "l": [[i, None] if i % 3 else [] for i in range(40_000)],
        "nothing": [None] * 40_000,
    }
    table = pa.table(data | {"nothing": pa.array(data["nothing"], pa.int32())})
    for size in (4000, 1 << 24):
        path = write(
            tmp_path / f"{size}.parquet", table, compression=codec, data_page_version=version, data_page_size=size,
            use_dictionary=["s"], max_rows_per_page=10**6,
        )  # fmt: skip
        found = client.read([path]).filter(col("n") < 300_000)
        answer = sorted(run(found).to_arrow().to_pylist(), key=lambda row: row["i"])
        assert answer == [row for row in table.to_pylist() if row["n"] < 300_000]


def test_files_without_checksums_are_not_looked_into(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"x": [1, 2]})
    assert pages.with_checksums([path, str(tmp_path / "none"), __file__]) == []
    assert pages.check([path], ("x",), 0) == -1


def test_lzo_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, {"x": [1]})

    def to_lzo(metadata: dict[int, Any]) -> None:
        metadata[4][1][1][0][1][1][1][0][3][1][4] = (I32, 3)

    rewrite_footer(path, to_lzo)
    message = f"cannot read Parquet file '{path}': column 'x': it is compressed with LZO"
    with pytest.raises(FileUnreadable, match=message):
        run(client.read(str(path))).to_arrow()


def test_a_footer_with_an_empty_list_of_another_type(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "t.parquet", {"x": [1, 2]}))

    def empty_histogram(metadata: dict[int, Any]) -> None:
        """An empty list, of another type than its field has."""
        metadata[4][1][1][0][1][1][1][0][3][1][16] = (STRUCT, {2: (LIST, (I16, []))})

    rewrite_footer(path, empty_histogram)
    with jumpgate.connect() as connection:
        connection.register("t", path)
        for offload in ("never", "auto", "always"):
            assert connection.sql("SELECT sum(x) AS x FROM t", offload=offload).to_pylist() == [{"x": 3}]


def test_rows_are_those_of_the_row_groups(tmp_path: Path) -> None:
    """Some writers leave the file's own number of rows at zero; then other readers find nothing."""
    path = Path(write(tmp_path / "t.parquet", {"x": [1, 2, 3]}))
    rewrite_footer(path, lambda metadata: metadata.update({3: (I64, 0)}))
    assert pq.ParquetFile(path).metadata.num_rows == 0 and footers.parquet_footer(str(path)).rows == 3
    with jumpgate.connect() as connection:
        connection.register("t", path)
        for offload in ("never", "auto", "always"):
            found = connection.sql("SELECT count(*) AS n, sum(x) AS x FROM t", offload=offload)
            assert found.to_pylist() == [{"n": 3, "x": 6}]
            assert connection.sql("SELECT x FROM t ORDER BY x", offload=offload).to_arrow()["x"].to_pylist() == [
                1,
                2,
                3,
            ]


def test_a_list_that_nobody_began_is_damage(tmp_path: Path) -> None:
    data = pa.table({"x": [[1, 2], [3]]})
    path = Path(write(tmp_path / "t.parquet", data, use_dictionary=False, compression="none"))
    levels = struct.pack("<IBB", 2, 3, 0b010)  # how deep each value continues a list
    damaged = path.read_bytes()
    assert damaged.count(levels) == 1
    path.write_bytes(damaged.replace(levels, struct.pack("<IBB", 2, 3, 0b011)))
    with pytest.raises(MalformedData, match="its first entry continues a list that has not begun"):
        run(client.read(str(path))).to_arrow()


def encrypted(path: Path, plain_footer: bool) -> str:
    """Column `x` under a key of its own."""
    import pyarrow.parquet.encryption as pe

    class Keys(pe.KmsClient):
        def __init__(self, _: Any) -> None:
            pe.KmsClient.__init__(self)

        def wrap_key(self, key: bytes, _: str) -> str:
            import base64

            return base64.b64encode(key).decode()

    configuration = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["x"]}, plaintext_footer=plain_footer)
    factory = pe.CryptoFactory(Keys)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), configuration)
    return write(path, {"x": [1, 2], "y": ["a", "b"]}, encryption_properties=properties)


def test_encrypted_columns(tmp_path: Path) -> None:
    """They are refused by name; those beside them are read, without statistics, and nothing ends the process."""
    path = encrypted(tmp_path / "t.parquet", plain_footer=True)
    dataflow = client.read(path)
    assert dataflow.schema == Schema.of(x=t.int64, y=t.string)
    assert footers.parquet_footer(path).range("y") == footers.Range()
    assert run(dataflow.filter(col("y") != "a").select("y")).to_pylist() == [{"y": "b"}]
    with pytest.raises(FileUnreadable, match=f"cannot read Parquet file '{path}': column 'x': it is encrypted"):
        run(dataflow.filter(col("x") > 1)).to_arrow()


@pytest.mark.parametrize("offload", ["never", "auto", "always"])
def test_encrypted_columns_in_sql(tmp_path: Path, offload: str) -> None:
    """DuckDB does not open such a file, not even for what is plain."""
    with jumpgate.connect(offload=offload) as connection:
        connection.register("t", encrypted(tmp_path / "t.parquet", plain_footer=True))
        assert connection.sql("SELECT y, count(*) AS n FROM t WHERE y > 'a' GROUP BY y").to_pylist() == [
            {"y": "b", "n": 1}
        ]
        with pytest.raises(FileUnreadable, match="column 'x': it is encrypted"):
            connection.sql("SELECT sum(x) FROM t").to_arrow()


def test_an_encrypted_footer(tmp_path: Path) -> None:
    path = encrypted(tmp_path / "t.parquet", plain_footer=False)
    message = f"cannot read Parquet file '{path}': its footer is encrypted, and Jumpgate has no keys"
    with pytest.raises(FileUnreadable, match=message):
        footers.parquet_schema([path])
    with pytest.raises(FileUnreadable, match=message):
        scan(path, x=t.int64)
