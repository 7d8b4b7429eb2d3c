"""Casts that DuckDB and Jumpgate do alike."""

from __future__ import annotations

import datetime
import decimal as pydecimal
from collections.abc import Callable, Mapping

from jumpgate.client.duckdb.functions import BEYOND, as_type, in_calendar, only_if, whole
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.types import INTEGERS, MICROS, SIGNED, ZONED, SqlType
from jumpgate.dataflow.casts import cast_type
from jumpgate.dataflow.expressions import Case, Cast, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.types import decimal, float64, string, timestamp, timestamp_ns

#: integers up to here are doubles, too
EXACT_MAX = 1 << 53
EXACT_DIGITS = 15
#: of an ENUM that is cast to text
VALUES_MAX = 32
#: casts between dates, timestamps and moments
_CLOCKS = {
    "DATE": ("TIMESTAMP", ZONED), ZONED: ("TIMESTAMP", "DATE"),
    "TIMESTAMP": ("DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", ZONED, "TIME"),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), ("TIMESTAMP", "DATE")),
}  # fmt: skip
_EPOCH = Literal(timestamp.with_nullable(False), datetime.datetime(1970, 1, 1))
#: that many nanoseconds after 1970, and before it, is infinity
_NANOS_MAX = (1 << 63) - 1


def translate_cast(value: Expression, source: SqlType, target: SqlType, is_try: bool) -> Expression:
    """The value as `target`; raises Stays for casts that are not known to be the same."""
    if source == target:
        return value
    if target.id == "VARCHAR" and 0 < len(source.values) <= VALUES_MAX:
        return _named(value, source.values)
    if target.id == "VARCHAR" and source.id in _TEXTS and not is_try:
        return _TEXTS[source.id](value)
    if is_try and source.id in (*SIGNED, "DECIMAL") and target.id in SIGNED:
        return Cast(cast_type(value.type, target.carrier, "null"), value, "null")
    wide = (*SIGNED, "HUGEINT", "DECIMAL", "DOUBLE")
    known = (
        (source.id in INTEGERS and target.id in wide)
        or (source.id == "DECIMAL" and target.id in (*SIGNED, "DECIMAL", "DOUBLE"))
        or (source.id == "FLOAT" and target.id == "DOUBLE")
        or (source.id == "DOUBLE" and target.id in SIGNED)
        or (source.id == "BOOLEAN" and target.id in SIGNED)
        or (source.id in SIGNED and target.id in ("BOOLEAN", "VARCHAR"))
    )
    if target.id in _CLOCKS.get(source.id, ()) and not is_try:
        return _moved(value, source, target)
    if not known or is_try:
        raise Stays(f"{'TRY_' * is_try}CAST from {source} to {target} is not offloaded")
    if target.id == "DOUBLE" and value.type.kind == "decimal":
        return _as_double(value)
    return as_type(value, target.carrier)


def _moved(value: Expression, source: SqlType, target: SqlType) -> Expression:
    """A date, timestamp or moment as another: DuckDB cuts nanoseconds, and rounds other digits half away from 1970."""
    if source.id == "TIMESTAMP_NS":
        inside = bind("and", (bind("gt", (value, _nanos(-_NANOS_MAX))), bind("lt", (value, _nanos(_NANOS_MAX)))))
        value = only_if(inside, as_type(value, timestamp), "an infinite timestamp")
    if source.id == "DATE" or target.id in ("DATE", "TIME"):
        return only_if(in_calendar(value), as_type(value, target.carrier), BEYOND)
    if MICROS.get(target.id, 1) > MICROS.get(source.id, 1):
        value = _rounded(as_type(value, timestamp), MICROS[target.id])
    return as_type(value, target.carrier)


def _nanos(value: int) -> Literal:
    return Literal(timestamp_ns.with_nullable(False), value)


def _rounded(value: Expression, unit: int) -> Expression:
    """The timestamp as a multiple of so many microseconds."""
    rest = bind("modulo", (bind("microsecond", (value,)), whole(unit)))
    half = Case(whole(0).type, (bind("ge", (value, _EPOCH)), whole(unit // 2)), whole(unit // 2 + 1))
    moved = Case(rest.type, (bind("ge", (rest, half)), bind("subtract", (whole(unit), rest))), bind("negate", (rest,)))
    found = bind("add_interval", (value, whole(0), whole(0), moved))
    return only_if(in_calendar(value), found, BEYOND)


def _said(value: Expression) -> Expression:
    """A BOOLEAN as text."""
    yes, no = (Literal(string.with_nullable(False), said) for said in ("true", "false"))
    missing = Literal(string.with_nullable(True), None)
    return Case(missing.type, (value, yes, bind("not", (value,)), no), missing)


def _named(value: Expression, names: tuple[str, ...]) -> Expression:
    """The number of an ENUM's value as text."""
    texts = [Literal(string.with_nullable(False), name) for name in names]
    pairs = [(bind("eq", (value, whole(i, value.type))), text) for i, text in enumerate(texts)]
    missing = Literal(string.with_nullable(True), None)
    return Case(missing.type, tuple(part for pair in pairs for part in pair), missing)


def _written(value: Expression) -> Expression:
    """A DATE of four digits as text."""
    return only_if(in_calendar(value), as_type(value, string), "a date of other than four digits as text")


def _digits(value: Expression) -> Expression:
    return as_type(value, string)


_TEXTS: Mapping[str, Callable[[Expression], Expression]] = {"BOOLEAN": _said, "DATE": _written, "DECIMAL": _digits}


def _as_double(value: Expression) -> Expression:
    """Convert a decimal; of one with more digits than a double, the whole part and the rest apart."""
    type = value.type
    if type.precision <= EXACT_DIGITS:
        return as_type(value, float64)
    bound = pydecimal.Decimal(EXACT_MAX).scaleb(-type.scale, pydecimal.Context(prec=60))
    most = Literal(decimal(max(16, type.scale), type.scale, nullable=False), bound)
    small = bind("le", (bind("abs", (value,)), most))
    cut = bind("truncate", (value,)) if type.scale else value
    large = as_type(as_type(cut, decimal(38)), float64)
    if type.scale:
        large = bind("add", (large, as_type(bind("subtract", (value, cut)), float64)))
    return Case(large.type, (small, as_type(value, float64)), large)
