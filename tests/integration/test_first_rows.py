"""Filters that keep the first rows of each partition: DuckDB's answers, of fewer rows than there are in the window."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection

ROWS = 250_000


def facts() -> pa.Table:
    """Orders with NULLs, extremes, few values (many ties) and falling ones; partitions of all sizes."""
    random = np.random.default_rng(7)
    sizes = np.minimum(random.zipf(1.3, ROWS), 100_000)
    number = random.integers(-1000, 1000, ROWS)
    extreme = random.choice([-(2**63), -(2**63) + 1, 0, 2**63 - 2, 2**63 - 1], ROWS)
    floats = random.choice([0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -1e300, 5e-324], ROWS)
    text = pc.binary_join_element_wise("a prefix of both words ", pa.array(number).cast(pa.string()), "")
    short = pc.binary_join_element_wise("", pa.array(number % 50).cast(pa.string()), "")

    def with_nulls(values: Any, share: float) -> pa.Array:
        return pa.array(values, mask=random.random(ROWS) < share)

    return pa.table(
        {
            "id": np.arange(ROWS),
            "falling": -np.arange(ROWS),
            "k": with_nulls(random.integers(0, 500, ROWS), 0.02),
            "skewed": sizes,
            "many": random.integers(0, ROWS // 4, ROWS),
            "name": pc.if_else(pa.array(random.random(ROWS) < 0.02), None, short),
            "long": pc.if_else(pa.array(random.random(ROWS) < 0.1), None, text),
            "v": with_nulls(number, 0.1),
            "extreme": with_nulls(extreme, 0.2),
            "small": with_nulls(random.integers(-3, 3, ROWS).astype(np.int32), 0.3),
            "float": with_nulls(floats, 0.1),
            "day": with_nulls(random.integers(0, 3000, ROWS).astype(np.int32), 0.1).cast(pa.date32()),
        }
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("first") / "facts.parquet"
    pq.write_table(facts(), file, row_group_size=20_000)
    return file


@pytest.fixture(scope="module")
def duck(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as duck:
        duck.execute(f"CREATE VIEW facts AS FROM '{file}'")
        yield duck


@pytest.fixture(scope="module")
def connection(file: Path, one_host: str) -> Iterator[Connection]:
    with jumpgate.connect(one_host, offload="always") as connection:
        connection.register("facts", file)
        yield connection


#: what partitions, what orders (totally, but for rank), the filter
FILTERS = [
    ("k", "v, id", "row_number", "r <= 3"),
    ("k", "v DESC NULLS FIRST, id", "row_number", "r = 1"),
    ("k", "v", "rank", "r <= 2"),
    ("k", "small DESC", "rank", "r < 40"),
    ("k", "v NULLS FIRST", "dense_rank", "r = 1"),
    ("skewed", "extreme NULLS FIRST, v DESC, id", "row_number", "r <= 5"),
    ("skewed", "extreme DESC NULLS LAST, id DESC", "row_number", "6 > r"),
    ("skewed", "extreme NULLS LAST, id", "row_number", "r <= 128"),
    ("name", "float DESC NULLS LAST, id", "row_number", "r <= 10"),
    ("name, k", "float NULLS FIRST", "rank", "r <= 1"),
    ("long", "day, small DESC, extreme, id", "row_number", "r <= 2"),
    ("float", "long DESC NULLS FIRST, name, id", "row_number", "r <= 7"),
    ("k + 1", "v * 2 DESC, id", "row_number", "r <= 3 AND id % 2 = 0"),
    ("small", "falling", "row_number", "r <= 4"),
    ("many", "falling", "row_number", "r <= 1"),
    ("small, name", "long", "rank", "r < 3"),
    ("k", "v, id", "row_number", "r <= 0"),
    ("k", "v, id", "row_number", "r <= -1"),
    ("k", "v, id", "row_number", "r <= 1000000000000"),
    ("k", "v, id", "row_number", "r >= 3 AND r <= 5"),
    ("k", "v, id", "row_number", "r > 300"),
]


def _query(partition: str, order: str, function: str, condition: str) -> str:
    return (
        f"SELECT count(*) AS n, sum(id) AS i, sum(r * (id % 1000)) AS s, min(long) AS l, max(name) AS m, sum(p) AS p"
        f" FROM (SELECT *, {function}() OVER w AS r, lag(id) OVER w AS p FROM facts"
        f" WINDOW w AS (PARTITION BY {partition} ORDER BY {order})) WHERE {condition}"
        if function == "row_number"
        else f"SELECT count(*) AS n, sum(id) AS i, sum(r * (id % 1000)) AS s, min(long) AS l, max(name) AS m FROM"
        f" (SELECT *, {function}() OVER (PARTITION BY {partition} ORDER BY {order}) AS r FROM facts) WHERE {condition}"
    )


def _answers(connection: Connection, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in connection.sql(text).to_arrow().to_pylist()]


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize(("partition", "order", "function", "condition"), FILTERS)
def test_answers_are_duckdb_s(
    connection: Connection,
    duck: duckdb.DuckDBPyConnection,
    partition: str,
    order: str,
    function: str,
    condition: str,
) -> None:
    text = _query(partition, order, function, condition)
    assert _answers(connection, text) == duck.execute(text).fetchall()


@pytest.mark.parametrize("text", [_query(*f) for f in (FILTERS[0], FILTERS[2], FILTERS[8], FILTERS[13])])
def test_answers_of_several_hosts_are_duckdb_s(
    file: Path, four_hosts: str, duck: duckdb.DuckDBPyConnection, text: str
) -> None:
    with jumpgate.connect(four_hosts, offload="always", parallelism=4) as connection:
        connection.register("facts", file)
        assert _answers(connection, text) == duck.execute(text).fetchall()


@pytest.mark.parametrize("text", [_query(*f) for f in (FILTERS[0], FILTERS[5], FILTERS[10], FILTERS[14])])
def test_answers_in_little_memory_are_duckdb_s(
    file: Path, one_host: str, duck: duckdb.DuckDBPyConnection, text: str
) -> None:
    with jumpgate.connect(one_host, offload="always", memory_limit_bytes=6 << 20) as connection:
        connection.register("facts", file)
        assert _answers(connection, text) == duck.execute(text).fetchall()


def _held(connection: Connection, text: str) -> int:
    """Rows that came to the tables of the query's windows; of several, the fewest."""
    with connection.sql(text) as answer:
        answer.to_arrow()
        (record,) = (connection.session.describe(job).record for job in answer.jobs)
    assert record is not None
    (counters,) = record["counters"].values()
    return min(int(p["entered"][-1]) for p in counters["pipelines"] if p["name"].endswith("→ window"))


def test_rows_that_come_later_are_not_held(connection: Connection) -> None:
    first = "SELECT sum(id) FROM (SELECT id, {} AS r FROM facts) WHERE r <= 3"
    window = "(PARTITION BY k ORDER BY v, id)"
    assert _held(connection, first.format(f"row_number() OVER {window}")) < ROWS / 8
    assert _held(connection, first.format(f"rank() OVER {window}")) < ROWS / 8
    both = f"row_number() OVER {window} AS r2, sum(v) OVER {window}"
    assert _held(connection, first.format(both)) == ROWS


def test_what_falls_is_held_without_more_ado(connection: Connection) -> None:
    text = "SELECT sum(id) FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY falling) AS r FROM facts)"
    assert _held(connection, f"{text} WHERE r <= 3") > ROWS * 0.9


def test_a_window_with_another_user_keeps_all_rows(connection: Connection, duck: duckdb.DuckDBPyConnection) -> None:
    text = (
        "WITH w AS (SELECT id, v, row_number() OVER (PARTITION BY k ORDER BY v, id) AS r FROM facts)"
        " SELECT count(*) AS n, sum(b.r * (b.id % 10)) AS s FROM (SELECT * FROM w WHERE r <= 2) AS a JOIN w AS b"
        " ON a.v = b.v WHERE b.id % 50 = 0"
    )
    assert _answers(connection, text) == duck.execute(text).fetchall()


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(tmp_path: Path, one_host: str, rows: int) -> None:
    file = tmp_path / "few.parquet"
    pq.write_table(facts().slice(0, rows), file)
    with jumpgate.connect(one_host, offload="always") as connection:
        connection.register("facts", file)
        text = "SELECT id FROM (SELECT id, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM facts) WHERE r <= 2"
        assert _answers(connection, text) == [(0,)] * rows


def test_explain_says_so(connection: Connection) -> None:
    text = "EXPLAIN SELECT id FROM (SELECT id, rank() OVER (PARTITION BY k ORDER BY v) r FROM facts) WHERE r < 4"
    lines = "\n".join(map(str, connection.sql(text).to_arrow().to_pylist()))
    assert "first 3 rows of each partition with ties" in lines
