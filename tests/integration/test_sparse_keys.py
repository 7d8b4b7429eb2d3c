"""Joins by integers of which few have a row, alone and beside other keys: rows are found by bits of the keys, beside
DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import jumpgate
from tests.support import modes

#: builds of more rows than a directory in the cache has
ROWS, BUILD, STEP = 30_000, 9_000, 37


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """A connection, and DuckDB's: `f` refers to `once`, which has every STEP-th key, to `twice`, which has each two
    times and some far more often, and to `none`, which has rows with NULL keys only."""
    folder, chance = tmp_path_factory.mktemp("sparse"), random.Random(29)

    def some(values: range) -> int | None:
        return None if chance.random() < 0.03 else chance.choice(values)

    def build(keys: list[int | None]) -> pa.Table:
        return pa.table(
            {
                "k": pa.array(keys, pa.int64()),
                "u": pa.array([some(range(8)) for _ in keys], pa.int32()),
                "t": [None if k is None else f"text {k % 5}" for k in keys],
                "w": pa.array(range(len(keys)), pa.int64()),
            }
        )

    once: list[int | None] = [STEP * i - 50_000 for i in range(BUILD)]
    keys = [STEP * chance.randrange(-50, BUILD + 50) - 50_000 + chance.choice((0, 0, 1, 3)) for _ in range(ROWS)]
    made = {
        "f": pa.table(
            {
                "a": pa.array([None if chance.random() < 0.03 else k for k in keys], pa.int64()),
                "b": pa.array([some(range(9)) for _ in keys], pa.int32()),
                "s": [f"text {chance.randrange(6)}" for _ in keys],
                "v": pa.array(range(ROWS), pa.int64()),
            }
        ),
        "once": build([*once, None]),
        "twice": build([*once, *once, *once[:3] * 40, None, None]),
        "none": build([None] * 5),
    }
    duck = duckdb.connect()
    with jumpgate.connect(offload="always") as connection:
        modes.register(connection, duck, made, folder, row_group_size=4000)
        yield connection, duck


KEYS = {
    "a key": "a = k",
    "two": "a = k AND b = u",
    "the second tells": "b = u AND a = k",
    "a text first": "s = t AND a = k",
    "three and a condition": "b = u AND s = t AND a = k AND v % 3 <> w % 3",
}
JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


@pytest.mark.parametrize("build", ["once", "twice", "none"])
def test_answers_are_those_of_duckdb(tables: tuple[Any, Any], build: str) -> None:
    connection, duck = tables
    for keys in KEYS.values():
        texts = [
            f"SELECT count(*) n, sum(v) v, sum(w) w, count(t) t, count(s) s, sum(v * (w % 7)) x FROM f {join} {build}"
            f" ON {keys}"
            for join in JOINS
        ]
        texts += [
            f"SELECT b, count(*) n, sum(v) v FROM f WHERE {which} (SELECT 1 FROM {build} WHERE {keys}) GROUP BY b"
            for which in ("EXISTS", "NOT EXISTS")
        ]
        for text in texts:
            found = connection.sql(text).to_arrow().to_pylist()
            expected = duck.sql(text).to_arrow_table().to_pylist()
            assert Counter(map(str, found)) == Counter(map(str, expected)), text
    text = f"SELECT b, count(*) n FROM f WHERE a IN (SELECT k FROM {build}) OR v < 9 GROUP BY b"
    found, expected = connection.sql(text).to_arrow().to_pylist(), duck.sql(text).to_arrow_table().to_pylist()
    assert Counter(map(str, found)) == Counter(map(str, expected))
