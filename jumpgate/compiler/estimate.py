"""Rows and bytes of every operator's output, from what is known about files and textbook selectivities.

Join sizes follow Selinger et al. (SIGMOD 1979): |L ⋈ R| = |L|·|R| / max(d(L), d(R)) for each key, d being the distinct
values of the unfiltered column. Where they are unknown, the rows of the smaller table behind a key stand for them,
which is exact for a foreign key. Where the values of a key that refers to another are few (the dates of sales among all
dates) those that a filter chooses are taken to be among them, as queries ask for data that is there. Several keys never
have more values than the larger table has rows.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Sequence

from jumpgate.compiler.plan import Exchange, Mapped, StatisticsFunction
from jumpgate.dataflow.expressions import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    InList,
    Literal,
    Value,
    conjuncts,
)
from jumpgate.dataflow.functions import find
from jumpgate.dataflow.functions_core import EQUAL, RANGE
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Prune,
    Read,
    Skyline,
    Sort,
    UnionAll,
    Window,
)
from jumpgate.dataflow.types import Schema
from jumpgate.nca.interface import ColumnStatistics, Completeness, Statistics
from jumpgate.nca.matching import pruned_leaf

#: what is known of a column of the expression's input
About = Callable[[ColumnRef], ColumnStatistics]

UNKNOWN, NOTHING = Statistics(), ColumnStatistics()
STRING_BYTES = 16  #: average length where nothing is known
GROUPS_PER_ROW = 0.1  #: groups of an aggregate whose keys say nothing
UNIQUE = 0.8  #: a column with so many distinct values a row is a key
PRUNED = 0.1  #: of the rows that do not matter, how many a pruning accelerator lets pass


def row_bytes(schema: Schema) -> int:
    """Bytes of one row as columns in memory."""
    return sum(STRING_BYTES if f.type.is_text else f.type.width for f in schema) + len(schema) // 8 + 1


def selectivity(predicate: Expression, about: About = lambda _: NOTHING) -> float:
    """The fraction of rows for which `predicate` is TRUE; `about` tells what is known of its columns."""
    if isinstance(predicate, Literal):
        return 1.0 if predicate.value else 0.0
    if isinstance(predicate, InList):
        return min(1.0, _equal(predicate.input, about) * len(predicate.options))
    if isinstance(predicate, Case) or not isinstance(predicate, Call):
        return 0.5
    if predicate.function == "and":
        return _conjunction(conjuncts(predicate), about)
    parts = [selectivity(a, about) for a in predicate.args if a.type.kind == "bool"]
    match predicate.function:
        case "or":
            missed = 1.0
            for part in parts:
                missed *= 1.0 - part
            return 1.0 - missed
        case "not":
            return 1.0 - parts[0] if parts else 0.5
        case "eq" | "is_not_distinct":
            return min(_equal(a, about) for a in predicate.args)
        case "ne" | "is_distinct":
            return 1.0 - min(_equal(a, about) for a in predicate.args)
        case "lt" | "le" | "gt" | "ge":
            found = _interval(predicate, about)
            return RANGE if found is None else _share(found[1], found[2], about(found[0]))
        case "is_null" | "is_not_null":
            argument = predicate.args[0]
            known = about(argument).null_fraction if isinstance(argument, ColumnRef) else None
            if known is not None:
                return known if predicate.function == "is_null" else 1.0 - known
    return find(predicate.function).selectivity


def _equal(side: Expression, about: About) -> float:
    """The share of rows in which `side` has one certain value; 1 where it always has."""
    if isinstance(side, Literal):
        return 1.0
    while isinstance(side, Cast):
        side = side.input
    distinct = about(side).distinct if isinstance(side, ColumnRef) else None
    return EQUAL if distinct is None else 1.0 / max(1.0, distinct)


def _conjunction(terms: Sequence[Expression], about: About) -> float:
    """The product of the terms, but one share for all bounds of a column."""
    bounds: dict[ColumnRef, tuple[float, float]] = {}
    product = 1.0
    for term in terms:
        found = _interval(term, about)
        if found is None:
            product *= selectivity(term, about)
            continue
        column, low, high = found
        before = bounds.get(column, (-math.inf, math.inf))
        bounds[column] = (max(low, before[0]), min(high, before[1]))
    for column, (low, high) in bounds.items():
        product *= _share(low, high, about(column))
    return product


def _interval(term: Expression, about: About) -> tuple[ColumnRef, float, float] | None:
    """The column and the interval of a comparison with a literal, if the column's bounds are known."""
    if not isinstance(term, Call) or term.function not in ("lt", "le", "gt", "ge"):
        return None
    a, b = term.args
    below = term.function in ("lt", "le")
    if isinstance(a, Literal):
        a, b, below = b, a, not below
    while isinstance(a, Cast):
        a = a.input
    if not isinstance(a, ColumnRef) or not isinstance(b, Literal) or about(a).low is None or about(a).high is None:
        return None
    place = _place(b.value)
    if place is None:
        return None
    return (a, -math.inf, place) if below else (a, place, math.inf)


def _share(low: float, high: float, known: ColumnStatistics) -> float:
    """Of a column's values, how many lie between two, if they are spread evenly."""
    assert known.low is not None and known.high is not None
    least = 1.0 / max(1.0, known.distinct or 1 / EQUAL)
    width = known.high - known.low
    inside = min(high, known.high) - max(low, known.low)
    return max(least, min(1.0, inside / width)) if width > 0 else 1.0


def _place(value: Value) -> float | None:
    """A literal as ColumnStatistics has it: a number, days, microseconds."""
    match value:
        case bool() | None:
            return None
        case int() | float() | decimal.Decimal():
            return float(value)
        case datetime.datetime():
            return (value - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1)
        case datetime.date():
            return float((value - datetime.date(1970, 1, 1)).days)
    return None


#: operators whose first columns are those of their input
SAME_COLUMNS = Filter | Sort | Skyline | Limit | Exchange | Window


class Estimator:
    """Answers for any node of one compilation; remembers by identity, and so keeps the nodes alive."""

    def __init__(self, statistics: StatisticsFunction | None) -> None:
        self._statistics = statistics
        self._files: dict[tuple[object, ...], Statistics] = {}
        self._columns: dict[tuple[int, int], ColumnStatistics] = {}
        self._known: dict[int, tuple[Operator, Statistics]] = {}

    def files(self, read: Read) -> Statistics:
        """What is known about the files themselves: all rows, and their bytes on disk."""
        key = (read.files, read.format, read.options)
        if key not in self._files:
            self._files[key] = self._statistics(*key) if self._statistics else UNKNOWN
        return self._files[key]

    def of(self, node: Operator) -> Statistics:
        """Rows and bytes of `node`'s output; unknown where any file below is."""
        found = self._known.get(id(node))
        if found is None:
            rows = self._rows(node)
            bytes = None if rows is None else rows * row_bytes(node.schema)
            found = self._known[id(node)] = (node, Statistics(rows, bytes))
        return found[1]

    def input_bytes(self, node: Operator) -> float | None:
        """Bytes that `node` itself takes in: of its files, or of its inputs' outputs."""
        if isinstance(node, Read):
            return self.files(node).bytes
        total = 0.0
        for child in node.inputs:
            bytes = self.of(child).bytes
            if bytes is None:
                return None
            total += bytes
        return total

    def base_rows(self, node: Operator, key: Expression) -> float | None:
        """Rows of the unfiltered table (or of the groups) in which the key column originates."""
        origin, _ = self.origin(node, key)
        return self.files(origin).rows if isinstance(origin, Read) else self.of(origin).rows

    def column(self, node: Operator, key: Expression) -> ColumnStatistics:
        """What is known of the file's column in which `key` (over `node`'s output) originates."""
        origin, column = self.origin(node, key)
        if not isinstance(origin, Read) or not isinstance(column, ColumnRef):
            return NOTHING
        look = self.files(origin).column
        field = origin.schema[column.index]
        place = (id(origin), column.index)
        if look is not None and place not in self._columns:
            self._columns[place] = look(field.name, field.type)
            self.of(origin)  # keeps it alive
        return self._columns.get(place, NOTHING)

    def origin(self, node: Operator, key: Expression) -> tuple[Operator, Expression]:
        """The lowest node of which `key` is a column, and that column."""
        while True:
            while isinstance(key, Cast):
                key = key.input
            if not isinstance(key, ColumnRef):
                return node, key
            index = key.index
            if isinstance(node, Project):
                key, node = node.expressions[index], node.input
            elif isinstance(node, Join) and index < len(node.left.schema) + len(node.right.schema):
                width = len(node.left.schema)
                if index < width or node.type in ("semi", "anti"):
                    node = node.left
                elif node.type == "mark":
                    return node, key
                else:
                    node, key = node.right, ColumnRef(key.type, index - width)
            elif isinstance(node, Filter | Sort | Skyline | Limit | Exchange | Window) and index < len(
                node.input.schema
            ):
                node = node.input
            else:
                return node, key

    def _rows(self, node: Operator) -> float | None:
        if isinstance(node, Read):
            return self.files(node).rows
        if isinstance(node, Mapped):
            return self._mapped(node)
        inputs = [self.of(i).rows for i in node.inputs]
        known = [r for r in inputs if r is not None]
        if not inputs or len(known) < len(inputs):
            return None
        rows = known[0]
        match node:
            case Filter():
                return rows * selectivity(node.predicate, lambda c: self.column(node.input, c))
            case Join():
                return self._join(node, known[0], known[1])
            case Aggregate():
                return self._groups(node.input, node.keys, rows)
            case Distinct():
                return max(1.0, rows * 0.5)
            case Limit():
                return min(rows, float(node.count))
            case Sort() if node.limit is not None:
                return min(rows, float(node.limit))
            case Skyline():
                return max(1.0, math.sqrt(rows))
            case UnionAll():
                return sum(known)
            case Prune():
                return rows
        return rows

    def _join(self, node: Join, left: float, right: float) -> float:
        matched = left * right
        if node.left_keys:
            values, most = 1.0, 1.0
            limit = math.inf
            for lk, rk in zip(node.left_keys, node.right_keys, strict=True):
                bases = self.base_rows(node.left, lk) or left, self.base_rows(node.right, rk) or right
                a, b = self.column(node.left, lk).distinct, self.column(node.right, rk).distinct
                if a is None or b is None:
                    values *= min(bases)
                elif a < b and b >= UNIQUE * bases[1]:  # a foreign key: every value chosen on the right occurs
                    values, limit = values * a, min(limit, left)
                elif b < a and a >= UNIQUE * bases[0]:
                    values, limit = values * b, min(limit, right)
                else:
                    values *= max(a, b)
                most = max(most, *bases)
            matched = min(limit, matched / max(1.0, min(values, most)))
        if node.residual is not None:
            matched *= selectivity(node.residual)
        match node.type:
            case "left":
                return max(matched, left)
            case "right":
                return max(matched, right)
            case "full":
                return max(matched, left, right)
            case "semi":
                return min(matched, left)
            case "anti":
                return max(left - matched, left * GROUPS_PER_ROW)
            case "mark":
                return left
        return matched

    def _groups(self, node: Operator, keys: tuple[Expression, ...], rows: float) -> float:
        if not keys:
            return 1.0
        groups = 1.0
        for key in keys:
            distinct = self.column(node, key).distinct or self.base_rows(node, key)
            groups *= min(distinct if distinct is not None else rows, max(1.0, rows * GROUPS_PER_ROW))
            if groups >= rows * 0.5:
                return max(1.0, rows * 0.5)
        return max(1.0, groups)

    def _mapped(self, node: Mapped) -> float | None:
        result = self.of(node.match.operators[0]).rows
        if node.match.completeness is not Completeness.PRUNE or result is None:
            return result
        before = self.of(pruned_leaf(node.match.operators)).rows
        return result if before is None else min(before, result + (before - min(before, result)) * PRUNED)
