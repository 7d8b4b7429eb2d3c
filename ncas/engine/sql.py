"""Translates one operator to DuckDB's SQL over the table `input` with columns c0, c1, …, exactly, or refuses.

No text of a request gets into a statement: names are numbered, and the only literals are integers. Differences of
DuckDB are compensated: integers are summed as decimals, whose sums are cast to BIGINT or fail, floats are ordered with
one NaN, the largest, and one zero.
"""

from __future__ import annotations

from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import ColumnRef, Expression, Literal
from jumpgate.dataflow.operators import Frame, Operator, Sort, SortKey, Window, WindowFunction
from jumpgate.dataflow.types import DataType
from jumpgate.nca.interface import Unsupported

#: functions that ignore the frame
RANKING = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead")
#: the most digits of values whose sum has at most 38, whatever the number of rows
SUMMED_DIGITS_MAX = 28


def refusal(node: Operator, dialect: Dialect) -> Unsupported | None:
    """Return what DuckDB would not do exactly as `dialect` requires in a window or sort."""
    values = [v for f in node.functions for v in f.values] if isinstance(node, Window) else []
    if any(not isinstance(e, ColumnRef | Literal) for e in node.own_expressions) or any(
        isinstance(v, Literal) for v in values
    ):
        return Unsupported(
            "the engine takes columns, not expressions", "expression", "compute them in a projection below"
        )
    if not isinstance(node, Window):
        return None
    keys = (*node.partition_by, *(k.expression for k in node.order_by))
    if dialect.nan != "largest" and any(k.type.is_float for k in keys):
        return Unsupported("the engine orders NaN as the largest number, as its equal", "nan", 'use nan = "largest"')
    if node.frame.unit == "range" and any(b for b in (node.frame.start, node.frame.end)):
        return Unsupported("the engine takes frames of offsets in rows, not in values", "range_offset")
    return next((no for f in node.functions if (no := _refused(f, node)) is not None), None)


def _refused(f: WindowFunction, node: Window) -> Unsupported | None:
    if f.function in ("rank", "dense_rank", "percent_rank", "cume_dist") and not node.order_by:
        return Unsupported(f"{f.function} without an order", "window_order")
    if f.function not in ("sum", "avg", "stddev"):
        return None
    type = f.arguments[0].type
    if (type.is_float or f.function == "stddev") and node.frame.start is not None:
        return Unsupported(f"the engine's {f.function} of floats over a sliding frame is not exact", "sliding_float")
    return None


def statement(node: Operator, table: str = "input") -> str:
    """Return the SELECT for an operator that `refusal` accepts; its columns are those of the operator, in order, and
    `table` has the input's."""
    assert isinstance(node, Window | Sort)
    columns = [f"c{i}" for i in range(len(node.input.schema))]
    if isinstance(node, Sort):
        limit = "" if node.limit is None else f" LIMIT {node.limit:d}"
        return f"SELECT {', '.join(columns)} FROM {table}{_order(node.keys)}{limit} OFFSET {node.offset:d}"
    keys = [_key(k) for k in node.partition_by if isinstance(k, ColumnRef)]
    partition = f"PARTITION BY {', '.join(keys)}" if keys else ""
    window = partition + _order(node.order_by)
    frame = _frame(node.frame) if node.order_by or node.frame.unit == "rows" else ""  # otherwise all rows are peers
    outputs = [
        f"{_call(f, f' OVER ({window}{frame})', f' OVER ({window})')} AS c{i}"
        for i, f in enumerate(node.functions, len(columns))
    ]
    return f"SELECT {', '.join((*columns, *outputs))} FROM {table}"


def _call(f: WindowFunction, framed: str, whole: str) -> str:
    arguments = [str(a.value) if isinstance(a, Literal) else _column(a) for a in f.arguments]
    if f.function in ("lag", "lead") and len(arguments) == 3:  # the engine's own defaults are literals, and cast
        value, count, default = arguments
        there = f"{f.function}(1, {count}){whole} IS NOT NULL"
        return f"CASE WHEN {there} THEN {f.function}({value}, {count}){whole} ELSE {default} END"
    if f.function in RANKING:
        return f"{f.function}({', '.join(arguments)}){whole}"
    if f.function == "count_star":
        return f"count(*){framed}"
    if f.function == "nth_value":
        return f"nth_value({', '.join(arguments)}){framed}"
    argument, type = arguments[0], f.arguments[0].type
    match f.function:
        case "min" | "max":
            argument = _key(f.arguments[0])
        case "sum" if not type.is_float:
            total = f"sum({_exact(argument, type)}){framed}"
            return f"CAST({total} AS BIGINT)" if type.is_integer else checked_sum(total, type)
        case "sum":
            argument = f"CAST({argument} AS DOUBLE)"
        case "avg" if not type.is_float:
            total = f"CAST({checked_sum(f'sum({_exact(argument, type)}){framed}', type)} AS DOUBLE)"
            return f"({total} / CAST(count({argument}){framed} AS DOUBLE))"
        case "avg" | "stddev":
            argument = f"CAST({argument} AS DOUBLE)"
    return f"{'stddev_samp' if f.function == 'stddev' else f.function}({argument}){framed}"


def checked_sum(total: str, type: DataType) -> str:
    """Return a sum of decimals that fails where it has more digits than a decimal: the engine's has 128 bits."""
    if type.kind != "decimal" or type.precision <= SUMMED_DIGITS_MAX:
        return total
    return f"({total} + CAST(0 AS DECIMAL(38, {type.scale:d})))"


def _exact(argument: str, type: DataType) -> str:
    return f"CAST({argument} AS DECIMAL(38, {type.scale:d}))"


def _column(e: Expression) -> str:
    assert isinstance(e, ColumnRef)
    return f"c{e.index:d}"


def _key(e: Expression) -> str:
    """Return an expression that is equal and ordered as the column is in Jumpgate."""
    if not e.type.is_float:
        return _column(e)
    number = f"CAST({_column(e)} AS DOUBLE)"
    return f"CASE WHEN isnan({number}) THEN CAST('NaN' AS DOUBLE) ELSE {number} + CAST(0 AS DOUBLE) END"


def _order(keys: tuple[SortKey, ...]) -> str:
    texts = [
        f"{_key(k.expression)} {'DESC' if k.descending else 'ASC'} NULLS {'FIRST' if k.nulls_first else 'LAST'}"
        for k in keys
        if isinstance(k.expression, ColumnRef)  # a constant orders nothing
    ]
    return f" ORDER BY {', '.join(texts)}" if texts else ""


def _frame(frame: Frame) -> str:
    start = "UNBOUNDED PRECEDING" if frame.start is None else _bound(frame.start)
    end = "UNBOUNDED FOLLOWING" if frame.end is None else _bound(frame.end)
    return f" {frame.unit.upper()} BETWEEN {start} AND {end}"


def _bound(offset: int) -> str:
    return f"{abs(offset):d} {'PRECEDING' if offset < 0 else 'FOLLOWING'}" if offset else "CURRENT ROW"
