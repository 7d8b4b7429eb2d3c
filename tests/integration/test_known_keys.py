"""Group keys that other keys determine, expressions that a loop computes once, and numbers of rows in join keys, beside
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

ROWS, KEYS = 20_000, 500


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """A connection, and DuckDB's: `f` refers to `one`, which has each key once, to `two`, which has each twice with
    other texts, and to `gaps`, which has every third key; NULL is among the keys of all."""
    folder, chance = tmp_path_factory.mktemp("known"), random.Random(41)

    def some(values: range) -> int | None:
        return chance.choice([None, *values]) if chance.random() < 0.05 else chance.choice(values)

    def dimension(keys: list[int | None]) -> pa.Table:
        texts = [None, "", "é" * 9, "a text of more than sixteen bytes"]
        return pa.table(
            {
                "k": pa.array(keys, pa.int64()),
                "t": [f"{chance.choice(texts)}" if chance.random() < 0.9 else None for _ in keys],
                "up": pa.array([None if k is None else k % 50 for k in keys], pa.int64()),
            }
        )

    once: list[int | None] = [*range(KEYS)]
    fact = {name: [some(range(KEYS)) for _ in range(ROWS)] for name in ("a", "b", "c")}
    fact["v"] = [some(range(-1000, 1000)) for _ in range(ROWS)]
    fact["z"] = [some(range(-2, 3)) for _ in range(ROWS)]
    made = {
        "f": pa.table(fact),
        "one": dimension([*once, None]),
        "two": dimension([*once, *once]),
        "gaps": dimension(once[::3]),
        "top": dimension([*range(50)]),
    }
    duck = duckdb.connect()
    with jumpgate.connect(offload="always") as connection:
        modes.register(connection, duck, made, folder, row_group_size=3000)
        yield connection, duck


RANKED = "(SELECT a, v, row_number() OVER (PARTITION BY a ORDER BY v, b, c, z) r FROM f WHERE a < 60) "
QUERIES = {
    "a key and its text": "SELECT a, t, count(*) n FROM f JOIN one ON a = one.k GROUP BY ALL",
    "a text before its key": "SELECT t, up, one.k, sum(v) s FROM f JOIN one ON a = one.k GROUP BY ALL",
    "keys that are there twice": "SELECT a, t, count(*) n FROM f JOIN two ON a = two.k GROUP BY ALL",
    "rows without partners": "SELECT a, t, up, count(v) n FROM f LEFT JOIN gaps ON a = gaps.k GROUP BY ALL",
    "a condition on partners": "SELECT a, t, count(*) n FROM f LEFT JOIN gaps ON a = gaps.k AND v > 0 GROUP BY ALL",
    "a key of a key": "SELECT a, one.t, top.t u, count(*) n FROM f JOIN one ON a = one.k JOIN top ON one.up = top.k"
    " GROUP BY ALL",
    "one that is determined, one that is not": "SELECT a, one.t, two.t u, count(*) n FROM f JOIN one ON a = one.k"
    " JOIN two ON b = two.k WHERE b < 9 GROUP BY ALL",
    "texts alone": "SELECT one.t, top.t u, max(v) m FROM f JOIN one ON a = one.k JOIN top ON z = top.k GROUP BY ALL",
    "groups of groups": "SELECT t, sum(n) s FROM (SELECT a, t, count(*) n FROM f JOIN one ON a = one.k GROUP BY ALL)"
    " GROUP BY t",
    "two sources of the same groups": "SELECT k, t, count(*) n FROM (SELECT one.k, t FROM f JOIN one ON a = one.k"
    " UNION ALL SELECT two.k, t FROM f JOIN two ON b = two.k) GROUP BY ALL",
    "sums of the same products": "SELECT z, sum(v * (1 - z)) a, sum(v * (1 - z) * (1 + z)) b,"
    " avg(v * (1 - z)) c, sum(CASE WHEN v * (1 - z) > 9 THEN v * (1 - z) END) d FROM f GROUP BY z",
    "equal terms in branches": "SELECT a, CASE WHEN a > 9 THEN (v + 1) * z WHEN a < 3 THEN (v + 1) * z ELSE v END x,"
    " coalesce(nullif((v + 1) * z, 2), v + 1) y FROM f WHERE (v + 1) * z > -7 OR v + 1 < -900",
    "a division in one branch": "SELECT v, CASE WHEN z <> 0 THEN 100 // z END x, CASE WHEN z > 0 THEN 100 // z END y"
    " FROM f WHERE v < -990",
    "zeros of both signs": "SELECT count(*) FILTER (1 / (z * 0.0::DOUBLE) > 0) p,"
    " count(*) FILTER (1 / (z * (-0.0)::DOUBLE) > 0) q FROM f",
    "the row before": f"SELECT x.a, x.v, y.v w FROM {RANKED} x JOIN {RANKED} y ON x.a = y.a AND x.r = y.r + 1",
    "the rows around": f"SELECT x.a, x.v, y.v w, z.v u FROM {RANKED} x, {RANKED} y, {RANKED} z"
    " WHERE x.a = y.a AND x.a = z.a AND x.r = y.r + 1 AND x.r = z.r - 1",
    "many outputs": "SELECT " + ", ".join(f"(v + 1) * z + {i} x{i}" for i in range(30)) + " FROM f WHERE v > 990",
}


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_duckdb(tables: tuple[Any, Any], query: str) -> None:
    connection, duck = tables
    found = connection.sql(QUERIES[query]).to_arrow()
    assert Counter(map(str, found.to_pylist())) == Counter(
        map(str, duck.sql(QUERIES[query]).to_arrow_table().to_pylist())
    )


def test_numbers_of_rows_do_not_overflow_so_that_they_are_keys_of_the_first_join(tables: tuple[Any, Any]) -> None:
    """Joined by `a` alone, each row would meet all rows with its `a`."""
    connection, _ = tables
    explained = str(connection.sql(QUERIES["the rows around"]).explain())
    joins = [line for line in explained.splitlines() if "join inner" in line]
    assert len(joins) == 2
    assert all("add(" in line or "subtract(" in line for line in joins)
