"""What page indexes and Bloom filters of Parquet files rule out is not read, and everything else is."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from jumpgate.client import col, read
from jumpgate.client.session import Session
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Field, Schema
from jumpgate.errors import JumpgateError, MalformedData
from jumpgate.testing.lab import Lab
from tests.support import ordered_rows, probe
from tests.support.ordered_rows import COMPARE, OrderedRows, random_bounds, wanted

ROWS, PAGE_ROWS = 60_000, 5_000
SCHEMA = Schema((
    Field("n", t.int64), Field("i", t.int32), Field("day", t.date), Field("at", t.timestamp),
    Field("price", t.decimal(9, 2)), Field("x", t.float64), Field("name", t.string), Field("row", t.int64),
    Field("text", t.string),
))  # fmt: skip


def table(seed: int = 1) -> pa.Table:
    """Rows that follow each other have values that lie close together, with NULLs among them; `row` and `text` tell
    rows apart."""
    rows = OrderedRows(ROWS, seed)
    steps, some = rows.steps, rows.some
    columns = {
        **rows.columns,
        "at": pa.array(some(rows.hours), pa.timestamp("ms")),
        "price": pa.array(some([Decimal(s).scaleb(-2) for s in steps]), pa.decimal128(9, 2)),
        "x": pa.array(some([s / 8 if s % 7 else float("nan") for s in steps])),
    }
    return pa.table({name: columns[name] for name in SCHEMA.names})


def write(folder: Path, data: pa.Table, **options: Any) -> str:
    path = folder / "t.parquet"
    known = {"write_page_index": True, "row_group_size": ROWS, "data_page_size": 1, "write_batch_size": PAGE_ROWS}
    pq.write_table(data, path, store_decimal_as_integer=True, **{**known, **options})
    return str(path)


VALUES = {
    **ordered_rows.VALUES,
    "at": (datetime.datetime(2020, 1, 13, 12), str(1_578_916_800_000_000)),
    "price": (Decimal("3.00"), "300"),
}
WAYS: dict[str, dict[str, Any]] = {
    "dictionary": {},
    "plain": {"use_dictionary": False},
    "v2": {"data_page_version": "2.0"},
    "zstd": {"compression": "zstd", "data_page_version": "2.0", "use_dictionary": False},
}


def rows_of(scan: probe.Scan, data: pa.Table) -> list[int]:
    """The rows that a scan gave, each as the file has it."""
    rows = scan.columns[SCHEMA.names.index("row")]
    taken = data.take(pa.array(rows, pa.int64()))
    for name in ("n", "i", "text"):
        have = scan.columns[SCHEMA.names.index(name)]
        assert have == (taken[name].cast(pa.binary()) if name == "text" else taken[name]).to_pylist(), name
    return rows


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", VALUES)
def test_pages_out_of_bounds_are_not_read(tmp_path: Path, name: str, way: str) -> None:
    data = table()
    path = write(tmp_path, data, **WAYS[way])
    value, text = VALUES[name]
    whole = probe.scan("parquet", [path], SCHEMA)
    assert rows_of(whole, data) == list(range(ROWS))
    for op in COMPARE:
        scan = probe.scan("parquet", [path], SCHEMA, bounds=[(SCHEMA.names.index(name), op, text.encode())])
        rows = rows_of(scan, data)
        assert rows == sorted(set(rows)) and wanted(data, name, op, value) <= set(rows), op
        assert scan.rows == len(rows)
        if not (name == "x" and op in ("gt", "ge")):  # where NaN may be, nothing is ruled out but NULLs
            assert scan.rows <= 0.7 * ROWS and scan.bytes < 0.8 * whole.bytes and scan.pruned_bytes > 0, op
    equal = probe.scan("parquet", [path], SCHEMA, bounds=[(SCHEMA.names.index(name), "eq", text.encode())])
    assert equal.rows <= 2 * PAGE_ROWS


def test_bounds_of_several_columns(tmp_path: Path) -> None:
    """Ranges of pages that do not follow each other, late columns, threads, shares of instances."""
    data = table(2)
    path = write(tmp_path, data)
    rng = random.Random(3)
    others = {
        "name": lambda far: (f"name {far:05}", f"name {far:05}"),
        "price": lambda far: (Decimal(far).scaleb(-2), str(far)),
    }
    for _ in range(12):
        bounds, expected = random_bounds(rng, data, others)
        found: list[int] = []
        for share in range(2):
            of_share = partial(probe.scan, "parquet", [path], SCHEMA, bounds=bounds, share=(share, 2), threads=2)
            rows_of(of_share(late=(0, 6, 8), select=lambda rows: list(range(0, rows, 3))), data)
            found += rows_of(of_share(), data)
        assert len(found) == len(set(found)) and expected <= set(found)


def test_a_list_of_values_reads_what_holds_one_of_them(tmp_path: Path) -> None:
    """Not what lies between them; a value that cannot be read makes the list say nothing."""
    data = table()
    path = write(tmp_path, data)
    values = [50 * 10**10, 500 * 10**10]
    bounds = [(0, "any", str(v).encode()) for v in values]
    scan = probe.scan("parquet", [path], SCHEMA, bounds=bounds)
    rows = set(rows_of(scan, data))
    assert wanted(data, "n", "eq", values[0]) | wanted(data, "n", "eq", values[1]) <= rows
    assert scan.rows <= 4 * PAGE_ROWS and not rows & set(range(15_000, 40_000))
    both = [*bounds, (0, "le", str(values[0]).encode())]
    assert probe.scan("parquet", [path], SCHEMA, bounds=both).rows <= 2 * PAGE_ROWS
    assert probe.scan("parquet", [path], SCHEMA, bounds=[*bounds, (0, "any", b"x")]).rows == ROWS


def test_pages_of_nulls_are_not_read(tmp_path: Path) -> None:
    data = table()
    path = write(tmp_path, data)
    bounds = [(0, "is_not_null", b"")]
    rows = rows_of(probe.scan("parquet", [path], SCHEMA, bounds=bounds), data)
    assert set(data.filter(pc.is_valid(data["n"]))["row"].to_pylist()) <= set(rows)
    assert not set(rows) & set(range(20_000, 25_000)), "a page of NULLs"


@pytest.mark.parametrize("name", ["n", "i", "day", "price", "name"])
def test_bloom_filters_rule_out_values_between_others(tmp_path: Path, name: str) -> None:
    data = table()
    even = data.filter(pc.equal(pc.bit_wise_and(pc.cast(data["i"], pa.int32()), 1), 0))
    path = write(tmp_path, even, bloom_filter_options={name: {"ndv": 1000, "fpp": 0.001}}, write_page_index=False)
    column = SCHEMA.names.index(name)
    text = VALUES[name][1]
    found = probe.scan("parquet", [path], SCHEMA, bounds=[(column, "eq", text.encode())])
    assert wanted(even, name, "eq", VALUES[name][0]) <= set(rows_of(found, data))
    absent = text.replace("300", "301", 1) if name != "n" else str(301 * 10**10)
    assert absent != text
    missing = probe.scan("parquet", [path], SCHEMA, bounds=[(column, "eq", absent.encode())])
    assert missing.rows == 0 and missing.pruned_bytes > 0
    both = [(column, "eq", text.encode()), (column, "eq", absent.encode())]
    assert probe.scan("parquet", [path], SCHEMA, bounds=both).rows == 0
    lists = [[(column, "any", v.encode()) for v in (text, absent)], [(column, "any", absent.encode())] * 2]
    assert [probe.scan("parquet", [path], SCHEMA, bounds=b).rows for b in lists] == [found.rows, 0]
    assert probe.scan("parquet", [path], SCHEMA, bounds=[(column, "ge", absent.encode())]).rows > 0


def filtered(folder: Path, **options: Any) -> tuple[Path, int]:
    """A file of even numbers with a Bloom filter of them; the filter's bytes."""
    path = folder / "even.parquet"
    filters = {"n": {"ndv": ROWS, "fpp": 1e-4}}
    pq.write_table(pa.table({"n": range(0, 2 * ROWS, 2)}), path, bloom_filter_options=filters, **options)
    return path, pq.read_metadata(path).row_group(0).column(0).bloom_filter_length


def scan_odd(path: Path, count: int) -> tuple[int, int]:
    """The rows that a scan for so many odd numbers gave, and what it read, of footers and indexes, too."""

    def read_so_far() -> int:
        return int(Path("/proc/thread-self/io").read_text().split()[1])

    bounds = [(0, "any", str(2 * k + 1).encode()) for k in range(1000, 1000 + count)]
    before = read_so_far()
    scan = probe.scan("parquet", [str(path)], Schema((SCHEMA[0],)), bounds=bounds)
    return scan.rows, read_so_far() - before


def test_a_bloom_filter_is_read_once_for_all_values(tmp_path: Path) -> None:
    path, filter_bytes = filtered(tmp_path, use_dictionary=False, compression="none")
    scan_odd(path, 1)  # what the process reads first
    rows, read_bytes = scan_odd(path, 32)
    assert rows == 0 and filter_bytes < read_bytes < 1.5 * filter_bytes


def test_a_bloom_filter_that_is_larger_than_its_column_is_not_read(tmp_path: Path) -> None:
    path, filter_bytes = filtered(tmp_path, use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")
    assert filter_bytes > 2 * pq.read_metadata(path).row_group(0).column(0).total_compressed_size
    scan_odd(path, 1)
    rows, read_bytes = scan_odd(path, 1)
    assert rows == ROWS and read_bytes < filter_bytes


@pytest.mark.nightly(like="tests/integration/test_orc_indexes.py::test_damaged_indexes_end_in_answers_or_typed_errors")
def test_a_damaged_index_mixes_up_no_rows(tmp_path: Path) -> None:
    """It may hide rows, as it has no checksum, but never gives some that the file has not."""
    data = table()
    path = Path(write(tmp_path, data))
    whole = bytearray(path.read_bytes())
    group = pq.read_metadata(path).row_group(0)
    ends = []
    for i in range(group.num_columns):
        chunk = group.column(i)
        first = chunk.dictionary_page_offset or chunk.data_page_offset
        ends.append(min(first, chunk.data_page_offset) + chunk.total_compressed_size)
    start, end = max(ends), len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    assert end - start > 1000
    rng = random.Random(4)
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole)
        damaged[rng.randrange(start, end)] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            rows = rows_of(
                probe.scan("parquet", [str(path)], SCHEMA, bounds=[(0, "ge", str(300 * 10**10).encode())]), data
            )
        except JumpgateError as error:
            assert isinstance(error, MalformedData), error
            refused += 1
        else:
            assert rows == sorted(set(rows))
    assert refused > 0, "pages that are not where the index says are noticed"


def test_a_footer_that_places_the_index_elsewhere_is_no_crash(tmp_path: Path) -> None:
    path = Path(write(tmp_path, table().select(["n", "row"])))
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    schema = Schema(tuple(SCHEMA[SCHEMA.names.index(name)] for name in ("n", "row")))
    rng = random.Random(5)
    read_whole = 0
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[rng.randrange(footer, len(whole) - 8)] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            read_whole += probe.scan("parquet", [str(path)], schema, bounds=[(0, "ge", b"3000000000000")]).rows > 0
        except JumpgateError:
            continue
    assert 0 < read_whole < 400


def test_filters_and_joins_read_the_pages_that_they_need(tmp_path: Path, one_host: str) -> None:
    data = table()
    path = write(tmp_path, data)
    with Session(one_host, parallelism=2) as session:
        lab = Lab(session, tmp_path)
        few = lab.table({"k": "int64"}, [(k * 10**10,) for k in (410, 411, 455)])
        for flow in (
            read(path).filter((col("day") >= datetime.date(1971, 6, 1)) & (col("i") < -515)).select("row", "text", "x"),
            read(path).join(few, left_on=col("n"), right_on=col("k")).select("row", "text", "k"),
        ):
            lab.check(flow)
            record = session.describe(session.jobs()[0].id).record
            assert record is not None
            sources = [s for c in record["counters"].values() for s in c["sources"] if s["name"].endswith("t.parquet")]
            assert sources and 0 < sum(s["rows"] for s in sources) < 0.3 * ROWS
