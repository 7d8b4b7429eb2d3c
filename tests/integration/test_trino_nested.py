"""Arrays, maps, rows and timestamps of files in a real Trino server: their values, and what is computed from them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import nested_tables, presto, trino
from tests.support.presto import Answers, Query

OFF = "jumpgate.offload=false"
TABLES = {"nest": nested_tables.NEST, "nest_orc": nested_tables.NEST, "nest_json": nested_tables.json_table()}

#: offloaded as a whole; DuckDB has the same answer
WHOLE = [
    *(f"SELECT * FROM {table}" for table in TABLES),
    "SELECT r, s, ll FROM nest WHERE id <> 2",
    "SELECT a.l, b.s, b.m FROM nest a JOIN nest b ON a.id = b.id",
    "SELECT count(*) FROM (SELECT l, m FROM nest LIMIT 3)",
    "SELECT s.a, s.b, s.d, s.n, s.w, s.f, s.big, s.tiny, s.raw, s.\"in\", s.\"Odd name\", s.\"in\".x FROM nest",
    "SELECT id FROM nest WHERE s.a = 7 AND s.b <> 'x'",
    "SELECT id FROM nest WHERE s IS NULL OR m IS NULL",
    "SELECT count(l), count(s), count(m), count(*) FROM nest",
    "SELECT s.a, count(*), sum(s.n), max(s.b) FROM nest GROUP BY s.a",
    "SELECT n, whole, fine, many, d FROM moments WHERE whole IS NOT NULL",
    "SELECT n FROM moments WHERE finest >= TIMESTAMP '2024-07-01 12:30:15.123456789'",
    "SELECT max(finest), min(nanos) FROM moments WHERE n < 0",
]  # fmt: skip
#: offloaded as a whole; DuckDB writes it in another way
TRINOS = [
    "SELECT id, cardinality(l), cardinality(m), cardinality(r) FROM nest",
    "SELECT id FROM nest WHERE cardinality(l) > 2",
    "SELECT id, element_at(l, 1), element_at(t, -1), element_at(ll, 1), element_at(l, 99) FROM nest",
    "SELECT id, contains(l, 1), contains(t, 'p') FROM nest",
    "SELECT id, element_at(m, 'k'), element_at(m, s.b) FROM nest",
    "SELECT id, array_distinct(l), array_distinct(t), array_sort(l), slice(l, 2, 1), slice(t, -1, 3) FROM nest",
    'SELECT id, array_union(l, s."in".y), array_except(l, s."in".y), concat(l, s."in".y) FROM nest',
    "SELECT id, array_join(t, '-'), array_join(t, ',', '?'), array_min(l), array_max(t) FROM nest",
    "SELECT id, array_position(l, 2), map_keys(m), map_values(m), flatten(ll), cardinality(flatten(ll)) FROM nest",
    "SELECT s.a, cardinality(array_agg(l)), cardinality(array_agg(id)) FROM nest GROUP BY s.a",
    "SELECT n, date_format(fine, '%Y-%m-%d %H:%i:%s.%f %j %v %x %c %e %k %l %I %y %%'), "
    "date_format(fine, '%T') FROM moments",
    "SELECT n, date_diff('hour', fine, whole), date_diff('day', fine, TIMESTAMP '2000-01-01 00:00'), "
    "date_diff('millisecond', fine, whole), date_diff('week', TIMESTAMP '2024-01-01 00:00', fine) FROM moments",
    "SELECT n, millisecond(fine), millisecond(whole) FROM moments",
    "SELECT n, zoned, away, zoned_fine, finest, nanos FROM moments",
    "SELECT n FROM moments WHERE zoned > TIMESTAMP '2024-07-01 12:30:15.122999 UTC'",
    "SELECT n FROM moments WHERE zoned_fine = TIMESTAMP '2024-07-01 14:30:15.123456789 Europe/Berlin'",
    "SELECT zoned, count(*) FROM moments GROUP BY zoned",
    "SELECT n, date_trunc('millisecond', fine) FROM moments",
]
COMPARED, COMPUTED = (rf"\[type\] arrays, maps and rows are {what} by Trino" for what in ("compared", "computed"))
#: what stays, for which reason
PARTLY = {
    "SELECT l, count(*) FROM nest GROUP BY l": f"Aggregate stays: {COMPARED}: l",
    "SELECT a.id FROM nest a JOIN nest b ON a.l = b.l": f"Join stays: {COMPUTED}",
    "SELECT id FROM nest ORDER BY t LIMIT 2": f"TopN stays: {COMPARED}",
    "SELECT id FROM nest WHERE l = ARRAY[5]": f"Filter stays: {COMPARED}",
    "SELECT element_at(l, id) FROM nest WHERE id > 0": r"Project stays: \[expression\] it may fail",
    "SELECT slice(l, 1, id) FROM nest WHERE id > 0": r"Project stays: \[expression\] it may fail",
    "SELECT date_format(fine, '%W') FROM moments": r"Project stays: \[expression\] Trino computes date_format",
    "SELECT array_intersect(l, l) FROM nest": r"Project stays: \[expression\] Trino computes",
    "SELECT max(zoned) FROM moments": r"Aggregate stays: \[type\] there is no exact counterpart of timestamp\(6\) with",
}
FAILURES = {"SELECT l[9] FROM nest": "INVALID_FUNCTION_ARGUMENT", "SELECT element_at(l, 0) FROM nest": "INVALID_FUNC"}
#: digits that neither DuckDB nor Python has: the column, and its texts
DIGITS = {
    "finest": ["2024-07-01 12:30:15.123456789", "1969-12-31 23:59:59.999999999", "1700-03-01 00:00:00.000000000"],
    "zoned_fine": ["2024-07-01 12:30:15.123456789 UTC", "1969-12-31 23:59:59.999999999 UTC"],
    "zoned": ["2024-07-01 14:30:15.123000 Europe/Berlin", "2024-10-27 04:00:00.000000 Europe/Berlin"],
    "away": ["2024-07-01 18:00:15.123000 +05:30"],
}
COLUMNS = "SHOW COLUMNS FROM nest"
STATISTICS = ["SHOW STATS FOR nest", "SHOW STATS FOR moments"]


def asks_trino(folder: Path) -> tuple[dict[str, Any], list[Query]]:
    catalog = nested_tables.write(folder) | {"moments": presto.write_table(folder, "moments", nested_tables.MOMENTS)}
    queries = [Query(text, session) for text in [*WHOLE, *TRINOS, *PARTLY] for session in ("", OFF)]
    queries += [Query(f"EXPLAIN {text}") for text in [*WHOLE, *TRINOS, *PARTLY]]
    queries += [Query(text) for text in [*FAILURES, COLUMNS, *STATISTICS]]
    return catalog, queries + [Query(f"SELECT {column} FROM moments") for column in DIGITS]


@pytest.fixture(scope="module")
def answers(trino_answers: Answers) -> Answers:
    return trino_answers


def found(answers: Answers, text: str, session: str = "") -> list[str]:
    return nested_tables.rows(answers.found[Query(text, session)])


@pytest.mark.parametrize("text", WHOLE)
def test_what_is_offloaded_is_duckdbs_answer(text: str, answers: Answers) -> None:
    expected = nested_tables.duckdb_rows(text, TABLES | {"moments": nested_tables.MOMENTS}, trino.as_json)
    assert found(answers, text) == expected


@pytest.mark.parametrize("text", [*WHOLE, *TRINOS, *PARTLY])
def test_what_is_offloaded_changes_no_answer(text: str, answers: Answers) -> None:
    assert found(answers, text) == found(answers, text, OFF)


@pytest.mark.parametrize("text", [*WHOLE, *TRINOS])
def test_explain_says_what_is_offloaded(text: str, answers: Answers) -> None:
    plan = answers.plan(text)
    assert "(100 %) offloaded" in plan
    assert not re.search(r"Filter|Project|Aggregate|Join|Limit|stays", plan), plan


@pytest.mark.parametrize("text", PARTLY)
def test_explain_says_what_stays_and_why(text: str, answers: Answers) -> None:
    assert re.search(PARTLY[text], answers.plan(text)), answers.plan(text)


@pytest.mark.parametrize("text", FAILURES)
def test_what_is_no_element_fails(text: str, answers: Answers) -> None:
    assert str(answers.found[Query(text)]).startswith(FAILURES[text])


@pytest.mark.parametrize("column", DIGITS)
def test_all_digits_and_the_zone_of_a_timestamp(column: str, answers: Answers) -> None:
    values = [row[0] for row in answers.found[Query(f"SELECT {column} FROM moments")]]
    assert set(DIGITS[column]) <= set(values), values


def test_types_of_columns(answers: Answers) -> None:
    types = {row[0]: row[1] for row in answers.found[Query(COLUMNS)]}
    assert (types["l"], types["m"], types["ll"]) == ("array(integer)", "map(varchar, bigint)", "array(array(integer))")
    assert types["r"] == "array(row(k integer, v varchar))"


@pytest.mark.parametrize("text", STATISTICS)
def test_statistics_of_columns_without_a_range(text: str, answers: Answers) -> None:
    assert answers.found[Query(text)][-1][4] == (len(nested_tables.ROWS) if "nest" in text else 7)
