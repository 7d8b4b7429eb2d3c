"""Writes a dataflow as a Substrait plan. Parts that Substrait lacks (partial phases, shuffles) raise
InvalidDataflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from substrait.algebra_pb2 import (
    AGGREGATION_PHASE_INITIAL_TO_RESULT,
    AggregateFunction,
    AggregateRel,
    JoinRel,
    ReadRel,
    Rel,
    SetRel,
    SortField,
)
from substrait.algebra_pb2 import Expression as Rex
from substrait.plan_pb2 import Plan
from substrait.type_pb2 import NamedStruct, Type

from jumpgate.dataflow import deleted
from jumpgate.dataflow import operators as op
from jumpgate.dataflow.aggregates import OF_SUBSTRAIT, find_aggregate
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, Member
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.functions import find
from jumpgate.dataflow.substrait.files import TEXT, write_text
from jumpgate.dataflow.substrait.types import depth_first, write_literal, write_type
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import InvalidDataflow

#: the version of Substrait that the plans are written for
MINOR_VERSION = 85
URN = "extension:io.substrait:functions"
_MEASURES = {"count_star": "count", "variance": "var", "variance_pop": "var_pop"}
_PARTS = ("year", "quarter", "month", "day", "hour", "minute")


def to_plan(root: op.Operator, tables: Mapping[str, op.Read] | None = None) -> Plan:
    """Return the plan, its result named as `root`'s columns. tables: reads that become named tables, by name; the plan
    names other files itself, which Substrait supports except for JSON. A Send at the root is left out."""
    return _Writer(tables or {}).plan(root.input if isinstance(root, op.Send) else root)


class _Writer:
    def __init__(self, tables: Mapping[str, op.Read]) -> None:
        self._tables = {(t.files, t.format, t.file_schema): name for name, t in tables.items()}
        self._anchors: dict[str, int] = {}

    def plan(self, root: op.Operator) -> Plan:
        plan = Plan()
        plan.version.minor_number, plan.version.producer = MINOR_VERSION, "jumpgate"
        relation = plan.relations.add().root
        relation.input.CopyFrom(self.rel(root))
        relation.names.extend(depth_first(root.schema))
        urns = {URN: 1}
        for full_name, anchor in self._anchors.items():
            urn, _, name = full_name.rpartition(":")
            function = plan.extensions.add().extension_function
            function.extension_urn_reference = urns.setdefault(urn or URN, len(urns) + 1)
            function.function_anchor, function.name = anchor, name
        for urn, anchor in urns.items():
            plan.extension_urns.add(extension_urn_anchor=anchor, urn=urn)
        return plan

    def rel(self, node: op.Operator) -> Rel:
        writer = _WRITERS.get(type(node))
        if writer is None:
            raise InvalidDataflow(f"Substrait has no relation for {node.kind}", operator=node.kind)
        return writer(self, node)

    def _read(self, node: op.Read) -> Rel:
        rel = Rel()
        read = rel.read
        read.common.direct.SetInParent()
        read.base_schema.CopyFrom(named_struct(node.file_schema))
        name = self._tables.get((node.files, node.format, node.file_schema))
        if name is not None:
            read.named_table.names.append(name)
        elif deleted.of_files(dict(node.options)):
            raise InvalidDataflow("Substrait has no reads without deleted rows: name the table", operator="read")
        elif kind := formats()[node.format].substrait:
            for path in node.files:
                item = ReadRel.LocalFiles.FileOrFiles(uri_file=path)
                getattr(item, kind).SetInParent()
                if kind == TEXT:
                    item.text.CopyFrom(write_text(dict(node.options)))
                read.local_files.items.append(item)
        else:
            raise InvalidDataflow(f"Substrait has no reads of {node.format} files: name the table", operator="read")
        read.projection.select.SetInParent()
        for position in node.columns:
            read.projection.select.struct_items.add(field=position)
        return rel

    def _filter(self, node: op.Filter) -> Rel:
        rel = Rel()
        rel.filter.common.direct.SetInParent()
        rel.filter.input.CopyFrom(self.rel(node.input))
        rel.filter.condition.CopyFrom(self.expression(node.predicate))
        return rel

    def _project(self, node: op.Project) -> Rel:
        rel = Rel()
        rel.project.input.CopyFrom(self.rel(node.input))
        width = len(node.input.schema)
        rel.project.common.emit.output_mapping.extend(range(width, width + len(node.expressions)))
        rel.project.common.emit.SetInParent()
        for expression in node.expressions:
            rel.project.expressions.append(self.expression(expression))
        return rel

    def _join(self, node: op.Join) -> Rel:
        rel, width = Rel(), len(node.left.schema)
        rel.join.common.direct.SetInParent()
        rel.join.left.CopyFrom(self.rel(node.left))
        rel.join.right.CopyFrom(self.rel(node.right))
        rel.join.type = JoinRel.JoinType.Value(node.type.substrait)
        both = Schema((*node.left.schema, *node.right.schema))
        terms = [
            self._call("equal", (a, b.remap(lambda i: op.column(both, width + i))), None)
            for a, b in zip(node.left_keys, node.right_keys, strict=True)
        ]
        if node.residual is not None:
            terms.append(self.expression(node.residual))
        if len(terms) == 1:
            rel.join.expression.CopyFrom(terms[0])
        elif terms:
            rel.join.expression.CopyFrom(self._scalar("and", terms, None))
        else:
            rel.join.expression.literal.boolean = True
        return rel

    def _aggregate(self, node: op.Aggregate) -> Rel:
        if node.phase != "full":
            raise InvalidDataflow(f"a {node.phase} aggregate is Jumpgate's own", operator="aggregate")
        rel = Rel()
        aggregate = rel.aggregate
        aggregate.common.direct.SetInParent()
        aggregate.input.CopyFrom(self.rel(node.input))
        for key in node.keys:
            aggregate.grouping_expressions.append(self.expression(key))
        aggregate.groupings.add(expression_references=range(len(node.keys)))
        for measure in node.measures:
            aggregate.measures.append(AggregateRel.Measure(measure=self._measure(measure)))
        return rel

    def _measure(self, measure: op.Measure) -> AggregateFunction:
        declaration = measure.declaration
        name = _MEASURES.get(declaration.plain, declaration.plain)
        if name not in OF_SUBSTRAIT:  # a package's, which lies in an extension
            name = next(iter(find_aggregate(name).substrait), "")
            if not name:
                raise InvalidDataflow(f"Substrait has no name for {measure.function}", operator="aggregate")
        call = AggregateFunction(
            function_reference=self._anchor(name),
            output_type=write_type(measure.type),
            phase=AGGREGATION_PHASE_INITIAL_TO_RESULT,
            invocation=AggregateFunction.AGGREGATION_INVOCATION_DISTINCT
            if declaration.distinct_of
            else AggregateFunction.AGGREGATION_INVOCATION_ALL,
            sorts=map(self._sort_key, _whole_order(measure)),
        )
        for argument in measure.arguments:
            call.arguments.add().value.CopyFrom(self.expression(argument))
        return call

    def _sort(self, node: op.Sort) -> Rel:
        rel = Rel()
        rel.sort.common.direct.SetInParent()
        rel.sort.input.CopyFrom(self.rel(node.input))
        rel.sort.sorts.extend(map(self._sort_key, node.keys))
        return rel if node.limit is None and not node.offset else _fetch(rel, node.limit, node.offset)

    def _limit(self, node: op.Limit) -> Rel:
        return _fetch(self.rel(node.input), node.count, node.offset)

    def _distinct(self, node: op.Distinct) -> Rel:
        if isinstance(node.input, op.UnionAll):
            rel = self._union(node.input)
            rel.set.op = SetRel.SET_OP_UNION_DISTINCT
            return rel
        keys = tuple(op.column(node.schema, i) for i in range(len(node.schema)))
        return self._aggregate(op.Aggregate(node.input, keys, node.schema.names, ()))

    def _union(self, node: op.UnionAll) -> Rel:
        rel = Rel()
        rel.set.common.direct.SetInParent()
        rel.set.op = SetRel.SET_OP_UNION_ALL
        for member in node.members:
            rel.set.inputs.append(self.rel(member))
        return rel

    def expression(self, expression: Expression) -> Rex:
        rex = Rex()
        match expression:
            case ColumnRef(index=index):
                rex.selection.direct_reference.struct_field.field = index
                rex.selection.root_reference.SetInParent()
            case Member(input=value, number=number):
                rex.selection.direct_reference.struct_field.field = number
                rex.selection.expression.CopyFrom(self.expression(value))
            case Literal():
                rex.literal.CopyFrom(write_literal(expression))
            case Cast(input=value, type=type, on_failure=on_failure):
                rex.cast.input.CopyFrom(self.expression(value))
                rex.cast.type.CopyFrom(write_type(type))
                null, error = Rex.Cast.FAILURE_BEHAVIOR_RETURN_NULL, Rex.Cast.FAILURE_BEHAVIOR_THROW_EXCEPTION
                rex.cast.failure_behavior = null if on_failure == "null" else error
            case Case(branches=branches, otherwise=otherwise):
                for condition, value in zip(branches[::2], branches[1::2], strict=True):
                    clause = rex.if_then.ifs.add(then=self.expression(value))
                    getattr(clause, "if").CopyFrom(self.expression(condition))
                getattr(rex.if_then, "else").CopyFrom(self.expression(otherwise))
            case InList(input=value, options=options):
                rex.singular_or_list.value.CopyFrom(self.expression(value))
                for option in options:
                    rex.singular_or_list.options.append(self.expression(option))
            case Call(function=name, args=args, type=type):
                return self._function(name, args, type)
            case _:
                raise InvalidDataflow(f"Substrait has no expression for {expression}")
        return rex

    def _function(self, name: str, args: tuple[Expression, ...], type: DataType) -> Rex:
        if name in _PARTS:
            rex = self._scalar("extract", [], type)
            rex.scalar_function.arguments.add(enum=name.upper())
            rex.scalar_function.arguments.add(value=self.expression(args[0]))
            return rex
        if name == "date_add_days" and isinstance(args[1], Literal) and isinstance(args[1].value, int):
            interval = Rex()
            interval.literal.interval_day_to_second.days = args[1].value
            return self._scalar("add", [self.expression(args[0]), interval], type)
        names = ("divide",) if name == "int_divide" else find(name).substrait
        if not names:
            raise InvalidDataflow(f"Substrait has no function for {name}")
        return self._call(names[0], args, type)

    def _call(self, name: str, args: tuple[Expression, ...], type: DataType | None) -> Rex:
        return self._scalar(name, [self.expression(a) for a in args], type)

    def _scalar(self, name: str, args: list[Rex], type: DataType | None) -> Rex:
        rex = Rex()
        call = rex.scalar_function
        call.function_reference = self._anchor(name)
        if type is None:
            call.output_type.bool.nullability = Type.NULLABILITY_NULLABLE
        else:
            call.output_type.CopyFrom(write_type(type))
        for argument in args:
            call.arguments.add(value=argument)
        return rex

    def _anchor(self, name: str) -> int:
        return self._anchors.setdefault(name, len(self._anchors) + 1)

    def _window(self, node: op.Window) -> Rel:
        rel = Rel()
        rel.project.common.direct.SetInParent()
        rel.project.input.CopyFrom(self.rel(node.input))
        for function in node.functions:
            rel.project.expressions.append(self._window_function(node, function))
        return rel

    def _window_function(self, node: op.Window, function: op.WindowFunction) -> Rex:
        rex = Rex()
        call = rex.window_function
        call.function_reference = self._anchor(function.function.removesuffix("_star"))
        call.output_type.CopyFrom(write_type(function.type))
        call.phase, call.invocation = AGGREGATION_PHASE_INITIAL_TO_RESULT, AggregateFunction.AGGREGATION_INVOCATION_ALL
        for argument in function.arguments:
            call.arguments.add(value=self.expression(argument))
        call.partitions.extend(self.expression(e) for e in node.partition_by)
        call.sorts.extend(map(self._sort_key, node.order_by))
        if node.frame.unit == "groups":
            raise InvalidDataflow("Substrait has no frames of groups", operator="window")
        rows = node.frame.unit == "rows"
        whole = 1  # what an offset of 1 is here
        if not rows and len(node.order_by) == 1 and (type := node.order_by[0].expression.type).kind == "decimal":
            whole = 10**type.scale
        call.bounds_type = Rex.WindowFunction.BOUNDS_TYPE_ROWS if rows else Rex.WindowFunction.BOUNDS_TYPE_RANGE
        for bound, offset in ((call.lower_bound, node.frame.start), (call.upper_bound, node.frame.end)):
            if offset is None:
                bound.unbounded.SetInParent()
            elif offset == 0:
                bound.current_row.SetInParent()
            elif offset % whole:
                raise InvalidDataflow("Substrait has no frames from a fraction on", operator="window")
            elif offset < 0:
                bound.preceding.offset = -offset // whole
            else:
                bound.following.offset = offset // whole
        return rex

    def _sort_key(self, key: op.SortKey) -> SortField:
        order = "DESC" if key.descending else "ASC"
        name = f"SORT_DIRECTION_{order}_NULLS_{'FIRST' if key.nulls_first else 'LAST'}"
        return SortField(expr=self.expression(key.expression), direction=SortField.SortDirection.Value(name))


_WRITERS: dict[type[op.Operator], Callable[[_Writer, Any], Rel]] = {
    op.Read: _Writer._read,
    op.Filter: _Writer._filter,
    op.Project: _Writer._project,
    op.Join: _Writer._join,
    op.Aggregate: _Writer._aggregate,
    op.Sort: _Writer._sort,
    op.Limit: _Writer._limit,
    op.Distinct: _Writer._distinct,
    op.UnionAll: _Writer._union,
    op.Window: _Writer._window,
}


def _whole_order(measure: op.Measure) -> tuple[op.SortKey, ...]:
    """Return the order with the argument itself last, which orders ties here; Substrait leaves that open."""
    if not measure.declaration.ordered or any(k.expression == measure.arguments[0] for k in measure.order):
        return measure.order
    return (*measure.order, op.SortKey(measure.arguments[0]))


def _fetch(input: Rel, count: int | None, offset: int) -> Rel:
    rel = Rel()
    rel.fetch.common.direct.SetInParent()
    rel.fetch.input.CopyFrom(input)
    if offset:
        rel.fetch.offset_expr.literal.i64 = offset
    if count is not None:
        rel.fetch.count_expr.literal.i64 = count
    return rel


def named_struct(schema: Schema) -> NamedStruct:
    found = NamedStruct(names=depth_first(schema))
    found.struct.nullability = Type.NULLABILITY_REQUIRED
    found.struct.types.extend(write_type(f.type) for f in schema)
    return found
