"""Converts relations of Substrait to dataflows, bottom up; unsupported ones say why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from substrait.algebra_pb2 import (
    FETCH_MODE_WITH_TIES,
    AggregateRel,
    ComparisonJoinKey,
    CrossRel,
    ExpandRel,
    Expression,
    FetchRel,
    FilterRel,
    HashJoinRel,
    JoinRel,
    MergeJoinRel,
    NestedLoopJoinRel,
    ProjectRel,
    ReadRel,
    Rel,
    SetRel,
    SortRel,
    TopNRel,
)
from substrait.plan_pb2 import Plan

from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import ColumnRef, Literal, conjunction
from jumpgate.dataflow.expressions import Expression as Scalar
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.joins import cross, filtered
from jumpgate.dataflow.operators import Limit, Operator, Project, Read, Sort, column
from jumpgate.dataflow.substrait import joins
from jumpgate.dataflow.substrait.aggregates import read_aggregate
from jumpgate.dataflow.substrait.dependent import refers_outwards
from jumpgate.dataflow.substrait.expressions import DATAFUSION, ExpressionReader
from jumpgate.dataflow.substrait.files import read_files
from jumpgate.dataflow.substrait.growing import Growing
from jumpgate.dataflow.substrait.older import projects_replace
from jumpgate.dataflow.substrait.sets import read_set
from jumpgate.dataflow.substrait.sorts import read_sorts
from jumpgate.dataflow.substrait.types import Unmapped, read_schema
from jumpgate.dataflow.types import Schema, int32

#: the most relations on one path from the root; deeper ones are Kept
DEPTH_MAX = 150
#: count of a fetch without one
ALL_ROWS = 1 << 62


@dataclass(frozen=True)
class Kept:
    """A relation without a dataflow, and the reason."""

    reason: str


class Reader:
    """Reads the relations of one plan. tables: the dataflows of its named tables, by their last name.

    Equal relations become one node, so that repeated parts of a query are computed once.
    """

    def __init__(self, plan: Plan, tables: Mapping[str, Operator]) -> None:
        self._tables = tables
        self.functions = _functions(plan)
        self._datafusion = plan.version.producer == "datafusion"
        self._replaces = projects_replace(plan)
        if self._datafusion:
            self.functions = {anchor: DATAFUSION.get(name, name) for anchor, name in self.functions.items()}
        self._known: dict[tuple[bytes, tuple[Schema, ...]], Operator | Kept] = {}
        self._around: tuple[Schema, ...] = ()  #: the rows around the subquery that is read, outermost first
        self._depth = 0

    def relation(self, rel: Rel) -> Operator | Kept:
        """Return the dataflow of `rel`; columns keep the names of their tables."""
        key = rel.SerializeToString(deterministic=True)
        found = self._known.get((key, ())) or self._known.get((key, self._around))
        if found is not None:
            return found
        self._depth += 1
        try:
            if self._depth > DEPTH_MAX:
                raise Unmapped(f"more than {DEPTH_MAX} relations are nested")
            found = self._read(rel)
        except (Unmapped, TypeMismatch) as error:
            found = Kept(str(error))
        finally:
            self._depth -= 1
        alone = isinstance(found, Operator) and not refers_outwards(found)
        self._known[key, () if alone else self._around] = found
        return found

    def _read(self, rel: Rel) -> Operator:
        kind = rel.WhichOneof("rel_type") or ""
        reader = RELATIONS.get(kind)
        if reader is None:
            raise Unmapped(f"relation {kind.replace('_', ' ') or 'of no type'} is not known")
        body = getattr(rel, kind)
        if _newer(body):
            raise Unmapped(f"relation {kind.replace('_', ' ')} has fields of another version of Substrait")
        if any(m.advanced_extension.HasField("enhancement") for m in (body, body.common)):
            raise Unmapped(f"relation {kind.replace('_', ' ')} has an enhancement that only its producer knows")
        node = reader(self, body)
        if not body.HasField("common") or body.common.WhichOneof("emit_kind") != "emit":
            return node
        return select(node, body.common.emit.output_mapping)

    def input(self, rel: Rel) -> Operator:
        """Return the dataflow of `rel`. Raises Unmapped."""
        found = self.relation(rel)
        if isinstance(found, Kept):
            raise Unmapped(found.reason)
        return found

    def subquery(self, rel: Rel, around: Schema) -> Operator:
        """Return the dataflow of a subquery over rows of the schema `around`, to which it refers by `Outer`. Raises
        Unmapped."""
        before = self._around
        self._around = (*before, around)
        try:
            return self.input(rel)
        finally:
            self._around = before

    def expressions(
        self,
        schema: Schema,
        subquery: Callable[[Expression.Subquery], Scalar] | None = None,
        window: Callable[[Expression.WindowFunction], Scalar] | None = None,
    ) -> ExpressionReader:
        """Return what reads the expressions of a relation over such an input."""
        return ExpressionReader(schema, self.functions, subquery, window, self._around)

    def _table(self, rel: ReadRel) -> Operator:
        kind = rel.WhichOneof("read_type")
        if kind == "named_table":
            node = self._named_table(rel)
        elif kind == "local_files":
            node = read_files(rel.local_files, rel.base_schema)
        else:
            raise Unmapped(f"a read of {(kind or 'nothing').replace('_', ' ')} is not known")
        if rel.HasField("filter"):
            node = filtered(node, [self.expressions(node.schema).predicate(rel.filter)])
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
        said: Sequence[str] = rel.base_schema.names
        typed = read_schema(rel.base_schema) if rel.base_schema.struct.types else None
        if typed is not None:  # otherwise the plan leaves the types to the table
            said = typed.names
        for i, name in enumerate(said):
            if name not in by_name:
                raise Unmapped(f"table '{names[-1]}' has no column '{name}'")
            have = table.schema[by_name[name]].type
            want = typed[i].type if typed is not None else have
            if not have.same(want):
                raise Unmapped(f"column '{name}' is {have.name} in the files, {want.name} in the plan")
            positions.append(by_name[name])
        return select(table, positions) if said else table

    def _filter(self, rel: FilterRel) -> Operator:
        over = Growing(self, self.input(rel.input))
        width = len(over.node.schema)
        predicate = over.reader.predicate(rel.condition)
        return select(filtered(over.node, [predicate]), range(width))

    def _project(self, rel: ProjectRel) -> Operator:
        over = Growing(self, self.input(rel.input))
        schema = over.node.schema
        computed = [over.reader.read(e) for e in rel.expressions]
        if not self._replaces:
            computed = [*(column(schema, i) for i in range(len(schema))), *computed]
        if computed == [column(over.node.schema, i) for i in range(len(over.node.schema))]:
            return over.node  # only the window functions that it grew by
        names = tuple(e.name if isinstance(e, ColumnRef) else f"c{i}" for i, e in enumerate(computed))
        return Project(over.node, tuple(computed), names)

    def _fetch(self, rel: FetchRel) -> Operator:
        node = self.input(rel.input)
        offset, count = _whole(rel, "offset_expr", 0), _whole(rel, "count_expr", ALL_ROWS)
        if isinstance(node, Sort) and node.limit is None and count != ALL_ROWS:
            return Sort(node.input, node.keys, count, offset)
        return Limit(node, count, offset)

    def _sort(self, rel: SortRel) -> Operator:
        node = self.input(rel.input)
        keys = read_sorts(rel.sorts, self.expressions(node.schema))
        return Sort(node, keys) if keys else node

    def _join(self, rel: JoinRel) -> Operator:
        left, right = self.input(rel.left), self.input(rel.right)
        reader = self.expressions(Schema((*left.schema, *right.schema)))
        condition = reader.predicate(rel.expression) if rel.HasField("expression") else None
        node = joins.read_join(left, right, type_name(rel), condition, self._datafusion)
        return self._after(node, rel)

    def _after(self, node: Operator, rel: JoinRel | HashJoinRel | MergeJoinRel) -> Operator:
        if rel.HasField("post_join_filter"):
            return filtered(node, [self.expressions(node.schema).predicate(rel.post_join_filter)])
        return node

    def _cross(self, rel: CrossRel) -> Operator:
        return cross(self.input(rel.left), self.input(rel.right))

    def _aggregate(self, rel: AggregateRel) -> Operator:
        node = self.input(rel.input)
        if self._replaces and len(rel.groupings) > 1:
            raise Unmapped("grouping sets of a producer that leaves out which set a row is of")
        return read_aggregate(rel, node, self.expressions(node.schema), self.functions, self._datafusion)

    def _set(self, rel: SetRel) -> Operator:
        inputs = [self.input(i) for i in rel.inputs]
        return read_set(SetRel.SetOp.Name(rel.op).removeprefix("SET_OP_"), inputs)

    def _keyed_join(self, rel: HashJoinRel | MergeJoinRel) -> Operator:
        """Convert a join by pairs of columns, each numbered within its own input, and perhaps a residual condition."""
        left, right = self.input(rel.left), self.input(rel.right)
        if not rel.keys:
            raise Unmapped("a hash or merge join without keys")
        both = Schema((*left.schema, *right.schema))
        reader = self.expressions(both)
        terms: list[Scalar] = []
        for key in rel.keys:
            function = _COMPARISONS.get(key.comparison.simple)
            if function is None:
                raise Unmapped("a join by keys that are compared in a way of their own is not known")
            a = self.expressions(left.schema).read(Expression(selection=key.left))
            b = self.expressions(right.schema).read(Expression(selection=key.right))
            terms.append(bind(function, (a, b.remap(lambda i: column(both, len(left.schema) + i)))))
        if rel.HasField("residual_expression"):
            terms.append(reader.predicate(rel.residual_expression))
        type = type_name(rel)
        node = joins.read_join(left, right, type, conjunction(tuple(terms)), self._datafusion)
        return self._after(node, rel)

    def _nested_loop_join(self, rel: NestedLoopJoinRel) -> Operator:
        left, right = self.input(rel.left), self.input(rel.right)
        reader = self.expressions(Schema((*left.schema, *right.schema)))
        condition = reader.predicate(rel.expression) if rel.HasField("expression") else None
        return joins.read_join(left, right, type_name(rel), condition, self._datafusion)

    def _top_n(self, rel: TopNRel) -> Operator:
        node = self.input(rel.input)
        if rel.mode == FETCH_MODE_WITH_TIES:
            raise Unmapped("a top-n with ties is not known")
        keys = read_sorts(rel.sorts, self.expressions(node.schema))
        offset, count = _whole(rel, "offset", 0), _whole(rel, "count", ALL_ROWS)
        if not keys:
            return Limit(node, count, offset)
        return Sort(node, keys, count, offset)

    def _expand(self, rel: ExpandRel) -> Operator:
        """Repeat each row: a union of projections, each followed by the copy's number."""
        node = self.input(rel.input)
        reader = self.expressions(node.schema)
        fields = []
        for item in rel.fields:
            rexes = item.switching_field.duplicates if item.HasField("switching_field") else [item.consistent_field]
            fields.append([reader.read(rex) for rex in rexes])
        copies = {len(f) for f in fields if len(f) != 1} or {1}
        if len(copies) != 1 or not all(fields):
            raise Unmapped("the fields of an expand have unlike numbers of copies")
        names = (*(f"c{i}" for i in range(len(fields))), "copy")
        members = []
        for i in range(copies.pop()):
            number = Literal(int32.with_nullable(False), i)
            members.append(Project(node, (*(f[i if len(f) > 1 else 0] for f in fields), number), names))
        return read_set("UNION_ALL", members) if len(members) > 1 else members[0]


RELATIONS = {
    "read": Reader._table,
    "filter": Reader._filter,
    "project": Reader._project,
    "fetch": Reader._fetch,
    "sort": Reader._sort,
    "join": Reader._join,
    "cross": Reader._cross,
    "aggregate": Reader._aggregate,
    "set": Reader._set,
    "hash_join": Reader._keyed_join,
    "merge_join": Reader._keyed_join,
    "nested_loop_join": Reader._nested_loop_join,
    "top_n": Reader._top_n,
    "expand": Reader._expand,
}
_COMPARISONS = {
    ComparisonJoinKey.SIMPLE_COMPARISON_TYPE_EQ: "eq",
    ComparisonJoinKey.SIMPLE_COMPARISON_TYPE_IS_NOT_DISTINCT_FROM: "is_not_distinct",
}


def type_name(rel: JoinRel | HashJoinRel | MergeJoinRel | NestedLoopJoinRel) -> str:
    """Return the join's type; the messages number them differently."""
    names = rel.JoinType.DESCRIPTOR.values_by_number
    if rel.type not in names:
        raise Unmapped(f"join type {rel.type} is of a newer Substrait")
    return str(names[rel.type].name)


def select(node: Operator, positions: Sequence[int]) -> Operator:
    """Return the columns at `positions`, in that order; a read or a projection reads or computes only those."""
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


def _functions(plan: Plan) -> dict[int, str]:
    """Return names by anchor, without signatures; a function of a third-party extension is prefixed with its URN."""
    urns = {u.extension_urn_anchor: u.urn for u in plan.extension_urns}
    found = {}
    for item in plan.extensions:
        if item.WhichOneof("mapping_type") == "extension_function":
            function = item.extension_function
            urn = urns.get(function.extension_urn_reference, "")
            name = function.name.partition(":")[0].lower()
            own = not urn or "substrait" in urn or "functions_" in urn
            found[function.function_anchor] = name if own else f"{urn}:{name}"
    return found


def _newer(message: Message) -> bool:
    """Return whether the relation has fields that the `substrait` package does not know, not counting relations below
    it.

    Grouping's first field is the older form of its references, which are given too.
    """
    if len(UnknownFieldSet(message)) and not getattr(message, "expression_references", ()):
        return True
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for item in value if field.is_repeated else (value,):
                if not isinstance(item, Rel) and _newer(item):
                    return True
    return False


def _whole(rel: FetchRel | TopNRel, name: str, default: int) -> int:
    """Return a number of rows: a literal that is not negative (-1: all)."""
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
            if value == -1 and name.startswith("count"):
                return ALL_ROWS
    raise Unmapped("the rows of a fetch are not a literal number")
