"""Functions that servers of Presto and Trino hand over to accelerators have the values that the servers compute."""

from __future__ import annotations

import datetime
import math
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support import presto
from tests.support.presto import Query

pytestmark = pytest.mark.timeout(900)  # a server starts, and on a new machine it is fetched first

DAYS = [(1995, 1, 1), (1996, 12, 31), None, (1970, 1, 1), (2024, 2, 29), (1, 1, 1), (9999, 12, 31), (1900, 3, 31)]
F = pa.table({
    "k": pa.array([1, 1, 1, 2, 2, None, None, 3], pa.int32()),
    "s": pa.array(["a/b/c", "", None, "äbc/ä", "x\ny", "abab\n", "//", "aab"]),
    "w": pa.array(["abc", "a", "b", None, "ä", "", "zz", "aab"]),
    "x": pa.array([10, 20, None, 5, -7, 8, 2**62, -(2**63)], pa.int64()),
    "y": pa.array([6, 7, 8, 9, 0, None, 10, -1], pa.int64()),
    "p": pa.array([1.5, 2.25, None, 1e9 + 1, 1e9 + 2, 0.5, -0.0, 4.0], pa.float64()),
    "q": pa.array([2.5, None, 3.0, 1e9 + 7, 1e9 + 5, 0.0, 1.0, 4.0], pa.float64()),
    "n": pa.array([math.nan, 1.0, math.inf, None, -math.inf, 2.0, 1e308, -1e308], pa.float64()),
    "d": pa.array([datetime.date(*v) if v else None for v in DAYS], pa.date32()),
    "e": pa.array([datetime.date(2000, 1, 31)] * 4 + [None] + [datetime.date(1, 1, 1)] * 3, pa.date32()),
})  # fmt: skip
MOMENTS = [datetime.datetime(2024, 2, 29, 23, 59, 58, 999999), None, datetime.datetime(1969, 12, 31, 1),
           datetime.datetime(1, 1, 3, 0, 0, 0, 1), datetime.datetime(9999, 12, 31, 12, 30)]  # fmt: skip
TABLES = {"f": F, "void": F.slice(0, 0), "m": pa.table({"t": MOMENTS})}

PATTERNS = ("ab", "^a", "a.b", "x.y", "[a-c]+/", "^(ab|//)*", "^y", "[^a]b", "ä.?c", "\\.")
MATCHES = "SELECT " + ", ".join(f"regexp_like(s, '{pattern}')" for pattern in PATTERNS) + " FROM f"
#: offloaded as a whole by both
BOTH = [
    MATCHES,
    "SELECT k FROM f WHERE regexp_like(s, 'b|y')",
    "SELECT greatest(x, y), least(x, y), greatest(s, w), least(d, e), greatest(k, 2), least(x, 3, y) FROM f",
    "SELECT split_part(s, '/', 1), split_part(s, '/', 2), split_part(s, '/', 9), split_part(s, 'ä', 2) FROM f",
    "SELECT reverse(s), strpos(s, 'b'), strpos(w, 'ä'), lpad(s, 4, 'xä'), rpad(w, 2, '-'), rpad(s, 0, 'x') FROM f",
    "SELECT bitwise_and(x, y), bitwise_or(x, 5), bitwise_xor(x, y), is_nan(n), floor(p), ceil(q), ceiling(-q) FROM f",
    "SELECT k, count_if(x > 6), bool_and(x > 6), bool_or(y > 8), every(p > 1), bitwise_and_agg(x), bitwise_or_agg(y) "
    "FROM f GROUP BY k",
    "SELECT count_if(x > 6), bool_and(x > 6), bool_or(y > 8), bitwise_and_agg(x) FROM void",
    "SELECT replace(s, 'b', ''), replace(s, 'ä'), replace(s, '/', 'x'), replace(s, 'aa', 'a') FROM f",
    "SELECT date_trunc('week', d), date_trunc('MONTH', d), date_trunc('quarter', d), date_trunc('year', d) FROM f",
    "SELECT date_diff('day', d, e), date_diff('week', d, e), date_diff('week', e, d) FROM f",
    "SELECT k, stddev(x), stddev_pop(x), variance(y), var_pop(y), stddev_samp(p), var_samp(p) FROM f GROUP BY k",
    "SELECT k, covar_pop(p, q), covar_samp(p, q), corr(p, q), corr(q, q) FROM f GROUP BY k",
    "SELECT stddev(n), var_pop(n), corr(n, p), covar_pop(n, p) FROM f",
    "SELECT stddev(x), var_pop(y), covar_pop(p, q), covar_samp(p, q), corr(p, q) FROM void",
    "SELECT stddev(x) FILTER (WHERE y > 6), corr(p, q) FILTER (WHERE k = 1) FROM f",
    "SELECT k, max_by(s, x), min_by(x, d), max_by(p, w), min_by(y, x) FILTER (WHERE x > 5), any_value(k) FROM f "
    "GROUP BY k",
    "SELECT max_by(s, x), min_by(d, x), arbitrary(s), min_by(x, y) FILTER (WHERE y > 1000) FROM void",
    "SELECT k, regr_slope(p, q), regr_intercept(p, q), regr_slope(q, q), regr_intercept(n, p) FROM f GROUP BY k",
    "SELECT regexp_extract(s, '[a-b]+'), regexp_extract(s, 'b*'), regexp_extract(w, '^a.?'), "
    "regexp_extract(s, 'ab|a|ä') FROM f",
    "SELECT regexp_replace(s, '[a-b]+', '-'), regexp_replace(s, 'a|ab'), regexp_replace(w, '^a', 'z') FROM f",
    "SELECT sqrt(p), sqrt(n), bitwise_not(x) FROM f",
    "SELECT to_hex(md5(to_utf8(s))), lower(to_hex(sha256(to_utf8(w)))), to_hex(sha1(to_utf8(s))) FROM f",
    "SELECT mod(p, q), mod(x, 7), mod(k, 2) FROM f",
    "SELECT k, array_agg(x), array_agg(s), array_agg(DISTINCT d), count(*) FROM f GROUP BY k",
    "SELECT array_agg(p), array_agg(k), array_agg(x > 6), array_agg(DISTINCT w), array_agg(CAST(x AS decimal(30, 2))), "
    "array_agg(CAST(k AS decimal(12, 2))), array_agg(q), array_agg(e) FROM f",
    "SELECT array_agg(s) FROM void",
    "SELECT cardinality(a), a FROM (SELECT k, array_agg(x) a FROM f GROUP BY k)",
]
WHOLE = {
    "Presto": [
        *BOTH,
        "SELECT replace(s, 'b', 'xyz'), regexp_replace(s, 'b+', 'xyz') FROM f",
        "SELECT ends_with(s, 'b'), ends_with(s, w) FROM f",
        "SELECT stddev(n), var_pop(n), corr(p, p), covar_samp(p, p) FROM f WHERE n = 2.0",
        "SELECT d + INTERVAL '1' MONTH, d - INTERVAL '3' DAY, INTERVAL '2' YEAR + d, date_add('month', -1, d), "
        "date_add('week', 2, d) FROM f WHERE year(d) BETWEEN 3 AND 9000",
    ],
    "Trino": [
        *BOTH,
        "SELECT hour(t), minute(t), second(t), year(t), week(t), day_of_week(t), date(t), CAST(t AS date), "
        "date_trunc('hour', t), date_trunc('minute', t), date_trunc('second', t), date_trunc('month', t), "
        "date_trunc('week', t), date_trunc('day', t) FROM m",
        "SELECT translate(s, 'ab/', 'xä'), translate(w, '', 'x'), concat_ws('-', s, w, 'x'), concat_ws(w, s, s) FROM f",
    ],
}
#: what stays, for which reason
STAYS = {
    "Presto": {
        "SELECT greatest(p, q) FROM f": r"computes greatest\(p, q\)",
        "SELECT max_by(s, p) FROM f": r"computes .*max_by",
        "SELECT approx_percentile(x, 0.5) FROM f": r"computes .*approx_percentile",
        "SELECT array_agg(x ORDER BY y) FROM f": r"computes .*array_agg",
        "SELECT array_agg(x) FILTER (WHERE y > 6) FROM f": r"arrays, maps and rows are computed by",
        "SELECT a, count(*) FROM (SELECT k, array_agg(s) a FROM f GROUP BY k) GROUP BY a": r"rows are compared",
        "SELECT regexp_extract(s, '(a|b)+') FROM f": r"matches of a pattern with groups are its own: \(a\|b\)\+",
        "SELECT regexp_replace(s, 'b*', '-') FROM f": r"computes regexp_replace\(",
        "SELECT replace(s, '', 'x') FROM f": r"computes replace\(",
        "SELECT split_part(s, '', 1) FROM f": r"computes split_part\(",
        "SELECT strpos(s, '') FROM f": r"computes strpos\(",
        "SELECT regexp_like(s, 'b$'), regexp_like(s, '\\d') FROM f": r"patterns mean more than .* b\$",
        "SELECT regexp_like(s, 'a*+') FROM f": r"patterns mean more than .* a\*\+",
        "SELECT date_diff('month', d, e) FROM f": r"computes date_diff\(",
    },
    "Trino": {
        "SELECT max_by(s, p) FROM f": r"computes max_by",
        "SELECT approx_percentile(x, 0.5) FROM f": r"computes approx_percentile",
        "SELECT array_agg(x ORDER BY y) FROM f": r"computes array_agg",
        "SELECT a, count(*) FROM (SELECT k, array_agg(s) a FROM f GROUP BY k) GROUP BY a": r"rows are compared",
        "SELECT regexp_extract(s, '(a|b)+') FROM f": r"matches of a pattern with groups are its own: \(a\|b\)\+",
        "SELECT regexp_replace(s, 'b+', 'xyz') FROM f": r"may fail, .*regexp_replace\(",
        "SELECT regexp_like(s, 'b$'), regexp_like(s, '\\d') FROM f": r"patterns mean more than .* b\$",
        "SELECT greatest(p, q) FROM f": r"computes greatest\(p, q\)",
        "SELECT replace(s, 'b', 'xyz') FROM f": r"computes replace\(",
        "SELECT split_part(s, '', 1) FROM f": r"computes split_part\(",
        "SELECT strpos(s, '') FROM f": r"computes strpos\(",
        "SELECT date_diff('month', d, e) FROM f": r"computes date_diff\(",
    },
}
OFF = "jumpgate.offload=false"
PAIRED = "SELECT array_agg(x), array_agg(s) FROM f"
Found = dict[Query, Any]


def asks_presto(folder: Path) -> tuple[dict[str, Any], list[Query]]:
    return _asks(folder, "Presto")


def asks_trino(folder: Path) -> tuple[dict[str, Any], list[Query]]:
    return _asks(folder, "Trino")


def _asks(folder: Path, name: str) -> tuple[dict[str, Any], list[Query]]:
    catalog = {table: presto.write_table(folder, table, rows) for table, rows in TABLES.items()}
    texts = [*WHOLE[name], *STAYS[name], PAIRED]
    return catalog, [q for text in texts for q in (Query(text), Query(text, OFF), Query(f"EXPLAIN {text}"))]


@pytest.fixture(scope="module")
def answers(presto_answers: presto.Answers, trino_answers: presto.Answers) -> dict[str, Found]:
    """Each engine's."""
    return {"Presto": presto_answers.found, "Trino": trino_answers.found}


CASES = [(name, text) for name in WHOLE for text in (*WHOLE[name], *STAYS[name])]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_value_is_the_engines(name: str, text: str, answers: dict[str, Found]) -> None:
    offloaded, own = (answers[name][Query(text, session)] for session in ("", OFF))
    assert isinstance(own, list), own
    assert sorted(map(_shown, offloaded)) == sorted(map(_shown, own))


def _shown(row: list[Any]) -> str:
    """With the elements of arrays, which no engine promises in an order, in one."""
    return repr([v if (elements := _elements(v)) is None else sorted(elements) for v in row])


def _elements(value: Any) -> list[str] | None:
    """Return the texts of an array's elements, which a server may write as one text; None for other values."""
    if isinstance(value, str) and value.startswith("[ "):
        return value[2:-2].split(", ")
    return [*map(repr, value)] if isinstance(value, list) else None


def test_arrays_of_one_query_have_rows_in_common(answers: dict[str, Found]) -> None:
    for name in WHOLE:
        ((numbers, texts),) = answers[name][Query(PAIRED)]
        found = dict(zip(_elements(numbers) or (), _elements(texts) or (), strict=True))
        assert len(found) == len(F)
        assert [found[n].strip("'\"") for n in ("10", "5", "20", str(2**62))] == ["a/b/c", "äbc/ä", "", "//"]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_explain_says_what_is_offloaded_or_why_not(name: str, text: str, answers: dict[str, Found]) -> None:
    plan = str(answers[name][Query(f"EXPLAIN {text}")][0][0])
    if text in WHOLE[name]:
        assert re.search(r"(\d+) of \1 operators \(100 %\) offloaded", plan), plan
        assert not re.search(r"stays|- (Filter|Project|Aggregate)", plan), plan
    else:
        assert re.search(rf"stays: .*{STAYS[name][text]}", plan), plan
