"""Casts that DuckDB and Jumpgate do alike."""

from __future__ import annotations

import datetime
import decimal as pydecimal
from collections.abc import Callable, Mapping

from jumpgate.client.duckdb.functions import as_type, only_if
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.types import INTEGERS, SIGNED, SqlType
from jumpgate.dataflow.casts import cast_type
from jumpgate.dataflow.expressions import Case, Cast, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.types import date, decimal, float64, string

#: integers up to here are doubles, too
EXACT_MAX = 1 << 53
EXACT_DIGITS = 15


def translate_cast(value: Expression, source: SqlType, target: SqlType, is_try: bool) -> Expression:
    """The value as `target`; raises Stays for casts that are not known to be the same."""
    if source == target:
        return value
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
        or (source.id == "DATE" and target.id == "TIMESTAMP")
        or (source.id == "TIMESTAMP" and target.id == "DATE")
    )
    if not known or is_try:
        raise Stays(f"{'TRY_' * is_try}CAST from {source} to {target} is not offloaded")
    if target.id == "DOUBLE" and value.type.kind == "decimal":
        return _as_double(value)
    return as_type(value, target.carrier)


def _said(value: Expression) -> Expression:
    """A BOOLEAN as text."""
    yes, no = (Literal(string.with_nullable(False), said) for said in ("true", "false"))
    missing = Literal(string.with_nullable(True), None)
    return Case(missing.type, (value, yes, bind("not", (value,)), no), missing)


def _written(value: Expression) -> Expression:
    """A DATE of four digits as text."""
    first, last = (Literal(date.with_nullable(False), day) for day in (datetime.date.min, datetime.date.max))
    inside = bind("and", (bind("ge", (value, first)), bind("le", (value, last))))
    return only_if(inside, as_type(value, string), "a date of other than four digits as text")


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
