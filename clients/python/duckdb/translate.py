"""DuckDB's plans as dataflows, node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, singledispatchmethod
from typing import Protocol

import pyarrow as pa

from jumpgate.client.duckdb import plan as p
from jumpgate.client.duckdb.aggregates import Aggregated, only_rows
from jumpgate.client.duckdb.expressions import Constant
from jumpgate.client.duckdb.functions import as_type
from jumpgate.client.duckdb.quantified import COMPARED, marked
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scalars import Scalars
from jumpgate.client.duckdb.scans import Scan
from jumpgate.client.duckdb.types import BOOLEAN, SqlType
from jumpgate.client.duckdb.undelim import undelim
from jumpgate.client.duckdb.windows import translate_windows
from jumpgate.dataflow.casts import TypeMismatch, cannot_fail
from jumpgate.dataflow.expressions import Expression, Literal, conjunction
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.joins import cross
from jumpgate.dataflow.nested import compared_nested
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Limit,
    Operator,
    Project,
    Read,
    Sort,
    Unnest,
    column,
)
from jumpgate.dataflow.substrait.dependent import one_row
from jumpgate.dataflow.substrait.joins import read_join
from jumpgate.dataflow.substrait.reader import select
from jumpgate.dataflow.substrait.sets import read_set
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.ntf.codec import arrow_type

_JOINS = {
    "INNER": "JOIN_TYPE_INNER", "LEFT": "JOIN_TYPE_LEFT", "RIGHT": "JOIN_TYPE_RIGHT", "FULL": "JOIN_TYPE_OUTER",
    "SEMI": "JOIN_TYPE_LEFT_SEMI", "ANTI": "JOIN_TYPE_LEFT_ANTI", "RIGHT_SEMI": "JOIN_TYPE_RIGHT_SEMI",
    "RIGHT_ANTI": "JOIN_TYPE_RIGHT_ANTI", "MARK": "JOIN_TYPE_LEFT_MARK", "SINGLE": "JOIN_TYPE_LEFT",
}  # fmt: skip
_SETS = {("UNION", True): "UNION_ALL", ("UNION", False): "UNION_DISTINCT",
         ("EXCEPT", True): "MINUS_PRIMARY_ALL", ("EXCEPT", False): "MINUS_PRIMARY",
         ("INTERSECT", True): "INTERSECTION_MULTISET_ALL", ("INTERSECT", False): "INTERSECTION_MULTISET"}  # fmt: skip


class Sources(Protocol):
    """Where a plan's leaves are read from."""

    def scan(self, scan: Scan, wanted: set[int]) -> Operator:
        """How accelerators read the scan's table: all of its columns in the scan's order, of which some are wanted.
        Raises Stays."""

    def rows(self, table: pa.Table, types: Sequence[DataType]) -> Read:
        """How they read rows that are part of the plan, whose columns have these types."""


@dataclass(frozen=True)
class Part:
    """An operator, and the types of its columns in DuckDB; None: nothing may read that one."""

    operator: Operator
    types: tuple[SqlType | None, ...]

    @property
    def scalars(self) -> Scalars:
        """A translator of expressions over its columns."""
        return Scalars(self.operator.schema, self.types)

    def kept(self, columns: tuple[int, ...]) -> Part:
        """Return the part with the columns that are named; all where none is."""
        if not columns:
            return self
        if any(not 0 <= i < len(self.types) for i in columns):
            raise Stays("an operator keeps a column that it does not have")
        return Part(select(self.operator, columns), tuple(self.types[i] for i in columns))


def translate(node: p.Node, sources: Sources) -> Part:
    """The dataflow of a whole plan. Raises Stays."""
    try:
        found = Translator(sources).part(node)
    except (Unmapped, TypeMismatch) as error:
        raise Stays(str(error)) from None
    if refused := [reason for operator in found.operator.walk() for reason in compared_nested(operator)]:
        raise Stays(refused[0])
    return found


@dataclass
class Translator:
    """Translates one plan. `_ctes`: parts by their numbers; `_distinct`: of the delim joins around a node."""

    sources: Sources
    _ctes: dict[int, Part] = field(default_factory=dict)
    _distinct: list[Part] = field(default_factory=list)
    #: parts whose width was asked for, by the identity of their nodes
    _known: dict[int, Part] = field(default_factory=dict)

    def part(self, node: p.Node) -> Part:
        """The part that the node is, with all below it."""
        found = self._known.pop(id(node), None) or self._part(node)
        if len(found.types) != len(found.operator.schema):
            raise Stays(f"{type(node).__name__} has other columns as a dataflow")
        return found

    def _width(self, node: p.Node) -> int:
        """How many columns the node has, which is translated soon."""
        self._known[id(node)] = found = self.part(node)
        return len(found.types)

    def _input(self, node: p.Node) -> Part:
        if len(node.children) != 1:
            raise Stays(f"{type(node).__name__} of {len(node.children)} inputs is not known")
        return self.part(node.children[0])

    @singledispatchmethod
    def _part(self, node: p.Node) -> Part:
        raise Stays(f"operator {type(node).__name__} is not offloaded")

    @_part.register
    def _(self, node: p.Get) -> Part:
        types = node.scan.types
        needed = sorted({i for i in node.columns if i is not None} | {f.column for f in node.filters})
        carriers = [types[i].carrier for i in needed]
        wanted = needed or [i for i, type in enumerate(types) if type.is_carried][:1]  # rows are counted by one
        if not wanted:
            raise Stays("a table without a column that is offloaded")
        read = select(self.sources.scan(node.scan, set(wanted)), wanted)
        found = _carried(read, carriers, [node.scan.names[i] for i in wanted])
        place = {column: position for position, column in enumerate(wanted)}
        terms = []
        for item in node.filters:
            at = column(found.schema, place[item.column])
            term = Scalars(Schema((found.schema[at.index],)), (types[item.column],)).read(item.condition)
            terms.append(term.remap(partial(_instead, at)))
        if terms:
            found = Filter(found, conjunction(tuple(terms)))
        if None not in node.columns:
            numbers = tuple(i for i in node.columns if i is not None)
            return Part(select(found, [place[i] for i in numbers]), tuple(types[i] for i in numbers))
        nothing = Literal(BOOLEAN.carrier.with_nullable(False), True)
        values = tuple(nothing if i is None else column(found.schema, place[i]) for i in node.columns)
        names = tuple("rows" if i is None else node.scan.names[i] for i in node.columns)
        return Part(Project(found, values, names), tuple(None if i is None else types[i] for i in node.columns))

    @_part.register
    def _(self, node: p.Rows) -> Part:
        carriers = [t.carrier.with_nullable(True) for t in node.types]
        columns = [_array([row[i].value for row in node.rows], type) for i, type in enumerate(carriers)]
        names = [f"c{i}" for i in range(len(columns))]
        if not columns:  # rows without columns
            carriers, columns, names = [BOOLEAN.carrier], [pa.array([True] * len(node.rows))], ["rows"]
        return Part(self.sources.rows(pa.table(columns, names), carriers), node.types or (None,))

    @_part.register
    def _(self, node: p.Filter) -> Part:
        found = self._input(node)
        terms = found.scalars.all(node.predicates)
        operator = Filter(found.operator, conjunction(terms)) if terms else found.operator
        return Part(operator, found.types).kept(node.kept)

    @_part.register
    def _(self, node: p.Projection) -> Part:
        counted = all(isinstance(e, Constant) for e in node.expressions)  # as of EXISTS
        limits = [child for child in node.children if isinstance(child, p.Limit)]
        found = self._limited(limits[0], any_rows=True) if counted and limits else self._input(node)
        values = found.scalars.all(node.expressions)
        names = tuple(f"c{i}" for i in range(len(values)))
        return Part(Project(found.operator, values, names), tuple(b.type for b in node.expressions))

    @_part.register
    def _(self, node: p.Aggregate) -> Part:
        found = self._input(node)
        aggregated = Aggregated(node, found.operator, found.scalars)
        return Part(aggregated.operator(), aggregated.types)

    @_part.register
    def _(self, node: p.Join) -> Part:
        if node.type not in _JOINS or len(node.children) != 2:
            raise Stays(f"a join of type {node.type} is not offloaded")
        if node.distinct:
            node = undelim(node, self._width) or node
        left, right = self._sides(node)
        conditions = [(c.function, left.scalars.read(c.left), right.scalars.read(c.right)) for c in node.conditions]
        for item in node.conditions:
            if item.left.type != item.right.type:
                raise Stays("a join condition of two types is not offloaded")
        if node.type == "MARK" and not node.is_exists and len(conditions) == 1 and conditions[0][0] in COMPARED:
            if node.conditions[0].left.type.id == "FLOAT":
                raise Stays("ANY and ALL of FLOAT are not offloaded")
            operator = marked(left.operator, right.operator, *conditions[0])
            return _joined(node, Part(operator, _columns(node.type, left, right)), len(left.types))
        for item in node.conditions:
            if node.type in ("MARK", "SINGLE") and item.function not in ("eq", "is_not_distinct"):
                raise Stays("ANY, ALL and scalar subqueries but for equality are not offloaded")
        if node.type == "MARK" and not node.is_exists and sum(function == "eq" for function, _, _ in conditions) > 1:
            raise Stays("IN of several columns at once has NULLs of DuckDB's own")
        width = len(left.types)
        source = right.operator
        if node.type == "SINGLE":
            source = only_rows(source, tuple(value for _, _, value in conditions))
            keys = range(len(right.types), len(source.schema))
            conditions = [(f, a, column(source.schema, i)) for (f, a, _), i in zip(conditions, keys, strict=True)]
        both = Schema((*left.operator.schema, *source.schema))
        terms = [bind(f, (a, b.remap(lambda i: column(both, width + i)))) for f, a, b in conditions]
        condition = conjunction(tuple(terms)) if terms else None
        operator = read_join(left.operator, source, _JOINS[node.type], condition, datafusion=node.is_exists)
        types = _columns(node.type, left, right)
        return _joined(node, Part(select(operator, range(len(types))), types), width)

    @_part.register
    def _(self, node: p.AnyJoin) -> Part:
        if node.type not in _JOINS or node.type in ("MARK", "SINGLE"):
            raise Stays(f"a join of type {node.type} under any condition is not offloaded")
        left, right = map(self.part, node.children)
        both = Schema((*left.operator.schema, *right.operator.schema))
        condition = Scalars(both, (*left.types, *right.types)).read(node.condition)
        operator = read_join(left.operator, right.operator, _JOINS[node.type], condition, datafusion=False)
        return _joined(node, Part(operator, _columns(node.type, left, right)), len(left.types))

    def _sides(self, node: p.Join) -> tuple[Part, Part]:
        """Both inputs; those of a delim join see the distinct values of its columns."""
        if not node.distinct:
            return self.part(node.children[0]), self.part(node.children[1])
        whole = self.part(node.children[1 if node.flipped else 0])
        keys = whole.scalars.all(node.distinct)
        names = tuple(f"d{i}" for i in range(len(keys)))
        values = Aggregate(whole.operator, keys, names, ())
        with self._delimited(Part(values, tuple(b.type for b in node.distinct))):
            other = self.part(node.children[0 if node.flipped else 1])
        return (other, whole) if node.flipped else (whole, other)

    @contextmanager
    def _delimited(self, values: Part) -> Iterator[None]:
        self._distinct.append(values)
        try:
            yield
        finally:
            self._distinct.pop()

    @_part.register
    def _(self, node: p.DelimGet) -> Part:
        for values in reversed(self._distinct):
            if values.types == node.types:
                return values
            break
        raise Stays("a correlated subquery in another is not offloaded")

    @_part.register
    def _(self, node: p.CrossProduct) -> Part:
        left, right = map(self.part, node.children)
        return Part(cross(left.operator, right.operator), (*left.types, *right.types))

    @_part.register
    def _(self, node: p.Sort) -> Part:
        found = self._input(node)
        keys = found.scalars.keys(node.orders)
        if not keys:
            raise Stays("an order without keys is not known")
        return Part(Sort(found.operator, keys, node.limit, node.offset), found.types).kept(node.kept)

    @_part.register
    def _(self, node: p.Limit) -> Part:
        return self._limited(node, any_rows=False)

    def _limited(self, node: p.Limit, any_rows: bool) -> Part:
        """The first rows, or any, where only their number counts."""
        found = self._input(node)
        operator = found.operator
        if isinstance(operator, Sort) and operator.limit is None and node.count is not None:
            return Part(Sort(operator.input, operator.keys, node.count, node.offset), found.types)
        if not any_rows and not one_row(operator) and not is_sorted(operator):
            raise Stays("LIMIT without ORDER BY takes the rows that come first")
        count = (1 << 63) - 2 if node.count is None else node.count
        return Part(Limit(operator, count, node.offset), found.types)

    @_part.register
    def _(self, node: p.Distinct) -> Part:
        found = self._input(node)
        positions = [getattr(target, "index", None) for target in node.targets]
        if positions != list(range(len(found.types))):
            raise Stays("DISTINCT ON takes the rows that come first")
        return Part(Distinct(found.operator), found.types)

    @_part.register
    def _(self, node: p.SetOperation) -> Part:
        parts = [self.part(child) for child in node.children]
        if any(part.types != parts[0].types or None in part.types for part in parts):
            raise Stays(f"{node.name} of several types is not offloaded")
        operator = read_set(_SETS[node.name, node.is_all], [part.operator for part in parts])
        return Part(operator, parts[0].types)

    @_part.register
    def _(self, node: p.Window) -> Part:
        found = self._input(node)
        return Part(*translate_windows(node.calls, found.operator, found.types))

    @_part.register
    def _(self, node: p.Unnest) -> Part:
        found = self._input(node)
        (list,) = found.scalars.all((node.elements.list,))
        if list.type.kind != "list" or list.type.parts[0].type.name != node.elements.type.carrier.name:
            raise Stays(f"UNNEST of a {node.elements.list.type.id} is not offloaded")
        return Part(Unnest(found.operator, list, "element"), (*found.types, node.elements.type))

    @_part.register
    def _(self, node: p.Cte) -> Part:
        definition, query = node.children
        self._ctes[node.number] = self.part(definition)
        return self.part(query)

    @_part.register
    def _(self, node: p.CteRef) -> Part:
        if node.number not in self._ctes:
            raise Stays("a recursive CTE is not offloaded")
        found = self._ctes[node.number]
        if found.types != node.types:
            raise Stays("a CTE is read with other columns than it has")
        return found


def _columns(type: str, left: Part, right: Part) -> tuple[SqlType | None, ...]:
    if type in ("SEMI", "ANTI"):
        return left.types
    if type in ("RIGHT_SEMI", "RIGHT_ANTI"):
        return right.types
    if type == "MARK":
        return (*left.types, BOOLEAN)
    return (*left.types, *right.types)


def _joined(node: p.Join | p.AnyJoin, part: Part, width: int) -> Part:
    """The columns that the join keeps of each side."""
    if not node.left_kept and not node.right_kept:
        return part
    if node.type in ("RIGHT_SEMI", "RIGHT_ANTI"):
        return part.kept(node.right_kept)
    left = node.left_kept or tuple(range(width))
    right = node.right_kept or tuple(range(len(part.types) - width))
    return part.kept((*left, *(width + i for i in right)))


def is_sorted(operator: Operator) -> bool:
    """Return whether the rows come in an order that the plan says."""
    while isinstance(operator, Project | Filter):
        operator = operator.input
    return isinstance(operator, Sort)


def _carried(read: Operator, carriers: list[DataType], names: list[str]) -> Operator:
    """The columns as DuckDB's values travel: integers may be narrower in the files. Raises Stays."""
    columns = [column(read.schema, i) for i in range(len(read.schema))]
    values: list[Expression] = [*columns]
    for i, (carrier, name) in enumerate(zip(carriers, names, strict=False)):
        ours = columns[i].type
        wider = "int" in ours.kind and (carrier.is_integer or carrier.kind == "decimal") and cannot_fail(ours, carrier)
        elsewhere = ours.kind == carrier.kind == "timestamptz"  # the same moments, seen in another zone
        if not ours.same(carrier) and not wider and not elsewhere:
            raise Stays(f"column '{name}' is a {carrier.name} for DuckDB and a {ours.name} for Jumpgate")
        values[i] = as_type(columns[i], carrier)
    return read if values == columns else Project(read, tuple(values), read.schema.names)


def _instead(value: Expression, _index: int) -> Expression:
    """The value in the place of any column."""
    return value


def _array(values: list[object], type: DataType) -> pa.Array:
    return pa.array(values, arrow_type(type))
