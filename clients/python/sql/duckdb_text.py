"""DuckDB's meaning of `/`, avg and numbers with an exponent, written into the text before DataFusion folds constants.

`a / b` and avg compute with doubles, and numbers with an exponent are doubles; DataFusion would divide integers as
integers, and read `1e3` as a decimal. Whatever else a text says stays as it is, and so does its place in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from jumpgate.client.sql.tokens import Token, place, tokens

#: `/` binds as `*` does, and both from the left: `a *…/ b` means `(a *…) / b` wherever `a / b` stood. The sign tells
#: these from constants that people write, by which `names` finds them again
_DIVIDE = "*CAST('+1' AS DOUBLE)/"
_DIVIDE_NAME = ' * Utf8("+1") / '
_EXPONENT_NAME = re.compile(r'Utf8\("\+([0-9.]+[eE][+-]?[0-9]+)"\)')
_AVERAGES = frozenset({"AVG", "MEAN"})
_EXPONENT = re.compile(r"[0-9.]+[eE][+-]?[0-9]+")
#: words after which an expression begins, and symbols after which none does: there `avg (` is a name and its columns
_BEFORE_EXPRESSIONS = frozenset(
    {
    "SELECT", "DISTINCT", "ALL", "FROM", "WHERE", "BY", "HAVING", "QUALIFY", "ON", "LIMIT", "OFFSET", "AND", "OR",
    "XOR", "NOT",
        "CASE", "WHEN", "THEN", "ELSE", "BETWEEN", "LIKE", "ILIKE", "TO", "ESCAPE", "AGGREGATE", "EXTEND",
    }
)  # fmt: skip
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_BEFORE_NAMES = _CLOSING | {"."}
#: what may follow the argument of an aggregate inside its parentheses
_AFTER_ARGUMENT = frozenset({("ORDER", "BY"), ("IGNORE", "NULLS"), ("RESPECT", "NULLS")})


@dataclass(frozen=True)
class Rewritten:
    """A text and the one that it was made from. edits: of each change, where it starts in the new text, how long it is
    there, where it starts in the original, and how long it was there; in the order of the text."""

    text: str
    original: str
    edits: tuple[tuple[int, int, int, int], ...] = field(default=(), repr=False)

    @property
    def changed(self) -> bool:
        return bool(self.edits)

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Line and column in the original of a place in the new text; what was inserted is where it was inserted."""
        if not self.edits:
            return line, column
        position = 0
        for _ in range(line - 1):
            position = self.text.find("\n", position) + 1
        return place(self.original, self._original(min(position + column - 1, len(self.text))))

    def _original(self, position: int) -> int:
        index = bisect_right(self.edits, position, key=lambda edit: edit[0]) - 1
        if index < 0:
            return position
        start, length, original, original_length = self.edits[index]
        return (
            original + max(original_length + position - start - length, 0) if position >= start + length else original
        )


def rewrite(text: str, cut: Sequence[Token] | None = None) -> Rewritten:
    """The text that makes DataFusion mean what DuckDB does; the same object where there is nothing to change.

    cut: the text's tokens, if they are known already.

    >>> rewrite("SELECT avg(a) / 2 FROM t").text
    "SELECT avg(CAST(a AS DOUBLE)) *CAST('+1' AS DOUBLE)/ 2 FROM t"
    """
    parts = [token for token in (tokens(text) if cut is None else cut) if token.means]
    changes: list[tuple[int, int, str]] = []  # start, end, what comes in its place
    for index, token in enumerate(parts):
        if token.kind == "symbol" and token.text == "/":
            changes.append((token.start, token.end, _DIVIDE))
        elif token.kind == "number" and _is_double(parts, index):
            changes.append((token.start, token.end, f"CAST('+{token.text}' AS DOUBLE)"))
        elif token.keyword in _AVERAGES and (inside := _argument(parts, index)) is not None:
            start, end = inside
            changes += [(start, start, "CAST("), (end, end, " AS DOUBLE)")]
    return _applied(text, sorted(changes, key=lambda change: change[:2])) if changes else Rewritten(text, text)


def names(found: Iterable[str]) -> list[str]:
    """Names that DataFusion made of expressions, as if the text had not been rewritten.

    >>> names(['t.a * Utf8("+1") / t.b', 'Utf8("+1e3")'])
    ['t.a / t.b', 'Float64(1000)']
    """
    return [_EXPONENT_NAME.sub(_double_name, name.replace(_DIVIDE_NAME, " / ")) for name in found]


def _double_name(match: re.Match[str]) -> str:
    return f"Float64({Decimal(repr(float(match.group(1)))).normalize():f})"


def _is_double(parts: list[Token], index: int) -> bool:
    """Whether the number has an exponent, and stands where an expression may."""
    number, before = parts[index], parts[index - 1] if index else None
    if before is not None and (
        before.keyword == "INTERVAL" or (before.end == number.start and before.kind != "symbol")
    ):
        return False
    return _EXPONENT.fullmatch(number.text) is not None


def _argument(parts: list[Token], index: int) -> tuple[int, int] | None:
    """Where the one argument of the call starts and ends whose name is at `index`; None if that is no such call."""
    if index + 1 >= len(parts) or parts[index + 1].text != "(" or not _begins_expression(parts, index):
        return None
    first = index + 2
    if first < len(parts) and parts[first].keyword in ("DISTINCT", "ALL"):
        first += 1
    depth, past = 0, None
    for closing in range(first, len(parts)):
        said = parts[closing].text
        if said in _OPENING:
            depth += 1
        elif said in _CLOSING and depth:
            depth -= 1
        elif said in _CLOSING:
            break
        elif depth == 0 and past is None:
            if said == ",":
                return None
            if _keywords(parts, closing) in _AFTER_ARGUMENT:
                past = closing
    else:
        return None
    past = closing if past is None else past
    if past == first or parts[first].text == "*" or _keywords(parts, closing + 1) == ("AS", "("):
        return None
    return parts[first].start, parts[past - 1].end


def _begins_expression(parts: list[Token], index: int) -> bool:
    before = parts[index - 1] if index else None
    if before is None or before.kind == "symbol":
        return before is None or before.text not in _BEFORE_NAMES
    return before.keyword in _BEFORE_EXPRESSIONS


def _keywords(parts: list[Token], index: int) -> tuple[str, ...]:
    """Two tokens, words in capitals."""
    return tuple(token.keyword or token.text for token in parts[index : index + 2])


def _applied(text: str, changes: list[tuple[int, int, str]]) -> Rewritten:
    pieces, edits, position, length = [], [], 0, 0
    for start, end, piece in changes:
        pieces += [text[position:start], piece]
        length += start - position
        edits.append((length, len(piece), start, end - start))
        length += len(piece)
        position = end
    pieces.append(text[position:])
    return Rewritten("".join(pieces), text, tuple(edits))
