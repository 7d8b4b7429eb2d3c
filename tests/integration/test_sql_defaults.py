"""lag and lead with a default that is computed for each row."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from tests.support import modes
from tests.support.modes import differences, stays

TEXTS = (
    "SELECT id, lag(i, 1, i) OVER (ORDER BY id) AS a FROM t",
    "SELECT id, lead(s, 2, s || '!') OVER w AS a, max(i) OVER w AS b FROM t WINDOW w AS (PARTITION BY g ORDER BY id)",
    "SELECT id, lag(i, 1, i * 10) OVER w AS a, lag(i, 1, i) OVER w AS b, lag(i, 1) OVER w AS c, "
    "lag(i, 1, 7) OVER w AS d, lead(i, 3, id - 1) OVER w AS e FROM t WINDOW w AS (PARTITION BY g ORDER BY id)",
    "SELECT id, lag(i, 2, id IGNORE NULLS) OVER (ORDER BY id) AS a FROM t",
    "SELECT id, lead(d, 1, d + INTERVAL '1' DAY) OVER (ORDER BY id DESC) AS a FROM t",
    "SELECT id, lag(i, 1, (SELECT max(u.id) FROM t u)) OVER (ORDER BY id) + 1 AS a FROM t WHERE id > 3",
    "SELECT g, lag(count(*), 1, sum(id)) OVER (ORDER BY g) AS a FROM t GROUP BY g HAVING count(*) > 1",
    "SELECT id FROM t QUALIFY lead(i, 1, id) OVER (ORDER BY id) = id",
)  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pa.Table:
    ids = range(20)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "g": pa.array([None if n % 7 == 3 else n % 3 for n in ids], pa.int32()),
            "i": pa.array([None if n % 4 == 1 else n * n for n in ids], pa.int64()),
            "s": pa.array([None if n % 5 == 2 else "é" * (n % 3) for n in ids]),
            "d": pa.array([None if n % 6 == 5 else 19_000 + n for n in ids], pa.int32()).cast(pa.date32()),
        }
    )


@pytest.fixture(scope="module")
def connection(
    one_host: str, judge: duckdb.DuckDBPyConnection, table: pa.Table, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    with jumpgate.connect(one_host) as found:
        modes.register(found, judge, {"t": table}, tmp_path_factory.mktemp("defaults"))
        yield found


@pytest.mark.parametrize("text", TEXTS)
def test_defaults_are_of_the_row_that_has_no_neighbour(
    connection: Connection, judge: duckdb.DuckDBPyConnection, text: str
) -> None:
    assert not stays(connection, text) or "ignore_nulls" in stays(connection, text)
    assert not differences(connection, judge, text, jobs=text == TEXTS[1])


def test_a_default_gets_the_type_of_the_values(connection: Connection, judge: duckdb.DuckDBPyConnection) -> None:
    text = "SELECT lag(i, 1, id + 0.75e0) OVER (ORDER BY id) AS a FROM t WHERE id = 4"
    assert not differences(connection, judge, text)
    assert not stays(connection, text)
