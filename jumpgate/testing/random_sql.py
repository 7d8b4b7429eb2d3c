"""Random SQL as text, in shapes with places for literals, and laws that hold of the answers.

    law(seed).fill(number)        # the `number`-th choice of literals for the shape of that seed

- Ternary logic partitioning: the rows of q are those with p, with NOT p and with p IS NULL together (M. Rigger and
  Z. Su, "Finding bugs in database systems via query partitioning", OOPSLA 2020).
- NoREC: as many rows pass a filter p as there are rows in which the projected p is true (the same, "Detecting
  optimization bugs in database engines via non-optimizing reference engine construction", FSE 2020).
- A join with its sides exchanged has the same rows.

Texts name the tables `[t]` and `[u]`, which testing.awkward describes; whoever runs them puts names there.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from jumpgate.testing.awkward import LITERALS

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
WINDOWED = (
    "row_number()", "count(*)", "count(t.s)", "sum(t.i)", "avg(t.i)", "min(t.w)", "max(t.f)", "lag(t.s)",
    "lead(t.s, 2)", "lag(t.i, 1, 7)", "first_value(t.m)", "last_value(t.ts)",
)  # fmt: skip
KEYS = ("i", "s", "w", "m", "big", "b")


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
        shape = self.random.randrange(6) if depth else 0
        if shape <= 2:
            return self.column(sides, kind)
        if shape == 3:
            return f"coalesce({self.term(sides, kind, depth - 1)}, {self.place(kind)})"
        if shape == 4:
            other = self.term(sides, kind, depth - 1)
            return f"CASE WHEN {self.predicate(sides, depth - 1)} THEN {self.column(sides, kind)} ELSE {other} END"
        inner = self.term(sides, kind, depth - 1)
        if kind == "number":
            return (
                f"({inner} {self.pick('+', '-', '*')} {self.pick(self.column(sides, 'number'), self.place('small'))})"
            )
        if kind == "money":
            return f"({inner} {self.pick('+', '-')} {self.place('money')})"
        if kind == "float":
            return f"({inner} {self.pick('+', '*', '/')} {self.place('finite')})"
        if kind == "text":
            return self.pick(f"substring({inner}, 1, 2)", f"({inner} || {self.place('text')})", f"trim({inner})")
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
            f"{self.column(sides, 'text')} LIKE {self.place('pattern')}",
            f"{left} {self.pick('=', '<', '>=')} {self.column(sides, kind)}",
            f"{self.column(sides, 'number')} {self.pick('=', '<')} {self.column(sides, self.pick('float', 'money'))}",
            f"{self.column(sides, 'number')} % {self.place('divisor')} = {self.place('number')}",
        )

    def source(self) -> tuple[str, str, tuple[str, ...]]:
        """FROM, the same with sides exchanged (or as it is), and the names of its sides."""
        key = self.pick(*KEYS)
        on = f"ON t.{key} = u.{key}"
        match self.random.randrange(8):
            case 0 | 1:
                return f"[t] t JOIN [u] u {on}", f"[u] u JOIN [t] t {on}", ("t", "u")
            case 2:
                return f"[t] t LEFT JOIN [u] u {on}", f"[u] u RIGHT JOIN [t] t {on}", ("t", "u")
            case 3:
                return f"[t] t FULL JOIN [u] u {on}", f"[u] u FULL JOIN [t] t {on}", ("t", "u")
            case 4:
                more = f"{on} AND t.id {self.pick('<', '<>')} u.id"
                return f"[t] t JOIN [u] u {more}", f"[u] u JOIN [t] t {more}", ("t", "u")
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
    match shape.random.randrange(8):
        case 0:
            return f"SELECT {key} AS k, {_measures(shape, sides)} FROM {source} WHERE {p} GROUP BY {key}"
        case 1:
            shown = f"{key} AS k, {other} AS o, {_measures(shape, sides)}"
            return f"SELECT {shown} FROM {source} GROUP BY {key}, {other} HAVING count(*) > 1"
        case 2:
            return f"SELECT DISTINCT {key} AS k, {other} AS o FROM {source} WHERE {p}"
        case 3:
            order = f"t.{shape.pick('s', 'w', 'd', 'i')}{shape.pick('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST')}"
            return f"SELECT t.id, t.s, t.d FROM [t] t WHERE {of_t} ORDER BY {order}, t.id LIMIT 5"
        case 4:
            inner = f"SELECT u.{c} FROM [u] u WHERE {shape.predicate(('u',), 1)}"
            return f"SELECT t.id FROM [t] t WHERE t.{c} {shape.pick('', 'NOT ')}IN ({inner})"
        case 5:
            inner = f"SELECT 1 FROM [u] u WHERE u.{c} = t.{c} AND {shape.predicate(('u',), 1)}"
            return f"SELECT t.id, t.s FROM [t] t WHERE {shape.pick('', 'NOT ')}EXISTS ({inner})"
        case 6:
            over = f"OVER (PARTITION BY t.{shape.pick('s', 'b', 'i')} ORDER BY t.id{shape.pick('', ' DESC')})"
            return f"SELECT t.id, {shape.pick(*WINDOWED)} {over} AS v FROM [t] t WHERE {of_t}"
    operation = shape.pick("UNION ALL", "UNION", "EXCEPT", "INTERSECT")
    return f"SELECT t.{c} AS c FROM [t] t WHERE {of_t} {operation} SELECT u.{c} FROM [u] u"


def _measures(shape: Shape, sides: Sequence[str]) -> str:
    counted, low, high = (shape.column(sides, shape.pick(*COMPARED)) for _ in range(3))
    measures = [
        "count(*)", f"count(DISTINCT {counted})", "sum(t.i)", "avg(t.i)", "sum(t.m)", "avg(t.f)", "sum(t.f)",
        f"min({low})", f"max({high})", f"sum(t.i) FILTER (WHERE {shape.predicate(sides, 1)})", "stddev(t.i)",
    ]  # fmt: skip
    return ", ".join(f"{m} AS m{i}" for i, m in enumerate(shape.random.sample(measures, 3)))
