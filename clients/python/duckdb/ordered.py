"""Aggregates whose value depends on the order of rows. Where rows tie, and DuckDB would take the one that it met first,
the dataflow fails unless all of them give the same value."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jumpgate.client.duckdb import expressions as e
from jumpgate.client.duckdb.functions import only_if
from jumpgate.client.duckdb.measures import Computed, Term, alone, counted_if
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scalars import Scalars
from jumpgate.dataflow.expressions import Case, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import SortKey
from jumpgate.dataflow.types import bool_, float64, string

#: shares that a double has exactly, in parts of this number: their products with a count are exact, too
_PARTS = 1 << 20
_SPECS = {
    "ASC NULLS LAST": (False, False), "ASC NULLS FIRST": (False, True), "DESC NULLS LAST": (True, False),
    "DESC NULLS FIRST": (True, True),
}  # fmt: skip
_TRUE = Literal(bool_.with_nullable(False), True)

Condition = Expression | None
Keys = tuple[SortKey, ...]
Rule = Callable[[e.AggregateCall, Scalars, Condition], Computed]


def translate_ordered(call: e.AggregateCall, scalars: Scalars, condition: Condition) -> Computed:
    """The computation of a call of ORDERED over the rows for which the condition holds. Raises Stays."""
    return ORDERED[call.name](call, scalars, condition)


def _refuse(call: e.AggregateCall) -> Stays:
    types = ", ".join(str(child.type) for child in call.children)
    return Stays(f"{call.name}({'DISTINCT ' * call.distinct}{types}) is not offloaded like this")


def _unlike(function: str, value: Expression, options: tuple[Expression, ...], keys: Keys) -> Computed:
    """The measure with rows that tie in the order of the value, and against it: both are the same, or it fails."""
    against = (*keys, SortKey(value, descending=True, nulls_first=True))
    terms = (Term(function, (value, *options), keys), Term(function, (value, *options), against))

    def only(values: tuple[Expression, ...]) -> Expression:
        return only_if(bind("is_not_distinct", values), values[0], "rows that tie, of which one comes first")

    return Computed(terms, only)


def _joined(call: e.AggregateCall, scalars: Scalars, condition: Condition) -> Computed:
    if len(call.children) != 1 or len(call.options) != 1 or not isinstance(call.options[0], str) or not call.orders:
        raise Stays(f"aggregate {call.name} without ORDER BY joins rows as they come")
    (value,) = scalars.all(call.children)
    keys = scalars.keys(call.orders)
    if call.children[0].type.id != "VARCHAR":
        raise _refuse(call)
    value = value if condition is None else counted_if(condition, value)
    separator = Literal(string.with_nullable(False), call.options[0])
    of_itself = len(call.orders) == 1 and call.orders[0].expression == call.children[0]
    if not call.distinct and not of_itself:
        return _unlike("string_agg", value, (separator,), keys)
    if not of_itself:
        raise _refuse(call)
    key = SortKey(value, keys[0].descending, keys[0].nulls_first)
    term = Term("string_agg" + "_distinct" * call.distinct, (value, separator), (key,))
    return Computed((term,), lambda values: values[0])


def _listed(call: e.AggregateCall, scalars: Scalars, condition: Condition) -> Computed:
    """A list whose order is determined: of values that differ by themselves, else by a last key that does, or it
    fails."""
    if len(call.children) != 1 or not call.orders:
        raise Stays(f"aggregate {call.name} without ORDER BY has rows as they come")
    (value,) = scalars.all(call.children)
    keys = scalars.keys(call.orders)
    last = keys[-1].expression
    if call.options or condition is not None or value.type.is_nested or last.type.is_float:
        raise _refuse(call)
    if call.distinct:
        if len(keys) > 1 or last != value:
            raise _refuse(call)
        return Computed((Term("array_agg_distinct", (value,), keys),), lambda values: values[0])
    terms = (Term("array_agg", (value,), keys), Term("count_distinct", (last,)), Term("count_star"))

    def only(values: tuple[Expression, ...]) -> Expression:
        found, different, rows = values
        is_known = only_if(bind("eq", (different, rows)), _TRUE, "rows that tie, of which one comes first")
        return Case(found.type, (is_known, found), Literal(found.type, None))

    return Computed(terms, only)


def _at_extreme(greatest: bool, keeps_nulls: bool = False) -> Rule:
    """Return the rule of arg_max and arg_min, which skip rows where an argument is NULL. Plans have first, last and
    any_value with ORDER BY so, at the least or greatest sort key; first and last keep NULLs."""

    def rule(call: e.AggregateCall, scalars: Scalars, condition: Condition) -> Computed:
        if len(call.children) != 2 or call.distinct or call.orders or call.options:
            raise _refuse(call)
        bound, by = call.children
        value = scalars.read(bound)
        if isinstance(by, e.Function) and by.name == "create_sort_key":
            keys, known = _sort_keys(by, scalars, greatest), condition
        else:
            keys = (SortKey(scalars.read(by), greatest),)
            known = bind("is_not_null", (keys[0].expression,))
            known = known if condition is None else bind("and", (known, condition))
            if keeps_nulls:
                raise _refuse(call)
        if known is not None:
            value = counted_if(known, value)
            keys = (SortKey(bind("is_distinct", (known, _TRUE))), *keys)
        if not keeps_nulls:
            keys = (SortKey(bind("is_null", (value,))), *keys)
        return _unlike("first_value", value, (), keys)

    return rule


def _sort_keys(call: e.Function, scalars: Scalars, reversed: bool) -> Keys:
    keys = []
    for expression, spec in zip(call.children[::2], call.children[1::2], strict=True):
        said = spec.literal.value if isinstance(spec, e.Constant) else None
        if said not in _SPECS:
            raise Stays(f"the order {said!r} is not known")
        descending, nulls_first = _SPECS[str(said)]
        keys.append(SortKey(scalars.read(expression), descending != reversed, nulls_first != reversed))
    return tuple(keys)


def _quantile(call: e.AggregateCall, scalars: Scalars, condition: Condition) -> Computed:
    """Medians of integers of up to 32 bits, and least values that are not below a share that a double has exactly."""
    share = call.options[0] if len(call.options) == 1 and not isinstance(call.options[0], str) else None
    if len(call.children) != 1 or share is None or call.orders:
        raise _refuse(call)
    (value,) = scalars.all(call.children)
    value = value if condition is None else counted_if(condition, value)
    distinct = "_distinct" * call.distinct
    if call.name == "median" and call.children[0].type.id in ("TINYINT", "SMALLINT", "INTEGER"):
        return alone(f"median{distinct}", (value,))
    if call.name != "quantile_disc" or not 0 <= share <= 1 or share * _PARTS % 1 or value.type.is_float:
        raise _refuse(call)
    return alone(f"quantile_disc{distinct}", (value, Literal(float64.with_nullable(False), float(share))))


ORDERED: Mapping[str, Rule] = {
    **dict.fromkeys(("string_agg", "group_concat", "listagg"), _joined),
    **dict.fromkeys(("list", "array_agg"), _listed),
    "arg_min_null": _at_extreme(False, keeps_nulls=True), "arg_max_null": _at_extreme(True, keeps_nulls=True),
    **dict.fromkeys(("arg_max", "argmax", "max_by"), _at_extreme(True)),
    **dict.fromkeys(("arg_min", "argmin", "min_by"), _at_extreme(False)),
    "median": _quantile, "quantile_disc": _quantile,
}  # fmt: skip
