"""Random SQL over small tables: DuckDB's answers, with everything offloaded that can be; and over awkward values in
every format, DataFusion's answers and the laws of support.random_sql on every road.

JUMPGATE_RANDOM_SQL=1000 asks for more of them.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.dataflow.formats import formats
from jumpgate.study.answers import difference
from tests.support import awkward, random_sql
from tests.support.alike import unlike
from tests.support.datafusion_plain import Reference
from tests.support.duckdb_judge import Judge
from tests.support.extremes import as_first_values
from tests.support.random_sql import Law
from tests.support.random_trial import Trial, broken
from tests.support.random_words import KEYS

COUNT = int(os.environ.get("JUMPGATE_RANDOM_SQL", "60"))
#: texts over awkward values for each of them
AWKWARD = 5
ROWS = 40
#: kind of a column → its names in both tables, and literals to compare it with
COLUMNS = {"number": ("i", "j"), "money": ("p",), "text": ("s",), "day": ("d",)}
LITERALS = {
    "number": ("0", "3", "-2"),
    "money": ("1.50", "0"),
    "text": ("'a'", "'b%'", "''"),
    "day": ("DATE '2024-01-02'",),
}
MONEY = [None, Decimal("1.50"), Decimal("0.00"), Decimal("-3.25"), Decimal("9.99")]


#: over the tables of support.awkward
WRONG_ONCE = (
    "SELECT t.id FROM [t] t WHERE t.i NOT IN (SELECT u.i FROM [u] u WHERE u.s <> t.s) OR t.b IS TRUE",
    "SELECT t.id FROM [t] t WHERE NOT (t.i IN (SELECT u.i FROM [u] u WHERE u.d > 0 AND u.i = t.i) AND t.st['a'] = 0)",
    "SELECT t.id, arrow_typeof(t.l) AS a, array_repeat(t.l, 2) AS b, array_repeat(t.i, 2) AS c FROM [t] t",
    "SELECT t.st AS k, min(coalesce(t.f, CAST('NaN' AS DOUBLE))) AS m FROM [t] t GROUP BY t.st",  # had no end
    "SELECT t.n AS c, t.du AS d FROM [t] t INTERSECT SELECT u.n, u.du FROM [u] u",
    "SELECT t.z AS c, t.tm AS d FROM [t] t EXCEPT SELECT u.z, u.tm FROM [u] u",
)
#: what DataFusion's optimiser took -0.0 for another number than 0.0 in
WRONG_ONCE += tuple(
    f"SELECT id, f AS c FROM {source} WHERE {condition}"
    for source, condition in (
        ("[t] t", "t.f <> -0e0 AND t.f IN (0.0, 0.0)"),
        ("[t] t", "t.f = 0.0 * -1e0 AND t.f <> 0e0 OR t.f = -1.5"),
        ("[t] t", "t.f <> -(0e0) AND t.f BETWEEN 0e0 AND round(-0.4)"),
        ("[t] t", "CASE WHEN t.id > 2 THEN -0e0 ELSE 1e0 END IN (0e0, 2e0) AND t.f > -1e0"),
        ("[t] t, (VALUES (-0e0)) AS v(x)", "t.f <> v.x AND t.f = 0e0"),
        ("(SELECT id, f, -0e0 AS x, 0e0 AS y FROM [t]) AS v", "f <> x AND f IN (y, y)"),
        ("[t] t", "t.f <> -0e0 AND EXISTS (SELECT 1 FROM [u] u WHERE u.i = t.i AND t.f IN (0e0, 0e0))"),
    )
)
WRONG_ONCE += (
    "SELECT t.i AS k, max(CASE t.f WHEN 1.5 THEN t.f WHEN -0e0 THEN CAST('inf' AS DOUBLE) END) AS m FROM [t] t "
    "GROUP BY t.i HAVING count(*) > 1",  # no column of that name
)
COLUMN = re.compile(r"\b[tu]\.(\w+)")


def table(seed: int) -> pa.Table:
    def pick(values: list[Any], step: int) -> list[Any]:
        return [values[(row * step + seed * 3) % len(values)] for row in range(ROWS)]

    days = [None, *(19720 + n for n in range(6))]
    return pa.table(
        {
            "i": pa.array(pick([None, 0, 1, 2, 3, -2, 7], 5), pa.int64()),
            "j": pa.array(pick([3, None, 3, 1, 0], 3), pa.int64()),
            "p": pa.array(pick(MONEY, 2), pa.decimal128(7, 2)),
            "s": pa.array(pick(["a", "b", None, "ab", "", "a b"], 7), pa.string()),
            "d": pa.array(pick(days, 4), pa.int32()).cast(pa.date32()),
        }
    )


@pytest.fixture(scope="module")
def engines(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Any]]:
    folder: Path = tmp_path_factory.mktemp("random-sql")
    with jumpgate.connect(one_host, offload="always") as connection, duckdb.connect() as other:
        for seed, name in enumerate(("t", "u")):
            file = folder / f"{name}.parquet"
            parquet.write_table(table(seed), file)
            connection.register(name, file)
            other.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{file}')")
        yield connection, other


@dataclass(frozen=True)
class Term:
    text: str
    kind: str


@st.composite
def columns(draw: st.DrawFn, tables: tuple[str, ...], kind: str) -> str:
    return f"{draw(st.sampled_from(tables))}.{draw(st.sampled_from(COLUMNS[kind]))}"


@st.composite
def terms(draw: st.DrawFn, tables: tuple[str, ...], kind: str, depth: int = 2) -> str:
    """An expression of one kind that neither engine can fail on."""
    shape = draw(st.integers(0, 5)) if depth else 0
    below = lambda k: draw(terms(tables, k, depth - 1))  # noqa: E731
    if shape <= 1:
        return draw(columns(tables, kind))
    if shape == 2:
        return draw(st.sampled_from(LITERALS[kind]))
    if shape == 3:
        return f"coalesce({below(kind)}, {below(kind)})"
    if shape == 4:
        return f"CASE WHEN {draw(predicates(tables, depth - 1))} THEN {below(kind)} ELSE {below(kind)} END"
    if kind == "number":
        return f"({below(kind)} {draw(st.sampled_from('+-*'))} {below(kind)})"
    if kind == "text":
        return draw(st.sampled_from((f"upper({below(kind)})", f"substring({below(kind)}, 1, 2)")))
    return draw(columns(tables, kind))


@st.composite
def predicates(draw: st.DrawFn, tables: tuple[str, ...], depth: int = 2) -> str:
    kind = draw(st.sampled_from(sorted(COLUMNS)))
    shape = draw(st.integers(0, 7 if depth else 3))
    left = draw(terms(tables, kind, max(depth - 1, 0)))
    if shape <= 1:
        return f"{left} {draw(st.sampled_from(('=', '<>', '<', '<=', '>', '>=')))} {draw(terms(tables, kind, 0))}"
    if shape == 2:
        return f"{left} IS {draw(st.sampled_from(('', 'NOT ')))}NULL"
    if shape == 3:
        return f"{left} {draw(st.sampled_from(('', 'NOT ')))}IN ({', '.join(LITERALS[kind])})"
    if shape == 4:
        return f"({draw(predicates(tables, depth - 1))} AND {draw(predicates(tables, depth - 1))})"
    if shape == 5:
        return f"({draw(predicates(tables, depth - 1))} OR {draw(predicates(tables, depth - 1))})"
    if shape == 6:
        return f"NOT ({draw(predicates(tables, depth - 1))})"
    return f"{draw(columns(tables, 'text'))} LIKE {draw(st.sampled_from(LITERALS['text']))}"


@st.composite
def queries(draw: st.DrawFn) -> str:
    joined = draw(st.sampled_from(("", "JOIN", "LEFT JOIN", "FULL JOIN", "CROSS JOIN", "semi", "anti")))
    tables = ("t", "u") if joined.endswith("JOIN") else ("t",)
    source, where = "t", [draw(predicates(tables))] if draw(st.booleans()) else []
    if joined == "CROSS JOIN":
        source = "t CROSS JOIN u"
    elif joined.endswith("JOIN"):
        key = draw(st.sampled_from(("i", "j", "s", "d")))
        source = f"t {joined} u ON t.{key} = u.{key}"
        if draw(st.booleans()):
            more, key = draw(st.sampled_from(("JOIN", "JOIN", "FULL JOIN"))), draw(st.sampled_from("isd"))
            source += f" {more} t AS v ON v.{key} = {draw(st.sampled_from(tables))}.{key}"
    elif joined:
        quantifier = "EXISTS" if joined == "semi" else "NOT EXISTS"
        where.append(f"{quantifier} (SELECT 1 FROM u WHERE u.j = t.i AND u.p IS NOT NULL)")
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    shape = draw(st.integers(0, 3))
    kinds = [draw(st.sampled_from(sorted(COLUMNS))) for _ in range(draw(st.integers(1, 3)))]
    shown = [draw(terms(tables, kind)) for kind in kinds]
    names = [f"c{i}" for i in range(len(shown))]
    listed = ", ".join(f"{text} AS {name}" for text, name in zip(shown, names, strict=True))
    if shape == 0:
        return f"SELECT {listed} FROM {source}{condition}"
    if shape == 1:
        return f"SELECT DISTINCT {listed} FROM {source}{condition}"
    text, money, day, number = (draw(columns(tables, kind)) for kind in ("text", "money", "day", "number"))
    measures = f"count(*) AS n, count(DISTINCT {text}) AS k, sum({money}) AS m, min({day}) AS lo, avg({number}) AS a"
    if shape == 2:
        return f"SELECT {measures} FROM {source}{condition}"
    inner = f"SELECT {listed} , {', '.join(f'{t}.{c}' for t in tables[:1] for c in 'ijpsd')} FROM {source}{condition}"
    measures = "count(*) AS n, sum(p) AS m, max(s) AS hi, avg(j) AS a"
    having = " HAVING count(*) > 1" if draw(st.booleans()) else ""
    return f"SELECT {', '.join(names)}, {measures} FROM ({inner}) AS x GROUP BY {', '.join(names)}{having}"


@settings(max_examples=COUNT, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=queries())
def test_random_queries(engines: tuple[Connection, Any], text: str) -> None:
    connection, other = engines
    expected = other.execute(text).to_arrow_table()
    with connection.sql(text) as query:
        found = query.to_arrow()
        assert not difference(found, expected, [], lambda: None), query.explain()


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("count", [COUNT, COUNT * AWKWARD])
def test_every_road_obeys_the_laws(one_host: str, tmp_path: Path, count: int) -> None:
    with jumpgate.connect(one_host, dialect="datafusion", timeout_ms=20_000) as connection:
        trial = Trial(connection, tmp_path)
        failures = list(trial.run(count))
    assert not failures, "\n".join(map(str, failures))
    assert trial.asked >= count


@pytest.mark.nightly(but=("parquet", "csv"))
@pytest.mark.parametrize("format", list(formats()))
def test_what_was_wrong_once(one_host: str, tmp_path: Path, format: str) -> None:
    held = awkward.columns(format)
    keys = [key for key in KEYS if key in held]
    texts = [f"SELECT t.id, u.id AS o FROM [t] t JOIN [u] u ON t.{k} IS NOT DISTINCT FROM u.{k}" for k in keys]
    texts += [text for text in WRONG_ONCE if held.issuperset(COLUMN.findall(text))]
    with jumpgate.connect(one_host, dialect="datafusion", timeout_ms=20_000) as connection:
        trial = Trial(connection, tmp_path)
        failures = [(text, *wrong) for text in texts for wrong in trial.ask(text, format, ["never"])]
    assert not failures, "\n".join(map(str, failures))


def test_shapes_are_made_again_from_their_seed() -> None:
    laws = {seed: random_sql.law(seed, 0) for seed in range(200)}
    assert laws == {seed: random_sql.law(seed, 0) for seed in range(200)}
    assert {law.adds for law in laws.values() if law.parts} == {True, False}
    assert any(law.exchanged for law in laws.values())
    assert len({random_sql.law(7, number).whole for number in range(20)}) > 1 or "{" not in laws[7].whole


def test_a_broken_law_is_seen() -> None:
    one, two, both = (pa.table({"n": [n]}) for n in (1, 2, 3))
    assert not broken(Law("q", ("a", "b"), adds=True), [both, one, two])
    assert "add up to 3" in broken(Law("q", ("a", "b"), adds=True), [two, one, two])
    rows = pa.concat_tables([one, two])
    assert not broken(Law("q", ("a", "b")), [rows, two, one])
    assert "the parts together" in broken(Law("q", ("a", "b")), [rows, one, one])
    assert "exchanged" in broken(Law("q", exchanged="r"), [rows, both])


def test_the_second_judge_knows_casts_to_types_of_arrow() -> None:
    judge = Judge({"t": pa.table({"n": pa.array([1, -1], pa.int64()).cast(pa.timestamp("ns"))})})
    moment = "arrow_cast('1970-01-01T00:00:00.000000001', 'Timestamp(Nanosecond, None)')"
    text = f"SELECT count(*) AS c FROM t WHERE n < {moment}"
    assert judge.difference(pa.table({"c": [1]}), text) == ""
    assert "1 of 1 rows differ" in (judge.difference(pa.table({"c": [0]}), text) or "")


def test_the_third_judge_knows_the_largest_of_nothing_but_infinities() -> None:
    infinite = pa.table({"k": [1, 1, 2], "x": [-math.inf, None, 1.0]})
    text = "SELECT k, max(DISTINCT x) FILTER (WHERE x < 0) AS c, max(x) OVER (PARTITION BY k) AS d FROM t GROUP BY k, x"
    written = as_first_values(text)
    assert written.count("first_value(x ORDER BY x DESC NULLS LAST) FILTER") == 1
    assert written.endswith(text[text.index(", max(x) OVER") :])
    assert as_first_values("SELECT min((SELECT max(a) FROM u)) FROM t").count("first_value(") == 3
    reference = Reference({"t": infinite})
    text = "SELECT k, max(x) AS c FROM t GROUP BY k"
    right = pa.table({"k": [1, 2], "c": [-math.inf, 1.0]})
    assert unlike(reference.answer(text).table, right), "then this judge is of no use any more"
    assert not unlike(reference.answer(as_first_values(text)).table, right, types=False)


def test_a_limit_leaves_open_which_of_equal_rows_it_takes() -> None:
    reference = Reference({"t": pa.table({"k": [1, 1, 1, 2], "v": [1, 2, 3, 4]})})
    sums = "sum(v) OVER (PARTITION BY k ORDER BY v ROWS 1 PRECEDING)"
    answer = reference.answer(f"SELECT k, {sums} AS s FROM t ORDER BY k LIMIT 2")
    for right in ([1, 3], [5, 3], [5, 1]):
        assert reference.difference(pa.table({"k": [1, 1], "s": right}), answer) == ""
    for k, wrong in (([1, 1], [5, 5]), ([1, 1], [5, 4]), ([1, 2], [5, 4])):
        assert reference.difference(pa.table({"k": k, "s": wrong}), answer)
    whole = reference.answer(f"SELECT k, {sums} AS s FROM t ORDER BY k, v LIMIT 2")
    assert reference.difference(pa.table({"k": [1, 1], "s": [5, 3]}), whole)
