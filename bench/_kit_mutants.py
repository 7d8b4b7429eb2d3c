"""The plain engine of bench/_kit_engines.py with one mistake each: in expressions, joins, groups, sorts, and at a job's
end."""

from __future__ import annotations

import datetime
import math
import os
import re
import subprocess
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bench._kit_engines import Engine, Plain, plain
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Call, Case, Expression, InList
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Prune,
    Skyline,
    Sort,
    UnionAll,
)
from jumpgate.testing.interpret import Row, Rows

#: what its mutants leave at the end of each run, until the benchmark ends
LEFT: list[Any] = []


@dataclass(frozen=True)
class PlainMutant:
    """The plain engine, computing by `cls`, or with other answers."""

    name: str
    takes: tuple[type[Operator], ...]
    cls: type[Plain] = Plain
    prunes: bool = False
    hears: Callable[[Dialect], Dialect] = lambda dialect: dialect

    def engine(self) -> Engine:
        return Engine("mutant", plain(self.cls), self.takes, self.prunes, hears=self.hears)


def _calling(name: str, function: str, change: Callable[..., Any]) -> PlainMutant:
    """`change` makes the value of a call's arguments."""

    class Mutant(Plain):
        def value(self, expression: Any, row: Row) -> Any:
            if isinstance(expression, Call) and expression.function == function:
                return change(*(super(Mutant, self).value(a, row) for a in expression.args))
            return super().value(expression, row)

    return PlainMutant(name, (Project,), Mutant)


def _instead(name: str, change: Callable[[Expression], Expression]) -> PlainMutant:
    """`change` makes another expression of each."""

    class Mutant(Plain):
        def value(self, expression: Any, row: Row) -> Any:
            return super().value(change(expression), row)

    return PlainMutant(name, (Project,), Mutant)


def _renamed(name: str, function: str, other: str) -> PlainMutant:
    def change(e: Expression) -> Expression:
        return replace(e, function=other) if isinstance(e, Call) and e.function == function else e

    return _instead(name, change)


def _node(name: str, kind: type[Operator], change: Callable[[Any], Operator], prunes: bool = False) -> PlainMutant:
    """`change` makes another operator of the one to compute."""

    class Mutant(Plain):
        def result(self, node: Operator) -> Rows:
            return self.rows(change(node))

    return PlainMutant(name, (kind,), Mutant, prunes)


def _rows(name: str, kinds: tuple[type[Operator], ...], change: Callable[[Rows], Rows]) -> PlainMutant:
    """`change` spoils what arrives."""

    class Mutant(Plain):
        def _rows(self, node: Operator) -> Rows:
            found = super()._rows(node)
            return found if node.inputs else change(found)

    return PlainMutant(name, kinds, Mutant)


def _answers(name: str, kind: type[Operator], change: Callable[[Any, Rows], Rows], prunes: bool = False) -> PlainMutant:
    """`change` spoils an operator's result."""

    class Mutant(Plain):
        def result(self, node: Operator) -> Rows:
            return change(node, self.rows(node))

    return PlainMutant(name, (kind,), Mutant, prunes)


def _values(change: Callable[[Any], Any]) -> Callable[[Rows], Rows]:
    return lambda rows: [tuple(map(change, row)) for row in rows]


def _in_milliseconds(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    return value


def _composed(value: Any) -> Any:
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and math.isinf(value) else value


def _as_float(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _last_first(e: Expression) -> Expression:
    if not isinstance(e, Case):
        return e
    pairs = [*zip(e.branches[::2], e.branches[1::2], strict=True)]
    return replace(e, branches=tuple(part for pair in reversed(pairs) for part in pair))


def _without_null(e: Expression) -> Expression:
    return replace(e, options=tuple(o for o in e.options if o.value is not None)) if isinstance(e, InList) else e


def _without_escape(e: Expression) -> Expression:
    return replace(e, args=e.args[:2]) if isinstance(e, Call) and e.function == "like" else e


def _keys(which: slice) -> Callable[[Join], Join]:
    return lambda node: replace(node, left_keys=node.left_keys[which], right_keys=node.right_keys[which])


def _of(type: str, *others: str) -> Callable[[Join], Join]:
    return lambda node: replace(node, type=type if node.type in others else node.type)


class FilterKeepsNull(Plain):
    def _rows(self, node: Operator) -> Rows:
        if isinstance(node, Filter):
            return [r for r in self.rows(node.input) if self.value(node.predicate, r) is not False]
        return super()._rows(node)


class NullsMatch(Plain):
    """A key that is NULL is 0."""

    def _join(self, node: Join) -> Rows:
        keys = {id(k) for k in (*node.left_keys, *node.right_keys)}
        right = self.value
        self.value = lambda e, row: 0 if right(e, row) is None and id(e) in keys else right(e, row)  # type: ignore[method-assign]
        return super()._join(node)


class NotIn(Plain):
    def _join(self, node: Join) -> Rows:
        found = super()._join(node)
        if node.type != "anti":
            return found
        return [row for row in found if None not in [self.value(k, row) for k in node.left_keys]]


class MarksAreDecided(Plain):
    def _undecided(self, node: Join, key: Row, row: Row, right: Rows) -> bool | None:
        return False


def _pairs_of_semi(node: Join, rows: Rows) -> Rows:
    return rows + rows[:1] if node.type == "semi" else rows


def _measures(function: str, other: str) -> Callable[[Aggregate], Aggregate]:
    def change(node: Aggregate) -> Aggregate:
        measures = (replace(m, function=other) if m.function == function else m for m in node.measures)
        return replace(node, measures=tuple(measures))

    return change


def _valid_groups(node: Aggregate, rows: Rows) -> Rows:
    return rows if node.measures else [row for row in rows if None not in row]


class FirstKeyGroups(Plain):
    def result(self, node: Operator) -> Rows:
        seen: dict[Any, Row] = {}
        for row in self.rows(node):
            seen.setdefault(row[0] if row else None, row)
        return [*seen.values()]


class Pruned(Plain):
    """Some of the rows that may be in a top-n."""

    spoil: Callable[[Sort, Rows, Plain], Rows]

    def _prune(self, node: Prune) -> Rows:
        top = node.input
        assert isinstance(top, Sort) and top.limit is not None
        rows = self._sorted(self.rows(top.input), top.keys)
        return [row[: len(node.kept)] for row in type(self).spoil(top, rows, self)]


def _pruned(name: str, spoil: Callable[[Sort, Rows, Plain], Rows]) -> PlainMutant:
    return PlainMutant(name, (Sort,), type("Mutant", (Pruned,), {"spoil": staticmethod(spoil)}), prunes=True)


def _first(top: Sort, rows: Rows, fewer: int = 0) -> Rows:
    return rows[: max(0, (top.limit or 0) + top.offset - fewer)]


def _by_first_key(top: Sort, rows: Rows, run: Plain) -> Rows:
    """The least values of the first key alone, in the order in which rows came."""
    return _first(top, run._sorted(sorted(rows, key=repr), top.keys[:1]))


class Accumulates(Plain):
    """Groups of each job are added to those of earlier jobs over such rows."""

    kept: dict[Any, Rows] = {}

    def key(self, node: Operator) -> Any:
        return node.inputs[0].schema.types if node.inputs else None

    def result(self, node: Operator) -> Rows:
        rows = self.rows(node)
        before = self.kept.setdefault(self.key(node), [])
        found = [*rows, *before]
        before += rows
        return found


class AccumulatesByPlan(Accumulates):
    kept: dict[Any, Rows] = {}

    def key(self, node: Operator) -> Any:
        return str(node)


class LeavesChild(Plain):
    def result(self, node: Operator) -> Rows:
        LEFT.append(subprocess.Popen(["sleep", "600"]))
        return super().result(node)


class LeavesFile(Plain):
    def result(self, node: Operator) -> Rows:
        with tempfile.NamedTemporaryFile(delete=False):
            return super().result(node)


class LeavesDescriptor(Plain):
    def result(self, node: Operator) -> Rows:
        LEFT.append(open(os.devnull, "rb"))  # noqa: SIM115
        return super().result(node)


def end_what_is_left() -> None:
    """End what mutants left behind."""
    while LEFT:
        left = LEFT.pop()
        if isinstance(left, subprocess.Popen):
            left.kill()
            left.wait()
        else:
            left.close()


def _functions() -> Iterator[PlainMutant]:
    """Yield mistakes in expressions."""
    none = lambda f: lambda *values: None if None in values else f(*values)  # noqa: E731
    yield _calling("length is in bytes", "char_length", none(lambda s: len(s.encode())))
    yield _calling("contains takes a pattern", "contains", none(lambda s, p: bool(re.search(p, s))))
    yield _calling("NULL_IF is inverted", "null_if", lambda a, b: a if a == b else None)
    yield _instead("the last condition of a CASE wins", _last_first)
    yield _instead("IN loses NULL", _without_null)
    yield _instead("LIKE knows no escape", _without_escape)
    yield _renamed("LIKE ignores case", "like", "ilike")
    yield _calling("positions count from 0", "substring", none(lambda s, at, n=99: s[at:][:n]))
    yield _calling("NULL is like itself", "eq", lambda a, b: a == b)
    yield _renamed("is distinct is unequal", "is_distinct", "ne")
    yield _renamed("is not distinct is equal", "is_not_distinct", "eq")
    yield _calling("NULL and true is false", "and", lambda *values: all(v is True for v in values))
    yield _calling("not NULL is true", "not", lambda v: v is not True)
    yield _calling("COALESCE takes its last value", "coalesce", lambda *values: values[-1])
    yield _renamed("starts_with finds it anywhere", "starts_with", "contains")
    yield _renamed("ends_with finds it anywhere", "ends_with", "contains")
    yield _renamed("trim cuts the left end only", "trim", "ltrim")
    yield _calling("NULL in a concatenation is empty", "concat", lambda *values: "".join(v or "" for v in values))
    yield _calling("round goes to even", "round", none(lambda v, n=0: round(v, n)))
    yield _calling("floor cuts", "floor", none(lambda v: type(v)(int(v))))
    yield _calling("int_divide floors", "int_divide", none(lambda a, b: a // b))
    yield _calling("modulo has the divisor's sign", "modulo", none(lambda a, b: a % b))
    yield _calling("the week begins on Monday", "day_of_week", none(lambda v: v.weekday()))
    yield _calling("seconds are rounded", "second", none(lambda v: round(v.second + v.microsecond / 1e6)))
    yield PlainMutant("the dialect is ignored", (Project,), hears=lambda _: DEFAULT)
    yield PlainMutant("casts always cut digits off", (Project,), hears=lambda d: replace(d, to_integer="truncate"))
    yield PlainMutant("a filter keeps NULL", (Filter,), FilterKeepsNull)
    yield _rows("int64 are compared as floats", (Filter,), _values(_as_float))
    yield _rows("timestamps are in milliseconds", (Filter,), _values(_in_milliseconds))
    yield _rows("text is composed", (Aggregate,), _values(_composed))
    yield _rows("only the first 30,000 rows are read", (Filter,), lambda rows: rows[:30_000])


def _joins() -> Iterator[PlainMutant]:
    yield _node("only the first of two join keys is compared", Join, _keys(slice(1)))
    yield _node("only the last of two join keys is compared", Join, _keys(slice(-1, None)))
    yield PlainMutant("NULL is a key as 0 is", (Join,), NullsMatch)
    yield _node("left joins are inner ones", Join, _of("inner", "left"))
    yield _node("full joins are left ones", Join, _of("left", "full"))
    yield _answers("a semi join repeats a row", Join, _pairs_of_semi)
    yield PlainMutant("an anti join loses NULL", (Join,), NotIn)
    yield PlainMutant("a mark is never NULL", (Join,), MarksAreDecided)
    yield _node("a join's further condition is dropped", Join, lambda node: replace(node, residual=None))


def _groups() -> Iterator[PlainMutant]:
    yield _rows("sums leave out infinity", (Aggregate,), _values(_finite))
    yield _node("count distinct counts all", Aggregate, _measures("count_distinct", "count"))
    yield PlainMutant("only the first of two group keys is compared", (Aggregate,), FirstKeyGroups)
    yield _node("stddev is that of a population", Aggregate, _measures("stddev", "stddev_pop"))
    yield _node("UNION ALL removes duplicates", UnionAll, lambda node: Distinct(node))
    yield _answers("groups of NULL are lost without measures", Aggregate, _valid_groups)
    yield _answers("a skyline loses a row", Skyline, lambda _, rows: rows[1:])
    yield _answers("a limit is one too few", Limit, lambda _, rows: rows[1:])


def _sorts() -> Iterator[PlainMutant]:
    yield _pruned("pruning keeps a row too few", lambda top, rows, _: _first(top, rows, 1))
    yield _pruned("pruning forgets the offset", lambda top, rows, _: rows[: top.limit])
    yield _pruned("pruning cuts ties of the first key", _by_first_key)
    yield _pruned(
        "pruning drops NULL keys",
        lambda top, rows, run: _first(
            top, [r for r in rows if None not in [run.value(k.expression, r) for k in top.keys]]
        ),
    )
    yield _node("a top-n is sorted by its first key", Sort, lambda node: replace(node, keys=node.keys[:1]))


def _ends() -> Iterator[PlainMutant]:
    yield PlainMutant("groups of earlier jobs come again", (Aggregate,), Accumulates)
    yield PlainMutant("rows of an equal plan come again", (Filter,), AccumulatesByPlan)
    yield PlainMutant("a child outlives the job", (Filter,), LeavesChild)
    yield PlainMutant("a file is left behind", (Filter,), LeavesFile)
    yield PlainMutant("a descriptor stays open", (Filter,), LeavesDescriptor)


PLAIN_MUTANTS = (*_functions(), *_joins(), *_groups(), *_sorts(), *_ends())
