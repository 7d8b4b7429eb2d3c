"""DuckDB's functions that make lists or look into them, as Jumpgate's; some are of texts or structs, too."""

from __future__ import annotations

from collections.abc import Mapping

from jumpgate.client.duckdb import functions
from jumpgate.client.duckdb.functions import Rule, Site, whole
from jumpgate.dataflow.expressions import Case, Expression, Literal
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.types import bool_, int32, int64


def _of_lists(rule: Rule, otherwise: str) -> Rule:
    """Return the rule of a function whose first argument is a list, or what `otherwise` says of any other."""

    def found(site: Site) -> Expression:
        return (rule if site.types and site.types[0].id == "LIST" else functions.RULES[otherwise])(site)

    return found


def _length(site: Site) -> Expression:
    if len(site.args) != 1 or site.types[0].id != "LIST":
        raise site.refuse()
    return bind("cardinality", site.args)


def _element(site: Site) -> Expression:
    if len(site.args) != 2 or site.types[0].id != "LIST":
        raise site.refuse()
    return bind("element_at", site.args)


def _contains(site: Site) -> Expression:
    """Return whether an element equals the value: to DuckDB elements that are NULL do not."""
    if len(site.args) != 2 or site.types[0].id != "LIST" or site.types[0].parts[0][1] != site.types[1]:
        raise site.refuse()
    if site.args[1].type.is_nested or site.args[1].type.is_float:
        raise site.refuse()
    found = bind("coalesce", (bind("list_contains", site.args), Literal(bool_.with_nullable(False), False)))
    unknown = bind("or", tuple(bind("is_null", (a,)) for a in site.args))
    nullable = bool_.with_nullable(True)
    return Case(nullable, (unknown, Literal(nullable, None)), found)


def _position(site: Site) -> Expression:
    """Return the place of a constant; DuckDB finds NULL, too."""
    if len(site.args) != 2 or site.types[0].id != "LIST" or site.types[0].parts[0][1] != site.types[1]:
        raise site.refuse()
    value = site.args[1]
    if not isinstance(value, Literal) or value.value is None or value.type.is_float:
        raise site.refuse()
    return cast_to(bind("null_if", (bind("list_position", site.args), Literal(int64.with_nullable(False), 0))), int32)


def _aggregated(site: Site) -> Expression:
    """Return the least or greatest element; other aggregates of a list are DuckDB's."""
    function, *more = (a.value if isinstance(a, Literal) else None for a in site.args[1:])
    if site.types[0].id != "LIST":
        raise site.refuse()
    list = site.args[0]
    if function == "count" and not more:
        return bind("list_count", (list,))
    if function not in ("min", "max") or more or list.type.parts[0].type.is_float:
        raise site.refuse()
    return bind(f"list_{function}", (list,))


def _value(site: Site) -> Expression:
    """Return the value of a key in a map."""
    if len(site.args) != 2 or site.types[0].id != "MAP" or site.types[0].parts[0][1] != site.types[1]:
        raise site.refuse()
    if site.args[1].type.is_nested or site.args[1].type.is_float:
        raise site.refuse()
    return bind("map_value", site.args)


def _slice(site: Site) -> Expression:
    """Return the elements between two places that are constants, and counted from the front."""
    begin, end, *step = [a.value if isinstance(a, Literal) else None for a in site.args[1:]]
    if (
        step
        or site.types[0].id != "LIST"
        or not isinstance(begin, int)
        or not isinstance(end, int)
        or begin < 1
        or end < 0
    ):
        raise site.refuse()
    return bind("list_slice", (site.args[0], whole(begin), whole(max(0, end - begin + 1))))


def _sorted(site: Site) -> Expression:
    """Return a list in an order that the text names: what it leaves out are settings of a session."""
    words = [a.value.upper() if isinstance(a, Literal) and isinstance(a.value, str) else "" for a in site.args[1:]]
    known = len(words) == 2 and words[0] in ("ASC", "DESC") and words[1] in ("NULLS FIRST", "NULLS LAST")
    if not known or site.types[0].id != "LIST" or site.args[0].type.parts[0].type.is_float:
        raise site.refuse()
    choices = (Literal(bool_.with_nullable(False), word) for word in (words[0] == "DESC", words[1] == "NULLS FIRST"))
    return bind("list_sort", (site.args[0], *choices))


def _flat(site: Site) -> Expression:
    if not site.ids(("LIST",)) or site.types[0].parts[0][1].id != "LIST":
        raise site.refuse()
    return bind("flatten", site.args)


def _of_map(function: str) -> Rule:
    def rule(site: Site) -> Expression:
        if not site.ids(("MAP",)):
            raise site.refuse()
        return bind(function, site.args)

    return rule


def _made(function: str) -> Rule:
    def rule(site: Site) -> Expression:
        if not site.args:
            raise site.refuse()
        return bind(function, site.args)

    return rule


def _split(site: Site) -> Expression:
    """By a constant text; by none DuckDB takes characters apart."""
    separator = site.args[1].value if len(site.args) == 2 and isinstance(site.args[1], Literal) else None
    if not site.ids(("VARCHAR",), ("VARCHAR",)) or not separator:
        raise site.refuse()
    return bind("split", site.args)


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("string_split", "str_split", "split", "string_to_array"), _split),
    "len": _of_lists(_length, "len"), "length": _of_lists(_length, "length"), "array_length": _length,
    "list_extract": _element, "list_element": _element, "array_extract": _of_lists(_element, "array_extract"),
    "map_extract_value": _value,
    **dict.fromkeys(("list_position", "list_indexof", "array_position", "array_indexof"), _position),
    **dict.fromkeys(("list_aggr", "list_aggregate", "array_aggr", "array_aggregate"), _aggregated),
    **dict.fromkeys(("list_slice", "array_slice"), _slice),
    **dict.fromkeys(("list_sort", "array_sort"), _sorted),
    "flatten": _flat, "map_keys": _of_map("map_keys"), "map_values": _of_map("map_values"),
    **dict.fromkeys(("list_value", "list_pack"), _made("list_of")),
    **dict.fromkeys(("struct_pack", "row"), _made("struct_of")),
    **dict.fromkeys(("list_contains", "list_has", "array_contains", "array_has"), _contains),
}  # fmt: skip
