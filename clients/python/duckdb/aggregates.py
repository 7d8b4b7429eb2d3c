"""Aggregates of DuckDB's plans, and window functions that are aggregates, as measures of Jumpgate's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jumpgate.client.duckdb import expressions as e
from jumpgate.client.duckdb import plan
from jumpgate.client.duckdb.functions import as_type, is_finite, only_if, whole
from jumpgate.client.duckdb.measures import Computed, Term, alone, counted_if
from jumpgate.client.duckdb.ordered import ORDERED, translate_ordered
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scalars import Scalars
from jumpgate.client.duckdb.types import BIGINT, SIGNED, SqlType
from jumpgate.dataflow.aggregates import AGGREGATES
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Aggregate, Measure, Operator, Project, UnionAll, column
from jumpgate.dataflow.substrait.aggregates import COMBINE, coarser
from jumpgate.dataflow.types import decimal, int64

#: groups of one aggregate, each of which reads its input
SETS_MAX = 64
#: measures that are 0 of no rows
COUNTS = ("count", "count_star")


@dataclass(frozen=True)
class _Rule:
    """`function` of AGGREGATES; of arguments of these types (any if empty)."""

    function: str
    types: tuple[str, ...] = ()
    #: equal values count once whether or not the text says DISTINCT
    idempotent: bool = False


_SUMMED = (*SIGNED, "UTINYINT", "USMALLINT", "UINTEGER", "HUGEINT", "DECIMAL", "DOUBLE")
_BITS = (*SIGNED, "UTINYINT", "USMALLINT", "UINTEGER")
_OF_PAIRS = (
    "corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_avgx", "regr_avgy", "regr_sxx",
    "regr_syy", "regr_sxy",
)  # fmt: skip
_SPREADS = ("stddev", "stddev_pop", "variance", "variance_pop")
#: what must be finite for those of pairs, beside themselves
_SQUARES = {"corr": ("regr_sxx", "regr_syy"), "regr_slope": ("regr_sxx",), "regr_intercept": ("regr_sxx",)}
_RULES: Mapping[str, _Rule] = {
    "count": _Rule("count"),
    "count_star": _Rule("count_star"),
    "sum": _Rule("sum", _SUMMED),
    "sum_no_overflow": _Rule("sum", _SUMMED),
    "avg": _Rule("avg", (*SIGNED, "DECIMAL", "DOUBLE")),
    "min": _Rule("min", idempotent=True),
    "max": _Rule("max", idempotent=True),
    "bool_and": _Rule("min", ("BOOLEAN",), idempotent=True),
    "bool_or": _Rule("max", ("BOOLEAN",), idempotent=True),
    "stddev_samp": _Rule("stddev", ("DOUBLE",)),
    "stddev": _Rule("stddev", ("DOUBLE",)),
    "stddev_pop": _Rule("stddev_pop", ("DOUBLE",)),
    "var_samp": _Rule("variance", ("DOUBLE",)),
    "variance": _Rule("variance", ("DOUBLE",)),
    "var_pop": _Rule("variance_pop", ("DOUBLE",)),
    "bit_and": _Rule("bit_and", _BITS, idempotent=True),
    "bit_or": _Rule("bit_or", _BITS, idempotent=True),
    "bit_xor": _Rule("bit_xor", _BITS),
    "regr_count": _Rule("regr_count", ("DOUBLE",)),
    **{name: _Rule(name, ("DOUBLE",)) for name in _OF_PAIRS},
}
#: other names of the same
_ALIASES = {"mean": "avg", "countif": "count_if"}


def function_of(name: str, types: tuple[SqlType, ...], distinct: bool) -> str:
    """Jumpgate's aggregate of that name and argument types. Raises Stays."""
    rule = _RULES.get(name if types or name != "count" else "count_star")
    if rule is None:
        raise Stays(f"aggregate {name} is not offloaded")
    known = len(types) == AGGREGATES[rule.function].arity and all(not rule.types or t.id in rule.types for t in types)
    if not known or any(t.id == "FLOAT" for t in types):
        raise Stays(f"{name}({', '.join(map(str, types))}) is not offloaded")
    if not distinct or rule.idempotent:
        return rule.function
    if f"{rule.function}_distinct" not in AGGREGATES:
        raise Stays(f"{name}(DISTINCT …) is not offloaded")
    return f"{rule.function}_distinct"


def computed(name: str, arguments: tuple[Expression, ...], types: tuple[SqlType, ...], distinct: bool) -> Computed:
    """Return the computation of an aggregate of these arguments. Raises Stays."""
    name = _ALIASES.get(name, name)
    if name == "count_if" and [type.id for type in types] == ["BOOLEAN"] and not distinct:
        return alone("sum", (as_type(arguments[0], int64),))  # of no values it is NULL, as sums are
    function = function_of(name, types, distinct)
    if name == "avg" and types[0].id != "DOUBLE":
        if types[0].id == "BIGINT":  # their sum is no int64 where values are large, as identifiers are
            arguments = (as_type(arguments[0], decimal(19)),)
        sums = (Term(function.replace("avg", kind), arguments) for kind in ("sum", "count"))
        return Computed(tuple(sums), lambda values: _mean(*values))
    if name in _OF_PAIRS:
        pairs = (function, "regr_count", *_SQUARES.get(function, ()))
        return Computed(tuple(Term(name, arguments) for name in pairs), lambda values: _of_pairs(*values))
    if function in _SPREADS:
        return Computed((Term(function, arguments),), lambda values: _finite(values[0], values[0]))
    return alone(function, arguments)


def _of_pairs(value: Expression, count: Expression, *squares: Expression) -> Expression:
    """The value, which may be NULL only where there is no pair: DuckDB has NaN for some of few pairs, or equal ones."""
    known = bind("or", (bind("is_not_null", (value,)), bind("eq", (count, whole(0)))))
    return _finite(only_if(known, value, "a statistic of pairs that DuckDB may have as NaN"), value, *squares)


def _finite(value: Expression, *others: Expression) -> Expression:
    """The value, where the others are finite: else DuckDB has an error for some, and another value for others."""
    for other in others:
        value = only_if(is_finite(other), value, "a statistic that is not finite")
    return value


def _mean(total: Expression, count: Expression) -> Expression:
    """As DuckDB divides: an average of decimals and of integers does not depend on the order of rows."""
    return bind("mean", (total if total.type.kind == "decimal" else as_type(total, decimal(19)), count))


def _computed(call: e.AggregateCall, scalars: Scalars) -> Computed:
    condition = None if call.filter is None else scalars.read(call.filter)
    if call.name in ORDERED:
        return translate_ordered(call, scalars, condition)
    if call.orders or call.options:
        raise Stays(f"aggregate {call.name} with ORDER BY is not offloaded")
    types = tuple(child.type for child in call.children)
    return filtered(call.name, scalars.all(call.children), types, call.distinct, condition)


def filtered(
    name: str,
    arguments: tuple[Expression, ...],
    types: tuple[SqlType, ...],
    distinct: bool,
    condition: Expression | None,
) -> Computed:
    """Return the computation over the rows for which the condition, if there is one, is TRUE. Raises Stays."""
    if condition is None:
        return computed(name, arguments, types, distinct)
    if not arguments and name in ("count_star", "count"):
        return alone("count", (counted_if(condition, None),))
    return computed(name, tuple(counted_if(condition, a) for a in arguments), types, distinct)


def _only(values: tuple[Expression, ...]) -> Expression:
    """The greatest value of the only row; a failure where there are more."""
    value, rows = values
    return only_if(bind("le", (rows, whole(1))), value, "a value of several rows, of which one comes first")


def only_rows(input: Operator, keys: tuple[Expression, ...]) -> Operator:
    """The rows, each the only one with its keys, which are columns after those of the input; else a failure."""
    values = [column(input.schema, i) for i in range(len(input.schema))]
    measures = [Measure.of("max", value, name=f"v{i}") for i, value in enumerate(values)]
    counted = Measure.of("count_star", name="rows")
    labels = tuple(f"k{i}" for i in range(len(keys)))
    found = Aggregate(input, keys, labels, (*measures, counted))
    rows = column(found.schema, len(found.schema) - 1)
    only = tuple(_only((column(found.schema, len(keys) + i), rows)) for i in range(len(values)))
    return Project(found, (*only, *(column(found.schema, i) for i in range(len(keys)))), (*input.schema.names, *labels))


def _combines(term: Term) -> bool:
    """Return whether a measure of groups is, to the last digit, one of the same measure of finer groups."""
    is_float = any(argument.type.is_float for argument in term.arguments)
    return term.function in COMBINE and not term.order and not (term.function == "sum" and is_float)


@dataclass
class Aggregated:
    """Translates one aggregate over `input`."""

    node: plan.Aggregate
    input: Operator
    scalars: Scalars
    _keys: tuple[Expression, ...] = field(init=False)
    _calls: list[Computed] = field(init=False)
    _numbers: dict[Term, int] = field(init=False)  # of measures, which calls may share

    def __post_init__(self) -> None:
        self._keys = self.scalars.all(self.node.groups)
        self._calls = [self._computed(call) for call in self.node.calls]
        self._numbers = {}
        for measure in (m for call in self._calls for m in call.measures):
            self._numbers.setdefault(measure, len(self._numbers))

    def _computed(self, call: e.AggregateCall) -> Computed:
        """Return the call's value. A scalar subquery is first(…) with the count of its rows beside it, which must be
        1."""
        if call.name != "first" or all(other.name != "count_star" for other in self.node.calls):
            return _computed(call, self.scalars)
        if call.orders or call.filter is not None:
            raise Stays("aggregate first is not offloaded")
        return Computed((Term("max", self.scalars.all(call.children)), Term("count_star")), _only)

    @property
    def types(self) -> tuple[SqlType, ...]:
        """Return the types of the columns: groups, calls, GROUPING functions."""
        bound = (*self.node.groups, *self.node.calls)
        return (*(b.type for b in bound), *(BIGINT for _ in self.node.groupings))

    def operator(self) -> Operator:
        """One aggregate for each grouping set, all their rows together. Raises Stays."""
        if len(self.node.sets) > SETS_MAX:
            raise Stays(f"more than {SETS_MAX} grouping sets are not offloaded")
        sets = [tuple(sorted(set(s))) for s in self.node.sets]
        if len(sets) > 1 and all(map(_combines, self._numbers)):
            made = self._rolled_up(sets)
        else:
            made = {grouped: self._rows(grouped) for grouped in sets}
        members = tuple(self._of(grouped, made[grouped]) for grouped in sets)
        return members[0] if len(members) == 1 else UnionAll(members)

    def _rows(self, grouped: tuple[int, ...]) -> Aggregate:
        """The measures of the input's rows by some of the keys."""
        measures = tuple(
            Measure.of(term.function, *term.arguments, name=f"m{i}", order=term.order)
            for term, i in self._numbers.items()
        )
        return Aggregate(self.input, tuple(self._keys[i] for i in grouped), tuple(f"g{i}" for i in grouped), measures)

    def _rolled_up(self, sets: list[tuple[int, ...]]) -> dict[tuple[int, ...], Aggregate]:
        """Each set from the rows of a finer one, so that the input is read once."""
        finest = tuple(sorted({key for grouped in sets for key in grouped}))
        made = {finest: self._rows(finest)}
        for grouped in sorted({*sets} - {finest}, key=len, reverse=True):
            made[grouped] = coarser(made, grouped)
        return made

    def _measured(self, found: Aggregate, place: int, term: Term) -> Expression:
        """A measure; a count of no rows is 0, also where it is a sum of counts."""
        value = column(found.schema, place)
        return bind("coalesce", (value, whole(0))) if term.function in COUNTS and value.type.nullable else value

    def _of(self, grouped: tuple[int, ...], found: Aggregate) -> Operator:
        columns: list[Expression] = []
        for i, key in enumerate(self._keys):
            missing = Literal(key.type.with_nullable(True), None)
            columns.append(column(found.schema, grouped.index(i)) if i in grouped else missing)
        for call, bound in zip(self._calls, self.node.calls, strict=True):
            values = tuple(self._measured(found, len(grouped) + self._numbers[m], m) for m in call.measures)
            columns.append(as_type(call.value(values), bound.type.carrier))
        for arguments in self.node.groupings:
            bits = sum(1 << place for place, i in enumerate(reversed(arguments)) if i not in grouped)
            columns.append(Literal(BIGINT.carrier.with_nullable(False), bits))
        labels = [
            f"{kind}{i}"
            for kind, count in (("g", len(self._keys)), ("a", len(self._calls)), ("s", len(self.node.groupings)))
            for i in range(count)
        ]
        return Project(found, tuple(columns), tuple(labels))
