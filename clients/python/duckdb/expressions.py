"""Bound expressions of DuckDB's plans as typed nodes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jumpgate.client.duckdb.decode import Shape, flag, known, listed, optional, text, whole
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.types import BOOLEAN, SqlType, read_literal, read_type
from jumpgate.dataflow.expressions import Literal


@dataclass(frozen=True)
class Bound:
    """An expression; `type` is what it has in DuckDB."""

    type: SqlType


@dataclass(frozen=True)
class Ref(Bound):
    """Column `index` of the operator's input."""

    index: int


@dataclass(frozen=True)
class Elements(Bound):
    """The elements of a list, one a row, of an operator that is made of such alone."""

    list: Bound


@dataclass(frozen=True)
class Constant(Bound):
    literal: Literal


@dataclass(frozen=True)
class Interval(Bound):
    """A constant of that type, which is only added to times."""

    months: int
    days: int
    micros: int


@dataclass(frozen=True)
class Comparison(Bound):
    """`function` is Jumpgate's name of it."""

    function: str
    left: Bound
    right: Bound


@dataclass(frozen=True)
class Between(Bound):
    input: Bound
    lower: Bound
    upper: Bound
    lower_inclusive: bool
    upper_inclusive: bool


@dataclass(frozen=True)
class Conjunction(Bound):
    """`function`: and, or."""

    function: str
    children: tuple[Bound, ...]


@dataclass(frozen=True)
class Function(Bound):
    name: str
    children: tuple[Bound, ...]


@dataclass(frozen=True)
class Operation(Bound):
    """A function with a syntax of its own: IN, COALESCE, NOT, IS NULL."""

    name: str
    children: tuple[Bound, ...]


@dataclass(frozen=True)
class CastTo(Bound):
    input: Bound
    is_try: bool


@dataclass(frozen=True)
class CaseOf(Bound):
    checks: tuple[tuple[Bound, Bound], ...]
    otherwise: Bound


@dataclass(frozen=True)
class Order:
    expression: Bound
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class AggregateCall(Bound):
    """`options`: the separator of string_agg, the share of a quantile."""

    name: str
    children: tuple[Bound, ...]
    distinct: bool
    filter: Bound | None
    orders: tuple[Order, ...] | None
    options: tuple[str | Decimal, ...] = ()


@dataclass(frozen=True)
class WindowCall(Bound):
    """`kind`: WINDOW_RANK …; `name`: of the aggregate of WINDOW_AGGREGATE, else empty."""

    kind: str
    name: str
    children: tuple[Bound, ...]
    partitions: tuple[Bound, ...]
    orders: tuple[Order, ...]
    start: str
    end: str
    start_expr: Bound | None
    end_expr: Bound | None
    offset_expr: Bound | None
    default_expr: Bound | None
    filter: Bound | None


COMPARISONS = {
    "COMPARE_EQUAL": "eq",
    "COMPARE_NOTEQUAL": "ne",
    "COMPARE_LESSTHAN": "lt",
    "COMPARE_GREATERTHAN": "gt",
    "COMPARE_LESSTHANOREQUALTO": "le",
    "COMPARE_GREATERTHANOREQUALTO": "ge",
    "COMPARE_DISTINCT_FROM": "is_distinct",
    "COMPARE_NOT_DISTINCT_FROM": "is_not_distinct",
}
OPERATIONS = (
    "COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_COALESCE", "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL",
)  # fmt: skip
_DIRECTIONS = {"ASCENDING": False, "DESCENDING": True}
_NULLS = {"NULLS LAST": False, "NULLS FIRST": True}
_OF_ALL = frozenset(("expression_class", "type", "alias", "query_location"))
#: a function is named, and found, in DuckDB's own catalog or in none
_NAMED = {"catalog_name": ("", "system"), "schema_name": ("", "main"), "original_arguments": ([],)}


def comparison(data: Any) -> str:
    """Jumpgate's name of a comparison. Raises Stays."""
    if data not in COMPARISONS:
        raise Stays(f"comparison {data} is not offloaded")
    return COMPARISONS[data]


def read_expression(data: Any) -> Bound:
    """An expression of a plan. Raises Stays."""
    if not isinstance(data, dict):
        raise Stays("an expression is written in a way that is not known")
    kind, name = str(data.get("type")), data.get("expression_class")
    if isinstance(name, str):  # calls of functions with data of their own, and of aggregates over windows
        name += "+data" * ("function_data" in data) + "+aggregate" * (name == "BOUND_WINDOW" and "name" in data)
    shape = known(_SHAPES, "expression", name)
    if name in _KINDS and kind not in _KINDS[name]:
        raise Stays(f"expression {kind} is not offloaded")
    found = shape.decode(f"expression {data.get('name', kind)}", data)
    assert isinstance(found, Bound)
    return found


def read_order(data: Any) -> Order:
    """A key of ORDER BY. Raises Stays."""
    if not isinstance(data, dict) or data.keys() != {"type", "null_order", "expression"}:
        raise Stays("an order is written in a way that is not known")
    if data["type"] not in _DIRECTIONS or data["null_order"] not in _NULLS:
        raise Stays(f"the order {data['type']} {data['null_order']} is not known")
    return Order(read_expression(data["expression"]), _DIRECTIONS[data["type"]], _NULLS[data["null_order"]])


def _orders(data: Any) -> tuple[Order, ...] | None:
    if data is None:
        return None
    if not isinstance(data, dict) or data.keys() != {"orders"}:
        raise Stays("an order is written in a way that is not known")
    return tuple(listed(read_order)(data["orders"]))


def _check(data: Any) -> tuple[Bound, Bound]:
    if not isinstance(data, dict) or data.keys() != {"when_expr", "then_expr"}:
        raise Stays("CASE is written in a way that is not known")
    return read_expression(data["when_expr"]), read_expression(data["then_expr"])


def _function_data(data: Any) -> None:
    """Accept the data of arithmetic on decimals, and of functions that keep nothing else. Its check for overflow
    concerns DuckDB only. An aggregate of a list also has the aggregate, which an argument names, without more to
    it. A struct that is made has its type, which is the call's."""
    if isinstance(data, dict) and data.keys() == {"bind_data"}:
        data = data["bind_data"]
        if isinstance(data, dict) and data.keys() == {"stype", "aggr_expr"}:
            found = read_expression(data["aggr_expr"])
            if isinstance(found, AggregateCall) and not (
                found.distinct or found.filter or found.orders or found.options
            ):
                return
    if isinstance(data, dict) and data.keys() == {"variable_return_type"}:
        read_type(data["variable_return_type"])
        return
    if not isinstance(data, dict) or data.keys() != {"check_overflow", "return_type", "arguments"}:
        raise Stays("a function has properties that are not known")
    listed(read_type)([data["return_type"], *data["arguments"]])


def _options(data: Any) -> tuple[str | Decimal, ...]:
    """Read what an aggregate keeps besides its arguments."""
    if data == {}:
        return ()
    if isinstance(data, dict) and data.keys() == {"separator"}:
        return (text(data["separator"]),)
    if isinstance(data, dict) and data.keys() == {"quantiles", "order", "desc"}:
        shares = [read_literal(share)[1].value for share in listed(lambda item: item)(data["quantiles"])]
        plain = data["order"] == [0] and data["desc"] is False
        if plain and len(shares) == 1 and isinstance(shares[0], int | float | Decimal):
            return (Decimal(shares[0]),)
    raise Stays("an aggregate with properties that are not known is not offloaded")


def _constant(value: Any) -> Bound:
    if (
        isinstance(value, dict)
        and value.get("type") == {"id": "INTERVAL", "type_info": None}
        and not value.get("is_null")
    ):
        found = _INTERVAL.decode("an INTERVAL", value)
        assert isinstance(found, Interval)
        return found
    return Constant(*read_literal(value))


def _function(type: SqlType, name: str, children: tuple[Bound, ...], data: None = None) -> Function:
    return Function(type, name, children)


def _window(kind: str, distinct: bool, arg_orders: tuple[Order, ...], name: str = "", **properties: Any) -> WindowCall:
    if distinct or arg_orders:
        raise Stays("a window function with DISTINCT or an order of its arguments is not offloaded")
    return WindowCall(kind=kind, name=name, **properties)


def _aggregate(kind: str, **properties: Any) -> AggregateCall:
    if kind not in ("DISTINCT", "NON_DISTINCT"):
        raise Stays(f"an aggregate of type {kind} is not known")
    return AggregateCall(distinct=kind == "DISTINCT", **properties)


_expressions, _type = listed(read_expression), ("type", read_type)
_one = read_expression
_KINDS = {"BOUND_COMPARISON": tuple(COMPARISONS), "BOUND_OPERATOR": OPERATIONS,
          "BOUND_CONJUNCTION": ("CONJUNCTION_AND", "CONJUNCTION_OR"), "BOUND_CAST": ("OPERATOR_CAST",),
          "BOUND_BETWEEN": ("COMPARE_BETWEEN",), "BOUND_CASE": ("CASE_EXPR",)}  # fmt: skip
_kind = ("kind", text)
_WINDOW = {
    "type": _kind, "return_type": _type, "children": ("children", _expressions),
    "partitions": ("partitions", _expressions), "orders": ("orders", listed(read_order)),
    "start": ("start", text), "end": ("end", text),
    "start_expr": ("start_expr", optional(_one)), "end_expr": ("end_expr", optional(_one)),
    "offset_expr": ("offset_expr", optional(_one)), "default_expr": ("default_expr", optional(_one)),
    "filters": ("filter", optional(_one)), "distinct": ("distinct", flag),
    "arg_orders": ("arg_orders", listed(read_order)),
}  # fmt: skip
_WINDOW_FIXED = {"ignore_nulls": (False,), "exclude_clause": ("NO_OTHER",)}
_CALL = {"return_type": _type, "name": ("name", text), "children": ("children", _expressions)}
_MEASURE = {
    **_CALL,
    "aggregate_type": _kind,
    "filter": ("filter", optional(_one)),
    "order_bys": ("orders", _orders),
}
_UNNAMED, _TYPED = _OF_ALL - {"type"}, _OF_ALL
_PARTS = Shape(
    lambda **parts: Interval(SqlType("INTERVAL"), **parts),
    {name: (name, whole) for name in ("months", "days", "micros")},
)
_INTERVAL = Shape(
    lambda value: value,
    {"value": ("value", lambda data: _PARTS.decode("an INTERVAL", data))},
    {"is_null": (False,)},
    frozenset(("type",)),
)
_SHAPES = {
    "BOUND_REF": Shape(Ref, {"return_type": _type, "index": ("index", whole)}, ignored=_TYPED),
    "BOUND_UNNEST": Shape(Elements, {"return_type": _type, "child": ("list", _one)}, ignored=_TYPED),
    "BOUND_CONSTANT": Shape(_constant, {"value": ("value", lambda data: data)}, ignored=_TYPED),
    "BOUND_COMPARISON": Shape(
        lambda kind, **p: Comparison(BOOLEAN, COMPARISONS[kind], **p),
        {"type": _kind, "left": ("left", _one), "right": ("right", _one)}, ignored=_UNNAMED,
    ),
    "BOUND_BETWEEN": Shape(
        lambda **p: Between(BOOLEAN, **p),
        {"input": ("input", _one), "lower": ("lower", _one), "upper": ("upper", _one),
         "lower_inclusive": ("lower_inclusive", flag), "upper_inclusive": ("upper_inclusive", flag)},
        ignored=_TYPED,
    ),
    "BOUND_CONJUNCTION": Shape(
        lambda kind, children: Conjunction(BOOLEAN, kind.removeprefix("CONJUNCTION_").lower(), children),
        {"type": _kind, "children": ("children", _expressions)}, ignored=_UNNAMED,
    ),
    "BOUND_OPERATOR": Shape(
        Operation, {"type": ("name", text), "return_type": _type, "children": ("children", _expressions)},
        ignored=_UNNAMED,
    ),
    "BOUND_CAST": Shape(
        CastTo, {"return_type": _type, "child": ("input", _one), "try_cast": ("is_try", flag)}, ignored=_TYPED
    ),
    "BOUND_CASE": Shape(
        CaseOf, {"return_type": _type, "case_checks": ("checks", listed(_check)), "else_expr": ("otherwise", _one)},
        ignored=_TYPED,
    ),
    "BOUND_FUNCTION": Shape(
        _function, _CALL, {**_NAMED, "has_serialize": (False,)}, _TYPED | {"arguments", "is_operator"}
    ),
    "BOUND_FUNCTION+data": Shape(
        _function, {**_CALL, "function_data": ("data", _function_data)}, {**_NAMED, "has_serialize": (True,)},
        _TYPED | {"arguments", "is_operator"},
    ),
    "BOUND_AGGREGATE": Shape(_aggregate, _MEASURE, {**_NAMED, "has_serialize": (False,)}, _TYPED | {"arguments"}),
    "BOUND_AGGREGATE+data": Shape(
        _aggregate,
        {**_MEASURE, "function_data": ("options", _options)},
        {"catalog_name": ("", "system"), "schema_name": ("", "main"), "has_serialize": (True,)},
        _TYPED | {"arguments", "original_arguments"},
    ),
    "BOUND_WINDOW": Shape(_window, _WINDOW, _WINDOW_FIXED, _UNNAMED),
    "BOUND_WINDOW+aggregate": Shape(
        _window, {**_WINDOW, "name": ("name", text)}, {**_WINDOW_FIXED, **_NAMED, "has_serialize": (False,)},
        _UNNAMED | {"arguments"},
    ),
}  # fmt: skip
