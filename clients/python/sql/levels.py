"""The words of a query by their levels: what stands beside a word within the same parentheses and clause."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

OPENING, CLOSING = frozenset({"(", "[", "{", "CASE"}), frozenset({")", "]", "}", "END"})
#: where an expression of the same level ends
CLAUSES = frozenset(
    {
        "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "UNION",
        "INTERSECT", "EXCEPT", "JOIN", "ON", "AS", "BY", "WHEN", "THEN", "ELSE", ",", ";",
    }
)  # fmt: skip
QUERIES = frozenset({"SELECT", "WITH", "VALUES", "FROM"})
CONDITIONS = frozenset({"WHERE", "HAVING", "QUALIFY", "ON"})
CONNECTIVES = frozenset({"AND", "OR", "XOR"})
#: operators that make a value of a condition
TESTS = frozenset({"IS", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "||"})
#: with a NOT before them they are one operator
NEGATED = frozenset({"IN", "LIKE", "ILIKE", "BETWEEN", "SIMILAR", "EXISTS", "NULL"})


def operand_start(words: Sequence[str], pairs: dict[int, int], index: int) -> int:
    """Where the operand begins that ends before `index`."""
    before, _ = neighbours(words, pairs, index, -1)
    start = index
    for number, position in enumerate(before):
        beyond = term(words, before[number + 1 :])
        if words[position] in CONNECTIVES and not any(words[i] == "BETWEEN" for i in beyond):
            break
        if is_not(words, position):
            break
        start = position
    return start


def is_not(words: Sequence[str], index: int) -> bool:
    """Return whether a NOT stands there that is an operator by itself."""
    if words[index] != "NOT":
        return False
    return words[index + 1] not in NEGATED or (words[index + 1] == "NULL" and words[index - 1 : index] != ["IS"])


def neighbours(words: Sequence[str], pairs: dict[int, int], index: int, step: int) -> tuple[list[int], int]:
    """Return the tokens beside `index` on its level, up to the end of the clause, and its place (-1: nowhere)."""
    found: list[int] = []
    index = pairs[index] if step > 0 and index in pairs else index
    while 0 <= (index := index + step) < len(words):
        if index in pairs:
            if (pairs[index] > index) != (step > 0):
                return found, index
            index = pairs[index]
        elif words[index] in CLAUSES and not (words[index] == "FROM" and words[index - 1] == "DISTINCT"):
            return found, index
        found.append(index)
    return found, -1


def term(words: Sequence[str], neighbours: Sequence[int]) -> list[int]:
    """Return the neighbours nearer than the next AND or OR."""
    return list(takewhile(lambda index: words[index] not in CONNECTIVES, neighbours))


def pairs_of(words: Sequence[str]) -> dict[int, int]:
    """Each parenthesis → the other one; CASE and END likewise."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for index, word in enumerate(words):
        if word in OPENING:
            stack.append(index)
        elif word in CLOSING and stack:
            found[index] = stack.pop()
            found[found[index]] = index
    return found
