"""Directed dataflows for expressions: each function, cast and literal over values at which engines differ.

Each is a projection of its own, so that an accelerator that refuses one function is asked for the others.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jumpgate.client import col, lit
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Case, Expression, InList, Literal
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.literals import as_literal
from jumpgate.dataflow.operators import Filter, Operator, Project, column
from jumpgate.dataflow.types import bool_, parse_type
from jumpgate.nca.conformance.kit import Case as Directed
from jumpgate.testing.lab import Lab

DAY, TIME = datetime.date, datetime.datetime
#: the table's columns; rows combine them with different periods
SAMPLES: dict[str, tuple[str, list[Any]]] = {
    "b": ("bool", [True, None, False]),
    "i": ("int32", [0, 7, -7, None, 2, 100]),
    "l": ("int64", [3, -40, None, 2**53, 2**53 + 1]),
    "f": ("float64", [0.5, -2.5, 1.5, None, 0.0, 100.25, 2.675]),
    "d": ("decimal(7, 2)", [Decimal("1.50"), Decimal("-2.50"), None, Decimal("0.00"), Decimal("99999.99")]),
    "s": ("string", ["abc", "", " a ", None, "aéb", "é", "e\u0301", "日本😀", "A.C", "a%c", "xABCx"]),
    "r": ("string", ["b", "", "abc", "é", None, ".", "a"]),
    "y": ("date", [DAY(1970, 1, 1), DAY(1969, 12, 31), DAY(2000, 2, 29), None, DAY(2024, 12, 31)]),
    "t": (
        "timestamp",
        [TIME(1970, 1, 1), None, TIME(1969, 12, 31, 23, 59, 59, 999999), TIME(2024, 2, 29, 12, 34, 56, 789123)],
    ),
}
ROWS = 60


@dataclass(frozen=True)
class Value:
    """A literal argument; others are names of columns."""

    value: Any


def _calls() -> Iterator[tuple[Any, ...]]:
    """Yield functions with their arguments."""
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_not_distinct"):
        yield from ((name, "s", "r"), (name, "l", Value(2**53)), (name, "i", "d"), (name, "y", "t"))
    for name in ("is_null", "is_not_null"):
        yield from ((name, c) for c in SAMPLES)
    flag = ("gt", "i", Value(1))
    yield from (("and", "b", flag), ("or", "b", flag), ("not", "b"))
    for name in ("add", "subtract", "multiply"):
        yield from ((name, "i", "i"), (name, "d", "i"), (name, "f", "i"))
    yield from (("negate", c) for c in "ilfd")
    yield from (("abs", c) for c in "ilfd")
    for name in ("floor", "ceil"):
        yield from ((name, "f"), (name, "d"))
    yield from (("round", "f"), ("round", "d", Value(1)), ("sqrt", ("abs", "f")))
    yield from (("divide", "i", Value(4)), ("int_divide", "i", Value(2)), ("modulo", "i", Value(3)))
    yield from (("coalesce", "i", "l"), ("coalesce", "s", "r"), ("null_if", "s", "r"), ("null_if", "i", Value(7)))
    for name in ("starts_with", "ends_with", "contains", "concat"):
        yield (name, "s", "r")
    yield from ((name, "s") for name in ("char_length", "trim", "ltrim", "rtrim"))
    yield ("reverse", "r")
    yield from ((name, ("replace", "s", Value("é"), Value("e"))) for name in ("upper", "lower"))
    yield from (("substring", "s", Value(2)), ("substring", "s", Value(2), Value(1)), ("replace", "s", "r", Value("-")))
    yield from (("like", "s", Value(p)) for p in ("a%", "_", "%B%", "a_c", "%\u0301"))
    yield ("like", "s", Value("a!%c"), Value("!"))
    for name in ("year", "quarter", "month", "day", "day_of_week"):
        yield from ((name, "y"), (name, "t"))
    yield from ((name, "t") for name in ("hour", "minute", "second"))
    yield ("date_add_days", "y", "i")


CASTS = (("f", "int64"), ("d", "int32"), ("i", "string"), ("l", "string"), ("y", "string"), ("y", "timestamp"),
         ("t", "date"), ("f", "float32"), ("i", "float64"), ("b", "int32"), ("d", "float64"))  # fmt: skip


def functions(lab: Lab) -> Iterator[Directed]:
    """Yield a dataflow for each function, for each kind of cast and literal, and for dialects."""
    flow = _table(lab)
    by_name: dict[str, list[Expression]] = {}
    for name, *arguments in _calls():
        by_name.setdefault(name, []).append(_bound(flow.root, (name, *arguments)))
    yield Directed("literals in conditions", _conditions(flow.root))
    yield Directed("the first condition that holds", _projected(flow.root, [_case(flow.root)]))
    yield Directed("lists with NULL", _projected(flow.root, [*_lists(flow.root)]))
    for name, calls in by_name.items():
        yield Directed(name, _projected(flow.root, calls))
    casts = {to: [_cast(flow.root, c, to) for c, t in CASTS if t == to] for _, to in CASTS}
    for to, calls in casts.items():
        yield Directed(f"casts to {to}", _projected(flow.root, calls))
    yield from _dialects(flow.root)


def compared(flow: Dataflow, type: str, edges: list[Any]) -> Operator:
    """Return comparisons of column v with each of its type's edges."""
    values = [lit(edge).cast(type) for edge in edges]
    columns = {f"e{i}": col("v") == value for i, value in enumerate(values)}
    return flow.select("n", **columns, **{f"l{i}": col("v") < value for i, value in enumerate(values)}).root


def _table(lab: Lab) -> Dataflow:
    types = {name: parse_type(t).with_nullable(True) for name, (t, _) in SAMPLES.items()}
    rows = [tuple(values[i % len(values)] for _, values in SAMPLES.values()) for i in range(ROWS)]
    return lab.table(types, rows, files=2)


def _bound(node: Operator, call: Any) -> Expression:
    if isinstance(call, str):
        return column(node.schema, node.schema.names.index(call))
    if isinstance(call, Value):
        return as_literal(call.value)
    name, *arguments = call
    return bind(name, tuple(_bound(node, a) for a in arguments))


def _cast(node: Operator, name: str, to: str) -> Expression:
    return cast_to(_bound(node, name), parse_type(to))


def _projected(node: Operator, expressions: list[Expression]) -> Operator:
    return Project(node, tuple(expressions), tuple(f"x{i}" for i in range(len(expressions))))


def _conditions(node: Operator) -> Operator:
    either = [("eq", "l", Value(2**53 + 1)), ("eq", "t", Value(TIME(1969, 12, 31, 23, 59, 59, 999999))),
              ("eq", "s", Value("e\u0301")), ("eq", "d", Value(Decimal("1.5")))]  # fmt: skip
    return Filter(node, bind("or", tuple(_bound(node, call) for call in either)))


def _case(node: Operator) -> Expression:
    """Return a CASE of which several conditions hold."""
    low, lower = (_bound(node, ("lt", "i", Value(bound))) for bound in (50, 5))
    texts = [as_literal(text) for text in ("low", "lower", "other")]
    return Case(texts[0].type, (low, texts[0], lower, texts[1]), texts[2])


def _lists(node: Operator) -> Iterator[Expression]:
    for name, values in (("i", (7, None)), ("s", ("abc", None)), ("l", (2**53, 3)), ("s", ("é",))):
        type = _bound(node, name).type
        options = tuple(Literal(type.with_nullable(v is None), v) for v in values)
        yield InList(bool_.with_nullable(True), _bound(node, name), options)


def _dialects(node: Operator) -> Iterator[Directed]:
    null, ieee = Dialect(division_by_zero="null"), Dialect(division_by_zero="ieee")
    calls = [_bound(node, (name, "l", "i")) for name in ("divide", "int_divide", "modulo")]
    yield Directed("division by zero that is NULL", _projected(node, calls), dialect=null)
    floats = [_bound(node, ("divide", "f", ("multiply", "f", Value(0.0))))]
    yield Directed("division by zero that is infinite", _projected(node, floats), dialect=ieee)
    yield Directed("division by zero that is an error", _projected(node, floats), "division_by_zero")
    casts = [_cast(node, name, "int64") for name in "fd"]
    yield Directed("casts that cut digits off", _projected(node, casts), dialect=Dialect(to_integer="truncate"))
