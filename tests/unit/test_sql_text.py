"""The tokens of a text, and its markers for values."""

from __future__ import annotations

import random

import duckdb
import pytest

from jumpgate.client.sql.markers import numbered
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
        ("/*! 1 */ -- 2\n3", [("comment", "/*! 1 */"), ("comment", "-- 2"), ("number", "3")]),
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


def test_tokens_end_where_duckdb_ends_them() -> None:
    """A text of a literal and nothing else is accepted by both, or by neither."""
    with duckdb.connect() as database:
        for text in (
            "'a''b'",
            "E'a\\'b'",
            "$$a'b$$",
            "$x$ $$ $x$",
            '"a""b"',
            "'a",
            '"a',
            "E'a\\'",
            "$x$ $$",
            "/* */ 1",
        ):
            try:
                database.sql(f'SELECT {text} AS c FROM (SELECT 1 AS "a""b", 2 AS a)')
                accepted = True
            except duckdb.Error:
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


def test_places_have_a_line_and_a_column() -> None:
    assert [place("a\n/ b", index) for index in (0, 1, 2, 4)] == [(1, 1), (1, 2), (2, 1), (2, 3)]
