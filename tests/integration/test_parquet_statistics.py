"""Row groups are skipped only by statistics that can be believed: with and without skipping, the same rows."""

from __future__ import annotations

import datetime
import decimal
import operator
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datafusion
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.client import col, read, run
from jumpgate.converters import footers
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Schema
from tests.support import probe
from tests.support.thrift import rewrite_footer

BINARY, BOOL, I64, STRUCT = 8, 1, 6, 12
#: fields of parquet.thrift's Statistics: the old bounds, which name no order, and the new ones
OLD_MAX, OLD_MIN, NULLS, MAX, MIN, MAX_IS_EXACT, MIN_IS_EXACT = 1, 2, 3, 5, 6, 7, 8
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def restate(
    path: Path, change: Callable[[dict[int, Any]], None], created_by: str | None = "", ordered: bool = True
) -> None:
    """Changes the statistics of every column chunk; another writer's name (None: no name), without column orders."""

    def footer(metadata: dict[int, Any]) -> None:
        for group in metadata[4][1][1]:
            for chunk in group[1][1][1]:
                of_chunk = chunk[3][1]
                statistics = of_chunk.get(12, (STRUCT, {}))[1]
                change(statistics)
                of_chunk[12] = (STRUCT, statistics)
        if created_by is None:
            del metadata[6]
        elif created_by:
            metadata[6] = (BINARY, created_by.encode())
        if not ordered:
            del metadata[7]

    rewrite_footer(path, footer)


def bounds(low: bytes, high: bytes, old: bool = False) -> Callable[[dict[int, Any]], None]:
    def change(statistics: dict[int, Any]) -> None:
        for field in (OLD_MAX, OLD_MIN, MAX, MIN):
            statistics.pop(field, None)
        statistics[OLD_MIN if old else MIN] = (BINARY, low)
        statistics[OLD_MAX if old else MAX] = (BINARY, high)

    return change


def write(path: Path, values: list[Any], type: pa.DataType, **options: Any) -> Path:
    pq.write_table(pa.table({"x": pa.array(values, type)}), path, **options)
    return path


def found(path: Path, op: str, value: Any, type: t.DataType) -> list[Any]:
    text = value if isinstance(value, bytes) else str(value).encode()
    return probe.scan("parquet", [str(path)], Schema.of(x=type), bounds=[(0, op, text)]).columns[0]


def little(format: str, *values: Any) -> tuple[bytes, ...]:
    return tuple(struct.pack(f"<{format}", v) for v in values)


NAN = float("nan")
UNTRUSTED: dict[str, tuple[list[Any], pa.DataType, t.DataType, Any, dict[str, Any], tuple[str, Any]]] = {
    "NaN as both bounds": ([1.0, 5.0], pa.float64(), t.float64, bounds(*little("d", NAN, NAN)), {}, ("lt", 3.0)),
    "NaN as the minimum": ([1.0, 5.0], pa.float32(), t.float32, bounds(*little("f", NAN, 5)), {}, ("eq", 1.0)),
    "NaN as the maximum": ([1.0, 5.0], pa.float64(), t.float64, bounds(*little("d", 2, NAN)), {}, ("eq", 1.0)),
    "bounds the wrong way round": ([1, 5], pa.int64(), t.int64, bounds(*little("q", 5, 1)), {}, ("eq", 3)),
    "bounds of another width": ([1, 5], pa.int64(), t.int64, bounds(b"\1\0", b"\2\0"), {}, ("eq", 3)),
    "bounds of no width": ([1, 5], pa.int32(), t.int32, bounds(b"", b""), {}, ("eq", 3)),
    "texts in signed order": (
        ["é", "a", "z"],
        pa.string(),
        t.string,
        bounds("é".encode(), b"a", old=True),
        {"created_by": "impala version 2.6.0", "ordered": False},
        ("eq", b"z"),
    ),
    "old texts of nobody": (
        ["a", "m", "z"],
        pa.string(),
        t.string,
        bounds(b"b", b"c", old=True),
        {"created_by": None, "ordered": False},
        ("eq", b"z"),
    ),
    "PARQUET-251": (
        ["a", "m", "z"],
        pa.string(),
        t.string,
        bounds(b"m", b"m", old=True),
        {"created_by": "parquet-mr version 1.6.0", "ordered": False},
        ("eq", b"z"),
    ),
    "unsigned in signed order": (
        [1, 2**31 + 1],
        pa.uint32(),
        t.int64,
        bounds(*little("I", 2**31 + 1, 1), old=True),
        {"created_by": "parquet-cpp version 1.0.0", "ordered": False},
        ("eq", 2**31 + 1),
    ),
    "an order of a later format": (
        [1.0, 5.0],
        pa.float64(),
        t.float64,
        bounds(*little("d", 2, 3)),
        {"order": 99},
        ("eq", 5.0),
    ),
}  # fmt: skip


def misled(path: Path, name: str) -> list[Any]:
    """Writes the file of that name in UNTRUSTED; returns its values."""
    values, arrow, _, change, how, _ = UNTRUSTED[name]
    write(path, values, arrow)
    order = how.get("order")
    restate(path, change, **{k: v for k, v in how.items() if k != "order"})
    if order is not None:
        rewrite_footer(path, lambda m: m[7][1][1].__setitem__(0, {order: (STRUCT, {})}))
    return values


@pytest.mark.parametrize("name", UNTRUSTED)
def test_bounds_that_are_not_to_be_believed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.parquet"
    values = misled(path, name)
    op, value = UNTRUSTED[name][-1]
    wanted = [v.encode() if isinstance(v, str) else v for v in values]
    assert found(path, op, value, UNTRUSTED[name][2]) == wanted
    if "width" not in name:  # pyarrow, which the planner asks, ends the process
        told = footers.parquet_footer(str(path)).range("x")
        assert (told.low, told.high) == (None, None)


@pytest.mark.parametrize("name", [name for name in UNTRUSTED if "width" not in name])
@pytest.mark.parametrize("offload", ["never", "always"])
def test_neither_road_believes_them(tmp_path: Path, name: str, offload: str) -> None:
    values = misled(tmp_path / "t.parquet", name)
    op, value = UNTRUSTED[name][-1]
    text = value.decode() if isinstance(value, bytes) else value
    with jumpgate.connect(offload=offload) as connection:
        connection.register("t", str(tmp_path / "t.parquet"))
        sign = {"eq": "=", "lt": "<"}[op]
        answer = connection.sql(f"SELECT x FROM t WHERE x {sign} $1", [text]).to_arrow()["x"].to_pylist()
        assert answer == [v for v in values if COMPARE[op](v, text)]
        assert connection.sql("SELECT max(x) AS x FROM t").to_arrow()["x"].to_pylist() == [max(values)]


def test_bounds_that_are_to_be_believed(tmp_path: Path) -> None:
    """Old ones of signed numbers, and truncated ones: wider than the values, but bounds."""
    numbers = write(tmp_path / "numbers.parquet", [-5, 7], pa.int64())
    restate(numbers, bounds(*little("q", -5, 7), old=True), created_by="impala version 2.6.0", ordered=False)
    assert found(numbers, "gt", 7, t.int64) == []
    assert found(numbers, "ge", 7, t.int64) == [-5, 7]
    assert footers.parquet_footer(str(numbers)).range("x") == footers.Range(-5, 7, 0)

    def cut(statistics: dict[int, Any]) -> None:
        bounds(b"ab", b"ac")(statistics)
        statistics[MAX_IS_EXACT] = statistics[MIN_IS_EXACT] = (BOOL, False)

    texts = write(tmp_path / "texts.parquet", ["abc", "abz"], pa.string())
    restate(texts, cut)
    assert found(texts, "eq", b"abq", t.string) == [b"abc", b"abz"]
    assert found(texts, "ge", b"ad", t.string) == []


@pytest.mark.parametrize(("stored", "bound"), [(-0.0, 0.0), (0.0, -0.0)])
def test_a_zero_has_no_sign(tmp_path: Path, stored: float, bound: float) -> None:
    path = write(tmp_path / "t.parquet", [stored], pa.float64())
    restate(path, bounds(*little("d", bound, bound)))
    for op in ("eq", "le", "ge"):
        assert found(path, op, stored, t.float64) == [stored]
        assert found(path, op, bound, t.float64) == [stored]


def test_a_missing_count_of_nulls(tmp_path: Path) -> None:
    """Without it nobody says that all rows are NULL; with it, they need not be read."""
    path = write(tmp_path / "t.parquet", [None, 1], pa.int64())
    restate(path, lambda statistics: [statistics.pop(f, None) for f in (OLD_MIN, OLD_MAX, MIN, MAX, NULLS)])
    assert found(path, "eq", 1, t.int64) == [None, 1]
    assert footers.parquet_footer(str(path)).range("x") == footers.Range()
    restate(path, lambda statistics: statistics.update({NULLS: (I64, 2)}))
    assert found(path, "eq", 1, t.int64) == []


def test_row_groups_without_rows(tmp_path: Path) -> None:
    schema = pa.schema([("x", pa.int64())])
    with pq.ParquetWriter(tmp_path / "t.parquet", schema) as writer:
        for values in ([], [1, 2], [], [5]):
            writer.write_table(pa.table({"x": values}, schema))
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 4
    assert found(tmp_path / "t.parquet", "ge", 3, t.int64) == [5]
    assert footers.parquet_footer(str(tmp_path / "t.parquet")).range("x") == footers.Range(1, 5, 0)


def test_a_bound_of_any_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", [b"\xff", b"a", b"\x00\xfe"], pa.binary())
    for value in (b"\xff", b"a", b"\x00\xfe"):
        assert run(read(str(path)).filter(col("x") == value)).to_pylist() == [{"x": value}]


def test_moments_below_the_unit(tmp_path: Path) -> None:
    moments = [-1_000_000_001, -999, 0, 999, 1_000_001]
    path = write(tmp_path / "t.parquet", moments, pa.timestamp("ns"), row_group_size=1)
    for op, compare in COMPARE.items():
        for bound in (*moments, -1, 1):
            kept = [m for m in found(path, op, bound, t.timestamp_ns) if compare(m, bound)]
            assert kept == [m for m in moments if compare(m, bound)], (op, bound)


@pytest.mark.parametrize("type, wanted, factor", [
    (pa.timestamp("ms"), t.timestamp_ns, 1_000_000), (pa.timestamp("us", "UTC"), t.timestamptz_ns(), 1000),
    (pa.time32("ms"), t.time, 1000), (pa.time64("us"), t.time, 1), (pa.duration("s"), t.duration("s"), 1),
], ids=str)  # fmt: skip
def test_row_groups_are_skipped_in_the_declared_unit(
    tmp_path: Path, type: pa.DataType, wanted: t.DataType, factor: int
) -> None:
    path = write(tmp_path / "t.parquet", [5, 6, 7], type, row_group_size=1)
    assert found(path, "eq", 6 * factor, wanted) == [6 * factor]


# ---- as a property ---------------------------------------------------------------------------------------------------

EPOCH = datetime.datetime(1970, 1, 1)
TYPES: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "i8": (pa.int8(), lambda n: (n + 128) % 256 - 128),
    "i32": (pa.int32(), lambda n: n * 100_003 % 2**32 - 2**31),
    "i64": (pa.int64(), lambda n: n * 10**15),
    "u8": (pa.uint8(), lambda n: n % 256),
    "u32": (pa.uint32(), lambda n: n * 100_003 % 2**32),
    "f32": (pa.float32(), lambda n: (NAN, -0.0, 0.0, float("inf"))[n % 4] if n % 5 == 0 else n / 4),
    "f64": (pa.float64(), lambda n: (NAN, -0.0, 0.0, float("-inf"))[n % 4] if n % 5 == 0 else n / 4),
    "dec": (pa.decimal128(9, 2), lambda n: None if n % 9 == 0 else decimal.Decimal(n).scaleb(-2)),
    "wide": (pa.decimal128(30, 2), lambda n: decimal.Decimal(n * 10**20).scaleb(-2)),
    "day": (pa.date32(), lambda n: datetime.date(1970, 1, 1) + datetime.timedelta(days=n)),
    "us": (pa.timestamp("us"), lambda n: EPOCH + datetime.timedelta(microseconds=n)),
    "ms": (pa.timestamp("ms"), lambda n: EPOCH + datetime.timedelta(milliseconds=n)),
    "text": (pa.string(), lambda n: ("", "é", "\U0001f600", "z" * 100)[n % 4] + (str(n) if n % 3 else "")),
    "bytes": (pa.binary(), lambda n: bytes((n % 256, 255 - n % 256))),
}


def table(rng: random.Random) -> pa.Table:
    """Some columns, sorted or not, with runs of NULLs."""
    rows = rng.choice((1, 50, 700))
    names = rng.sample(sorted(TYPES), 4)
    columns = {}
    for name in names:
        arrow, value = TYPES[name]
        numbers = [rng.randrange(-300, 300) for _ in range(rows)]
        if rng.random() < 0.7:
            numbers.sort()
        gone = rng.choice((0.0, 0.1, 1.0)), rng.randrange(rows)
        values = [None if i > gone[1] and rng.random() < gone[0] else value(n) for i, n in enumerate(numbers)]
        columns[name] = pa.array(values, arrow)
    return pa.table(columns)


def by_pyarrow(data: pa.Table, path: Path, rng: random.Random) -> None:
    pq.write_table(
        data,
        path,
        row_group_size=rng.choice((7, 100, 10_000)),
        data_page_size=rng.choice((64, 1 << 20)),
        write_batch_size=rng.choice((3, 1000)),
        write_statistics=rng.choice((True, True, data.column_names[:2])),
        use_dictionary=rng.random() < 0.5,
        data_page_version=rng.choice(("1.0", "2.0")),
        version="2.6" if "u32" in data.column_names else rng.choice(("1.0", "2.6")),
        write_page_index=rng.random() < 0.5,
        store_decimal_as_integer=rng.random() < 0.5,
        write_page_checksum=rng.random() < 0.3,
    )


def by_duckdb(data: pa.Table, path: Path, rng: random.Random) -> None:
    duckdb.from_arrow(data).write_parquet(str(path), row_group_size=2048)


def by_datafusion(data: pa.Table, path: Path, rng: random.Random) -> None:
    options = datafusion.ParquetWriterOptions(
        max_row_group_size=rng.choice((16, 500)), dictionary_enabled=rng.random() < 0.5,
        statistics_enabled=rng.choice(("none", "chunk", "page")), writer_version=rng.choice(("1.0", "2.0")),
    )  # fmt: skip
    datafusion.SessionContext().from_arrow(data).write_parquet_with_options(path, options)


@pytest.mark.parametrize("seed", range(40))
def test_the_same_rows_with_and_without_skipping(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    data = table(rng)
    path = tmp_path / "t.parquet"
    (by_pyarrow, by_pyarrow, by_duckdb, by_datafusion)[seed % 4](data, path, rng)
    files = sorted(map(str, path.glob("*.parquet"))) if path.is_dir() else [str(path)]
    if rng.random() < 0.3:
        lie = rng.choice(("", "impala version 2.6.0", "parquet-mr version 1.6.0", None))
        restate(Path(files[0]), lambda statistics: None, created_by=lie, ordered=rng.random() < 0.5)
    schema = footers.parquet_schema(files)
    every = probe.scan("parquet", files, schema)
    for _ in range(8):
        column = rng.randrange(len(schema))
        known = [v for v in every.columns[column] if v is not None and v == v]
        value = rng.choice(known) if known and rng.random() < 0.8 else 3 if schema[column].type.is_numeric else b"b"
        if schema[column].type.kind in ("date", "timestamp") and isinstance(value, bytes):
            value = 3
        text = value if isinstance(value, bytes) else str(value).encode()
        for op, compare in COMPARE.items():
            part = probe.scan("parquet", files, schema, bounds=[(column, op, text)])
            assert kept(part.columns, column, compare, value) == kept(every.columns, column, compare, value), (op, text)


def kept(columns: tuple[list[Any], ...], by: int, compare: Callable[[Any, Any], bool], value: Any) -> list[str]:
    """The rows that a filter lets pass; NaN is larger than every number."""

    def passes(v: Any) -> bool:
        if v is None:
            return False
        return compare(1, 0) if v != v else compare(v, value)

    return [repr(row) for row in zip(*columns, strict=True) if passes(row[by])]


@pytest.mark.parametrize("seed", range(6))
def test_joins_skip_no_row_that_has_a_partner(tmp_path: Path, seed: int) -> None:
    """The range of a join's keys is compared with the same statistics."""
    rng = random.Random(seed)
    keys = sorted(rng.randrange(1000) for _ in range(400))
    values = [None if rng.random() < 0.05 else k for k in keys]
    path = write(tmp_path / "t.parquet", values, (pa.int32(), pa.int64(), pa.uint32())[seed % 3], row_group_size=20)
    if seed > 2:
        restate(path, lambda statistics: None, created_by="impala version 2.6.0", ordered=False)
    wanted = rng.sample(range(1000), 30)
    pq.write_table(pa.table({"k": pa.array(wanted, pa.int64())}), tmp_path / "u.parquet")
    joined = (
        read(str(path)).join(read(str(tmp_path / "u.parquet")), left_on="x", right_on="k").select(col("x").alias("x"))
    )
    assert sorted(run(joined).to_arrow()["x"].to_pylist()) == [k for k in values if k in wanted]
