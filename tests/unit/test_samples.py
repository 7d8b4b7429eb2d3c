"""Column statistics from a look at some rows, in every format."""

import math
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet
import pytest

from jumpgate.converters.orc import ORC
from jumpgate.converters.samples import SAMPLE_BYTES, Kept, column_statistics, statistics_of
from jumpgate.converters.value_counts import together
from jumpgate.dataflow.formats import Sample
from jumpgate.dataflow.types import DataType, date, float64, int64, string
from jumpgate.nca.interface import ColumnStatistics


def write_json(table: pa.Table, path: str) -> None:
    import json

    Path(path).write_text("".join(json.dumps(row, default=str) + "\n" for row in table.to_pylist()))


WRITERS: dict[str, Callable[[pa.Table, str], None]] = {
    "json": write_json,
    "csv": lambda table, path: pyarrow.csv.write_csv(table, path),
    "parquet": lambda table, path: pyarrow.parquet.write_table(table, path),
    "orc": lambda table, path: pyarrow.orc.write_table(table, path),
}
FORMATS = sorted(WRITERS)


def look(folder: Path, format: str, values: list[Any], arrow: pa.DataType, type: DataType) -> ColumnStatistics:
    path = str(folder / f"data.{format}")
    table = pa.table({"other": pa.array(range(len(values)), pa.int64()), "k": pa.array(values, arrow)})
    WRITERS[format](table, path)
    return column_statistics([path], format, (), float(len(values)), "k", type)


@pytest.mark.parametrize("format", FORMATS)
def test_nulls_are_no_values(tmp_path: Path, format: str) -> None:
    found = look(tmp_path, format, [7, None, 9, None], pa.int64(), int64)
    assert (found.distinct, found.low, found.high, found.null_fraction) == (2.0, 7.0, 9.0, 0.5)


@pytest.mark.parametrize("format", FORMATS)
def test_one_row(tmp_path: Path, format: str) -> None:
    found = look(tmp_path, format, [5], pa.int64(), int64)
    assert (found.distinct, found.low, found.high) == (1.0, 5.0, 5.0)


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_is_known_of_an_empty_file(tmp_path: Path, format: str) -> None:
    found = look(tmp_path, format, [], pa.int64(), int64)
    assert (found.distinct, found.low, found.high) == (None, None, None)


@pytest.mark.parametrize("format", FORMATS)
def test_only_nulls(tmp_path: Path, format: str) -> None:
    found = look(tmp_path, format, [None] * 4, pa.int64(), int64)
    assert (found.low, found.high) == (None, None)
    assert found.distinct in (None, 1.0)


@pytest.mark.parametrize("format", FORMATS)
def test_dates_are_days(tmp_path: Path, format: str) -> None:
    import datetime

    days = [datetime.date(1970, 1, 1), datetime.date(1970, 1, 11), datetime.date(1970, 1, 11)]
    found = look(tmp_path, format, days, pa.date32(), date)
    assert found.distinct == 2.0
    if format != "parquet":  # whose footer may keep them otherwise
        assert (found.low, found.high) == (0.0, 10.0)


@pytest.mark.parametrize("format", FORMATS)
def test_skew(tmp_path: Path, format: str) -> None:
    """Nine of ten rows hold one value, the others a thousand: neither ten nor all of them."""
    values = [str(i // 10 * 7919 % 1000) if i % 10 == 3 else "often" for i in range(50_000)]
    found = look(tmp_path, format, values, pa.string(), string)
    assert found.distinct is not None
    assert 250 <= found.distinct <= 12_000


@pytest.mark.parametrize("format", FORMATS)
def test_a_key_has_a_value_for_each_row(tmp_path: Path, format: str) -> None:
    found = look(tmp_path, format, [i * 3 for i in range(40_000)], pa.int64(), int64)
    assert found.distinct is not None
    assert 20_000 <= found.distinct <= 40_000


SORTED = 250_000


@pytest.mark.parametrize("stripe_rows", [20_000, SORTED])
def test_rows_in_order_of_the_column(tmp_path: Path, stripe_rows: int) -> None:
    """A file's footer knows what lies beyond the rows that are looked at, which are not of one place."""
    path = tmp_path / "data.orc"
    days = [i // 200 for i in range(SORTED)]
    ORC.write(pa.table({"k": pa.array(days, pa.int32())}), path, part_rows=stripe_rows)
    found = column_statistics([str(path)], "orc", (), float(SORTED), "k", int64)
    assert (found.low, found.high) == (0.0, SORTED // 200 - 1)
    assert found.distinct is not None and SORTED / 400 <= found.distinct <= SORTED / 200


def test_large_stripes_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumpgate.converters.orc.STRIPE_ROWS_MAX", 1000)
    path = tmp_path / "data.orc"
    columns = {"k": pa.array(range(5000), pa.int64()), "d": pa.array([-1.5] * 5000)}
    pyarrow.orc.write_table(pa.table(columns), str(path))
    assert ORC.sample(str(path), {}, "k", int64) == Sample(bounds=(0.0, 4999.0))
    assert ORC.sample(str(path), {}, "d", float64) == Sample(bounds=(-1.5, -1.5))
    assert statistics_of((), int64, 5000.0, (0.0, 99.0)) == ColumnStatistics(100.0, 0.0, 99.0)
    assert statistics_of((), float64, 5000.0, (0.0, 99.0)) == ColumnStatistics(None, 0.0, 99.0)


COLUMNS: dict[str, tuple[pa.Array, DataType]] = {
    "integers": (pa.array([5] * 150 + [None] * 60 + [*range(25), 5, 7, 5, 7], pa.int64()), int64),
    "texts": (pa.array([None if i % 7 == 3 else f"{i % 2 * i}" for i in range(900)]), string),
    "dates": (pa.array([i // 3 for i in range(100)], pa.date32()), date),
    "floats": (pa.array([0.5, None, math.inf, -2.0] * 50), float64),
    "codes": (pa.array(["a", "b", None, "a"] * 50).dictionary_encode(), string),
    "only NULLs": (pa.array([None] * 200, pa.int64()), int64),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [100.0, 1e6])
def test_arrow_s_columns_tell_what_python_s_values_do(name: str, rows: float) -> None:
    column, type = COLUMNS[name]
    expected = statistics_of(column.to_pylist(), type, rows)
    for array in (column, pa.chunked_array([column.slice(0, 60), column.slice(60)])):
        assert statistics_of(array, type, rows) == expected


def test_bytes_under_null_make_no_runs() -> None:
    buffers = [pa.py_buffer(bytes(25)), pa.py_buffer(struct.pack("200q", *range(200)))]
    found = statistics_of(pa.Array.from_buffers(pa.int64(), 200, buffers), int64, 1e6)
    assert (found.heavy, found.null_fraction) == ((), 1.0)


def test_samples_are_kept_within_a_limit() -> None:
    looked: list[str] = []
    one = Sample(pa.array(range(1000), pa.int64()))

    def look(name: str) -> Sample:
        looked.append(name)
        return one

    kept = Kept(2 * (8000 + SAMPLE_BYTES) + 1)
    for name in "abacab":
        assert kept.get((name,), lambda name=name: look(name)) is one  # type: ignore[misc]
    assert looked == ["a", "b", "c", "b"]
    assert [(name,) in kept for name in "abc"] == [True, True, False]
    assert Kept(8000).get(("a",), lambda: one) is one, "also what is too large to be kept"


def test_csv_options(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("k|v\n1|'a|b'\n-|c\n")
    options = (("delimiter", "|"), ("quote", "'"), ("null", "-"))
    found = column_statistics([str(path)], "csv", options, 2.0, "k", int64)
    assert (found.distinct, found.low, found.null_fraction) == (1.0, 1.0, 0.5)


@pytest.mark.parametrize("text", ["{", "[1]\n", '{"k": [1]}\n', '{"k": {"a": 1}}\n', '{"k": "x"}\n', '{"other": 1}\n'])
def test_what_cannot_be_read_is_unknown(tmp_path: Path, text: str) -> None:
    """Reading the data says why; planning goes on."""
    path = tmp_path / "data.json"
    path.write_text(text)
    assert column_statistics([str(path)], "json", (), 1.0, "k", int64).low is None


def test_a_missing_file_is_unknown(tmp_path: Path) -> None:
    assert column_statistics([str(tmp_path / "nowhere.json")], "json", (), 1.0, "k", int64) == ColumnStatistics()
    assert column_statistics([], "json", (), 1.0, "k", int64) == ColumnStatistics()


def test_rows_of_many_columns_are_told_apart() -> None:
    """Also where their values have more combinations than fit 64 bits; NULL is a value like others."""
    r = random.Random(7)
    for choices, count in (([None, "a", "b"], 3), ([None, "a", "b", "c", "d"], 60), (["a"], 5)):
        columns = [r.choices(choices, k=200) for _ in range(count)]
        numbers = together([pa.array(c, pa.string()) for c in columns]).to_pylist()
        rows = [*zip(*columns, strict=True)]
        assert len({*zip(numbers, rows, strict=True)}) == len({*numbers}) == len({*rows})
