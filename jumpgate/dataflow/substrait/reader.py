"""Relations of Substrait as dataflows, bottom up; what is none says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from substrait.algebra_pb2 import (
    AggregateRel,
    CrossRel,
    Expression,
    FetchRel,
    FilterRel,
    JoinRel,
    ProjectRel,
    ReadRel,
    Rel,
    SetRel,
    SortRel,
)
from substrait.plan_pb2 import Plan

from jumpgate.dataflow.casts import TypeMismatch, cast_type, common_type
from jumpgate.dataflow.expressions import Case, Cast, ColumnRef, Literal, conjunction
from jumpgate.dataflow.expressions import Expression as Scalar
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Measure,
    Operator,
    Project,
    Read,
    Sort,
    UnionAll,
    column,
    measure_type,
)
from jumpgate.dataflow.substrait import joins
from jumpgate.dataflow.substrait.aggregates import read_aggregate
from jumpgate.dataflow.substrait.expressions import DATAFUSION, ExpressionReader
from jumpgate.dataflow.substrait.files import read_files
from jumpgate.dataflow.substrait.sorts import read_sorts
from jumpgate.dataflow.substrait.types import Unmapped, read_type
from jumpgate.dataflow.substrait.windows import add_window
from jumpgate.dataflow.types import Schema, int64, string

#: relations on one path from the root; deeper ones are Kept
DEPTH_MAX = 150
#: rows of a fetch without a count
ALL_ROWS = 1 << 62


@dataclass(frozen=True)
class Kept:
    """A relation that is no dataflow, and why."""

    reason: str


class Reader:
    """Reads the relations of one plan. tables: what its named tables are, by their last name.

    Equal relations become one node, so that what a query holds twice is computed once.
    """

    def __init__(self, plan: Plan, tables: Mapping[str, Operator]) -> None:
        self._tables = tables
        self._functions = {
            e.extension_function.function_anchor: e.extension_function.name.partition(":")[0].lower()
            for e in plan.extensions
            if e.WhichOneof("mapping_type") == "extension_function"
        }
        self._datafusion = plan.version.producer == "datafusion"
        if self._datafusion:
            self._functions = {anchor: DATAFUSION.get(name, name) for anchor, name in self._functions.items()}
        self._known: dict[bytes, Operator | Kept] = {}
        self._depth = 0

    def relation(self, rel: Rel) -> Operator | Kept:
        """The dataflow that `rel` is; its columns are named as in its tables where they come from one."""
        key = rel.SerializeToString(deterministic=True)
        if key not in self._known:
            self._depth += 1
            try:
                if self._depth > DEPTH_MAX:
                    raise Unmapped(f"more than {DEPTH_MAX} relations are nested")
                self._known[key] = self._read(rel)
            except (Unmapped, TypeMismatch) as error:
                self._known[key] = Kept(str(error))
            finally:
                self._depth -= 1
        return self._known[key]

    def _read(self, rel: Rel) -> Operator:
        kind = rel.WhichOneof("rel_type") or ""
        reader = _READERS.get(kind)
        if reader is None:
            raise Unmapped(f"relation {kind.replace('_', ' ') or 'of no type'} is not known")
        body = getattr(rel, kind)
        node = reader(self, body)
        if not body.HasField("common") or body.common.WhichOneof("emit_kind") != "emit":
            return node
        return select(node, body.common.emit.output_mapping)

    def _input(self, rel: Rel) -> Operator:
        found = self.relation(rel)
        if isinstance(found, Kept):
            raise Unmapped(found.reason)
        return found

    def _table(self, rel: ReadRel) -> Operator:
        kind = rel.WhichOneof("read_type")
        if kind == "named_table":
            node = self._named_table(rel)
        elif kind == "local_files":
            node = read_files(rel.local_files, rel.base_schema)
        else:
            raise Unmapped(f"a read of {(kind or 'nothing').replace('_', ' ')} is not known")
        if rel.HasField("filter"):
            node = Filter(node, self._expressions(node).predicate(rel.filter))
        if rel.HasField("projection"):
            items = rel.projection.select.struct_items
            if any(item.HasField("child") for item in items):
                raise Unmapped("a read of a part of a column is not known")
            node = select(node, [item.field for item in items])
        return node

    def _named_table(self, rel: ReadRel) -> Operator:
        names = rel.named_table.names
        if not names or names[-1] not in self._tables:
            raise Unmapped(f"table '{'.'.join(names)}' is only in the client's memory")
        table = self._tables[names[-1]]
        by_name = {f.name: i for i, f in enumerate(table.schema)}
        positions = []
        types = rel.base_schema.struct.types
        if len(types) != len(rel.base_schema.names):
            raise Unmapped(f"table '{names[-1]}': {len(rel.base_schema.names)} names, {len(types)} types")
        for name, type in zip(rel.base_schema.names, types, strict=True):
            if name not in by_name:
                raise Unmapped(f"table '{names[-1]}' has no column '{name}'")
            have, want = table.schema[by_name[name]].type, read_type(type)
            if not have.same(want):
                raise Unmapped(f"column '{name}' is {have.name} in the files, {want.name} in the plan")
            positions.append(by_name[name])
        return select(table, positions)

    def _expressions(self, node: Operator) -> ExpressionReader:
        return ExpressionReader(node.schema, self._functions)

    def _filter(self, rel: FilterRel) -> Operator:
        over = _Growing(self, self._input(rel.input))
        width = len(over.node.schema)
        predicate = over.reader.predicate(rel.condition)
        return select(Filter(over.node, predicate), range(width))

    def _project(self, rel: ProjectRel) -> Operator:
        over = _Growing(self, self._input(rel.input))
        schema = over.node.schema
        computed = [over.reader.read(e) for e in rel.expressions]
        columns = [column(schema, i) for i in range(len(schema))]
        names = [f.name for f in schema]
        names += [e.name if isinstance(e, ColumnRef) else f"c{len(schema) + i}" for i, e in enumerate(computed)]
        return Project(over.node, (*columns, *computed), tuple(names))

    def _fetch(self, rel: FetchRel) -> Operator:
        node = self._input(rel.input)
        offset, count = _whole(rel, "offset_expr", 0), _whole(rel, "count_expr", ALL_ROWS)
        if isinstance(node, Sort) and node.limit is None and count != ALL_ROWS:
            return Sort(node.input, node.keys, count, offset)
        return Limit(node, count, offset)

    def _sort(self, rel: SortRel) -> Operator:
        node = self._input(rel.input)
        keys = read_sorts(rel.sorts, self._expressions(node))
        return Sort(node, keys) if keys else node

    def _join(self, rel: JoinRel) -> Operator:
        left, right = self._input(rel.left), self._input(rel.right)
        reader = ExpressionReader(Schema((*left.schema, *right.schema)), self._functions)
        condition = reader.predicate(rel.expression) if rel.HasField("expression") else None
        node = joins.read_join(left, right, JoinRel.JoinType.Name(rel.type), condition, self._datafusion)
        if rel.HasField("post_join_filter"):
            node = Filter(node, self._expressions(node).predicate(rel.post_join_filter))
        return node

    def _cross(self, rel: CrossRel) -> Operator:
        return Join(self._input(rel.left), self._input(rel.right), "inner", (), ())

    def _aggregate(self, rel: AggregateRel) -> Operator:
        node = self._input(rel.input)
        return read_aggregate(rel, node, self._expressions(node), self._functions, self._datafusion)

    def _set(self, rel: SetRel) -> Operator:
        inputs = [self._input(i) for i in rel.inputs]
        if len(inputs) < 2 or len({len(i.schema) for i in inputs}) != 1:
            raise Unmapped("a set operation needs inputs with equally many columns")
        members = _same_types(inputs)
        op = SetRel.SetOp.Name(rel.op).removeprefix("SET_OP_")
        if op in ("UNION_ALL", "UNION_DISTINCT"):
            union = UnionAll(tuple(members))
            return union if op == "UNION_ALL" else Distinct(union)
        first, others = members[0], members[1:]
        if op == "INTERSECTION_MULTISET" or (op == "INTERSECTION_PRIMARY" and len(others) == 1):
            type = "semi"
        elif op == "MINUS_PRIMARY":
            type = "anti"
        else:
            raise Unmapped(f"set operation {op.lower().replace('_', ' ')} is not known")
        for other in others:
            condition = conjunction(joins.equal_rows(first.schema, other.schema))
            first = joins.read_join(first, other, f"JOIN_TYPE_LEFT_{type.upper()}", condition, self._datafusion)
        columns = tuple(column(first.schema, i) for i in range(len(first.schema)))
        return Aggregate(first, columns, first.schema.names, ())


_READERS = {
    "read": Reader._table,
    "filter": Reader._filter,
    "project": Reader._project,
    "fetch": Reader._fetch,
    "sort": Reader._sort,
    "join": Reader._join,
    "cross": Reader._cross,
    "aggregate": Reader._aggregate,
    "set": Reader._set,
}


class _Growing:
    """An input that grows by one column for each scalar subquery and window function that is read over it.

    A subquery that surely has one row is a cross join; any other one is made to have one, or to fail.
    """

    def __init__(self, relations: Reader, node: Operator) -> None:
        self._relations = relations
        self.node = node
        self.reader = ExpressionReader(node.schema, relations._functions, self._subquery, self._window)

    def _subquery(self, rex: Expression.Subquery) -> Scalar:
        found = self._relations._input(rex.scalar.input)
        if len(found.schema) != 1:
            raise Unmapped(f"a scalar subquery has {len(found.schema)} columns")
        self.node = Join(self.node, found if one_row(found) else only_row(found), "inner", (), ())
        return column(self.node.schema, len(self.node.schema) - 1)

    def _window(self, rex: Expression.WindowFunction) -> Scalar:
        self.node, value = add_window(self.node, rex, self.reader, self._relations._functions)
        return value


def one_row(node: Operator) -> bool:
    """Whether the operator has exactly one row, whatever the data."""
    while isinstance(node, Project | Sort) and not (isinstance(node, Sort) and (node.limit == 0 or node.offset)):
        node = node.input
    if isinstance(node, Limit):
        return node.count > 0 and node.offset == 0 and one_row(node.input)
    if isinstance(node, Join) and node.type in ("inner", "left") and not node.left_keys and node.residual is None:
        return one_row(node.left) and one_row(node.right)
    return isinstance(node, Aggregate) and not node.keys and node.phase == "full"


def only_row(node: Operator) -> Operator:
    """One row with the only value of the input, NULL without one; InvalidCast, which says why, if there are more."""
    value = column(node.schema, 0)
    failure: Scalar = Literal(string.with_nullable(False), "several rows of a scalar subquery")
    for type in (int64, string, value.type) if value.type.is_text else (value.type,):
        if not failure.type.same(type):
            failure = Cast(cast_type(failure.type, type, "error"), failure)
    number = int64.with_nullable(False)
    most = Measure("max", value, measure_type("max", value.type), node.schema[0].name)
    whole = Aggregate(node, (), (), (most, Measure("count_star", None, number, "rows")))
    result, rows = column(whole.schema, 0), column(whole.schema, 1)
    at_most_one = bind("le", (rows, Literal(number, 1)))
    return Project(whole, (Case(result.type, (at_most_one, result), failure),), (node.schema[0].name,))


def select(node: Operator, positions: Sequence[int]) -> Operator:
    """The columns at `positions`, in that order; a read or a projection just reads or computes those."""
    width = len(node.schema)
    if not all(0 <= p < width for p in positions):
        raise Unmapped(f"column {next(p for p in positions if not 0 <= p < width)} does not exist, there are {width}")
    if list(positions) == list(range(width)):
        return node
    if isinstance(node, Read) and len(set(positions)) == len(positions) and positions:
        return Read(node.files, node.format, node.file_schema, tuple(node.columns[p] for p in positions), node.options)
    if isinstance(node, Project):
        return Project(
            node.input, tuple(node.expressions[p] for p in positions), tuple(node.names[p] for p in positions)
        )
    return Project(
        node, tuple(column(node.schema, p) for p in positions), tuple(node.schema[p].name for p in positions)
    )


def _same_types(inputs: list[Operator]) -> list[Operator]:
    """The inputs with the columns' common types."""
    types = [common_type(column) for column in zip(*([f.type for f in i.schema] for i in inputs), strict=True)]
    members = []
    for node in inputs:
        fields = node.schema.fields
        if all(f.type.same(t) for f, t in zip(fields, types, strict=True)):
            members.append(node)
            continue
        expressions = tuple(cast_to(column(node.schema, i), t) for i, t in enumerate(types))
        members.append(Project(node, expressions, tuple(f.name for f in fields)))
    return members


def _whole(rel: FetchRel, name: str, default: int) -> int:
    """A number of rows: a literal that is not negative (-1: all)."""
    if not rel.HasField(name):
        return default
    expression = getattr(rel, name)
    if expression.WhichOneof("rex_type") == "literal":
        literal = expression.literal
        kind = literal.WhichOneof("literal_type")
        if kind == "null":
            return default
        if kind in ("i8", "i16", "i32", "i64"):
            value = int(getattr(literal, kind))
            if value >= 0:
                return min(value, ALL_ROWS)
            if value == -1 and name == "count_expr":
                return ALL_ROWS
    raise Unmapped("the rows of a fetch are no literal number")
