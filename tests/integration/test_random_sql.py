"""Random SQL over small tables, as jobs, has DuckDB's answers; over awkward values in every format it obeys the laws,
too, of support.random_sql on every road.

JUMPGATE_RANDOM_SQL=1000 asks for more of them.
"""

from __future__ import annotations

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
from tests.support import awkward, random_sql
from tests.support.alike import unlike
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
    "SELECT t.id, list_concat(t.l, t.l) AS b, [t.i, t.i] AS c FROM [t] t",
    "SELECT t.st AS k, min(coalesce(t.f, CAST('NaN' AS DOUBLE))) AS m FROM [t] t GROUP BY t.st",
    "SELECT t.n AS c, t.du AS d FROM [t] t INTERSECT SELECT u.n, u.du FROM [u] u",
    "SELECT t.z AS c, t.tm AS d FROM [t] t EXCEPT SELECT u.z, u.tm FROM [u] u",
)
#: -0.0 is no other number than 0.0
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
    "GROUP BY t.i HAVING count(*) > 1",
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
        assert not unlike(query.to_arrow(), expected), query.explain()
        assert not query.split.kept or "as a job it failed" in query.explain(), query.explain()


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("count", [COUNT, COUNT * AWKWARD])
def test_every_road_obeys_the_laws(one_host: str, tmp_path: Path, count: int) -> None:
    with jumpgate.connect(one_host, timeout_ms=20_000) as connection:
        trial = Trial(connection, tmp_path)
        failures = list(trial.run(count))
    assert not failures, "\n".join(map(str, failures))
    assert trial.asked >= count
    assert trial.answered > trial.asked // 2 and trial.offloaded > trial.asked // 5


@pytest.mark.nightly(but=("parquet", "csv"))
@pytest.mark.parametrize("format", list(formats()))
def test_what_was_wrong_once(one_host: str, tmp_path: Path, format: str) -> None:
    held = awkward.columns(format)
    keys = [key for key in KEYS if key in held]
    texts = [f"SELECT t.id, u.id AS o FROM [t] t JOIN [u] u ON t.{k} IS NOT DISTINCT FROM u.{k}" for k in keys]
    texts += [text for text in WRONG_ONCE if held.issuperset(COLUMN.findall(text))]
    with jumpgate.connect(one_host, timeout_ms=20_000) as connection:
        trial = Trial(connection, tmp_path)
        failures = [(text, *wrong) for text in texts for wrong in trial.ask(text, format, ["never"])]
    assert not failures, "\n".join(map(str, failures))
    assert trial.answered == len(texts)


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
