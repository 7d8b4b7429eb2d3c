"""Texts that DataFusion cannot plan, or not in any useful time, are refused before it sees them.

It nests chains of operators, joins and subqueries one into the other and walks them recursively: where they are long, a
stack ends, and with it the process. The bounds are a fraction of what ended a child process, on a thread of
`STACK_BYTES` for planning and on DataFusion's own threads of 2 MiB for execution. How deep parentheses may nest
DataFusion's parser bounds itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from jumpgate.client.sql.errors import TooLarge
from jumpgate.client.sql.tokens import Token

#: UNION, with or without ALL: planning takes a second; 3,000 of them end a stack of 2 MiB, 10,000 one of 8 MiB
UNIONS_MAX = 500
#: joins of any kind, commas in FROM, INTERSECT and EXCEPT: planning takes seconds, and more than quadratic time
JOINS_MAX = 100
#: common table expressions and subqueries together
SUBQUERIES_MAX = 200
#: operators that follow each other in one expression without a comma between them
CHAIN_MAX = 1000
#: a[1][1]…, each of which DataFusion's optimiser looks at several times
SUBSCRIPTS_MAX = 40
#: keys of one CUBE, which stands for 2 ** keys grouping sets
CUBE_MAX = 12
#: the same word again and again, as in INTERVAL INTERVAL …
REPEATED_MAX = 50
#: of the thread that plans
STACK_BYTES = 64 << 20

_CHAINING = frozenset({"AND", "OR", "XOR", "LIKE", "ILIKE", "IS", "IN", "BETWEEN", "COLLATE", "DIV"})
_ENDS_FROM = frozenset(
    {
        "SELECT", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "UNION", "INTERSECT",
        "EXCEPT",
    }
)  # fmt: skip
#: a new expression begins after them
_SEPARATORS = _ENDS_FROM | {"FROM", "ON", "BY", "JOIN", "VALUES"}
_CASE_SEPARATORS = frozenset({"WHEN", "THEN", "ELSE"})
_BEFORE_ARRAYS = _SEPARATORS | _CASE_SEPARATORS | {"AND", "OR", "NOT", "IN", "LIKE", "ARRAY", "DISTINCT"}
_SET_OPERATIONS = frozenset({"UNION", "INTERSECT", "EXCEPT", "ALL", "DISTINCT"})

#: words that begin, end or lengthen something that is counted
_COUNTED = _SEPARATORS | _CASE_SEPARATORS | _CHAINING | {"CASE", "END"}

_stack_size = threading.Lock()
T = TypeVar("T")


def check(parts: Sequence[Token], words: Sequence[str]) -> None:
    """Raises TooLarge with the count and the bound that it exceeds, of a text of these tokens and words
    (tokens.parts_of)."""
    found = _Counts()
    before, repeated = "", 0
    for token, word in zip(parts, words, strict=True):
        repeated = repeated + 1 if word == before and token.kind == "word" else 0
        if repeated > REPEATED_MAX:
            raise TooLarge(f"the word {token.text!r} stands more than {REPEATED_MAX} times in a row")
        found.take(token, word, before)
        before = word
    _bounded(found.unions, UNIONS_MAX, "UNION", "register the parts as one table: a folder, a glob or a list of files")
    _bounded(
        found.joins, JOINS_MAX, "joins, INTERSECT and EXCEPT", "compute parts of it first, and register their results"
    )
    _bounded(
        found.subqueries, SUBQUERIES_MAX, "subqueries and WITH", "compute parts of it first, and register their results"
    )
    _bounded(
        found.chain, CHAIN_MAX, "operators in one expression", "a long OR can be an IN list, or a join with a table"
    )
    _bounded(found.subscripts, SUBSCRIPTS_MAX, "subscripts in one expression", "take the element in several steps")
    _bounded(found.cube, CUBE_MAX, "keys in one CUBE", "GROUPING SETS can name those that are needed")


def with_stack(work: Callable[[], T]) -> T:
    """Run `work` on a thread whose stack is large enough for any text that `check` accepts."""
    outcome: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # a panic of DataFusion is not an Exception
            errors.append(error)

    thread = threading.Thread(target=run, name="jumpgate-plan", daemon=True)
    with _stack_size:  # of the process, for threads to come
        usual = threading.stack_size(STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(usual)
    thread.join()
    if errors:
        raise errors[0]
    return outcome[0]


class _Counts:
    """Counts of the tokens so far; the largest count where one expression or clause is counted."""

    def __init__(self) -> None:
        self.unions = self.joins = self.subqueries = 0
        self.chain = self.subscripts = self.cube = 0
        self._levels = [_Level()]

    def take(self, token: Token, word: str, before: str) -> None:
        level = self._levels[-1]
        if token.kind == "word":
            if word in _COUNTED:
                self._word(word, before, level)
        elif token.kind != "symbol":
            return
        elif word in ("(", "[", "{"):
            subscript = (
                word == "[" and before not in _BEFORE_ARRAYS and (before[-1:].isalnum() or before[-1:] in ')]"`_')
            )
            level.subscripts += subscript
            self.subscripts = max(self.subscripts, level.subscripts)
            self._levels.append(_Level(cube=before == "CUBE"))
        elif word in (")", "]", "}"):
            while len(self._levels) > 1 and self._levels.pop().case:
                pass
        elif word == ",":
            self.joins += level.in_from
            level.keys += level.cube
            self.cube = max(self.cube, level.keys)
            level.chain = level.subscripts = 0
        elif word not in (".", ";"):
            self._operator(level)

    def _word(self, word: str, before: str, level: _Level) -> None:
        if word in _SEPARATORS or (level.case and word in _CASE_SEPARATORS):
            level.chain = level.subscripts = 0
        if word == "FROM":
            level.in_from = before != "DISTINCT"
        elif word in _ENDS_FROM:
            level.in_from = False
        if word == "UNION":
            self.unions += 1
        elif word in ("JOIN", "INTERSECT", "EXCEPT"):
            self.joins += 1
        elif word == "SELECT":
            self.subqueries += before not in _SET_OPERATIONS
        elif word in _CHAINING:
            self._operator(level)
        elif word == "CASE":
            self._levels.append(_Level(case=True))
        elif word == "END" and level.case:
            self._levels.pop()

    def _operator(self, level: _Level) -> None:
        level.chain += 1
        self.chain = max(self.chain, level.chain)


class _Level:
    """The counts between two parentheses, or CASE and END, without those within. keys: of a CUBE."""

    def __init__(self, *, cube: bool = False, case: bool = False) -> None:
        self.chain = self.subscripts = 0
        self.in_from = False
        self.case = case
        self.cube, self.keys = cube, 1


def _bounded(count: int, bound: int, what: str, way_out: str) -> None:
    if count > bound:
        raise TooLarge(f"the query has {count} {what}; {bound} are the most that can be planned: {way_out}")
