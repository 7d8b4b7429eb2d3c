"""Scalar expressions of DataFusion's plans as Jumpgate's; what has no equal meaning is Unmapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from jumpgate.client.sql.function_names import SCALARS
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import flat_name
from jumpgate.client.sql.logical.types import UNSIGNED, is_unsigned, read_literal, read_type, unsigned_literal
from jumpgate.dataflow.casts import TypeMismatch, can_cast, cast_type, common_type
from jumpgate.dataflow.expressions import Case, Cast, ColumnRef, Expression, InList, Literal
from jumpgate.dataflow.functions import FUNCTIONS, bind, cast_to
from jumpgate.dataflow.substrait.expressions import GROUPING_ID
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import DataType, Schema, bool_, decimal, int32, int64, string

#: binary operators, argument by argument
OPERATORS = {
    "Eq": "eq",
    "NotEq": "ne",
    "Lt": "lt",
    "LtEq": "le",
    "Gt": "gt",
    "GtEq": "ge",
    "IsDistinctFrom": "is_distinct",
    "IsNotDistinctFrom": "is_not_distinct",
    "And": "and",
    "Or": "or",
    "Modulo": "modulo",
    "StringConcat": "concat",
}
_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_not_distinct"))
PARTS = ("year", "quarter", "month", "day", "hour", "minute")
#: no query groups by more keys than this has bits
MASK_MAX = 1 << 31
_NANOSECONDS_A_DAY = 86_400 * 10**9
#: kinds of interval literals
_INTERVALS = ("year_months", "day_time", "month_day_nano")


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
        """Whether DataFusion computes it in unsigned integers."""
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
            return self._add_days(operands[0], operands[1].literal, 1 if operator == "Plus" else -1)
        if operator == "Minus" and all(map(self.unsigned, operands)):
            raise Unmapped("a difference of unsigned integers is not known")
        if operator in ("BitwiseAnd", "BitwiseShiftRight"):
            return self._grouping_bits(operator, operands)
        args = [self.read(o) for o in operands]
        if operator in ("And", "Or"):
            return bind(operator.lower(), tuple(_as(a, bool_) for a in args))
        found = args[0]
        for arg in args[1:]:
            found = self._pair(operator, found, arg)
        return found

    def _pair(self, operator: str, left: Expression, right: Expression) -> Expression:
        if _is_null(left) != _is_null(right):
            left, right = (_as(left, right.type), right) if _is_null(left) else (left, _as(right, left.type))
        if operator == "Plus":
            return bind("add", (left, right))
        if operator == "Minus":
            return bind("subtract", (left, right))
        if operator == "Multiply":
            return _multiply(left, right)
        if operator == "Divide":
            return _divide(left, right)
        name = OPERATORS.get(operator)
        if name is None:
            raise Unmapped(f"operator {operator} is not known")
        if name in _COMPARISONS and left.type.is_numeric != right.type.is_numeric:
            raise Unmapped(f"{left.type.name} and {right.type.name} are not compared")
        return bind(name, (left, right))

    def _add_days(self, value: pb.Expr, interval: pb.Scalar, sign: int) -> Expression:
        found = self.read(value)
        if found.type.kind != "date":
            raise Unmapped(f"an interval is added to a {found.type.name}")
        return bind("date_add_days", (found, Literal(int32.with_nullable(False), sign * _days(interval))))

    def _grouping_bits(self, operator: str, operands: Sequence[pb.Expr]) -> Expression:
        """`x >> n` and `x & 2^n` of a grouping set's number, as GROUPING() has them; of anything else they stay."""
        value, literal = self.read(operands[0]), self.read(operands[1])
        operand = literal.value if isinstance(literal, Literal) else None
        if len(operands) != 2 or not _is_mask(value) or not isinstance(operand, int) or not 0 <= operand < MASK_MAX:
            raise Unmapped("operations on bits are known for GROUPING only")
        if operator == "BitwiseShiftRight":
            return bind("int_divide", (value, _count(1 << operand)))
        if operand & (operand - 1) or not operand:
            raise Unmapped(f"GROUPING with the mask {operand} is not known")
        bit = bind("modulo", (bind("int_divide", (value, _count(operand))), _count(2)))
        return bind("multiply", (bit, _count(operand)))

    def _between(self, between: pb.Between) -> Expression:
        value = self.read(between.input)
        low = self._pair("GtEq", value, self.read(between.low))
        found = bind("and", (low, self._pair("LtEq", value, self.read(between.high))))
        return bind("not", (found,)) if between.negated else found

    def _case(self, case: pb.Case) -> Expression:
        base = self.read(case.base) if case.HasField("base") else None
        conditions, values = [], []
        for clause in case.whens:
            when = self.predicate(clause.when) if base is None else self._pair("Eq", base, self.read(clause.when))
            conditions.append(when)
            values.append(self.read(clause.then))
        last = self.read(case.otherwise) if case.HasField("otherwise") else None
        typed = [v for v in (*values, last) if v is not None and not _is_null(v)]
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
        if _is_null(value):
            return Literal(target.with_nullable(True), None)
        if not can_cast(value.type, target) or (value.type.kind, target.kind) == ("timestamp", "string"):
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
        type = common_type(tuple(e.type for e in (value, *options) if not _is_null(e)) or (value.type,))
        value, options = _as(value, type), [_as(o, type) for o in options]
        literals = tuple(o for o in options if isinstance(o, Literal))
        found: Expression
        if len(literals) == len(options):
            nullable = value.type.nullable or any(o.value is None for o in literals)
            found = InList(bool_.with_nullable(nullable), value, literals)
        else:
            equals = tuple(bind("eq", (value, o)) for o in options)
            found = equals[0] if len(equals) == 1 else bind("or", equals)
        return bind("not", (found,)) if rex.negated else found

    def _like(self, like: pb.Like, name: str = "like") -> Expression:
        if name not in FUNCTIONS:
            raise Unmapped(f"{name} is not known")
        args = [self.read(like.input), self.read(like.pattern)]
        pattern = args[1].value if isinstance(args[1], Literal) else None
        if not isinstance(pattern, str):
            raise Unmapped(f"{name} is known with a literal pattern only")
        if like.escape:
            args.append(Literal(string.with_nullable(False), like.escape))
        elif "\\" in pattern:  # which DataFusion takes for the escape
            raise Unmapped(f"{name} with a backslash in its pattern, and no escape, is not known")
        found = bind(name, tuple(args))
        return bind("not", (found,)) if like.negated else found

    def _ilike(self, like: pb.Like) -> Expression:
        return self._like(like, "ilike")

    def _call(self, call: pb.Call) -> Expression:
        if call.HasField("definition"):
            raise Unmapped(f"function {call.name} is one of the session's")
        if call.name in SPECIAL:
            return SPECIAL[call.name](self, call)
        if call.name not in SCALARS:
            raise Unmapped(f"function {call.name} is not known")
        return bind(SCALARS[call.name], self._arguments(call.args))

    def _arguments(self, args: Sequence[pb.Expr]) -> tuple[Expression, ...]:
        found = tuple(self.read(a) for a in args)
        typed = [a.type for a in found if not _is_null(a)]
        return tuple(_as(a, typed[0]) if typed and _is_null(a) else a for a in found)

    def _concat(self, call: pb.Call) -> Expression:
        """DataFusion's concat passes NULLs over."""
        empty = Literal(string.with_nullable(False), "")
        return bind("concat", tuple(bind("coalesce", (a, empty)) for a in self._arguments(call.args)))

    def _date_part(self, call: pb.Call) -> Expression:
        part = self.read(call.args[0])
        word = str(part.value).lower() if isinstance(part, Literal) else ""
        if word not in PARTS:
            raise Unmapped(f"date_part of {word or 'something computed'} is not known")
        return bind(word, (self.read(call.args[1]),))

    def _is(self, value: pb.Unary, true: bool, negated: bool) -> Expression:
        """IS [NOT] TRUE or FALSE."""
        found = self.predicate(value.input)
        known = bind("coalesce", (found, Literal(bool_.with_nullable(False), not true)))
        return known if true != negated else bind("not", (known,))

    def _subqueries(self, subquery: pb.Subquery) -> Expression:
        if self._subquery is None:
            raise Unmapped("a subquery here is not known")
        return self._subquery(subquery)


def _unary(name: str) -> Callable[[ExpressionReader, pb.Unary], Expression]:
    return lambda self, unary: bind(name, (self.read(unary.input),))


_READERS: dict[str, Callable[..., Expression]] = {
    "column": ExpressionReader._column,
    "alias": ExpressionReader._alias,
    "literal": lambda self, scalar: read_literal(scalar),
    "binary": ExpressionReader._binary,
    "is_null": _unary("is_null"),
    "is_not_null": _unary("is_not_null"),
    "is_unknown": _unary("is_null"),
    "is_not_unknown": _unary("is_not_null"),
    "not": _unary("not"),
    "negative": _unary("negate"),
    "is_true": lambda self, unary: self._is(unary, True, False),
    "is_not_true": lambda self, unary: self._is(unary, True, True),
    "is_false": lambda self, unary: self._is(unary, False, False),
    "is_not_false": lambda self, unary: self._is(unary, False, True),
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
#: functions whose arguments are not those of Jumpgate's
SPECIAL: dict[str, Callable[..., Expression]] = {
    "concat": ExpressionReader._concat,
    "date_part": ExpressionReader._date_part,
}


def _multiply(a: Expression, b: Expression) -> Expression:
    """A product with more than 38 digits: the wider factor must fit what is left beside the other one."""
    if a.type.kind == b.type.kind == "decimal" and (over := a.type.precision + b.type.precision - 38) > 0:
        wide = max((a, b), key=lambda e: e.type.precision)
        digits = wide.type.precision - over
        if digits <= wide.type.scale or isinstance(wide, Literal):
            raise Unmapped(f"the product of {a.type.name} and {b.type.name} has more than 38 digits")
        narrow = cast_to(wide, decimal(digits, wide.type.scale))
        a, b = (narrow, b) if wide is a else (a, narrow)
    return bind("multiply", (a, b))


def _divide(a: Expression, b: Expression) -> Expression:
    if a.type.is_integer and b.type.is_integer:
        return bind("int_divide", (a, b))
    if "decimal" in (a.type.kind, b.type.kind):
        raise Unmapped("division of decimals is not known; cast one side to a float")
    return bind("divide", (a, b))


def _is_mask(value: Expression) -> bool:
    """Whether it is the number of a grouping set, or some of its bits."""
    if isinstance(value, ColumnRef):
        return value.name == GROUPING_ID
    return bool(value.children) and all(isinstance(c, Literal) or _is_mask(c) for c in value.children)


def _count(value: int) -> Literal:
    return Literal(int64.with_nullable(False), value)


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _as(expression: Expression, type: DataType) -> Expression:
    """The expression cast to `type`; NULL takes any type."""
    return Literal(type.with_nullable(True), None) if _is_null(expression) else cast_to(expression, type)


def _is_interval(expr: pb.Expr) -> bool:
    return expr.WhichOneof("kind") == "literal" and expr.literal.WhichOneof("kind") in _INTERVALS


def _days(interval: pb.Scalar) -> int:
    """The whole days of an interval."""
    kind = interval.WhichOneof("kind")
    if kind == "day_time" and not interval.day_time.milliseconds:
        return int(interval.day_time.days)
    if kind == "month_day_nano" and not interval.month_day_nano.months:
        days, rest = divmod(interval.month_day_nano.nanoseconds, _NANOSECONDS_A_DAY)
        if not rest:
            return int(interval.month_day_nano.days + days)
    raise Unmapped("an interval of months, or of parts of a day, is not known")
