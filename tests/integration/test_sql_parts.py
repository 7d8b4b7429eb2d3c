"""SQL of which only parts are dataflows: the parts run as jobs, and DuckDB computes the rest over their results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.errors import InvalidCast
from tests.support.alike import unlike

ROWS = """SELECT CASE i % 7 WHEN 3 THEN NULL ELSE i % 7 END::BIGINT AS k, i::BIGINT AS i,
    CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN '2001-02-03' ELSE 'a,b' END AS s,
    (CAST(['0.5', 'nan', NULL, '-1.5'] AS DOUBLE[]))[1 + i % 4] AS x FROM range(200) t(i)"""
GROUPS = "(SELECT k, count(*) AS n, max(x) AS m, min(s) AS s FROM p WHERE i > 20 GROUP BY k)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("parts")
    with duckdb.connect() as database:
        database.execute(f"COPY ({ROWS}) TO '{found}/p.parquet'")
        database.execute(f"COPY (SELECT k, i, s FROM ({ROWS}) WHERE i < 9) TO '{found}/j.json'")
    return found


@pytest.fixture(scope="module")
def connection(one_host: str, folder: Path) -> Iterator[Connection]:
    with jumpgate.connect(one_host, offload="always") as connection:
        connection.register("p", folder / "p.parquet")
        connection.register("j", folder / "j.json")
        yield connection


@pytest.mark.parametrize(
    ("text", "jobs"),
    [
        (f"SELECT k, list_distinct([n, 15]), m, regexp_split_to_array(s, ',') FROM {GROUPS}", 1),
        (f"SELECT list_distinct([k]), row_number() OVER (ORDER BY n, k) FROM {GROUPS} ORDER BY 1 DESC LIMIT 3", 1),
        (
            "SELECT x, list_distinct([x]) FROM (SELECT x, list_distinct([i])[1] AS z FROM p WHERE i < 9) "
            f"JOIN (SELECT m AS x, list_distinct([n])[1] AS n FROM {GROUPS}) USING (x) WHERE n > 0",
            2,
        ),
        (f"SELECT k, list_distinct([k])[1] NOT IN (SELECT i FROM p WHERE i > 3) AS a FROM {GROUPS}", 2),
        (f"WITH c AS MATERIALIZED {GROUPS} SELECT list_distinct([a.k]), b.n FROM c a JOIN c b USING (m)", 1),
        ("SELECT j.i, list_distinct([p.s]) FROM j JOIN p ON j.i = p.i WHERE p.k > 1", 1),
        ("SELECT list_sort(list(i)), k FROM (SELECT i, k FROM p WHERE i > 190 GROUP BY i, k) GROUP BY k", 1),
        ("SELECT list_distinct([k]) FROM p WHERE i > 190 UNION ALL SELECT list_distinct([i]) FROM j WHERE k = 2", 2),
        (f"SELECT try_strptime(s, '%Y-%m-%d'), n FROM {GROUPS} WHERE list_distinct([n])[1] > $1", 1),
    ],
)
def test_parts_run_as_jobs(connection: Connection, text: str, jobs: int) -> None:
    values = [3] if "$1" in text else []
    query = connection.sql(text, values)
    expected = connection.sql(text, values, offload="never").to_arrow()
    assert unlike(query.to_arrow(), expected, "ORDER BY 1" in text) == ""
    assert len(query.split.cuts) == jobs and len(query.jobs) >= jobs and query.split.kept
    assert f"in {jobs} job" in query.explain() and "DuckDB computes the rest\n  " in query.explain()


def test_errors_above_a_cut_are_those_of_the_text(connection: Connection) -> None:
    query = connection.sql(f"SELECT list_value(CAST(list_distinct([s])[1] AS DATE)) FROM {GROUPS}")
    assert query.split.cuts
    with pytest.raises(InvalidCast):
        query.to_arrow()


def test_errors_of_a_part_leave_the_text_to_duckdb(connection: Connection) -> None:
    query = connection.sql("SELECT list_distinct([n]) FROM (SELECT sum(CAST(s AS INTEGER)) AS n FROM p WHERE i > 5)")
    assert query.split.cuts
    with pytest.raises(InvalidCast):
        query.to_arrow()
    assert not query.split.cuts and "as a job it failed" in query.explain()


def test_a_query_by_parts_can_be_read_again_and_closed(connection: Connection) -> None:
    with connection.sql(f"SELECT list_distinct([k]) FROM {GROUPS}") as query:
        counts = [sum(batch.num_rows for batch in query.batches()) for _ in range(2)]
        assert counts == [7, 7]
