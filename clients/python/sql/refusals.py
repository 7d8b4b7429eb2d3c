"""Where DataFusion would answer wrongly without a word: what can be said otherwise is, the rest is refused by name.

That is: clauses that its parser takes and its planner never looks at, NOT IN and NULLs beside other conditions, and
IS DISTINCT FROM, which takes all that follows for its right side.
"""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.client.sql import membership
from jumpgate.client.sql.errors import InvalidSql, located
from jumpgate.client.sql.levels import CLAUSES, CLOSING, CONNECTIVES, OPENING, operand_start, pairs_of
from jumpgate.client.sql.rewriting import Change
from jumpgate.client.sql.tokens import Token, place

_SAMPLES = "all rows would be taken; filter by random() instead"
#: words that stand beside each other → why the text is refused
_REFUSED = {
    ("WITH", "ROLLUP"): "there would be no totals; write GROUP BY ROLLUP (…)",
    ("WITH", "CUBE"): "there would be no totals; write GROUP BY CUBE (…)",
    ("WITH", "TOTALS"): "there would be no totals; write GROUP BY GROUPING SETS ((…), ())",
    ("CONNECT", "BY"): "it would have no effect; write WITH RECURSIVE",
    ("TABLESAMPLE", "("): _SAMPLES,
    ("TABLESAMPLE", "BERNOULLI"): _SAMPLES,
    ("TABLESAMPLE", "SYSTEM"): _SAMPLES,
    ("TABLESAMPLE", "RESERVOIR"): _SAMPLES,
    ("*", "ILIKE"): "all columns would be taken; name them",
}
#: the first words of what is refused
_SUSPECT = frozenset({first for first, _ in _REFUSED} | {"PREWHERE"})
_NULLS = (
    "what is unknown because of a NULL would be taken for false; write (NOT) EXISTS with the comparison in its WHERE, "
    "or let the condition stand alone, or beside AND"
)


def check(text: str, parts: Sequence[Token], words: Sequence[str]) -> None:
    """Raises InvalidSql at the first place that would be answered wrongly, in a text of these tokens and words
    (tokens.parts_of)."""
    for index, word in enumerate(words):
        if parts[index].kind == "hint":
            raise _refused(text, parts[index], "/*! … */", "DataFusion reads it; a comment begins with /* and a space")
        if word not in _SUSPECT:
            continue
        pair = (word, words[index + 1] if index + 1 < len(words) else "")
        if pair in _REFUSED and not (pair[0] == "WITH" and words[index + 2 : index + 3] in (["AS"], ["("])):
            raise _refused(text, parts[index], " ".join(pair), _REFUSED[pair])
        if word == "PREWHERE" and pair[1] not in CLAUSES | CLOSING | {"", "."}:
            raise _refused(text, parts[index], "PREWHERE", "it would have no effect; write WHERE")
    if "FULL" in words:
        _check_full_joins(text, parts, words)
    for unknown in membership.places(parts, words):
        raise _refused(text, parts[unknown.word], unknown.what, _NULLS)


def changes(parts: Sequence[Token], words: Sequence[str]) -> list[Change]:
    """Parentheses around a IS [NOT] DISTINCT FROM b where AND, OR or another IS follows it.

    In `a IS DISTINCT FROM b AND c` DataFusion's parser would take `b AND c` for the right side.
    """
    if "DISTINCT" not in words:
        return []
    found: list[Change] = []
    pairs = pairs_of(words)
    for index in range(2, len(words)):
        if words[index] != "FROM" or words[index - 1] != "DISTINCT" or words[index - 2] not in ("IS", "NOT"):
            continue
        end = _operand_end(words, index + 1)
        if end is not None:
            start = operand_start(words, pairs, index - 2 if words[index - 2] == "IS" else index - 3)
            first, last = parts[start].start, parts[end - 1].end
            found += [(first, first, "("), (last, last, ")")]
    return found


def _operand_end(words: Sequence[str], start: int) -> int | None:
    """Where the operand ends that begins at `start`, if AND, OR or IS follows it."""
    depth = betweens = 0
    for index in range(start, len(words)):
        word = words[index]
        if word in OPENING:
            depth += 1
        elif word in CLOSING:
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0 and word in CLAUSES:
            return None
        elif depth == 0 and word == "BETWEEN":
            betweens += 1
        elif depth == 0 and word == "AND" and betweens:
            betweens -= 1
        elif depth == 0 and (word in CONNECTIVES or word == "IS"):
            return index if index > start else None
    return None


def _check_full_joins(text: str, parts: Sequence[Token], words: Sequence[str]) -> None:
    """A column of FULL JOIN … USING is that of the left side alone in DataFusion, NULL for rows of the right side."""
    for index, word in enumerate(words):
        if word != "FULL" or "JOIN" not in words[index + 1 : index + 3]:
            continue
        natural = index > 0 and words[index - 1] == "NATURAL"
        condition = next((w for w in words[index + 1 :] if w in ("ON", "USING")), "")
        if natural or condition == "USING":
            why = "rows of the right side alone would have NULL in its columns; write ON, and coalesce(a.x, b.x)"
            raise _refused(text, parts[index], "FULL JOIN by equal names", why)


def _refused(text: str, token: Token, what: str, why: str) -> InvalidSql:
    line, column = place(text, token.start)
    return InvalidSql(
        f"{what}, at line {line}, column {column}, is refused: {why}\n{located(text, line, column)}",
        line=line,
        column=column,
    )
