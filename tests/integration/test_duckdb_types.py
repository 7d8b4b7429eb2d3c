"""Moments, timestamps of each unit, times, bytes, unsigned integers and nested values: jobs answer as DuckDB does, with
its types and in the session's zone; what they cannot do exactly stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import jumpgate
from jumpgate.client.duckdb import planning
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.sql.connection import Connection
from tests.support.alike import unlike

TABLE = r"""
    SELECT i::INTEGER AS i, nullif(i % 4, 3)::INTEGER AS k, i < 10 AS plain,
        CASE i WHEN 3 THEN NULL WHEN 10 THEN 'infinity' WHEN 11 THEN '-infinity'
            ELSE make_timestamptz(i * 1800000003 - 3600000007) END::TIMESTAMPTZ AS tz,
        CASE i WHEN 10 THEN 'infinity' WHEN 11 THEN '12000-02-03' ELSE make_timestamp(i * 1500500 - 3001000) END
            ::TIMESTAMP AS ts,
        CASE i WHEN 2 THEN NULL WHEN 10 THEN 'infinity' ELSE make_timestamp_ns(i * 999 - 2001) END::TIMESTAMP_NS AS ns,
        CASE i WHEN 4 THEN NULL WHEN 10 THEN '24:00:00' ELSE TIME '00:59:59.5' + to_minutes(i * 30) END::TIME AS tm,
        CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE i::VARCHAR || '\xFF' END::BLOB AS x,
        CASE i % 3 WHEN 0 THEN NULL ELSE 18446744073709551615 - i END::UBIGINT AS u,
        CASE i % 4 WHEN 0 THEN NULL ELSE {'n': nullif(i, 5)::UTINYINT, 'A b': {'w': make_timestamptz(i)}} END AS s,
        CASE i % 4 WHEN 1 THEN NULL WHEN 2 THEN [] ELSE [i::USMALLINT, NULL] END AS l, MAP {i::VARCHAR: [i]} AS m
    FROM range(12) r(i)"""

#: whole jobs
TEXTS = (
    "SELECT i, tz, ns, tm, x, u, s, l, m, ts FROM t WHERE k < 3",
    "SELECT k, max(tz) AS a, min(ns) AS b, max(tm) AS c, min(x) AS d, max(u) AS e, count(s.n) AS f FROM t GROUP BY k",
    "SELECT i FROM t WHERE tz > '1970-01-01 00:30:00+00' OR ns = TIMESTAMP_NS '1969-12-31 23:59:59.999998998' "
    "OR tm BETWEEN '01:30:00' AND '02:00:00' OR x >= '5'::BLOB",
    "SELECT a.i, b.tz, b.s.n AS n FROM t a JOIN t b USING (tz) WHERE a.u > 5 ORDER BY b.tz DESC, a.i LIMIT 4",
    'SELECT i, s.n AS n, s."A b".w AS w FROM t WHERE s.n > 1 OR s IS NULL',
    "SELECT i, ts::TIMESTAMP_S AS a, ts::TIMESTAMP_MS AS b, ts::TIMESTAMP_NS AS c, ns::TIMESTAMP AS d "
    "FROM t WHERE plain",
)  # fmt: skip
#: whole jobs where the session's clocks show UTC
OF_CLOCKS = (
    "SELECT i, date_trunc('day', tz) AS a, hour(tz) AS b, tz::DATE AS c, tz + INTERVAL 1 MONTH AS d, ts::TIMESTAMPTZ "
    "AS e FROM t WHERE plain",
)  # fmt: skip
#: jobs that meet values of which DuckDB alone knows the parts
BEYOND = ("SELECT i, year(ts) AS a FROM t", "SELECT i, ts::DATE AS a FROM t", "SELECT i, hour(tm) AS a FROM t")
STAYING = (
    ("SELECT DISTINCT s FROM t", "nested values are not compared"),
    ("SELECT max(l) FROM t", "nested values are not compared"),
    ("SELECT tz - INTERVAL '1 month 1 day' FROM t", "INTERVAL is not offloaded"),
)
#: a table of DuckDB's own
PASSED = """
    CREATE TYPE mood AS ENUM ('sad', 'it''s', 'ok');
    CREATE TABLE w AS SELECT i::INTEGER AS i, i % 5 AS k,
        CASE WHEN i % 7 <> 4 THEN ((i % 2 * 8) || '0000000-0000-4000-8000-00000000000' || i % 4)::UUID END AS id,
        CASE i % 4 WHEN 0 THEN 'sad' WHEN 1 THEN 'ok' WHEN 2 THEN 'it''s' END::mood AS e,
        CASE WHEN i % 6 <> 0 THEN to_months((i % 3 - 1)::INTEGER) + to_days((i % 4 - 2)::INTEGER)
            + to_microseconds(i * 77777777777 * (i % 3 - 1)) END AS iv, [i % 3, NULL] AS l FROM range(40) r(i)"""
OF_PASSED = (
    "SELECT i, id, e, iv FROM w WHERE iv IS NOT NULL AND k <> 1",
    "SELECT e, count(*) AS n, min(id) AS a, max(e) AS b, count(DISTINCT id) AS c, count(iv) AS d FROM w GROUP BY e",
    "SELECT i, e::VARCHAR AS s FROM w WHERE e > 'ok'::mood OR e = 'sad' OR e > 'it' ORDER BY e DESC, id, i LIMIT 9",
    "SELECT a.i, b.iv, b.e FROM w a LEFT JOIN w b ON a.id = b.id AND b.k = 2",
    "SELECT i FROM w WHERE id IN ('80000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002')",
    "SELECT i, lag(id) OVER (ORDER BY i) AS a, lag(iv) OVER (ORDER BY i) AS b, rank() OVER (ORDER BY e, i) AS c FROM w",
    "SELECT i, unnest(l) AS e FROM w WHERE i > 3",
    "SELECT e, count(*) AS n FROM (SELECT unnest(l) AS e FROM w) GROUP BY e",
    "SELECT CASE WHEN i > 9 THEN iv END AS a, coalesce(id, '80000000-0000-4000-8000-000000000001') AS b, "
    "least(e, 'it''s'::mood) AS c FROM w UNION ALL SELECT iv, id, e FROM w WHERE k = 0",
)  # fmt: skip
PASSED_STAYING = (
    ("SELECT i FROM w WHERE iv > INTERVAL 1 DAY", "normalized_interval"),
    ("SELECT DISTINCT iv FROM w", "DISTINCT ON"),
    ("SELECT max(iv) FROM w", "nested values are not compared"),
    ("SELECT DATE '2020-01-01' + iv FROM w", "INTERVAL.* is not offloaded"),
    ("SELECT id::VARCHAR FROM w", "CAST from UUID to VARCHAR"),
    ("SELECT [id] FROM w", "parts of type UUID"),
    ("SELECT unnest(l), unnest(l) FROM w", "several lists"),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("types") / "t.parquet"
    duckdb.connect().execute(f"COPY ({TABLE}) TO '{path}'")
    return path


@pytest.fixture(scope="module")
def connection(one_host: str, file: Path) -> Iterator[Connection]:
    with jumpgate.connect(one_host) as found:
        found.register("t", file)
        yield found


def judge(file: Path, zone: str) -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute(f"SET TimeZone = '{zone}'; CREATE VIEW t AS FROM '{file}'")
    return found


@pytest.mark.parametrize("text", [*TEXTS, *OF_CLOCKS])
def test_jobs_answer_as_duckdb_does(connection: Connection, file: Path, text: str) -> None:
    with judge(file, "UTC") as duck, connection.sql(text, offload="always") as query:
        assert not unlike(query.to_arrow(), duck.sql(text).to_arrow_table())
        assert query.split.offloaded == query.split.operators > 0 and len(query.jobs) == 1
    with judge(file, "UTC") as duck, connection.sql(text, offload="never") as query:
        assert not unlike(query.to_arrow(), duck.sql(text).to_arrow_table())


@pytest.mark.parametrize("text", TEXTS[:2])
def test_moments_have_the_sessions_zone(one_host: str, file: Path, text: str) -> None:
    with (
        judge(file, "Asia/Kathmandu") as duck,
        jumpgate.accelerate(judge(file, "Asia/Kathmandu"), mode="always", address=one_host) as connection,
    ):
        assert not unlike(connection.sql(text).to_arrow_table(), duck.sql(text).to_arrow_table())
        assert connection.last_reason == ""


@pytest.mark.parametrize("text", BEYOND)
def test_parts_of_infinite_dates_are_duckdbs(connection: Connection, file: Path, text: str) -> None:
    with judge(file, "UTC") as duck, connection.sql(text, offload="always") as query:
        assert not unlike(query.to_arrow(), duck.sql(text).to_arrow_table())
        assert len(query.jobs) == 1 and not query.split.offloaded


def test_what_stays_says_why(file: Path) -> None:
    with judge(file, "UTC") as duck, judge(file, "Asia/Kathmandu") as elsewhere:
        for text, reason in STAYING:
            with pytest.raises(Stays, match=reason):
                planning.offload(duck, text)
        for text in OF_CLOCKS:
            with pytest.raises(Stays, match="in the zone Asia/Kathmandu is not offloaded"):
                planning.offload(elsewhere, text)


def test_uuids_enums_and_intervals_pass_through_jobs(one_host: str) -> None:
    with duckdb.connect() as duck:
        duck.execute(PASSED)
        with jumpgate.accelerate(duck.cursor(), mode="always", address=one_host) as connection:
            for text in OF_PASSED:
                found = connection.sql(text)
                assert sorted(map(repr, found.fetchall())) == sorted(map(repr, duck.sql(text).fetchall())), text
                assert connection.last_reason == "" and found.types == duck.sql(text).types
        for text, reason in PASSED_STAYING:
            with pytest.raises(Stays, match=reason):
                planning.offload(duck, text)


def test_uuids_and_categories_of_files_and_arrow_data(tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    with duckdb.connect() as duck, jumpgate.connect(offload="always") as connection:
        duck.execute(PASSED)
        duck.execute("SET arrow_lossless_conversion = true")
        duck.execute(f"COPY (SELECT * REPLACE (to_days(i % 3) AS iv), [id] AS ids FROM w) TO '{path}'")
        connection.register("f", path)
        connection.register("w", duck.sql("SELECT * EXCLUDE (l) FROM w").to_arrow_table())
        duck.execute(f"CREATE VIEW f AS FROM '{path}'")
        for text, stays in (
            ("SELECT id, count(*) AS n FROM f WHERE i > 3 GROUP BY id", ""),
            ("SELECT id, e, count(*) AS n FROM w WHERE e <> 'ok' GROUP BY id, e", ""),
            ("SELECT list_value(id) AS l, n FROM (SELECT id, count(*) AS n FROM w GROUP BY id)", "parts of type UUID"),
            ("SELECT i, iv, id FROM f WHERE k = 3", "'iv' is a string for DuckDB"),
            ("SELECT i, iv FROM w WHERE k = 3", "'iv' is a string for DuckDB"),
            ("SELECT ids FROM f WHERE i > 3", "parts of type UUID"),
        ):
            with connection.sql(text) as query:
                expected = duck.sql(text)
                assert sorted(map(repr, query.fetchall())) == sorted(map(repr, expected.fetchall())), text
                assert bool(query.split.kept) == bool(stays) and stays in query.explain()
