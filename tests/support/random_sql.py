"""Random SQL as text, in shapes with places for literals, and laws that hold of the answers.

    law(seed).fill(number)        # the `number`-th choice of literals for the shape of that seed

- Ternary logic partitioning: the rows of q are those with p, with NOT p and with p IS NULL together (M. Rigger and
  Z. Su, "Finding bugs in database systems via query partitioning", OOPSLA 2020).
- NoREC: as many rows pass a filter p as there are rows in which the projected p is true (the same, "Detecting
  optimization bugs in database engines via non-optimizing reference engine construction", FSE 2020).
- A join with its sides exchanged has the same rows.

Texts name the tables `[t]` and `[u]`, which support.awkward describes; whoever runs them puts names there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tests.support.awkward import LITERALS, VALUES
from tests.support.random_words import (
    COLUMNS,
    COMPARISONS,
    COMPUTED,
    EXTREMES,
    FRAMED,
    FRAMES,
    KEYS,
    MEASURES,
    OF_ROWS,
    OWN,
    PASSED,
    PLACED,
    PREDICATES,
)

_OF_T = re.compile(r"\bt\.(\w+)")
_MARK = re.compile(r"([#$@])(\w*)|&ids|\?")


class Shape:
    """Makes SQL at random of tables with these columns; literals are places that `fill` gives values."""

    def __init__(self, seed: int, columns: Collection[str]) -> None:
        self.random = random.Random(seed)
        self._seed = seed
        self._kinds: list[str] = []
        self._columns = frozenset(columns) | {"id"}
        self.kinds = tuple(kind for kind, names in COLUMNS.items() if self._columns.issuperset(names))
        self.compared = tuple(kind for kind in self.kinds if kind not in (*PASSED, "truth"))
        self.keys = tuple(key for key in KEYS if key in self._columns)

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def place(self, kind: str) -> str:
        """A place for a literal."""
        self._kinds.append(kind)
        return f"{{{len(self._kinds) - 1}}}"

    def literals(self, number: int) -> list[str]:
        """The `number`-th choice of a literal for each place."""
        chance = random.Random(f"{self._seed} {number}")
        return [chance.choice(LITERALS[kind]) for kind in self._kinds]

    def known(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the texts that name only existing columns."""
        return tuple(
            text
            for text in texts
            if self._columns.issuperset(_OF_T.findall(text))
            and all(kind in self.kinds for mark, kind in _MARK.findall(text) if mark == "#" and kind != "any")
        )

    def made(self, sides: Sequence[str], texts: Sequence[str], inner: str = "", filter: str = "") -> str:
        """One of the texts, its marks (support.random_words) filled in."""

        def fill(mark: re.Match[str]) -> str:
            match mark[1], mark[2]:
                case "#", "any":
                    return self.column(sides, self.pick(*self.compared))
                case "#", kind:
                    return self.column(sides, kind)
                case "$", kind:
                    return self.place(kind)
                case "@", "":
                    return inner
                case "@", kind:
                    return self.term(sides, kind, 2)
            return filter if mark[0] == "?" else ", ".join(f"{side}.id" for side in sides)

        text = self.pick(*self.known(texts))
        return _MARK.sub(fill, text if "?" in text or not filter else f"{text}?")

    def column(self, sides: Sequence[str], kind: str) -> str:
        return f"{self.pick(*sides)}.{self.pick(*COLUMNS[kind])}"

    def term(self, sides: Sequence[str], kind: str, depth: int) -> str:
        """An expression that fails on no row."""
        shape = self.random.randrange(8) if depth and kind not in PASSED else 0
        if shape <= 2:
            return self.column(sides, kind)
        inner = self.term(sides, kind, depth - 1)
        if shape == 3:
            return f"coalesce({inner}, {self.place(kind)})"
        if shape == 4:
            when = f"CASE WHEN {self.predicate(sides, depth - 1)} THEN {self.column(sides, kind)}"
            return f"{when} {self.pick('', f'WHEN {self.predicate(sides, depth - 1)} THEN NULL ')}ELSE {inner} END"
        if shape == 5:
            base = self.pick(*self.compared)
            first, second = self.place(base), self.place(base)
            return (
                f"CASE {self.column(sides, base)} WHEN {first} THEN {inner} WHEN {second} THEN {self.place(kind)} END"
            )
        if shape == 6 and kind != "truth":
            call = self.pick("greatest", "least", "nullif")
            return f"{call}({inner}, {self.pick(self.column(sides, kind), self.place(kind))})"
        return self.made(sides, COMPUTED.get(kind, ("@",)), inner)

    def predicate(self, sides: Sequence[str], depth: int = 2) -> str:
        kind = self.pick(*self.compared)
        shape = self.random.randrange(12 if depth else 5)
        left = self.term(sides, kind, max(depth - 1, 0))
        match shape:
            case 0 | 1:
                return f"({left} {self.pick(*COMPARISONS)} {self.place(kind)})"
            case 2:
                return f"{left} IS {self.pick('', 'NOT ')}NULL"
            case 3:
                return f"{left} {self.pick('', 'NOT ')}IN ({self.place(kind)}, {self.place(kind)})"
            case 4:
                return f"{self.column(sides, 'truth')} IS {self.pick('', 'NOT ')}{self.pick('TRUE', 'FALSE', 'NULL')}"
            case 5 | 6:
                return f"({self.predicate(sides, depth - 1)} AND {self.predicate(sides, depth - 1)})"
            case 7 | 8:
                return f"({self.predicate(sides, depth - 1)} OR {self.predicate(sides, depth - 1)})"
            case 9:
                return f"NOT ({self.predicate(sides, depth - 1)})"
            case 10:
                return f"{left} BETWEEN {self.place(kind)} AND {self.place(kind)}"
        if self.random.randrange(5) == 0:
            return f"{left} {self.pick('=', '<', '>=')} {self.column(sides, kind)}"
        return self.made(sides, PREDICATES)

    def source(self) -> tuple[str, str, tuple[str, ...]]:
        """FROM, the same with sides exchanged (or as it is), and the names of its sides."""
        key = self.pick(*self.keys)
        on = f"ON t.{key} = u.{key}"
        more = f"{on} AND t.id {self.pick('<', '<>')} u.id"
        match self.random.randrange(10):
            case 0 | 1:
                return f"[t] t JOIN [u] u {on}", f"[u] u JOIN [t] t {on}", ("t", "u")
            case 2:
                on = self.pick(on, more)
                return f"[t] t LEFT JOIN [u] u {on}", f"[u] u RIGHT JOIN [t] t {on}", ("t", "u")
            case 3:
                on = self.pick(on, more)
                return f"[t] t FULL JOIN [u] u {on}", f"[u] u FULL JOIN [t] t {on}", ("t", "u")
            case 4:
                return f"[t] t JOIN [u] u {more}", f"[u] u JOIN [t] t {more}", ("t", "u")
            case 5:
                on = f"ON t.{key} {self.pick('<', '>=', '<>', 'IS NOT DISTINCT FROM')} u.{key}"
                return f"[t] t JOIN [u] u {on}", f"[u] u JOIN [t] t {on}", ("t", "u")
            case 6:
                inner = f"SELECT v.{key} AS x, v.f, v.s FROM [u] v WHERE v.i = t.i AND {self.predicate(('v',), 1)}"
                return f"[t] t CROSS JOIN LATERAL ({inner}) l", f"[t] t CROSS JOIN LATERAL ({inner}) l", ("t",)
        return "[t] t", "[t] t", ("t",)


@dataclass(frozen=True)
class Law:
    """Texts whose answers belong together: `whole` has all rows of `parts`, or (`adds`) the sum of their one number;
    `exchanged` has the same rows as `whole`. Without either there is no law but that every road agrees."""

    whole: str
    parts: tuple[str, ...] = ()
    exchanged: str = ""
    adds: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.whole, *self.parts, *([self.exchanged] if self.exchanged else []))


def law(seed: int, number: int, columns: Collection[str] = VALUES.keys()) -> Law:
    """The shape of that seed over these columns with the `number`-th choice of literals."""
    shape = Shape(seed, columns)
    found = _law(shape)
    literals = shape.literals(number)
    whole, *parts = (text.format(*literals) for text in (found.whole, *found.parts))
    return Law(whole, tuple(parts), found.exchanged.format(*literals), found.adds)


def _law(shape: Shape) -> Law:
    source, exchanged, sides = shape.source()
    p = shape.predicate(sides)
    split = (p, f"NOT ({p})", f"({p}) IS NULL")
    match shape.random.randrange(8):
        case 0 | 1:
            kinds = [shape.pick(*shape.kinds) for _ in range(shape.random.randint(1, 3))]
            shown = ", ".join(f"{shape.term(sides, k, 1)} AS c{i}" for i, k in enumerate(kinds))
            parts = tuple(f"SELECT {shown} FROM {source} WHERE {q}" for q in split)
            again = f"SELECT {shown} FROM {exchanged}" if exchanged != source else ""
            return Law(f"SELECT {shown} FROM {source}", parts, again)
        case 2:
            projected = f"SELECT sum(CASE WHEN {p} THEN 1 ELSE 0 END) AS n FROM {source}"
            return Law(projected, (f"SELECT count(*) AS n FROM {source} WHERE {p}",), adds=True)
        case 3:
            counted = shape.column(sides, shape.pick(*shape.kinds))
            measure = shape.pick("count(*)", f"count({counted})", "sum(t.i)", "sum(t.m)")
            parts = tuple(f"SELECT {measure} AS n FROM {source} WHERE {q}" for q in split)
            return Law(f"SELECT {measure} AS n FROM {source}", parts, adds=True)
    return Law(_query(shape, source, sides, p))


def _query(shape: Shape, source: str, sides: Sequence[str], p: str) -> str:
    """A query of which no law but the plan space's is known."""
    key, other = (shape.column(sides, shape.pick(*shape.kinds)) for _ in range(2))
    of_t = shape.predicate(("t",), 1)
    c = shape.pick(*shape.keys)
    match shape.random.randrange(14):
        case 0:
            return f"SELECT {key} AS k, {_measures(shape, sides)} FROM {source} WHERE {p} GROUP BY {key}"
        case 1:
            shown = f"{key} AS k, {other} AS o, {_measures(shape, sides)}"
            return f"SELECT {shown} FROM {source} GROUP BY {key}, {other} HAVING count(*) > 1"
        case 2:
            return f"SELECT DISTINCT {key} AS k, {other} AS o FROM {source} WHERE {p}"
        case 3:
            order = f"t.{shape.pick(*shape.keys)}{shape.pick('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST')}"
            limit = f"LIMIT {shape.pick('5', '3 OFFSET 2', '0')}"
            return f"SELECT t.id, t.s, t.d FROM [t] t WHERE {of_t} ORDER BY {order}, t.id {limit}"
        case 4 | 5:
            return _of_subquery(shape, c, of_t)
        case 6:
            inner = f"SELECT 1 FROM [u] u WHERE u.{c} = t.{c} AND {shape.predicate(('u',), 1)}"
            inner += shape.pick("", f" AND ({shape.predicate(('t', 'u'), 1)})")
            return f"SELECT t.id, t.s FROM [t] t WHERE {shape.pick('', 'NOT ')}EXISTS ({inner})"
        case 7 | 8:
            return f"SELECT t.id, {_windowed(shape)} AS v, {_windowed(shape)} AS x FROM [t] t WHERE {of_t}"
        case 9:
            keys = shape.random.sample([f"{sides[0]}.{name}" for name in shape.keys], 2)
            named = ", ".join(keys)
            sets = shape.pick(
                f"ROLLUP ({named})", f"CUBE ({named})", f"GROUPING SETS (({named}), ({keys[1]}), ())",
                f"GROUPING SETS (({keys[0]}), ({keys[1]}))",
            )  # fmt: skip
            shown = f"{keys[0]} AS a, {keys[1]} AS o, grouping({keys[0]}) AS g, {_measures(shape, sides, 2)}"
            return f"SELECT {shown} FROM {source} WHERE {p} GROUP BY {sets}"
        case 10:
            return f"SELECT {_measures(shape, sides)} FROM {source} WHERE {p}"
        case 11:
            shown = f"t.s AS k, {_measure(shape, ('t',), OF_ROWS)} AS x, {_measure(shape, ('t',), OF_ROWS)} AS y"
            return f"SELECT {shown} FROM {source} WHERE {p} GROUP BY t.s"
    operation, more = (shape.pick("UNION ALL", "UNION", "EXCEPT", "INTERSECT") for _ in range(2))
    d = shape.pick(*(key for key in shape.keys if key != c))
    first = f"SELECT t.{c} AS c, t.{d} AS d FROM [t] t WHERE {of_t}"
    both = f"{first} {operation} SELECT u.{c}, u.{d} FROM [u] u"
    return shape.pick(both, f"({both}) {more} SELECT t.{c}, t.{d} FROM [t] t WHERE {shape.predicate(('t',), 1)}")


def _of_subquery(shape: Shape, c: str, of_t: str) -> str:
    """IN and scalar subqueries, correlated or not, as conditions, beside others and as values."""
    inner = f"SELECT u.{c} FROM [u] u WHERE {shape.predicate(('u',), 1)}"
    inner += shape.pick("", "", " AND u.i = t.i", " AND u.s <> t.s")
    member = f"t.{c} {shape.pick('', 'NOT ')}IN ({inner})"
    measure = shape.pick("count(*)", "max(u.f)", "min(u.s)", "sum(u.i)", "count(DISTINCT u.f)", "max(u.d)")
    extreme = f"(SELECT {shape.pick('max', 'min')}(u.f) FROM [u] u)"
    scalar = f"(SELECT {measure} FROM [u] u WHERE u.{c} = t.{c} AND {shape.predicate(('u',), 1)})"
    return shape.pick(
        f"SELECT t.id FROM [t] t WHERE {member}",
        f"SELECT t.id FROM [t] t WHERE {member} {shape.pick('AND', 'OR')} {of_t}",
        f"SELECT t.id FROM [t] t WHERE NOT ({member} {shape.pick('AND', 'OR')} {of_t})",
        f"SELECT t.id, {member} AS v FROM [t] t WHERE {of_t}",
        f"SELECT t.id, {scalar} AS v FROM [t] t WHERE {of_t}",
        f"SELECT t.id FROM [t] t WHERE {of_t} AND {scalar} IS {shape.pick('', 'NOT ')}NULL",
        f"SELECT t.id FROM [t] t WHERE t.f {shape.pick('=', '<', '>=')} {extreme}",
    )


def _windowed(shape: Shape) -> str:
    partition = shape.pick("", *(f"PARTITION BY t.{key} " for key in ("s", "b", "i", "f")))
    turn = shape.pick("", " DESC", " NULLS FIRST")
    if shape.random.randrange(3) == 0:
        return f"{shape.pick(*shape.known(PLACED))} OVER ({partition}ORDER BY t.{shape.pick(*shape.keys)}{turn}, t.id)"
    if shape.random.randrange(4) == 0:  # ties are peers
        function = shape.pick("rank()", "dense_rank()", "count(*)", "sum(t.i)", "max(t.f)", "percent_rank()")
        return f"{function} OVER ({partition}ORDER BY t.{shape.pick(*shape.keys)}{turn})"
    frame = shape.pick(*FRAMES)
    return (
        f"{shape.pick(*shape.known(FRAMED))} OVER ({partition}ORDER BY t.{shape.pick(*shape.keys)}{turn}, t.id {frame})"
    )


def _measures(shape: Shape, sides: Sequence[str], count: int = 3) -> str:
    kinds = [shape.random.choice((EXTREMES, OWN)), *[MEASURES] * (count - 1)]
    return ", ".join(f"{_measure(shape, sides, kind)} AS m{i}" for i, kind in enumerate(kinds))


def _measure(shape: Shape, sides: Sequence[str], texts: Sequence[str]) -> str:
    condition = f" FILTER (WHERE {shape.predicate(sides, 1)})" if shape.random.randrange(3) == 0 else ""
    return shape.made(sides, texts, filter=condition)
