"""Converts scalar expressions of Substrait. Result types are computed here; an expression that would have other digits
than the producer declared is Unmapped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from substrait.algebra_pb2 import Expression as Rex
from substrait.algebra_pb2 import FunctionArgument
from substrait.type_pb2 import Type

from jumpgate.dataflow.casts import TypeMismatch, can_cast, cast_type, common_type
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, Member
from jumpgate.dataflow.functions import bind, cast_to, known
from jumpgate.dataflow.substrait.dependent import Outer
from jumpgate.dataflow.substrait.options import read_options
from jumpgate.dataflow.substrait.types import Unmapped, read_literal, read_type
from jumpgate.dataflow.types import DataType, Schema, bool_, decimal, int32, int64, string

SECONDS_A_DAY = 86_400
#: return a bool whatever their producer declares: some declare the type of the operands
_TRUTHS = ("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_not_distinct", "is_null", "is_not_null", "like")
#: functions of DataFusion with another meaning than Substrait's of that name
DATAFUSION = {"concat": "concat_without_nulls", "like": "like_with_backslash"}
#: names that only DataFusion's functions have
DATAFUSION_ONLY = frozenset(DATAFUSION.values())
PARTS = ("year", "quarter", "month", "day", "hour", "minute")
#: parts that count from one, or from zero if the plan says so
_COUNTED = ("quarter", "month", "day")


class ExpressionReader:
    """Reads the expressions of one relation. schema: of its input; functions: names by anchor.

    subquery, window: turn a scalar subquery or a window function into a column of the input; None if there are none.
    around: of the rows around the subquery that the relation is of, outermost first.
    """

    def __init__(
        self,
        schema: Schema,
        functions: Mapping[int, str],
        subquery: Callable[[Rex.Subquery], Expression] | None = None,
        window: Callable[[Rex.WindowFunction], Expression] | None = None,
        around: Sequence[Schema] = (),
    ) -> None:
        self._schema, self._functions, self._subquery, self._window = schema, functions, subquery, window
        self._around = around

    def read(self, rex: Rex) -> Expression:
        """Convert an expression. Raises Unmapped."""
        kind = rex.WhichOneof("rex_type")
        reader = _READERS.get(kind or "")
        if reader is None:
            raise Unmapped(f"{(kind or 'an empty expression').replace('_', ' ')} is not known")
        try:
            return reader(self, getattr(rex, kind or ""))
        except TypeMismatch as error:
            raise Unmapped(str(error)) from None

    def predicate(self, rex: Rex) -> Expression:
        """An expression that must be boolean."""
        found = self.read(rex)
        if found.type.kind != "bool":
            raise Unmapped(f"a condition is {found.type.name}, not bool")
        return found

    def _column(self, selection: Rex.FieldReference) -> Expression:
        field = selection.direct_reference.struct_field
        if selection.WhichOneof("reference_type") != "direct_reference":
            raise Unmapped("only columns, and fields of structs, can be referred to")
        root = selection.WhichOneof("root_type")
        if root == "expression":
            return self._member(self.read(selection.expression), selection.direct_reference)
        level = selection.outer_reference.steps_out if root == "outer_reference" else 0
        if root not in ("root_reference", "outer_reference", None) or level > len(self._around):
            raise Unmapped(f"a reference to {root.replace('_', ' ')} {level} steps out is not known")
        schema = self._around[-level] if level else self._schema
        if not 0 <= field.field < len(schema):
            raise Unmapped(f"column {field.field} does not exist, there are {len(schema)}")
        column = schema[field.field]
        found: Expression = ColumnRef(column.type, field.field, column.name)
        if level:
            found = Outer(column.type, field.field, level)
        return self._member(found, field.child) if field.HasField("child") else found

    def _member(self, value: Expression, reference: Rex.ReferenceSegment) -> Expression:
        """Return the field of a struct, and fields of that."""
        field = reference.struct_field
        if reference.WhichOneof("reference_type") != "struct_field" or value.type.kind != "struct":
            raise Unmapped("only columns, and fields of structs, can be referred to")
        if not 0 <= field.field < len(value.type.parts):
            raise Unmapped(f"field {field.field} does not exist, {value.type.name} has {len(value.type.parts)}")
        found = Member(value.type.parts[field.field].type, value, field.field)
        return self._member(found, field.child) if field.HasField("child") else found

    def _cast(self, cast: Rex.Cast) -> Expression:
        value, target = self.read(cast.input), read_type(cast.type)
        if value.type.same(target):
            return value
        if isinstance(value, Literal):
            return cast_to(value, target)
        if not can_cast(value.type, target):
            raise Unmapped(f"there is no cast from {value.type.name} to {target.name}")
        on_failure = "null" if cast.failure_behavior == Rex.Cast.FAILURE_BEHAVIOR_RETURN_NULL else "error"
        return Cast(cast_type(value.type, target, on_failure), value, on_failure)

    def _if_then(self, rex: Rex.IfThen) -> Expression:
        clauses = list(rex.ifs)
        if clauses and not clauses[0].HasField("then"):  # DataFusion's CASE x WHEN …: the first clause is x alone
            base = self.read(getattr(clauses.pop(0), "if"))
            conditions: list[Expression] = [bind("eq", (base, self.read(getattr(clause, "if")))) for clause in clauses]
        else:
            conditions = [self.predicate(getattr(clause, "if")) for clause in clauses]
        values: list[Expression] = [self.read(clause.then) for clause in clauses]
        otherwise = getattr(rex, "else")
        known = otherwise.WhichOneof("rex_type") is not None
        last = self.read(otherwise) if known else None
        typed = [v for v in (*values, last) if v is not None and not _is_null(v)]
        if not values or not typed:
            raise Unmapped("a CASE without values")
        type = common_type(tuple(v.type for v in typed))
        if last is None:
            last = Literal(type.with_nullable(True), None)
        cast = [_as(v, type) for v in (*values, last)]
        branches = tuple(e for pair in zip(conditions, cast, strict=False) for e in pair)
        nullable = any(v.type.nullable for v in cast)
        return Case(type.with_nullable(nullable), branches, cast[-1])

    def _in_list(self, rex: Rex.SingularOrList) -> Expression:
        value, options = self.read(rex.value), [self.read(o) for o in rex.options]
        return self._any_of(value, options)

    def _any_of(self, value: Expression, options: Sequence[Expression]) -> Expression:
        if not options:
            return Literal(bool_.with_nullable(False), False)  # whatever the value, NULL included
        type = common_type(tuple(e.type for e in (value, *options) if not _is_null(e)) or (value.type,))
        value, options = _as(value, type), [_as(o, type) for o in options]
        literals = tuple(o for o in options if isinstance(o, Literal))
        if len(literals) == len(options):
            nullable = value.type.nullable or any(o.value is None for o in literals)
            return InList(bool_.with_nullable(nullable), value, literals)
        equals = tuple(bind("eq", (value, o)) for o in options)
        return equals[0] if len(equals) == 1 else bind("or", equals)

    def _subqueries(self, rex: Rex.Subquery) -> Expression:
        if self._subquery is None:
            raise Unmapped("a subquery here is not known")
        return self._subquery(rex)

    def _windows(self, rex: Rex.WindowFunction) -> Expression:
        if self._window is None:
            raise Unmapped("a window function here is not known")
        return self._window(rex)

    def _call(self, call: Rex.ScalarFunction) -> Expression:
        if call.function_reference not in self._functions:
            raise Unmapped(f"function anchor {call.function_reference} is not declared")
        name = self._functions[call.function_reference]
        if read_options(name, call.options).get("null_handling") == "IGNORE_NULLS":
            name = DATAFUSION["concat"]
        if name in SPECIAL:
            found = SPECIAL[name](self, name, call)
        elif (function := known(name, "substrait")) is not None:
            found = bind(function.name, self._arguments(name, call))
        else:
            raise Unmapped(f"function {name} is not known")
        declared = _declared(call.output_type) if call.HasField("output_type") else found.type
        if not _agree(found.type, declared) and not (isinstance(found, Call) and found.function in _TRUTHS):
            raise Unmapped(f"{name} gives {declared.name} there and {found.type.name} here")
        return found

    def _arguments(self, name: str, call: Rex.ScalarFunction) -> tuple[Expression, ...]:
        if not all(a.WhichOneof("arg_type") == "value" for a in call.arguments):
            raise Unmapped(f"{name} has arguments that are not values")
        found = tuple(self.read(a.value) for a in call.arguments)
        typed = [a.type for a in found if not _is_null(a)]
        return tuple(_as(a, typed[0]) if typed and _is_null(a) else a for a in found)

    def _logic(self, name: str, call: Rex.ScalarFunction) -> Expression:
        found = self._arguments(name, call)
        return found[0] if len(found) == 1 else bind(name, found)

    def _plus_minus(self, name: str, call: Rex.ScalarFunction) -> Expression:
        if len(call.arguments) == 2:
            days = _days(call.arguments[1].value)
            if days is not None:
                value = self.read(call.arguments[0].value)
                if value.type.kind != "date":
                    raise Unmapped(f"an interval is added to a {value.type.name}")
                count = days if name == "add" else -days
                return bind("date_add_days", (value, Literal(int32.with_nullable(False), count)))
        return bind(name, self._arguments(name, call))

    def _multiply(self, name: str, call: Rex.ScalarFunction) -> Expression:
        """A product with more than 38 digits: the wider factor must fit what is left beside the other one."""
        args = self._arguments(name, call)
        if len(args) == 2 and all(a.type.kind == "decimal" for a in args):
            a, b = args
            over = a.type.precision + b.type.precision - 38
            if over > 0:
                wide = max(args, key=lambda e: e.type.precision)
                digits = wide.type.precision - over
                if digits <= wide.type.scale or isinstance(wide, Literal):
                    raise Unmapped(f"the product of {a.type.name} and {b.type.name} has more than 38 digits")
                narrow = cast_to(wide, decimal(digits, wide.type.scale))
                args = (narrow, b) if wide is a else (a, narrow)
        return bind("multiply", args)

    def _divide(self, name: str, call: Rex.ScalarFunction) -> Expression:
        args = self._arguments(name, call)
        if all(a.type.is_integer for a in args):
            return bind("int_divide", args)
        if any(a.type.kind == "decimal" for a in args):
            raise Unmapped("division of decimals: engines disagree about its digits; cast one side to a float")
        return bind("divide", args)

    def _like(self, name: str, call: Rex.ScalarFunction) -> Expression:
        args = self._arguments(name, call)
        if len(args) == 3 and _is_null(args[2]):
            args = args[:2]
        return bind("like", args)

    def _like_with_backslash(self, name: str, call: Rex.ScalarFunction) -> Expression:
        """Use the backslash as escape, as DataFusion does without an explicit one."""
        found = self._like(name, call)
        if isinstance(found, Call) and len(found.args) == 2 and "\\" in str(getattr(found.args[1], "value", "")):
            raise Unmapped("like with a backslash in its pattern, and no escape, is not known")
        return found

    def _substring(self, name: str, call: Rex.ScalarFunction) -> Expression:
        """Convert substring; engines disagree about positions before the first one."""
        args = self._arguments(name, call)
        starts = [a.value for a in args[1:] if isinstance(a, Literal)]
        if len(starts) < len(args) - 1 or any(not isinstance(v, int) or v < 0 for v in starts) or starts[:1] == [0]:
            raise Unmapped(f"{name} is known from a literal place on, of at least 1, and of a literal length")
        return bind("substring", args)

    def _concat(self, name: str, call: Rex.ScalarFunction) -> Expression:
        empty = Literal(string.with_nullable(False), "")
        return bind("concat", tuple(bind("coalesce", (a, empty)) for a in self._arguments(name, call)))

    def _extract(self, name: str, call: Rex.ScalarFunction) -> Expression:
        """Convert extract: a part, perhaps whether it counts from one or from zero, and a date or timestamp."""
        *said, value = call.arguments or [FunctionArgument()]
        words = [a.enum if a.WhichOneof("arg_type") == "enum" else a.value.literal.string for a in said]
        part = words[0].lower() if words else ""
        if part not in PARTS:
            raise Unmapped(f"{name} of {part!r} is not known")
        found = bind(part, (self.read(value.value),))
        if words[1:] == ["ZERO"] and part in _COUNTED:
            return bind("subtract", (found, _count(1)))
        if words[1:] not in ([], ["ONE"]):
            raise Unmapped(f"{name} of {part!r} with {', '.join(words[1:])} is not known")
        return found

    def _between(self, name: str, call: Rex.ScalarFunction) -> Expression:
        args = self._arguments(name, call)
        if len(args) != 3:
            raise Unmapped(f"{name} with {len(args)} arguments is not known")
        return bind("and", (bind("ge", args[:2]), bind("le", (args[0], args[2]))))


_READERS: dict[str, Callable[[ExpressionReader, object], Expression]] = {
    "literal": lambda self, rex: read_literal(rex),
    "selection": ExpressionReader._column,
    "cast": ExpressionReader._cast,
    "if_then": ExpressionReader._if_then,
    "singular_or_list": ExpressionReader._in_list,
    "subquery": ExpressionReader._subqueries,
    "window_function": ExpressionReader._windows,
    "scalar_function": ExpressionReader._call,
}
#: names with special arguments, before all others
SPECIAL: dict[str, Callable[[ExpressionReader, str, Rex.ScalarFunction], Expression]] = {
    "and": ExpressionReader._logic,
    "or": ExpressionReader._logic,
    "add": ExpressionReader._plus_minus,
    "subtract": ExpressionReader._plus_minus,
    "multiply": ExpressionReader._multiply,
    "divide": ExpressionReader._divide,
    "like": ExpressionReader._like,
    "like_with_backslash": ExpressionReader._like_with_backslash,
    "concat_without_nulls": ExpressionReader._concat,
    "substring": ExpressionReader._substring,
    "substr": ExpressionReader._substring,
    "extract": ExpressionReader._extract,
    "date_part": ExpressionReader._extract,
    "between": ExpressionReader._between,
}
#: the column that numbers grouping sets; readers of aggregates give it this name
GROUPING_ID = "grouping id"


def _count(value: int) -> Literal:
    return Literal(int64.with_nullable(False), value)


def _is_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _as(expression: Expression, type: DataType) -> Expression:
    """The expression cast to `type`; an untyped NULL takes any type."""
    return Literal(type.with_nullable(True), None) if _is_null(expression) else cast_to(expression, type)


def _declared(type: Type) -> DataType:
    """Return a declared result type; integers of any variation (unsigned ones) are computed as int64."""
    return int64 if type.WhichOneof("kind") in ("i8", "i16", "i32", "i64") else read_type(type)


def _agree(ours: DataType, theirs: DataType) -> bool:
    """Return whether equal values have equal digits in both: widths may differ, the scale of decimals may not."""
    if ours.kind == "decimal":
        return theirs.kind == "decimal" and theirs.scale == ours.scale
    return ours.kind == theirs.kind or (ours.is_integer and theirs.is_integer)


def _days(rex: Rex) -> int | None:
    """The whole days of an interval literal, None if it is something else."""
    if rex.WhichOneof("rex_type") != "literal":
        return None
    kind = rex.literal.WhichOneof("literal_type") or ""
    if not kind.startswith("interval"):
        return None
    if kind == "interval_year_to_month":
        raise Unmapped("an interval of months is not known")
    literal = rex.literal
    if kind == "interval_compound":
        months = literal.interval_compound.interval_year_to_month
        if months.years or months.months:
            raise Unmapped("an interval of months is not known")
        span = literal.interval_compound.interval_day_to_second
    else:
        span = literal.interval_day_to_second
    if span.subseconds or span.seconds % SECONDS_A_DAY:
        raise Unmapped("an interval of parts of a day is not known")
    return int(span.days + span.seconds // SECONDS_A_DAY)
