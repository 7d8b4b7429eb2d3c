"""Aggregates of DuckDB's plans, and window functions that are aggregates, as measures of Jumpgate's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jumpgate.client.duckdb import expressions as e
from jumpgate.client.duckdb import plan
from jumpgate.client.duckdb.functions import as_type
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scalars import Scalars
from jumpgate.client.duckdb.types import BIGINT, SIGNED, SqlType
from jumpgate.dataflow.aggregates import AGGREGATES
from jumpgate.dataflow.expressions import Case, Expression, Literal
from jumpgate.dataflow.operators import Aggregate, Measure, Operator, Project, UnionAll, column
from jumpgate.dataflow.types import int32

#: groups of one aggregate, each of which reads its input
SETS_MAX = 64


@dataclass(frozen=True)
class _Rule:
    """`function` of AGGREGATES; of arguments of these types (any if empty)."""

    function: str
    types: tuple[str, ...] = ()
    #: equal values count once whether or not the text says DISTINCT
    idempotent: bool = False


_SUMMED = (*SIGNED, "UTINYINT", "USMALLINT", "UINTEGER", "HUGEINT", "DECIMAL", "DOUBLE")
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
}


def function_of(name: str, types: tuple[SqlType, ...], distinct: bool) -> str:
    """Jumpgate's aggregate of that name and argument types. Raises Stays."""
    rule = _RULES.get(name)
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


def counted_if(condition: Expression, value: Expression | None) -> Expression:
    """The value where the condition is TRUE, else NULL; without a value some number that is not."""
    value = Literal(int32.with_nullable(False), 1) if value is None else value
    type = value.type.with_nullable(True)
    return Case(type, (condition, value), Literal(type, None))


def measure(call: e.AggregateCall, scalars: Scalars, name: str) -> Measure:
    """The measure that the call is, whose type may be narrower than the call's. Raises Stays."""
    if call.orders:
        raise Stays(f"aggregate {call.name} with ORDER BY is not offloaded")
    function = function_of(call.name, tuple(child.type for child in call.children), call.distinct)
    arguments = scalars.all(call.children)
    if call.filter is not None:
        arguments = (counted_if(scalars.read(call.filter), arguments[0] if arguments else None),)
        function = "count" if function == "count_star" else function
    return Measure.of(function, *arguments, name=name)


@dataclass
class Aggregated:
    """Translates one aggregate over `input`. `guarded`: numbers of the calls of first() whose value counts only where
    there is one row, of which the plan makes sure above."""

    node: plan.Aggregate
    input: Operator
    scalars: Scalars
    guarded: frozenset[int] = frozenset()
    _measures: tuple[Measure, ...] = field(init=False)
    _keys: tuple[Expression, ...] = field(init=False)

    def __post_init__(self) -> None:
        calls = [self._unguarded(i, call) for i, call in enumerate(self.node.calls)]
        self._measures = tuple(measure(call, self.scalars, f"m{i}") for i, call in enumerate(calls))
        self._keys = self.scalars.all(self.node.groups)

    def _unguarded(self, number: int, call: e.AggregateCall) -> e.AggregateCall:
        if call.name != "first" or number not in self.guarded:
            return call
        return e.AggregateCall(call.type, "max", call.children, False, call.filter, call.orders)

    @property
    def types(self) -> tuple[SqlType, ...]:
        """Of the columns: groups, calls, GROUPING functions."""
        bound = (*self.node.groups, *self.node.calls)
        return (*(b.type for b in bound), *(BIGINT for _ in self.node.groupings))

    def operator(self) -> Operator:
        """One aggregate for each grouping set, all their rows together. Raises Stays."""
        if len(self.node.sets) > SETS_MAX:
            raise Stays(f"more than {SETS_MAX} grouping sets are not offloaded")
        members = tuple(self._of(s) for s in self.node.sets)
        return members[0] if len(members) == 1 else UnionAll(members)

    def _of(self, grouped: tuple[int, ...]) -> Operator:
        names = tuple(f"g{i}" for i in grouped)
        found = Aggregate(self.input, tuple(self._keys[i] for i in grouped), names, self._measures)
        columns: list[Expression] = []
        for i, key in enumerate(self._keys):
            missing = Literal(key.type.with_nullable(True), None)
            columns.append(column(found.schema, grouped.index(i)) if i in grouped else missing)
        for i, call in enumerate(self.node.calls):
            columns.append(as_type(column(found.schema, len(grouped) + i), call.type.carrier))
        for arguments in self.node.groupings:
            bits = sum(1 << place for place, i in enumerate(reversed(arguments)) if i not in grouped)
            columns.append(Literal(BIGINT.carrier.with_nullable(False), bits))
        labels = (*(f"g{i}" for i in range(len(self._keys))), *(m.name for m in self._measures))
        return Project(found, tuple(columns), (*labels, *(f"s{i}" for i in range(len(self.node.groupings)))))
