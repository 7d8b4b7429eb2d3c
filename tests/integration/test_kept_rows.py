"""Rows that are kept for all who read them, beside DuckDB: whatever can be kept is, whether it pays or not."""

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
from jumpgate.compiler.physical import keep_rows
from jumpgate.dataflow.formats import formats

ROWS = 40_000


FACT = {"k": "int64", "v": "int64", "t": "string"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """A connection, and DuckDB's; of the connection's tables, `fact` is in JSON (fact_json) and CSV (fact_csv), too."""
    folder, chance = tmp_path_factory.mktemp("kept"), random.Random(5)
    fact = {
        "k": [chance.choice([None, 7, *([chance.randrange(500)] * 8)]) for _ in range(ROWS)],
        "v": [chance.choice([None, *range(-50, 50)]) for _ in range(ROWS)],
        "t": [chance.choice([None, "", "é", f"a longer text than fits inside {i % 97}"]) for i in range(ROWS)],
    }
    dim = {"k": [None, *range(0, 500, 2)], "w": [None, *(i % 5 for i in range(250))]}
    duck = duckdb.connect()
    with pytest.MonkeyPatch.context() as patch, jumpgate.connect(offload="always") as connection:
        patch.setattr(keep_rows, "WORTH", 0.0)
        patch.setattr(keep_rows, "WORTH_TEXT", 0.0)
        patch.setattr(keep_rows, "SAVED_MIN", 0.0)
        for name, columns in (("fact", fact), ("dim", dim)):
            pq.write_table(pa.table(columns), folder / f"{name}.parquet", row_group_size=7000)
            connection.register(name, folder / f"{name}.parquet")
            duck.execute(f"CREATE VIEW {name} AS FROM '{folder / name}.parquet'")
        for format in ("json", "csv"):
            file = folder / f"fact.{format}"
            formats()[format].write(pa.table(fact), file)
            connection.register(f"fact_{format}", file, schema=FACT, **formats()[format].written_options)
            duck.execute(f"CREATE VIEW fact_{format} AS FROM fact")
        yield connection, duck


BOTH = "WITH x AS (SELECT fact.k, v, t, w FROM fact JOIN dim ON fact.k = dim.k WHERE v > -20)"
NONE = "WITH x AS (SELECT fact.k, v, t, w FROM fact JOIN dim ON fact.k = dim.k WHERE v > 1000)"
#: all read the same columns of `x`, and without conditions that would go below its join
READERS = {
    "two aggregates": "SELECT w, count(v) n, sum(k) s, max(t) t FROM x GROUP BY w"
    " UNION ALL SELECT v, count(w), sum(k), max(t) FROM x GROUP BY v",
    "rows twice": "SELECT k, v, t, w FROM x UNION ALL SELECT v, k, t, w FROM x",
    "groups joined": "SELECT a.*, b.n m, b.s r, b.t u"
    " FROM (SELECT w, count(v) n, sum(k) s, max(t) t FROM x GROUP BY w) a"
    " JOIN (SELECT v, count(w) n, sum(k) s, max(t) t FROM x GROUP BY v) b ON a.w = b.v",
    "not in": "SELECT k, v, t, w FROM x WHERE v NOT IN (SELECT count(*) FROM x GROUP BY k, v, t, w)",
    "distinct and a window": "SELECT count(DISTINCT t) n, count(DISTINCT v) v, sum(k) k, max(w) w FROM x"
    " UNION ALL SELECT row_number() OVER (PARTITION BY k ORDER BY v, t, w), v, k, w FROM x",
    "three": "SELECT w, sum(k) s, max(t) t, min(v) v FROM x GROUP BY w"
    " UNION ALL SELECT k, sum(w), max(t), min(v) FROM x GROUP BY k"
    " UNION ALL (SELECT k, v, t, w FROM x ORDER BY k, v, t, w LIMIT 7)",
}


@pytest.mark.parametrize("given", [BOTH, NONE], ids=["rows", "no rows"])
@pytest.mark.parametrize("query", READERS.values(), ids=READERS)
def test_rows_are_kept_and_duckdbs(tables: tuple[Any, Any], given: str, query: str) -> None:
    connection, duck = tables
    found = connection.sql(f"{given} {query}")
    assert _rows(found.to_arrow()) == _rows(duck.execute(f"{given} {query}").to_arrow_table())
    records = [connection.session.describe(job).record for job in found.jobs]
    assert any(f["kept_rows"] for record in records for f in record["explain"]["fragments"].values())


#: each reads other columns under other conditions
SCANS = {
    "conditions": "SELECT k, count(*) n, sum(v) s FROM {fact} WHERE v BETWEEN 0 AND 9 GROUP BY k"
    " UNION ALL SELECT v, count(t), sum(k) FROM {fact} WHERE t > 'a' GROUP BY v"
    " UNION ALL SELECT 1, count(*), NULL FROM {fact} WHERE v IS NULL",
    "one condition": "SELECT count(*) n, sum(k) s FROM {fact} WHERE v = 7"
    " UNION ALL SELECT count(DISTINCT t), max(k) FROM {fact} WHERE v = 7",
    "joined with itself": "SELECT count(*) n, max(a.t) t, sum(b.v) s"
    " FROM {fact} a JOIN {fact} b ON a.v = b.k WHERE a.k = 3 AND b.v > 40",
    "in its own": "SELECT k, t FROM {fact} WHERE v = 11 AND k IN (SELECT v FROM {fact} WHERE t = 'é')",
    "two groups": "SELECT a.k, a.n, b.n m FROM"
    " (SELECT f.k, count(*) n FROM {fact} f JOIN dim d ON f.k = d.k WHERE w = 1 GROUP BY f.k) a FULL JOIN"
    " (SELECT f.k, count(*) n FROM {fact} f JOIN dim d ON f.k = d.k WHERE w = 1 AND v > 0 GROUP BY f.k) b ON a.k = b.k",
    "nothing": "SELECT count(*) n, max(t) t FROM {fact} WHERE k > 1000"
    " UNION ALL SELECT sum(v), min(t) FROM {fact} WHERE v > 1000",
}


@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize("query", SCANS.values(), ids=SCANS)
def test_text_is_parsed_once_for_all_and_gives_duckdbs_rows(tables: tuple[Any, Any], query: str, format: str) -> None:
    said = _explained(tables, query.format(fact=f"fact_{format}"))
    (fragment,) = said["fragments"].values()
    assert fragment["kept_rows"]
    assert str(said).count(f"fact.{format}") == 1


#: readers of one text who each join it by the same key
PARTNERS = {
    "different partners": "SELECT sum(v) s, count(*) n, max(t) t FROM {fact} f JOIN dim d ON f.k = d.k WHERE w = 1"
    " UNION ALL SELECT sum(v), count(*), min(t) FROM {fact} f JOIN dim d ON f.k = d.k WHERE w = 2 AND d.k < 90",
    "in": "SELECT k, v FROM {fact} WHERE k IN (SELECT k FROM dim WHERE w = 4)"
    " UNION ALL SELECT v, k FROM {fact} WHERE k IN (SELECT k FROM dim WHERE w = 3) AND t > 'a'",
    "no partners": "SELECT sum(v) s, count(*) n, max(t) t FROM {fact} f JOIN dim d ON f.k = d.k WHERE w = 9"
    " UNION ALL SELECT sum(v), count(*), min(t) FROM {fact} f JOIN dim d ON f.k = d.k WHERE w = 8",
}


@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize("query", PARTNERS.values(), ids=PARTNERS)
def test_rows_without_partners_are_not_kept(tables: tuple[Any, Any], query: str, format: str) -> None:
    (fragment,) = _explained(tables, query.format(fact=f"fact_{format}"))["fragments"].values()
    plan = [line.strip() for line in fragment["plan"]]
    (read,) = (n for n, line in enumerate(plan) if f"fact.{format}" in line)
    assert fragment["kept_rows"] and plan[read - 1].startswith("@1 = join semi on #0:k")


def _explained(tables: tuple[Any, Any], text: str) -> Any:
    """How the query's one job ran, whose rows are DuckDB's."""
    connection, duck = tables
    found = connection.sql(text)
    assert _rows(found.to_arrow()) == _rows(duck.execute(text).to_arrow_table())
    (record,) = [connection.session.describe(job).record for job in found.jobs]
    return record["explain"]


def _rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())
