"""What a real Trino server hands over to accelerators changes no answer and no error, and EXPLAIN says what stays."""

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

from jumpgate.tpcds.compare import duckdb_over
from jumpgate.tpcds.data import generate
from jumpgate.tpch import TPCH
from tests.support import folders, presto, trino
from tests.support.presto import Answers, Query

DAYS = [(1969, 12, 31), (2024, 2, 29), None, (2500, 1, 1), (1970, 1, 1)]
ROWS = pa.table({
    "k": pa.array([1, None, 1, 2, 3], pa.int32()),
    "flag": pa.array([True, None, False, True, False]),
    "tiny": pa.array([-128, None, 127, 5, 6], pa.int8()),
    "small": pa.array([-(2**15), None, 2**15 - 1, 0, 1], pa.int16()),
    "large": pa.array([-(2**63), 2**62, None, 2**62, 7], pa.int64()),
    "y": pa.array([6, 0, None, -7, 8], pa.int64()),
    "single": pa.array([0.5, math.nan, None, -math.inf, 0.25], pa.float32()),
    "real": pa.array([math.nan, -0.0, 0.0, math.inf, None], pa.float64()),
    "price": pa.array([Decimal(v) if v else None for v in ("1.25", "", "-99999.99", "0.01", "2.00")],
                      pa.decimal128(7, 2)),
    "wide": pa.array([Decimal("9" * 35 + ".999"), None, Decimal("-" + "9" * 35 + ".999"), Decimal("1.5"), None],
                     pa.decimal128(38, 3)),
    "word": pa.array(["", None, "zé", "abc", "a%c"]),
    "raw": pa.array([b"", None, b"\x00\xff", b"a", b"b"]),
    "day": pa.array([datetime.date(*v) if v else None for v in DAYS], pa.date32()),
    "moment": pa.array([None, -1, 0, 1_700_000_000_123_456, 5], pa.timestamp("us")),
    "Mixed": pa.array([1, None, 3, 4, 5], pa.int32()),
})  # fmt: skip
#: of a type that Trino is not shown
HIDDEN = ("clock", pa.time64("us"))
KEYS = pa.table({"k": pa.array([1, 2, 2, None, 9], pa.int32()), "n": pa.array([10, 20, 21, 30, None], pa.int64())})
#: few groups of many rows, and one that has half of them
SKEW = pa.table({
    "k": pa.array([0 if n % 2 else n % 7 for n in range(50_000)], pa.int64()),
    "n": pa.array([None if n % 11 == 0 else n for n in range(50_000)], pa.int64()),
})  # fmt: skip
TABLES = {"t": ROWS, "keys": KEYS, "skew": SKEW, "none": ROWS.slice(0, 0)}

#: offloaded as a whole; DuckDB has the same answer
WHOLE = [
    "SELECT * FROM t",
    "SELECT word, tiny, moment FROM t",
    "SELECT MIXED FROM T",
    "SELECT * FROM none",
    "SELECT count(*) FROM t",
    "SELECT k FROM t WHERE y > 5",
    "SELECT k FROM t WHERE y <> 0 AND word IS NOT NULL AND k IN (1, 2)",
    "SELECT k FROM t WHERE day >= DATE '1970-01-01' OR day IS NULL",
    "SELECT k FROM t WHERE moment > TIMESTAMP '1970-01-01 00:00:00.000001' OR price BETWEEN 1 AND 3 OR wide > 5",
    "SELECT k FROM t WHERE word LIKE '%b%' OR word LIKE 'a!%c' ESCAPE '!'",
    "SELECT k FROM t WHERE NOT (flag OR day = DATE '1969-12-31')",
    "SELECT k FROM t WHERE price + 1 > 1.5 AND length(word) < 3",
    "SELECT length(word), substr(word, 2, 2), word || 'x', starts_with(word, 'a'), nullif(k, 1) FROM t",
    "SELECT year(day), month(day), day(day), quarter(day) FROM t",
    "SELECT CAST(k AS varchar), CAST(day AS varchar), CAST(k AS double), CAST(k AS bigint) FROM t",
    "SELECT CAST(k AS decimal(12, 2)), CAST(price AS decimal(12, 4)), CAST(tiny AS smallint) FROM t",
    "SELECT y % 3, -price, price * price, price - k, wide < 0 FROM t",
    "SELECT k, sum(y) FROM t WHERE y > 0 GROUP BY k",
    "SELECT k, count(*), count(word), sum(k), min(word), max(day), min(price), max(moment) FROM t GROUP BY k",
    "SELECT k, sum(n), avg(n), count(n), min(n), max(n) FROM skew GROUP BY k",
    "SELECT k, n, count(*) FROM skew GROUP BY k, n",
    "SELECT sum(y), count(*), max(word), avg(k) FROM none",
    "SELECT k, sum(y) FROM none GROUP BY k",
    "SELECT k, count(*) FROM t GROUP BY k HAVING count(*) > 1",
    "SELECT count(DISTINCT k) FROM t",
    "SELECT DISTINCT k, day FROM t",
    "SELECT count(*) FROM (SELECT n FROM skew LIMIT 5)",
    "SELECT t.k, y, n FROM t JOIN keys ON t.k = keys.k",
    "SELECT t.k, y, n FROM t LEFT JOIN keys ON t.k = keys.k",
    "SELECT t.k, y, n FROM t LEFT JOIN keys ON t.k = keys.k AND y < n",
    "SELECT t.k, y, n FROM t RIGHT JOIN keys ON t.k = keys.k",
    "SELECT t.k, y, n FROM t FULL JOIN keys ON t.k = keys.k",
    "SELECT a.k, b.word FROM t a JOIN t b ON a.word = b.word AND a.k <= b.k",
    "SELECT t.k, count(*), sum(n) FROM t JOIN keys ON t.k = keys.k WHERE n > 10 GROUP BY t.k",
    "SELECT count(*), sum(skew.n) FROM skew JOIN keys ON skew.k = keys.k JOIN t ON t.k = keys.k",
    "SELECT * FROM none JOIN keys ON none.k = keys.k",
    "SELECT keys.k, n, y FROM keys LEFT JOIN none ON none.k = keys.k",
]  # fmt: skip
#: offloaded as a whole; DuckDB has other types, or means something else
TRINOS = [
    "SELECT y / 3, y / 4, price / 3, price * 0.1, CAST(price AS double) FROM t",
    "SELECT sum(price), avg(price), sum(wide), avg(y), sum(DISTINCT k), avg(DISTINCT price) FROM t WHERE k < 4",
    "SELECT sum(single), avg(single), sum(real) FROM t WHERE k = 2",
    "SELECT real > 1, real = real, real <> real, real / 0, real + 1, single * 10 FROM t",
    "SELECT substr(word, -2), CAST(word AS varchar(2)), day_of_week(day), doy(day), week(day), yow(day) FROM t",
]
#: what stays, for which reason
PARTLY = {
    "SELECT upper(word) FROM t": r"Project stays: \[expression\] Trino computes upper\(word\)",
    "SELECT k FROM t WHERE upper(word) = 'ABC' AND k > 0": r"2 of 3 op.* stays: \[expression\] Trino computes",
    "SELECT y + 1 FROM t": r"Project stays: \[expression\] it may fail, and Trino does not .* it: add\(y, 1\)",
    "SELECT k FROM t WHERE CASE WHEN y = 0 THEN false ELSE true END AND 10 / y > 0": r"Filter stays: .* may fail",
    "SELECT CASE WHEN y <> 0 THEN 10 / y END FROM t": r"Project stays: \[expression\] it may fail",
    "SELECT k FROM t WHERE real > 1": r"Filter stays: \[dialect\] Trino's ranges .* say nothing of NaN",
    "SELECT DISTINCT real FROM t": r"Aggregate stays: \[dialect\] Trino groups NaN",
    "SELECT max(real) FROM t": r"Aggregate stays: \[dialect\] Trino orders NaN",
    "SELECT approx_distinct(k) FROM t": r"Aggregate stays: \[aggregate\] Trino computes approx_distinct",
    "SELECT CAST(word AS char(5)) FROM t": r"Project stays: \[type\] there is no exact counterpart of char\(5\)",
    "SELECT CAST(real AS bigint) FROM t WHERE k = 99": r"Project stays: \[cast\] casts from double to bigint",
    "SELECT a.k FROM t a JOIN t b ON a.real = b.real": r"Join stays: \[dialect\] Trino compares NaN",
    "SELECT k, real FROM t ORDER BY real, k LIMIT 2": r"TopN stays: \[dialect\] Trino orders NaN",
}
#: what fails, in Trino and on accelerators
FAILURES = {
    "SELECT sum(large) FROM (SELECT large FROM t WHERE large > 0)": "NUMERIC_VALUE_OUT_OF_RANGE",
    "SELECT y + 9223372036854775807 FROM t": "NUMERIC_VALUE_OUT_OF_RANGE",
    "SELECT 10 / y FROM t": "DIVISION_BY_ZERO",
}
#: what has no answer, and why
BROKEN = {
    "SELECT * FROM missing": r"JUMPGATE_SERVICE: .*missing\.parquet",
    "SELECT * FROM broken": r"JUMPGATE_DATA: .*broken\.parquet",
    "SELECT * FROM nowhere": r"JUMPGATE_SERVICE: .*directory '.*/nowhere' holds no files with suffix",
    "SELECT clock FROM t": "COLUMN_NOT_FOUND: .*Column 'clock' cannot be resolved",
    "CREATE TABLE made (n bigint)": "NOT_SUPPORTED: .*Jumpgate reads files that others write",
    "CREATE TABLE made AS SELECT * FROM t": "NOT_SUPPORTED: .*Jumpgate reads files that others write",
    "INSERT INTO t SELECT * FROM t": "NOT_SUPPORTED: .*Jumpgate reads files that others write",
}
#: switched off by a property, and the operator that then stays
SWITCHES = {
    "offload_filter": ("SELECT k FROM t WHERE k > 1", "Filter"),
    "offload_project": ("SELECT length(word) FROM t", "Project"),
    "offload_aggregation": ("SELECT sum(y) FROM t", "Aggregate"),
    "offload_join": ("SELECT n FROM t JOIN keys ON t.k = keys.k", "Join"),
    "offload_limit": ("SELECT count(*) FROM (SELECT k FROM t LIMIT 3)", "Limit"),
    "offload_top_n": ("SELECT k, y FROM t ORDER BY y LIMIT 3", "TopN"),
}
#: the first rows, which are put into their order again
FIRST = [
    "SELECT k, y FROM t ORDER BY y DESC NULLS LAST LIMIT 3",
    "SELECT word FROM t ORDER BY word NULLS FIRST LIMIT 4",
]

#: in order, in row groups of GROUP_ROWS
RUNS, GROUP_ROWS = pa.table({"n": pa.array(range(100_000), pa.int64())}), 1_000
#: joins that Trino shows to no connector, and how many rows of `runs` are read: groups that have a key
DYNAMIC = {
    f"SELECT count(*), sum(n) FROM runs WHERE n IN (SELECT {keys} AND rand() < 2)": rows
    for keys, rows in {
        "n * 1000 FROM keys WHERE n IN (10, 21)": 2_000,
        "n * 1000 FROM keys WHERE n = 20": 1_000,
        "n FROM keys WHERE n % 13 = 1": 0,
    }.items()
}
#: of their sessions
THREE = "jumpgate.splits=3"
UNFILTERED = "jumpgate.offload_filter=false"

OFF = "jumpgate.offload=false"
STRICT = "jumpgate.strict=true"
STATISTICS = "SHOW STATS FOR skew"
SIZES = "SHOW STATS FOR t"
COMMENT = "SHOW CREATE TABLE t"
SCALE = 0.01
NUMBERS = tuple(range(1, 23))
#: joins of TPC-H, of 59, that at least are offloaded; EXISTS and IN are joins that Trino does not show
JOINS_MIN = 45


def asks_trino(folder: Path) -> tuple[dict[str, Any], list[Query]]:
    generate(folder, SCALE, formats=("parquet",), suite=TPCH)
    written = TABLES | {"t": ROWS.append_column(HIDDEN[0], pa.array([0] * ROWS.num_rows, HIDDEN[1]))}
    catalog = presto.tpch_catalog(folder) | {name: presto.write_table(folder, name, t) for name, t in written.items()}
    for name in ("missing", "broken"):
        catalog[name] = {"format": "parquet", "files": [str(folder / f"{name}.parquet")], "columns": {"n": "int64"}}
    catalog["runs"] = presto.write_table(folder, "runs", RUNS, GROUP_ROWS)
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more PAR1")
    queries = []
    for text in [*WHOLE, *TRINOS, *FIRST, *PARTLY, *FAILURES]:
        queries += [Query(text), Query(f"EXPLAIN {text}")]
    for text in [*TRINOS, *FIRST, *PARTLY, *FAILURES]:
        queries += [Query(text, OFF), Query(text, STRICT)]
    for switch, (text, _) in SWITCHES.items():
        session = f"jumpgate.{switch}=false"
        queries += [Query(text, session), Query(text, OFF), Query(f"EXPLAIN {text}", session)]
    queries += [Query(text, session) for text in DYNAMIC for session in ("", THREE, UNFILTERED)]
    for number in NUMBERS:
        queries += [Query(trino.trino_text(number)), Query(f"EXPLAIN {trino.trino_text(number)}")]
    queries += map(Query, [*BROKEN, STATISTICS, SIZES, COMMENT, *folders.QUERIES, *folders.DECLARED, folders.COLUMNS])
    return catalog | folders.write(folder), queries


@pytest.fixture(scope="module")
def answers(trino_answers: Answers) -> Answers:
    return trino_answers


@pytest.mark.parametrize("text", WHOLE)
def test_what_is_offloaded_is_duckdbs_answer(text: str, answers: Answers) -> None:
    with duckdb.connect() as connection:
        for name, table in TABLES.items():
            connection.register(name, table)
        expected = [[trino.as_json(value) for value in row] for row in connection.execute(text).fetchall()]
    assert answers.rows(text) == sorted(map(repr, expected))


@pytest.mark.parametrize("text", [*TRINOS, *FIRST, *PARTLY])
def test_what_is_offloaded_changes_no_answer(text: str, answers: Answers) -> None:
    assert answers.rows(text) == answers.rows(text, OFF)


@pytest.mark.parametrize("text", FIRST)
def test_the_first_rows_are_in_their_order(text: str, answers: Answers) -> None:
    assert answers.found[Query(text)] == answers.found[Query(text, OFF)]
    assert re.search(r"2 of 2 operators \(100 %\) offloaded", answers.plan(text))


@pytest.mark.parametrize("text", [*WHOLE, *TRINOS])
def test_explain_says_what_is_offloaded(text: str, answers: Answers) -> None:
    plan = answers.plan(text)
    assert re.findall(r"(\d+) of \1 operators \(100 %\) offloaded", plan)
    assert not re.search(r"Filter|Project|Aggregate|Join|Limit|stays", plan), plan


@pytest.mark.parametrize("text", TRINOS)
def test_a_strict_session_has_what_is_offloaded(text: str, answers: Answers) -> None:
    assert answers.rows(text, STRICT) == answers.rows(text)


@pytest.mark.parametrize("text", PARTLY)
def test_explain_says_what_stays_and_why(text: str, answers: Answers) -> None:
    assert re.search(PARTLY[text], answers.plan(text)), answers.plan(text)
    assert re.match(
        r"JUMPGATE_NOT_OFFLOADED: \d of \d operators .* offloaded; .* stays: ", answers.found[Query(text, STRICT)]
    )


@pytest.mark.parametrize("text", FAILURES)
def test_what_fails_in_trino_fails_by_the_same_name(text: str, answers: Answers) -> None:
    for session in ("", OFF):
        assert answers.found[Query(text, session)].startswith(FAILURES[text] + ": ")


@pytest.mark.parametrize("text", folders.QUERIES)
def test_folders_are_columns_and_those_that_cannot_match_are_not_read(text: str, answers: Answers) -> None:
    expected = [[trino.as_json(value) for value in row] for row in folders.duckdb_rows(answers.folder, text)]
    assert answers.rows(text) == sorted(map(repr, expected))
    assert answers.rows_read[Query(text)] == folders.QUERIES[text] * folders.ROWS


@pytest.mark.parametrize("text", folders.DECLARED)
def test_a_catalog_may_say_what_a_path_has(text: str, answers: Answers) -> None:
    assert answers.rows(text) == sorted(map(repr, folders.DECLARED[text]))


def test_a_path_that_names_nothing_keeps_no_other_table_from_being_listed(answers: Answers) -> None:
    listed = {tuple(row) for row in answers.found[Query(folders.COLUMNS)]}
    assert set(folders.COLUMNS_FOUND) <= listed


@pytest.mark.parametrize("text", BROKEN)
def test_a_failure_says_what_and_where(text: str, answers: Answers) -> None:
    assert re.match(BROKEN[text], answers.found[Query(text)])


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_session_leaves_an_operator_with_trino(switch: str, answers: Answers) -> None:
    text, operator = SWITCHES[switch]
    session = f"jumpgate.{switch}=false"
    stays = rf"{operator} stays: \[disabled\] this session leaves it with Trino \(setting: {switch}\)"
    assert re.search(stays, answers.plan(text, session)), answers.plan(text, session)
    assert answers.rows(text, session) == answers.rows(text, OFF)


@pytest.mark.parametrize("session", ["", THREE])
@pytest.mark.parametrize("text", DYNAMIC)
def test_what_a_join_of_trinos_drops_is_not_read(text: str, session: str, answers: Answers) -> None:
    expected = answers.rows(text, UNFILTERED)
    assert answers.rows(text, session) == expected
    assert answers.rows_read[Query(text, session)] - KEYS.num_rows == DYNAMIC[text]
    if DYNAMIC[text]:  # Trino itself stops reading for a join without keys
        assert answers.rows_read[Query(text, UNFILTERED)] - KEYS.num_rows == RUNS.num_rows


def test_the_optimiser_knows_rows_and_values(answers: Answers) -> None:
    columns = {row[0]: row for row in answers.found[Query(STATISTICS)]}
    assert columns[None][4] == SKEW.num_rows
    # column, bytes, values that differ, share of NULL, rows, least and greatest value
    assert 4 <= columns["k"][2] <= 14 and columns["k"][3] == 0 and columns["k"][5:7] == ["0", "6"]
    assert columns["n"][2] > 20_000
    assert columns["n"][3] == pytest.approx(1 / 11, rel=0.3) and columns["n"][5:7] == ["1", "49999"]
    # Trino shows bytes of texts alone
    assert {row[0]: row for row in answers.found[Query(SIZES)]}["word"][1] > 0


def test_a_table_says_what_trino_cannot_read(answers: Answers) -> None:
    assert (
        "COMMENT 'not readable by Trino: clock time (the engine has no such type)'"
        in answers.found[Query(COMMENT)][0][0]
    )


@pytest.mark.parametrize("number", NUMBERS)
def test_tpch_is_duckdbs(number: int, answers: Answers) -> None:
    with duckdb_over(answers.folder, "parquet", suite=TPCH) as connection:
        expected = connection.execute(TPCH.queries()[number]).fetchall()
    found = answers.found[Query(trino.trino_text(number))]
    assert isinstance(found, list), found
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert all(map(presto.equal, row, other)), (row, other)


def test_joins_are_offloaded(answers: Answers) -> None:
    plans = [answers.plan(trino.trino_text(number)) for number in NUMBERS]
    names = [name for plan in plans for name in re.findall(r"jumpgate:(main\.\w+(?: and main\.\w+)*),", plan)]
    assert sum(name.count(" and ") for name in names) >= JOINS_MIN
