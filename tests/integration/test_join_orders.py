"""Joins put in other orders than the request has, beside DuckDB: semi and anti joins over inner joins, joins by several
keys, NULL and frequent values among the keys of all sides, and inputs without rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from tests.support import modes

ROWS, KEYS = 30_000, 3000


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """A connection, and DuckDB's: `sold` and `back` share (k, n), of which NULL and 7 are frequent; `item` has a row of
    each k but few, `day` one of each d; `none` has no row."""
    folder, chance = tmp_path_factory.mktemp("orders"), random.Random(23)

    def key() -> int | None:
        return chance.choice([None, 7, *([chance.randrange(KEYS)] * 18)])

    def fact(rows: int) -> pa.Table:
        return pa.table(
            {
                "k": [key() for _ in range(rows)],
                "n": [chance.choice([None, *range(9)]) for _ in range(rows)],
                "d": [chance.choice([None, *range(300)]) for _ in range(rows)],
                "v": [chance.choice([None, *range(-50, 50)]) for _ in range(rows)],
            }
        )

    day = {"d": range(300), "m": [i // 30 for i in range(300)], "w": [i % 7 if i % 11 else None for i in range(300)]}
    item = {"k": [None, *range(0, KEYS, 2)], "t": [chance.choice([None, "", "é", "red"]) for _ in range(KEYS // 2 + 1)]}
    made = {"sold": fact(ROWS), "back": fact(ROWS // 10), "day": pa.table(day), "item": pa.table(item)}
    made["none"] = made["back"].slice(0, 0)
    duck = duckdb.connect()
    with jumpgate.connect(offload="always") as connection:
        modes.register(connection, duck, made, folder, row_group_size=4000)
        yield connection, duck


STAR = "sold s JOIN day ON s.d = day.d JOIN item i ON s.k = i.k"
OUTER = "sold s LEFT JOIN back b ON b.k = s.k AND b.n = s.n"
FULL = "sold s FULL JOIN back b ON b.k = s.k AND b.n = s.n"
DIMENSIONS = "JOIN day ON s.d = day.d JOIN item i ON s.k = i.k"
QUERIES = {
    "star": f"SELECT s.v, i.t FROM {STAR} WHERE m = 3 AND t = 'red'",
    "two facts by two keys": f"SELECT s.v, b.v x FROM {STAR} JOIN back b ON s.k = b.k AND s.n = b.n WHERE m < 5",
    "days of both facts": "SELECT s.v, b.v x, t FROM sold s JOIN back b ON s.k = b.k AND s.n = b.n"
    " JOIN day a ON a.d = s.d JOIN day c ON c.d = b.d JOIN item i ON i.k = b.k WHERE a.m = 2 AND c.m IN (2, 3, 4)",
    "a condition over two": f"SELECT s.v, b.v x FROM {STAR} JOIN back b ON s.k = b.k WHERE b.v > s.v AND b.n = 3",
    "semi on the fact": f"SELECT s.v, t FROM {STAR} WHERE s.k IN (SELECT k FROM back WHERE v > 0)",
    "semi on a dimension": f"SELECT s.v, t FROM {STAR} WHERE i.t IN (SELECT 're' || 'd' FROM back WHERE n = 2)",
    "anti on the fact": f"SELECT s.v, t FROM {STAR}"
    " WHERE NOT EXISTS (SELECT 1 FROM back b WHERE b.k = s.k AND b.n = s.n)",
    "anti on a dimension": f"SELECT s.v, t FROM {STAR} WHERE NOT EXISTS (SELECT 1 FROM back b WHERE b.n = day.w)",
    "not in, with NULL": f"SELECT s.v FROM {STAR} WHERE s.k NOT IN (SELECT k FROM back)",
    "not in": f"SELECT s.v FROM {STAR} WHERE s.k NOT IN (SELECT k FROM back WHERE k IS NOT NULL)",
    "semi and anti": f"SELECT s.v, w FROM {STAR} WHERE s.k IN (SELECT k FROM back)"
    " AND NOT EXISTS (SELECT 1 FROM back b WHERE b.d = s.d AND b.n = 4)"
    " AND EXISTS (SELECT 1 FROM day e WHERE e.m = day.w)",
    "semi over many pairs": "SELECT s.v, b.v x FROM sold s JOIN back b ON s.d = b.d"
    " WHERE b.k IN (SELECT k FROM item WHERE t = '')",
    "semi of nothing": f"SELECT s.v FROM {STAR} WHERE s.k IN (SELECT k FROM none)",
    "anti of nothing": f"SELECT s.v FROM {STAR} WHERE NOT EXISTS (SELECT 1 FROM none b WHERE b.k = s.k)",
    "outer under a star": f"SELECT s.v, t, b.v x, b.n FROM {OUTER} {DIMENSIONS} WHERE m = 3",
    "outer with a condition": f"SELECT s.v, t, b.v x FROM {OUTER} AND b.v > s.v {DIMENSIONS} WHERE m = 3 AND t = ''",
    "outer whose column is a key": f"SELECT s.v, t, b.v x FROM {OUTER} JOIN day ON b.d = day.d JOIN item i ON s.k = i.k"
    " WHERE m = 3",
    "outer whose column is a key of a dimension": f"SELECT s.v, i.t, b.v x FROM {OUTER} JOIN item i ON b.k = i.k"
    " WHERE i.t = 'red'",
    "full under a key of one side": f"SELECT s.v, b.v x, m FROM {FULL} JOIN day ON b.d = day.d WHERE m < 4",
    "full under keys of both sides": f"SELECT s.v, b.v x, w FROM {FULL} JOIN day ON b.d = day.d"
    " JOIN item i ON s.k = i.k",
    "full under keys of both sides that may be NULL": f"SELECT s.v, b.v x, w FROM {FULL}"
    " JOIN day ON b.d IS NOT DISTINCT FROM day.w AND s.n IS NOT DISTINCT FROM day.w",
    "full under an anti and a semi join": f"SELECT s.v, b.v x FROM {FULL}"
    " WHERE b.d IN (SELECT d FROM day WHERE m = 3) AND NOT EXISTS (SELECT 1 FROM item i WHERE i.k = s.k)",
    "outer joins one upon another": f"SELECT s.v, b.v x, e.w, t FROM {OUTER} LEFT JOIN day e ON e.d = b.d"
    " LEFT JOIN item i ON i.k = e.w JOIN day c ON c.d = i.k",
    "groups of an outer join": f"SELECT g.n, g.c, w FROM (SELECT b.n, count(s.v) c FROM {OUTER} GROUP BY b.n) g"
    " JOIN day ON day.d = g.n",
    "two readers that drop rows": f"WITH x AS (SELECT s.v, b.d, b.n FROM {OUTER})"
    " SELECT x.v, m FROM x JOIN day ON x.d = day.d WHERE m = 3 UNION ALL SELECT x.v, w FROM x JOIN day ON x.n = day.d",
    "two readers of which one keeps rows": f"WITH x AS (SELECT s.v, s.d e, b.d FROM {OUTER})"
    " SELECT x.v, m FROM x JOIN day ON x.d = day.d WHERE m = 3 UNION ALL SELECT x.v, w FROM x JOIN day ON x.e = day.d",
    "two outer joins": f"SELECT s.v, t, b.v x, e.w FROM {OUTER} LEFT JOIN day e ON e.d = s.d AND e.w = s.n {DIMENSIONS}"
    " WHERE day.m = 3",
    "anti by an outer join": f"SELECT s.v, t FROM {OUTER} {DIMENSIONS} WHERE b.k IS NULL AND m = 3",
    "a mark under a star": "SELECT x.v, x.found, w"
    " FROM (SELECT *, k IN (SELECT k FROM back WHERE v > 40) found FROM sold) x JOIN day ON x.d = day.d WHERE m = 3",
    "outer of nothing": "SELECT s.v, w, b.v x FROM sold s LEFT JOIN none b ON b.k = s.k JOIN day ON s.d = day.d"
    " WHERE m = 3",
    "two readers of a join": "WITH x AS (SELECT s.v, s.d, i.k, i.t FROM sold s JOIN item i ON s.k = i.k)"
    " SELECT a.v, b.v x, a.t FROM (SELECT x.* FROM x JOIN day ON x.d = day.d WHERE m = 3) a"
    " JOIN (SELECT x.* FROM x JOIN day ON x.d = day.d WHERE m = 4) b ON a.k = b.k",
    "nothing inside": f"SELECT s.v FROM {STAR} JOIN none b ON b.k = s.k WHERE s.d IN (SELECT d FROM back)",
}


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_rows_are_duckdbs(tables: tuple[Any, Any], query: str) -> None:
    connection, duck = tables
    assert _rows(connection.sql(query).to_arrow()) == _rows(duck.execute(query).to_arrow_table())


def _rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def written(connection: Any, tables: dict[str, pa.Table], folder: Path) -> None:
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
        connection.register(name, folder / f"{name}.parquet")


def test_a_key_that_fails_for_rows_without_a_partner(one_host: str, tmp_path: Path) -> None:
    """Joined with `few` first, the row that `many` drops would be added to, and overflow."""
    most = 2**63 - 1
    made = {
        "fact": pa.table({"k": [*range(20_000), -1], "n": [*(i % 900 for i in range(20_000)), most]}),
        "many": pa.table({"k": range(15_000), "v": range(15_000)}),
        "few": pa.table({"n": [1, 2, most], "w": [1, 1, 0]}),
    }
    with jumpgate.connect(one_host, offload="always") as connection:
        written(connection, made, tmp_path)
        rows = connection.sql(
            "SELECT count(*) AS c, sum(v) AS s FROM fact JOIN many ON fact.k = many.k"
            " JOIN few ON fact.n + 1 = few.n WHERE w = 1"
        )
        kept = [k for k in range(15_000) if k % 900 in (0, 1)]
        assert rows.to_pylist() == [{"c": len(kept), "s": sum(kept)}]


def test_bounds_at_the_end_of_a_key_s_type(one_host: str, tmp_path: Path) -> None:
    """Keys of 64 bits are looked for between bounds that are floats."""
    most = 2**63 - 1
    made = {
        "fact": pa.table({"k": range(40), "n": [*range(-1, 38), most]}),
        "many": pa.table({"k": range(30), "v": range(30)}),
        "far": pa.table({"n": [1, 2, most], "w": range(3)}),
    }
    with jumpgate.connect(one_host, offload="always") as connection:
        written(connection, made, tmp_path)
        rows = connection.sql(
            "SELECT fact.k, v, w FROM fact JOIN far ON fact.n = far.n JOIN many ON fact.k = many.k ORDER BY 1"
        )
        assert rows.to_pylist() == [{"k": 2, "v": 2, "w": 0}, {"k": 3, "v": 3, "w": 1}]
