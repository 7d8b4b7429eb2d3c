"""Groups by values whose dictionaries change along a file, beside DuckDB."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate

ROWS = 60_000


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """A connection, and DuckDB's, with `t`: dictionaries of many row groups, of which some end within theirs; `u`: rows
    without dictionaries; `d`: a dimension."""
    folder, chance = tmp_path_factory.mktemp("coded"), random.Random(11)

    def text(row: int, most: int) -> str | None:
        n = chance.randrange(most) + row // 7000  # others come, in another order of first sight
        return None if n % 13 == 5 else "" if n % 13 == 6 else f"é{n}" * (n % 4 + 1)

    columns = {
        "a": [text(i, 30) for i in range(ROWS)],
        "b": [text(i, 3) for i in range(ROWS)],
        "many": [f"{chance.randrange(9000):030d}" for _ in range(ROWS)],
        "k": [chance.choice([None, 1, 2]) for _ in range(ROWS)],
        "day": [chance.randrange(40) for _ in range(ROWS)],
        "id": [chance.choice([-(2**63), 0, 7, 2**63 - 1, chance.randrange(9000)]) for _ in range(ROWS)],
        "v": [chance.randrange(-(10**6), 10**6) for _ in range(ROWS)],
    }
    table = pa.table(columns | {"day": pa.array(columns["day"], pa.int32()).cast(pa.date32())})
    pq.write_table(
        table, folder / "t.parquet", row_group_size=9000, dictionary_pagesize_limit=60_000, data_page_size=3000
    )
    pq.write_table(table.slice(0, 20_000), folder / "u.parquet", use_dictionary=False)
    names = pa.table({"k": [1, 2], "name": ["one", "two"], "group": ["x", "x"]})
    pq.write_table(names, folder / "d.parquet")
    duck = duckdb.connect()
    with jumpgate.connect(offload="always") as connection:
        for name in "tud":
            connection.register(name, folder / f"{name}.parquet")
            duck.execute(f"CREATE VIEW {name} AS FROM '{folder / name}.parquet'")
        yield connection, duck


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {keys}, count(*) n, sum(v) s FROM t GROUP BY {keys}"
        for keys in ("a", "many", "a, b", "a, k", "a, day, k", "b, a, k, day", "a, b, many", "a || b", "upper(a)",
                     "coalesce(b, 'none'), k", "day + 1, b", "day", "day, b", "id", "id % 100, day", "a, a || b")
    ]
    + [
        "SELECT a, count(*) n FROM t WHERE v > 0 AND k = 1 GROUP BY a",
        "SELECT day, a, count(*) n, max(v) m FROM t WHERE v > 950000 AND id < 8000 GROUP BY day, a",
        "SELECT day, count(*) n FROM (SELECT day FROM t UNION ALL SELECT day FROM u) GROUP BY day",
        "SELECT b, sum(v) s FROM (SELECT b, v FROM t WHERE v < 0 UNION ALL SELECT a, v FROM u) GROUP BY b",
        "SELECT x, count(*) n FROM (SELECT CAST(day AS VARCHAR) x FROM t UNION ALL SELECT b FROM t) GROUP BY x",
        "SELECT d.name, a, sum(v) s FROM t JOIN d ON t.k = d.k GROUP BY d.name, a",
        'SELECT d."group", e.name, b, count(*) n FROM t JOIN d ON t.k = d.k LEFT JOIN d e ON t.v % 2 + 1 = e.k'
        ' GROUP BY d."group", e.name, b',
    ],
)  # fmt: skip
def test_groups_are_duckdbs(tables: tuple[Any, Any], query: str) -> None:
    connection, duck = tables
    answer = connection.sql(query).to_arrow()
    assert answer.num_rows > 1
    assert rows(answer) == rows(duck.execute(query).to_arrow_table())


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)
