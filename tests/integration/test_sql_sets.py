"""EXCEPT ALL, INTERSECT ALL and FULL JOIN … USING, which DataFusion answers wrongly: DuckDB's answers in every mode."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.errors import InvalidSql

TABLES = {
    "t": pa.table(
        {
            "a": pa.array([1, 1, 1, 2, None, None, 3], pa.int32()),
            "b": ["x", "x", "y", "y", None, None, "z"],
            "f": [0.0, -0.0, math.nan, math.nan, 1.0, 1.0, None],
        }
    ),
    "u": pa.table({"a": [1, 2, 2, None, 4], "b": ["x", "y", "y", None, "z"], "f": [0.0, math.nan, math.nan, 1.0, 2.0]}),
    "x": pa.table({"k": [1, 2, 2, None], "v": [1, 2, 3, 4]}),
    "y": pa.table({"k": [3, 2, None], "w": [1, 2, 3], "j": [1, 1, 1]}),
    "z": pa.table({"k": [3, 2, 9], "j": [1, 2, 3], "q": [1, 2, 3]}),
}
QUERIES = (
    "SELECT a FROM t EXCEPT ALL SELECT a FROM u",
    "SELECT a, b FROM t INTERSECT /* */ all SELECT a, b FROM u",
    "WITH w AS (SELECT a FROM t) SELECT a FROM w EXCEPT ALL (SELECT a FROM u INTERSECT ALL SELECT a FROM t)",
    "SELECT a FROM t UNION ALL SELECT a FROM u EXCEPT ALL SELECT a + 1 FROM t",
    "SELECT DISTINCT a FROM t INTERSECT ALL SELECT a FROM u",
    "SELECT f FROM t EXCEPT ALL SELECT f FROM u",
    "SELECT f FROM t INTERSECT ALL SELECT f FROM u",
    "SELECT a AS z, count(*) AS n FROM t GROUP BY a EXCEPT ALL SELECT a, 1 FROM u",
    "SELECT a FROM t EXCEPT ALL VALUES (1), (1)",
    "SELECT * FROM t WHERE a > (SELECT min(a) FROM (SELECT a FROM t EXCEPT ALL SELECT a FROM u) AS s)",
    "SELECT * FROM x FULL JOIN y USING (k)",
    "SELECT k, v, w FROM x FULL OUTER JOIN y USING (k) WHERE k > 1 OR k IS NULL",
    "SELECT k, count(*) AS n FROM x FULL JOIN y USING (k) GROUP BY k HAVING max(k) > 1 ORDER BY k",
    "SELECT x.k AS a, y.k AS b, k FROM x FULL JOIN y USING (k)",
    "SELECT *, 1 AS one FROM x FULL JOIN y USING (k) FULL JOIN z USING (k)",
    "SELECT k + 1 AS m, CASE WHEN k = 2 THEN k END AS c FROM x AS a FULL JOIN (SELECT * FROM y) b USING (k)",
    "SELECT * FROM y FULL JOIN z USING (k, j)",
    "SELECT * FROM x LEFT JOIN y USING (k) FULL JOIN z USING (k)",
    "SELECT * FROM x RIGHT JOIN y USING (k) FULL JOIN z USING (k) WHERE k > 1",
    "SELECT * FROM x FULL JOIN y USING (k) UNION ALL SELECT 1, 2, 3, 4 ORDER BY 1",
    "SELECT (SELECT count(*) FROM z WHERE z.k = x.k) AS n, k FROM x FULL JOIN y USING (k)",
    "WITH f AS (SELECT * FROM x FULL JOIN y USING (k)) SELECT count(k) AS n, max(k) AS m FROM f",
    "SELECT sum(k) OVER (ORDER BY k) AS s, \"k\" FROM x FULL JOIN y USING (k) WHERE left('k', 1) = 'k'",
    "SELECT v * 2 AS k, x.k AS j FROM x FULL JOIN y USING (k) ORDER BY k LIMIT 3",
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder: Path = tmp_path_factory.mktemp("sets")
    with jumpgate.connect() as found:
        for name, table in TABLES.items():
            parquet.write_table(table, folder / f"{name}.parquet")
            found.register(name, folder / f"{name}.parquet")
        yield found


def in_order(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(repr(tuple(0.0 if value == 0.0 else value for value in row)) for row in rows)


@pytest.mark.parametrize("text", QUERIES)
def test_rows_are_counted_and_columns_joined(connection: Connection, text: str) -> None:
    with duckdb.connect() as other:
        for name, table in TABLES.items():
            other.register(name, table)
        answer = other.execute(text)
        names, expected = [column[0] for column in answer.description or ()], in_order(answer.fetchall())
    for mode in ("never", "auto") if "RIGHT JOIN" in text else ("never", "auto", "always"):
        found = connection.sql(text, offload=mode).to_arrow()
        assert in_order(list(zip(*(column.to_pylist() for column in found.columns), strict=True))) == expected
        assert [name.lower() for name in found.column_names] == [name.lower() for name in names]


def test_parameters_of_set_operations(connection: Connection) -> None:
    text = "SELECT a, $1 AS p FROM t EXCEPT ALL SELECT a, $1 FROM u ORDER BY a"
    assert connection.sql(text, ["é"]).to_arrow()["a"].to_pylist() == [1, 1, 3, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT a FROM t WHERE a IN (SELECT a FROM u EXCEPT ALL SELECT a FROM t)", "EXCEPT ALL and INTERSECT ALL are"),
        ("SELECT a FROM t EXCEPT ALL SELECT f FROM u", "column 'a' is int32 on the left of a set operation with ALL"),
        ("SELECT * FROM z, x FULL JOIN y USING (k)", "FULL JOIN by equal names"),
        ("SELECT * FROM x FULL JOIN y USING (k) JOIN z USING (j)", "FULL JOIN by equal names"),
    ],
)
def test_what_cannot_be_written_otherwise_is_refused(text: str, message: str) -> None:
    """In DuckDB's dialect DuckDB answers."""
    with jumpgate.connect(dialect="datafusion") as connection:
        for name, table in TABLES.items():
            connection.register(name, table)
        with pytest.raises(InvalidSql, match=message):
            connection.sql(text)
