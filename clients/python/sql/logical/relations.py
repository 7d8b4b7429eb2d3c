"""Nodes of DataFusion's plans as dataflows, bottom up; what is none says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from jumpgate.client.sql.logical import antijoins
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.aggregates import read_aggregate
from jumpgate.client.sql.logical.expressions import ExpressionReader
from jumpgate.client.sql.logical.inline import read_values
from jumpgate.client.sql.logical.nodes import Node
from jumpgate.client.sql.logical.sorts import read_sorts
from jumpgate.client.sql.logical.types import agree
from jumpgate.client.sql.logical.windows import read_windows
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import Expression, conjunction
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import (
    Distinct,
    Filter,
    Limit,
    Operator,
    Project,
    Read,
    Sort,
    column,
    cross,
)
from jumpgate.dataflow.substrait import joins
from jumpgate.dataflow.substrait.growing import one_row, only_row
from jumpgate.dataflow.substrait.reader import select
from jumpgate.dataflow.substrait.sets import read_set
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import Schema

#: nodes on one path from the root; deeper ones are Kept
DEPTH_MAX = 150
#: a limit that is none
ALL_ROWS = (1 << 63) - 1
_JOINS = {
    pb.Join.INNER: "JOIN_TYPE_INNER",
    pb.Join.LEFT: "JOIN_TYPE_LEFT",
    pb.Join.RIGHT: "JOIN_TYPE_RIGHT",
    pb.Join.FULL: "JOIN_TYPE_OUTER",
    pb.Join.LEFT_SEMI: "JOIN_TYPE_LEFT_SEMI",
    pb.Join.LEFT_ANTI: "JOIN_TYPE_LEFT_ANTI",
    pb.Join.RIGHT_SEMI: "JOIN_TYPE_RIGHT_SEMI",
    pb.Join.RIGHT_ANTI: "JOIN_TYPE_RIGHT_ANTI",
    pb.Join.LEFT_MARK: "JOIN_TYPE_LEFT_MARK",
    pb.Join.RIGHT_MARK: "JOIN_TYPE_RIGHT_MARK",
}


@dataclass(frozen=True)
class Kept:
    """A node that is not a dataflow, and why."""

    reason: str


class Reader:
    """Reads the nodes of one plan. tables: reads of the tables that accelerators can read, by name; numbers: gives
    that of a table for VALUES, None where accelerators cannot read what is in the client.

    Equal nodes become one operator, so that what a query holds twice is computed once.
    """

    def __init__(self, tables: Mapping[str, Operator], numbers: Callable[[], Read] | None = None) -> None:
        self._tables, self._numbers = tables, numbers
        self._known: dict[int, tuple[Node, Operator | Kept]] = {}  # by id of the node, which it keeps alive
        self._operators: dict[tuple[object, ...], Operator] = {}
        self._interned: dict[int, Operator] = {}
        self._depth = 0

    def relation(self, node: Node) -> Operator | Kept:
        """The dataflow that `node` is."""
        if id(node) not in self._known:
            self._depth += 1
            try:
                if self._depth > DEPTH_MAX:
                    raise Unmapped(f"more than {DEPTH_MAX} operators are nested")
                found: Operator | Kept = self._intern(self._checked(node))
            except (Unmapped, TypeMismatch) as error:
                found = Kept(str(error))
            finally:
                self._depth -= 1
            self._known[id(node)] = node, found
        return self._known[id(node)][1]

    def _checked(self, node: Node) -> Operator:
        """The dataflow, with the columns that DataFusion says it has."""
        reader = RELATIONS.get(node.kind)
        if reader is None:
            raise Unmapped(f"{node.described} is not known")
        body = getattr(node.plan, node.kind)
        if node.kind != "scan" and _newer(body):
            raise Unmapped(f"{node.described} has fields of another version of DataFusion")
        found = reader(self, node, body)
        if len(found.schema) != len(node.types):
            raise Unmapped(f"{node.described} has {len(node.types)} columns in DataFusion, {len(found.schema)} here")
        for position, (ours, theirs) in enumerate(zip(found.schema, node.types, strict=True)):
            if not agree(ours.type, theirs):
                name = node.schema.names[position]
                raise Unmapped(f"column '{name}' is {theirs} in DataFusion and {ours.type.name} here")
        return found

    def _intern(self, node: Operator) -> Operator:
        """The one operator that is equal to `node`."""
        if id(node) in self._interned:
            return node
        inputs = tuple(map(self._intern, node.inputs))
        if any(a is not b for a, b in zip(inputs, node.inputs, strict=True)):
            node = node.with_inputs(inputs)
        own = (getattr(node, f.name) for f in fields(node) if f.name not in ("input", "left", "right", "members"))
        key = (type(node), *map(id, inputs), *own)
        found = self._operators.setdefault(key, node)
        self._interned[id(found)] = found
        return found

    def _input(self, node: Node, which: int = 0) -> Operator:
        """The dataflow that one of its inputs is; raises Unmapped."""
        return self._mapped(node.children[which])

    def _mapped(self, node: Node) -> Operator:
        found = self.relation(node)
        if isinstance(found, Kept):
            raise Unmapped(found.reason)
        return found

    def _expressions(self, node: Node, which: int = 0) -> ExpressionReader:
        child = node.children[which]
        return ExpressionReader(self._input(node, which).schema, child.flat_names, child.types)

    def _beside(self, node: Node) -> tuple[_Grown, ExpressionReader]:
        """The input, which grows by a column for each subquery that is read, and the reader."""
        child = node.children[0]
        grown = _Grown(self, node, self._input(node))
        return grown, ExpressionReader(grown.node.schema, child.flat_names, child.types, grown.subquery)

    def _scan(self, node: Node, scan: pb.Scan) -> Operator:
        name = table_name(scan.table)
        if name not in self._tables:
            raise Unmapped(f"table '{name}' is only in the client's memory")
        table = self._tables[name]
        positions = {f.name: i for i, f in enumerate(table.schema)}
        wanted = [positions[column] for column in scan_columns(scan)]
        for field in (table.schema[i] for i in wanted):
            if field.type.is_opaque:
                raise Unmapped(f"column '{field.name}' is a {field.type.name}, which accelerators do not read")
        return select(table, wanted)  # its filters are hints; Filters above decide

    def _projection(self, node: Node, projection: pb.Projection) -> Operator:
        grown, reader = self._beside(node)
        computed = tuple(reader.read(e) for e in projection.exprs)
        positions = [getattr(e, "index", -1) for e in computed]
        if all(p >= 0 for p in positions):
            return select(grown.node, positions)
        names = tuple(getattr(e, "name", "") or f"c{i}" for i, e in enumerate(computed))
        return Project(grown.node, computed, names)

    def _filter(self, node: Node, filter: pb.Filter) -> Operator:
        grown, reader = self._beside(node)
        width = len(grown.node.schema)
        predicate = reader.predicate(filter.predicate)
        return select(Filter(grown.node, predicate), range(width))

    def _limit(self, node: Node, limit: pb.Limit) -> Operator:
        found, offset = self._input(node), max(0, limit.skip)
        count = limit.fetch if 0 <= limit.fetch < ALL_ROWS else ALL_ROWS - 1
        if isinstance(found, Sort) and found.limit is None and count != ALL_ROWS - 1:
            return Sort(found.input, found.keys, count, offset)
        return Limit(found, count, offset)

    def _sort(self, node: Node, sort: pb.Sort) -> Operator:
        found, keys = self._input(node), read_sorts(sort.keys, self._expressions(node))
        if sort.fetch >= 0:
            return Sort(found, keys, sort.fetch) if keys else Limit(found, sort.fetch)
        return Sort(found, keys) if keys else found

    def _aggregate(self, node: Node, aggregate: pb.Aggregate) -> Operator:
        return read_aggregate(aggregate, self._input(node), self._expressions(node))

    def _window(self, node: Node, window: pb.Window) -> Operator:
        return read_windows(window, self._input(node), self._expressions(node))

    def _join(self, node: Node, join: pb.Join) -> Operator:
        if antijoins.is_correlated(join):
            own = pb.Join()
            own.CopyFrom(join)
            antijoins.rewrite(own)
            join = own
        left, right = self._input(node), self._input(node, 1)
        a, b = node.children
        sides = self._expressions(node), self._expressions(node, 1)
        width = len(left.schema)
        terms: list[Expression] = []
        for one, other in zip(join.left_keys, join.right_keys, strict=True):
            x, y = sides[0].read(one), sides[1].read(other).remap(partial(_column_of, right, width))
            terms.append(bind("is_not_distinct" if join.nulls_are_equal else "eq", (x, y)))
        if join.HasField("filter"):
            schema = Schema((*left.schema, *right.schema))
            both = ExpressionReader(schema, (*a.flat_names, *b.flat_names), (*a.types, *b.types))
            terms.append(both.predicate(join.filter))
        condition = conjunction(tuple(terms)) if terms else None
        if join.null_aware:
            return _not_in(left, right, join, condition)
        if join.type not in _JOINS:
            raise Unmapped(f"join type {join.type} is of a newer DataFusion")
        return joins.read_join(left, right, _JOINS[join.type], condition, datafusion=True)

    def _cross_join(self, node: Node, join: pb.CrossJoin) -> Operator:
        return cross(self._input(node), self._input(node, 1))

    def _union(self, node: Node, union: pb.Union) -> Operator:
        return read_set("UNION_ALL", [self._mapped(child) for child in node.children])

    def _values(self, node: Node, values: pb.Values) -> Operator:
        if self._numbers is None:
            raise Unmapped("VALUES are only in the client's memory")
        return read_values(values, self._numbers())

    def _alias(self, node: Node, alias: pb.SubqueryAlias) -> Operator:
        return self._input(node)

    def _distinct(self, node: Node, distinct: pb.Distinct) -> Operator:
        return Distinct(self._input(node))

    def scalar(self, subquery: Node) -> Operator:
        """One row with the subquery's value; an error at run time if there are several."""
        found = self._mapped(subquery)
        if len(found.schema) != 1:
            raise Unmapped(f"a scalar subquery has {len(found.schema)} columns")
        return found if one_row(found) else only_row(found)


RELATIONS: dict[str, Callable[..., Operator]] = {
    "scan": Reader._scan,
    "projection": Reader._projection,
    "filter": Reader._filter,
    "limit": Reader._limit,
    "sort": Reader._sort,
    "aggregate": Reader._aggregate,
    "window": Reader._window,
    "join": Reader._join,
    "cross_join": Reader._cross_join,
    "union": Reader._union,
    "values": Reader._values,
    "subquery_alias": Reader._alias,
    "distinct": Reader._distinct,
}


class _Grown:
    """An input with one more column for each scalar subquery of the expressions over it."""

    def __init__(self, relations: Reader, at: Node, node: Operator) -> None:
        self._relations, self._at, self.node = relations, at, node

    def subquery(self, subquery: pb.Subquery) -> Expression:
        if subquery.plan.outer_columns:
            raise Unmapped("a correlated subquery is not known")
        encoded = subquery.plan.plan.SerializeToString(deterministic=True)
        found = next(s for s in self._at.subqueries if s.plan.SerializeToString(deterministic=True) == encoded)
        self.node = cross(self.node, self._relations.scalar(found))
        return column(self.node.schema, len(self.node.schema) - 1)


def _not_in(left: Operator, right: Operator, join: pb.Join, condition: Expression | None) -> Operator:
    """NOT IN: the rows whose mark is FALSE, neither TRUE nor NULL."""
    if join.type != pb.Join.LEFT_ANTI or join.HasField("filter") or len(join.left_keys) != 1:
        raise Unmapped("a NOT IN with further conditions is not known")
    marked = joins.read_join(left, right, "JOIN_TYPE_LEFT_MARK", condition, datafusion=False)
    width = len(left.schema)
    return select(Filter(marked, bind("not", (column(marked.schema, width),))), range(width))


def _column_of(right: Operator, width: int, index: int) -> Expression:
    """Column `index` of the right input as one of both."""
    found = column(right.schema, index)
    return type(found)(found.type, width + index, found.name)


def table_name(name: pb.TableName) -> str:
    """The last part of a table's name."""
    kind = name.WhichOneof("kind")
    return str(getattr(name, kind).table) if kind else ""


def scan_columns(scan: pb.Scan) -> list[str]:
    """Names of the columns that a scan reads."""
    return list(scan.projection.names) if scan.HasField("projection") else [f.name for f in scan.schema.fields]


def _newer(body: Message) -> bool:
    return len(UnknownFieldSet(body)) > 0
