"""IN with a subquery where it matters that it can be unknown: DataFusion takes that for false.

There `x IN (SELECT …)` is written as a CASE: whether there are members that equal x, members that are NULL, any at
all. In a WHERE, EXISTS asks that of correlated subqueries, elsewhere counts do: DataFusion plans EXISTS in conditions
alone, and counts where equalities correlate them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jumpgate.client.sql.levels import (
    CONDITIONS,
    CONNECTIVES,
    QUERIES,
    TESTS,
    is_not,
    neighbours,
    operand_start,
    pairs_of,
    term,
)
from jumpgate.client.sql.tokens import Token, parts_of

#: of one text, before it is found to nest too deeply
REWRITTEN_MAX = 32
#: what makes a subquery another one than the rows of its FROM for which its WHERE holds
_FURTHER = frozenset(
    {
        "DISTINCT",
        "GROUP",
        "HAVING",
        "WINDOW",
        "QUALIFY",
        "ORDER",
        "LIMIT",
        "OFFSET",
        "FETCH",
        "UNION",
        "INTERSECT",
        "EXCEPT",
    }
)
_CLAUSES = CONDITIONS | {"SELECT", "FROM", "GROUP", "ORDER", "LIMIT"}
_EXISTS, _COUNTED = "EXISTS (SELECT 1 {})", "(SELECT count(*) {}) > 0"
_MEMBERS, _MEMBER = '"in list"', '"in list"."member"'


class Place(NamedTuple):
    """Where an `IN (SELECT …)` is that can be unknown: the word IN, by its place, and the reason in words."""

    word: int
    what: str


def expand(text: str, every: bool = False, exists: bool = False) -> str:
    """The text with all of these written out, but for those that cannot be. every: also those that DataFusion computes
    rightly, if it can plan them. exists: with EXISTS where that can be."""
    for _ in range(REWRITTEN_MAX):
        parts, words = parts_of(text)
        indexes = _subqueries(words) if every else (place.word for place in places(parts, words))
        found = [_written(text, parts, words, index, exists) for index in indexes]
        chosen = next((change for change in reversed(found) if change is not None), None)  # inner ones come first
        if chosen is None:
            break
        start, end, written = chosen
        text = text[:start] + written + text[end:]
    return text


def places(parts: Sequence[Token], words: Sequence[str]) -> Iterator[Place]:
    """IN is right in DataFusion where only its being true matters: in a condition, below AND and OR. NOT IN is right
    below AND alone, of anything but a constant."""
    if "IN" not in words:
        return
    pairs = pairs_of(words)
    for index in _subqueries(words):
        negated = words[index - 1] == "NOT"
        left = parts[index - 2] if negated else parts[index - 1]
        constant = _is_constant(left)
        if negated and constant:
            yield Place(index, "a constant NOT IN a subquery")
        elif not _only_truth_matters(words, pairs, index, negated, constant):
            what = "NOT IN with a subquery beside OR, or as a value" if negated else "IN with a subquery as a value"
            yield Place(index, what)


def _subqueries(words: Sequence[str]) -> Iterator[int]:
    """Where an IN with a subquery is."""
    for index, word in enumerate(words):
        if word == "IN" and words[index + 1 : index + 2] == ["("] and words[index + 2] in QUERIES:
            yield index


def _is_constant(token: Token) -> bool:
    return token.kind in ("number", "string", "marker") or token.keyword in ("NULL", "TRUE", "FALSE")


def _only_truth_matters(words: Sequence[str], pairs: dict[int, int], index: int, negated: bool, constant: bool) -> bool:
    """Return whether the condition at `index` stands in a clause of conditions, and nothing asks whether it is
    unknown."""
    alone = True  # so far: then a NOT before it makes IN of NOT IN, and the other way round
    while True:
        before, opener = neighbours(words, pairs, index, -1)
        after, _ = neighbours(words, pairs, index, 1)
        near = [*term(words, before), *term(words, after)]
        if any(words[i] in TESTS for i in near):
            return False
        nots = sum(is_not(words, i) for i in near)
        if nots and not alone:
            return False
        negated ^= nots % 2 == 1
        if negated and (constant or any(words[i] in ("OR", "XOR") for i in (*before, *after))):
            return False
        alone &= not any(words[i] in CONNECTIVES for i in (*before, *after))
        if opener < 0 or words[opener] in CONDITIONS:
            return opener >= 0
        if words[opener] != "(" or opener == 0 or words[opener - 1] not in CONDITIONS | CONNECTIVES | {"(", "NOT"}:
            return False
        index = opener


def _written(
    text: str, parts: Sequence[Token], words: Sequence[str], index: int, exists: bool
) -> tuple[int, int, str] | None:
    """Where the condition with that IN begins and ends, and what it means; None if that cannot be said."""
    pairs = pairs_of(words)
    negated = words[index - 1] == "NOT"
    end = index - negated
    start = operand_start(words, pairs, end)
    while start < end and words[start] in ("DISTINCT", "ALL"):
        start += 1
    close = pairs.get(index + 1)
    if close is None or start >= end or any(parts[i].text == "?" for i in range(start, close)):
        return None
    if any(words[i] in TESTS - {"||"} for i in _level(words, pairs, start, end)):
        return None
    if words[start] == "(" and any(words[i] == "," for i in _level(words, pairs, start + 1, pairs[start])):
        return None  # a row
    value, query = text[parts[start].start : parts[end - 1].end], text[parts[index + 2].start : parts[close - 1].end]
    rows = f'FROM ({query}) AS {_MEMBERS}("member")'
    own = _own_rows(text, parts, words, (start, end), (index + 2, close))
    test = _EXISTS if exists and own and _in_where(words, pairs, index) else _COUNTED
    kinds = own or (f"{rows} WHERE {_MEMBER} = ({value})", f"{rows} WHERE {_MEMBER} IS NULL", rows)
    equal, unknown, some = map(test.format, kinds)
    written = (
        f"(CASE WHEN {equal} THEN {str(not negated).upper()} WHEN {unknown} THEN NULL "
        f"WHEN ({value}) IS NULL AND {some} THEN NULL ELSE {str(negated).upper()} END)"
    )
    return parts[start].start, parts[close].end, written


def _level(words: Sequence[str], pairs: dict[int, int], start: int, end: int) -> Iterator[int]:
    """The indexes from `start` on that are on its level."""
    at = start
    while at < end:
        yield at
        at = pairs[at] + 1 if pairs.get(at, -1) > at else at + 1


def _in_where(words: Sequence[str], pairs: dict[int, int], index: int) -> bool:
    """Return whether what stands there belongs to a WHERE."""
    while (index := index - 1) >= 0:
        if pairs.get(index, len(words)) < index:
            index = pairs[index]
        elif words[index] in _CLAUSES and words[index - 1] != "DISTINCT":
            return words[index] == "WHERE"
    return False


def _own_rows(
    text: str, parts: Sequence[Token], words: Sequence[str], value: tuple[int, int], query: tuple[int, int]
) -> tuple[str, str, str] | None:
    """The three kinds of rows of the subquery's own FROM, so that its WHERE may name columns of the query around it;
    None for a subquery that is more, or a value that would mean something else there."""
    start, end = query
    pairs = pairs_of(words)
    level = list(_level(words, pairs, start, end))
    clauses = {words[i]: i for i in level if words[i] in ("FROM", "WHERE")}
    if words[start] != "SELECT" or any(words[i] in _FURTHER for i in level) or "FROM" not in clauses:
        return None
    source, where = clauses["FROM"], clauses.get("WHERE", end)
    shown = range(start + 1, source)
    if any(words[i] in (",", "(", "*", "AS") for i in shown) or where < source:
        return None
    one = parts[value[0] : value[1]]
    qualified = len(one) == 3 and one[1].text == "." and one[0].text not in (p.text for p in parts[source:where])
    if not qualified and not (len(one) == 1 and _is_constant(one[0])):
        return None
    rows = f"{text[parts[source].start : parts[where - 1].end]}"
    condition = f"({text[parts[where + 1].start : parts[end - 1].end]})" if where < end else "TRUE"
    member = text[parts[shown[0]].start : parts[shown[-1]].end]
    looked_for = text[one[0].start : one[-1].end]
    return (
        f"{rows} WHERE {condition} AND ({member}) = ({looked_for})",
        f"{rows} WHERE {condition} AND ({member}) IS NULL",
        f"{rows} WHERE {condition}",
    )
