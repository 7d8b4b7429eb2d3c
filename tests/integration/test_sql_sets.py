"""EXCEPT ALL, INTERSECT ALL and FULL JOIN … USING."""

from __future__ import annotations

import math
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from tests.support import modes
from tests.support.modes import differences, stays

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
    "SELECT a FROM t WHERE a IN (SELECT a FROM u EXCEPT ALL SELECT a FROM t)",
    "SELECT a FROM t EXCEPT ALL SELECT f FROM u",
    "SELECT * FROM z, x FULL JOIN y USING (k)",
    "SELECT * FROM x FULL JOIN y USING (k) JOIN z USING (j)",
)


@pytest.fixture(scope="module")
def connection(
    one_host: str, judge: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    with jumpgate.connect(one_host) as found:
        modes.register(found, judge, TABLES, tmp_path_factory.mktemp("sets"))
        yield found


@pytest.mark.parametrize("text", QUERIES)
def test_rows_are_counted_and_columns_joined(
    connection: Connection, judge: duckdb.DuckDBPyConnection, text: str
) -> None:
    assert not stays(connection, text)
    assert not differences(connection, judge, text, jobs=text in (QUERIES[1], QUERIES[10]))


def test_parameters_of_set_operations(connection: Connection, judge: duckdb.DuckDBPyConnection) -> None:
    text = "SELECT a, $1 AS p FROM t EXCEPT ALL SELECT a, $1 FROM u ORDER BY a"
    assert not stays(connection, text, ["é"])
    assert not differences(connection, judge, text, ["é"], ordered=True)
