"""The Parquet reader leaves out the rows that a table has deleted, and no others, however it reads."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.converters.statistics import estimate
from jumpgate.dataflow import deleted
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Field, Schema
from jumpgate.errors import MalformedData, SchemaMismatch
from tests.support.probe import scan

ROWS = 20_000
SCHEMA = Schema((
    Field("row", t.int64), Field("n", t.int32), Field("code", t.string), Field("text", t.string),
    Field("flag", t.bool_), Field("d", t.decimal(30, 2)), Field("small", t.int8), Field("gone", t.int64),
))  # fmt: skip
#: deleted rows, by what they test
DELETED: dict[str, list[int]] = {
    "none": [], "first": [0], "last": [ROWS - 1], "few": random.Random(1).sample(range(ROWS), 100),
    "half": [*range(1, ROWS, 2)], "most": [row for row in range(ROWS) if row % 100],
    "runs": [*range(500, 9_100), *range(12_000, 14_500), *range(19_000, ROWS)],
    "group": [*range(7_000, 14_000)], "batch": [*range(2_048, 4_096)], "all": [*range(ROWS)],
}  # fmt: skip


def values(row: int) -> tuple[Any, ...]:
    no = row % 7 == 3
    return (row, None if no else row % 1000, None if row % 11 == 5 else b"code %d" % (row % 9), b"%d" % row * (row % 4),
            row % 3 == 0, None if no else row - 1_000, row % 100, None)  # fmt: skip


@pytest.fixture(scope="module", params=["pages", "chunks"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three row groups, of pages that an index places or of one page a column; `gone` is in another file alone."""
    path = tmp_path_factory.mktemp("deleted") / "t.parquet"
    columns = [*zip(*map(values, range(ROWS)), strict=True)]
    columns[5] = tuple(None if d is None else Decimal(d).scaleb(-2) for d in columns[5])
    types = [pa.int64(), pa.int32(), pa.string(), pa.string(), pa.bool_(), pa.decimal128(30, 2), pa.int8()]
    table = pa.table([pa.array(c, type_) for c, type_ in zip(columns, types, strict=False)], SCHEMA.names[:7])
    pages: dict[str, Any] = {"write_page_index": True, "data_page_size": 1, "write_batch_size": 500}
    pq.write_table(
        table, path, row_group_size=7_000, use_dictionary=["code"], **pages if request.param == "pages" else {}
    )
    pq.write_table(table.slice(0, 10).append_column("gone", pa.array(range(10))), path.with_name("other.parquet"))
    return str(path)


def expected(rows: list[int]) -> list[tuple[Any, ...]]:
    return [values(row) for row in rows]


def read(file: str, name: str, **how: Any) -> list[tuple[Any, ...]]:
    found = scan(
        "parquet", [file], SCHEMA.select(range(7)), options={"deleted": deleted.encode(sorted(DELETED[name]))}, **how
    )
    return sorted((*row, None) for row in zip(*found.columns, strict=True))


@pytest.mark.parametrize("name", DELETED)
def test_deleted_rows_are_left_out(file: str, name: str) -> None:
    gone = set(DELETED[name])
    left = [row for row in range(ROWS) if row not in gone]
    assert read(file, name) == expected(left)
    third = read(file, name, late=[1, 2, 3, 4, 5, 6], select=lambda rows: [*range(0, rows, 3)], threads=2)
    assert {row[0] for row in third} <= set(left) and third == expected([row[0] for row in third])
    assert len(third) >= len(left) // 3
    shares = [row for index in range(3) for row in read(file, name, share=(index, 3))]
    assert sorted(shares) == expected(left)
    bound = read(file, name, bounds=[(0, "ge", b"6000"), (0, "lt", b"8000")])
    assert {*bound} >= {*expected([row for row in left if 6_000 <= row < 8_000])} and {*bound} <= {*expected(left)}
    known = estimate((file,), "parquet", (("deleted", deleted.encode(sorted(DELETED[name]))),))
    assert known.rows == len(left)


def test_columns_that_a_file_lacks(file: str) -> None:
    other = str(Path(file).with_name("other.parquet"))
    rows = {"deleted": ",".join((deleted.encode(range(ROWS - 3)), deleted.encode([0, 2, 9])))}
    found = scan("parquet", [file, other], SCHEMA, options=rows)
    kept = [1, 3, 4, 5, 6, 7, 8]
    assert found.rows == 3 + len(kept) and found.columns[0] == [ROWS - 3, ROWS - 2, ROWS - 1, *kept]
    assert found.columns[7] == [None, None, None, *kept]


def test_whole_pages_of_deleted_rows_are_not_decoded(file: str) -> None:
    """Of 10,000 rows in a row, those in pages that an index places are skipped."""
    every, few = (scan("parquet", [file], SCHEMA.select(range(7)), options={"deleted": deleted.encode(rows)})
                  for rows in ((), range(7_000, 17_000)))  # fmt: skip
    assert few.rows == 10_000 and few.bytes < every.bytes and few.pruned_bytes > 0


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (deleted.encode([ROWS]), MalformedData, f"its table deletes row {ROWS}, and it has {ROWS} rows"),
        (deleted.encode(range(ROWS - 5, ROWS + 5)), MalformedData, "deletes row 20004"),
        ("A,A", SchemaMismatch, "of another number of files"), ("*", SchemaMismatch, "no digit"),
        ("g", SchemaMismatch, "without an end"), ("B", SchemaMismatch, "without an end"),
        ("_" * 30, SchemaMismatch, "without an end"), ("_" * 11 + "f" + "_" * 11 + "f", SchemaMismatch, "no file has"),
        ("__________B" * 1000, SchemaMismatch, "no file has"),
    ],
)  # fmt: skip
def test_rows_that_are_not_there_are_errors(file: str, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        scan("parquet", [file], SCHEMA.select((0,)), options={"deleted": text})
