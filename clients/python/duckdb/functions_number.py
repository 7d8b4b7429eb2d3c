"""DuckDB's functions of numbers, and of the numbers in dates, as Jumpgate's."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

from jumpgate.client.duckdb.functions import CLOCKS, DAYS, Rule, Site, is_finite, of_types, only_if, part_of
from jumpgate.client.duckdb.types import SIGNED
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.types import float64

_MAX = sys.float_info.max


def _number(value: float) -> Literal:
    return Literal(float64.with_nullable(False), value)


def _of_doubles(function: str, least: float = -math.inf, most: float = math.inf, least_itself: bool = True) -> Rule:
    """Return the rule of a function of doubles; where the first is outside of these bounds, DuckDB answers."""

    def rule(site: Site) -> Expression:
        if not site.types or any(t.id != "DOUBLE" for t in site.types):
            raise site.refuse()
        value, found = site.args[0], bind(function, site.args)
        if most == math.inf and least == -math.inf:
            return found
        above = bind("ge" if least_itself else "gt", (value, _number(least)))
        inside = bind("and", (above, bind("le", (value, _number(most)))))
        return only_if(inside, found, f"{site.name} of a number for which DuckDB may have an error")

    return rule


def _bits(function: str) -> Rule:
    def rule(site: Site) -> Expression:
        if not site.ids(SIGNED, SIGNED) or site.types[0] != site.types[1]:
            raise site.refuse()
        return bind(function, site.args)

    return rule


def _is_finite(site: Site) -> Expression:
    if not site.ids(("DOUBLE",)):
        raise site.refuse()
    return is_finite(site.args[0])


RULES: Mapping[str, Rule] = {
    "exp": _of_doubles("exp"), "pow": _of_doubles("power"), "power": _of_doubles("power"), "**": _of_doubles("power"),
    "atan": _of_doubles("atan"), "atan2": _of_doubles("atan2"),
    "sinh": _of_doubles("sinh"), "cosh": _of_doubles("cosh"), "tanh": _of_doubles("tanh"),
    **{name: _of_doubles(name, -_MAX, _MAX) for name in ("sin", "cos", "tan")},
    **{name: _of_doubles(name, -1.0, 1.0) for name in ("asin", "acos")},
    **{name: _of_doubles(name, 0.0, _MAX, least_itself=False) for name in ("ln", "log2", "log10")},
    "&": _bits("bit_and"), "|": _bits("bit_or"), "xor": _bits("bit_xor"),
    "sign": of_types("sign", "DOUBLE", "DECIMAL", *SIGNED), "trunc": of_types("truncate", "DOUBLE", "DECIMAL"),
    "isnan": of_types("is_nan", "DOUBLE"), "isfinite": _is_finite,
    "week": part_of("week", *DAYS), "weekofyear": part_of("week", *DAYS),
    "isoyear": part_of("iso_year", *DAYS), "dayofmonth": part_of("day", *DAYS),
    "weekday": part_of("day_of_week", *DAYS),
    "millisecond": part_of("millisecond", *CLOCKS), "microsecond": part_of("microsecond", *CLOCKS),
}  # fmt: skip
