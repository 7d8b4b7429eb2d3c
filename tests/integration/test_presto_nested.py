"""Arrays, maps, rows and timestamps of files in a real Presto server: their values, and what is computed from them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import nested_tables, presto
from tests.support.presto import Answers, Query

OFF = "jumpgate.offload=false"
#: timestamps are those of any clock, not moments when the session's clock shows them
CLOCKS = "legacy_timestamp=false"
BERLIN = "Europe/Berlin"
TABLES = {"nest": nested_tables.NEST, "nest_orc": nested_tables.NEST, "nest_json": nested_tables.json_table()}

#: of each format
SCANS = [
    "SELECT * FROM {t}",
    "SELECT id, s.a, s.b, s.x, s.flag, s.\"in\".x, s.\"in\".y FROM {t}",
]  # fmt: skip
#: offloaded as a whole; DuckDB has the same answer
WHOLE = [
    *(scan.format(t=table) for table in TABLES for scan in SCANS),
    "SELECT id, l, m FROM nest WHERE id <> 2",
    "SELECT r, s FROM nest WHERE t IS NOT NULL",
    "SELECT l, s FROM nest UNION ALL SELECT l, s FROM nest WHERE id > 2",
    "SELECT a.l, b.s, b.m FROM nest a JOIN nest b ON a.id = b.id + 1",
    "SELECT a.ll, b.r, b.sm FROM nest a LEFT JOIN nest b ON a.id = b.id - 1",
    "SELECT count(*) FROM (SELECT l, m FROM nest LIMIT 3)",
    "SELECT id, l, s.\"in\", m FROM nest ORDER BY id DESC NULLS LAST LIMIT 3",
    "SELECT s.d, s.n, s.w, s.f, s.big, s.tiny, s.small, s.raw, s.\"in\", s.\"Odd name\" FROM nest",
    "SELECT s.a + 1, s.b || '!', length(s.b), year(s.d), s.n * 2 FROM nest",
    "SELECT id FROM nest WHERE s.a = 7 AND s.b <> 'x' OR s.\"in\".x > 0.1",
    "SELECT id FROM nest WHERE s IS NULL OR m IS NULL",
    "SELECT id, l FROM nest WHERE s.\"in\" IS NOT NULL AND s.d < DATE '2000-01-01'",
    "SELECT count(l), count(s), count(m), count(s.b), count(*) FROM nest",
    "SELECT s.a, count(*), sum(s.n), max(s.b), min(s.d) FROM nest GROUP BY s.a",
    "SELECT x.id, y.s.b FROM nest x JOIN nest y ON x.s.a = y.s.a AND x.id < y.id",
    "SELECT n, whole, many FROM moments WHERE whole IS NOT NULL",
    "SELECT max(whole), min(whole), count(DISTINCT whole) FROM moments",
    "SELECT n FROM moments WHERE whole > TIMESTAMP '2024-07-01 12:30:15.122' OR whole < TIMESTAMP '1600-01-01 00:00'",
    "SELECT n FROM moments WHERE whole IN (TIMESTAMP '2024-10-27 02:30:00', TIMESTAMP '2024-10-27 03:00:00')",
    "SELECT year(whole), month(whole), day(whole), hour(whole), minute(whole), second(whole), week(whole) FROM moments",
    "SELECT a.n, b.n, a.whole FROM moments a JOIN moments b ON a.whole = b.whole",
]  # fmt: skip
#: over what Presto itself cannot read
FINE = [
    "SELECT n FROM moments WHERE fine > TIMESTAMP '2024-07-01 12:30:15.123'",
    "SELECT fine IS NULL, count(*) FROM moments GROUP BY 1",
]  # fmt: skip
#: offloaded as a whole; DuckDB writes it in another way
PRESTOS = [
    "SELECT id, cardinality(l), cardinality(m), cardinality(r), cardinality(s.\"in\".y) FROM nest",
    "SELECT id FROM nest WHERE cardinality(l) > 2",
    "SELECT id, element_at(l, 1), element_at(t, -1), element_at(r, 1).v, element_at(ll, 1), element_at(l, 9) FROM nest",
    "SELECT element_at(sm, 2), element_at(s.\"in\".y, -2), element_at(element_at(ll, 2), 1) FROM nest",
    "SELECT id, contains(l, 1), contains(t, 'p'), contains(l, id), contains(s.\"in\".y, 4) FROM nest",
    "SELECT id FROM nest WHERE contains(l, 5)",
    "SELECT id, e FROM nest CROSS JOIN UNNEST(l) u (e) WHERE id < 9",
    "SELECT id, k, v FROM nest CROSS JOIN UNNEST(m) u (k, v) WHERE id < 9",
    "SELECT id, k, v FROM nest CROSS JOIN UNNEST(r) u (k, v)",
    "SELECT id, e, s FROM nest CROSS JOIN UNNEST(ll) u (e) WHERE id > 1",
    "SELECT e, count(*) FROM nest CROSS JOIN UNNEST(l) u (e) GROUP BY e",
    "SELECT sum(f), count(*) FROM nest CROSS JOIN UNNEST(ll) u (e) CROSS JOIN UNNEST(e) w (f)",
    "SELECT id, l[1], t[1], r[1].v FROM nest WHERE cardinality(l) > 0 AND cardinality(t) > 0 AND cardinality(r) > 0",
    "SELECT id, element_at(l, id), element_at(t, -id), element_at(m, 'k'), element_at(m, s.b) FROM nest",
    "SELECT id, m['k'] FROM nest WHERE id = 1",
    "SELECT id, array_distinct(l), array_distinct(t), array_sort(l), slice(l, 2, 1), slice(t, -1, 3) FROM nest",
    "SELECT id, array_union(l, s.\"in\".y), array_except(l, s.\"in\".y), l || s.\"in\".y FROM nest",
    "SELECT id, array_join(t, '-'), array_join(t, ',', '?'), array_min(l), array_max(t) FROM nest",
    "SELECT id, array_position(l, 2), array_position(t, s.b) FROM nest",
    "SELECT id, map_keys(m), map_values(m), cardinality(map_keys(m)), flatten(ll) FROM nest",
    "SELECT id, ARRAY[id, s.a], ARRAY[l], ROW(id, s.b), ARRAY[1, 2] FROM nest",
    "SELECT s.a, cardinality(array_agg(ROW(id, s.b))), cardinality(array_agg(id)) FROM nest GROUP BY s.a",
    "SELECT i, b FROM (SELECT array_agg(ROW(id, s.b)) a FROM nest) CROSS JOIN UNNEST(a) u (i, b)",
    "SELECT n, date_format(whole, '%Y-%m-%d %H:%i:%s.%f %p %W %M %a %b %j %v %x %c %e %k %l %I %y %%'), "
    "date_format(whole, '%T %r') FROM moments",
    "SELECT n, date_add('hour', -30, whole), date_add('month', 1, whole), whole + INTERVAL '36' HOUR, "
    "whole - INTERVAL '1' MONTH, whole + INTERVAL '0.5' SECOND FROM moments WHERE year(whole) < 9000",
    "SELECT n, date_diff('hour', whole, TIMESTAMP '2024-03-31 12:34:56.789'), date_diff('day', whole, "
    "TIMESTAMP '2000-01-01 00:00'), date_diff('millisecond', whole, whole), date_diff('week', TIMESTAMP "
    "'2024-01-01 00:00', whole), millisecond(whole) FROM moments",
    "SELECT n, to_unixtime(whole), from_unixtime(n * 86399), from_unixtime(-n) FROM moments",
    "SELECT date_trunc('hour', whole), date_trunc('month', whole), date_trunc('second', whole), CAST(whole AS date) "
    "FROM moments",
    "SELECT n, element_at(many, 1), contains(many, TIMESTAMP '2024-10-27 03:00:00') FROM moments",
    "SELECT array_agg(whole) FROM moments WHERE n = 1",
    "SELECT n, zoned, away, nanos FROM moments",
    "SELECT zoned IS NULL, count(zoned) FROM moments GROUP BY 1",
    "SELECT zoned, count(*) FROM moments GROUP BY zoned",
]  # fmt: skip
COMPARED, COMPUTED = (rf"\[type\] arrays, maps and rows are {what} by Presto" for what in ("compared", "computed"))
#: what stays, for which reason
PARTLY = {
    "SELECT l, count(*) FROM nest GROUP BY l": rf"Aggregation stays: {COMPARED}: l",
    "SELECT count(*) FROM (SELECT DISTINCT ll FROM nest)": rf"{COMPARED}: ll",
    "SELECT a.id FROM nest a JOIN nest b ON a.l = b.l WHERE a.id > 1 AND b.id > 1": f"Join stays: {COMPARED}",
    "SELECT id FROM nest ORDER BY t LIMIT 2": f"TopN stays: {COMPARED}: t",
    "SELECT id FROM nest WHERE l = ARRAY[5]": f"Filter stays: {COMPUTED}",
    "SELECT transform(l, x -> x + 1) FROM nest": r"Project stays: \[expression\] Presto computes transform",
    "SELECT cardinality(array_agg(l)), cardinality(array_agg(s)) FROM nest": r"Aggregation stays: \[aggregate\]",
    "SELECT array_distinct(ll), array_intersect(l, l) FROM nest": r"Project stays: \[",
    "SELECT date_format(whole, '%Y %D') FROM moments WHERE n < 0": r"Project stays: \[expression\] Presto computes",
    "SELECT from_unixtime(n / 2e0) FROM moments": r"Project stays: \[expression\] Presto computes from_unixtime",
    "SELECT coalesce(l, ARRAY[1]) FROM nest": f"Project stays: {COMPUTED}",
    "SELECT id, e, n FROM nest CROSS JOIN UNNEST(l) WITH ORDINALITY u (e, n) WHERE id < 9":
        r"Unnest stays: \[operator\] UNNEST of several arrays, or WITH ORDINALITY",
    "SELECT max(zoned) FROM moments": r"\[type\] there is no exact counterpart of timestamp with time zone",
    "SELECT n FROM moments WHERE zoned > TIMESTAMP '2024-01-01 00:00:00 UTC'": r"Filter stays: \[type\]",
    "SELECT n FROM moments WHERE whole < TIMESTAMP '12024-01-01 00:00:00'": r"\[dialect\] .* years 1 to 9999",
    "SELECT n FROM moments WHERE nanos < TIMESTAMP '2024-01-01 00:00:00'": r"\[type\] nanos would be timestamp_ns",
}  # fmt: skip
#: clocks of Berlin; the reason for which something stays, if it does
ZONED = {
    "SELECT n, whole, many, nanos FROM moments": "",
    "SELECT n FROM moments WHERE whole >= TIMESTAMP '2024-10-27 03:00:00'": "",
    "SELECT n, hour(whole), year(whole), CAST(whole AS date), date_trunc('second', whole) FROM moments": "",
    "SELECT n FROM moments WHERE whole = TIMESTAMP '2024-10-27 02:30:00'": "",
    "SELECT n, date_format(whole, '%H:%i %p'), millisecond(whole) FROM moments": "",
    "SELECT n, date_add('hour', 1, whole) FROM moments": r"\[dialect\] Presto counts by the clock of the session",
    "SELECT n, to_unixtime(whole) FROM moments": r"\[dialect\] Presto counts by the clock of the session",
    "SELECT n, date_trunc('hour', whole) FROM moments": r"\[dialect\] Presto truncates by the clock of the session",
    "SELECT n, zoned, away, zoned IS NULL FROM moments": "",
}
#: of which moments have other values than clocks
MOMENTS = ("SELECT n, date_add('hour', 1, whole) FROM moments", "SELECT n, to_unixtime(whole) FROM moments")
#: what no session can read, and how to
FAILURES = {
    "SELECT fine FROM moments": "JUMPGATE_DATA: column 'fine': 2024-07-01T12:30:15.123456 is between two milliseconds, "
                                r"which Presto counts: select date_trunc\('millisecond', fine\), which accelerators",
    "SELECT zoned_fine FROM moments": "JUMPGATE_DATA: column 'zoned_fine': .*56789 is between .*: leave the column out",
    "SELECT finest FROM moments": "JUMPGATE_DATA: column 'finest': .*456789 is between .*: leave the column out",
    "SELECT l[9] FROM nest": "INVALID_FUNCTION_ARGUMENT: ",
    "SELECT l[id - 1] FROM nest": "INVALID_FUNCTION_ARGUMENT: ",
    "SELECT element_at(l, id - 1) FROM nest": "INVALID_FUNCTION_ARGUMENT: ",
    "SELECT slice(l, 1, -id) FROM nest": "INVALID_FUNCTION_ARGUMENT: ",
    "SELECT m['none'] FROM nest": "INVALID_FUNCTION_ARGUMENT: ",
    "SELECT element_at(l, 0) FROM nest": "INVALID_FUNCTION_ARGUMENT: ",
}  # fmt: skip
SKIPPED = "SELECT skipped FROM moments"
TRUNCATED = "SELECT date_trunc('millisecond', fine) FROM moments"
LEGACY_UNNEST = "SELECT id, e.k, e.v FROM nest CROSS JOIN UNNEST(r) u (e)"
KEPT = "jumpgate.offload_unnest=false"
SWITCHED = "SELECT id, e FROM nest CROSS JOIN UNNEST(l) u (e) WHERE id < 3"
COMMENT, COLUMNS = "SHOW CREATE TABLE odd", "SHOW COLUMNS FROM nest"
STATISTICS = ["SHOW STATS FOR nest", "SHOW STATS FOR moments"]


def asks_presto(folder: Path) -> tuple[dict[str, Any], list[Query]]:
    catalog = nested_tables.write(folder) | {"moments": presto.write_table(folder, "moments", nested_tables.MOMENTS)}
    odd = {"t": "time?", "c": "struct<a int32, A int32>", "e": "struct<>", "l": "list<map<string, time>>", "k": "int32",
           "z": "timestamptz(Nowhere/City)"}  # fmt: skip
    catalog["odd"] = {"format": "parquet", "files": [str(folder / "nest.parquet")], "columns": odd}
    queries = [Query(text, session) for text in [*WHOLE, *PRESTOS, *PARTLY] for session in ("", OFF)]
    queries += [Query(f"EXPLAIN {text}") for text in [*WHOLE, *PRESTOS, *PARTLY]] + [Query(text) for text in FINE]
    queries += [Query(text, session, BERLIN) for text in ZONED for session in ("", OFF, CLOCKS)]
    queries += [Query(f"EXPLAIN {text}", "", BERLIN) for text in ZONED]
    queries += [
        Query(SKIPPED),
        Query(SKIPPED, CLOCKS, BERLIN),
        Query(SKIPPED, "", BERLIN),
        Query(TRUNCATED, "", BERLIN),
    ]
    queries += [Query(LEGACY_UNNEST, "legacy_unnest=true"), Query(LEGACY_UNNEST, f"legacy_unnest=true,{OFF}")]
    queries += [Query(text, KEPT) for text in (SWITCHED, f"EXPLAIN {SWITCHED}")] + [Query(SWITCHED)]
    return catalog, queries + [Query(text) for text in [*FAILURES, TRUNCATED, COMMENT, COLUMNS, *STATISTICS]]


@pytest.fixture(scope="module")
def answers(presto_answers: Answers) -> Answers:
    return presto_answers


def found(answers: Answers, text: str, session: str = "", zone: str = "UTC") -> list[str]:
    return nested_tables.rows(answers.found[Query(text, session, zone)])


def as_json(value: Any) -> Any:
    """A value as Presto's protocol writes it, which has milliseconds."""
    return value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] if hasattr(value, "hour") else presto.as_json(value)


@pytest.mark.parametrize("text", [*WHOLE, *FINE])
def test_what_is_offloaded_is_duckdbs_answer(text: str, answers: Answers) -> None:
    expected = nested_tables.duckdb_rows(text, TABLES | {"moments": nested_tables.MOMENTS}, as_json)
    assert found(answers, text) == expected


@pytest.mark.parametrize("text", [*WHOLE, *PRESTOS, *PARTLY])
def test_what_is_offloaded_changes_no_answer(text: str, answers: Answers) -> None:
    assert found(answers, text) == found(answers, text, OFF)


@pytest.mark.parametrize("text", [*WHOLE, *PRESTOS])
def test_explain_says_what_is_offloaded(text: str, answers: Answers) -> None:
    plan = answers.plan(text)
    assert "(100 %) offloaded" in plan
    assert not re.search(r"- (Filter|Project|Aggregate|Limit|Union|Unnest)|stays", plan), plan


@pytest.mark.parametrize("text", PARTLY)
def test_explain_says_what_stays_and_why(text: str, answers: Answers) -> None:
    assert re.search(PARTLY[text], answers.plan(text)), answers.plan(text)


@pytest.mark.parametrize("text", FAILURES)
def test_what_cannot_be_said_in_milliseconds_or_is_no_element_fails(text: str, answers: Answers) -> None:
    assert re.match(FAILURES[text], str(answers.found[Query(text)])), answers.found[Query(text)]


@pytest.mark.parametrize("text", ZONED)
def test_a_timestamp_is_what_the_clock_of_the_session_shows(text: str, answers: Answers) -> None:
    offloaded = found(answers, text, "", BERLIN)
    assert offloaded == found(answers, text, OFF, BERLIN)
    assert text in MOMENTS or offloaded == found(answers, text, CLOCKS, BERLIN)
    plan = str(answers.found[Query(f"EXPLAIN {text}", "", BERLIN)][0][0])
    assert re.search(ZONED[text] or r"\(100 %\) offloaded", plan), plan


def test_a_time_that_the_clock_of_the_session_skips_is_an_error(answers: Answers) -> None:
    skips = "JUMPGATE_DATA: column 'skipped': 2024-03-31T02:30:00 is a time that clocks of the session's zone skip: set"
    assert str(answers.found[Query(SKIPPED, "", BERLIN)]).startswith(skips)
    assert found(answers, SKIPPED, CLOCKS, BERLIN) == found(answers, SKIPPED)


def test_the_way_out_that_an_error_names(answers: Answers) -> None:
    assert found(answers, TRUNCATED) == found(answers, TRUNCATED, "", BERLIN)
    assert "['2024-07-01 12:30:15.123']" in found(answers, TRUNCATED)


def test_elements_that_are_rows_as_they_once_were(answers: Answers) -> None:
    assert found(answers, LEGACY_UNNEST, "legacy_unnest=true") == found(
        answers, LEGACY_UNNEST, f"legacy_unnest=true,{OFF}"
    )


def test_unnest_has_a_switch(answers: Answers) -> None:
    assert found(answers, SWITCHED, KEPT) == found(answers, SWITCHED)
    assert "Unnest stays: [disabled]" in answers.plan(SWITCHED, KEPT)


def test_a_table_says_what_of_its_columns_is_not_read(answers: Answers) -> None:
    created = answers.found[Query(COMMENT)][0][0]
    for sentence in (
        "t time (the engine has no such type)",
        "c struct<a int32, A int32> (two fields are called ''A'' where case does not count)",
        "e struct<> (a row of the engine has a field)",
        "l list<map<string, time>> (its element map<string, time>: its value time: the engine has no such type)",
        "z timestamptz(Nowhere/City) (the engine does not know the zone)",
    ):
        assert sentence in created, created


def test_types_of_columns(answers: Answers) -> None:
    types = {row[0]: row[1] for row in answers.found[Query(COLUMNS)]}
    assert (types["l"], types["m"], types["ll"]) == ("array(integer)", "map(varchar, bigint)", "array(array(integer))")
    assert types["r"] == 'array(row("k" integer, "v" varchar))'


@pytest.mark.parametrize("text", STATISTICS)
def test_statistics_of_columns_without_a_range(text: str, answers: Answers) -> None:
    assert answers.found[Query(text)][-1][4] == (len(nested_tables.ROWS) if "nest" in text else 7)
