"""What a Presto server hands over to accelerators changes no answer and no error, and EXPLAIN says what stays."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.support import presto
from tests.support.presto import Answers, Query

G = pa.table({
    "k": pa.array([1, 2, 1, None, 2, None, 3], pa.int32()),
    "x": pa.array([10, 20, None, 5, -7, 8, 2**62], pa.int64()),
    "y": pa.array([6, 7, 8, 9, 0, None, 10], pa.int64()),
    "p": pa.array([Decimal(v) if v else None for v in ("1.25", "", "-3.50", "0.01", "99999.99", "2.00", "2.00")],
                  pa.decimal128(7, 2)),
    "q": pa.array([Decimal("1.25")] * 3 + [None] * 2 + [Decimal("12345678901234567890.1234")] * 2,
                  pa.decimal128(24, 4)),
    "f": pa.array([1.5, math.nan, -0.0, 0.0, math.inf, None, -math.inf], pa.float64()),
    "r": pa.array([0.5, 1e38, None, 0.25, 3e38, 1.0, 2.0], pa.float32()),
    "s": pa.array(["abc", "äbc", None, "", "ab", "a%c", "b"], pa.string()),
    "d": pa.array([datetime.date(*v) if v else None for v in (
        (1995, 1, 1), (1996, 12, 31), None, (1970, 1, 1), (2024, 2, 29), (1995, 1, 1), (1900, 1, 1))], pa.date32()),
    "t": pa.array([-128, None, 127, 1, 2, 3, 4], pa.int8()),
})  # fmt: skip
#: few groups of many rows, and one that has half of them
SKEW = pa.table({
    "k": pa.array([0 if n % 2 else n % 7 for n in range(50_000)], pa.int64()),
    "n": pa.array([None if n % 11 == 0 else n for n in range(50_000)], pa.int64()),
})  # fmt: skip
TABLES = {"g": G, "none": G.slice(0, 0), "skew": SKEW}

#: offloaded as a whole; DuckDB and Presto itself have the same answer
WHOLE = [
    "SELECT k, sum(x) FROM g WHERE y > 5 GROUP BY k",
    "SELECT k, count(*), count(s), sum(k), min(s), max(d), min(p) FROM g GROUP BY k",
    "SELECT k, n, count(*) FROM skew GROUP BY k, n",
    "SELECT k, sum(n), avg(n), count(n), min(n), max(n) FROM skew GROUP BY k",
    "SELECT sum(x), count(*), max(s), avg(k) FROM none",
    "SELECT k, sum(x) FROM none GROUP BY k",
    "SELECT sum(x), max(d), count(y) FROM g WHERE k > 100",
    "SELECT sum(p), sum(q), sum(t), sum(f), min(q) FROM g",
    "SELECT k, count(*) FROM g GROUP BY k HAVING count(*) > 1",
    "SELECT count(DISTINCT k) FROM g",
    "SELECT k, count(DISTINCT d), count(DISTINCT s), sum(x) FROM g GROUP BY k",
    "SELECT count(DISTINCT k), sum(x) FILTER (WHERE y > 6), count(*) FILTER (WHERE y > 100) FROM g",
    "SELECT DISTINCT s, d FROM g",
    "SELECT count(*) FROM (SELECT DISTINCT k FROM g LIMIT 2)",
    "SELECT count(*) FROM (SELECT n FROM skew LIMIT 5)",
    "SELECT k, x FROM g ORDER BY x DESC NULLS LAST, k LIMIT 3",
    "SELECT s, y FROM g ORDER BY s NULLS FIRST, y LIMIT 4",
    "SELECT k, x FROM g WHERE x > 5 UNION ALL SELECT k, y FROM g",
    "SELECT k, d FROM g UNION SELECT k, d FROM g",
    "SELECT k FROM g WHERE y <> 0 AND 10 / y > 0",
    "SELECT k, CASE WHEN y = 0 THEN 0 ELSE y + 1 END FROM g",
    "SELECT coalesce(k, -1), nullif(k, 1), if(k = 1, 'one', 'more') FROM g",
    "SELECT CASE k WHEN 1 THEN 'a' WHEN 2 THEN 'bcd' END FROM g",
    "SELECT x % 3, -y, p * p, p + 1, p - q, q * p, abs(x), y / 2e0 FROM g",
    "SELECT k FROM g WHERE s LIKE '%b%' OR s LIKE 'a!%c' ESCAPE '!'",
    "SELECT s LIKE '%b%', s NOT LIKE '%b%', s LIKE '%c', s LIKE 'a%', s LIKE '%a%c%', s LIKE '_bc' FROM g",
    "SELECT k FROM g WHERE s IN ('ab', 'b', NULL)",
    "SELECT k FROM g WHERE k IN (1, 3) AND s IS NOT NULL AND NOT (d = DATE '1995-01-01')",
    "SELECT k FROM g WHERE q > 5 AND p BETWEEN 1.5 AND 3",
    "SELECT length(s), substr(s, 2, 2), substr(s, 1), s || 'x', starts_with(s, 'a') FROM g",
    "SELECT year(d), month(d), day(d), quarter(d) FROM g",
    "SELECT CAST(k AS varchar), CAST(d AS varchar), CAST(k AS double), CAST(k AS smallint) FROM g",
    "SELECT CAST(p AS decimal(12, 4)), CAST(k AS decimal(12, 4)), CAST(t AS bigint) FROM g",
    "SELECT max(f), min(f), count(DISTINCT f) FROM g",
    "SELECT DISTINCT f + 0e0 FROM g",
    "SELECT f + 0e0, count(*) FROM g GROUP BY 1",
    "SELECT a.k, b.x FROM g a JOIN g b ON a.k = b.k",
    "SELECT a.k, b.n FROM g a LEFT JOIN skew b ON a.y = b.n AND b.k > 0",
    "SELECT a.y, b.n FROM g a RIGHT JOIN (SELECT n FROM skew WHERE n < 12) b ON a.y = b.n",
    "SELECT a.y, b.n FROM g a FULL JOIN (SELECT n FROM skew WHERE n < 12) b ON a.y = b.n",
    "SELECT a.k, b.k FROM g a JOIN g b ON a.k = b.k AND a.x < b.y",
    "SELECT a.k, b.k FROM g a LEFT JOIN g b ON a.k = b.k AND a.x < b.y",
    "SELECT a.k, b.y FROM g a CROSS JOIN g b",
    "SELECT a.k, b.y FROM g a JOIN g b ON a.k < b.y",
    "SELECT count(*), sum(a.n) FROM skew a JOIN g b ON a.n = b.y WHERE b.k > 1",
    "SELECT k FROM g WHERE k IN (SELECT y - 6 FROM g)",
    "SELECT k FROM g WHERE k NOT IN (SELECT y - 6 FROM g)",
    "SELECT k FROM g WHERE k NOT IN (SELECT y - 6 FROM g WHERE y IS NOT NULL)",
    "SELECT k FROM g WHERE k NOT IN (SELECT k FROM none)",
    "SELECT k IN (SELECT y FROM g), x FROM g",
    "SELECT k IN (SELECT k FROM none), x FROM g",
    "SELECT x FROM g WHERE EXISTS (SELECT 1 FROM skew WHERE skew.n = g.y)",
    "SELECT x FROM g WHERE NOT EXISTS (SELECT 1 FROM skew WHERE skew.n = g.y)",
    "SELECT a.s FROM g a JOIN g b ON a.s = b.s AND a.d = b.d",
    "SELECT k FROM g INTERSECT SELECT y - 6 FROM g",
    "SELECT k FROM g EXCEPT SELECT y - 6 FROM g",
    "SELECT a.k, sum(b.n) FROM g a, skew b, none c WHERE a.y = b.n AND b.k = c.k GROUP BY a.k",
    "SELECT a.p, b.q FROM g a JOIN g b ON a.p = b.q",
    "SELECT a.k, b.t FROM g a JOIN g b ON a.k = b.t",
]  # fmt: skip
#: offloaded as a whole; DuckDB has other types, or means something else
PRESTOS = [
    "SELECT x / 3, y / 4, p / 3, p * 0.1, CAST(p AS bigint), CAST(p AS decimal(7, 1)), CAST(p AS double) FROM g",
    "SELECT avg(p), avg(q), avg(x), sum(DISTINCT k), avg(DISTINCT p), sum(r), avg(r) FROM g",
    "SELECT f, f > 1, f = f, f <> f, f < 1, f <= f, f IN (1.5, 2), f BETWEEN 0 AND 5, f / 0, f % 0, r * 10 FROM g",
    "SELECT a.y, b.y FROM g a JOIN g b ON a.f = b.f",
    "SELECT substr(s, -2), CAST(s AS varchar(2)), day_of_week(d), doy(d), week(d), year_of_week(d) FROM g",
]
#: what stays, for which reason
PARTLY = {
    "SELECT s FROM g ORDER BY s": r"Sort stays: \[operator\] Presto does not rely on the order",
    "SELECT upper(s) FROM g": r"Project stays: \[expression\] Presto computes upper\(s\)",
    "SELECT count(*) FROM g WHERE upper(s) = 'AB' AND k > 0 AND x < 100": r"Filter stays: .*; 2 of its 3 terms",
    "SELECT k FROM g WHERE upper(s) <> 'AB' AND 10 / y > 0 AND y < 0": r"Filter stays: .*; 1 of its 3 terms",
    "SELECT k FROM g WHERE CAST(s AS char(5)) = 'ab'": r"Filter stays: \[type\] .* counterpart of char\(5\)",
    "SELECT CAST(f AS bigint) FROM g WHERE f > 0 AND f < 5": r"Project stays: \[cast\] casts from double to bigint",
    "SELECT count(DISTINCT k), approx_distinct(k) FROM g": r"\[aggregate\] Presto computes approx_distinct\(k\)",
    "SELECT rand() < 2 FROM g": r"Project stays: \[nondeterministic\]",
    "SELECT k, x + 1 FROM (SELECT * FROM g ORDER BY x LIMIT 3) WHERE k > 0": r"Filter stays: \[operator\] what is",
}
#: operators that the planner does not show: what is below them is offloaded
UNSEEN = {
    "SELECT k, rank() OVER (ORDER BY x) FROM g": "Window",
    "SELECT s, k, count(*) FROM g GROUP BY ROLLUP (s, k)": "GroupId",
    "SELECT k FROM g WHERE x > (SELECT avg(n) FROM skew)": "EnforceSingleRow",
    "SELECT k, (SELECT max(n) FROM skew WHERE skew.k = g.k) FROM g": "AssignUniqueId",
}
#: what fails, in Presto and on accelerators
FAILURES = {
    "SELECT x * 3 FROM g": "NUMERIC_VALUE_OUT_OF_RANGE",
    "SELECT k * 2000000000 FROM g": "NUMERIC_VALUE_OUT_OF_RANGE",
    "SELECT t + t FROM g": "NUMERIC_VALUE_OUT_OF_RANGE",
    "SELECT sum(x) FROM (SELECT x FROM g UNION ALL SELECT x FROM g)": "NUMERIC_VALUE_OUT_OF_RANGE",
    "SELECT CAST(x AS integer) FROM g": "NUMERIC_VALUE_OUT_OF_RANGE",
    "SELECT x / y FROM g": "DIVISION_BY_ZERO",
    "SELECT y % 0 FROM g": "DIVISION_BY_ZERO",
}
#: switched off by a property, and the operator that then stays
SWITCHES = {
    "offload_filter": ("SELECT k FROM g WHERE k > 1", "Filter"),
    "offload_project": ("SELECT k + 1 FROM g", "Project"),
    "offload_aggregation": ("SELECT sum(x) FROM g", "Aggregation"),
    "offload_distinct": ("SELECT DISTINCT k FROM g", "Aggregation"),
    "offload_limit": ("SELECT count(*) FROM (SELECT k FROM g LIMIT 3)", "Limit"),
    "offload_top_n": ("SELECT k, x FROM g ORDER BY x LIMIT 3", "TopN"),
    "offload_union": ("SELECT k FROM g UNION ALL SELECT k FROM g", "Union"),
    "offload_join": ("SELECT a.k FROM g a JOIN g b ON a.k = b.k", "Join"),
    "offload_semi_join": ("SELECT k, k IN (SELECT y FROM g) FROM g", "SemiJoin"),
}

OFF = "jumpgate.offload=false"
STRICT = "jumpgate.strict=true"


STATISTICS = "SHOW STATS FOR skew"
JOIN = "SELECT count(*) FROM skew JOIN g ON skew.n = g.y"


def asks_presto(folder: Path) -> tuple[dict[str, Any], list[Query]]:
    catalog = {name: presto.write_table(folder, name, table) for name, table in TABLES.items()}
    queries = []
    for text in [*WHOLE, *PRESTOS, *PARTLY, *UNSEEN, *FAILURES]:
        queries += [Query(text), Query(text, OFF), Query(text, STRICT), Query(f"EXPLAIN {text}")]
    for switch, (text, _) in SWITCHES.items():
        session = f"jumpgate.{switch}=false"
        queries += [Query(text, session), Query(text, OFF), Query(f"EXPLAIN {text}", session)]
    queries += [Query(STATISTICS), Query(f"EXPLAIN {JOIN}", OFF)]
    return catalog, queries


@pytest.fixture(scope="module")
def answers(presto_answers: Answers) -> Answers:
    return presto_answers


@pytest.mark.parametrize("text", WHOLE)
def test_what_is_offloaded_is_duckdbs_answer(text: str, answers: Answers) -> None:
    with duckdb.connect() as connection:
        for name, table in TABLES.items():
            connection.register(name, table)
        expected = [[presto.as_json(value) for value in row] for row in connection.execute(text).fetchall()]
    assert answers.rows(text) == sorted(map(repr, expected))


@pytest.mark.parametrize("text", [*WHOLE, *PRESTOS, *PARTLY, *UNSEEN])
def test_what_is_offloaded_changes_no_answer(text: str, answers: Answers) -> None:
    assert answers.rows(text) == answers.rows(text, OFF)


@pytest.mark.parametrize("text", [*WHOLE, *PRESTOS])
def test_explain_says_what_is_offloaded(text: str, answers: Answers) -> None:
    plan = answers.plan(text)
    assert re.findall(r"(\d+) of (\d+) operators \(100 %\) offloaded", plan)
    assert "stays" not in plan
    assert not re.search(r"- (Filter|Project|Aggregate|Limit|Union)", plan)
    assert answers.rows(text, STRICT) == answers.rows(text)


@pytest.mark.parametrize("text", PARTLY)
def test_explain_says_what_stays_and_why(text: str, answers: Answers) -> None:
    assert re.search(PARTLY[text], answers.plan(text)), answers.plan(text)
    assert re.match(
        r"JUMPGATE_NOT_OFFLOADED: \d of \d operators .* offloaded; .* stays: ", answers.found[Query(text, STRICT)]
    )


@pytest.mark.parametrize("text", UNSEEN)
def test_what_the_planner_does_not_show_is_computed_over_offloaded_parts(text: str, answers: Answers) -> None:
    assert re.search(f"- {UNSEEN[text]}", answers.plan(text))
    assert "(100 %) offloaded" in answers.plan(text)


@pytest.mark.parametrize("text", FAILURES)
def test_what_fails_in_presto_fails_by_the_same_name(text: str, answers: Answers) -> None:
    assert "(100 %)" in answers.plan(text)
    for session in ("", OFF):
        assert answers.found[Query(text, session)].startswith(FAILURES[text] + ": ")


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_session_leaves_an_operator_with_presto(switch: str, answers: Answers) -> None:
    text, operator = SWITCHES[switch]
    session = f"jumpgate.{switch}=false"
    stays = rf"{operator} stays: \[disabled\] this session leaves it with Presto \(setting: {switch}\)"
    assert re.search(stays, answers.plan(text, session))
    assert answers.rows(text, session) == answers.rows(text, OFF)


def test_the_optimiser_knows_rows_and_values(answers: Answers) -> None:
    columns = {row[0]: row for row in answers.found[Query(STATISTICS)]}
    assert columns[None][4] == SKEW.num_rows
    # column, bytes, values that differ, share of NULL, rows, least and greatest value
    assert 4 <= columns["k"][2] <= 14 and columns["k"][3] == 0 and columns["k"][5:7] == ["0", "6"]
    assert columns["n"][1] >= 8 * SKEW.num_rows and columns["n"][2] > 20_000
    assert columns["n"][3] == pytest.approx(1 / 11, rel=0.3) and columns["n"][5:7] == ["1", "49999"]
    # so it sends the small table to where the large one is
    assert "Distribution: REPLICATED" in answers.plan(JOIN, OFF)
