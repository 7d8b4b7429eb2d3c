"""Filters whose conditions are tried column by column, and once for each value of a dictionary, beside DuckDB."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.errors import JumpgateError

ROWS = 50_000
DAY = datetime.date(2001, 1, 1)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """A connection, and DuckDB's, with `t`: of `few` each row group has a dictionary, in an order of its own; that of
    `many` and `wide` have more values than verdicts are kept of, and end before the row group does; `u`: the same
    without."""
    folder, chance = tmp_path_factory.mktemp("filters"), random.Random(3)

    def some(value: Any) -> Any:
        return None if chance.random() < 0.05 else value

    columns = {
        "i": list(range(ROWS)),
        "a": [some(chance.randrange(-50, 50)) for _ in range(ROWS)],
        "b": [some(chance.randrange(-50, 50)) for _ in range(ROWS)],
        "d": [some(DAY + datetime.timedelta(days=chance.randrange(900))) for _ in range(ROWS)],
        "f": [some(chance.choice([float("nan"), -0.0, 0.0, 1.5, float("inf"), chance.random()])) for _ in range(ROWS)],
        "few": [some(f"é{chance.randrange(30) + i // 9000}" * (i % 3)) for i in range(ROWS)],
        "kind": [f"k{i % 5}" for i in range(ROWS)],
        "many": [some(f"text {chance.randrange(40_000)}") for _ in range(ROWS)],
        "low": [chance.randrange(50) + i // 9000 for i in range(ROWS)],
        "day": [DAY + datetime.timedelta(days=chance.randrange(2500)) for _ in range(ROWS)],
        "wide": [chance.randrange(40_000) * 1_000_003 for _ in range(ROWS)],
    }
    table = pa.table(columns)
    pq.write_table(
        table, folder / "t.parquet", row_group_size=24_000, data_page_size=5000, dictionary_pagesize_limit=235_000
    )
    pq.write_table(table, folder / "u.parquet", use_dictionary=False, row_group_size=7000)
    duck = duckdb.connect()
    with jumpgate.connect(offload="always") as connection:
        for name in "tu":
            connection.register(name, folder / f"{name}.parquet")
            duck.execute(f"CREATE VIEW {name} AS FROM '{folder / name}.parquet'")
        yield connection, duck


CONDITIONS = [
    "few = 'é7' AND a > 10 AND b < a AND d >= DATE '2001-03-01' AND d < DATE '2002-01-01'",
    "few IN ('é7', 'é9é9', '') AND many LIKE '%77%' AND a IS NOT NULL",
    "few LIKE 'é1%' OR few IS NULL",
    "many < 'text 2' AND a BETWEEN -3 AND 3",
    "few IS NULL AND a IS NULL",
    "few <> 'é7' AND b <> 7 AND f > 0",
    "f >= 0 AND f <= 1 AND a = b",
    "upper(few) = 'É3' AND length(many) = 9 AND a + b > 3",
    "a > 1000 AND few = 'é7'",
    "few = 'é7' AND few LIKE '%7' AND many > few",
    "i BETWEEN 8 AND 40070 AND a <= 3 AND kind <> 'k3'",
    "i >= 49990",
    "kind = 'k1' AND d IS NOT NULL",
    "kind LIKE '%k' AND i > 3",
    "low BETWEEN 7 AND 9 AND wide > 20000000000 AND wide <> low",
    "low IN (3, 5, 52) AND day >= DATE '2003-03-01' AND day < DATE '2003-04-11'",
    "low % 7 = 3 AND day IS NOT NULL AND low < 100",
    "wide BETWEEN 1000003 AND 5000015000 AND low = 7",
    "wide IN (1000003, 2000006, 39999119997) OR wide % 977 = 3",
    "day = DATE '2004-02-29' AND low > a",
    "low > 55 AND few = 'é7'",
    "low = 3 AND low + wide > 5 AND kind IN ('k1', 'k4')",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_rows_are_duckdbs(tables: tuple[Any, Any], condition: str) -> None:
    connection, duck = tables
    for table in "tu":
        query = f"SELECT i, few, many, d, low, day, wide FROM {table} WHERE {condition} ORDER BY i"
        assert connection.sql(query).to_arrow().to_pylist() == duck.execute(query).to_arrow_table().to_pylist()


@pytest.mark.parametrize("keys", ["low", "low, kind", "day", "kind, low, day", "few, low", "wide % 7, low"])
@pytest.mark.parametrize("condition", ["TRUE", "low > 30", "low IN (3, 5) AND wide > 20000000000"])
def test_groups_by_what_a_filter_has_read(tables: tuple[Any, Any], keys: str, condition: str) -> None:
    connection, duck = tables
    measures = "count(*) n, sum(low) s, min(kind) least, max(wide) most, min(day) earliest"
    for table in "tu":
        query = f"SELECT {keys}, {measures} FROM {table} WHERE {condition} GROUP BY {keys} ORDER BY ALL"
        assert connection.sql(query).to_arrow().to_pylist() == duck.execute(query).to_arrow_table().to_pylist()


def test_conditions_after_a_join(tables: tuple[Any, Any]) -> None:
    connection, duck = tables
    query = """SELECT t.i, s.many FROM t JOIN u s ON t.i = s.i
        WHERE t.few = 'é7' AND s.few LIKE '%7' AND t.a > s.b AND t.many > 'text 1' ORDER BY t.i"""
    assert connection.sql(query).to_arrow().to_pylist() == duck.execute(query).to_arrow_table().to_pylist()


def test_other_literals_are_other_conditions(tables: tuple[Any, Any]) -> None:
    """Of one program that runs again over the same texts."""
    connection, duck = tables
    for text in ("é7", "é8", "none"):
        query = f"SELECT count(*) n, min(i) least FROM t WHERE few = '{text}' AND many LIKE '%{text[-1]}'"
        assert connection.sql(query).to_arrow().to_pylist() == duck.execute(query).to_arrow_table().to_pylist()


def test_what_is_guarded_does_not_fail(tables: tuple[Any, Any]) -> None:
    connection, duck = tables
    guarded = "SELECT count(*) n FROM t WHERE i < 40000 AND i > 100 AND 2147483647 - i + (i - 100) > 5 AND few = 'é7'"
    assert connection.sql(guarded).to_arrow().to_pylist() == duck.execute(guarded).to_arrow_table().to_pylist()
    with pytest.raises(JumpgateError, match="cast"):
        connection.sql("SELECT count(*) n FROM t WHERE a > 0 AND CAST(many AS BIGINT) > 3").to_arrow()
