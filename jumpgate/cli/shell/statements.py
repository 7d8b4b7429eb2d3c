"""Splits a text into statements, which end at `;`, and dot commands, which are a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jumpgate.client.sql.tokens import Token, tokens


class Piece(NamedTuple):
    """A statement without its `;`, or a dot command. line: where it starts in the whole text, from 1."""

    text: str
    line: int
    is_command: bool = False


def pieces(text: str) -> Iterator[Piece]:
    """
    >>> [piece.text for piece in pieces("SELECT ';'; -- one\\n.timer on\\nFROM t")]
    ["SELECT ';'", '.timer on', 'FROM t']
    """
    base = 0
    while True:
        begun: Token | None = None
        for token in tokens(text[base:]):
            if begun is None and _is_dot(text, base + token.start, token):
                end = _line_end(text, base + token.start)
                yield _piece(text, base + token.start, end, True)
                base = end
                break
            if token.text == ";" and token.kind == "symbol":
                if begun is not None:
                    yield _piece(text, base + begun.start, base + token.start)
                begun = None
            elif token.means and begun is None:
                begun = token
        else:
            if begun is not None:
                yield _piece(text, base + begun.start, len(text))
            return


def is_complete(text: str) -> bool:
    """Return whether nothing more is to be typed: the last statement has its `;`, or the text is a dot command.

    >>> is_complete("SELECT 1"), is_complete("SELECT 1; "), is_complete("SELECT ';"), is_complete(".tables")
    (False, True, False, True)
    """
    if not text.strip():
        return True
    *_, last = (0, *(piece for piece in pieces(text)))
    if isinstance(last, Piece) and last.is_command:
        return True
    means = [token for token in tokens(text) if token.means]
    return not means or (means[-1].kind == "symbol" and means[-1].text == ";")


def _is_dot(text: str, position: int, token: Token) -> bool:
    """Return whether a dot command begins there: a dot and a letter, the first on their line."""
    if token.text != "." or not text[position + 1 : position + 2].isalpha():
        return False
    return not text[text.rfind("\n", 0, position) + 1 : position].strip()


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _piece(text: str, start: int, end: int, is_command: bool = False) -> Piece:
    return Piece(text[start:end].rstrip(), text.count("\n", 0, start) + 1, is_command)
