"""Texts of deleted rows say the same rows again, and what is no such text is an error."""

from __future__ import annotations

import random

import pytest

from jumpgate.dataflow import deleted
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import Field, Schema, int64
from jumpgate.dataflow.validate import problems


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_the_same_again(seed: int) -> None:
    random.seed(seed)
    rows: set[int] = set()
    for _ in range(random.randrange(30)):
        first = random.randrange(10 ** random.randrange(1, 14))
        rows |= set(range(first, first + random.choice((1, 1, 2, 3, 100))))
    text = deleted.encode(sorted(rows))
    assert [row for run in deleted.decode(text) for row in run] == sorted(rows)
    assert deleted.count(f"{text},,{text}") == 2 * len(rows) and not deleted.problem(text)


def test_what_is_no_text_is_an_error() -> None:
    for rows in ([2, 1], [1, 1], [-1], [1 << 60]):
        with pytest.raises(ValueError, match="does not follow"):
            deleted.encode(rows)
    for text, problem in (("*", "is no digit"), ("g", "without an end"), ("B", "within a run"), ("_" * 12, "an end"),
                          ("A,g", "an end"), ("_" * 11 + "f" + "_" * 11 + "f", "no file has")):  # fmt: skip
        assert problem in deleted.problem(text), text


def test_each_file_has_a_text() -> None:
    schema = Schema((Field("a", int64),))
    read = Read(("/a.parquet", "/b.parquet"), "parquet", schema, (0,), (("deleted", "A,,B"),))
    assert any("deleted rows of 3 files, and 2 are read" in problem for problem in problems(read))
