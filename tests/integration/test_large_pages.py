"""Filters over pages that are read and decompressed in pieces, beside DuckDB: extremes, NaN, -0.0, NULLs."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Field, Schema
from tests.support import probe

#: no multiples of a batch; a page of four bytes a value is larger than a piece (256 KiB)
ROWS, PAGE_ROWS = 150_001, 70_001
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "v2": {"data_page_version": "2.0"},
    "checked": {"write_page_checksum": True},
    "snappy": {"compression": "snappy"},
    "snappy v2": {"compression": "snappy", "data_page_version": "2.0"},
    "snappy checked": {"compression": "snappy", "write_page_checksum": True},
    "codes": {"use_dictionary": True, "compression": "snappy"},
}
#: of a column: SQL of its type, its values' range, values that have their own rules
COLUMNS: dict[str, tuple[pa.DataType, tuple[int, int], list[Any]]] = {
    "i": (pa.int32(), (-1000, 1000), [-(2**31), 2**31 - 1, 0]),
    "n": (pa.int64(), (-(10**15), 10**15), [-(2**63), 2**63 - 1, 0]),
    "f": (pa.float32(), (-1000, 1000), [float("nan"), float("inf"), float("-inf"), -0.0, 0.0]),
    "x": (pa.float64(), (-1000, 1000), [float("nan"), float("inf"), float("-inf"), -0.0, 0.0]),
    "day": (pa.date32(), (0, 20_000), []),
    "moment": (pa.timestamp("us"), (0, 10**15), []),
    "price": (pa.decimal128(9, 2), (-90_000, 90_000), []),
}
FILTERS = {
    "i": ("BETWEEN 500 AND 520", "= -2147483648", ">= 2147483647", "<> 0 AND {c} < -999"),
    "n": ("BETWEEN 5000000 AND 900000000000", "= -9223372036854775808", "> 9223372036854775806", "IS NULL"),
    "f": ("BETWEEN 0.0 AND 1.0", "= 'nan'", "> 'inf'", "<= -0.0 AND {c} > -1", "= 0"),
    "x": ("BETWEEN -0.0 AND 1.0", "= 'nan'", ">= 'inf'", "< '-inf'", "= 0", "<> 'nan' AND {c} > 999"),
    "day": ("BETWEEN DATE '2000-01-01' AND DATE '2000-01-20'", "= DATE '1970-01-01'"),
    "moment": ("BETWEEN TIMESTAMP '1990-01-01' AND TIMESTAMP '1990-02-01'", "< TIMESTAMP '1970-01-03'"),
    "price": ("BETWEEN 12.34 AND 13.00", "< -899.50", "IS NOT NULL AND {c} = 0"),
}


def values(name: str, chance: np.random.Generator) -> pa.Array:
    type_, (low, high), special = COLUMNS[name]
    if pa.types.is_floating(type_):
        found: Any = chance.uniform(low, high, ROWS).astype(type_.to_pandas_dtype())
    else:
        found = chance.integers(low, high, ROWS)
    for value in special:
        found[chance.integers(0, ROWS, 40)] = value
    nulls = chance.random(ROWS) < 0.02 if name in "nx" else np.zeros(ROWS, bool)
    nulls[PAGE_ROWS : 2 * PAGE_ROWS] = False  # a page without
    if name == "price":
        return pa.array([Decimal(int(n)).scaleb(-2) for n in found], type_)
    if pa.types.is_date32(type_):
        return pa.array(found.astype(np.int32), pa.int32(), mask=nulls).cast(type_)
    return pa.array(found, type_ if pa.types.is_floating(type_) else pa.int64(), mask=nulls).cast(type_)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    chance = np.random.default_rng(5)
    columns = {name: values(name, chance) for name in COLUMNS}
    few = columns["i"].take(pa.array(chance.integers(0, 700, ROWS)))
    return pa.table(columns | {"few": few, "row": pa.array(range(ROWS), pa.int64())})


@pytest.fixture(scope="module", params=WAYS)
def tables(request: Any, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    file = tmp_path_factory.mktemp("pages") / "t.parquet"
    write(file, table, **WAYS[request.param])
    duck = duckdb.connect()
    duck.execute(f"CREATE VIEW t AS FROM '{file}'")
    with jumpgate.connect(offload="always") as connection:
        connection.register("t", file)
        yield connection, duck


def write(file: Path, table: pa.Table, **options: Any) -> None:
    known: dict[str, Any] = {"use_dictionary": False, "compression": "none", "store_decimal_as_integer": True}
    sizes = {"data_page_size": 1 << 30, "write_batch_size": PAGE_ROWS, "max_rows_per_page": PAGE_ROWS}
    pq.write_table(table, file, **known | sizes | options)


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("name", [*FILTERS, "few"])
def test_filters_are_duckdbs(tables: tuple[Any, Any], name: str) -> None:
    connection, duck = tables
    for filter in FILTERS["i" if name == "few" else name]:
        text = f"SELECT count(*) n, sum(row) s, min(row) l, max(row) h FROM t WHERE {name} {filter.format(c=name)}"
        assert connection.sql(text).to_arrow().to_pylist() == duck.execute(text).to_arrow_table().to_pylist(), text


@pytest.mark.parametrize("way", ["plain", "snappy"])
def test_rows_that_are_picked(tmp_path: Path, table: pa.Table, way: str) -> None:
    """Few rows of some batches, all of others, none of most."""
    file = tmp_path / "t.parquet"
    write(file, table, **WAYS[way])
    schema = Schema((Field("i", t.int32), Field("n", t.int64), Field("row", t.int64)))
    batches = iter(range(ROWS))

    def some(rows: int) -> list[int]:
        return [[], [], [1, rows - 1], list(range(rows)), []][next(batches) % 5]

    found = probe.scan("parquet", [str(file)], schema, late=(0, 1), select=some)
    picked = table.take(pa.array(found.columns[2], pa.int64()))
    assert len(found.columns[2]) > ROWS // 6
    for i, name in enumerate(("i", "n")):
        assert found.columns[i] == picked[name].to_pylist(), name
