"""Dates and times as a store writes them, of every year that Arrow has."""

from __future__ import annotations

import datetime
import random

import pyarrow as pa
import pytest

from jumpgate.ncas.s3_select.texts import returned_as, value_of


def test_dates_are_read_as_they_are_written() -> None:
    chance = random.Random(0)
    days = [chance.randrange(-719_162, 2_932_897) for _ in range(3000)]
    dates = pa.array([*days, None], pa.int32()).cast(pa.date32())
    texts = pa.array([None if d is None else d.isoformat() for d in dates.to_pylist()])
    assert value_of(texts, pa.date32()) == dates
    far = pa.array(["10000-01-01", "0000-12-31", "29349-01-26", "-5877641-06-25", "5881580-07-10", "2000-02-29"])
    numbers = [2932897, -719163, 10_000_000, -(2**31) + 2, 2**31 - 2, 11_016]
    assert value_of(far, pa.date32()).cast(pa.int32()).to_pylist() == numbers


def test_times_are_read_with_fractions() -> None:
    when = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_900)
    texts = pa.array([None, when.isoformat() + "+00:00", "1970-01-01T00:00:00", "10000-01-01T00:00:00.5+00:00"])
    found = value_of(texts, pa.timestamp("us"))
    assert found.cast(pa.int64()).to_pylist() == [None, -100, 0, 253_402_300_800_500_000]
    assert returned_as(found.type) == pa.string() and returned_as(pa.int8()) == pa.int8()


@pytest.mark.parametrize("text", ["", "2000-01-01 ", "2000-1-1", "yesterday", "2000-01-01T00:00"])
def test_other_texts_are_errors(text: str) -> None:
    for type in (pa.date32(), pa.timestamp("us")):
        with pytest.raises(pa.ArrowInvalid, match="a text is no"):
            value_of(pa.array([text, None]), type)
