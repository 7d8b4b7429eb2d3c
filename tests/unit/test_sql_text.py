"""What is done to the text of a query before DataFusion sees it: its tokens, and DuckDB's meaning written into it."""

from __future__ import annotations

import math
import random

import datafusion
import duckdb
import pytest

from jumpgate.client.sql.duckdb_text import names, rewrite
from jumpgate.client.sql.markers import numbered
from jumpgate.client.sql.rewriting import Rewritten
from jumpgate.client.sql.tokens import place, quoted, tokens, unquoted

PIECES = (
    "'a''b'", "'/'", "'open", "E'\\'/'", "e'\\\\'", "x'41'", "q'[/]'", "r'\\'", "$$/$$", "$t$ $$ / $t$", '"a""/"',
    '"open', "`a/`",
    "-- / ?\n", "/* / /* ? */ */", "/*! 1 */", "/*", "*/", "/", "//", "|/", "||", "avg", "AVG", "mean", "(", ")", "[",
    "]", ",", ".",
    "DISTINCT", "ORDER BY", "1", "1.", ".5", "1.5e3", "1e-3", "1E+3", "0x1e5", "1e", "a", "b1", "é", "_x", "@v", "#n",
    "a$1", "$1", "$n", "?",
    "INTERVAL", "'1' DAY", "SELECT", "FROM", "AS", "\n", " ", "\t", "\u00a0", ";", "+", "-", "->", "<=", "::", "€",
    "\\", "{", "}", "\x00",
)  # fmt: skip


def random_texts() -> list[str]:
    generator = random.Random(7)
    return ["".join(generator.choices(PIECES, k=generator.randint(0, 30))) for _ in range(3000)]


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens(text) if token.kind != "space"]


def test_tokens_joined_are_the_text() -> None:
    for text in random_texts():
        found = tokens(text)
        assert "".join(token.text for token in found) == text
        assert [token.start for token in found] == [0, *(token.end for token in found)][: len(found)]
        assert all(token.text for token in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b", [("word", "a"), ("symbol", "/"), ("word", "b")]),
        ("a//b||/c|/d", [("word", "a"), ("symbol", "//"), ("word", "b"), ("symbol", "||/"), ("word", "c"),
                         ("symbol", "|/"), ("word", "d")]),
        ("'it''s'E'\\''", [("string", "'it''s'"), ("string", "E'\\''")]),
        ("'a\\'c'", [("string", "'a\\'"), ("word", "c"), ("open", "'")]),
        ("q'[']'X", [("string", "q'[']'"), ("word", "X")]),
    ("$t$ $$ $t$ $$'$$ $1 $n", [("string", "$t$ $$ $t$"), ("string", "$$'$$"), ("marker", "$1"), ("marker", "$n")]),
        ("$t$ open", [("open", "$t$ open")]),
        ("/* a /* b */ c */d", [("comment", "/* a /* b */ c */"), ("word", "d")]),
        ("/* a /* b */", [("open", "/* a /* b */")]),
        ("/*! 1 */ -- 2\n3", [("hint", "/*! 1 */"), ("comment", "-- 2"), ("number", "3")]),
        ("1..2 .5.5", [("number", "1."), ("number", ".2"), ("number", ".5"), ("number", ".5")]),
        ("1e5 1e 0x1e 1.e-5L", [("number", "1e5"), ("number", "1"), ("word", "e"), ("number", "0x1e"),
                                ("number", "1.e-5L")]),
    ("t.1b a1.b", [("word", "t"), ("number", ".1"), ("word", "b"), ("word", "a1"), ("symbol", "."), ("word", "b")]),
        ('"a""b"`c`', [("name", '"a""b"'), ("name", "`c`")]),
        ("straße_1\u00a0x", [("word", "straße_1"), ("word", "x")]),
    ],
)  # fmt: skip
def test_tokens(text: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(text) == expected


def test_tokens_end_where_datafusion_ends_them() -> None:
    """A text of a literal and nothing else is accepted by both, or by neither."""
    context = datafusion.SessionContext()
    for text in (
        "'a''b'",
        "E'a\\'b'",
        "$$a'b$$",
        "$x$ $$ $x$",
        '"a""b"',
        "`a`",
        "'a",
        '"a',
        "E'a\\'",
        "$x$ $$",
        "/* /* */",
        "/* */ 1",
    ):
        try:
            context.sql(f'SELECT {text} AS c FROM (SELECT 1 AS "a""b", 2 AS a)')
            accepted = True
        except Exception:
            accepted = False
        assert accepted == all(token.kind != "open" for token in tokens(text)), text


def test_names_are_quoted_and_unquoted() -> None:
    for name in ("a", 'a"b', "", "A b"):
        (token,) = tokens(quoted(name))
        assert unquoted(token) == name
    assert unquoted(tokens("`a``b`")[0]) == "a`b" and unquoted(tokens("aB")[0]) == "aB"


def test_markers_are_numbered_outside_of_literals() -> None:
    assert numbered("?'?'\"?\"$$?$$/*?*/?--?") == ("$1'?'\"?\"$$?$$/*?*/$2--?", 2)
    for text in random_texts():
        assert numbered(text)[1] == sum(token.text == "?" for token in tokens(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a / b", "a *D/ b"),
        ("a/b/c", "a*D/b*D/c"),
        ("'a/b' \"a/b\" -- a/b\n /* a/b */ a//b |/ a", None),
        ("avg(a)", "avg(CAST(a AS DOUBLE))"),
        ("SELECT AVG ( DISTINCT a + b )", "SELECT AVG ( DISTINCT CAST(a + b AS DOUBLE) )"),

    ("mean(ALL a ORDER BY b) OVER ()", "mean(ALL CAST(a AS DOUBLE) ORDER BY b) OVER ()"),
        ("avg(a IGNORE NULLS)", "avg(CAST(a AS DOUBLE) IGNORE NULLS)"),
        ("avg(avg(a)) OVER ()", "avg(CAST(avg(CAST(a AS DOUBLE)) AS DOUBLE)) OVER ()"),
        ("avg((a, b)[1])", "avg(CAST((a, b)[1] AS DOUBLE))"),
        ("avg(a / 2)", "avg(CAST(a *D/ 2 AS DOUBLE))"),
        ("avg avg.a \"avg\"(a) x.avg(a) avg() avg(*) avg(a, b) avg(a", None),
        ("WITH avg(a) AS (SELECT 1), mean(b) AS (SELECT 2) SELECT * FROM avg", None),
        ("SELECT * FROM (VALUES (1)) avg(a), (VALUES (1)) AS avg(a), t avg(a)", None),
        ("1e3", "CAST('+1e3' AS DOUBLE)"),
        ("-1.5E-3 + .5e+1", "-CAST('+1.5E-3' AS DOUBLE) + CAST('+.5e+1' AS DOUBLE)"),
        ("avg(1e3)", "avg(CAST(CAST('+1e3' AS DOUBLE) AS DOUBLE))"),
        ("1 1.5 1. .5 0x1e3 1e t.1e3 INTERVAL 1e3 DAY '1e3' a1e3", None),
    ],
)  # fmt: skip
def test_rewriting(text: str, expected: str | None) -> None:
    found = rewrite(text)
    assert found.text == (text if expected is None else expected.replace("*D/", "*CAST('+1' AS DOUBLE)/"))
    assert found.changed == (expected is not None)


def test_what_needs_no_rewriting_stays_the_same_object() -> None:
    for text in random_texts():
        if not any(t.text == "/" or t.keyword in ("AVG", "MEAN") or "e" in t.text.lower() for t in tokens(text)):
            assert rewrite(text).text is text


def test_places_are_found_in_the_original() -> None:
    """Every character that both texts have is found where it was."""
    for text in [*random_texts(), "a\n/ b\n+ avg(zz) c 1e5\n/ 2"]:
        found = rewrite(text)
        inserted = {i for start, length, _, _ in found.edits for i in range(start, start + length)}
        removed = {i for _, _, start, length in found.edits for i in range(start, start + length)}
        kept = [i for i in range(len(text)) if i not in removed]
        survivors = [i for i in range(len(found.text)) if i not in inserted]
        assert [found.text[i] for i in survivors] == [text[i] for i in kept]
        for old, new in list(zip(kept, survivors, strict=True))[:: max(1, len(kept) // 8)]:
            assert found.place(*place(found.text, new)) == place(text, old)
    assert Rewritten("a", "a").place(3, 4) == (3, 4)
    assert rewrite("a\n/ b").place(2, 9) == (2, 1)


ARITHMETIC = (
    "7/2", "1/2/2", "7/2*2", "2*7/2", "2+7/2-1", "-7/2", "7/-2", "(7/2)/(1/4)", "1.5/2", "10/4.0/0.5", "1e0",
    "1.5e3/2", "2.5e-1",
    "-1e-2", "1e2+1", "CASE WHEN 1/2 > 0 THEN 1 ELSE 2 END", "abs(-7/2)", "a/b", "b/a/2", "d/a", "a/d", "f/a",
    "a/NULL", "a/b > b/a",
    "a BETWEEN 1/2 AND 7/2", "a IN (1/2, 3/1)", "1 + a /* / */ / b", "a/b IS NULL", "a/f", "sqrt(a/b)", "a % 2 / b",
)  # fmt: skip
AGGREGATES = (
    "avg(a)", "avg(d)", "mean(a)", "avg(DISTINCT b)", "avg(ALL a)", "avg(a ORDER BY b)",
    "avg(a) FILTER (WHERE a > 1)", "avg(a / b)", "avg(a) / avg(b)",
    "sum(a) / count(*)", "avg(avg(a)) OVER ()", "avg(CASE WHEN a > 1 THEN 1 ELSE 0 END)", "avg(f)", "count(*) / 2",
    "avg(1e3)",
)  # fmt: skip
VALUES = "(VALUES (1, 2, 1.25, CAST(0.5 AS DOUBLE)), (3, 2, 2.50, -1.5), (7, 4, 0.10, 8)) AS t(a, b, d, f)"


@pytest.mark.parametrize("expression", ARITHMETIC + AGGREGATES)
def test_results_are_duckdbs(expression: str) -> None:
    config = datafusion.SessionConfig().set("datafusion.sql_parser.parse_float_as_decimal", "true")
    text = f"SELECT {expression} AS c FROM {VALUES}"
    batches = datafusion.SessionContext(config).sql(rewrite(text).text).collect()
    found = [value for batch in batches for value in batch.column(0).to_pylist()]
    with duckdb.connect() as other:
        expected = [row[0] for row in other.execute(text).fetchall()]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours is None) == (theirs is None) and (ours is None or math.isclose(ours, theirs, rel_tol=1e-12))
        assert isinstance(ours, float) == isinstance(theirs, float)


@pytest.mark.parametrize(
    "expression", ["7 / 2", "a/b", "avg(a)", "1e3", "avg(1.5e-3 / b)", "sum(a) / count(*)", "1e300", "1e-20"]
)
def test_names_are_those_of_the_text(expression: str) -> None:
    text = f"SELECT {expression} FROM (SELECT 1 AS a, 2 AS b)"
    context = datafusion.SessionContext()
    expected = context.sql(text).schema().names
    assert names(context.sql(rewrite(text).text).schema().names) == expected
