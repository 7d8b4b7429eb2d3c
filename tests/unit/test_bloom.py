"""Bloom filters as rows: what was sent is kept, whatever its type, and of the rest as much as is promised."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from jumpgate.dataflow import bloom
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.operators import Aggregate, Receive, column
from jumpgate.dataflow.types import (
    DataType,
    Field,
    Schema,
    binary,
    bool_,
    date,
    decimal,
    float64,
    int32,
    int64,
    string,
    timestamp,
)

Row = tuple[Any, ...]


def rows_of(filter: Aggregate, keys: list[Row]) -> dict[int, list[int]]:
    """The filter's rows, words by block."""
    blocks: dict[int, list[int]] = {}
    for key in keys:
        block = evaluate(filter.keys[0], key, DEFAULT)
        words = blocks.setdefault(block, [0] * len(filter.measures))
        for i, measure in enumerate(filter.measures):
            words[i] |= evaluate(measure.arguments[0], key, DEFAULT)
    return blocks


def passed(types: tuple[DataType, ...], sent: list[Row], asked: list[Row], blocks: int) -> list[Row]:
    schema = Schema(tuple(Field(f"key{i}", t) for i, t in enumerate(types)))
    keys = Receive("k", schema)
    filter = bloom.sent(keys, blocks)
    assert isinstance(filter, Aggregate)
    found = rows_of(filter, sent)
    assert all(0 <= block < blocks for block in found)
    semi = bloom.kept(keys, [column(schema, i) for i in range(len(types))], Receive("k", filter.schema), blocks)
    assert semi.residual is not None
    kept = []
    for key in asked:
        block = evaluate(semi.left_keys[0], key, DEFAULT)
        if block in found and evaluate(semi.residual, (*key, block, *found[block]), DEFAULT):
            kept.append(key)
    return kept


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (int64, lambda i: i * 7 - 999),
        (int32, lambda i: i),
        (string, lambda i: f"key {i}"),
        (binary, lambda i: bytes([i % 256, i // 256])),
        (decimal(30, 2), lambda i: Decimal(i).scaleb(-2)),
        (float64, lambda i: i / 3),
        (date, lambda i: datetime.date(2000, 1, 1) + datetime.timedelta(i)),
        (timestamp, lambda i: datetime.datetime(2000, 1, 1) + datetime.timedelta(microseconds=i)),
    ],
    ids=lambda given: "" if callable(given) else str(given),
)
def test_what_is_in_passes_and_little_else(type: DataType, value: Any) -> None:
    keys, count = [(value(i),) for i in range(0, 4000, 2)], 2000
    others = [(value(i),) for i in range(1, 4000, 2)]
    blocks = bloom.blocks_for(count)
    assert passed((type,), keys, keys, blocks) == keys
    wrongly = len(passed((type,), keys, others, blocks)) / len(others)
    assert wrongly < 0.03
    assert bloom.passing(count, blocks) == pytest.approx(0.0066, rel=0.1)


def test_several_keys_nulls_and_signs_of_zero() -> None:
    keys: list[Row] = [(1, "a"), (1, None), (None, None)]
    assert passed((int64, string), keys, [*keys, (2, "a")], 1) == keys
    assert passed((float64,), [(0.0,), (float("nan"),)], [(-0.0,), (1.5,)], 64) == [(-0.0,)]
    assert passed((bool_,), [(True,)], [(True,), (False,)], 64) == [(True,)]


def test_blocks_are_as_many_as_the_keys_need() -> None:
    assert [bloom.blocks_for(n) for n in (0, 1, 21, 22, 1e6)] == [1, 1, 1, 2, 46_875]
    assert bloom.passing(1e6, 1) == pytest.approx(1.0)
