"""Approximate distinct counts: whole columns draw the coupons of values, estimates are as near as promised."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from jumpgate.client.sql.sketches import _coupons, hashed_as
from jumpgate.dataflow import coupons
from jumpgate.dataflow.aggregates import AGGREGATES
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.coupons import COUPONS, RELATIVE_ERROR, estimated
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.operators import Aggregate, Project
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.sketches import expanded
from jumpgate.dataflow.types import DataType, int32, parse_type
from jumpgate.ntf.codec import arrow_type
from tests.support.plans import grouped, measured, table

DAY, TIME = datetime.date, datetime.datetime
VALUES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int8": [-128, 127, 0],
    "int64": [-(2**63), 2**63 - 1, 1, 0],
    "float32": [-0.5, 0.0, -0.0, math.nan, -math.nan, math.inf],
    "float64": [0.1, 0.0, -0.0, math.nan, -math.nan, -math.inf, 5e-324],
    "decimal(7, 2)": [Decimal("-99999.99"), Decimal("0.00"), Decimal("1.50")],
    "decimal(38, 3)": [Decimal("-12345678901234567890123456789012345.678"), Decimal("0.001"), Decimal(2**64)],
    "date": [DAY(1, 1, 1), DAY(9999, 12, 31), DAY(1970, 1, 1)],
    "time": [datetime.time(0), datetime.time(23, 59, 59, 999999)],
    "timestamp": [TIME(1969, 12, 31, 23, 59, 59, 999999), TIME(9999, 12, 31), TIME(1, 1, 1)],
    "string": ["", "a", "é", "x\0y", *("0123456789abcdefghijklmno"[:n] for n in range(26)), "z" * 10_000],
    "binary": [b"", b"\0", b"\0\0", b"\xff" * 9],
}


def reference(value: Any, type: DataType) -> int | None:
    return None if value is None else coupons.coupon(Site((type,), int32, DEFAULT), value)


def drawn(values: pa.Array) -> list[int | None]:
    """By way of the casts; pyarrow has none of days to 64 bits."""
    for type in hashed_as(values.type):
        values = values.cast(pa.int32()) if pa.types.is_date(values.type) else values
        values = values.cast(type)
    found: list[int | None] = _coupons(values).to_pylist()
    return found


@pytest.mark.parametrize("name", VALUES)
def test_whole_columns_draw_the_coupons_of_their_values(name: str) -> None:
    """NULLs among them, and from any row on."""
    type = parse_type(name)
    values = [None, *VALUES[name], None, *VALUES[name][::-1]]
    for column in (pa.array(values, arrow_type(type)), pa.array(values[:1], arrow_type(type))):
        for rows in (column, column.slice(1), column.slice(len(column))):
            assert drawn(rows) == [reference(v, type) for v in values[len(column) - len(rows) :][: len(rows)]]


def test_coupons_of_texts_do_not_depend_on_those_around_them() -> None:
    words = ["", "a", "12345678", "123456789", "y" * 100]
    alone = [_coupons(pa.array([w], pa.large_binary()))[0] for w in words]
    assert list(_coupons(pa.array(words * 2, pa.large_binary()))) == alone * 2


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_coupons_of_times_are_those_of_their_microseconds(unit: str) -> None:
    moments = [TIME(1969, 12, 31), TIME(2024, 2, 29, 13, 7, 1)]
    expected = [reference(value, parse_type("timestamp")) for value in moments]
    for zone in (None, "UTC"):
        assert drawn(pa.array(moments, pa.timestamp(unit, zone))) == expected
    time = pa.time64(unit) if unit == "us" else pa.time32(unit)
    assert drawn(pa.array([datetime.time(13, 7, 1)], time)) == [reference(datetime.time(13, 7, 1), parse_type("time"))]


def test_coupons_of_whole_numbers_do_not_depend_on_their_width() -> None:
    small, large = [0, 7, 2**63 - 1], [2**63, 2**64 - 1]
    expected = [reference(value, parse_type("int64")) for value in small]
    for name in ("decimal(19)", "decimal(20)", "decimal(38)"):
        type = parse_type(name)
        assert [reference(Decimal(value), type) for value in small] == expected
        assert drawn(pa.array(map(Decimal, small), arrow_type(type))) == expected
    expected += [reference(Decimal(value), parse_type("decimal(20)")) for value in large]
    assert drawn(pa.array(small + large, pa.uint64())) == expected
    assert drawn(pa.array([7], pa.uint8())) == expected[1:2]
    negative = reference(-(2**63), parse_type("int64"))
    assert reference(Decimal(-(2**63)), parse_type("decimal(20)")) == negative
    assert drawn(pa.array([Decimal(-(2**63))], pa.decimal128(20))) == [negative]


def test_what_is_not_hashed() -> None:
    for type in (pa.list_(pa.int64()), pa.decimal256(50), pa.decimal128(5, -2), pa.month_day_nano_interval()):
        assert hashed_as(type) == ()


@pytest.mark.parametrize(
    ("values", "estimate"),
    [
        (0, 0),
        (1, 1),
        (2, 2),
        (10, 10),
        (100, 100),
        (1_000, 1_006),
        (10_000, 9_972),
        (100_000, 99_560),
        (1_000_000, 995_166),
    ],
)
def test_estimates_of_integers(values: int, estimate: int) -> None:
    """What depends on the values alone can be said exactly."""
    assert estimated(len(_coupons(pa.array(np.arange(values))).unique())) == estimate
    assert abs(estimate - values) <= 0.02 * values


@pytest.mark.parametrize("values", [1_000, 10_000, 100_000])
def test_errors_are_as_small_as_promised(values: int) -> None:
    """Of 40 sets the root of the mean square, and the mean, by three of its own standard deviations."""
    random = np.random.default_rng(values)
    found = []
    for i in range(40):
        numbers = np.arange(values) + i * values if i % 2 else random.integers(0, 2**62, values)
        found.append(estimated(len(_coupons(pa.array(numbers)).unique())) / values - 1)
    assert math.sqrt(sum(e * e for e in found) / 40) < RELATIVE_ERROR * 1.35
    assert abs(sum(found) / 40) < 3 * RELATIVE_ERROR / math.sqrt(40)


def test_more_coupons_mean_more_values() -> None:
    found = [estimated(c) for c in (*range(3000), *range(3000, COUPONS, 997), COUPONS)]
    assert found == sorted(found) and found[-1] == 1_749_830_720_417


def test_an_approximate_count_becomes_an_exact_one() -> None:
    A = table("a", k=int32, v=int32)
    exact = grouped(A, ("k",), measured(A, "count_distinct", "v", "m"))
    assert expanded(exact) is exact
    mixed = grouped(A, ("k",), measured(A, "sum", "v", "s"), measured(A, "approx_distinct", "v", "m"))
    found = expanded(mixed)
    assert isinstance(found, Project) and isinstance(found.input, Aggregate)
    assert [m.function for m in found.input.measures] == ["sum", "count_distinct"]
    assert found.schema == mixed.schema
    assert str(found.expressions[2]) == "distinct_estimate(#2:m)"


def test_nested_values_are_refused() -> None:
    with pytest.raises(TypeMismatch, match="approx_distinct of list"):
        AGGREGATES["approx_distinct"].type_of((parse_type("list<int64>"),))
