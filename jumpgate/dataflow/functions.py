"""Every scalar function: name, signature, NULL rule, and a plain Python body that is the oracle for C++, P4 and RTL.

Types are exact: `Function.operands` says to which types the arguments must be cast before the call (the builder inserts
the casts), `Function.result` what the call then has. `bind` does both, `check` verifies a call that came from outside.
Unless its declaration says otherwise a function is *strict*: NULL if any argument is NULL, its body sees values only.
A function that can fail under some dialect (`fallible`) is always nullable, so that types do not depend on dialects.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from jumpgate.dataflow import bodies
from jumpgate.dataflow.bodies import Site
from jumpgate.dataflow.casts import TypeMismatch, as_decimal, cast_type, cast_value, common_type
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Call, Cast, Expression, Literal, Value
from jumpgate.dataflow.types import DataType, bool_, date, decimal, float64, int32, int64, string
from jumpgate.errors import ComputeError

Types = tuple[DataType, ...]


@dataclass(frozen=True)
class Function:
    """A declaration. `arity` is (least, most); most None means any number. `literals`: positions that must be literals.

    `body(site, *values)`: values are None or of the operand's type (expressions.Value); `site` holds operand types,
    result type and dialect. Bodies raise Overflow, DivisionByZero or ComputeError; `apply` turns the first two to NULL
    where the dialect says so. `internal`: why it is for plans only, and no request may name it.
    """

    name: str
    doc: str
    arity: tuple[int, int | None]
    operands: Callable[[Types], Types]
    result: Callable[[Types, tuple[Value, ...]], DataType]
    body: Callable[..., Value]
    strict: bool = True
    fallible: bool = False
    literals: tuple[int, ...] = ()
    internal: str = ""

    def type_of(self, args: tuple[Expression, ...]) -> DataType:
        """The result type for arguments that already have the operand types; raises TypeMismatch."""
        values = tuple(a.value if isinstance(a, Literal) else None for a in args)
        for i in self.literals:
            if i < len(args) and values[i] is None:
                raise TypeMismatch(f"{self.name}: argument {i + 1} must be a literal")
        if self.literals:
            _LITERAL_RULES[self.name](*(values[i] for i in self.literals if i < len(args)))
        type = self.result(tuple(a.type for a in args), values)
        if not self.strict:
            return type
        return type.with_nullable(self.fallible or any(a.type.nullable for a in args))


def bind(name: str, args: tuple[Expression, ...]) -> Call:
    """A well-typed call: implicit casts inserted, result type computed. Raises TypeMismatch with the reason."""
    function = find(name)
    _check_shape(function, args)
    wanted = function.operands(tuple(a.type for a in args))
    cast = tuple(cast_to(a, t) for a, t in zip(args, wanted, strict=True))
    return Call(function.type_of(cast), name, cast)


def check(call: Call) -> None:
    """Raises TypeMismatch unless `call` is what `bind` would make of its arguments."""
    function = find(call.function)
    _check_shape(function, call.args)
    types = tuple(a.type for a in call.args)
    for i, (have, want) in enumerate(zip(types, function.operands(types), strict=True)):
        if not have.same(want):
            raise TypeMismatch(f"{call.function}: argument {i + 1} is {have}, must be cast to {want}")
    if call.type != function.type_of(call.args):
        raise TypeMismatch(f"{call.function}: declared as {call.type}, its type is {function.type_of(call.args)}")


def find(name: str) -> Function:
    """The declaration of `name`; raises TypeMismatch with a suggestion."""
    if name not in FUNCTIONS:
        close = difflib.get_close_matches(name, FUNCTIONS, 1)
        raise TypeMismatch(f"unknown function {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    return FUNCTIONS[name]


def cast_to(expression: Expression, target: DataType) -> Expression:
    """The expression as `target` (nullability aside): unchanged where it already is, literals converted now."""
    if expression.type.same(target):
        return expression
    if isinstance(expression, Literal):
        with contextlib.suppress(ComputeError):
            value = cast_value(expression.value, expression.type, target)
            return Literal(target.with_nullable(value is None), value)
    return Cast(cast_type(expression.type, target, "error"), expression)


def _check_shape(function: Function, args: tuple[Expression, ...]) -> None:
    least, most = function.arity
    if not (least <= len(args) and (most is None or len(args) <= most)):
        wanted = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
        raise TypeMismatch(f"{function.name} takes {wanted} arguments, not {len(args)}")


# ---- operand rules: argument types → the types they must be cast to -------------------------------------------------


def _require(ok: bool, types: Types, what: str) -> None:
    if not ok:
        raise TypeMismatch(f"takes {what}, not {', '.join(t.name for t in types)}")


def _exactly(*wanted: DataType) -> Callable[[Types], Types]:
    def rule(types: Types) -> Types:
        for have, want in zip(types, wanted, strict=False):
            implicit = want.is_integer and have.is_integer or (have.kind, want.kind) == ("date", "timestamp")
            _require(have.same(want) or implicit, types, ", ".join(t.kind for t in wanted))
        return wanted[: len(types)]

    return rule


def _all_of(wanted: DataType) -> Callable[[Types], Types]:
    def rule(types: Types) -> Types:
        _require(all(t.same(wanted) for t in types), types, f"only {wanted.kind} arguments")
        return types

    return rule


def _any(types: Types) -> Types:
    return types


def _common(types: Types) -> Types:
    return (common_type(types),) * len(types)


def _numeric(types: Types) -> Types:
    _require(all(t.is_numeric for t in types), types, "numbers")
    return types


def _common_numeric(types: Types) -> Types:
    return _common(_numeric(types))


def _product(types: Types) -> Types:
    """Decimals keep their scales (the product has the sum of them); an integer beside a decimal becomes one."""
    _numeric(types)
    if "decimal" in {t.kind for t in types} and not any(t.is_float for t in types):
        return tuple(as_decimal(t) for t in types)
    return _common(types)


def _quotient(types: Types) -> Types:
    common = _common_numeric(types)
    return common if common[0].is_float else (float64,) * len(types)


def _integers(types: Types) -> Types:
    _require(all(t.is_integer for t in types), types, "integers")
    return _common(types)


def _to_float64(types: Types) -> Types:
    return (float64,) * len(_numeric(types))


def _round_operands(types: Types) -> Types:
    _require(types[0].is_numeric and all(t.is_integer for t in types[1:]), types, "a number and a count of digits")
    return (types[0], *(int32 for _ in types[1:]))


def _temporal(*kinds: str) -> Callable[[Types], Types]:
    def rule(types: Types) -> Types:
        _require(types[0].kind in kinds, types, " or ".join(kinds))
        return types

    return rule


# ---- result rules: operand types and literal values → the type (nullability of strict functions is added later) ------


def _is(type: DataType) -> Callable[[Types, tuple[Value, ...]], DataType]:
    return lambda types, values: type


def _first(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[0]


def _sum_type(types: Types, values: tuple[Value, ...]) -> DataType:
    t = types[0]
    return decimal(min(38, t.precision + 1), t.scale) if t.kind == "decimal" else t


def _product_type(types: Types, values: tuple[Value, ...]) -> DataType:
    a, b = types
    if a.kind != "decimal":
        return a
    if a.precision + b.precision > 38:
        digits = f"needs {a.precision + b.precision} digits, a decimal has 38"
        raise TypeMismatch(f"the product of {a.name} and {b.name} {digits}; cast one of them to fewer, or to float64")
    return decimal(a.precision + b.precision, a.scale + b.scale)


def _round_type(types: Types, values: tuple[Value, ...]) -> DataType:
    t = types[0]
    digits = values[1] if len(values) > 1 else 0
    assert isinstance(digits, int)
    if t.kind != "decimal" or digits >= t.scale:
        return t
    return decimal(t.precision if digits >= 0 else min(38, t.precision + 1), max(digits, 0))


def _whole_type(types: Types, values: tuple[Value, ...]) -> DataType:
    t = types[0]
    return decimal(t.precision, 0) if t.kind == "decimal" else t


def _never_null(types: Types, values: tuple[Value, ...]) -> DataType:
    return bool_.with_nullable(False)


def _three_valued(types: Types, values: tuple[Value, ...]) -> DataType:
    return bool_.with_nullable(any(t.nullable for t in types))


def _coalesced(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[0].with_nullable(all(t.nullable for t in types))


def _nullable_first(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[0].with_nullable(True)


# ---- literal rules ---------------------------------------------------------------------------------------------------


def _like_literals(pattern: Value, escape: Value = None) -> None:
    if escape is not None and len(str(escape)) != 1:
        raise TypeMismatch("like: the escape is a single character")
    try:
        bodies.like_tokens(str(pattern), None if escape is None else str(escape))
    except ValueError as e:
        raise TypeMismatch(str(e)) from None


def _substring_literals(start: Value, length: Value = 0) -> None:
    if int(start) < 1 or int(length) < 0:  # type: ignore[arg-type]
        raise TypeMismatch("substring: start must be at least 1 and length at least 0 (engines disagree about others)")


def _round_literals(*digits: Value) -> None:
    if digits and not -38 <= int(digits[-1]) <= 38:  # type: ignore[arg-type]
        raise TypeMismatch("round: digits are from -38 to 38")


_LITERAL_RULES: dict[str, Callable[..., None]] = {
    "like": _like_literals,
    "substring": _substring_literals,
    "round": _round_literals,
}

_B, _S = bool_, string
_DAY, _CLOCK = _temporal("date", "timestamp"), _temporal("timestamp")


def _declare(
    name: str,
    doc: str,
    arity: tuple[int, int | None],
    operands: Callable[[Types], Types],
    result: Callable[[Types, tuple[Value, ...]], DataType],
    body: Callable[..., Value],
    **rest: object,
) -> Function:
    return Function(name, doc, arity, operands, result, body, **rest)  # type: ignore[arg-type]


_TABLE = (
    # comparisons: operands are cast to their common type. Strings and binary compare bytewise (UTF-8), false < true,
    # NaN by dialect.
    _declare("eq", "a = b", (2, 2), _common, _is(_B), bodies.eq),
    _declare("ne", "a <> b", (2, 2), _common, _is(_B), bodies.ne),
    _declare("lt", "a < b", (2, 2), _common, _is(_B), bodies.lt),
    _declare("le", "a <= b", (2, 2), _common, _is(_B), bodies.le),
    _declare("gt", "a > b", (2, 2), _common, _is(_B), bodies.gt),
    _declare("ge", "a >= b", (2, 2), _common, _is(_B), bodies.ge),
    _declare(
        "is_distinct",
        "a <> b where NULL is a value of its own",
        (2, 2),
        _common,
        _never_null,
        bodies.is_distinct,
        strict=False,
    ),
    _declare(
        "is_not_distinct",
        "a = b where NULL equals NULL",
        (2, 2),
        _common,
        _never_null,
        bodies.is_not_distinct,
        strict=False,
    ),
    _declare("is_null", "whether the argument is NULL", (1, 1), _any, _never_null, bodies.is_null, strict=False),
    _declare(
        "is_not_null", "whether the argument has a value", (1, 1), _any, _never_null, bodies.is_not_null, strict=False
    ),
    # logic, three-valued
    _declare(
        "and",
        "FALSE if any is FALSE, else NULL if any is NULL, else TRUE",
        (2, None),
        _all_of(_B),
        _three_valued,
        bodies.and_,
        strict=False,
    ),
    _declare(
        "or",
        "TRUE if any is TRUE, else NULL if any is NULL, else FALSE",
        (2, None),
        _all_of(_B),
        _three_valued,
        bodies.or_,
        strict=False,
    ),
    _declare("not", "negation; NULL stays NULL", (1, 1), _all_of(_B), _is(_B), bodies.not_),
    # arithmetic: integers and decimals by the dialect's on_overflow, floats by IEEE 754
    _declare(
        "add",
        "a + b; decimals: equal scales, precision + 1 (at most 38)",
        (2, 2),
        _common_numeric,
        _sum_type,
        bodies.add,
        fallible=True,
    ),
    _declare("subtract", "a - b; types as add", (2, 2), _common_numeric, _sum_type, bodies.subtract, fallible=True),
    _declare(
        "multiply",
        "a * b; decimals: decimal(p1 + p2, s1 + s2), p at most 38",
        (2, 2),
        _product,
        _product_type,
        bodies.multiply,
        fallible=True,
    ),
    _declare(
        "divide",
        "a / b as a float: integers and decimals are cast to float64 first",
        (2, 2),
        _quotient,
        _first,
        bodies.divide,
        fallible=True,
    ),
    _declare(
        "int_divide",
        "integer a / b, truncated towards zero",
        (2, 2),
        _integers,
        _first,
        bodies.int_divide,
        fallible=True,
    ),
    _declare(
        "modulo",
        "the rest of a / b with the sign of a (floats: C's fmod)",
        (2, 2),
        _common_numeric,
        _first,
        bodies.modulo,
        fallible=True,
    ),
    _declare("negate", "-a", (1, 1), _numeric, _first, bodies.negate, fallible=True),
    _declare("abs", "|a|", (1, 1), _numeric, _first, bodies.abs_, fallible=True),
    _declare(
        "round",
        "to `digits` (0) decimal places, halves away from zero; decimals get that scale; floats: "
        "C's round(a * 10^digits) / 10^digits, for negative digits round(a / 10^-digits) * 10^-digits, and a "
        "itself where that is not finite",
        (1, 2),
        _round_operands,
        _round_type,
        bodies.round_,
        fallible=True,
        literals=(1,),
    ),
    _declare(
        "floor",
        "the largest integer not above a; decimal(p, 0) for decimals",
        (1, 1),
        _numeric,
        _whole_type,
        bodies.floor,
    ),
    _declare(
        "ceil",
        "the smallest integer not below a; decimal(p, 0) for decimals",
        (1, 1),
        _numeric,
        _whole_type,
        bodies.ceil,
    ),
    _declare(
        "sqrt",
        "square root in float64; of a negative number: an error (`compute`)",
        (1, 1),
        _to_float64,
        _is(float64),
        bodies.sqrt,
    ),
    # strings: UTF-8; positions and lengths count code points
    _declare(
        "like",
        "SQL LIKE: % any run, _ one code point; optional escape, only before %, _ or itself",
        (2, 3),
        _all_of(_S),
        _is(_B),
        bodies.like,
        literals=(1, 2),
    ),
    _declare(
        "substring",
        "from code point `start` (1 is the first), at most `length` (all) code points",
        (2, 3),
        _exactly(_S, int64, int64),
        _is(_S),
        bodies.substring,
        literals=(1, 2),
    ),
    _declare("concat", "all arguments joined; NULL if any is NULL", (1, None), _all_of(_S), _is(_S), bodies.concat),
    _declare(
        "upper",
        "ASCII letters in upper case; text with a byte above 127 is an error (`compute`)",
        (1, 1),
        _all_of(_S),
        _is(_S),
        bodies.upper,
    ),
    _declare(
        "lower",
        "ASCII letters in lower case; text with a byte above 127 is an error (`compute`)",
        (1, 1),
        _all_of(_S),
        _is(_S),
        bodies.lower,
    ),
    _declare("trim", "without spaces (U+0020) at both ends", (1, 1), _all_of(_S), _is(_S), bodies.trim),
    _declare("ltrim", "without leading spaces (U+0020)", (1, 1), _all_of(_S), _is(_S), bodies.ltrim),
    _declare("rtrim", "without trailing spaces (U+0020)", (1, 1), _all_of(_S), _is(_S), bodies.rtrim),
    _declare("char_length", "number of code points", (1, 1), _all_of(_S), _is(int64), bodies.char_length),
    _declare("starts_with", "whether a begins with b", (2, 2), _all_of(_S), _is(_B), bodies.starts_with),
    _declare("ends_with", "whether a ends with b", (2, 2), _all_of(_S), _is(_B), bodies.ends_with),
    _declare("contains", "whether b occurs in a", (2, 2), _all_of(_S), _is(_B), bodies.contains),
    # NULLs
    _declare(
        "coalesce", "the first argument that is not NULL", (1, None), _common, _coalesced, bodies.coalesce, strict=False
    ),
    _declare("null_if", "NULL if a = b, else a", (2, 2), _common, _nullable_first, bodies.null_if, strict=False),
    _declare(
        "fingerprint",
        "64 bits of all arguments, NULLs too: equal where they are, and seldom otherwise (see fingerprints.py)",
        (1, None),
        _any,
        _is(int64.with_nullable(False)),
        bodies.fingerprint,
        strict=False,
        internal="accelerators send it in the place of keys; no other engine has it",
    ),
    # dates (proleptic Gregorian, years 1 to 9999) and timestamps
    _declare("year", "calendar year", (1, 1), _DAY, _is(int64), bodies.year),
    _declare("quarter", "1 to 4", (1, 1), _DAY, _is(int64), bodies.quarter),
    _declare("month", "1 to 12", (1, 1), _DAY, _is(int64), bodies.month),
    _declare("day", "day of the month, 1 to 31", (1, 1), _DAY, _is(int64), bodies.day),
    _declare("day_of_week", "0 (Sunday) to 6 (Saturday)", (1, 1), _DAY, _is(int64), bodies.day_of_week),
    _declare("hour", "0 to 23", (1, 1), _CLOCK, _is(int64), bodies.hour),
    _declare("minute", "0 to 59", (1, 1), _CLOCK, _is(int64), bodies.minute),
    _declare("second", "whole seconds, 0 to 59", (1, 1), _CLOCK, _is(int64), bodies.second),
    _declare(
        "date_add_days",
        "the date n days later (earlier if negative); outside years 1 to 9999: overflow",
        (2, 2),
        _exactly(date, int32),
        _is(date),
        bodies.date_add_days,
        fallible=True,
    ),
)

#: name → declaration
FUNCTIONS: MappingProxyType[str, Function] = MappingProxyType({f.name: f for f in _TABLE})
assert len(FUNCTIONS) == len(_TABLE), "a function is declared twice"


def apply(name: str, types: Types, result: DataType, dialect: Dialect, values: tuple[Value, ...]) -> Value:
    """The oracle: the function's value for operands of `types`, with its NULL rule and the dialect applied."""
    function = FUNCTIONS[name]
    if function.strict and any(v is None for v in values):
        return None
    return bodies.guarded(function.body, Site(types, result, dialect), values)
