"""Window functions of DataFusion's plans: each becomes a column of a Window over the input."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from jumpgate.client.sql.function_names import AGGREGATES
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.expressions import INTERVALS, ExpressionReader
from jumpgate.client.sql.logical.sorts import read_sorts
from jumpgate.client.sql.logical.types import read_literal
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import cast_to
from jumpgate.dataflow.operators import (
    NUMERIC_MEASURES,
    OFFSET_MAX,
    WINDOW_FUNCTIONS,
    Frame,
    Operator,
    Project,
    SortKey,
    WindowFunction,
    column,
    has_differences,
    window_type,
)
from jumpgate.dataflow.substrait.aggregates import built, undeclared
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.substrait.windows import counted, joined
from jumpgate.dataflow.types import DataType, int64

RANKINGS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")
OFFSETS = ("lag", "lead")
EDGES = ("first_value", "last_value")
_UNITS = {pb.Frame.ROWS: "rows", pb.Frame.RANGE: "range", pb.Frame.GROUPS: "groups"}
_DAY_US = 86_400_000_000


def read_windows(window: pb.Window, node: Operator, reader: ExpressionReader) -> Operator:
    """The input's columns, then one for each window function."""
    width = len(node.schema)
    values: list[Expression] = []
    found = node
    for expr in window.exprs:
        found, value = _add(found, expr, reader)
        values.append(value)
    columns: list[Expression] = [*(column(found.schema, i) for i in range(width)), *values]
    if columns == [column(found.schema, i) for i in range(len(found.schema))]:
        return found
    names = (*node.schema.names, *(f"w{i}" for i in range(len(values))))
    return Project(found, tuple(columns), names)


def _add(node: Operator, expr: pb.Expr, reader: ExpressionReader) -> tuple[Operator, Expression]:
    while expr.WhichOneof("kind") == "alias":
        expr = expr.alias.input
    if expr.WhichOneof("kind") != "window":
        raise Unmapped("a window without a window function")
    call = expr.window
    name = call.aggregate or call.window
    if call.HasField("definition"):
        raise Unmapped(f"function {name} is one of the session's")
    if call.distinct:
        raise Unmapped(f"window function {name} of distinct values is not known")
    if call.nulls == pb.IGNORE:
        raise Unmapped(f"window function {name} that ignores NULLs is not known")
    condition = reader.predicate(call.filter) if call.HasField("filter") else None
    order = read_sorts(call.order_by, reader)
    partition = tuple(reader.read(e) for e in call.partition_by)
    if call.WhichOneof("function") == "aggregate":
        function, arguments = _aggregate(name, call, reader, condition)
        frame = _frame(call.frame, order)
    elif condition is not None:
        raise Unmapped(f"window function {name} with a filter is not known")
    else:
        function = name
        arguments, frame = _positional(name, tuple(reader.read(e) for e in call.args), call, order)
    type = window_type(function, tuple(a.type for a in arguments))
    wanted = WindowFunction(function, arguments, type, f"w{len(node.schema)}")
    found = joined(node, partition, order, wanted, frame)
    value: Expression = column(found.schema, len(found.schema) - 1)
    declared = undeclared(type, arguments[0] if arguments else None) if function in NUMERIC_MEASURES else type
    return found, value if declared.same(type) else cast_to(value, declared)


def _aggregate(
    name: str, call: pb.WindowCall, reader: ExpressionReader, condition: Expression | None
) -> tuple[str, tuple[Expression, ...]]:
    if AGGREGATES.get(name) not in WINDOW_FUNCTIONS:
        raise Unmapped(f"window function {name} is not known")
    found = built(name, AGGREGATES[name], tuple(map(reader.read, call.args)), name, condition=condition)
    if isinstance(found.argument, Literal) and found.argument.value is None:
        raise Unmapped(f"window function {name} of NULL is not known")
    return found.function, found.arguments


def _positional(
    name: str, arguments: tuple[Expression, ...], call: pb.WindowCall, order: tuple[SortKey, ...]
) -> tuple[tuple[Expression, ...], Frame]:
    """Arguments and frame of a function that ranks or looks elsewhere; Unmapped for arguments that it may not have."""
    if name in RANKINGS and not arguments:
        return (), Frame()
    if name == "ntile" and len(arguments) == 1:
        return counted(name, arguments), Frame()
    if name in OFFSETS and 1 <= len(arguments) <= 3 and not isinstance(arguments[0], Literal):
        return counted(name, arguments), Frame()
    if name in EDGES and len(arguments) == 1 and not isinstance(arguments[0], Literal):
        return arguments, _frame(call.frame, order)
    if name == "nth_value" and len(arguments) == 2 and not isinstance(arguments[0], Literal):
        return counted(name, arguments), _frame(call.frame, order)
    raise Unmapped(f"window function {name} with {len(arguments)} arguments is not known")


def _frame(frame: pb.Frame, order: tuple[SortKey, ...]) -> Frame:
    unit = _UNITS[frame.unit]
    distance = order[0].expression.type if unit == "range" and len(order) == 1 else int64
    start, end = _offset(frame.start, distance), _offset(frame.end, distance) if frame.HasField("end") else 0
    if start is None and frame.start.kind == pb.Bound.FOLLOWING or end is None and frame.end.kind == pb.Bound.PRECEDING:
        raise Unmapped("a frame without rows is not known")
    if not order and unit != "rows":  # all rows are peers
        return Frame("range", None, None)
    return Frame(unit, start, end)


def _offset(bound: pb.Bound, type: DataType) -> int | None:
    """From the current row, in units of the type (operators.Frame); None: unbounded."""
    if bound.kind == pb.Bound.CURRENT_ROW:
        return 0
    value = _interval(bound.offset, type) if _is_interval(bound.offset) else read_literal(bound.offset).value
    if value is None:
        return None
    if type.kind == "decimal" and isinstance(value, int | Decimal):
        last_digits = Fraction(value) * 10**type.scale
        value = int(last_digits) if last_digits.denominator == 1 else None
    if not (has_differences(type) and isinstance(value, int) and value <= OFFSET_MAX):
        raise Unmapped(f"frames of a RANGE of {type.name} with such an offset are not known")
    return -value if bound.kind == pb.Bound.PRECEDING else value


def _is_interval(offset: pb.Scalar) -> bool:
    return offset.WhichOneof("kind") in INTERVALS


def _interval(offset: pb.Scalar, type: DataType) -> int:
    """Days of dates, microseconds of timestamps."""
    months, days, nanoseconds = INTERVALS[offset.WhichOneof("kind") or ""](offset)
    if not months and not nanoseconds and type.kind == "date":
        return days
    if not months and nanoseconds % 1000 == 0 and type.kind == "timestamp":
        return days * _DAY_US + nanoseconds // 1000
    raise Unmapped(f"frames of a RANGE of {type.name} with such an interval are not known: a month has no one length")
