"""The tokens of a SQL text: commands, markers and names are looked for in these, and so never inside strings, quoted
names and comments."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

#: texts whose tokens are remembered: one is asked for by each who looks at it, and again when it is run again
TEXTS_MAX = 64


class Token(NamedTuple):
    """A piece of a text and where it starts. kind: space, comment, string, name (a quoted one),
    number, marker (?, $1, $name), word, symbol, or open: a string, name or comment that does not end, up to the end of
    the text."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """The word in capitals; empty for whatever is not a plain word."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def means(self) -> bool:
        """Return whether it is more than white space or a comment."""
        return self.kind not in ("space", "comment")


_LETTER = r"[A-Za-z_#@]|[^\x00-\x7f\s]"
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<comment>--[^\n]*)
  | (?P<block>/\*)                                            # may hold others: its end is looked for
  | (?P<string>'(?:[^']|'')*'
      | [eExX]'(?:[^'\\]|''|\\.)*'
      | [uU]&'(?:[^']|'')*'
      | [rR](?:\"{{3}}.*?\"{{3}}|'''.*?''')
      | [bBrRnN]'(?:[^']|'')*' | [bBrR]"(?:[^"]|"")*"
      | [nN]?[qQ]'(?:\[.*?\]'|\{{.*?\}}'|<.*?>'|\(.*?\)'|(?P<mark>[^\s\[{{<(]).*?(?P=mark)')
      | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
  | (?P<name>"(?:[^"]|"")*" | `(?:[^`]|``)*`)
  | (?P<open>(?:[eExXnNbBrRqQ]|[uU]&|[nN][qQ])?' | [bBrR]?" | ` | \$\w*\$)
  | (?P<number>0x[0-9a-fA-F]* | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?L?)
  | (?P<marker>\?|\$\w*)
  | (?P<word>(?:{_LETTER})(?:{_LETTER}|[0-9$])*)
  | (?P<symbol>//|\|\|/|\|\||\|/|->>|->|::|<=>|<=|>=|<>|!=|==|=>|<<|>>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK = re.compile(r"/\*|\*/")


@functools.lru_cache(TEXTS_MAX)
def tokens(text: str) -> tuple[Token, ...]:
    """All of `text`: joined, the tokens are the text.

    >>> [token.text for token in tokens("a/-1.5e3 -- half")]
    ['a', '/', '-', '1.5e3', ' ', '-- half']
    """
    found = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None, "the last alternative matches anything"
        kind, end = str(match.lastgroup), match.end()
        if kind == "block":
            end, closed = _block_end(text, end)
            kind = "comment" if closed else "open"
        elif kind == "open":
            end = len(text)
        found.append(Token(kind, text[position:end], position))
        position = end
    return tuple(found)


@functools.lru_cache(TEXTS_MAX)
def parts_of(text: str) -> tuple[Sequence[Token], Sequence[str]]:
    """The tokens of `text` that mean something, and what each says: words in capitals, all else as it is.

    >>> parts_of('select "a" -- half')[1]
    ['SELECT', '"a"']
    """
    parts = [token for token in tokens(text) if token.means]
    return parts, [token.keyword or token.text for token in parts]


def place(text: str, position: int) -> tuple[int, int]:
    """Line and column, from 1, of a position in `text`."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def unquoted(token: Token) -> str:
    """Return a name, quoted or not, without its quotes."""
    if token.kind != "name":
        return token.text
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)


def quoted(name: str) -> str:
    """`name` as a quoted name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _block_end(text: str, position: int) -> tuple[int, bool]:
    """Where the comment ends whose inside starts at `position`, and whether it does."""
    depth = 1
    while depth and (match := _BLOCK.search(text, position)):
        depth += 1 if match.group() == "/*" else -1
        position = match.end()
    return (position, True) if not depth else (len(text), False)
