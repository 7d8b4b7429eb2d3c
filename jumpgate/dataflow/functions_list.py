"""Functions that make lists, and those that look into them. Elements are counted from 1."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from jumpgate.dataflow.casts import TypeMismatch, common_type
from jumpgate.dataflow.expressions import Call, Literal, Value
from jumpgate.dataflow.function import Function, Types
from jumpgate.dataflow.functions_math import extreme
from jumpgate.dataflow.functions_text import TEXT_BYTES_MAX
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.signatures import always, common, first, require
from jumpgate.dataflow.types import DataType, Field, bool_, int64, list_, map_, string, struct
from jumpgate.errors import ComputeError

#: the most parts of a struct or list that a call makes
ARGUMENTS_MAX = 256
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


def _list_and_order(types: Types) -> Types:
    _list_of_compared(types)
    require(all(t.kind == "bool" for t in types[1:]), types, "a list and two choices")
    return types


def _list_and_numbers(types: Types) -> Types:
    require(types[0].kind == "list" and all(t.is_integer for t in types[1:]), types, "a list and two numbers")
    return (types[0], int64, int64)


def _lists(types: Types) -> Types:
    require(types[0].kind == "list" and all(t.same(types[0]) for t in types), types, "lists of one type")
    return types


def _lists_of_compared(types: Types) -> Types:
    _compared(_lists(types))
    return types


def _all_lists(types: Types) -> Types:
    require(all(t.kind == "list" for t in types), types, "lists")
    return types


def _list_of_lists(types: Types) -> Types:
    require(types[0].kind == "list" and types[0].parts[0].type.kind == "list", types, "a list of lists")
    return types


def _texts(types: Types) -> Types:
    texts = types[0].kind == "list" and all(t.kind == "string" for t in (types[0].parts[0].type, *types[1:]))
    require(texts, types, "a list of texts, and texts")
    return types


def _map(types: Types) -> Types:
    require(types[0].kind == "map", types, "a map")
    return types


def _keys_and_values(types: Types) -> Types:
    require(types[0].kind == "list" and types[1].kind == "list", types, "a list of keys and one of values")
    _compared(types)
    return types


def _alike(types: Types) -> Types:
    return types if types[0].is_nested and all(t.same(types[0]) for t in types) else common(types)


def key_list_type(types: Types, values: tuple[Value, ...]) -> DataType:
    return list_(types[0].parts[0].type)


def value_list_type(types: Types, values: tuple[Value, ...]) -> DataType:
    return list_(types[0].parts[1].type)


def map_type(types: Types, values: tuple[Value, ...]) -> DataType:
    return map_(types[0].parts[0].type, types[1].parts[0].type)


def list_type(types: Types, values: tuple[Value, ...]) -> DataType:
    return list_(types[0], nullable=False)


def struct_type(types: Types, values: tuple[Value, ...]) -> DataType:
    return struct(*(Field(f"f{i}", t) for i, t in enumerate(types)), nullable=False)


def zip_type(types: Types, values: tuple[Value, ...]) -> DataType:
    return list_(struct_type(tuple(t.parts[0].type for t in types), ()))


def _subscript(site: Site, elements: Any, number: int | None) -> Any:
    if elements is None or number is None:
        return None
    if not 1 <= number <= len(elements):
        raise ComputeError("a list without such an element")
    return elements[number - 1]


def _entry(site: Site, entries: Any, key: Value) -> Value:
    if entries is None or key is None:
        return None
    if all(not _same(other, key) for other, _ in entries):
        raise ComputeError("a map without such a key")
    return _value(site, entries, key)


def _distinct(site: Site, elements: Any) -> Any:
    found: list[Any] = []
    for e in elements:
        if not _has(found, e):
            found.append(e)
    return found


def _has(elements: Any, value: Value) -> bool:
    return any(_same(e, value) for e in elements)


def _sorted(site: Site, elements: Any, descending: bool, nulls_first: bool) -> Any:
    nulls = [e for e in elements if e is None]
    known = sorted((e for e in elements if e is not None), key=lambda e: (e != e, e), reverse=descending)
    return nulls + known if nulls_first else known + nulls


def _slice(site: Site, elements: Any, start: int, length: int) -> Any:
    if start == 0 or length < 0:
        raise ComputeError("elements from place 0 on, or fewer than none")
    first = start - 1 if start > 0 else len(elements) + start
    return elements[first : first + length] if first >= 0 else []


def _is_slice(call: Call) -> bool:
    start, length = (a.value if isinstance(a, Literal) else None for a in call.args[1:])
    return isinstance(start, int) and start != 0 and isinstance(length, int) and length >= 0


def _concat(site: Site, *lists: Any) -> Any:
    return [e for list in lists for e in list]


def _chosen(among: bool) -> Callable[..., Any]:
    """Return the body of a function that keeps the elements that are among those of another list, or are not."""
    return lambda site, a, b: _distinct(site, [e for e in a if _has(b, e) == among])


def _join(site: Site, texts: Any, separator: str, null: str | None = None) -> Value:
    known = [t for t in texts if t is not None] if null is None else [null if t is None else t for t in texts]
    joined = separator.join(known)
    if len(joined.encode()) > TEXT_BYTES_MAX:
        raise ComputeError(f"a text of more than {TEXT_BYTES_MAX >> 20} MiB")
    return joined


def _flattened(site: Site, lists: Any) -> Any:
    return [e for list in lists for e in list or ()]


def _part(number: int) -> Callable[[Site, Any], Any]:
    """Return the body of a function that takes the keys of a map (0), or its values (1)."""
    return lambda site, entries: [entry[number] for entry in entries]


def _list_of(site: Site, *values: Any) -> Any:
    return list(values)


def _struct_of(site: Site, *values: Any) -> Any:
    return values


def _zipped(site: Site, *lists: Any) -> Any:
    return list(itertools.zip_longest(*lists))


def _map_of(site: Site, keys: Any, values: Any) -> Any:
    if len(keys) != len(values) or None in keys or len(_distinct(site, keys)) < len(keys):
        raise ComputeError("a map with a key that is NULL, or twice there, or without a value")
    return list(zip(keys, values, strict=True))


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
    Function("list_subscript", "element b of a list, which must have one, from 1", (2, 2), _list_and_number,
             element_type, _subscript, strict=False, fails=True),
    Function("map_subscript", "the value of key b in a map, which must have one", (2, 2), _map_and_key, value_type,
             _entry, strict=False, fails=True),
    Function("list_count", "how many elements of a list are not NULL", (1, 1), _list, always(int64),
             lambda site, elements: sum(e is not None for e in elements)),
    Function("list_distinct", "each element once, also NULL, where it first occurs", (1, 1), _list_of_compared, first,
             _distinct),
    Function("list_sort", "the elements in order; b: greatest first, c: NULLs before all others", (3, 3),
             _list_and_order, first, _sorted, literals=(1, 2)),
    Function("list_slice", "at most c elements from element b on, from -1 backwards; none where there is no element b",
             (3, 3), _list_and_numbers, first, _slice, fails=True, safe=_is_slice),
    Function("list_concat", "the elements of all lists", (1, None), _lists, first, _concat, fails=True),
    Function("list_intersect", "each element that b also has, once, where it first occurs; NULL equals itself", (2, 2),
             _lists_of_compared, first, _chosen(True)),
    Function("list_except", "each element that b does not have, once, where it first occurs; NULL equals itself",
             (2, 2), _lists_of_compared, first, _chosen(False)),
    Function("list_join", "the texts that elements are, separator b between them; NULL ones are left out, or c", (2, 3),
             _texts, always(string), _join, fails=True),
    Function("flatten", "the elements of the lists that elements are; NULL ones have none", (1, 1), _list_of_lists,
             element_type, _flattened),
    Function("map_keys", "the keys of a map, in its order", (1, 1), _map, key_list_type, _part(0)),
    Function("map_values", "the values of a map, in its order", (1, 1), _map, value_list_type,
             _part(1)),
    Function("map_of", "a map of a list of keys, which are known and all different, and as many values", (2, 2),
             _keys_and_values, map_type, _map_of, fails=True),
    Function("list_of", "a list of the arguments", (1, ARGUMENTS_MAX), _alike, list_type,
             _list_of, strict=False, fails=True),
    Function("struct_of", "a struct of the arguments, whose fields are called f0, f1 …", (1, ARGUMENTS_MAX),
             lambda types: types, struct_type, _struct_of, strict=False, fails=True),
    Function("list_zip", "structs of the elements at one place of each list, NULL where it has fewer",
             (1, ARGUMENTS_MAX), _all_lists, zip_type,
             _zipped, fails=True),
)  # fmt: skip
