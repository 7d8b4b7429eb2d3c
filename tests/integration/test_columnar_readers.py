"""The Parquet and ORC readers against pyarrow and DuckDB: types, layouts, NULLs, late columns, bounds, damage."""

from __future__ import annotations

import datetime
import decimal
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpgate import client
from jumpgate.client import col, run
from jumpgate.converters import footers
from jumpgate.converters.orc import orc_schema
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import Cancelled, DataError, FileUnreadable, InvalidDataflow, MalformedData, SchemaMismatch
from tests.support import probe

EPOCH = datetime.datetime(1970, 1, 1)
ROWS = 5000  # more than two batches

ARROW_TYPES: dict[str, tuple[pa.DataType, DataType]] = {
    "bool": (pa.bool_(), t.bool_),
    "int8": (pa.int8(), t.int8),
    "int16": (pa.int16(), t.int16),
    "int32": (pa.int32(), t.int32),
    "int64": (pa.int64(), t.int64),
    "float32": (pa.float32(), t.float32),
    "float64": (pa.float64(), t.float64),
    "decimal_small": (pa.decimal128(7, 2), t.decimal(7, 2)),
    "decimal_middle": (pa.decimal128(18, 4), t.decimal(18, 4)),
    "decimal_large": (pa.decimal128(38, 10), t.decimal(38, 10)),
    "date": (pa.date32(), t.date),
    "timestamp": (pa.timestamp("us"), t.timestamp),
    "string": (pa.string(), t.string),
    "binary": (pa.binary(), t.binary),
}


def value(name: str, rng: random.Random) -> Any:
    """A value; of few distinct ones, so that dictionaries appear, or of many."""
    few = rng.random() < 0.7
    n = rng.randrange(20) - 10 if few else rng.randrange(-(2**31), 2**31)
    match name:
        case "bool":
            return bool(n & 1)
        case "int8":
            return (n & 0xFF) - 128
        case "int16":
            return (n & 0xFFFF) - 32768
        case "int32":
            return n
        case "int64":
            return n * 4_000_000_007
        case "float32":
            return float(n % 4096) / 8
        case "float64":
            return n / 3
        case "decimal_small":
            return decimal.Decimal(n % 9_999_999).scaleb(-2)
        case "decimal_middle":
            return decimal.Decimal(n * 10_007).scaleb(-4)
        case "decimal_large":
            return decimal.Decimal(n * 10**18 + n).scaleb(-10)
        case "date":
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=n % 40_000 - 20_000)
        case "timestamp":
            return EPOCH + datetime.timedelta(microseconds=n * 1_000_003)
        case "string":
            return "" if n % 7 == 0 else f"värde {n}" * (n % 5 + 1)
        case _:
            return bytes([n & 0xFF, 0, 0xFF]) * (n % 4)


def table(rows: int, nulls: str = "some", seed: int = 0, names: tuple[str, ...] = tuple(ARROW_TYPES)) -> pa.Table:
    rng = random.Random(seed)

    def column(name: str) -> list[Any]:
        absent = {"none": 0.0, "some": 0.1, "runs": 0.5, "all": 1.0}[nulls]
        out: list[Any] = []
        while len(out) < rows:
            run = rng.randrange(1, 200) if nulls == "runs" else 1
            gone = rng.random() < absent
            out.extend(None if gone else value(name, rng) for _ in range(run))
        return out[:rows]

    return pa.table({n: pa.array(column(n), ARROW_TYPES[n][0]) for n in names})


def physical(array: pa.ChunkedArray, type_: DataType) -> list[Any]:
    def one(v: Any) -> Any:
        if v is None:
            return None
        match type_.kind:
            case "decimal":
                return int(v.scaleb(type_.scale, decimal.Context(prec=60)))
            case "date":
                return (v - EPOCH.date()).days
            case "timestamp":
                return (v - EPOCH) // datetime.timedelta(microseconds=1)
            case "string":
                return v.encode()
        return v

    return [one(v) for v in array.to_pylist()]


def schema_of(data: pa.Table) -> Schema:
    return Schema(tuple(Field(n, ARROW_TYPES[n][1]) for n in data.column_names))


def write(path: Path, data: pa.Table, **options: Any) -> str:
    if path.suffix == ".orc":
        orc.write_table(data, path, **options)
    else:
        pq.write_table(data, path, **options)
    return str(path)


def check(files: list[str], data: pa.Table, **how: Any) -> probe.Scan:
    """A scan of all columns equals `data`; returns the scan."""
    schema = schema_of(data)
    scan = probe.scan(Path(files[0]).suffix[1:], files, schema, **how)
    assert scan.rows == data.num_rows
    for i, f in enumerate(schema):
        assert scan.columns[i] == physical(data[f.name], f.type), f.name
    return scan


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
@pytest.mark.parametrize("nulls", ["none", "some", "runs", "all"])
@pytest.mark.parametrize("rows", [0, 1, 2047, 2048, ROWS])
def test_every_type(tmp_path: Path, suffix: str, nulls: str, rows: int) -> None:
    data = table(rows, nulls)
    path = write(tmp_path / f"t.{suffix}", data)
    check([path], data)
    infer = footers.parquet_schema if suffix == "parquet" else orc_schema
    assert infer([path]) == schema_of(data)


PARQUET_OPTIONS: list[dict[str, Any]] = [
    {"compression": codec, "data_page_version": version}
    for codec in ("none", "snappy", "zstd", "gzip", "lz4", "brotli")
    for version in ("1.0", "2.0")
] + [
    {"use_dictionary": False},
    {"use_dictionary": False, "data_page_size": 512, "write_batch_size": 64},
    {"use_dictionary": True, "dictionary_pagesize_limit": 200, "data_page_size": 1000, "write_batch_size": 64},
    {"use_dictionary": True, "data_page_size": 300, "write_batch_size": 32, "data_page_version": "2.0"},
    {"row_group_size": 777},
    {"store_decimal_as_integer": True},
    {"version": "1.0"},
]


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("options", PARQUET_OPTIONS, ids=str)
@pytest.mark.parametrize("nulls", ["none", "runs"])
def test_parquet_layouts(tmp_path: Path, options: dict[str, Any], nulls: str) -> None:
    data = table(ROWS, nulls)
    path = write(tmp_path / "t.parquet", data, **options)
    check([path], data)
    check([path], data, late=range(len(data.column_names)))


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("DELTA_BINARY_PACKED", ("int8", "int16", "int32", "int64", "date", "timestamp")),
        ("DELTA_LENGTH_BYTE_ARRAY", ("string", "binary")),
        ("DELTA_BYTE_ARRAY", ("string", "binary", "decimal_large")),
        ("BYTE_STREAM_SPLIT", ("int32", "int64", "float32", "float64", "decimal_small")),
        ("PLAIN", ("int32", "float64", "string", "decimal_middle", "bool")),
        ("RLE", ("bool",)),
    ],
)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_parquet_encodings(tmp_path: Path, encoding: str, names: tuple[str, ...], version: str) -> None:
    data = table(ROWS, "some", names=names)
    path = write(
        tmp_path / "t.parquet",
        data,
        use_dictionary=False,
        column_encoding=dict.fromkeys(names, encoding),
        data_page_version=version,
        data_page_size=2000,
        write_batch_size=100,
    )
    used = {e for i in range(len(names)) for e in pq.read_metadata(path).row_group(0).column(i).encodings}
    assert encoding in used
    check([path], data)
    select = every(7)
    compare_selected(path, data, select, late=tuple(range(len(names))))


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "zstd", "zlib", "lz4"])
@pytest.mark.parametrize("nulls", ["none", "runs"])
def test_orc_layouts(tmp_path: Path, codec: str, nulls: str) -> None:
    data = table(ROWS, nulls)
    for options in (
        {"dictionary_key_size_threshold": 1.0},
        {"stripe_size": 4096, "batch_size": 500},
        {"file_version": "0.11"},  # integers in the older run-length encoding
        {"compression_block_size": 131072},
    ):
        path = write(tmp_path / "t.orc", data, compression=codec, **options)
        check([path], data)
        check([path], data, late=range(len(data.column_names)))


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "zlib"])
@pytest.mark.parametrize("nulls", ["none", "some", "runs", "all"])
def test_orc_row_index_seeks(tmp_path: Path, codec: str, nulls: str) -> None:
    """Every fourth batch, of row groups shorter and longer than a batch, of every encoding."""
    data = table(18_000, nulls)
    for options in (
        {"row_index_stride": 1000},
        {"row_index_stride": 3000, "dictionary_key_size_threshold": 1.0},
        {"row_index_stride": 1500, "file_version": "0.11"},
    ):
        path = write(tmp_path / "t.orc", data, compression=codec, **options)
        batch = 0

        def some(rows: int) -> list[int]:
            nonlocal batch
            batch += 1
            return list(range(0, rows, 50)) if batch % 4 == 0 else []

        compare_selected(path, data, some, late=tuple(range(len(data.column_names))))


@pytest.mark.parametrize("codec", ["uncompressed", "snappy"])
def test_orc_morsels_in_a_stripe_do_not_read_what_lies_before(tmp_path: Path, codec: str) -> None:
    rng = random.Random(3)
    numbers = [rng.randrange(2**60) if rng.random() < 0.9 else None for _ in range(140_000)]
    data = pa.table({"int64": pa.array(numbers, pa.int64())})
    path = write(tmp_path / "t.orc", data, compression=codec, row_index_stride=10_000)
    assert orc.ORCFile(path).nstripes == 1
    scans = [probe.scan("orc", [path], schema_of(data), share=(i, 2)) for i in range(2)]
    assert scans[0].columns[0] + scans[1].columns[0] == numbers
    assert scans[1].bytes < 0.6 * Path(path).stat().st_size
    threads = probe.scan("orc", [path], schema_of(data), threads=2)
    assert sorted(threads.columns[0], key=str) == sorted(numbers, key=str)


def test_duckdb_files(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    duckdb.sql(
        "select i::tinyint a, (i * 3)::smallint b, i::integer c, i::bigint * 8589934592 d, "
        "(i / 7.0)::float e, i::double f, (i / 100)::decimal(9, 3) g, i::decimal(30, 5) h, "
        "date '1992-01-01' + i::integer j, timestamp '2001-02-03 04:05:06.789' + interval (i) second k, "
        "'text ' || i l, (i % 3 = 0) m, case when i % 5 > 0 then i::integer end n from range(-100, 101) t(i)"
    ).write_parquet(str(path))
    schema = footers.parquet_schema([str(path)])
    assert [str(f.type) for f in schema] == [
        "int8?",
        "int16?",
        "int32?",
        "int64?",
        "float32?",
        "float64?",
        "decimal(9, 3)?",
        "decimal(30, 5)?",
        "date?",
        "timestamp?",
        "string?",
        "bool?",
        "int32?",
    ]
    expected = duckdb.sql(f"select * from '{path}'").to_arrow_table()
    scan = probe.scan("parquet", [str(path)], schema)
    for i, f in enumerate(schema):
        assert scan.columns[i] == physical(expected[f.name], f.type), f.name


def every(step: int) -> Any:
    return lambda rows: list(range(0, rows, step))


def compare_selected(path: str, data: pa.Table, select: Any, late: tuple[int, ...], batch: int = 2048) -> None:
    """Late columns of the selected rows equal `data`'s; batches are recovered from the sizes that `select` saw."""
    taken: list[int] = []
    start = 0

    def remember(rows: int) -> list[int]:
        nonlocal start
        chosen: list[int] = select(rows)
        taken.extend(start + r for r in chosen)
        start += rows
        return chosen

    schema = schema_of(data)
    scan = probe.scan(Path(path).suffix[1:], [path], schema, late=late, select=remember)
    assert start == data.num_rows
    expected = data.take(pa.array(taken, pa.int64()))
    for i, f in enumerate(schema):
        assert scan.columns[i] == physical(expected[f.name], f.type), f.name


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_late_columns(tmp_path: Path, data: st.DataObject) -> None:
    """Random selections, many of them empty, over random layouts: late columns hold what the file holds."""
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    rows = data.draw(st.sampled_from([1, 500, 3000, 9000]))
    names = tuple(rng.sample(list(ARROW_TYPES), 3))
    table_ = table(rows, rng.choice(["none", "some", "runs", "all"]), rng.randrange(1000), names)
    if data.draw(st.booleans()):
        path = write(
            tmp_path / "t.orc",
            table_,
            stripe_size=rng.choice([2048, 1 << 20]),
            compression="snappy",
            row_index_stride=rng.choice([700, 10_000]),
            dictionary_key_size_threshold=rng.choice([0.0, 1.0]),
        )
    else:
        path = write(
            tmp_path / "t.parquet",
            table_,
            row_group_size=rng.choice([300, 4000, 100_000]),
            data_page_size=rng.choice([100, 4000, 1 << 20]),
            write_batch_size=rng.choice([16, 1024]),
            use_dictionary=rng.random() < 0.5,
            data_page_version=rng.choice(["1.0", "2.0"]),
        )
    density = rng.choice([0.001, 0.05, 0.2, 0.3, 0.9, 1.0])  # around that from which on all are decoded

    def select(batch_rows: int) -> list[int]:
        if rng.random() < 0.4:
            return []
        return [r for r in range(batch_rows) if rng.random() < density]

    compare_selected(path, table_, select, late=tuple(i for i in range(3) if rng.random() < 0.7))


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_many_files_shares_and_threads(tmp_path: Path, suffix: str) -> None:
    """Shares of siblings are disjoint and complete, however many threads each has."""
    names = ("int64", "string")
    parts = [table(rows, "some", seed, names) for seed, rows in enumerate((0, 1, 150_000, 4000))]
    files = [write(tmp_path / f"{i}.{suffix}", part) for i, part in enumerate(parts)]
    everything = pa.concat_tables(parts)
    check(files, everything)
    schema = schema_of(everything)
    expected = sorted(zip(*(physical(everything[f.name], f.type) for f in schema), strict=True), key=repr)
    for count in (1, 3):
        rows: list[tuple[Any, ...]] = []
        for index in range(count):
            scan = probe.scan(suffix, files, schema, share=(index, count), threads=index + 1)
            rows.extend(zip(*scan.columns, strict=True))
        assert sorted(rows, key=repr) == expected


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_no_columns_count_rows(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"t.{suffix}", table(ROWS, names=("int64",)))
    assert probe.scan(suffix, [path], Schema(())).rows == ROWS


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_unwanted_late_columns_are_not_read(tmp_path: Path, suffix: str) -> None:
    data = table(ROWS, "none", names=("int32", "string"))
    path = write(tmp_path / f"t.{suffix}", data)
    whole = probe.scan(suffix, [path], schema_of(data)).bytes
    early = probe.scan(suffix, [path], schema_of(data), late=(1,), select=lambda _rows: [])
    assert early.rows == ROWS
    assert 0 < early.bytes < whole


def test_parquet_bounds_skip_row_groups(tmp_path: Path) -> None:
    names = [n for n in ARROW_TYPES if n not in ("bool", "binary", "decimal_large")]
    data = pa.table(
        {n: pa.array([None if i % 100 == 7 else ordered(n, i) for i in range(4000)], ARROW_TYPES[n][0]) for n in names}
    )
    path = write(tmp_path / "t.parquet", data, row_group_size=1000, store_decimal_as_integer=True)
    schema = schema_of(data)
    for i, f in enumerate(schema):
        values = physical(data[f.name], f.type)
        middle = values[1500]
        for op, keeps in {
            "eq": lambda v, m: v == m,
            "lt": lambda v, m: v < m,
            "le": lambda v, m: v <= m,
            "gt": lambda v, m: v > m,
            "ge": lambda v, m: v >= m,
        }.items():
            text = middle if isinstance(middle, bytes) else str(middle).encode()
            scan = probe.scan("parquet", [path], schema, bounds=[(i, op, text)])
            kept = [v for v in scan.columns[i] if v is not None and keeps(v, middle)]
            assert kept == [v for v in values if v is not None and keeps(v, middle)], (f.name, op)
            floats = f.type.is_float and op in ("gt", "ge")  # NaN, which statistics leave out, is above every number
            assert (scan.pruned_bytes > 0) != floats, (f.name, op)
            assert scan.rows < 4000 or floats, (f.name, op)


def ordered(name: str, i: int) -> Any:
    """Values that grow with i."""
    match name:
        case "int8":
            return i // 20 - 100
        case "decimal_small" | "decimal_middle":
            return decimal.Decimal(i - 2000).scaleb(-2)
        case "date":
            return datetime.date(1960, 1, 1) + datetime.timedelta(days=i)
        case "timestamp":
            return EPOCH + datetime.timedelta(seconds=i - 2000)
        case "string":
            return f"{i:05}"
        case "float32" | "float64":
            return i / 4
    return i - 2000


def test_orc_bounds_skip_stripes(tmp_path: Path) -> None:
    names = ("int32", "date", "string", "float64")
    data = pa.table({n: pa.array([ordered(n, i) for i in range(4000)], ARROW_TYPES[n][0]) for n in names})
    path = write(tmp_path / "t.orc", data, stripe_size=1024, batch_size=500)
    assert orc.ORCFile(path).nstripes > 2
    for i, f in enumerate(schema_of(data)):
        values = physical(data[f.name], f.type)
        low, high = values[1000], values[1100]
        bounds = [(i, op, v if isinstance(v, bytes) else str(v).encode()) for op, v in (("ge", low), ("lt", high))]
        scan = probe.scan("orc", [path], schema_of(data), bounds=bounds)
        assert [v for v in scan.columns[i] if low <= v < high] == values[1000:1100], f.name
        assert 100 <= scan.rows < 4000
        assert scan.pruned_bytes > 0


def test_orc_patched_integers(tmp_path: Path) -> None:
    """Mostly small values with a few huge ones are stored as a base with patches."""
    rng = random.Random(3)
    for spread in (8, 20, 40, 62):
        values = [rng.randrange(100) + (rng.randrange(1 << spread) if rng.random() < 0.03 else 0) for _ in range(ROWS)]
        data = pa.table({"int64": pa.array([v - 50 for v in values], pa.int64())})
        check([write(tmp_path / "t.orc", data)], data)


def test_parquet_bounds_without_statistics_skip_nothing(tmp_path: Path) -> None:
    data = table(ROWS, names=("int64",))
    path = write(tmp_path / "t.parquet", data, write_statistics=False)
    assert check([path], data, bounds=[(0, "gt", b"9223372036854775807")]).pruned_bytes == 0


def test_parquet_bounds_skip_groups_of_nulls(tmp_path: Path) -> None:
    data = table(ROWS, "all", names=("int64",))
    path = write(tmp_path / "t.parquet", data)
    assert probe.scan("parquet", [path], schema_of(data), bounds=[(0, "eq", b"1")]).rows == 0


@pytest.mark.parametrize("bound", [b"", b"-", b"1e5", b"99999999999999999999999999999999999999999"])
def test_unreadable_bounds_skip_nothing(tmp_path: Path, bound: bytes) -> None:
    data = table(10, names=("int64",))
    check([write(tmp_path / "t.parquet", data)], data, bounds=[(0, "lt", bound)])


WIDENED = [
    (pa.int8(), t.int16),
    (pa.int8(), t.int64),
    (pa.int16(), t.int32),
    (pa.int32(), t.int64),
    (pa.float32(), t.float64),
    (pa.decimal128(7, 2), t.decimal(9, 2)),
    (pa.decimal128(7, 2), t.decimal(30, 2)),
]
UNSIGNED = [(pa.uint8(), t.int16), (pa.uint16(), t.int32), (pa.uint32(), t.int64)]


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
@pytest.mark.parametrize(("found", "declared"), WIDENED + UNSIGNED, ids=str)
def test_widening(tmp_path: Path, suffix: str, found: pa.DataType, declared: DataType) -> None:
    if suffix == "orc" and pa.types.is_unsigned_integer(found):
        return
    top = {8: 127, 16: 32767, 32: 2**31 - 1}.get(getattr(found, "bit_width", 0), 100)
    if pa.types.is_unsigned_integer(found):
        top = 2**found.bit_width - 1
    if pa.types.is_floating(found) or pa.types.is_decimal(found):
        top = 100
    values = [1, None, top, 0]
    given_ = [decimal.Decimal(v) if pa.types.is_decimal(found) and v is not None else v for v in values]
    array = pa.array(given_, found)
    path = write(tmp_path / f"t.{suffix}", pa.table({"c": array}))
    scan = probe.scan(suffix, [path], Schema((Field("c", declared),)))
    scale = 10**declared.scale
    assert scan.columns[0] == [None if v is None else v * scale for v in values]


MISMATCHED = [
    (pa.int64(), t.int32),
    (pa.int32(), t.int16),
    (pa.int64(), t.float64),
    (pa.float64(), t.float32),
    (pa.string(), t.binary),
    (pa.binary(), t.string),
    (pa.decimal128(9, 2), t.decimal(7, 2)),
    (pa.decimal128(7, 2), t.decimal(7, 3)),
    (pa.date32(), t.int32),
    (pa.timestamp("us"), t.int64),
    (pa.bool_(), t.int8),
    (pa.string(), t.int64),
    (pa.list_(pa.int64()), t.int64),
    (pa.struct([("a", pa.int64())]), t.int64),
]


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
@pytest.mark.parametrize(("found", "declared"), MISMATCHED, ids=str)
def test_wrong_type(tmp_path: Path, suffix: str, found: pa.DataType, declared: DataType) -> None:
    path = write(tmp_path / f"t.{suffix}", pa.table({"c": pa.array([None, None], found)}))
    with pytest.raises(SchemaMismatch) as e:
        probe.scan(suffix, [path], Schema((Field("c", declared),)))
    assert path in e.value.message
    assert f"column 'c' is declared {declared.with_nullable(False)}, but the file holds" in e.value.message


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_missing_column(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"t.{suffix}", table(3, names=("int64", "string")))
    with pytest.raises(SchemaMismatch, match="column 'Int64' is not in the file, which has: int64, string"):
        probe.scan(suffix, [path], Schema((Field("Int64", t.int64),)))


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
@pytest.mark.parametrize("late", [(), (0,)])
def test_unexpected_null(tmp_path: Path, suffix: str, late: tuple[int, ...]) -> None:
    path = write(tmp_path / f"t.{suffix}", table(100, names=("int64",)))
    with pytest.raises(SchemaMismatch, match="column 'int64' is declared without NULLs"):
        probe.scan(suffix, [path], Schema((Field("int64", t.int64.with_nullable(False)),)), late=late)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("suffix", ["parquet", "orc"])
@pytest.mark.parametrize("int96", [False, True])
def test_timestamp_units(tmp_path: Path, suffix: str, unit: str, int96: bool) -> None:
    moments = [EPOCH, None, datetime.datetime(1969, 12, 31, 23, 59, 59), datetime.datetime(2038, 1, 19, 3, 14, 8)]
    data = pa.table({"timestamp": pa.array(moments, pa.timestamp(unit))})
    if suffix == "orc":
        check([write(tmp_path / "t.orc", data)], data)
    else:
        check([write(tmp_path / "t.parquet", data, use_deprecated_int96_timestamps=int96)], data)


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_missing_file(tmp_path: Path, suffix: str) -> None:
    path = str(tmp_path / f"none.{suffix}")
    for read in (
        lambda: probe.scan(suffix, [path], Schema((Field("a", t.int64),))),
        lambda: footers.parquet_schema([path]),
        lambda: orc_schema([path]),
    ):
        with pytest.raises(FileUnreadable, match="No such file") as e:
            read()
        assert path in e.value.message


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_truncated(tmp_path: Path, suffix: str) -> None:
    """However much is cut off, the answer is one error that names the file."""
    data = table(2000, "some")
    whole = Path(write(tmp_path / f"t.{suffix}", data)).read_bytes()
    path = tmp_path / f"cut.{suffix}"
    for keep in [0, 1, 4, 8, 100, *range(1000, len(whole), len(whole) // 20), len(whole) - 1]:
        path.write_bytes(whole[:keep])
        with pytest.raises(MalformedData) as e:
            probe.scan(suffix, [str(path)], schema_of(data))
        assert str(path) in e.value.message


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_damaged(tmp_path: Path, suffix: str) -> None:
    """Flipped bytes give an error or other values, never a crash."""
    rng = random.Random(5)
    data = table(3000, "some")
    whole = Path(write(tmp_path / f"t.{suffix}", data)).read_bytes()
    path = tmp_path / f"bad.{suffix}"
    failures = 0
    for round_ in range(150):
        damaged = bytearray(whole)
        for _ in range(rng.choice([1, 3, 30])):
            tail = min(len(whole), 600)
            at = len(whole) - 1 - rng.randrange(tail) if round_ % 3 == 0 else rng.randrange(len(whole))
            damaged[at] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            probe.scan(suffix, [str(path)], schema_of(data), late=(3, 12), select=every(5))
        except DataError as e:
            failures += 1
            assert str(path) in e.message
    assert failures > 20


def test_files_of_one_read_must_agree(tmp_path: Path) -> None:
    for suffix, infer in (("parquet", footers.parquet_schema), ("orc", orc_schema)):
        a = write(tmp_path / f"a.{suffix}", pa.table({"x": [1], "y": ["a"]}))
        b = write(tmp_path / f"b.{suffix}", pa.table({"x": [1], "y": [2]}))
        with pytest.raises(SchemaMismatch, match=f"'{a}' has y: string, '{b}' has y: int64. Read them separately"):
            infer([a, b])


def test_footer_facts(tmp_path: Path) -> None:
    data = pa.table(
        {
            "d": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal128(9, 2)),
            "s": ["b", "a", "c"],
            "l": [[1], [2], [3]],
        }
    )
    footer = footers.parquet_footer(write(tmp_path / "t.parquet", data))
    assert footer.rows == 3
    assert footer.schema.names == ("d", "s", "l")
    assert footer.range("d") == footers.Range(-225, 150, 1)
    assert footer.range("s") == footers.Range(b"a", b"c", 0)
    assert footer.column_bytes["s"] > 0
    write(tmp_path / "t.parquet", data.slice(0, 1))
    assert footers.parquet_footer(str(tmp_path / "t.parquet")).rows == 1


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_cancel(tmp_path: Path, suffix: str) -> None:
    data = table(ROWS, names=("int64",))
    path = write(tmp_path / f"t.{suffix}", data)
    with pytest.raises(Cancelled):
        probe.scan(suffix, [path], schema_of(data), cancel_after=1)


def test_columns_without_a_type_do_no_harm_beside_others(tmp_path: Path) -> None:
    """They are in the schema, cost nothing where they are not needed, and are refused by name where they are."""
    deep = pa.array([[None], None], pa.list_(pa.null()))
    data = pa.table({"deep": deep, "a": [1, 2], "none": pa.nulls(2), "b": ["x", "y"]})
    dataflow = client.read(write(tmp_path / "t.parquet", data))
    assert dataflow.schema.names == ("deep", "a", "none", "b")
    assert run(dataflow.filter(col("a") > 1).select("b", "a")).to_pylist() == [{"b": "y", "a": 2}]
    assert run(dataflow.aggregate(n=client.count())).to_pylist() == [{"n": 2}]
    with pytest.raises(InvalidDataflow, match=r"column 'deep' is a list<null>.*column 'none' is a null"):
        run(dataflow).to_arrow()
