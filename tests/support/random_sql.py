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
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.awkward import LITERALS

COLUMNS = {
    "number": ("i", "id"),
    "big": ("big",),
    "float": ("f",),
    "money": ("m",),
    "decimal": ("d",),
    "text": ("s",),
    "day": ("w",),
    "time": ("ts",),
    "truth": ("b",),
}
COMPARED = tuple(kind for kind in COLUMNS if kind != "truth")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
#: window functions that look at the order alone, and those that look at the rows of a frame
PLACED = (
    "row_number()", "rank()", "dense_rank()", "ntile(3)", "percent_rank()", "cume_dist()", "lag(t.s)", "lead(t.s, 2)",
    "lag(t.i, 1, 7)", "lead(t.f, 3)", "lag(t.d)",
)  # fmt: skip
FRAMED = (
    "count(*)", "count(t.s)", "sum(t.i)", "avg(t.i)", "min(t.w)", "max(t.f)", "min(t.f)", "sum(t.f)", "avg(t.f)",
    "sum(t.m)", "max(t.s)", "first_value(t.m)", "last_value(t.ts)", "first_value(t.f)", "nth_value(t.i, 2)",
    "count(DISTINCT t.s)", "sum(t.i) FILTER (WHERE t.b)", "max(t.d)",
)  # fmt: skip
FRAMES = (
    "", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING", "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
)  # fmt: skip
KEYS = ("i", "s", "w", "m", "big", "b", "f", "d", "ts")


class Shape:
    """Makes SQL at random; literals are places that `fill` gives values."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._seed = seed
        self._kinds: list[str] = []

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

    def column(self, sides: Sequence[str], kind: str) -> str:
        return f"{self.pick(*sides)}.{self.pick(*COLUMNS[kind])}"

    def term(self, sides: Sequence[str], kind: str, depth: int) -> str:
        """An expression that fails on no row."""
        shape = self.random.randrange(8) if depth else 0
        if shape <= 2:
            return self.column(sides, kind)
        inner = self.term(sides, kind, depth - 1)
        if shape == 3:
            return f"coalesce({inner}, {self.place(kind)})"
        if shape == 4:
            when = f"CASE WHEN {self.predicate(sides, depth - 1)} THEN {self.column(sides, kind)}"
            return f"{when} {self.pick('', f'WHEN {self.predicate(sides, depth - 1)} THEN NULL ')}ELSE {inner} END"
        if shape == 5:
            base = self.pick(*COMPARED)
            first, second = self.place(base), self.place(base)
            return (
                f"CASE {self.column(sides, base)} WHEN {first} THEN {inner} WHEN {second} THEN {self.place(kind)} END"
            )
        if shape == 6 and kind != "truth":
            call = self.pick("greatest", "least", "nullif")
            return f"{call}({inner}, {self.pick(self.column(sides, kind), self.place(kind))})"
        return self._computed(sides, kind, inner)

    def _computed(self, sides: Sequence[str], kind: str, inner: str) -> str:
        if kind == "number":
            other = self.column(sides, "number")
            return self.pick(
                f"({inner} {self.pick('+', '-', '*')} {self.pick(other, self.place('small'))})",
                f"abs({inner})",
                f"length({self.column(sides, 'text')})",
                f"strpos({self.column(sides, 'text')}, {self.place('text')})",
                f"CAST(extract({self.pick('year', 'month', 'day')} FROM {self.column(sides, 'day')}) AS INTEGER)",
                f"CAST({self.column(sides, 'truth')} AS INTEGER)",
            )
        if kind == "money":
            return self.pick(
                f"({inner} {self.pick('+', '-')} {self.place('money')})",
                f"CAST({inner} * {self.place('money')} AS DECIMAL(20, 2))",
                f"round({inner}, 1)",
                f"abs({inner})",
            )
        if kind == "decimal":
            return self.pick(f"CAST({inner} AS DECIMAL(38, 5))", f"abs({inner})", f"(- {inner})")
        if kind == "float":
            other = self.pick(self.place("float"), self.column(sides, "float"), self.column(sides, "number"))
            divisor = self.pick(self.place("finite"), self.column(sides, "number"))  # no -0.0, which has a sign there
            return self.pick(f"({inner} {self.pick('+', '-', '*')} {other})", f"({inner} / {divisor})")
        if kind == "text":
            return self.pick(
                f"substring({inner}, 1, 2)",
                f"({inner} || {self.place('text')})",
                f"trim({inner})",
                f"{self.pick('upper', 'lower', 'reverse')}({inner})",
                f"{self.pick('left', 'right')}({inner}, 2)",
                f"replace({inner}, {self.place('letter')}, {self.place('text')})",
                f"CAST({self.column(sides, self.pick('number', 'day', 'big', 'money'))} AS VARCHAR)",
            )
        if kind == "day":
            return f"CAST({self.column(sides, 'time')} AS DATE)"
        if kind == "time":
            return f"date_trunc('{self.pick('year', 'month', 'day', 'hour')}', {inner})"
        return inner

    def predicate(self, sides: Sequence[str], depth: int = 2) -> str:
        kind = self.pick(*COMPARED)
        shape = self.random.randrange(12 if depth else 5)
        left = self.term(sides, kind, max(depth - 1, 0))
        match shape:
            case 0 | 1:
                return f"{left} {self.pick(*COMPARISONS)} {self.place(kind)}"
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
        return self.pick(
            f"{self.column(sides, 'text')} {self.pick('', 'NOT ')}LIKE {self.place('pattern')}",
            f"{self.term(sides, 'text', 1)} ILIKE {self.place('pattern')}",
            f"{left} {self.pick('=', '<', '>=')} {self.column(sides, kind)}",
            f"{self.column(sides, 'number')} {self.pick('=', '<')} {self.column(sides, self.pick('float', 'money'))}",
            f"{self.column(sides, 'number')} % {self.place('divisor')} = {self.place('number')}",
        )

    def source(self) -> tuple[str, str, tuple[str, ...]]:
        """FROM, the same with sides exchanged (or as it is), and the names of its sides."""
        key = self.pick(*KEYS)
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
                inner = f"SELECT v.{key} AS i, v.f, v.s FROM [u] v WHERE v.i = t.i AND {self.predicate(('v',), 1)}"
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


def law(seed: int, number: int) -> Law:
    """The shape of that seed with the `number`-th choice of literals."""
    shape = Shape(seed)
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
            kinds = [shape.pick(*COLUMNS) for _ in range(shape.random.randint(1, 3))]
            shown = ", ".join(f"{shape.term(sides, k, 1)} AS c{i}" for i, k in enumerate(kinds))
            parts = tuple(f"SELECT {shown} FROM {source} WHERE {q}" for q in split)
            again = f"SELECT {shown} FROM {exchanged}" if exchanged != source else ""
            return Law(f"SELECT {shown} FROM {source}", parts, again)
        case 2:
            projected = f"SELECT sum(CASE WHEN {p} THEN 1 ELSE 0 END) AS n FROM {source}"
            return Law(projected, (f"SELECT count(*) AS n FROM {source} WHERE {p}",), adds=True)
        case 3:
            counted = shape.column(sides, shape.pick(*COLUMNS))
            measure = shape.pick("count(*)", f"count({counted})", "sum(t.i)", "sum(t.m)")
            parts = tuple(f"SELECT {measure} AS n FROM {source} WHERE {q}" for q in split)
            return Law(f"SELECT {measure} AS n FROM {source}", parts, adds=True)
    return Law(_query(shape, source, sides, p))


def _query(shape: Shape, source: str, sides: Sequence[str], p: str) -> str:
    """A query of which no law but the plan space's is known."""
    key, other = (shape.column(sides, shape.pick(*COLUMNS)) for _ in range(2))
    of_t = shape.predicate(("t",), 1)
    c = shape.pick(*KEYS)
    match shape.random.randrange(13):
        case 0:
            return f"SELECT {key} AS k, {_measures(shape, sides)} FROM {source} WHERE {p} GROUP BY {key}"
        case 1:
            shown = f"{key} AS k, {other} AS o, {_measures(shape, sides)}"
            return f"SELECT {shown} FROM {source} GROUP BY {key}, {other} HAVING count(*) > 1"
        case 2:
            return f"SELECT DISTINCT {key} AS k, {other} AS o FROM {source} WHERE {p}"
        case 3:
            order = f"t.{shape.pick(*KEYS)}{shape.pick('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST')}"
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
            keys = shape.random.sample([f"{sides[0]}.{name}" for name in KEYS], 2)
            named = ", ".join(keys)
            sets = shape.pick(
                f"ROLLUP ({named})", f"CUBE ({named})", f"GROUPING SETS (({named}), ({keys[1]}), ())",
                f"GROUPING SETS (({keys[0]}), ({keys[1]}))",
            )  # fmt: skip
            shown = f"{keys[0]} AS a, {keys[1]} AS o, grouping({keys[0]}) AS g, {_measures(shape, sides, 2)}"
            return f"SELECT {shown} FROM {source} WHERE {p} GROUP BY {sets}"
        case 10:
            return f"SELECT {_measures(shape, sides)} FROM {source} WHERE {p}"
    operation, more = (shape.pick("UNION ALL", "UNION", "EXCEPT", "INTERSECT") for _ in range(2))
    d = shape.pick(*KEYS)
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
        return f"{shape.pick(*PLACED)} OVER ({partition}ORDER BY t.{shape.pick(*KEYS)}{turn}, t.id)"
    if shape.random.randrange(4) == 0:  # ties are peers
        function = shape.pick("rank()", "dense_rank()", "count(*)", "sum(t.i)", "max(t.f)", "percent_rank()")
        return f"{function} OVER ({partition}ORDER BY t.{shape.pick(*KEYS)}{turn})"
    frame = shape.pick(*FRAMES)
    return f"{shape.pick(*FRAMED)} OVER ({partition}ORDER BY t.{shape.pick(*KEYS)}{turn}, t.id {frame})"


def _measures(shape: Shape, sides: Sequence[str], count: int = 3) -> str:
    return ", ".join(f"{_measure(shape, sides)} AS m{i}" for i in range(count))


def _measure(shape: Shape, sides: Sequence[str]) -> str:
    any_one = shape.column(sides, shape.pick(*COMPARED))
    measure = shape.pick(
        "count(*)", f"count(DISTINCT {any_one})", "sum(t.i)", "avg(t.i)", "sum(t.m)", "avg(t.f)", "sum(t.f)",
        f"min({any_one})", f"max({any_one})", f"max({shape.term(sides, 'float', 2)})", "stddev(t.i)",
        f"{shape.pick('sum', 'avg')}(DISTINCT t.i)", f"{shape.pick('sum', 'avg', 'min')}(DISTINCT t.f)",
        "sum(DISTINCT t.m)", "bool_and(t.b)", "bool_or(t.b)", f"count({any_one})",
    )  # fmt: skip
    if shape.random.randrange(3) == 0:
        measure += f" FILTER (WHERE {shape.predicate(sides, 1)})"
    return measure
