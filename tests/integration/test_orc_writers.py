"""ORC files as other writers leave them: without statistics or indexes, with wrong or few ones.

Skipping must not change an answer: a scan with bounds gives each row that the file has and the bounds keep.
"""

from __future__ import annotations

import datetime
import decimal
import math
import operator
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest

import jumpgate
from jumpgate.client import col, count, read
from jumpgate.client.session import Session
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import DataType, Field, Schema
from tests.support import probe
from tests.support.orc_tail import FIXED64, Message, OrcFile

EPOCH = datetime.datetime(1970, 1, 1)
ROWS = 6000
STRIDE = 1000
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
TYPES: dict[str, tuple[pa.DataType, DataType]] = {
    "bool": (pa.bool_(), t.bool_),
    "int8": (pa.int8(), t.int8),
    "int16": (pa.int16(), t.int16),
    "int32": (pa.int32(), t.int32),
    "int64": (pa.int64(), t.int64),
    "float32": (pa.float32(), t.float32),
    "float64": (pa.float64(), t.float64),
    "decimal": (pa.decimal128(9, 2), t.decimal(9, 2)),
    "large": (pa.decimal128(38, 10), t.decimal(38, 10)),
    "date": (pa.date32(), t.date),
    "timestamp": (pa.timestamp("us"), t.timestamp),
    "string": (pa.string(), t.string),
    "binary": (pa.binary(), t.binary),
}
SCHEMA = Schema(tuple(Field(name, type_) for name, (_, type_) in TYPES.items()))


def value(name: str, n: int, rng: random.Random) -> Any:
    """A value that grows with n (0 to ROWS), now and then one of the type's special ones."""
    special = rng.random() < 0.002
    match name:
        case "bool":
            return n > ROWS // 2
        case "int8" | "int16" | "int32" | "int64":
            bits = int(name[3:])
            extremes = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            return rng.choice(extremes) if special else n * 2**bits // (2 * ROWS) - 2 ** (bits - 2)
        case "float32" | "float64":
            return rng.choice([math.nan, -0.0, 0.0, math.inf, -math.inf]) if special else n / 4 - 700
        case "decimal":
            return decimal.Decimal(n * 100 - 250_000).scaleb(-2)
        case "large":
            return decimal.Decimal(n * 10**24 - 10**27).scaleb(-10, decimal.Context(prec=60))
        case "date":
            return datetime.date(1960, 1, 1) + datetime.timedelta(days=n)
        case "timestamp":
            return EPOCH + datetime.timedelta(microseconds=(n - 2000) * 1_000_003)
        case "string":
            return rng.choice(["", "\U0001f600", "￿", "ÿ"]) if special else f"{n:05}"
        case _:
            return b"\xff\x00" if special else b"%05d" % n


def table(seed: int, block: int = STRIDE) -> pa.Table:
    """Sorted columns, in which whole blocks of rows are NULL."""
    rng = random.Random(seed)

    def column(name: str) -> list[Any]:
        empty = {b for b in range(ROWS // block + 1) if rng.random() < 0.2}
        few = rng.random() * 0.1
        return [None if n // block in empty or rng.random() < few else value(name, n, rng) for n in range(ROWS)]

    return pa.table({name: pa.array(column(name), type_) for name, (type_, _) in TYPES.items()})


def physical(value: Any, type_: DataType) -> Any:
    if value is None:
        return None
    match type_.kind:
        case "decimal":
            return int(value.scaleb(type_.scale, decimal.Context(prec=60)))
        case "date":
            return (value - EPOCH.date()).days
        case "timestamp":
            return (value - EPOCH) // datetime.timedelta(microseconds=1)
        case "string":
            return value.encode()
    return value


def written(path: Path, data: pa.Table, **options: Any) -> OrcFile:
    orc.write_table(data, path, **{"compression": "uncompressed", "row_index_stride": STRIDE, **options})
    return OrcFile.read(path)


#: number_of_values, statistics of integers, doubles, strings, decimals, dates and timestamps, has_null
VALUES, INTEGERS, DOUBLES, STRINGS, DECIMALS, DATES, TIMESTAMPS, HAS_NULL = 1, 2, 3, 4, 6, 7, 9, 10
KINDS = (INTEGERS, DOUBLES, STRINGS, DECIMALS, DATES, TIMESTAMPS)


def uncounted(file: OrcFile) -> None:
    """Java without row indexes: statistics are there, of no values."""
    file.footer.put(8, 0)
    file.drop_indexes()
    file.change_statistics(lambda _s, _id, old: nothing_seen(old))


def nothing_seen(old: Message) -> Message:
    kinds = [n for n, _, _ in old.fields if n in KINDS]
    new = Message().put(VALUES, 0)
    for kind in kinds:
        new.put(kind, Message().put(3, 0) if kind == INTEGERS else Message())
    return new.put(HAS_NULL, 0)


def without_counts(file: OrcFile) -> None:
    file.change_statistics(lambda _s, _id, old: old.put(VALUES))


def without_counts_of_rows(file: OrcFile) -> None:
    file.change_statistics(lambda _s, id, old: old.put(VALUES) if id == 0 else old)


def without_has_null(file: OrcFile) -> None:
    file.change_statistics(lambda _s, _id, old: old.put(HAS_NULL))


def without_field(number: int) -> Callable[[OrcFile], None]:
    def drop(file: OrcFile) -> None:
        def change(_stripe: int, _id: int, old: Message) -> Message:
            for kind in KINDS:
                old.each(kind, lambda m: m.put(number))
            return old

        file.change_statistics(change)

    return drop


def truncated_texts(file: OrcFile) -> None:
    """Minimum and maximum of long texts are cut, and stand in fields of their own."""

    def change(_stripe: int, _id: int, old: Message) -> Message:
        return old.each(STRINGS, lambda m: Message([({1: 4, 2: 5}.get(n, n), w, v) for n, w, v in m.fields]))

    file.change_statistics(change)


def merged_wrongly(file: OrcFile) -> None:
    """Before HIVE-8732 the statistics of a stripe were those of one of its row groups."""
    file.postscript.put(6)

    def change(_stripe: int, _id: int, old: Message) -> Message:
        old.each(STRINGS, lambda m: m.put(2, *[v for n, _, v in m.fields if n == 1]))
        old.each(DATES, lambda m: m.put(2, *[v for n, _, v in m.fields if n == 1]))
        return old

    file.change_statistics(change)


def without_statistics(file: OrcFile) -> None:
    file.metadata.fields.clear()


def with_statistics_of_other_stripes(file: OrcFile) -> None:
    """The last stripe's are missing: no longer clear which are whose."""
    file.metadata.fields.insert(0, file.metadata.fields.pop())
    file.metadata.fields.pop()


def with_fewer_columns(file: OrcFile) -> None:
    file.metadata.each(1, lambda stripe: Message(stripe.fields[1:]))


def without_indexes(file: OrcFile) -> None:
    file.drop_indexes()


def with_another_stride(file: OrcFile) -> None:
    file.footer.put(8, STRIDE * 2 + 1)


OTHERS: list[Callable[[OrcFile], None]] = [
    uncounted, without_counts, without_counts_of_rows, without_has_null, truncated_texts, merged_wrongly,
    without_statistics, with_statistics_of_other_stripes, with_fewer_columns, without_indexes, with_another_stride,
    *[without_field(n) for n in (1, 2, 3)],
]  # fmt: skip


def check_skipping(path: str, data: pa.Table, seed: int) -> int:
    """Scans with bounds on each column keep each row that they should; returns the bytes that were skipped."""
    rng = random.Random(seed)
    pruned = 0
    for field in SCHEMA:
        values = [physical(v, field.type) for v in data[field.name].to_pylist()]
        present = [v for v in values if v is not None and v == v] or [0]
        for op in rng.sample(list(COMPARE), 3):
            limit = rng.choice(present)
            text = (
                limit if isinstance(limit, bytes) else str(int(limit) if field.type.kind == "bool" else limit).encode()
            )
            scan = probe.scan("orc", [path], Schema((field,)), bounds=[(0, op, text)])
            pruned += scan.pruned_bytes
            keeps = COMPARE[op]

            def kept(found: list[Any], keeps: Any = keeps, limit: Any = limit) -> list[Any]:
                return [v for v in found if v is not None and v == v and keeps(v, limit)]

            assert kept(scan.columns[0]) == kept(values), (field.name, op, limit)
            nans = [v for v in values if v is not None and v != v]  # above every number
            if op in ("gt", "ge"):
                assert len([v for v in scan.columns[0] if v is not None and v != v]) == len(nans)
    return pruned


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("change", OTHERS, ids=lambda change: change.__qualname__)
def test_statistics_of_other_writers(tmp_path: Path, change: Callable[[OrcFile], None]) -> None:
    for seed in range(2):
        data = table(seed)
        file = written(tmp_path / "t.orc", data, stripe_size=64 << 10, batch_size=STRIDE // 2)
        assert len(file.stripes) > 2
        change(file)
        check_skipping(file.write(tmp_path / "t.orc"), data, seed)


@pytest.mark.parametrize("compression", ["uncompressed", "zlib"])
@pytest.mark.parametrize("seed", range(6))
def test_skipping_changes_no_answer(tmp_path: Path, compression: str, seed: int) -> None:
    rng = random.Random(seed)
    data = table(seed, rng.choice([100, STRIDE, ROWS // 3]))
    path = tmp_path / "t.orc"
    orc.write_table(
        data,
        path,
        compression=compression,
        stripe_size=rng.choice([4 << 10, 64 << 10, 1 << 20]),
        batch_size=rng.choice([100, STRIDE]),
        row_index_stride=rng.choice([100, STRIDE, 10_000]),
        dictionary_key_size_threshold=rng.choice([0.0, 1.0]),
    )
    check_skipping(str(path), data, seed)


def test_trusted_statistics_skip(tmp_path: Path) -> None:
    """What the tests above would not see if nothing was skipped at all."""
    data = table(1)
    file = written(tmp_path / "t.orc", data, stripe_size=64 << 10, batch_size=STRIDE // 2)
    assert check_skipping(file.write(tmp_path / "t.orc"), data, 1) > 0


def test_stripes_of_nulls_are_skipped(tmp_path: Path) -> None:
    data = pa.table({"int64": pa.array([None] * ROWS, pa.int64())})
    written(tmp_path / "t.orc", data)
    scan = probe.scan("orc", [str(tmp_path / "t.orc")], Schema((Field("int64", t.int64),)), bounds=[(0, "eq", b"1")])
    assert scan.rows == 0


def test_a_row_group_that_begins_with_nan(tmp_path: Path) -> None:
    """Writers leave it out of the stripe's minimum and maximum, but not out of the sum."""
    numbers = [1.0] * STRIDE + [math.nan, *[7.0] * (STRIDE - 1)]
    data = pa.table({"x": pa.array(numbers, pa.float64())})
    path = tmp_path / "t.orc"
    file = written(path, data)
    if not math.isnan(extremes(file)[2]):  # pyarrow may count otherwise one day: then as Java does
        file.change_statistics(lambda _s, id, old: old.put(DOUBLES, doubles(1.0, 1.0, math.nan)) if id else old)
        file.write(path)
    schema = Schema((Field("x", t.float64),))
    for op, limit in (("eq", b"7"), ("le", b"7"), ("ge", b"7")):
        scan = probe.scan("orc", [str(path)], schema, bounds=[(0, op, limit)])
        assert scan.columns[0].count(7.0) == STRIDE - 1


def doubles(*numbers: float) -> Message:
    return Message([(n, FIXED64, struct.pack("<d", x)) for n, x in enumerate(numbers, 1)])


def extremes(file: OrcFile) -> list[float]:
    (statistics,) = file.metadata.messages(1)[0].messages(1)[1].messages(DOUBLES)
    return [struct.unpack("<d", v)[0] for _, _, v in statistics.fields if isinstance(v, bytes)]


def test_negative_zero_is_zero(tmp_path: Path) -> None:
    written(tmp_path / "t.orc", pa.table({"x": pa.array([-0.0] * STRIDE, pa.float64())}))
    schema = Schema((Field("x", t.float64),))
    for op, limit in (("eq", b"0.0"), ("eq", b"-0.0"), ("ge", b"0.0"), ("le", b"-0.0")):
        assert probe.scan("orc", [str(tmp_path / "t.orc")], schema, bounds=[(0, op, limit)]).rows == STRIDE


def test_filters_and_joins_over_uncounted_stripes(tmp_path: Path, local: Session) -> None:
    """The whole way: a filter and a join's keys both narrow the read."""
    data = pa.table({"k": pa.array(range(ROWS), pa.int64()), "s": [f"{i:05}" for i in range(ROWS)]})
    file = written(tmp_path / "t.orc", data, stripe_size=16 << 10, batch_size=STRIDE // 2)
    uncounted(file)
    path = file.write(tmp_path / "t.orc")
    orc.write_table(pa.table({"k2": pa.array([5, ROWS - 1], pa.int64())}), tmp_path / "few.orc")

    def rows(flow: Any) -> int:
        (row,) = local.run(flow.aggregate(n=count())).to_pylist()
        return int(row["n"])

    assert rows(read(path).filter(col("k") > 2000)) == ROWS - 2001
    assert rows(read(path).filter(col("s") >= "05000")) == ROWS - 5000
    assert rows(read(path).join(read(str(tmp_path / "few.orc")), left_on="k", right_on="k2")) == 2


@pytest.mark.parametrize("offload", ["never", "auto", "always"])
def test_sql_over_uncounted_stripes(tmp_path: Path, one_host: str, offload: str) -> None:
    data = pa.table({"k": pa.array(range(ROWS), pa.int64())})
    file = written(tmp_path / "t.orc", data, stripe_size=16 << 10, batch_size=STRIDE // 2)
    uncounted(file)
    with jumpgate.connect(one_host, offload=offload) as connection:
        connection.register("t", file.write(tmp_path / "t.orc"))
        assert connection.sql("select count(*) as n from t").to_pylist() == [{"n": ROWS}]
        assert connection.sql("select count(*) as n from t where k > 2000").to_pylist() == [{"n": ROWS - 2001}]
