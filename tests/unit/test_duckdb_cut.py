"""Cuts through DuckDB's plans: what is offloaded of a text, what DuckDB computes above it, and that both together are
the answer."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import jumpgate
from jumpgate.client.duckdb.above import cut_name
from jumpgate.client.duckdb.canonical import Form, same
from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.duckdb.passed import cut_columns
from jumpgate.client.duckdb.reasons import Parts, Stays
from jumpgate.client.duckdb.sources import quoted
from jumpgate.client.duckdb.written import write, write_constant, write_type
from jumpgate.client.sql.connection import Connection
from jumpgate.testing import oracle
from tests.support import random_duckdb
from tests.support.alike import unlike

COUNT = 40
#: of the random texts, at least so many have parts
PARTS_MIN = 0.7
#: table → a column that is computed by a function that stays, and a condition below it that is offloaded
STAYING = {"r": ("k", "g <> 99"), "q": ("k", "u <> 99"), "p": ("g", "d <> 99"), "e": ("k", "f <> 99")}
INNER = "(SELECT k, count(*) AS n, max(f) AS m FROM r WHERE g > 0 GROUP BY k)"
GROUPED = ["projection", "aggregate and group by"]


class Cutter:
    """Cuts texts over the tables of support.random_duckdb, and answers them with the cuts run by the oracle."""

    def __init__(self, database: duckdb.DuckDBPyConnection, connection: Connection, folder: Path) -> None:
        tables = [connection.register(name, folder / f"{name}.parquet") for name in random_duckdb.TABLES]
        self.database, self._stand_ins = database, connection._workspace.stand_ins
        self._tables = [(table, table.schema) for table in tables]

    def cut(self, text: str) -> Parts:
        return self._stand_ins.cut(text, (), self._tables)

    def difference(self, text: str, ordered: bool = False) -> str:
        """Of the answer by parts from DuckDB's, empty if they are the same. Raises Stays, duckdb.Error."""
        expected = self.database.sql(text).to_arrow_table()
        parts = self.cut(text)
        cursor = self.database.cursor()
        for number, cut in enumerate(parts.cuts):
            cut.files.fill()
            rows = oracle.run(cut.operator, DUCKDB)
            cursor.register(f"rows {number}", rows.rename_columns([f"c{i}" for i in range(len(cut.types))]))
            selected = f"SELECT {cut_columns(cut.types)} FROM {quoted(f'rows {number}')}"
            cursor.execute(f"CREATE TEMP VIEW {quoted(cut_name(number))} AS {selected}")
        found = cursor.sql(parts.text).to_arrow_table().rename_columns(expected.column_names)
        return unlike(found, expected, ordered)


@pytest.fixture(scope="module")
def cutter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cutter]:
    folder = tmp_path_factory.mktemp("cut")
    with random_duckdb.connect(folder) as database, jumpgate.connect() as connection:
        yield Cutter(database, connection, folder)


@pytest.mark.parametrize(
    ("text", "cuts", "kept"),
    [
        (f"SELECT list_distinct([k, n]) FROM {INNER}", 1, ["projection"]),
        (f"SELECT DISTINCT list_distinct([k]) FROM {INNER}", 1, ["distinct", "projection"]),
        (f"SELECT list_sort(list(DISTINCT k)), n FROM {INNER} GROUP BY ROLLUP (n)", 1, GROUPED),
        (f"SELECT histogram(k) FILTER (n > 1) FROM {INNER}", 1, GROUPED),
        ("SELECT regexp_split_to_array(r.s, 'a'), q.u FROM r JOIN q USING (k) WHERE r.f > 1", 1, ["projection"]),
        ("SELECT list_distinct([k]) FROM r WHERE g > 2 "
         "UNION ALL SELECT list_distinct([k]) FROM q WHERE u > 1", 2, None),
        (f"SELECT k, unnest(list_distinct([k, n])) AS e FROM {INNER}", 1, ["projection", "unnest"]),
        (f"SELECT {{'a': k, 'b': list_distinct([n])}} AS z, [1, 2] AS l FROM {INNER}", 1, ["projection"]),
        (f"SELECT rank() OVER (PARTITION BY len(l) ORDER BY n DESC ROWS 1 PRECEDING), lag(n, 2, 7) OVER (ORDER BY k) "
         f"FROM (SELECT *, list_distinct([n]) AS l FROM {INNER})", 1, None),
        (f"SELECT TRY_CAST(list_distinct([k])[1] AS UTINYINT), CAST(list_distinct([m])[1] AS VARCHAR) FROM {INNER}",
         1, None),
        (f"SELECT a.k, b.s FROM (SELECT list_distinct([k])[1] AS k, n FROM {INNER}) a LEFT JOIN q b ON a.k = b.k",
         1, None),
        ("SELECT k, s FROM q SEMI JOIN (SELECT list_distinct([g])[1] AS k FROM r WHERE d > 0) i USING (k)", 1, None),
        (f"SELECT k FROM r WHERE list_distinct([k])[1] IN (SELECT n FROM {INNER}) OR g = 1", 1, None),
        (f"SELECT g FROM r WHERE list_distinct([g])[1] NOT IN (SELECT k FROM {INNER}) AND d > 0", 2, None),
        ("SELECT u, list_distinct([u])[1] >= ALL (SELECT g - 1 FROM r WHERE g > 2) AS m FROM q WHERE k > 0", 2, None),
        ("SELECT k, list_distinct([k])[1] < ANY (SELECT g + list_distinct([g])[1] FROM r WHERE g < 4) AS m FROM q",
         1, None),
        (f"WITH c AS MATERIALIZED {INNER} SELECT list_distinct([a.k]), b.n FROM c a JOIN c b USING (k)", 1, None),
        (f"WITH c AS MATERIALIZED {INNER}, e AS MATERIALIZED (SELECT n, list_distinct([k])[1] AS l FROM c) "
         "SELECT a.l, b.n, q.s FROM e a JOIN e b USING (n) "
         "JOIN (SELECT k, min(s) AS s FROM q GROUP BY k) q ON q.k = b.l",
         2, None),
        ("WITH c AS MATERIALIZED (SELECT k, g FROM r WHERE g > 2) "
         "SELECT list_distinct([a.k]) FROM c a JOIN c b USING (g)",
         1, None),
    ],
)  # fmt: skip
def test_parts_give_the_answer(cutter: Cutter, text: str, cuts: int, kept: list[str] | None) -> None:
    found = cutter.cut(text)
    assert len(found.cuts) == cuts
    assert kept is None or [item.kind for item in found.kept] == kept
    assert cutter.difference(text) == ""


@pytest.mark.parametrize("limit", ["", "LIMIT 2 OFFSET 1"])
def test_order_above_a_cut(cutter: Cutter, limit: str) -> None:
    text = f"SELECT list_distinct([n]), k FROM {INNER} ORDER BY list_distinct([n]) DESC, k NULLS FIRST {limit}"
    assert cutter.difference(text, ordered=True) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT list_distinct([k]) FROM r", "a table that is only read is read by DuckDB"),
        ("SELECT list_distinct([1])", "it reads no table"),
        ("SELECT list(k) FROM r WHERE g > 2", "the order of its rows counts"),
        ("SELECT list_distinct([k]) FROM r WHERE g > 2 LIMIT 1", "the order of its rows counts"),
        ("SELECT row_number() OVER (), list_distinct([k]) FROM r WHERE g > 2", "the order of its rows counts"),
        (f"SELECT DISTINCT ON (n) list_distinct([k]), n FROM {INNER}", "DISTINCT ON"),
        (f"SELECT list_transform([k], lambda e: e + n) FROM {INNER}", "a lambda that sees columns"),
        ("WITH c AS MATERIALIZED (SELECT k FROM r WHERE g > 2) SELECT list(k) FROM c", "the order of its rows counts"),
    ],
)
def test_texts_without_parts(cutter: Cutter, text: str, reason: str) -> None:
    with pytest.raises(Stays, match=re.escape(reason)):
        cutter.cut(text)


def staying(text: str, seed: int) -> str:
    """The text with functions that stay: in some tables, and in arguments of some aggregates."""
    chosen = random.Random(seed)

    def table(found: re.Match[str]) -> str:
        if chosen.random() < 0.4:
            return found[0]
        column, condition = STAYING[found[2]]
        return (
            f"{found[1]} (SELECT * REPLACE (list_distinct([{column}])[1] AS {column}) FROM {found[2]} "
            f"WHERE {condition}) "
            f"{found[3] or found[2]}"
        )

    text = re.sub(r"\b(FROM|JOIN) ([rqpe])\b( i\d+)?", table, text)
    call = r"\b(count|min|max|sum|avg)\((DISTINCT )?(\w+)\)"
    return re.sub(
        call, lambda f: f"{f[1]}({f[2] or ''}list_distinct([{f[3]}])[1])" if chosen.random() < 0.3 else f[0], text
    )


def test_random_texts_by_parts(cutter: Cutter) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(COUNT):
        text = staying(random_duckdb.Texts(seed).query(), seed)
        try:
            found = cutter.difference(text)
            verdicts[f"{text}: {found}" if found else "same"] += 1
        except Stays:
            verdicts["stays"] += 1
        except duckdb.Error as error:
            verdicts[f"{text}: {error}"] += 1
    assert not [found for found in verdicts if found not in ("same", "stays")]
    assert verdicts["same"] >= PARTS_MIN * COUNT


def test_constants_and_types_are_written_exactly(cutter: Cutter) -> None:
    values = (
        "-0.0::DOUBLE",
        "'nan'::FLOAT",
        "'-inf'::DOUBLE",
        "0.1::FLOAT",
        "'-170141183460469231731687303715884105727'::HUGEINT",
        "18446744073709551615::UBIGINT",
        "-1.50::DECIMAL(30,2)",
        "DATE '0001-01-02'",
        "'it''s'",
        "TIMESTAMP '1969-12-31 23:59:59.999999'",
        "INTERVAL '3 months -2 days 1 microsecond'",
        "true",
        "NULL::BLOB",
        "'a\\xFF''\\x5C'::BLOB",
        "TIME '23:59:59.000001'",
        "TIMESTAMPTZ '1969-12-31 23:59:59.999999+05'",
        "TIMESTAMP_S '1969-12-31 23:59:59'",
        "TIMESTAMP_MS '1969-12-31 23:59:59.5'",
        "TIMESTAMP_NS '1969-12-31 23:59:59.000000001'",
        "'80000000-0000-4000-8000-00000000000a'::UUID",
        "'it''s'::ENUM('a', 'it''s')",
        "NULL::MAP(VARCHAR, INTEGER[])",
        "['a', NULL]",
        'NULL::STRUCT("x y" INTEGER[])',
    )
    for value in values:
        assert cutter.difference(f"SELECT {value} AS v, list_distinct([n]) AS l FROM {INNER}") == "", value


def test_strange_types_and_expressions_stay() -> None:
    for id in ("ENUM", "UNION", "SQLNULL"):
        with pytest.raises(Stays, match=f"type {id} is not written"):
            write_type({"id": id, "type_info": None})
    with pytest.raises(Stays, match="constant of type BIT"):
        write_constant({"type": {"id": "BIT", "type_info": None}, "is_null": False, "value": "101"})
    with pytest.raises(Stays, match="BOUND_PARAMETER is not written"):
        write({"expression_class": "BOUND_PARAMETER"}, str)


@pytest.mark.parametrize(("ours", "theirs"), [(0.0, -0.0), (1, True), (1, 1.0), (["a"], ["b"])])
def test_forms_differ(ours: object, theirs: object) -> None:
    assert same(Form(ours, ("0",)), Form(ours, ("0",)))
    assert not same(Form(ours, ("0",)), Form(theirs, ("0",)))
    assert not same(Form(ours, ("0",)), Form(ours, ("1",)))
