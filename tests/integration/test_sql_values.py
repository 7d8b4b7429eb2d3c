"""VALUES as inputs of offloaded plans: the same rows as where DuckDB has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import jumpgate
from jumpgate.client.sql.connection import Connection

OFFLOADED = (
    "VALUES (1, 'a'), (2, NULL), (-3, 'é')",
    "SELECT a + 1 AS n, b, c FROM (VALUES (1, 'one', NULL), (-2, NULL, 1.5)) AS v (a, b, c)",
    "SELECT * FROM (VALUES (DATE '2024-02-29', true, 1.25, TIMESTAMP '1969-12-31 23:59:59.5', 2.5e0)) AS v",
    "SELECT * FROM (VALUES (1 + 1), (CAST('7' AS INT)), (-9223372036854775807)) AS v",
    "SELECT t.k, v.name FROM t LEFT JOIN (VALUES (1, 'one'), (2, 'two')) AS v (k, name) ON t.k = v.k",
    "SELECT * FROM t WHERE k IN (SELECT col0 FROM (VALUES (1), (3)) AS v)",
    "WITH v (k) AS (VALUES (1), (1), (NULL)) SELECT k, count(*) AS n, sum(k) AS s FROM v GROUP BY k",
    "SELECT k FROM t UNION ALL VALUES (7), (8)",
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    file: Path = tmp_path_factory.mktemp("values") / "t.parquet"
    parquet.write_table(pa.table({"k": [1, 2, 3, None], "s": ["x", "y", "z", None]}), file)
    with jumpgate.connect() as found:
        found.register("t", file)
        yield found


def rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("text", OFFLOADED)
def test_values_are_offloaded(connection: Connection, text: str) -> None:
    query = connection.sql(text, offload="always")
    assert query.split.cuts, query.explain()
    expected = connection.sql(text, offload="never").to_arrow()
    assert query.to_arrow().schema == expected.schema
    assert rows(query.to_arrow()) == rows(expected)


def test_more_values_than_a_dataflow_holds_stay(connection: Connection) -> None:
    rows = ", ".join(f"({i})" for i in range(5000))
    query = connection.sql(f"SELECT sum(col0) AS s FROM (VALUES {rows}) AS v", offload="always")
    assert query.to_arrow().to_pylist() == [{"s": 5000 * 4999 // 2}]


def test_another_service_does_not_see_them(one_host: str) -> None:
    with jumpgate.connect(one_host, offload="always") as connection:
        query = connection.sql("VALUES (1), (2)")
        assert "query: it reads no table" in query.explain()
        assert query.to_arrow()["col0"].to_pylist() == [1, 2]
