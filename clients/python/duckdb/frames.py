"""The frames of window functions in DuckDB's plans, and the keys that order the rows in them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

from jumpgate.client.duckdb import expressions as e
from jumpgate.client.duckdb.functions import only_if, whole
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scalars import Scalars
from jumpgate.client.duckdb.types import SIGNED
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Frame, SortKey

_DAY_US = 86_400_000_000
#: days from the least and greatest times that a range is offloaded for to those of DuckDB
_DAYS_MAX = 300_000
_FIRST, _LAST = datetime.datetime(1000, 1, 1), datetime.datetime(9000, 1, 1)
_UNITS = {"ROWS": "rows", "RANGE": "range", "GROUPS": "groups"}
#: bounds at a distance from the current row, and its sign
_DISTANT = {"EXPR_PRECEDING": -1, "EXPR_FOLLOWING": 1}


def translate_frame(call: e.WindowCall, scalars: Scalars) -> tuple[Frame, tuple[SortKey, ...]]:
    """The frame of a window function, and its order. Raises Stays."""
    keys = scalars.keys(call.orders)
    bounds = ((call.start, call.start_expr), (call.end, call.end_expr))
    units = {unit for bound, _ in bounds if (unit := _UNITS.get(bound.rpartition("_")[2]))}
    if not keys and units <= {"range"}:
        return Frame("range", None, None), keys  # all rows are peers
    if not keys:
        raise Stays("a window of rows without an order takes them as they come")
    if len(units) > 1:
        raise Stays("a window's frame from rows to values is not offloaded")
    unit = min(units, default="rows")
    start = _bound(bounds[0], "UNBOUNDED_PRECEDING", call)
    end = _bound(bounds[1], "UNBOUNDED_FOLLOWING", call)
    if start is not None and end is not None and start > end:
        raise Stays("a frame without rows is not offloaded")
    if unit == "range" and (start or end):
        keys = (_guarded(keys[0], call.orders[0], max(abs(start or 0), abs(end or 0))),)
    return Frame(unit, start, end), keys


def _bound(bound: tuple[str, e.Bound | None], unbounded: str, call: e.WindowCall) -> int | None:
    name, offset = bound
    kind, _, unit = name.rpartition("_")
    if name == unbounded:
        return None
    if kind == "CURRENT_ROW":
        return 0
    if kind in _DISTANT and unit in _UNITS:
        value = _constant(offset) if unit != "RANGE" else _difference(offset, call.orders, kind)
        if value is not None and 0 <= value < 1 << 62:
            return _DISTANT[kind] * value
    raise Stays(f"a window's frame with {name.replace('_', ' ')} is not offloaded")


def _constant(bound: e.Bound | None) -> int | None:
    value = bound.literal.value if isinstance(bound, e.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _difference(bound: e.Bound | None, orders: tuple[e.Order, ...], kind: str) -> int | None:
    """The distance in a bound that is the key with it added or taken off, in units of the key (operators.Frame)."""
    if bound is None or len(orders) != 1:
        return None
    (order,), bound = orders, _narrow(bound)
    added = "-" if (kind == "EXPR_PRECEDING") != order.descending else "+"
    if not isinstance(bound, e.Function) or bound.name != added or len(bound.children) != 2:
        return None
    key, distance = bound.children
    base = _narrow(order.expression)
    if bound.type.id == "DECIMAL":
        return _last_digits(bound, _narrow(key), distance) if base == _narrow(key) else None
    if isinstance(distance, e.Interval) and key in (order.expression, _of_date(order.expression)):
        if distance.months:
            raise Stays("a frame of months is not offloaded: a month has no one length")
        return distance.days * _DAY_US + distance.micros if bound.type.id == "TIMESTAMP" else None
    same = key == order.expression and key.type == bound.type
    return _constant(distance) if same and bound.type.id in (*SIGNED, "DATE") else None


def _narrow(bound: e.Bound) -> e.Bound:
    """The decimal of which the bound is the same with more digits; other bounds as they are."""
    while isinstance(bound, e.CastTo) and bound.type.id == "DECIMAL" and not bound.is_try:
        source = bound.input.type
        if source.id != "DECIMAL" or source.scale != bound.type.scale or source.width > bound.type.width:
            break
        bound = bound.input
    return bound


def _of_date(bound: e.Bound) -> e.Bound | None:
    """The DATE of which the bound is the TIMESTAMP."""
    return bound.input if isinstance(bound, e.CastTo) and bound.input.type.id == "DATE" else None


def _last_digits(bound: e.Bound, key: e.Bound, distance: e.Bound) -> int | None:
    """The distance between decimals, of which the bound has a digit more than the key, so that none overflows."""
    value = distance.literal.value if isinstance(distance, e.Constant) else None
    if not isinstance(value, int | Decimal) or key.type.id != "DECIMAL" or key.type.scale != bound.type.scale:
        return None
    last_digits = Fraction(value) * 10**bound.type.scale
    fits = key.type.width < bound.type.width and last_digits < 10 ** (bound.type.width - 1)
    return int(last_digits) if fits and last_digits.denominator == 1 else None


def _guarded(key: SortKey, order: e.Order, distance: int) -> SortKey:
    """The key, of which values fail that are so near to an end of their type that DuckDB may have an error."""
    value, type = key.expression, order.expression.type
    least: Expression
    greatest: Expression
    if type.id == "DECIMAL":  # it has grown by a digit
        return key
    if type.id in SIGNED:
        most = (1 << (8 * value.type.width - 1)) - 1 - distance
        if most < 0:
            raise Stays("a frame as wide as its type is not offloaded")
        least, greatest = whole(-most, value.type), whole(most, value.type)
    else:
        days = distance if type.id == "DATE" else distance // _DAY_US
        if days > _DAYS_MAX:
            raise Stays("a frame of more than 800 years is not offloaded")
        first, last = (_FIRST.date(), _LAST.date()) if type.id == "DATE" else (_FIRST, _LAST)
        kept = value.type.with_nullable(False)
        least, greatest = Literal(kept, first), Literal(kept, last)
    known = bind("and", (bind("ge", (value, least)), bind("le", (value, greatest))))
    reason = "a frame at the ends of its type"
    return SortKey(only_if(known, value, reason), key.descending, key.nulls_first)
