"""DuckDB's meaning of `/`, avg and numbers with an exponent, written into the text before DataFusion folds constants.

`a / b` and avg compute with doubles, and numbers with an exponent are doubles; DataFusion would divide integers as
integers, and read `1e3` as a decimal. Whatever else a text says stays as it is, and so does its place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from jumpgate.client.sql.rewriting import Change, Rewritten, changed
from jumpgate.client.sql.tokens import Token, parts_of

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


def rewrite(text: str) -> Rewritten:
    """The text that makes DataFusion mean what DuckDB does; the same object where there is nothing to change.

    >>> rewrite("SELECT avg(a) / 2 FROM t").text
    "SELECT avg(CAST(a AS DOUBLE)) *CAST('+1' AS DOUBLE)/ 2 FROM t"
    """
    return changed(text, changes(*parts_of(text)))


def changes(parts: Sequence[Token], words: Sequence[str]) -> list[Change]:
    """Return the changes to a text of these tokens and words (tokens.parts_of)."""
    found: list[Change] = []
    for index, (token, word) in enumerate(zip(parts, words, strict=True)):
        if word == "/":
            found.append((token.start, token.end, _DIVIDE))
        elif token.kind == "number" and _is_double(parts, index):
            found.append((token.start, token.end, f"CAST('+{token.text}' AS DOUBLE)"))
        elif word in _AVERAGES and (inside := _argument(parts, index)) is not None:
            start, end = inside
            found += [(start, start, "CAST("), (end, end, " AS DOUBLE)")]
    return found


def names(found: Iterable[str]) -> list[str]:
    """Names that DataFusion made of expressions, as if the text had not been rewritten.

    >>> names(['t.a * Utf8("+1") / t.b', 'Utf8("+1e3")'])
    ['t.a / t.b', 'Float64(1000)']
    """
    return [_EXPONENT_NAME.sub(_double_name, name.replace(_DIVIDE_NAME, " / ")) for name in found]


def _double_name(match: re.Match[str]) -> str:
    return f"Float64({Decimal(repr(float(match.group(1)))).normalize():f})"


def _is_double(parts: Sequence[Token], index: int) -> bool:
    """Return whether the number has an exponent, and stands where an expression may."""
    number, before = parts[index], parts[index - 1] if index else None
    if _EXPONENT.fullmatch(number.text) is None:
        return False
    return before is None or (before.keyword != "INTERVAL" and (before.end != number.start or before.kind == "symbol"))


def _argument(parts: Sequence[Token], index: int) -> tuple[int, int] | None:
    """Where the one argument of the call starts and ends whose name is at `index`; None if that is not such a call."""
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


def _begins_expression(parts: Sequence[Token], index: int) -> bool:
    before = parts[index - 1] if index else None
    if before is None or before.kind == "symbol":
        return before is None or before.text not in _BEFORE_NAMES
    return before.keyword in _BEFORE_EXPRESSIONS


def _keywords(parts: Sequence[Token], index: int) -> tuple[str, ...]:
    """Two tokens, words in capitals."""
    return tuple(token.keyword or token.text for token in parts[index : index + 2])
