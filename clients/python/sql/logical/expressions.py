"""Scalar expressions of DataFusion's plans as Jumpgate's; what has no equal meaning is Unmapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from jumpgate.client.sql.function_names import add_interval, scalar
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import flat_name
from jumpgate.client.sql.logical.types import UNSIGNED, is_unsigned, read_literal, read_type, unsigned_literal
from jumpgate.dataflow.casts import TypeMismatch, can_cast, cast_type, common_type
from jumpgate.dataflow.expressions import Case, Cast, ColumnRef, Expression, InList, Literal, Member
from jumpgate.dataflow.functions import cast_to
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import ZONED, DataType, Schema, bool_

_COMPARISONS = frozenset(("Eq", "NotEq", "Lt", "LtEq", "Gt", "GtEq", "IsDistinctFrom", "IsNotDistinctFrom"))
#: operators of one operand, by the name of the field
_UNARY = {
    "is_null": "IsNull",
    "is_not_null": "IsNotNull",
    "is_true": "IsTrue",
    "is_not_true": "IsNotTrue",
    "is_false": "IsFalse",
    "is_not_false": "IsNotFalse",
    "is_unknown": "IsUnknown",
    "is_not_unknown": "IsNotUnknown",
    "not": "Not",
    "negative": "Negative",
}
#: parts of interval literals by kind: months, days, nanoseconds
INTERVALS: dict[str, Callable[[pb.Scalar], tuple[int, int, int]]] = {
    "year_months": lambda scalar: (scalar.year_months, 0, 0),
    "day_time": lambda scalar: (0, scalar.day_time.days, scalar.day_time.milliseconds * 1_000_000),
    "month_day_nano": lambda scalar: (
        scalar.month_day_nano.months,
        scalar.month_day_nano.days,
        scalar.month_day_nano.nanoseconds,
    ),
}


class ExpressionReader:
    """Reads the expressions over one input. schema: its columns, names: DataFusion's names of them, with qualifiers,
    types: DataFusion's types of them; subquery: turns one into a column, None where there are none."""

    def __init__(
        self,
        schema: Schema,
        names: Sequence[str],
        types: Sequence[pa.DataType],
        subquery: Callable[[pb.Subquery], Expression] | None = None,
    ) -> None:
        self._schema, self._types, self._subquery = schema, types, subquery
        self._positions: dict[str, int | None] = {}
        for i, name in enumerate(names):
            self._positions[name] = None if name in self._positions else i

    def read(self, expr: pb.Expr) -> Expression:
        """Raises Unmapped."""
        kind = expr.WhichOneof("kind") or ""
        reader = _READERS.get(kind)
        if reader is None:
            raise Unmapped(f"{_WORDS.get(kind, kind) or 'an expression of an unknown kind'} is not known here")
        try:
            return reader(self, getattr(expr, kind))
        except TypeMismatch as error:
            raise Unmapped(str(error)) from None

    def predicate(self, expr: pb.Expr) -> Expression:
        """An expression that must be boolean."""
        found = self.read(expr)
        if found.type.kind != "bool":
            raise Unmapped(f"a condition is {found.type.name}, not bool")
        return found

    def position(self, column: pb.Column) -> int:
        flat = flat_name(column)
        found = self._positions.get(flat)
        if found is None:
            raise Unmapped(f"column {flat} is not one of the input's")
        return found

    def unsigned(self, expr: pb.Expr) -> bool:
        """Return whether DataFusion computes it in unsigned integers."""
        kind = expr.WhichOneof("kind")
        if kind == "column":
            return is_unsigned(self._types[self.position(expr.column)])
        if kind == "literal":
            return unsigned_literal(expr.literal)
        if kind == "cast":
            return expr.cast.type.WhichOneof("kind") in UNSIGNED
        if kind == "alias":
            return self.unsigned(expr.alias.input)
        return kind == "binary" and all(map(self.unsigned, expr.binary.operands))

    def _column(self, column: pb.Column) -> Expression:
        index = self.position(column)
        found = self._schema[index]
        return ColumnRef(found.type, index, found.name)

    def _alias(self, alias: pb.Alias) -> Expression:
        return self.read(alias.input)

    def _binary(self, binary: pb.Binary) -> Expression:
        operands, operator = list(binary.operands), binary.operator
        if operator in ("Plus", "Minus") and len(operands) == 2 and _is_interval(operands[1]):
            interval = operands[1].literal
            months, days, nanoseconds = INTERVALS[interval.WhichOneof("kind") or ""](interval)
            sign = 1 if operator == "Plus" else -1
            return add_interval(self.read(operands[0]), sign * months, sign * days, sign * nanoseconds)
        if operator in ("Minus", "BitwiseShiftLeft") and all(map(self.unsigned, operands)):
            raise Unmapped(f"{operator} of unsigned integers is not known")
        args = [self.read(o) for o in operands]
        if operator in ("And", "Or"):
            return scalar(operator, tuple(_as(a, bool_) for a in args))
        found = args[0]
        for arg in args[1:]:
            found = self._pair(operator, found, arg)
        return found

    def _pair(self, operator: str, left: Expression, right: Expression) -> Expression:
        if is_null(left) != is_null(right):
            left, right = (_as(left, right.type), right) if is_null(left) else (left, _as(right, left.type))
        if operator in _COMPARISONS and left.type.is_numeric != right.type.is_numeric:
            raise Unmapped(f"{left.type.name} and {right.type.name} are not compared")
        return scalar(operator, (left, right))

    def _negated(self, found: Expression, negated: bool) -> Expression:
        return scalar("Not", (found,)) if negated else found

    def _between(self, between: pb.Between) -> Expression:
        value = self.read(between.input)
        low = self._pair("GtEq", value, self.read(between.low))
        high = self._pair("LtEq", value, self.read(between.high))
        return self._negated(scalar("And", (low, high)), between.negated)

    def _case(self, case: pb.Case) -> Expression:
        base = self.read(case.base) if case.HasField("base") else None
        conditions, values = [], []
        for clause in case.whens:
            when = self.predicate(clause.when) if base is None else self._pair("Eq", base, self.read(clause.when))
            conditions.append(when)
            values.append(self.read(clause.then))
        last = self.read(case.otherwise) if case.HasField("otherwise") else None
        typed = [v for v in (*values, last) if v is not None and not is_null(v)]
        if not values or not typed:
            raise Unmapped("a CASE without values")
        type = common_type(tuple(v.type for v in typed))
        cast = [_as(v, type) for v in (*values, last or Literal(type.with_nullable(True), None))]
        branches = tuple(e for pair in zip(conditions, cast, strict=False) for e in pair)
        return Case(type.with_nullable(any(v.type.nullable for v in cast)), branches, cast[-1])

    def _cast(self, cast: pb.Cast, on_failure: str = "error") -> Expression:
        value, target = self.read(cast.input), read_type(cast.type)
        if cast.type.WhichOneof("kind") in UNSIGNED and not self.unsigned(cast.input):
            raise Unmapped("a cast to an unsigned integer is not known")
        if value.type.same(target):
            return value
        if is_null(value):
            return Literal(target.with_nullable(True), None)
        if not can_cast(value.type, target) or _of_other_text(value.type, target):
            raise Unmapped(f"there is no cast from {value.type.name} to {target.name}")
        if isinstance(value, Literal) and on_failure == "error":
            return cast_to(value, target)
        return Cast(cast_type(value.type, target, on_failure), value, on_failure)

    def _try_cast(self, cast: pb.Cast) -> Expression:
        return self._cast(cast, "null")

    def _in_list(self, rex: pb.InList) -> Expression:
        value, options = self.read(rex.input), [self.read(o) for o in rex.list]
        if not options:
            raise Unmapped("an IN without options")
        type = common_type(tuple(e.type for e in (value, *options) if not is_null(e)) or (value.type,))
        value, options = _as(value, type), [_as(o, type) for o in options]
        literals = tuple(o for o in options if isinstance(o, Literal))
        found: Expression
        if len(literals) == len(options):
            nullable = value.type.nullable or any(o.value is None for o in literals)
            found = InList(bool_.with_nullable(nullable), value, literals)
        else:
            equals = tuple(scalar("Eq", (value, o)) for o in options)
            found = equals[0] if len(equals) == 1 else scalar("Or", equals)
        return self._negated(found, rex.negated)

    def _like(self, like: pb.Like, operator: str = "LikeMatch") -> Expression:
        if like.escape not in ("", "\\"):
            raise Unmapped(f"a pattern with the escape {like.escape} is not known")
        return self._negated(scalar(operator, (self.read(like.input), self.read(like.pattern))), like.negated)

    def _ilike(self, like: pb.Like) -> Expression:
        return self._like(like, "ILikeMatch")

    def _call(self, call: pb.Call) -> Expression:
        if call.HasField("definition"):
            raise Unmapped(f"function {call.name} is one of the session's")
        if call.name == "get_field":
            return self._field(call)
        found = tuple(self.read(a) for a in call.args)
        typed = [a.type for a in found if not is_null(a)]
        return scalar(call.name, tuple(_as(a, typed[0]) if typed and is_null(a) else a for a in found))

    def _field(self, call: pb.Call) -> Expression:
        """Fields of structs, one below the other."""
        found = self.read(call.args[0])
        for name in call.args[1:]:
            kind = name.literal.WhichOneof("kind") if name.WhichOneof("kind") == "literal" else None
            if kind not in ("utf8", "large_utf8", "utf8_view"):
                raise Unmapped(f"{found.type.name}: an element by position or computed key is not known")
            member = Member.of(found, str(getattr(name.literal, kind)))
            if member is None:
                raise Unmapped(f"an element of a {found.type.name} by key is not known")
            found = member
        return found

    def _subqueries(self, subquery: pb.Subquery) -> Expression:
        if self._subquery is None:
            raise Unmapped("a subquery here is not known")
        return self._subquery(subquery)


def _unary(operator: str) -> Callable[[ExpressionReader, pb.Unary], Expression]:
    return lambda self, unary: scalar(operator, (self.read(unary.input),))


_READERS: dict[str, Callable[..., Expression]] = {
    "column": ExpressionReader._column,
    "alias": ExpressionReader._alias,
    "literal": lambda self, scalar: read_literal(scalar),
    "binary": ExpressionReader._binary,
    **{kind: _unary(operator) for kind, operator in _UNARY.items()},
    "between": ExpressionReader._between,
    "case": ExpressionReader._case,
    "cast": ExpressionReader._cast,
    "try_cast": ExpressionReader._try_cast,
    "in_list": ExpressionReader._in_list,
    "like": ExpressionReader._like,
    "ilike": ExpressionReader._ilike,
    "call": ExpressionReader._call,
    "subquery": ExpressionReader._subqueries,
}
_WORDS = {
    "window": "a window function",
    "aggregate": "an aggregate function",
    "similar_to": "SIMILAR TO",
    "grouping_sets": "a grouping set",
}


def _of_other_text(source: DataType, target: DataType) -> bool:
    """Return whether DataFusion has another text for a time or timestamp."""
    if target.kind == "string":
        return source.kind in ("time", "timestamp", "timestamp_ns", *ZONED)
    return source.kind == "string" and target.kind in ("time", "timestamp_ns", *ZONED)


def is_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _as(expression: Expression, type: DataType) -> Expression:
    """The expression cast to `type`; NULL takes any type."""
    return Literal(type.with_nullable(True), None) if is_null(expression) else cast_to(expression, type)


def _is_interval(expr: pb.Expr) -> bool:
    return expr.WhichOneof("kind") == "literal" and expr.literal.WhichOneof("kind") in INTERVALS
