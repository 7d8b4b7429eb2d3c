"""Window functions of Substrait: each becomes a column of a Window under the projection that asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from substrait.algebra_pb2 import AggregateFunction
from substrait.algebra_pb2 import Expression as Rex

from jumpgate.dataflow.casts import common_type
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import cast_to
from jumpgate.dataflow.operators import (
    OFFSET_MAX,
    Frame,
    Operator,
    SortKey,
    Window,
    WindowFunction,
    column,
    window_type,
)
from jumpgate.dataflow.substrait.aggregates import undeclared
from jumpgate.dataflow.substrait.expressions import ExpressionReader
from jumpgate.dataflow.substrait.options import read_options
from jumpgate.dataflow.substrait.sorts import read_sorts
from jumpgate.dataflow.substrait.types import Unmapped, read_type

FUNCTIONS = {
    "row_number": "row_number",
    "rank": "rank",
    "dense_rank": "dense_rank",
    "percent_rank": "percent_rank",
    "cume_dist": "cume_dist",
    "ntile": "ntile",
    "lag": "lag",
    "lead": "lead",
    "first_value": "first_value",
    "last_value": "last_value",
    "nth_value": "nth_value",
    "sum": "sum",
    "count": "count",
    "min": "min",
    "max": "max",
    "avg": "avg",
    "stddev": "stddev",
    "stddev_samp": "stddev",
}
_UNITS = {
    Rex.WindowFunction.BOUNDS_TYPE_UNSPECIFIED: "range",
    Rex.WindowFunction.BOUNDS_TYPE_ROWS: "rows",
    Rex.WindowFunction.BOUNDS_TYPE_RANGE: "range",
}
_NUMERIC = ("sum", "avg", "stddev")
#: functions with an argument that must be a literal number → its position
_COUNTING = {"ntile": 0, "lag": 1, "lead": 1, "nth_value": 1}


def add_window(
    node: Operator, call: Rex.WindowFunction, reader: ExpressionReader, functions: Mapping[int, str]
) -> tuple[Operator, Expression]:
    """Return `node` with one more column, and that column as its producer declared it; equal windows become one."""
    name = functions.get(call.function_reference, "")
    if name not in FUNCTIONS:
        raise Unmapped(f"window function {name or call.function_reference} is not known")
    if call.invocation == AggregateFunction.AGGREGATION_INVOCATION_DISTINCT:
        raise Unmapped(f"window function {name} of distinct values is not known")
    read_options(name, call.options)
    if any(a.WhichOneof("arg_type") != "value" for a in call.arguments):
        raise Unmapped(f"{name} has arguments that are not values")
    arguments = tuple(reader.read(a.value) for a in call.arguments)
    function = FUNCTIONS[name]
    if function == "count" and (not arguments or isinstance(arguments[0], Literal) and arguments[0].value is not None):
        function, arguments = "count_star", ()
    if function in _COUNTING:
        arguments = counted(name, arguments)
    if function in _NUMERIC and not (len(arguments) == 1 and arguments[0].type.is_numeric):
        raise Unmapped(f"window function {name} needs one number")
    partition = tuple(reader.read(e) for e in call.partitions)
    order = read_sorts(call.sorts, reader)
    try:
        type = window_type(function, tuple(a.type for a in arguments))
    except (AssertionError, IndexError):
        raise Unmapped(f"window function {name} with {len(arguments)} arguments is not known") from None
    wanted = WindowFunction(function, arguments, type, f"w{len(node.schema)}")
    found = joined(node, partition, order, wanted, _frame(call, order))
    value: Expression = column(found.schema, len(found.schema) - 1)
    if call.HasField("output_type") and not type.is_integer:
        declared = read_type(call.output_type)
    else:
        declared = undeclared(type, arguments[0] if arguments else None)
    if declared.kind != type.kind or (type.kind == "decimal" and declared.scale != type.scale):
        raise Unmapped(f"window function {name} gives {declared.name} there and {type.name} here")
    if type.kind == "decimal" and declared.precision < type.precision:
        value = cast_to(value, declared)
    return found, value


def counted(name: str, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The arguments, after a check of the count that some functions have; a default gets the type of the values."""
    function = FUNCTIONS[name]
    place = _COUNTING[function]
    for count in arguments[place : place + 1]:
        number = count.value if isinstance(count, Literal) and count.type.is_integer else None
        if not isinstance(number, int) or number < (1 if function in ("ntile", "nth_value") else 0):
            raise Unmapped(f"{name} by {count} is not known: only by a literal, a number of rows or parts")
    if len(arguments) != 3:
        return arguments
    value, count, default = arguments
    if isinstance(default, Literal) and default.value is None:
        default = Literal(value.type.with_nullable(True), None)
    elif not common_type((value.type, default.type)).same(value.type):
        raise Unmapped(f"{name} of {value.type.name} with a default of {default.type.name} is not known")
    return value, count, cast_to(default, value.type)


def joined(
    node: Operator, partition: tuple[Expression, ...], order: tuple[SortKey, ...], wanted: WindowFunction, frame: Frame
) -> Window:
    """Merge the window into the one below if that sees the same rows."""
    if isinstance(node, Window) and (node.partition_by, node.order_by, node.frame) == (partition, order, frame):
        below = len(node.input.schema)
        if all(i < below for a in wanted.arguments for i in a.columns()):
            return Window(node.input, partition, order, (*node.functions, wanted), frame)
    return Window(node, partition, order, (wanted,), frame)


def _frame(call: Rex.WindowFunction, order: tuple[SortKey, ...]) -> Frame:
    """Unsaid bounds are SQL's: up to the current row's peers in an order, everything without one."""
    if call.bounds_type not in _UNITS:
        raise Unmapped(f"window frames of bounds type {call.bounds_type} are not known: only of rows and ranges")
    unit = _UNITS[call.bounds_type]
    start = _offset(call.lower_bound) if call.HasField("lower_bound") else None
    end = _offset(call.upper_bound) if call.HasField("upper_bound") else 0 if order else None
    if unit == "range" and len(order) == 1 and (type := order[0].expression.type).kind == "decimal":
        start, end = (None if bound is None else bound * 10**type.scale for bound in (start, end))
        if any(bound is not None and abs(bound) > OFFSET_MAX for bound in (start, end)):
            raise Unmapped(f"a window frame that far is not known for {type.name}")
    return Frame(unit, start, end)


def _offset(bound: Any) -> int | None:
    kind = bound.WhichOneof("kind")
    if kind == "preceding":
        return -int(bound.preceding.offset)
    if kind == "following":
        return int(bound.following.offset)
    return 0 if kind == "current_row" else None
