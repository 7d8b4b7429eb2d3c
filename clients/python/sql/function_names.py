"""DataFusion's functions and operators that mean what Jumpgate's of another or the same name mean."""

from __future__ import annotations

#: scalar functions, argument by argument
SCALARS: dict[str, str] = {
    "abs": "abs",
    "btrim": "trim",
    "ceil": "ceil",
    "char_length": "char_length",
    "character_length": "char_length",
    "coalesce": "coalesce",
    "contains": "contains",
    "ends_with": "ends_with",
    "floor": "floor",
    "length": "char_length",
    "lower": "lower",
    "ltrim": "ltrim",
    "nullif": "null_if",
    "nvl": "coalesce",
    "round": "round",
    "rtrim": "rtrim",
    "sqrt": "sqrt",
    "starts_with": "starts_with",
    "substr": "substring",
    "substring": "substring",
    "trim": "trim",
    "upper": "upper",
}
#: aggregate functions
AGGREGATES: dict[str, str] = {
    "avg": "avg",
    "count": "count",
    "max": "max",
    "mean": "avg",
    "min": "min",
    "stddev": "stddev",
    "stddev_samp": "stddev",
    "sum": "sum",
}
