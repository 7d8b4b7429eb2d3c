"""C++ of types and values: names, constants, comparisons, and the value of an expression."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from jumpgate.dataflow.types import DataType

_TYPES = {
    "bool": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float32": "float",
    "float64": "double",
    "date": "int32_t",
    **dict.fromkeys(("timestamp", "time", "timestamp_ns", "timestamptz", "timestamptz_ns", "duration"), "int64_t"),
}
#: functions that compare → operators
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@dataclass(frozen=True)
class Value:
    """A C++ value and the condition `null` under which it is NULL (None: never)."""

    text: str
    null: str | None = None


def any_null(*values: Value) -> str | None:
    """Return the condition that one of the values is NULL."""
    found = list(dict.fromkeys(v.null for v in values if v.null is not None))
    return " || ".join(found) if found else None


def cpp_type(type: DataType) -> str:
    """
    >>> from jumpgate.dataflow.types import decimal, date
    >>> cpp_type(decimal(7, 2)), cpp_type(decimal(38, 2)), cpp_type(date)
    ('int64_t', 'jg_i128', 'int32_t')
    """
    if type.kind == "decimal":
        return "int64_t" if type.precision <= 18 else "jg_i128"
    return "JgStr" if type.is_text else _TYPES[type.kind]


def is_word(type: DataType) -> bool:
    """Return whether a value is an integer of at most 64 bits in C++."""
    return not (type.is_text or type.is_float or type.width == 16)


def constant(value: int, type: str = "int64_t") -> str:
    """An integer constant of any width up to 128 bits.

    >>> constant(100), constant(10**20, "jg_i128")
    ('(int64_t)100ll', '((jg_i128)10000000000ll * 10000000000ll)')
    """
    if -(2**62) < value < 2**62:
        return f"({type}){value}ll"
    root = 10**10
    quotient, rest = divmod(value, root)
    product = f"({constant(quotient, type)} * {root}ll)"
    return product if rest == 0 else f"({product} + {rest}ll)"


def hash_of(value: str, type: DataType) -> str:
    """Return the C++ expression that hashes a non-NULL value."""
    if type.is_text:
        return f"jg_hash_str({value})"
    if type.is_float:
        return f"jg_hash_double({value})"
    if type.width == 16:
        return f"jg_hash_wide({value})"
    return f"jg_hash_int((uint64_t)(int64_t)({value}))"


def hash_keys(keys: list[Value], types: list[DataType]) -> str:
    """Hash of non-NULL keys."""
    hashes = [hash_of(k.text, t) for k, t in zip(keys, types, strict=True)]
    return functools.reduce(lambda a, b: f"jg_hash_combine({a}, {b})", hashes) if hashes else "0"


def hash_group(keys: list[Value], types: list[DataType], known: Mapping[int, str] | None = None) -> str:
    """Hash of keys of which each may be NULL. known: by position, the condition under which the other keys determine a
    key; it is not hashed then."""
    hashes = [
        f"({k.null} ? JG_HASH_NULL : {hash_of(k.text, t)})" if k.null else hash_of(k.text, t)
        for k, t in zip(keys, types, strict=True)
    ]
    for i, condition in (known or {}).items():
        hashes[i] = f"({condition} ? JG_HASH_NULL : {hashes[i]})"
    return functools.reduce(lambda a, b: f"jg_hash_combine({a}, {b})", hashes)


def hashes_added(keys: list[Value], types: list[DataType]) -> list[list[str]]:
    """Return statements that each add a key to the hash of row i."""
    at = "hashes[i - from]"
    return [[f"{at} = jg_hash_combine({at}, {hash_group([k], [t])});"] for k, t in zip(keys, types, strict=True)]


def blank(v: Value, type: DataType) -> str:
    """Return the value, or zero bits for NULL, so that the bytes under NULL are the same everywhere."""
    return f"({v.null}) ? {cpp_type(type)}{{}} : {v.text}" if v.null else v.text


def equal(a: str, b: str, type: DataType) -> str:
    """Return the C++ condition that two non-NULL values are the same group or join key."""
    if type.is_text:
        return f"jg_equal_str({a}, {b})"
    if type.is_float:
        return f"(jg_compare_double({a}, {b}) == 0)"
    return f"(({a}) == ({b}))"


#: leading bytes of a text that are compared as numbers
TEXT_BYTES = 16


def ordered_words(value: str, type: DataType) -> tuple[str, ...]:
    """Return C++ expressions of unsigned numbers that, in sequence, order as non-NULL values do. For texts longer than
    `TEXT_BYTES` the last number, their size, does not count, and the others cover only the beginning."""
    if type.is_text:
        return f"jg_text_bytes({value}, 0)", f"jg_text_bytes({value}, 8)", f"{value}.size"
    if type.is_float:
        return (f"jg_ordered_int(jg_number_key({value}))",)
    if type.width == 16:
        return f"(uint64_t)(jg_ordered_wide({value}) >> 64)", f"(uint64_t)jg_ordered_wide({value})"
    return (f"jg_ordered_int({value})" if type.width == 8 else f"jg_ordered_int32({value})",)


def compare(a: str, b: str, type: DataType) -> str:
    """Return the C++ expression that orders two non-NULL values: negative, zero, positive."""
    if type.is_text:
        return f"jg_compare_str({a}, {b})"
    if type.is_float:
        return f"jg_compare_double({a}, {b})"
    return f"JG_COMPARE({a}, {b})"
