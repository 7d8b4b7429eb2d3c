"""Window functions of DuckDB's plans, one operator for each."""

from __future__ import annotations

from collections.abc import Callable

from jumpgate.client.duckdb import expressions as e
from jumpgate.client.duckdb.aggregates import filtered
from jumpgate.client.duckdb.frames import translate_frame
from jumpgate.client.duckdb.functions import as_type, whole
from jumpgate.client.duckdb.measures import Computed, alone
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
#: functions of another row of the partition
_POSITIONAL = (
    "WINDOW_NTILE", "WINDOW_LAG", "WINDOW_LEAD", "WINDOW_FIRST_VALUE", "WINDOW_LAST_VALUE", "WINDOW_NTH_VALUE",
)  # fmt: skip
_WITHOUT_FRAME = (*_RANKINGS, "WINDOW_NTILE", "WINDOW_LAG", "WINDOW_LEAD")


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
    name = call.kind.removeprefix("WINDOW_").lower()
    if call.kind in _RANKINGS:
        function = _RANKINGS[call.kind]
        if not call.orders:
            raise Stays(f"{function}() without an order numbers rows as they come")
        return alone(function)
    if call.kind in _POSITIONAL:
        return alone(*_positional(name, call, scalars))
    if call.kind != "WINDOW_AGGREGATE":
        raise Stays(f"window function {name} is not offloaded")
    arguments, types = scalars.all(call.children), tuple(child.type for child in call.children)
    condition = None if call.filter is None else scalars.read(call.filter)
    found = filtered(call.name, arguments, types, False, condition)
    for function, values, _ in found.measures:
        if function not in WINDOW_FUNCTIONS:
            raise Stays(f"aggregate {call.name} over a window is not offloaded")
        if any(isinstance(value, Literal) for value in values):
            raise Stays(f"{call.name} of a constant over a window is not offloaded")
    return found


def _positional(name: str, call: e.WindowCall, scalars: Scalars) -> tuple[str, tuple[Expression, ...]]:
    """The function that looks at another row, and its arguments. Raises Stays."""
    if not call.orders or call.filter is not None:
        raise Stays(f"{name} without an order, or with a filter, is not offloaded")
    values = scalars.all(call.children)
    if name == "ntile":
        return name, (_count(name, values[0], 1),)
    if isinstance(values[0], Literal):
        raise Stays(f"{name} of a constant is not offloaded")
    if name == "nth_value":
        return name, (values[0], _count(name, values[1], 1))
    if name not in ("lag", "lead"):
        return name, values
    offset = whole(1) if call.offset_expr is None else _count(name, scalars.read(call.offset_expr), 0)
    if call.default_expr is None:
        return name, (*values, offset)
    if call.default_expr.type != call.type:
        raise Stays(f"{name} with a default of another type is not offloaded")
    return name, (*values, offset, scalars.read(call.default_expr))


def _count(name: str, value: Expression, least: int) -> Literal:
    if isinstance(value, Literal) and isinstance(value.value, int) and least <= value.value < 1 << 31:
        return whole(value.value)
    raise Stays(f"{name} with a number that is computed, or less than {least}, is not offloaded")


def _window(call: e.WindowCall, what: Computed, input: Operator, scalars: Scalars) -> Operator:
    frame, keys = Frame(), scalars.keys(call.orders)
    if call.kind not in _WITHOUT_FRAME:
        frame, keys = translate_frame(call, scalars)
    place = len(input.schema)
    functions = tuple(
        WindowFunction(function, arguments, window_type(function, tuple(a.type for a in arguments)), f"f{place + i}")
        for i, (function, arguments, _) in enumerate(what.measures)
    )
    return Window(input, scalars.all(call.partitions), keys, functions, frame)
