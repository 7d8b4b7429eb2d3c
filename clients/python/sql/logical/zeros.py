"""Keeps constants that are -0.0 from DataFusion's optimiser, which takes -0.0 and 0.0 for different numbers.

Of `x <> -0.0 AND x = 0.0` its simplifier makes `x = 0.0`, before `floats` sees the plan. So a plan is looked into that
is analysed, but in which only subqueries have become joins: constants of -0.0 that are compared become 0.0, and
where others may reach a comparison, by way of a column or of CASE, all that is compared gets one notation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import datafusion
import pyarrow as pa
from datafusion.plan import LogicalPlan
from google.protobuf.message import Message

from jumpgate.client.sql.logical import floats
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.mending import Types, mend
from jumpgate.client.sql.logical.nodes import Node, within

#: rules of DataFusion's optimiser that compute with constants, or take them to where they are compared
_RULES = (
    "unions_to_filter", "simplify_expressions", "eliminate_join", "extract_equijoin_predicate",
    "eliminate_duplicated_expr", "eliminate_filter", "eliminate_cross_join", "eliminate_limit",
    "propagate_empty_relation", "filter_null_join_keys", "eliminate_outer_join", "push_down_limit", "push_down_filter",
    "single_distinct_aggregation_to_group_by", "eliminate_group_by_constant", "common_sub_expression_eliminate",
    "extract_leaf_expressions", "push_down_leaf_projections", "optimize_projections",
)  # fmt: skip
#: in the display of a plan: numbers and texts that begin with a minus, a minus before anything else, what may be NaN
_ODD = re.compile(r'\(-|"\s*-|[/%] (?:CAST\()?\w+\("?\+?0|\b(?:nan|inf)', re.IGNORECASE)
#: expressions that are no constants, nor made of constants alone
_VARYING = frozenset((None, "column", "window", "aggregate", "subquery", "grouping_sets", "cube", "rollup"))


@dataclass(frozen=True)
class _Constant:
    """A constant of a float type in a plan. compared: as it is; else its value may get to where one is, perhaps with
    another sign."""

    expr: pb.Expr
    type: pa.DataType
    compared: bool
    negated: bool = False

    def is_odd(self, value: float | None) -> bool:
        """Return whether its value has other bits than an equal one, or may get such."""
        if value is None or (value != 0.0 and not math.isnan(value)):
            return False
        return self.negated or math.copysign(1.0, value) < 0


def may_have(display: str) -> bool:
    """Return whether a plan with this display, types included, may have such constants."""
    return "Float" in display and _ODD.search(display) is not None


def cautious(context: datafusion.SessionContext) -> datafusion.SessionContext:
    """The context, which from now on leaves constants where they are when it optimises."""
    for rule in _RULES:
        context.remove_optimizer_rule(rule)
    return context


def mended(node: Node) -> LogicalPlan | None:
    """The plan of a cautious context without such constants where they matter; None if it has none."""
    plan = pb.Plan()
    plan.CopyFrom(node.plan)
    found: list[_Constant] = []

    def note(message: Message, types: Types, _: bool) -> bool:
        found.extend(_constants(message, types))
        return False

    mend(node, plan, note)
    odd = [constant.is_odd(value) for constant, value in zip(found, _values(node, found), strict=True)]
    if all(constant.compared for constant, is_odd in zip(found, odd, strict=True) if is_odd):
        following = iter(odd)

        def change(message: Message, types: Types, _: bool) -> bool:
            these = [constant for constant in _constants(message, types) if next(following)]
            for constant in these:
                floats.canonical(constant.expr, constant.type)
            return bool(these)

        changed = mend(node, plan, change)
    else:
        changed = floats.normalise(node, plan)
    return LogicalPlan.from_bytes(node.context, plan.SerializeToString()) if changed else None


def _constants(outer: Message, types: Types) -> Iterator[_Constant]:
    for expr in floats.compared(within(outer)):
        if not _is_constant(expr):
            yield from _passed(expr, types)
        elif (type := types.of_float(expr)) is not None:
            yield _Constant(expr, type, compared=True)
    if isinstance(outer, pb.Expr):  # the value of a column
        yield from _passed(outer, types)


def _passed(expr: pb.Expr, types: Types, negated: bool = False) -> Iterator[_Constant]:
    """Constants that an expression may have as its value."""
    if _is_constant(expr):
        if (type := types.of_float(expr)) is not None:
            yield _Constant(expr, type, compared=False, negated=negated)
        return
    kind = expr.WhichOneof("kind")
    if kind in ("alias", "cast", "try_cast", "negative"):
        yield from _passed(getattr(expr, kind).input, types, negated or kind == "negative")
    elif kind == "call":
        for arg in expr.call.args:
            yield from _passed(arg, types, negated)
    elif kind == "case":
        for value in (*(clause.then for clause in expr.case.whens), expr.case.otherwise):
            yield from _passed(value, types, negated)


def _is_constant(expr: pb.Expr) -> bool:
    return all(m.WhichOneof("kind") not in _VARYING for m in within(expr) if isinstance(m, pb.Expr))


def _values(node: Node, constants: list[_Constant]) -> list[float | None]:
    """Return the value that DataFusion computes of each; -0.0 if it cannot."""
    found: list[float | None] = [_literal(constant.expr) for constant in constants]
    unknown = [i for i, constant in enumerate(constants) if constant.expr.WhichOneof("kind") != "literal"]
    if unknown:
        plan = pb.Plan()
        plan.projection.input.empty_relation.produces_one_row = True
        for i in unknown:
            alias = plan.projection.exprs.add().alias
            alias.input.CopyFrom(constants[i].expr)
            alias.name = f"c{i}"
        for i, value in zip(unknown, _computed(node.context, plan) or [-0.0] * len(unknown), strict=True):
            found[i] = value
    return found


def _literal(expr: pb.Expr) -> float | None:
    kind = expr.literal.WhichOneof("kind")
    return getattr(expr.literal, kind) if kind in ("float32", "float64") else None


def _computed(context: datafusion.SessionContext, plan: pb.Plan) -> list[float | None] | None:
    """The one row of a plan; None if computing it fails."""
    try:
        logical = LogicalPlan.from_bytes(context, plan.SerializeToString())
        table = context.create_dataframe_from_logical_plan(logical).to_arrow_table()
    except BaseException as error:  # a panic of DataFusion is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        return None
    return [column[0].as_py() for column in table.columns]
