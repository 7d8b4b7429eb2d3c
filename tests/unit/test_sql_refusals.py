"""Texts that DataFusion could not plan, or would answer wrongly: refused with the place and the way out, or mended."""

from __future__ import annotations

import threading

import datafusion
import duckdb
import pytest

from jumpgate.client.sql import limits
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.preparation import prepare

NESTED = "FROM (SELECT 1 AS a) t0"
LARGE = {
    "unions": (limits.UNIONS_MAX, lambda n: " UNION ALL ".join(["SELECT 1"] * (n + 1)), "500 are the most"),
    "intersections": (limits.JOINS_MAX, lambda n: " INTERSECT ".join(["SELECT 1"] * (n + 1)), "register their"),
    "joins": (limits.JOINS_MAX, lambda n: f"SELECT 1 {NESTED}" + " LEFT JOIN t ON true" * n, "100 are the most"),
    "commas": (limits.JOINS_MAX, lambda n: f"SELECT 1 {NESTED}" + ", t" * n, "joins"),
    "with": (limits.SUBQUERIES_MAX, lambda n: with_queries(n - 1), "subqueries and WITH"),
    "sum": (limits.CHAIN_MAX, lambda n: "SELECT " + " + ".join(["1"] * (n + 1)), "1000 are the most"),
    "or": (limits.CHAIN_MAX, lambda n: "SELECT 1 WHERE " + " OR ".join(["true"] * (n + 1)), "IN list"),
    "cases": (limits.CHAIN_MAX, lambda n: "SELECT " + " + ".join(["CASE 1 WHEN 1 THEN 2 END"] * (n + 1)), "operators"),
    "casts": (limits.CHAIN_MAX, lambda n: "SELECT 1" + "::int" * n, "operators"),
    "subscripts": (limits.SUBSCRIPTS_MAX, lambda n: "SELECT [1]" + "[1:1]" * n, "subscripts"),
    "cube": (limits.CUBE_MAX, lambda n: f"SELECT 1 {NESTED} GROUP BY CUBE ({keys(n)})", "GROUPING SETS"),
    "intervals": (limits.REPEATED_MAX, lambda n: "SELECT " + "INTERVAL " * (n + 1) + "'1' DAY", "times in a row"),
}


def with_queries(count: int) -> str:
    more = "".join(f", c{i} AS (SELECT a FROM c{i - 1})" for i in range(1, count))
    return f"WITH c0 AS (SELECT 1 AS a){more} SELECT a FROM c{count - 1}"


def keys(count: int) -> str:
    return ", ".join(f"a + {i}" for i in range(count))


@pytest.mark.parametrize("name", LARGE)
def test_what_is_too_large_is_refused(name: str) -> None:
    bound, text, message = LARGE[name]
    for count in (bound + 1, 10 * bound):
        with pytest.raises(InvalidSql, match=message):
            prepare(text(count))
    prepare(text(bound))


@pytest.mark.parametrize("name", ["unions", "intersections", "with", "casts", "cube"])
def test_what_is_just_small_enough_is_planned(name: str) -> None:
    bound, text, _ = LARGE[name]
    prepared = prepare(text(bound))
    plan = limits.with_stack(lambda: datafusion.SessionContext().sql(prepared.text).optimized_logical_plan())
    assert plan.display_indent()


def test_long_lists_are_no_chains() -> None:
    prepare("SELECT 1 WHERE 1 IN (" + ", ".join(map(str, range(50_000))) + ")")
    prepare("SELECT " + ", ".join(f"a + {i}" for i in range(5000)) + " FROM t")
    prepare("SELECT CASE " + " ".join(f"WHEN a = {i} THEN a + {i}" for i in range(5000)) + " END FROM t")
    prepare("SELECT a IS DISTINCT FROM b, " + ", ".join(f"c{i}" for i in range(500)) + " FROM t")
    with pytest.raises(InvalidSql, match="at most 4 MiB"):
        prepare("SELECT '" + "x" * (5 << 20) + "'")


def test_work_has_a_stack_and_its_errors_come_back() -> None:
    usual = threading.stack_size()

    def deep(n: int) -> int:
        return 0 if n == 0 else 1 + max([deep(n - 1)])

    assert limits.with_stack(lambda: deep(800)) == 800
    assert threading.stack_size() == usual
    with pytest.raises(ZeroDivisionError):
        limits.with_stack(lambda: 1 // 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT a FROM t GROUP BY a WITH ROLLUP", "write GROUP BY ROLLUP"),
        ("SELECT a FROM t GROUP BY a WITH CUBE", "write GROUP BY CUBE"),
        ("SELECT a FROM t GROUP BY a WITH TOTALS", "GROUPING SETS"),
        ("SELECT a FROM t START WITH a = 1 CONNECT BY a = 2", "WITH RECURSIVE"),
        ("SELECT a FROM t TABLESAMPLE (10)", "all rows would be taken"),
        ("SELECT a FROM t TABLESAMPLE BERNOULLI (10)", "all rows would be taken"),
        ("SELECT * ILIKE '%a%' FROM t", "all columns would be taken"),
        ("SELECT a FROM t PREWHERE a = 1", "write WHERE"),
        ("SELECT 1 /*! + 1 */", "a comment begins with"),
        ("SELECT a FROM t WHERE a NOT IN (SELECT b FROM u) OR b = 1", "NOT IN with a subquery beside OR"),
        ("SELECT a FROM t WHERE b = 1 OR (c = 2 AND a NOT IN (SELECT b FROM u))", "NOT IN with a subquery beside OR"),
        ("SELECT a FROM t WHERE NOT (a IN (SELECT b FROM u)) OR b = 1", "IN with a subquery as a value"),
        ("SELECT a FROM t WHERE NOT (a IN (SELECT b FROM u) AND b = 1)", "IN with a subquery as a value"),
        ("SELECT a FROM t WHERE (a IN (SELECT b FROM u)) IS NOT NULL", "IN with a subquery as a value"),
        ("SELECT a FROM t WHERE a IN (SELECT b FROM u) IS FALSE", "IN with a subquery as a value"),
        ("SELECT a FROM t WHERE CASE WHEN a IN (SELECT b FROM u) THEN false ELSE true END", "as a value"),
        ("SELECT a FROM t WHERE coalesce(a IN (SELECT b FROM u), true)", "as a value"),
        ("SELECT a IN (SELECT b FROM u) FROM t", "as a value"),
        ("SELECT a FROM t WHERE 1 NOT IN (SELECT b FROM u)", "a constant NOT IN a subquery"),
        ("SELECT a FROM t WHERE NULL NOT IN (SELECT b FROM u)", "a constant NOT IN a subquery"),
    ],
)  # fmt: skip
def test_what_would_be_answered_wrongly_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidSql, match=message) as raised:
        prepare(text)
    assert "line" in raised.value.fields and "^" in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 EXCEPT SELECT 2 UNION ALL SELECT 3",
        "WITH cube AS (SELECT 1) SELECT 'EXCEPT ALL' -- EXCEPT ALL",
        "SELECT prewhere.a FROM t AS prewhere WHERE a = 1",
        "SELECT a FROM t WHERE a NOT IN (SELECT b FROM u) AND b NOT IN (1, 2) AND NOT EXISTS (SELECT 1)",
        "SELECT a FROM t WHERE (b = 1 OR c = 1) AND (a NOT IN (SELECT b FROM u WHERE b = 1 OR c = 2)) ORDER BY a",
        "SELECT a FROM t WHERE b = 1 OR (a IN (SELECT b FROM u) AND c IS NOT NULL) OR d IN (SELECT 1)",
        "SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND a IN (SELECT CASE WHEN b THEN 1 END FROM u WHERE b IS NULL)",
        "SELECT a FROM t WHERE NOT (a IN (SELECT b FROM u)) AND NOT a IN (SELECT 1) AND NOT (a NOT IN (SELECT 2))",
        "SELECT a FROM t JOIN u ON a IN (SELECT 1) GROUP BY a HAVING a IN (SELECT 2) LIMIT 1",
        "SELECT a FROM t WHERE x = 1 AND a IN (SELECT b FROM u) AND y IS DISTINCT FROM 2",
    ],
)
def test_what_is_right_is_not_refused(text: str) -> None:
    assert prepare(text, "datafusion").text is text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a IS DISTINCT FROM b AND c", "(a IS DISTINCT FROM b) AND c"),
        ("a AND b + 1 IS NOT DISTINCT FROM c + f(1, 2) OR d", "a AND (b + 1 IS NOT DISTINCT FROM c + f(1, 2)) OR d"),
        ("a BETWEEN 1 AND 2 IS DISTINCT FROM b AND c", "(a BETWEEN 1 AND 2 IS DISTINCT FROM b) AND c"),
        ("a IS DISTINCT FROM b BETWEEN 1 AND 2 AND c", "(a IS DISTINCT FROM b BETWEEN 1 AND 2) AND c"),
        ("NOT t.a IS DISTINCT FROM b AND c", "NOT (t.a IS DISTINCT FROM b) AND c"),
        (
            "a IS DISTINCT FROM CASE WHEN b AND c THEN 1 END AND d",
            "(a IS DISTINCT FROM CASE WHEN b AND c THEN 1 END) AND d",
        ),
        ("a IS DISTINCT FROM b IS DISTINCT FROM c AND d", "((a IS DISTINCT FROM b) IS DISTINCT FROM c) AND d"),
        ("avg(a IS DISTINCT FROM b AND c)", "avg((a IS DISTINCT FROM b) AND c)"),
        ("WHERE f(a) IS DISTINCT FROM b AND c", "WHERE (f(a) IS DISTINCT FROM b) AND c"),
        ("(a IS DISTINCT FROM b) AND c", None),
        ("SELECT a IS DISTINCT FROM b, c AND d", None),
        ("SELECT a IS DISTINCT FROM b FROM t WHERE c AND d", None),
        ("CASE WHEN a IS DISTINCT FROM b THEN c AND d END", None),
        ("SELECT DISTINCT FROM t WHERE a AND b", None),
    ],
)
def test_is_distinct_from_ends_where_sql_ends_it(text: str, expected: str | None) -> None:
    assert prepare(text, "datafusion").text == (expected or text)
    assert "avg" in text or prepare(text, "duckdb").text == (expected or text)


@pytest.mark.parametrize(
    "condition",
    [
    "true IS DISTINCT FROM true AND false", "true IS NOT DISTINCT FROM false OR true",
    "1 IS DISTINCT FROM 1 + 1 AND 1 = 2",
    "NULL IS NOT DISTINCT FROM NULL AND 1 BETWEEN 2 AND 3",
    "false IS DISTINCT FROM false OR 2 IS DISTINCT FROM 2 AND true",
    ],
)  # fmt: skip
def test_is_distinct_from_means_what_it_does_elsewhere(condition: str) -> None:
    text = f"SELECT {condition} AS c"
    (batch,) = datafusion.SessionContext().sql(prepare(text).text).collect()
    with duckdb.connect() as other:
        assert batch.column(0).to_pylist() == [other.execute(text).fetchone()[0]]
