"""Bound expressions as Jumpgate's typed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatchmethod

from jumpgate.client.duckdb import expressions as e
from jumpgate.client.duckdb.calls import translate_call
from jumpgate.client.duckdb.casts import translate_cast
from jumpgate.client.duckdb.functions import Site, as_type, whole
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.types import BOOLEAN, ZONED, SqlType
from jumpgate.dataflow.expressions import Case, Expression, InList, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import SortKey, column
from jumpgate.dataflow.types import Schema, bool_

#: expressions below one another
DEPTH_MAX = 80


@dataclass
class Scalars:
    """Translates expressions over an operator's columns; types: theirs in DuckDB (None: nothing may read it)."""

    schema: Schema
    types: tuple[SqlType | None, ...]
    _depth: int = 0

    def read(self, bound: e.Bound) -> Expression:
        """The expression, of its carrier. Raises Stays."""
        if self._depth >= DEPTH_MAX:
            raise Stays(f"an expression nests more than {DEPTH_MAX} levels deep")
        self._depth += 1
        try:
            found = self._read(bound)
        finally:
            self._depth -= 1
        if not found.type.same(bound.type.carrier):
            raise Stays(f"a value of type {bound.type} would be a {found.type.name} in a dataflow")
        return found

    def all(self, bounds: tuple[e.Bound, ...]) -> tuple[Expression, ...]:
        """Each of them."""
        return tuple(map(self.read, bounds))

    def keys(self, orders: tuple[e.Order, ...]) -> tuple[SortKey, ...]:
        """Keys of a sort. Raises Stays."""
        return tuple(SortKey(self.read(o.expression), o.descending, o.nulls_first) for o in orders)

    @singledispatchmethod
    def _read(self, bound: e.Bound) -> Expression:
        raise Stays(f"expression {type(bound).__name__} is not offloaded here")

    @_read.register
    def _(self, bound: e.Ref) -> Expression:
        if not 0 <= bound.index < len(self.types):
            raise Stays("an expression reads a column that its input does not have")
        known = self.types[bound.index]
        if known is None:
            raise Stays("a column that only DuckDB has, as rowid, is not offloaded")
        if known != bound.type:
            raise Stays(f"an expression reads a {known} as a {bound.type}")
        return column(self.schema, bound.index)

    @_read.register
    def _(self, bound: e.Constant) -> Expression:
        return bound.literal

    @_read.register
    def _(self, bound: e.Comparison) -> Expression:
        if bound.left.type != bound.right.type:
            raise Stays(f"a comparison of {bound.left.type} and {bound.right.type} is not offloaded")
        return bind(bound.function, self.all((bound.left, bound.right)))

    @_read.register
    def _(self, bound: e.Between) -> Expression:
        if not bound.input.type == bound.lower.type == bound.upper.type:
            raise Stays(f"BETWEEN of {bound.input.type} and other types is not offloaded")
        value, lower, upper = self.all((bound.input, bound.lower, bound.upper))
        above = bind("ge" if bound.lower_inclusive else "gt", (value, lower))
        return bind("and", (above, bind("le" if bound.upper_inclusive else "lt", (value, upper))))

    @_read.register
    def _(self, bound: e.Conjunction) -> Expression:
        children = self.all(bound.children)
        return children[0] if len(children) == 1 else bind(bound.function, children)

    @_read.register
    def _(self, bound: e.Operation) -> Expression:
        return _OPERATIONS[bound.name](self, bound)

    @_read.register
    def _(self, bound: e.Function) -> Expression:
        if any(isinstance(child, e.Interval) for child in bound.children):
            return self._shifted(bound)
        types = tuple(child.type for child in bound.children)
        return translate_call(Site(bound.name, self.all(bound.children), types, bound.type))

    def _shifted(self, bound: e.Function) -> Expression:
        """DATE or TIMESTAMP with an INTERVAL added or taken off."""
        value, interval = bound.children[0], bound.children[-1]
        if isinstance(value, e.Interval) and bound.name == "+":
            value, interval = interval, value
        if len(bound.children) != 2 or bound.name not in ("+", "-") or not isinstance(interval, e.Interval):
            raise Stays(f"{bound.name} with an INTERVAL is not offloaded")
        known = value.type.id in ("DATE", "TIMESTAMP") and bound.type.id == "TIMESTAMP"
        if value.type.id == bound.type.id == ZONED:  # both in one direction or another: DuckDB has an order for each
            known = not interval.months or not (interval.days or interval.micros)
        if not known:
            raise Stays(f"{value.type} {bound.name} INTERVAL is not offloaded")
        sign = -1 if bound.name == "-" else 1
        parts = (whole(sign * part) for part in (interval.months, interval.days, interval.micros))
        return bind("add_interval", (as_type(self.read(value), bound.type.carrier), *parts))

    @_read.register
    def _(self, bound: e.CastTo) -> Expression:
        return translate_cast(self.read(bound.input), bound.input.type, bound.type, bound.is_try)

    @_read.register
    def _(self, bound: e.CaseOf) -> Expression:
        pairs = [(self._condition(when), self._of(bound, then)) for when, then in bound.checks]
        otherwise = self._of(bound, bound.otherwise)
        nullable = otherwise.type.nullable or any(then.type.nullable for _, then in pairs)
        return Case(bound.type.carrier.with_nullable(nullable), tuple(part for p in pairs for part in p), otherwise)

    def _condition(self, bound: e.Bound) -> Expression:
        if bound.type != BOOLEAN:
            raise Stays(f"a condition of type {bound.type} is not offloaded")
        return self.read(bound)

    def _of(self, whole: e.Bound, part: e.Bound) -> Expression:
        if part.type != whole.type:
            raise Stays(f"CASE of {part.type} as {whole.type} is not offloaded")
        return self.read(part)

    def _coalesced(self, bound: e.Operation) -> Expression:
        children = tuple(self._of(bound, child) for child in bound.children)
        return children[0] if len(children) == 1 else bind("coalesce", children)

    def _in(self, bound: e.Operation) -> Expression:
        value, *options = bound.children
        if any(option.type != value.type for option in options):
            raise Stays("IN of several types is not offloaded")
        input, found = self.read(value), self.all(tuple(options))
        literals = tuple(option for option in found if isinstance(option, Literal))
        if len(literals) == len(found):
            nullable = input.type.nullable or any(literal.value is None for literal in literals)
            result: Expression = InList(bool_.with_nullable(nullable), input, literals)
        else:
            equal = tuple(bind("eq", (input, option)) for option in found)
            result = equal[0] if len(equal) == 1 else bind("or", equal)
        return bind("not", (result,)) if bound.name == "COMPARE_NOT_IN" else result


def _plain(function: str) -> Callable[[Scalars, e.Operation], Expression]:
    return lambda scalars, bound: bind(function, scalars.all(bound.children))


_OPERATIONS: Mapping[str, Callable[[Scalars, e.Operation], Expression]] = {
    "OPERATOR_NOT": _plain("not"),
    "OPERATOR_IS_NULL": _plain("is_null"),
    "OPERATOR_IS_NOT_NULL": _plain("is_not_null"),
    "OPERATOR_COALESCE": Scalars._coalesced,
    "COMPARE_IN": Scalars._in,
    "COMPARE_NOT_IN": Scalars._in,
}
