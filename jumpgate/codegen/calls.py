"""Function calls → C++: by the text of their declaration (`Function.cpp`), or by a writer in this module.

A writer gets the arguments' values, the shape, and the condition that an argument is NULL. Those in LAZY write the
arguments themselves, only where the outcome is still open.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from jumpgate.codegen import calls_list
from jumpgate.codegen.cpp import COMPARISONS, Value, any_null, compare, constant, cpp_type, hash_of
from jumpgate.dataflow.expressions import Call, Literal
from jumpgate.dataflow.function import Function
from jumpgate.dataflow.functions import BUILT_IN, find
from jumpgate.dataflow.functions_core import DAY_US
from jumpgate.dataflow.functions_time import UNITS
from jumpgate.dataflow.types import DataType

if TYPE_CHECKING:
    from jumpgate.codegen.expressions import ExpressionWriter

Writer = Callable[["ExpressionWriter", Call, list[Value], str | None], Value]
Lazy = Callable[["ExpressionWriter", Call], Value]

_ARITHMETIC = {"add": ("+", "add"), "subtract": ("-", "sub"), "multiply": ("*", "mul")}
#: days since 1970 of the first and last date
_DAYS = (-719162, 2932896)


def write_call(w: ExpressionWriter, e: Call) -> Value:
    """The value of a call."""
    if e.function in LAZY:
        return LAZY[e.function](w, e)
    function = find(e.function)
    args = [w.write(a) for i, a in enumerate(e.args) if i not in function.shape]
    null = any_null(*args)
    if e.function in WRITERS:
        return WRITERS[e.function](w, e, args, null)
    if "{out}" in function.cpp:
        return _checked(w, e, null, lambda out: _text(function, e, args, out))
    return w.local(e.type, _text(function, e, args), null)


def days(value: str, day: int = DAY_US) -> str:
    """Return the day of a timestamp; `day`: its units per day."""
    return f"(int32_t)(({value}) / {day}ll - (({value}) % {day}ll < 0))"


def moved(value: str, source: DataType, target: DataType) -> str:
    """Convert between dates, times, timestamps, moments and durations where that cannot fail; empty for other
    conversions."""
    kinds = source.kind.replace("tz", ""), target.kind.replace("tz", "")
    nanos = kinds[0] == "timestamp_ns"
    day = DAY_US * (1000 if nanos else 1)
    match kinds:
        case "date", "timestamp":
            return f"(int64_t){value} * {DAY_US}ll"
        case (("timestamp" | "timestamp_ns"), "date"):
            return days(value, day)
        case (("timestamp" | "timestamp_ns"), "time"):
            return f"(({value}) % {day}ll + {day}ll) % {day}ll" + (" / 1000" if nanos else "")
        case "timestamp_ns", "timestamp":  # towards 1970
            return f"({value}) / 1000"
        case (
            ("timestamp", "timestamp")
            | ("timestamp_ns", "timestamp_ns")
            | ("duration", "int64")
            | ("int64", "duration")
        ):
            return value
    return ""


def least(type: DataType) -> str:
    """The least integer of a type."""
    return f"({cpp_type(type)})(-1ll << {type.width * 8 - 1})"


def _text(function: Function, e: Call, args: list[Value], out: str = "") -> str:
    names = {"out": out, "type": cpp_type(e.type), "unsigned": "u" + cpp_type(e.type)}
    if e.args:
        is_date = e.args[0].type.kind == "date"
        names["kind"] = "date" if is_date else "timestamp"
        if "{days}" in function.cpp:
            names["days"] = args[0].text if is_date else days(args[0].text)
    return function.cpp.format(*(a.text for a in args), **names)


def _checked(w: ExpressionWriter, e: Call, null: str | None, routine: Callable[[str], str]) -> Value:
    return w.checked(e, null, routine, _null_on_overflow(w) and find(e.function).fallible)


def _null_on_overflow(w: ExpressionWriter) -> bool:
    return w.dialect.on_overflow == "null"


# ---- logic and NULLs -------------------------------------------------------------------------------------------------


def _logic(w: ExpressionWriter, e: Call) -> Value:
    """Write AND and OR from left to right; a term is computed only while the outcome is open, so later failures do not
    count."""
    decisive = "false" if e.function == "and" else "true"
    v, n = w.name("e"), w.name("n") if e.type.nullable else None
    neutral = "true" if e.function == "and" else "false"
    w.lines.append(f"bool {v} = {neutral};" + (f" bool {n} = false;" if n else ""))
    depth = 0
    with w.scope():
        for term in e.args:
            w.lines.append("{")
            depth += 1
            a = w.write(term)
            known = f"!({a.null}) && " if a.null else ""
            negation = "!" if decisive == "false" else ""
            decided = f"{known}{negation}({a.text})"
            undecided = f"if ({a.null}) {n} = true; " if a.null and n else ""
            settle = f"{v} = {decisive};" + (f" {n} = false;" if n else "")
            w.lines.append(f"if ({decided}) {{ {settle} }} else {{ {undecided}")
    w.lines.append(" }" * (2 * depth))
    return Value(v, n)


def _coalesce(w: ExpressionWriter, e: Call) -> Value:
    v, n = w.name("e"), w.name("n")
    w.lines.append(f"{cpp_type(e.type)} {v}{{}}; bool {n} = true;")
    for a in e.args:
        w.lines.append(f"if ({n}) {{ {n} = false; {w.block(a, v, n)} }}")
    return Value(v, n if e.type.nullable else None)


def _nullness(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    sign = "" if e.function == "is_null" else "!"
    return w.local(e.type, f"{sign}({args[0].null or 'false'})", None)


def _null_if(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a, b = args
    same = w.compared("eq", a.text, b.text, e.args[0].type)
    both = f"!({b.null}) && " if b.null else ""
    equal_now = f"({both}{same})"
    return w.local(e.type, a.text, f"({a.null}) || {equal_now}" if a.null else equal_now)


def _fingerprint(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    hashes = [_hash(v, a.type) for v, a in zip(args, e.args, strict=True)]
    combined = functools.reduce(lambda a, b: f"jg_hash_combine({a}, {b})", hashes)
    return w.local(e.type, f"(int64_t){combined}", None)


def _seeded_hash(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    kind = e.args[0].type.kind
    routine = f"jg_{e.function}" + (f"_of_{kind}" if kind.startswith("int") else "")
    return w.local(e.type, f"{routine}({args[0].text}, {args[1].text})", null)


def _coupon(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    type = e.args[0].type
    is_whole = type.kind == "decimal" and type.scale == 0
    hashed = f"jg_hash_whole({args[0].text})" if is_whole else _hash(args[0], type)
    return w.local(e.type, f"jg_distinct_coupon({hashed})", null)


def _hash(v: Value, type: DataType) -> str:
    """Hash a value; a number's hash does not depend on its width."""
    found = f"jg_hash_wide({v.text})" if type.kind == "decimal" else hash_of(v.text, type)
    return f"(({v.null}) ? JG_HASH_NULL : {found})" if v.null else found


# ---- comparisons -----------------------------------------------------------------------------------------------------


def _comparison(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    return w.local(e.type, w.compared(e.function, args[0].text, args[1].text, e.args[0].type), null)


def _distinctness(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a, b = args
    same = w.compared("eq", a.text, b.text, e.args[0].type)
    an, bn = a.null or "false", b.null or "false"
    same = f"(({an}) || ({bn}) ? ({an}) && ({bn}) : {same})" if a.null or b.null else same
    return w.local(e.type, same if e.function == "is_not_distinct" else f"!{same}", None)


def _extreme(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    """Write the least or greatest argument that is not NULL."""
    v, n = w.name("e"), w.name("n")
    w.lines.append(f"{cpp_type(e.type)} {v}{{}}; bool {n} = true;")
    sign = "<" if e.function == "least" else ">"
    order = (lambda a, b, type: f"jg_order_double({a}, {b})") if e.type.is_float else compare
    for a in args:
        known = f"!({a.null}) && " if a.null else ""
        better = f"{n} || {order(a.text, v, e.type)} {sign} 0"
        w.lines.append(f"if ({known}({better})) {{ {v} = {a.text}; {n} = false; }}")
    return Value(v, n if e.type.nullable else None)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def _arithmetic(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a, b = (v.text for v in args)
    op, builtin = _ARITHMETIC[e.function]
    t, c = e.type, cpp_type(e.type)
    if t.is_float:
        return w.local(t, f"({a} {op} {b})", null)
    digits = e.args[0].type.precision + e.args[1].type.precision if e.function == "multiply" else t.precision + 1
    if t.kind == "decimal" and digits <= 38:  # the result type holds every value
        return w.local(t, f"(({c})({a}) {op} ({c})({b}))", null)

    def checked(out: str, fail: Callable[[str, str], str]) -> list[str]:
        wrong = f"__builtin_{builtin}_overflow(({c})({a}), ({c})({b}), &{out})"
        wrong += f" || !jg_fits({out}, {t.precision})" if t.kind == "decimal" else ""
        return [fail(wrong, "JG_OVERFLOW")]

    return w.guarded(e, null, checked, _null_on_overflow(w))


def _sign(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    """-a and |a|."""
    a, t, c = args[0].text, e.type, cpp_type(e.type)
    value = negative = f"-({a})"
    if e.function == "abs":
        value = f"__builtin_fabs({a})" if t.is_float else f"(({a}) < 0 ? {negative} : ({a}))"
    if not t.is_integer:
        return w.local(t, f"({c}){value}", null)
    return w.guarded(
        e,
        null,
        lambda out, fail: [fail(f"({a}) == {least(t)}", "JG_OVERFLOW"), f"else {out} = ({c}){value};"],
        _null_on_overflow(w),
    )


def _division(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a, b = (v.text for v in args)
    t, c = e.type, cpp_type(e.type)
    zero_null, overflow_null = w.dialect.division_by_zero == "null", _null_on_overflow(w)
    if t.is_float and w.dialect.division_by_zero == "ieee":
        quotient = f"({a}) / ({b})" if e.function == "divide" else f"({c})jg_fmod({a}, {b})"
        return w.local(t, quotient, null)
    v, n = w.name("e"), w.name("n")
    w.lines.append(f"{c} {v}{{}}; bool {n} = {null or 'false'};")
    site = w.site(e)
    zero = f"{n} = true" if zero_null else f"jg_fail(t, JG_DIVISION_BY_ZERO, {site})"
    overflow = f"{n} = true" if overflow_null else f"jg_fail(t, JG_OVERFLOW, {site})"
    if e.function == "modulo" and t.is_float:
        result = f"{v} = ({c})jg_fmod({a}, {b});"
    elif e.function == "modulo":
        result = f"{v} = ({b}) == -1 ? 0 : ({c})(({a}) % ({b}));"
    elif e.function == "int_divide":
        low = f"({b}) == -1 && ({a}) == {least(t)}"
        result = f"if ({low}) {overflow}; else {v} = ({c})(({a}) / ({b}));"
    else:
        result = f"{v} = ({a}) / ({b});"
    w.lines.append(f"if (!{n}) {{ if (JG_UNLIKELY(({b}) == 0)) {zero}; else {{ {result} }} }}")
    return Value(v, n if null or zero_null or overflow_null else None)


def _square_root(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a = args[0].text
    return w.guarded(e, null, lambda out, fail: [fail(f"{a} < 0", "JG_COMPUTE"), f"else {out} = jg_sqrt({a});"], False)


def _divide_decimal(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a, b = (v.text for v in args[:2])
    by = e.type.scale - e.args[0].type.scale + e.args[1].type.scale
    return _wide_result(w, e, null, f"jg_divide_decimal({a}, {b}, {by}, {e.type.precision}, &w)")


def _mean(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    total, count = (v.text for v in args)
    divisor = f"((long double)({count}) * 1e{e.args[0].type.scale}L)"
    return w.local(e.type, f"(double)((long double)({total}) / {divisor})", null)


def _float_to_decimal(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    return _wide_result(w, e, null, f"jg_shortest_decimal({args[0].text}, {e.type.precision}, {e.type.scale}, &w)")


def _wide_result(w: ExpressionWriter, e: Call, null: str | None, call: str) -> Value:
    """Call a routine that returns a JgFailure and writes the decimal `w`."""
    zero_null, overflow_null = w.dialect.division_by_zero == "null", _null_on_overflow(w)
    v, n, c, site = w.name("e"), w.name("n"), cpp_type(e.type), w.site(e)
    unknown = [
        f"q == {code}"
        for code, is_null in (("JG_DIVISION_BY_ZERO", zero_null), ("JG_OVERFLOW", overflow_null))
        if is_null
    ]
    otherwise = f"jg_fail(t, q, {site});"
    if unknown:
        otherwise = f"{{ if ({' || '.join(unknown)}) {n} = true; else {otherwise} }}"
    w.lines.append(f"{c} {v}{{}}; bool {n} = {null or 'false'};")
    w.lines.append(
        f"if (!{n}) {{ jg_i128 w = 0; int q = {call}; if (JG_UNLIKELY(q != JG_OK)) {otherwise} else {v} = ({c})w; }}"
    )
    return Value(v, n if null or unknown else None)


# ---- rounding --------------------------------------------------------------------------------------------------------


def _digits(e: Call) -> int:
    """Return the digits of round and truncate. They are part of the shape, as they decide the result's type."""
    if len(e.args) == 1:
        return 0
    digits = e.args[1]
    assert isinstance(digits, Literal) and isinstance(digits.value, int)
    return digits.value


def _round(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a, operand, t = args[0].text, e.args[0].type, e.type
    digits = _digits(e)
    if t.is_float:
        return w.local(t, f"({cpp_type(t)})jg_round({a}, {digits})", null)
    if digits >= operand.scale:
        return w.local(t, a, null)
    back = f"w = w * jg_power_of_ten({-digits});" if digits < 0 else ""
    out_of_range = f"w != ({cpp_type(t)})w" if t.is_integer else f"!jg_fits(w, {t.precision})"
    return w.guarded(
        e,
        null,
        lambda out, fail: [
            f"jg_i128 w = {a}; jg_rescale(w, {digits - operand.scale}, 38, &w); {back}",
            fail(out_of_range, "JG_OVERFLOW"),
            f"else {out} = ({cpp_type(t)})w;",
        ],
        _null_on_overflow(w),
    )


def _truncate(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a, digits = args[0].text, _digits(e)
    if e.type.is_float:
        return w.local(e.type, f"jg_truncate({a}, {digits})", null)
    dropped = e.type.scale - digits
    if dropped <= 0 or dropped >= e.type.precision:
        return w.local(e.type, a if dropped <= 0 else "0", null)
    power = constant(10**dropped, cpp_type(e.type))
    return w.local(e.type, f"({a}) / {power} * {power}", null)


def _whole(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    """floor and ceil."""
    a, operand, c = args[0].text, e.args[0].type, cpp_type(e.type)
    if operand.is_float:
        return w.local(e.type, f"({c})jg_{e.function}({a})", null)
    power = constant(10**operand.scale, cpp_type(operand))
    step = f"- (({a}) % {power} < 0)" if e.function == "floor" else f"+ (({a}) % {power} > 0)"
    return w.local(e.type, f"({c})(({a}) / {power} {step})", null)


# ---- text and dates --------------------------------------------------------------------------------------------------


def _like(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    escape = f"(unsigned char){args[2].text}.data[0]" if len(args) > 2 else "-1"
    return w.local(e.type, f"(uint8_t)jg_{e.function}({args[0].text}, {args[1].text}, {escape})", null)


def _substring(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a, start, *length = (v.text for v in args)
    first = start if length else f"(({start}) < 1 ? 1 : ({start}))"
    return _checked(
        w, e, null, lambda out: f"jg_substring({a}, {first}, {length[0] if length else 'INT64_MAX'}, &{out})"
    )


def _pad(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    a, count, *fill = (v.text for v in args)
    by = fill[0] if fill else 'JgStr{" ", 1}'
    return _checked(w, e, null, lambda out: f"jg_{e.function}(t, {a}, {count}, {by}, &{out})")


def _concat(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    parts = w.name("parts")
    w.lines.append(f"const JgStr {parts}[] = {{{', '.join(a.text for a in args)}}};")
    text = f"jg_concat(t, {parts}, {len(args)})"
    return w.local(e.type, f"({null}) ? JgStr{{}} : {text}" if null else text, null)


def _concat_ws(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    parts = w.name("parts")
    known = [f"({a.null}) ? JG_NO_STR : {a.text}" if a.null else a.text for a in args[1:]]
    w.lines.append(f"const JgStr {parts}[] = {{{', '.join(known)}}};")
    text = f"jg_concat_ws(t, {args[0].text}, {parts}, {len(known)})"
    separator = args[0].null
    return w.local(e.type, f"({separator}) ? JgStr{{}} : {text}" if separator else text, separator)


def _date_add_days(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    return w.guarded(
        e,
        null,
        lambda out, fail: [
            f"int64_t d = (int64_t){args[0].text} + {args[1].text};",
            f"{out} = (int32_t)d;",
            fail(f"d < {_DAYS[0]} || d > {_DAYS[1]}", "JG_OVERFLOW"),
        ],
        _null_on_overflow(w),
    )


def _date_trunc(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    unit = e.args[0]
    assert isinstance(unit, Literal)
    return w.local(e.type, f"jg_date_trunc({UNITS.index(str(unit.value))}, {args[0].text})", null)


LAZY: dict[str, Lazy] = {"and": _logic, "or": _logic, "coalesce": _coalesce}
WRITERS: dict[str, Writer] = {
    **dict.fromkeys(COMPARISONS, _comparison),
    **dict.fromkeys(("is_null", "is_not_null"), _nullness),
    **dict.fromkeys(("is_distinct", "is_not_distinct"), _distinctness),
    **dict.fromkeys(("least", "greatest"), _extreme),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(("negate", "abs"), _sign),
    **dict.fromkeys(("divide", "int_divide", "modulo"), _division),
    **dict.fromkeys(("floor", "ceil"), _whole),
    **dict.fromkeys(("like", "ilike"), _like),
    **dict.fromkeys(("lpad", "rpad"), _pad),
    "null_if": _null_if,
    **dict.fromkeys(("xxhash64", "murmur3"), _seeded_hash),
    "fingerprint": _fingerprint,
    "distinct_coupon": _coupon,
    "sqrt": _square_root,
    "round": _round,
    "truncate": _truncate,
    "substring": _substring,
    "concat": _concat,
    "concat_ws": _concat_ws,
    "divide_decimal": _divide_decimal,
    "mean": _mean,
    "float_to_decimal": _float_to_decimal,
    "date_add_days": _date_add_days,
    "date_trunc": _date_trunc,
    **calls_list.WRITERS,
}
assert WRITERS.keys() | LAZY.keys() == {f.name for f in BUILT_IN.values() if not f.cpp}, "each function has its C++"
