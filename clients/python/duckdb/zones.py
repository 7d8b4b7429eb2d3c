"""Moments in sessions of other zones than UTC: they are passed on and compared; what needs their clocks stays."""

from __future__ import annotations

from typing import Any

from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.types import ZONED
from jumpgate.dataflow.types import UTC_NAMES

#: functions that pass a value on
_PASSING = ("struct_extract", "constant_or_null", "least", "greatest")


def is_utc(zone: str) -> bool:
    """Return whether clocks of that zone show UTC."""
    return zone in UTC_NAMES


def require_clockless(data: Any, zone: str) -> None:
    """Raises Stays where an expression of the plan depends on the zone."""
    if isinstance(data, list):
        for item in data:
            require_clockless(item, zone)
    if not isinstance(data, dict):
        return
    kind = data.get("expression_class")
    if kind == "BOUND_CAST" or (kind == "BOUND_FUNCTION" and data.get("name") not in _PASSING):
        operands = data["children"] if kind == "BOUND_FUNCTION" else [data["child"]]
        if any(_is_zoned(item) for item in (data, *operands)):
            what = data.get("name", "CAST")
            raise Stays(f"{what} of {ZONED} in the zone {zone} is not offloaded")
    for item in data.values():
        require_clockless(item, zone)


def _is_zoned(expression: Any) -> bool:
    type = expression.get("return_type") or expression.get("value", {}).get("type", {})
    return bool(type.get("id") == ZONED)
