"""Aggregations of DataFusion's plans."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.client.sql.function_names import AGGREGATES
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.expressions import ExpressionReader
from jumpgate.dataflow.expressions import Case, Expression, Literal
from jumpgate.dataflow.operators import DISTINCT, NUMERIC_MEASURES, Aggregate, Measure, Operator, measure_type
from jumpgate.dataflow.substrait.aggregates import SUM_DIGITS, GroupingSets, narrowed
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import DataType, decimal, int64


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
        raise Unmapped("a measure that is no aggregate function")
    call = expr.aggregate
    if call.HasField("definition"):
        raise Unmapped(f"function {call.name} is one of the session's")
    if call.order_by:
        raise Unmapped(f"{call.name} with an order is not known")
    if call.nulls == pb.IGNORE:
        raise Unmapped(f"{call.name} that ignores NULLs is not known")
    condition = reader.predicate(call.filter) if call.HasField("filter") else None
    function, argument = function_of(call.name, call.args, reader, condition)
    if call.distinct and function not in ("min", "max"):
        if f"{function}_distinct" not in DISTINCT:
            raise Unmapped(f"{call.name} of distinct values is not known")
        function = f"{function}_distinct"
    return Measure(function, argument, measure_type(function, argument.type if argument is not None else None), name)


def function_of(
    name: str, args: Sequence[pb.Expr], reader: ExpressionReader, condition: Expression | None
) -> tuple[str, Expression | None]:
    """Jumpgate's function and argument for an aggregate function over the rows for which `condition` holds."""
    if name not in AGGREGATES:
        raise Unmapped(f"aggregate function {name} is not known")
    function = AGGREGATES[name]
    if len(args) != 1:
        raise Unmapped(f"{name} with {len(args)} arguments is not known")
    argument: Expression | None = reader.read(args[0])
    assert argument is not None
    if function == "count" and isinstance(argument, Literal) and argument.value is not None:
        if condition is None:
            return "count_star", None
        argument = Literal(int64.with_nullable(False), 1)
    if function in NUMERIC_MEASURES and not argument.type.is_numeric:
        raise Unmapped(f"{name} of {argument.type.name} is not known")
    if condition is not None:
        nothing = Literal(argument.type.with_nullable(True), None)
        argument = Case(argument.type.with_nullable(True), (condition, argument), nothing)
    return function, argument


def sum_type(type: DataType, argument: Expression | None) -> DataType:
    """The type of a measure as DataFusion has it: of decimals SUM_DIGITS more than the argument's, so that what is
    computed from it is computed in 64 bits where that is enough."""
    if type.kind != "decimal" or argument is None or argument.type.precision + SUM_DIGITS >= type.precision:
        return type
    return decimal(argument.type.precision + SUM_DIGITS, type.scale)
