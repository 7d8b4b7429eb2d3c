"""Functions of numbers beyond arithmetic: powers, logarithms, angles, bits, and the least and greatest of several.

Those of floats are C's of the same name in float64: NaN outside their domain, and no errors unless they say so.
"""

from __future__ import annotations

import decimal as pydecimal
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from jumpgate.dataflow.casts import INTEGER_BITS, TypeMismatch, divide_half_away, from_unscaled, scaled
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.function import Function, Types
from jumpgate.dataflow.reference import Site, compare
from jumpgate.dataflow.signatures import (
    always,
    coalesced,
    common,
    first,
    floats,
    integers,
    numeric,
    require,
    to_float64,
)
from jumpgate.dataflow.types import DataType, bool_, decimal, float64, int32, int64
from jumpgate.errors import ComputeError, DivisionByZero, Overflow

DIGITS_MAX = 38
#: of a long double's significand, as x86-64 has it
EXTENDED_BITS = 64


def _of_float(function: Callable[[float], float]) -> Callable[[Site, float], float]:
    """Wrap C's function, where Python raises errors at the ends of its domain."""

    def body(site: Site, a: float) -> float:
        try:
            return function(a)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.copysign(math.inf, a)

    return body


def _logarithm(function: Callable[[float], float]) -> Callable[[Site, float], float]:
    return _of_float(lambda a: -math.inf if a == 0 else function(a))


def _exp(a: float) -> float:
    return math.exp(a) if a < 710 or not math.isfinite(a) else math.inf


def _log(site: Site, base: float, a: float) -> float:
    """ln a / ln base, as IEEE 754 divides."""
    over, under = (_logarithm(math.log)(site, v) for v in (a, base))
    if under == 0:
        return math.nan if over == 0 or math.isnan(over) else math.copysign(math.inf, over) * math.copysign(1.0, under)
    return over / under


def _power(site: Site, a: float, b: float) -> float:
    if a == 0 and b < 0:
        raise ComputeError(f"power: zero to the negative power {b}")
    try:
        return math.pow(a, b)
    except ValueError:
        return math.nan
    except OverflowError:
        return -math.inf if a < 0 and math.fmod(b, 2) else math.inf


def _sign(site: Site, a: float) -> float:
    return a if math.isnan(a) else float(a > 0) - float(a < 0)


def _truncate(site: Site, a: Any, digits: int = 0) -> Any:
    if isinstance(a, float):
        return _truncated_float(a, digits)
    number, scale = site.scaled(a), site.types[0].scale
    if digits >= scale:
        return a
    by = 10 ** (scale - digits)
    return from_unscaled((abs(number) // by) * by * (-1 if number < 0 else 1), scale)


def _truncated_float(a: float, digits: int) -> float:
    """C's trunc(a * 10^digits) / 10^digits."""
    moved = a * 10.0**digits
    if not math.isfinite(moved):
        return moved
    return math.copysign(math.trunc(moved), moved) / 10.0**digits


def _truncated(types: Types) -> Types:
    numeric(types)
    value = types[0] if types[0].kind == "decimal" else float64
    require(all(t.is_integer for t in types[1:]), types, "a number and a count of digits")
    return (value, *(int32 for _ in types[1:]))


def _divide_decimal(site: Site, a: Any, b: Any, precision: int, scale: int) -> Value:
    if b == 0:
        raise DivisionByZero("division by zero")
    number, divisor = site.scaled(a), site.scaled(b, 1)
    power = scale - site.types[0].scale + site.types[1].scale
    number, divisor = number * 10 ** max(power, 0), divisor * 10 ** max(-power, 0)
    if abs(divisor) >= 1 << 127:
        raise Overflow(f"dividing by {b}, with {-power} digits more, takes more than 128 bits")
    return site.number(divide_half_away(-number if divisor < 0 else number, abs(divisor)))


def _mean(site: Site, a: Any, b: int) -> Value:
    if b == 0:
        return math.copysign(math.inf, a) if a else math.nan
    total = _rounded(Fraction(site.scaled(a)), EXTENDED_BITS)
    divisor = _rounded(Fraction(b * 10 ** site.types[0].scale), EXTENDED_BITS)
    return float(_rounded(total / divisor, EXTENDED_BITS))


def _rounded(value: Fraction, bits: int) -> Fraction:
    """To so many binary digits, halves to even."""
    if value == 0:
        return value
    power = abs(value.numerator).bit_length() - value.denominator.bit_length() - bits
    while abs(value) >= Fraction(2) ** (power + bits):
        power += 1
    return round(value / Fraction(2) ** power) * Fraction(2) ** power


def _mean_operands(types: Types) -> Types:
    require(types[0].kind == "decimal" and types[1].is_integer, types, "a decimal and a count")
    return (types[0], int64)


def _float_to_decimal(site: Site, a: float, precision: int, scale: int) -> Value:
    if not math.isfinite(a):
        raise Overflow(f"{a} is out of the range of {site.type.name}")
    number, own = scaled(pydecimal.Decimal(repr(a)))
    excess = own - scale
    return site.number(divide_half_away(number, 10**excess) if excess > 0 else number * 10**-excess)


def _decimal_operands(types: Types) -> Types:
    require(all(t.kind == "decimal" for t in types[:-2]), types, "decimals, a precision and a scale")
    return (*types[:-2], int32, int32)


def _float_operands(types: Types) -> Types:
    require(types[0].kind == "float64", types, "a float64, a precision and a scale")
    return (types[0], int32, int32)


def _declared(types: Types, values: tuple[Value, ...]) -> DataType:
    """Return the decimal type that the last two arguments specify."""
    precision, scale = values[-2:]
    assert isinstance(precision, int) and isinstance(scale, int)
    return decimal(precision, scale)


def _decimal_literals(precision: Value, scale: Value) -> None:
    assert isinstance(precision, int) and isinstance(scale, int)
    if not (1 <= precision <= DIGITS_MAX and 0 <= scale <= precision):
        raise TypeMismatch(f"there is no decimal({precision}, {scale})")


def _truncate_literals(*digits: Value) -> None:
    if digits and not -DIGITS_MAX <= int(digits[-1]) <= DIGITS_MAX:  # type: ignore[arg-type]
        raise TypeMismatch(f"truncate: digits are from -{DIGITS_MAX} to {DIGITS_MAX}")


def _bits(on: Callable[[int, int], int]) -> Callable[[Site, int, int], int]:
    return lambda site, a, b: on(a, b)


def _shift_left(site: Site, a: int, by: int) -> int:
    bits = INTEGER_BITS[site.type.kind]
    moved = (a << by % bits) & ((1 << bits) - 1)
    return moved - (1 << bits) if moved >> bits - 1 else moved


def _shift_right(site: Site, a: int, by: int) -> int:
    return a >> by % INTEGER_BITS[site.type.kind]


def _order(site: Site, a: Any, b: Any) -> int:
    """Compare values; NaN is the largest whatever the dialect, and -0 below 0."""
    if isinstance(a, float):
        one, other = ((math.isnan(v), 0.0 if math.isnan(v) else v, math.copysign(1.0, v) * (v == 0)) for v in (a, b))
        return (one > other) - (one < other)
    return compare(site, a, b) or 0


def extreme(sign: int) -> Callable[..., Value]:
    """Return the body of a function that takes the least (-1) or greatest (1) argument that is not NULL."""

    def body(site: Site, *args: Value) -> Value:
        found = None
        for a in args:
            if a is not None and (found is None or _order(site, a, found) == sign):
                found = a
        return found

    return body


def _unary(name: str, doc: str, body: Callable[..., Value]) -> Function:
    """Declare a function of one float; the runtime and Substrait know it by its name."""
    return Function(name, doc, (1, 1), to_float64, always(float64), body, cpp=f"jg_{name}({{0}})",
                    substrait=(name,))  # fmt: skip


def _bitwise(name: str, doc: str, body: Callable[..., Value], cpp: str, substrait: tuple[str, ...]) -> Function:
    return Function(name, doc, (2, 2), integers, first, body, cpp=cpp, substrait=substrait)


#: C++: a shift's count modulo the value's bits
_COUNT = "(({1}) & (sizeof({type}) * 8 - 1))"

MATH = (
    _unary("exp", "e to the power a", _of_float(_exp)),
    _unary("ln", "natural logarithm; -infinity of 0, NaN of a negative number", _logarithm(math.log)),
    _unary("log2", "logarithm to the base 2; -infinity of 0, NaN of a negative number", _logarithm(math.log2)),
    _unary("log10", "logarithm to the base 10; -infinity of 0, NaN of a negative number", _logarithm(math.log10)),
    Function("log", "logarithm of b to the base a: ln(b) / ln(a)", (2, 2), to_float64, always(float64), _log,
             cpp="jg_log({0}, {1})"),
    Function("power", "a to the power b in float64; of 0 to a negative power: an error (`compute`)", (2, 2), to_float64,
             always(float64), _power, fails=True, cpp="jg_power({0}, {1}, &{out})",
             substrait=("power",)),
    _unary("sin", "sine of an angle in radians", _of_float(math.sin)),
    _unary("cos", "cosine of an angle in radians", _of_float(math.cos)),
    _unary("tan", "tangent of an angle in radians", _of_float(math.tan)),
    _unary("asin", "arc sine, in radians", _of_float(math.asin)),
    _unary("acos", "arc cosine, in radians", _of_float(math.acos)),
    _unary("atan", "arc tangent, in radians", _of_float(math.atan)),
    Function("atan2", "angle of the point (b, a), in radians", (2, 2), to_float64, always(float64),
             lambda site, a, b: math.atan2(a, b), cpp="jg_atan2({0}, {1})", substrait=("atan2",)),
    _unary("sinh", "hyperbolic sine", _of_float(math.sinh)),
    _unary("cosh", "hyperbolic cosine", _of_float(lambda a: math.cosh(a) if abs(a) < 711 else abs(a) * math.inf)),
    _unary("tanh", "hyperbolic tangent", _of_float(math.tanh)),
    _unary("degrees", "radians as degrees: a * (180 / pi)", _of_float(math.degrees)),
    _unary("radians", "degrees as radians: a * (pi / 180)", _of_float(math.radians)),
    _unary("sign", "-1, 0 or 1; NaN of NaN", _sign),
    Function("truncate", "to `digits` (0) decimal places, towards zero; decimals keep their type, everything else is a "
             "float64: C's trunc(a * 10^digits) / 10^digits", (1, 2), _truncated, first, _truncate, literals=(1,),
             literal_rule=_truncate_literals, shape=(1,)),
    Function("divide_decimal", "a / b of decimals as decimal(precision, scale), rounded once, halves away from zero",
             (4, 4), _decimal_operands, _declared, _divide_decimal, fallible=True, literals=(2, 3),
             literal_rule=_decimal_literals, shape=(2, 3)),
    Function("mean", "a / b of a decimal's sum and a count, divided in C's long double and rounded to a float64 "
             "(DuckDB's avg)", (2, 2), _mean_operands, always(float64), _mean),
    Function("float_to_decimal", "the shortest digits that mean the float a, as decimal(precision, scale), rounded "
             "halves away from zero", (3, 3), _float_operands, _declared, _float_to_decimal, fallible=True,
             safe=lambda call: False, literals=(1, 2), literal_rule=_decimal_literals, shape=(1, 2)),
    Function("is_nan", "whether a float is NaN", (1, 1), floats, always(bool_), lambda site, a: math.isnan(a),
             cpp="(uint8_t)(({0}) != ({0}))", substrait=("is_nan",)),
    _bitwise("bit_and", "bits that both have", _bits(operator.and_), "({type})(({0}) & ({1}))",
             ("bitwise_and",)),
    _bitwise("bit_or", "bits that either has", _bits(operator.or_), "({type})(({0}) | ({1}))",
             ("bitwise_or",)),
    _bitwise("bit_xor", "bits that one of both has", _bits(operator.xor), "({type})(({0}) ^ ({1}))",
             ("bitwise_xor",)),
    _bitwise("shift_left", "a's bits moved up by b modulo their number; what leaves is lost", _shift_left,
             f"({{type}})(({{unsigned}})({{0}}) << {_COUNT})",
             ("shift_left", "bitwise_shift_left")),
    _bitwise("shift_right", "a's bits moved down by b modulo their number; the sign stays", _shift_right,
             f"({{type}})(({{0}}) >> {_COUNT})", ("shift_right", "bitwise_shift_right")),
    Function("least", "the least argument that is not NULL; NaN is the largest number", (1, None), common, coalesced,
             extreme(-1), strict=False, substrait=("least_skip_null",)),
    Function("greatest", "the greatest argument that is not NULL; NaN is the largest number", (1, None), common,
             coalesced, extreme(1), strict=False, substrait=("greatest_skip_null",)),
)  # fmt: skip
