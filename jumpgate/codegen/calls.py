"""Calls that are one C++ expression of their arguments' values: a text for each function, with {0}, {1} …

A *checked* one is the call of a function of the runtime library that returns a JgFailure and writes its value to {out}.
"""

from __future__ import annotations

from dataclasses import dataclass

from jumpgate.codegen.cpp import constant, cpp_type
from jumpgate.dataflow.expressions import Call, Literal
from jumpgate.dataflow.functions_time import UNITS
from jumpgate.dataflow.types import DataType

DAY_US = 86_400_000_000
_MINUTE = "((({0}) % 60000000ll + 60000000ll) % 60000000ll)"


@dataclass(frozen=True)
class _Text:
    text: str
    checked: bool = False


def _bits(moved: str) -> _Text:
    """A shift by the count modulo the value's bits; {type} is the value's type, {unsigned} the same without a sign."""
    return _Text(f"({{type}})({moved} (({{1}}) & (sizeof({{type}}) * 8 - 1)))")


_OF_FLOATS = (
    "exp", "ln", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "degrees", "radians", "sign",
)  # fmt: skip
CALLS: dict[str, _Text] = {
    **{name: _Text(f"jg_{name}({{0}})") for name in _OF_FLOATS},
    "log": _Text("jg_log({0}, {1})"),
    "atan2": _Text("jg_atan2({0}, {1})"),
    "power": _Text("jg_power({0}, {1}, &{out})", checked=True),
    "is_nan": _Text("(uint8_t)(({0}) != ({0}))"),
    "truncate": _Text("{truncated}"),
    "bit_and": _Text("({type})(({0}) & ({1}))"),
    "bit_or": _Text("({type})(({0}) | ({1}))"),
    "bit_xor": _Text("({type})(({0}) ^ ({1}))"),
    "shift_left": _bits("({unsigned})({0}) <<"),
    "shift_right": _bits("({0}) >>"),
    "upper": _Text("jg_upper(t, {0})"),
    "lower": _Text("jg_lower(t, {0})"),
    "substring": _Text("jg_substring({0}, {start}, {length}, &{out})", checked=True),
    "left": _Text("jg_left({0}, {1})"),
    "right": _Text("jg_right({0}, {1})"),
    "lpad": _Text("jg_lpad(t, {0}, {1}, {fill}, &{out})", checked=True),
    "rpad": _Text("jg_rpad(t, {0}, {1}, {fill}, &{out})", checked=True),
    "repeat": _Text("jg_repeat(t, {0}, {1}, &{out})", checked=True),
    "replace": _Text("jg_replace(t, {0}, {1}, {2}, &{out})", checked=True),
    "reverse": _Text("jg_reverse(t, {0})"),
    "position": _Text("jg_position({0}, {1})"),
    "split_part": _Text("jg_split_part({0}, {1}, {2}, &{out})", checked=True),
    "initcap": _Text("jg_initcap(t, {0}, &{out})", checked=True),
    "chr": _Text("jg_chr(t, {0}, &{out})", checked=True),
    "ascii": _Text("jg_ascii({0})"),
    "octet_length": _Text("(int64_t){0}.size"),
    "translate": _Text("jg_translate(t, {0}, {1}, {2}, &{out})", checked=True),
    "iso_year": _Text("jg_date_part(8, {days})"),
    "week": _Text("jg_date_part(7, {days})"),
    "iso_day_of_week": _Text("jg_date_part(6, {days})"),
    "day_of_year": _Text("jg_date_part(5, {days})"),
    "millisecond": _Text(f"{_MINUTE} / 1000"),
    "microsecond": _Text(_MINUTE),
    "epoch": _Text("(double)({0}) / 1e6"),
    "date_trunc": _Text("jg_date_trunc({unit}, {0})"),
    "add_interval": _Text("jg_{kind}_add_interval({0}, {1}, {2}, {3}, &{out})", checked=True),
    "days_between": _Text("(int64_t)({0}) - ({1})"),
}


def text(e: Call, arguments: list[str], out: str = "") -> str:
    """The C++ of a call in CALLS; `arguments` without those that are its shape."""
    names = {
        "out": out,
        "type": cpp_type(e.type),
        "unsigned": "u" + cpp_type(e.type),
        "kind": "date" if e.args and e.args[0].type.kind == "date" else "timestamp",
    }
    if e.function in ("lpad", "rpad"):
        names["fill"] = arguments[2] if len(arguments) > 2 else 'JgStr{" ", 1}'
    elif e.function == "substring":
        bounded = len(arguments) > 2
        names["start"] = arguments[1] if bounded else f"(({arguments[1]}) < 1 ? 1 : ({arguments[1]}))"
        names["length"] = arguments[2] if bounded else "INT64_MAX"
    elif e.function == "date_trunc":
        unit = e.args[0]
        assert isinstance(unit, Literal)
        names["unit"] = str(UNITS.index(str(unit.value)))
    elif e.function == "truncate":
        names["truncated"] = _truncated(e, arguments[0])
    elif "{days}" in CALLS[e.function].text:
        names["days"] = arguments[0] if e.args[0].type.kind == "date" else days(arguments[0])
    return CALLS[e.function].text.format(*arguments, **names)


def days(value: str, day: int = DAY_US) -> str:
    """The day of a timestamp; `day`: how many of its units a day has."""
    return f"(int32_t)(({value}) / {day}ll - (({value}) % {day}ll < 0))"


def moved(value: str, source: DataType, target: DataType) -> str:
    """A conversion between dates, times, timestamps, moments and durations that cannot fail; empty: it is another."""
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


def _truncated(e: Call, a: str) -> str:
    digits = shape_digits(e)
    if e.type.is_float:
        return f"jg_truncate({a}, {digits})"
    dropped = e.type.scale - digits
    if dropped <= 0 or dropped >= e.type.precision:
        return a if dropped <= 0 else "0"
    power = constant(10**dropped, cpp_type(e.type))
    return f"({a}) / {power} * {power}"


def shape_digits(e: Call) -> int:
    """The digits of round and truncate, which are part of the shape: they decide the result's type."""
    if len(e.args) == 1:
        return 0
    digits = e.args[1]
    assert isinstance(digits, Literal) and isinstance(digits.value, int)
    return digits.value
