"""Every scalar function: name, signature, NULL rule, and a plain Python body that is the oracle for C++, P4 and RTL.

Types are exact: `Function.operands` says to which types the arguments must be cast before the call (the builder inserts
the casts), `Function.result` what the call then has. `bind` does both, `check` verifies a call that came from outside.
Unless its declaration says otherwise a function is *strict*: NULL if any argument is NULL, its body sees values only.
A function that can fail under some dialect (`fallible`) is always nullable, so that types do not depend on dialects.
"""

from __future__ import annotations

import contextlib
import difflib
from types import MappingProxyType

from jumpgate.dataflow import bodies
from jumpgate.dataflow.bodies import Site
from jumpgate.dataflow.casts import TypeMismatch, cast_type, cast_value
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Call, Cast, Expression, Literal, Value
from jumpgate.dataflow.functions_math import MATH
from jumpgate.dataflow.functions_text import TEXT
from jumpgate.dataflow.functions_time import TIME
from jumpgate.dataflow.signatures import (
    Function,
    Types,
    all_of,
    always,
    anything,
    coalesced,
    common,
    common_numeric,
    exactly,
    first,
    integers,
    never_null,
    nullable_first,
    numeric,
    product,
    product_type,
    quotient,
    round_operands,
    round_type,
    sum_type,
    temporal,
    three_valued,
    to_float64,
    whole_type,
)
from jumpgate.dataflow.types import DataType, bool_, date, float64, int32, int64, string
from jumpgate.errors import ComputeError


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


# ---- literal rules ---------------------------------------------------------------------------------------------------


def _like_literals(pattern: Value, escape: Value = None) -> None:
    bodies.like_literals("like", pattern, escape)


def _round_literals(*digits: Value) -> None:
    if digits and not -38 <= int(digits[-1]) <= 38:  # type: ignore[arg-type]
        raise TypeMismatch("round: digits are from -38 to 38")


_B, _S = bool_, string
_DAY, _CLOCK = temporal("date", "timestamp"), temporal("timestamp", "time")


_TABLE = (
    # comparisons: operands are cast to their common type. Strings and binary compare bytewise (UTF-8), false < true,
    # NaN by dialect.
    Function("eq", "a = b", (2, 2), common, always(_B), bodies.eq),
    Function("ne", "a <> b", (2, 2), common, always(_B), bodies.ne),
    Function("lt", "a < b", (2, 2), common, always(_B), bodies.lt),
    Function("le", "a <= b", (2, 2), common, always(_B), bodies.le),
    Function("gt", "a > b", (2, 2), common, always(_B), bodies.gt),
    Function("ge", "a >= b", (2, 2), common, always(_B), bodies.ge),
    Function(
        "is_distinct",
        "a <> b where NULL is a value of its own",
        (2, 2),
        common,
        never_null,
        bodies.is_distinct,
        strict=False,
    ),
    Function(
        "is_not_distinct",
        "a = b where NULL equals NULL",
        (2, 2),
        common,
        never_null,
        bodies.is_not_distinct,
        strict=False,
    ),
    Function("is_null", "whether the argument is NULL", (1, 1), anything, never_null, bodies.is_null, strict=False),
    Function(
        "is_not_null",
        "whether the argument has a value",
        (1, 1),
        anything,
        never_null,
        bodies.is_not_null,
        strict=False,
    ),
    # logic, three-valued
    Function(
        "and",
        "FALSE if any is FALSE, else NULL if any is NULL, else TRUE",
        (2, None),
        all_of(_B),
        three_valued,
        bodies.and_,
        strict=False,
    ),
    Function(
        "or",
        "TRUE if any is TRUE, else NULL if any is NULL, else FALSE",
        (2, None),
        all_of(_B),
        three_valued,
        bodies.or_,
        strict=False,
    ),
    Function("not", "negation; NULL stays NULL", (1, 1), all_of(_B), always(_B), bodies.not_),
    # arithmetic: integers and decimals by the dialect's on_overflow, floats by IEEE 754
    Function(
        "add",
        "a + b; decimals: equal scales, precision + 1 (at most 38)",
        (2, 2),
        common_numeric,
        sum_type,
        bodies.add,
        fallible=True,
    ),
    Function("subtract", "a - b; types as add", (2, 2), common_numeric, sum_type, bodies.subtract, fallible=True),
    Function(
        "multiply",
        "a * b; decimals: decimal(p1 + p2, s1 + s2), p at most 38: beyond, overflow",
        (2, 2),
        product,
        product_type,
        bodies.multiply,
        fallible=True,
    ),
    Function(
        "divide",
        "a / b as a float: integers and decimals are cast to float64 first",
        (2, 2),
        quotient,
        first,
        bodies.divide,
        fallible=True,
    ),
    Function(
        "int_divide",
        "integer a / b, truncated towards zero",
        (2, 2),
        integers,
        first,
        bodies.int_divide,
        fallible=True,
    ),
    Function(
        "modulo",
        "the rest of a / b with the sign of a (floats: C's fmod)",
        (2, 2),
        common_numeric,
        first,
        bodies.modulo,
        fallible=True,
    ),
    Function("negate", "-a", (1, 1), numeric, first, bodies.negate, fallible=True),
    Function("abs", "|a|", (1, 1), numeric, first, bodies.abs_, fallible=True),
    Function(
        "round",
        "to `digits` (0) decimal places, halves away from zero; decimals get that scale; floats: "
        "C's round(a * 10^digits) / 10^digits, for negative digits round(a / 10^-digits) * 10^-digits, and a "
        "itself where that is not finite",
        (1, 2),
        round_operands,
        round_type,
        bodies.round_,
        fallible=True,
        literals=(1,),
        literal_rule=_round_literals,
        shape=(1,),
    ),
    Function(
        "floor",
        "the largest integer not above a; decimal(p, 0) for decimals",
        (1, 1),
        numeric,
        whole_type,
        bodies.floor,
    ),
    Function(
        "ceil",
        "the smallest integer not below a; decimal(p, 0) for decimals",
        (1, 1),
        numeric,
        whole_type,
        bodies.ceil,
    ),
    Function(
        "sqrt",
        "square root in float64; of a negative number: an error (`compute`)",
        (1, 1),
        to_float64,
        always(float64),
        bodies.sqrt,
        fails=True,
    ),
    # strings: UTF-8; positions and lengths count code points
    Function(
        "like",
        "SQL LIKE: % any run, _ one code point; optional escape, only before %, _ or itself",
        (2, 3),
        all_of(_S),
        always(_B),
        bodies.like,
        literals=(1, 2),
        literal_rule=_like_literals,
    ),
    Function(
        "substring",
        "the code points at places `start` (1 is the first) to start + length - 1 (the end), as far as there are any; "
        "of a negative length an error (`compute`)",
        (2, 3),
        exactly(_S, int64, int64),
        always(_S),
        bodies.substring,
        fails=True,
    ),
    Function("concat", "all arguments joined; NULL if any is NULL", (1, None), all_of(_S), always(_S), bodies.concat),
    Function(
        "upper",
        "all letters in upper case, as Unicode has it without regard to language (ß: SS)",
        (1, 1),
        all_of(_S),
        always(_S),
        bodies.upper,
    ),
    Function(
        "lower",
        "all letters in lower case, as Unicode has it without regard to language",
        (1, 1),
        all_of(_S),
        always(_S),
        bodies.lower,
    ),
    Function("trim", "without spaces (U+0020) at both ends", (1, 1), all_of(_S), always(_S), bodies.trim),
    Function("ltrim", "without leading spaces (U+0020)", (1, 1), all_of(_S), always(_S), bodies.ltrim),
    Function("rtrim", "without trailing spaces (U+0020)", (1, 1), all_of(_S), always(_S), bodies.rtrim),
    Function("char_length", "number of code points", (1, 1), all_of(_S), always(int64), bodies.char_length),
    Function("starts_with", "whether a begins with b", (2, 2), all_of(_S), always(_B), bodies.starts_with),
    Function("ends_with", "whether a ends with b", (2, 2), all_of(_S), always(_B), bodies.ends_with),
    Function("contains", "whether b occurs in a", (2, 2), all_of(_S), always(_B), bodies.contains),
    # NULLs
    Function(
        "coalesce", "the first argument that is not NULL", (1, None), common, coalesced, bodies.coalesce, strict=False
    ),
    Function("null_if", "NULL if a = b, else a", (2, 2), common, nullable_first, bodies.null_if, strict=False),
    Function(
        "fingerprint",
        "64 bits of all arguments, NULLs too: equal where they are, and seldom otherwise (see fingerprints.py)",
        (1, None),
        anything,
        always(int64.with_nullable(False)),
        bodies.fingerprint,
        strict=False,
        internal="accelerators send it in the place of keys; no other engine has it",
    ),
    # dates (proleptic Gregorian, years 1 to 9999) and timestamps
    Function("year", "calendar year", (1, 1), _DAY, always(int64), bodies.year),
    Function("quarter", "1 to 4", (1, 1), _DAY, always(int64), bodies.quarter),
    Function("month", "1 to 12", (1, 1), _DAY, always(int64), bodies.month),
    Function("day", "day of the month, 1 to 31", (1, 1), _DAY, always(int64), bodies.day),
    Function("day_of_week", "0 (Sunday) to 6 (Saturday)", (1, 1), _DAY, always(int64), bodies.day_of_week),
    Function("hour", "0 to 23", (1, 1), _CLOCK, always(int64), bodies.hour),
    Function("minute", "0 to 59", (1, 1), _CLOCK, always(int64), bodies.minute),
    Function("second", "whole seconds, 0 to 59", (1, 1), _CLOCK, always(int64), bodies.second),
    Function(
        "date_add_days",
        "the date n days later (earlier if negative); outside years 1 to 9999: overflow",
        (2, 2),
        exactly(date, int32),
        always(date),
        bodies.date_add_days,
        fallible=True,
    ),
)

#: name → declaration
FUNCTIONS: MappingProxyType[str, Function] = MappingProxyType({f.name: f for f in (*_TABLE, *MATH, *TEXT, *TIME)})
assert len(FUNCTIONS) == sum(map(len, (_TABLE, MATH, TEXT, TIME))), "a function is declared twice"


def apply(name: str, types: Types, result: DataType, dialect: Dialect, values: tuple[Value, ...]) -> Value:
    """The oracle: the function's value for operands of `types`, with its NULL rule and the dialect applied."""
    function = FUNCTIONS[name]
    if function.strict and any(v is None for v in values):
        return None
    return bodies.guarded(function.body, Site(types, result, dialect), values)
