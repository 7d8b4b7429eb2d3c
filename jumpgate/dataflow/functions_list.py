"""Functions that make lists, and those that look into them. Elements are counted from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jumpgate.dataflow.casts import TypeMismatch, common_type
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.function import Function, Types
from jumpgate.dataflow.functions_math import extreme
from jumpgate.dataflow.functions_text import TEXT_BYTES_MAX
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.signatures import always, require
from jumpgate.dataflow.types import DataType, bool_, int64, list_, string
from jumpgate.errors import ComputeError

#: bytes of a list beside its elements' own: a count, presence, and where each text ends (ntf/README.md)
_COUNT_BYTES, _END_BYTES = 4, 4


def list_bytes(texts: list[str]) -> int:
    """Return the bytes of a list of texts on an edge."""
    slots = (len(texts) + 7) // 8 + _END_BYTES * len(texts)
    return _COUNT_BYTES + slots + sum(len(t.encode()) for t in texts)


def _split(site: Site, text: str, separator: str, most: int = 0) -> Any:
    found = text.split(separator, most - 1 if most > 0 else -1)
    if list_bytes(found) > TEXT_BYTES_MAX:
        raise ComputeError(f"a list of more than {TEXT_BYTES_MAX >> 20} MiB")
    return found


def _split_literals(separator: Value, most: Value = None) -> None:
    if separator == "":
        raise TypeMismatch("split: the separator is some text")


def _split_operands(types: Types) -> Types:
    text = all(t.kind == "string" for t in types[:2])
    require(text and all(t.is_integer for t in types[2:]), types, "a text, a separator and a number")
    return (*types[:2], *(int64 for _ in types[2:]))


def _list(types: Types) -> Types:
    require(types[0].kind == "list", types, "a list")
    return types


def _list_or_map(types: Types) -> Types:
    require(types[0].kind in ("list", "map"), types, "a list or a map")
    return types


def _list_and_number(types: Types) -> Types:
    require(types[0].kind == "list" and types[1].is_integer, types, "a list and a number")
    return (types[0], int64)


def _list_and_value(types: Types) -> Types:
    require(types[0].kind == "list", types, "a list and a value")
    return _beside_compared(types)


def _map_and_key(types: Types) -> Types:
    require(types[0].kind == "map", types, "a map and a key")
    return _beside_compared(types)


def _list_of_compared(types: Types) -> Types:
    require(types[0].kind == "list", types, "a list")
    _compared(types)
    return types


def _compared(types: Types) -> DataType:
    """Return the type of a list's elements or a map's keys. Raises TypeMismatch for nested ones."""
    type = types[0].parts[0].type
    if type.is_nested:
        raise TypeMismatch(f"nested values are not compared: {types[0].name}")
    return type


def _beside_compared(types: Types) -> Types:
    type = _compared(types)
    require(common_type((type, types[1])).same(type), types, f"a {types[0].kind} and a {type.name}")
    return (types[0], type)


def _same(a: Value, b: Value) -> bool:
    """Return whether values are equal, which NaN is to itself."""
    return a == b or (a != a and b != b)


def value_type(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[0].parts[1].type


def _value(site: Site, entries: Any, key: Value) -> Value:
    if entries is None or key is None:
        return None
    return next((value for other, value in entries if _same(other, key)), None)


def element_type(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[0].parts[0].type


def _at(site: Site, elements: Any, number: int | None) -> Any:
    if elements is None or number is None or number == 0:
        return None
    index = number - 1 if number > 0 else len(elements) + number
    return elements[index] if 0 <= index < len(elements) else None


def _position(site: Site, elements: Any, value: Value) -> Value:
    return next((n for n, e in enumerate(elements, 1) if e is not None and _same(e, value)), 0)


def _best(sign: int) -> Callable[..., Value]:
    """Return the body of a function that takes the least or greatest element."""
    best = extreme(sign)
    return lambda site, elements: best(site, *(elements or ()))


def _contains(site: Site, elements: Any, value: Value) -> Value:
    if elements is None or value is None:
        return None
    found = any(e is not None and _same(e, value) for e in elements)
    return True if found else None if None in elements else False


LISTS = (
    Function("split", "the parts of a between separators b, which is some text; with c > 0 at most c parts, of which "
             "the last is the rest", (2, 3), _split_operands, always(list_(string)), _split, literals=(1, 2),
             literal_rule=_split_literals, fails=True),
    Function("cardinality", "how many elements a list or map has", (1, 1), _list_or_map, always(int64),
             lambda site, elements: len(elements), cpp="({0}.size ? (int64_t)jg_element_count({0}) : 0)"),
    Function("element_at", "element b of a list, from -1 backwards; NULL where there is none", (2, 2),
             _list_and_number, element_type, _at, strict=False),
    Function("list_contains", "whether an element equals b; NULL if none does and one is NULL", (2, 2),
             _list_and_value, always(bool_), _contains, strict=False),
    Function("list_position", "the place of the first element that equals b, from 1; 0 where none does", (2, 2),
             _list_and_value, always(int64), _position),
    Function("list_min", "the least element that is not NULL; NaN is the largest number", (1, 1), _list_of_compared,
             element_type, _best(-1), strict=False),
    Function("list_max", "the greatest element that is not NULL; NaN is the largest number", (1, 1), _list_of_compared,
             element_type, _best(1), strict=False),
    Function("map_value", "the value of key b in a map; NULL where there is none", (2, 2), _map_and_key, value_type,
             _value, strict=False),
)  # fmt: skip
