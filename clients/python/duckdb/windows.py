"""Window functions of DuckDB's plans, one operator for each."""

from __future__ import annotations

from collections.abc import Callable

from jumpgate.client.duckdb import expressions as e
from jumpgate.client.duckdb.aggregates import Computed, computed
from jumpgate.client.duckdb.functions import as_type
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scalars import Scalars
from jumpgate.client.duckdb.types import SqlType
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.operators import (
    WINDOW_FUNCTIONS,
    Frame,
    Operator,
    Project,
    Window,
    WindowFunction,
    column,
    window_type,
)

_RANKINGS = {
    "WINDOW_ROW_NUMBER": "row_number", "WINDOW_RANK": "rank", "WINDOW_RANK_DENSE": "dense_rank",
    "WINDOW_PERCENT_RANK": "percent_rank", "WINDOW_CUME_DIST": "cume_dist",
}  # fmt: skip
#: bounds that are numbers of rows from the current one, and the sign of these
_DISTANT = {"EXPR_PRECEDING_ROWS": -1, "EXPR_FOLLOWING_ROWS": 1}


def translate_windows(
    calls: tuple[e.WindowCall, ...], input: Operator, types: tuple[SqlType | None, ...]
) -> tuple[Operator, tuple[SqlType | None, ...]]:
    """The input's columns and one more for each call, with their types. Raises Stays."""
    width, found = len(input.schema), input
    scalars = Scalars(input.schema, types)
    values: list[Callable[[Operator], Expression]] = []
    for call in calls:
        place, what = len(found.schema), _computed(call, scalars)
        found = _window(call, what, found, scalars)
        values.append(lambda node, what=what, place=place: what.value(  # type: ignore[misc]
            tuple(column(node.schema, place + i) for i in range(len(what.measures)))
        ))  # fmt: skip
    columns = [column(found.schema, i) for i in range(width)]
    added = [as_type(value(found), call.type.carrier) for value, call in zip(values, calls, strict=True)]
    names = (*input.schema.names, *(f"w{i}" for i in range(len(calls))))
    return Project(found, (*columns, *added), names), (*types, *(call.type for call in calls))


def _computed(call: e.WindowCall, scalars: Scalars) -> Computed:
    if call.offset_expr is not None or call.default_expr is not None:
        raise Stays(f"window function {call.kind} is not offloaded")
    if call.kind in _RANKINGS:
        function = _RANKINGS[call.kind]
        if not call.orders:
            raise Stays(f"{function}() without an order numbers rows as they come")
        return Computed(((function, ()),), lambda values: values[0])
    if call.kind != "WINDOW_AGGREGATE":
        raise Stays(f"window function {call.kind.removeprefix('WINDOW_').lower()} is not offloaded")
    found = computed(call.name, scalars.all(call.children), tuple(child.type for child in call.children), False)
    for function, arguments in found.measures:
        if function not in WINDOW_FUNCTIONS:
            raise Stays(f"aggregate {call.name} over a window is not offloaded")
        if any(isinstance(argument, Literal) for argument in arguments):
            raise Stays(f"{call.name} of a constant over a window is not offloaded")
    return found


def _window(call: e.WindowCall, what: Computed, input: Operator, scalars: Scalars) -> Operator:
    frame = Frame() if call.kind in _RANKINGS else _frame(call)
    place = len(input.schema)
    functions = tuple(
        WindowFunction(function, arguments, window_type(function, tuple(a.type for a in arguments)), f"f{place + i}")
        for i, (function, arguments) in enumerate(what.measures)
    )
    return Window(input, scalars.all(call.partitions), scalars.keys(call.orders), functions, frame)


def _frame(call: e.WindowCall) -> Frame:
    """Raises Stays for frames of values, and for those of rows without an order."""
    bounds = (call.start, call.end)
    if not call.orders and all(b.startswith("UNBOUNDED") or b.endswith("_RANGE") for b in bounds):
        return Frame("range", None, None)  # all rows are peers
    if not call.orders:
        raise Stays("a window of rows without an order takes them as they come")
    by_rows = any(b.endswith("_ROWS") for b in bounds)
    if by_rows and any(b.endswith("_RANGE") for b in bounds) or any(b.endswith("_GROUPS") for b in bounds):
        raise Stays("a window's frame from rows to values is not offloaded")
    start = _bound(call.start, call.start_expr, "UNBOUNDED_PRECEDING")
    end = _bound(call.end, call.end_expr, "UNBOUNDED_FOLLOWING")
    if start is not None and end is not None and start > end:
        raise Stays("a frame without rows is not offloaded")
    return Frame("rows" if by_rows else "range", start, end)


def _bound(bound: str, offset: e.Bound | None, unbounded: str) -> int | None:
    if bound == unbounded:
        return None
    if bound in ("CURRENT_ROW_RANGE", "CURRENT_ROW_ROWS"):
        return 0
    if bound in _DISTANT and isinstance(offset, e.Constant):
        value = offset.literal.value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31:
            return _DISTANT[bound] * value
    raise Stays(f"a window's frame with {bound.replace('_', ' ')} is not offloaded")
