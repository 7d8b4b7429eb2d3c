"""Aggregations of DataFusion's plans."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.client.sql.function_names import AGGREGATES
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.expressions import ExpressionReader
from jumpgate.client.sql.logical.sorts import read_sorts
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Aggregate, Measure, Operator, SortKey
from jumpgate.dataflow.substrait.aggregates import SUM_DIGITS, GroupingSets, built, narrowed
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import DataType, decimal, float64

Expressions = tuple[Expression, ...]


def read_aggregate(aggregate: pb.Aggregate, node: Operator, reader: ExpressionReader) -> Operator:
    """Keys, for several grouping sets the bit mask of absent keys, and measures."""
    keys, sets = _keys(aggregate.keys, reader)
    measures = tuple(read_measure(m, reader, f"m{i}") for i, m in enumerate(aggregate.measures))
    names = tuple(getattr(key, "name", "") or f"k{i}" for i, key in enumerate(keys))
    types = [sum_type(m.type, m.argument) for m in measures]
    if sets is None:
        return narrowed(Aggregate(node, keys, names, measures), len(keys), types)
    return GroupingSets(node, keys, names, measures, sets, types, True).union()


def _keys(exprs: Sequence[pb.Expr], reader: ExpressionReader) -> tuple[tuple[Expression, ...], list[list[int]] | None]:
    """The keys, and the grouping sets as their positions; None where there is but one."""
    kinds = [expr.WhichOneof("kind") for expr in exprs]
    if not any(kind in ("grouping_sets", "cube", "rollup") for kind in kinds):
        return tuple(reader.read(e) for e in exprs), None
    if len(exprs) != 1:
        raise Unmapped("several grouping sets side by side are not known")
    kind, expr = kinds[0], exprs[0]
    if kind == "grouping_sets":
        listed = [list(s.exprs) for s in expr.grouping_sets.sets]
        distinct = list({e.SerializeToString(deterministic=True): e for s in listed for e in s}.values())
    else:
        distinct = list(getattr(expr, kind or "").exprs)
        count = len(distinct)
        chosen = (
            [range(n) for n in range(count, -1, -1)]
            if kind == "rollup"
            else [[i for i in range(count) if mask >> i & 1] for mask in range((1 << count) - 1, -1, -1)]
        )
        listed = [[distinct[i] for i in positions] for positions in chosen]
    return tuple(reader.read(e) for e in distinct), [[distinct.index(e) for e in s] for s in listed]


def read_measure(expr: pb.Expr, reader: ExpressionReader, name: str) -> Measure:
    while expr.WhichOneof("kind") == "alias":
        expr = expr.alias.input
    if expr.WhichOneof("kind") != "aggregate":
        raise Unmapped("a measure that is not an aggregate function")
    call = expr.aggregate
    if call.HasField("definition"):
        raise Unmapped(f"function {call.name} is one of the session's")
    condition = reader.predicate(call.filter) if call.HasField("filter") else None
    arguments = tuple(reader.read(a) for a in call.args)
    order = read_sorts(call.order_by, reader)
    if call.name in ("first_value", "last_value"):
        order = _whose_first(call, arguments, order)
    elif call.nulls == pb.IGNORE:
        raise Unmapped(f"{call.name} that ignores NULLs is not known")
    if call.name == "percentile_cont":
        arguments, order = _share(arguments, order), ()
    return built(call.name, function_of(call.name), arguments, name, order, call.distinct, condition)


def function_of(name: str) -> str:
    """Jumpgate's name of an aggregate function."""
    if name not in AGGREGATES:
        raise Unmapped(f"aggregate function {name} is not known")
    return AGGREGATES[name]


def _whose_first(call: pb.AggregateCall, arguments: Expressions, order: tuple[SortKey, ...]) -> tuple[SortKey, ...]:
    """The order by which the row that is wanted is the first one."""
    if not order:
        raise Unmapped(f"{call.name} without an order depends on how rows are read")
    if call.name == "last_value":
        order = tuple(SortKey(k.expression, not k.descending, not k.nulls_first) for k in order)
    if call.nulls == pb.IGNORE:
        order = (SortKey(bind("is_null", arguments[:1])), *order)
    return order


def _share(arguments: Expressions, order: tuple[SortKey, ...]) -> Expressions:
    """The arguments of percentile_cont, of which an order that descends counts from the other end."""
    value = arguments[0]
    if len(order) > 1 or len(arguments) != 2 or any(k.expression not in (value, *value.children[:1]) for k in order):
        raise Unmapped("percentile_cont of several values is not known")
    share = arguments[1]
    if order and order[0].descending and isinstance(share, Literal) and share.value is not None:
        share = Literal(float64.with_nullable(False), 1.0 - float(share.value))  # type: ignore[arg-type]
    return arguments[0], share


def sum_type(type: DataType, argument: Expression | None) -> DataType:
    """The type of a measure as DataFusion has it: of decimals SUM_DIGITS more than the argument's, so that what is
    computed from it is computed in 64 bits where that is enough."""
    if type.kind != "decimal" or argument is None or argument.type.precision + SUM_DIGITS >= type.precision:
        return type
    return decimal(argument.type.precision + SUM_DIGITS, type.scale)
