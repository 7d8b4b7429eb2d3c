"""Groups that only some keys are asked of, beside DuckDB: with NULL among the keys of both sides, none, and all kinds
of joins above them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.service import calibration

ROWS, KEYS = 150_000, 30_000
GROUPS = "(SELECT k, l, count(*) n, sum(v) s, min(t) t FROM facts GROUP BY k, l)"
BY_K = "(SELECT k, count(*) n, sum(v) s, min(t) t FROM facts GROUP BY k)"
MANY = f"(SELECT k FROM {BY_K} WHERE n > 3 AND s > -200 AND t < 'b')"
RANKED = "(SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v, id) r FROM facts)"


@pytest.fixture(scope="module")
def unmeasured() -> Iterator[None]:
    """Plans are for a machine whose groups are dear, whatever was measured of this one."""
    assumed = calibration.assumed()
    dear = {kind: seconds * (10 if kind.startswith("group") else 1) for kind, seconds in assumed.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "load", lambda who: dear)
        yield


@pytest.fixture(scope="module")
def tables(unmeasured: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """A connection, and DuckDB's: `facts` of many keys, of which NULL and 7 are frequent, and `dims` with some."""
    folder, chance = tmp_path_factory.mktemp("reduced"), random.Random(14)

    def key() -> int | None:
        return chance.choice([None, 7, *([chance.randrange(KEYS)] * 18)])

    facts = {
        "id": range(ROWS),
        "k": [key() for _ in range(ROWS)],
        "l": [chance.choice([None, 0, 1, 2]) for _ in range(ROWS)],
        "v": [chance.choice([None, *range(-50, 50)]) for _ in range(ROWS)],
        "t": [chance.choice([None, "", "é", "a longer text than fits inside"]) for _ in range(ROWS)],
    }
    dims = {
        "k": [*(None if i % 50 == 3 else i for i in range(KEYS)), 7, 7, None, KEYS + 1],
        "l": [i % 3 if i % 11 else None for i in range(KEYS + 4)],
        "kind": [i % 700 if i != 7 else 1 for i in range(KEYS)] + [1, 1, 1, 1],
    }
    pq.write_table(pa.table(facts), folder / "facts.parquet", row_group_size=20_000)
    pq.write_table(pa.table(dims), folder / "dims.parquet")
    duck = duckdb.connect()
    with jumpgate.connect(offload="always") as connection:
        for name in ("facts", "dims"):
            connection.register(name, folder / f"{name}.parquet")
            duck.execute(f"CREATE VIEW {name} AS FROM '{folder / name}.parquet'")
        yield connection, duck


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


REDUCED = {
    "inner": f"SELECT d.k, g.n, g.s, g.t FROM (SELECT * FROM dims WHERE kind = 1) d JOIN {BY_K} g ON d.k = g.k",
    "two keys": f"SELECT d.k, d.l, g.n, g.s FROM (SELECT * FROM dims WHERE kind = 1) d JOIN {GROUPS} g"
    " ON d.k = g.k AND d.l = g.l",
    "left": f"SELECT d.k, g.n, g.s FROM (SELECT * FROM dims WHERE kind = 1) d LEFT JOIN {BY_K} g ON d.k = g.k",
    "none": f"SELECT d.k, g.n FROM (SELECT * FROM dims WHERE kind = -1 OR k = {KEYS + 1}) d JOIN {BY_K} g ON d.k = g.k",
    "correlated": "SELECT f.id, f.v FROM facts f, dims d WHERE f.k = d.k AND d.kind = 1"
    " AND f.v < (SELECT avg(i.v) FROM facts i WHERE i.k = d.k)",
    "exists": f"SELECT k, l FROM dims WHERE kind = 1 AND EXISTS (SELECT 1 FROM {MANY} g WHERE g.k = dims.k)",
    "not exists": f"SELECT k, l FROM dims WHERE kind = 1 AND NOT EXISTS (SELECT 1 FROM {MANY} g WHERE g.k = dims.k)",
    "window": f"SELECT d.l, w.v, w.r FROM (SELECT * FROM dims WHERE kind = 1) d JOIN {RANKED} w ON d.k = w.k",
    "union": "SELECT d.k, g.s FROM (SELECT * FROM dims WHERE kind = 1) d JOIN (SELECT k, sum(v) s FROM"
    " (SELECT k, v FROM facts WHERE l = 0 UNION ALL SELECT k, v FROM facts WHERE l > 0) GROUP BY k) g ON d.k = g.k",
    "computed": "SELECT d.k, g.s FROM (SELECT * FROM dims WHERE kind = 1) d JOIN"
    " (SELECT coalesce(k, 7) c, sum(v) s FROM facts GROUP BY coalesce(k, 7)) g ON d.k = g.c",
    "over a join": "SELECT d.k, g.s FROM (SELECT * FROM dims WHERE kind = 1) d JOIN"
    " (SELECT f.k, sum(e.l) s FROM facts f JOIN dims e ON f.k = e.k GROUP BY f.k) g ON d.k = g.k",
}
KEPT = {
    "right": f"SELECT d.k, g.n FROM (SELECT * FROM dims WHERE kind = 1) d RIGHT JOIN {BY_K} g ON d.k = g.k",
    "full": f"SELECT d.k, g.n FROM (SELECT * FROM dims WHERE kind = 1) d FULL JOIN {BY_K} g ON d.k = g.k",
    "not in": f"SELECT n FROM {BY_K} g WHERE k NOT IN (SELECT k FROM dims WHERE kind = 1 AND k IS NOT NULL)",
    "one group": "SELECT count(*) n FROM (SELECT * FROM dims WHERE kind = 1) d JOIN (SELECT max(k) k FROM facts) g"
    " ON d.k <= g.k",
    "another key": "SELECT d.k, g.s FROM (SELECT * FROM dims WHERE kind = 1) d JOIN"
    " (SELECT l, count(DISTINCT t) s FROM facts GROUP BY l) g ON d.l = g.s - 2",
}


@pytest.mark.parametrize("query", [*REDUCED, *KEPT])
def test_answers_are_duckdbs(tables: tuple[Any, Any], query: str) -> None:
    connection, duck = tables
    text = {**REDUCED, **KEPT}[query]
    expected = rows(duck.execute(text).to_arrow_table())
    assert rows(connection.sql(text).to_arrow()) == expected
    assert expected or query == "none"


@pytest.mark.parametrize("query", [*REDUCED])
def test_explain_shows_the_semi_join_below_the_groups(tables: tuple[Any, Any], query: str) -> None:
    connection, _ = tables
    lines = connection.sql(REDUCED[query]).explain().splitlines()
    plan = lines[next(i for i, line in enumerate(lines) if line.startswith("Offloaded")) :]
    (groups,) = (i for i, line in enumerate(plan) if " by " in line and ("aggregate m0" in line or "window" in line))
    # below correlated groups, DuckDB has put a join with the distinct keys
    assert any("join semi" in line or "join inner on #0:k = #0:d0" in line for line in plan[groups:]), lines
