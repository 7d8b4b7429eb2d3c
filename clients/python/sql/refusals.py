"""Where DataFusion would answer wrongly without a word: what can be said otherwise is, the rest is refused by name.

That is: clauses that its parser takes and its planner never looks at, EXCEPT ALL and INTERSECT ALL, which do not count
rows, NOT IN and NULLs beside other conditions, and IS DISTINCT FROM, which takes all that follows for its right side.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from jumpgate.client.sql.errors import InvalidSql, located
from jumpgate.client.sql.rewriting import Change
from jumpgate.client.sql.tokens import Token, place

_MULTISETS = "repeated rows would not be counted; number them with row_number() first, and compare without ALL"
_SAMPLES = "all rows would be taken; filter by random() instead"
#: words that stand beside each other → why the text is refused
_REFUSED = {
    ("EXCEPT", "ALL"): _MULTISETS,
    ("INTERSECT", "ALL"): _MULTISETS,
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
_NULLS = (
    "what is unknown because of a NULL would be taken for false; write (NOT) EXISTS with the comparison in its WHERE, "
    "or let the condition stand alone, or beside AND"
)

_OPENING, _CLOSING = frozenset({"(", "[", "{", "CASE"}), frozenset({")", "]", "}", "END"})
#: where an expression of the same level ends
_CLAUSES = frozenset(
    {
        "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "UNION",
        "INTERSECT", "EXCEPT", "JOIN", "ON", "AS", "BY", "WHEN", "THEN", "ELSE", ",", ";",
    }
)  # fmt: skip
_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "FROM"})
_CONDITIONS = frozenset({"WHERE", "HAVING", "QUALIFY", "ON"})
_CONNECTIVES = frozenset({"AND", "OR", "XOR"})
#: operators that make a value of a condition
_TESTS = frozenset({"IS", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "||"})
#: with a NOT before them they are one operator
_NEGATED = frozenset({"IN", "LIKE", "ILIKE", "BETWEEN", "SIMILAR", "EXISTS", "NULL"})


def check(text: str, parts: Sequence[Token]) -> None:
    """Raises InvalidSql at the first place that would be answered wrongly. parts: without white space and comments."""
    words = [token.keyword or token.text for token in parts]
    for index, pair in enumerate(zip(words, [*words[1:], ""], strict=True)):
        if parts[index].kind == "hint":
            raise _refused(text, parts[index], "/*! … */", "DataFusion reads it; a comment begins with /* and a space")
        if pair in _REFUSED and not (pair[0] == "WITH" and words[index + 2 : index + 3] in (["AS"], ["("])):
            raise _refused(text, parts[index], " ".join(pair), _REFUSED[pair])
        if pair[0] == "PREWHERE" and pair[1] not in _CLAUSES | _CLOSING | {"", "."}:
            raise _refused(text, parts[index], "PREWHERE", "it would have no effect; write WHERE")
    if "FULL" in words:
        _check_full_joins(text, parts, words)
    if "IN" in words:
        _check_membership(text, parts, words)


def changes(parts: Sequence[Token]) -> list[Change]:
    """Parentheses around a IS [NOT] DISTINCT FROM b where AND, OR or another IS follows it.

    In `a IS DISTINCT FROM b AND c` DataFusion's parser would take `b AND c` for the right side.
    """
    words = [token.keyword or token.text for token in parts]
    found: list[Change] = []
    pairs = _pairs(words)
    for index in range(2, len(words)):
        if words[index] != "FROM" or words[index - 1] != "DISTINCT" or words[index - 2] not in ("IS", "NOT"):
            continue
        end = _operand_end(words, index + 1)
        if end is not None:
            start = _operand_start(words, pairs, index - 2 if words[index - 2] == "IS" else index - 3)
            first, last = parts[start].start, parts[end - 1].end
            found += [(first, first, "("), (last, last, ")")]
    return found


def _operand_start(words: Sequence[str], pairs: dict[int, int], index: int) -> int:
    """Where the operand begins that ends before `index`."""
    before, _ = _neighbours(words, pairs, index, -1)
    start = index
    for number, position in enumerate(before):
        beyond = _term(words, before[number + 1 :])
        if words[position] in _CONNECTIVES and not any(words[i] == "BETWEEN" for i in beyond):
            break
        if words[position] == "NOT" and words[position + 1] not in _NEGATED:
            break
        start = position
    return start


def _operand_end(words: Sequence[str], start: int) -> int | None:
    """Where the operand ends that begins at `start`, if AND, OR or IS follows it."""
    depth = betweens = 0
    for index in range(start, len(words)):
        word = words[index]
        if word in _OPENING:
            depth += 1
        elif word in _CLOSING:
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0 and word in _CLAUSES:
            return None
        elif depth == 0 and word == "BETWEEN":
            betweens += 1
        elif depth == 0 and word == "AND" and betweens:
            betweens -= 1
        elif depth == 0 and (word in _CONNECTIVES or word == "IS"):
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


def _check_membership(text: str, parts: Sequence[Token], words: Sequence[str]) -> None:
    """IN with a subquery is right where only its being true matters: in a condition, below AND and OR. NOT IN is right
    below AND alone, of anything but a constant."""
    pairs = _pairs(words)
    for index, word in enumerate(words):
        if word != "IN" or words[index + 1 : index + 2] != ["("] or words[index + 2] not in _QUERIES:
            continue
        negated = words[index - 1] == "NOT"
        left = parts[index - 2] if negated else parts[index - 1]
        if negated and (left.kind in ("number", "string", "marker") or left.keyword in ("NULL", "TRUE", "FALSE")):
            raise _refused(text, parts[index], "a constant NOT IN a subquery", _NULLS)
        if not _only_truth_matters(words, pairs, index, negated):
            what = "NOT IN with a subquery beside OR, or as a value" if negated else "IN with a subquery as a value"
            raise _refused(text, parts[index], what, _NULLS)


def _only_truth_matters(words: Sequence[str], pairs: dict[int, int], index: int, negated: bool) -> bool:
    """Whether the condition at `index` stands in a clause of conditions, and nothing asks whether it is unknown."""
    alone = True  # so far: then a NOT before it makes IN of NOT IN, and the other way round
    while True:
        before, opener = _neighbours(words, pairs, index, -1)
        after, _ = _neighbours(words, pairs, index, 1)
        term = [*_term(words, before), *_term(words, after)]
        if any(words[i] in _TESTS for i in term):
            return False
        nots = sum(words[i] == "NOT" and words[i + 1] not in _NEGATED for i in term)
        if nots and not alone:
            return False
        negated ^= nots % 2 == 1
        if negated and any(words[i] in ("OR", "XOR") for i in (*before, *after)):
            return False
        alone &= not any(words[i] in _CONNECTIVES for i in (*before, *after))
        if opener < 0 or words[opener] in _CONDITIONS:
            return opener >= 0
        if words[opener] != "(" or opener == 0 or words[opener - 1] not in _CONDITIONS | _CONNECTIVES | {"(", "NOT"}:
            return False
        index = opener


def _neighbours(words: Sequence[str], pairs: dict[int, int], index: int, step: int) -> tuple[list[int], int]:
    """What stands beside `index` on its level, up to the end of the clause, and where that is (-1: nowhere)."""
    found: list[int] = []
    index = pairs[index] if step > 0 and index in pairs else index
    while 0 <= (index := index + step) < len(words):
        if index in pairs:
            if (pairs[index] > index) != (step > 0):
                return found, index
            index = pairs[index]
        elif words[index] in _CLAUSES and not (words[index] == "FROM" and words[index - 1] == "DISTINCT"):
            return found, index
        found.append(index)
    return found, -1


def _term(words: Sequence[str], neighbours: Sequence[int]) -> list[int]:
    """Of the neighbours, those nearer than the next AND or OR."""
    return list(takewhile(lambda index: words[index] not in _CONNECTIVES, neighbours))


def _pairs(words: Sequence[str]) -> dict[int, int]:
    """Each parenthesis → the other one; CASE and END likewise."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for index, word in enumerate(words):
        if word in _OPENING:
            stack.append(index)
        elif word in _CLOSING and stack:
            found[index] = stack.pop()
            found[found[index]] = index
    return found


def _refused(text: str, token: Token, what: str, why: str) -> InvalidSql:
    line, column = place(text, token.start)
    return InvalidSql(
        f"{what}, at line {line}, column {column}, is refused: {why}\n{located(text, line, column)}",
        line=line,
        column=column,
    )
