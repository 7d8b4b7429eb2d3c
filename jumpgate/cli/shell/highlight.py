"""Colours of SQL while it is typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from jumpgate.client.sql.tokens import Token, tokens

#: style of a token's kind; keywords are words
STYLES = {
    "comment": "ansibrightblack",
    "string": "ansigreen",
    "name": "ansiyellow",
    "number": "ansicyan",
    "open": "ansired",
}
KEYWORD, COMMAND = "ansiblue bold", "ansimagenta"


class SqlLexer(Lexer):
    """Gives each line its colours. keywords: in capitals."""

    def __init__(self, keywords: Iterable[str]) -> None:
        self._keywords = frozenset(keywords)

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = self._lines(document.text)
        return lambda number: lines[number] if number < len(lines) else []

    def _lines(self, text: str) -> list[StyleAndTextTuples]:
        if text.startswith("."):
            return [[(COMMAND, line)] for line in text.split("\n")]
        lines: list[StyleAndTextTuples] = [[]]
        for token in tokens(text):
            first, *others = token.text.split("\n")
            lines[-1].append((self._style(token), first))
            for other in others:
                lines.append([(self._style(token), other)])
        return lines

    def _style(self, token: Token) -> str:
        return KEYWORD if token.keyword in self._keywords else STYLES.get(token.kind, "")
