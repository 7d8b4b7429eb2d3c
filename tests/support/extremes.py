"""max and min written as the first value in order, for a judge: of groups of nothing but infinities plain DataFusion
gives the largest finite numbers, with which its max and min begin."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.client.sql.rewriting import Change, changed
from jumpgate.client.sql.tokens import Token, parts_of

_ORDER = {"MAX": "DESC", "MIN": "ASC"}
_DEPTH = {"(": 1, ")": -1}


def as_first_values(text: str) -> str:
    """The text with max(x) and max(DISTINCT x) as first_value(x ORDER BY x DESC NULLS LAST), but over windows, where
    DataFusion computes them in another way.

    >>> as_first_values("SELECT min(a) FILTER (WHERE b), max(c) OVER (ORDER BY d) FROM t")
    'SELECT first_value(a ORDER BY a ASC NULLS LAST) FILTER (WHERE b), max(c) OVER (ORDER BY d) FROM t'
    """
    parts, _ = parts_of(text)
    found: list[Change] = []
    for index, token in enumerate(parts[:-1]):
        if token.keyword in _ORDER and parts[index + 1].text == "(" and not (found and token.start < found[-1][1]):
            end = _closing(parts, index + 1)
            after = end + 1
            if parts[after : after + 1] and parts[after].keyword == "FILTER":
                after = _closing(parts, after + 1) + 1
            if parts[after : after + 1] and parts[after].keyword == "OVER":
                continue
            first = index + 2 + (parts[index + 2].keyword == "DISTINCT")
            argument = as_first_values(text[parts[first].start : parts[end].start])
            order = f"first_value({argument} ORDER BY {argument} {_ORDER[token.keyword]} NULLS LAST)"
            found.append((token.start, parts[end].end, order))
    return changed(text, found).text


def _closing(parts: Sequence[Token], opening: int) -> int:
    """The place of the parenthesis that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(parts)):
        depth += _DEPTH.get(parts[index].text, 0)
        if not depth:
            return index
    return len(parts) - 1
