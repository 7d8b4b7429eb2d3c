"""Calls of DuckDB's scalar functions as Jumpgate's."""

from __future__ import annotations

from jumpgate.client.duckdb import functions, functions_list, functions_number, functions_text
from jumpgate.client.duckdb.functions import Rule, Site, as_type
from jumpgate.client.duckdb.installed import added
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.functions import bind

_RULES = {**functions.RULES, **functions_number.RULES, **functions_text.RULES, **functions_list.RULES}


def translate_call(site: Site) -> Expression:
    """The expression that the call is, of its result's carrier. Raises Stays."""
    rule = _RULES.get(site.name) or _of_package(site.name)
    if rule is None:
        raise Stays(f"function {site.name} is not offloaded")
    return as_type(rule(site), site.result.carrier)


def _of_package(name: str) -> Rule | None:
    function = added().get(name)
    return None if function is None else lambda site: bind(function.name, site.args)
