"""Calls of functions that make lists, maps and structs, or look into them, as C++."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from jumpgate.codegen.cpp import Value, compare, cpp_type
from jumpgate.dataflow.expressions import Call
from jumpgate.dataflow.types import DataType, bool_

if TYPE_CHECKING:
    from jumpgate.codegen.expressions import ExpressionWriter


# ---- parts of nested values ------------------------------------------------------------------------------------------


def element(type: DataType, list: str, number: str) -> str:
    """Return an element that a list has, and that is not NULL."""
    read = "jg_bytes_element" if type.is_text else f"jg_fixed_element<{cpp_type(type)}>"
    return f"{read}({list}, {number})"


def member(fields: Sequence[DataType], struct: str, number: int) -> str:
    """Return a field that a struct has, and that is not NULL (jumpgate/ntf/README.md, "Nested values")."""
    type, sizes = fields[number], [4 if t.is_text else t.width for t in fields]
    head = (len(fields) + 7) // 8
    slot = head + sum(sizes[:number])
    if not type.is_text:
        return f"jg_fixed_field<{cpp_type(type)}>({struct}, {slot})"
    if before := [i for i, t in enumerate(fields[:number]) if t.is_text]:
        return f"jg_bytes_field({struct}, jg_end_field({struct}, {slot - sum(sizes[before[-1] : number])}), {slot})"
    return f"jg_bytes_field({struct}, {head + sum(sizes)}, {slot})"


def _guarded(null: str | None, value: str, otherwise: str) -> str:
    return f"({null}) ? {otherwise} : {value}" if null else value


# ---- calls -----------------------------------------------------------------------------------------------------------


def _split(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    text, separator, *most = (v.text for v in args)
    return w.checked(e, null, lambda out: f"jg_split(t, {text}, {separator}, {most[0] if most else '0'}, &{out})")


def _element_at(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    list, number = (v.text for v in args)
    place = w.name("u")
    w.lines.append(f"const uint32_t {place} = {_guarded(null, f'jg_place({list}, {number})', 'UINT32_MAX')};")
    missing = w.local(bool_, _guarded(null, f"!jg_has_element({list}, {place})", "true"), None).text
    return w.local(e.type, f"{missing} ? {cpp_type(e.type)}{{}} : {element(e.type, list, place)}", missing)


def _list_subscript(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    list, number = (v.text for v in args)
    v, n, c = w.name("e"), w.name("n"), cpp_type(e.type)
    missing = f"{number} < 1 || {number} > (int64_t)jg_element_count({list})"
    w.lines.append(f"{c} {v}{{}}; bool {n} = {null or 'false'};")
    w.lines.append(
        f"if (!{n}) {{ if (JG_UNLIKELY({missing})) jg_fail(t, JG_COMPUTE, {w.site(e)}); else {{ "
        f"const uint32_t u = (uint32_t)({number} - 1); {n} = !jg_has_element({list}, u); "
        f"if (!{n}) {v} = {element(e.type, list, 'u')}; }} }}"
    )
    return Value(v, n)


def _list_contains(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    list, value = (v.text for v in args)
    v, n, type = w.name("e"), w.name("n"), e.args[1].type
    same = w.compared("eq", element(type, list, "u"), value, type)
    w.lines.append(f"bool {v} = false, {n} = {null or 'false'};")
    w.lines.append(
        f"if (!{n}) for (uint32_t u = 0; u < jg_element_count({list}) && !{v}; u++) "
        f"if (!jg_has_element({list}, u)) {n} = true; else {v} = {same};"
    )
    w.lines.append(f"{n} = {n} && !{v};")
    return Value(v, n)


def _list_position(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    list, value = (v.text for v in args)
    v, type = w.name("e"), e.args[1].type
    same = w.compared("eq", element(type, list, "u"), value, type)
    count = _guarded(null, f"jg_element_count({list})", "0")
    w.lines.append(f"int64_t {v} = 0;")
    w.lines.append(
        f"for (uint32_t u = 0, n = {count}; u < n && !{v}; u++) if (jg_has_element({list}, u) && {same}) {v} = u + 1;"
    )
    return Value(v, null)


def _list_extreme(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    list, c = args[0].text, cpp_type(e.type)
    v, n, x = w.name("e"), w.name("n"), w.name("x")
    order = f"jg_order_double({x}, {v})" if e.type.is_float else compare(x, v, e.type)
    better = f"{n} || {order} {'<' if e.function == 'list_min' else '>'} 0"
    count = _guarded(null, f"jg_element_count({list})", "0")
    w.lines.append(f"{c} {v}{{}}; bool {n} = true;")
    w.lines.append(
        f"for (uint32_t u = 0, n = {count}; u < n; u++) if (jg_has_element({list}, u)) {{ "
        f"const {c} {x} = {element(e.type, list, 'u')}; if ({better}) {{ {v} = {x}; {n} = false; }} }}"
    )
    return Value(v, n)


def _map_value(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    map, key = (v.text for v in args)
    v, n, entry, c = w.name("e"), w.name("n"), w.name("x"), cpp_type(e.type)
    types = [part.type for part in e.args[0].type.parts]
    same = w.compared("eq", member(types, entry, 0), key, types[0])
    unknown = null or "false"
    w.lines.append(f"{c} {v}{{}}; bool {n} = true;")
    missing = f"if (u == n) jg_fail(t, JG_COMPUTE, {w.site(e)}); " if e.function == "map_subscript" else ""
    w.lines.append(
        f"if (!({unknown})) {{ uint32_t u = 0; const uint32_t n = jg_element_count({map}); for (; u < n; u++) {{ "
        f"const JgStr {entry} = jg_bytes_element({map}, u); "
        f"if ({same}) {{ {n} = !jg_has_field({entry}, 1); if (!{n}) {v} = {member(types, entry, 1)}; break; }} }} "
        f"{missing}}}"
    )
    return Value(v, n)


# ---- lists that are made ---------------------------------------------------------------------------------------------


def _list_count(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    list, v = args[0].text, w.name("e")
    count = _guarded(null, f"jg_element_count({list})", "0")
    w.lines.append(f"int64_t {v} = 0;")
    w.lines.append(f"for (uint32_t u = 0, n = {count}; u < n; u++) {v} += jg_has_element({list}, u);")
    return Value(v, null)


def of(type: DataType) -> str:
    """Return what elements of the type are to the runtime (nested.h)."""
    floats = {"float32": "JG_OF_FLOATS", "float64": "JG_OF_DOUBLES"}
    return "JG_OF_BYTES" if type.is_text else floats.get(type.kind, str(type.width))


def _made(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    """Call the routine that has the function's name, with what the elements of the result are."""
    texts = ", ".join(a.text for a in args)
    return w.checked(e, null, lambda out: f"jg_{e.function}(t, {texts}, {of(e.type.parts[0].type)}, &{out})")


def _list_concat(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    lists = ", ".join(a.text for a in args)
    call = f"const JgStr lists[] = {{{lists}}}; "
    kind = of(e.type.parts[0].type)
    return _block(w, e, null, call, f"jg_list_concat(t, lists, {len(args)}, {kind}, &w)")


def _list_zip(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    lists = ", ".join(a.text for a in args)
    kinds = ", ".join(of(a.type.parts[0].type) for a in e.args)
    call = f"const JgStr lists[] = {{{lists}}}; const int of[] = {{{kinds}}}; "
    return _block(w, e, null, call, f"jg_list_zip(t, lists, of, {len(args)}, &w)")


def _parts(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    """Write a list or a struct of the arguments, which may be NULL."""
    declared, parts = [], []
    for i, (a, type) in enumerate(zip(args, (a.type for a in e.args), strict=True)):
        declared.append(f"const {cpp_type(type)} w{i} = {a.text}; ")
        width = 0 if type.is_text else type.width
        bytes = f"w{i}" if type.is_text else f"JgStr{{(const char*)&w{i}, {width}}}"
        parts.append(f"{{{_guarded(a.null, bytes, 'JG_NO_STR')}, {width}}}")
    call = f"{''.join(declared)}const JgMember parts[] = {{{', '.join(parts)}}}; "
    is_list = int(e.function == "list_of")
    return _block(w, e, None, call, f"jg_make_nested(t, parts, {len(args)}, {is_list}, &w)")


def _block(w: ExpressionWriter, e: Call, null: str | None, before: str, call: str) -> Value:
    """Call a routine that writes its value to `w`, in a block of its own with the statements before it."""
    return w.guarded(
        e,
        null,
        lambda out, fail: [f"JgStr w{{}}; {before}const int q = {call}; {out} = w;", fail("q != JG_OK", "q")],
        False,
    )


def _map_part(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    key, value = (of(part.type) for part in e.args[0].type.parts)
    is_value, map = int(e.function == "map_values"), args[0].text
    return w.checked(e, null, lambda out: f"jg_map_part(t, {map}, {key}, {value}, {is_value}, &{out})")


def _map_of(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    key, value = (of(part.type) for part in e.type.parts)
    lists = ", ".join(a.text for a in args)
    return w.checked(e, null, lambda out: f"jg_map_of(t, {lists}, {key}, {value}, &{out})")


def _list_join(w: ExpressionWriter, e: Call, args: list[Value], null: str | None) -> Value:
    list, separator, *other = (v.text for v in args)
    instead = other[0] if other else "JG_NO_STR"
    return w.checked(e, null, lambda out: f"jg_list_join(t, {list}, {separator}, {instead}, &{out})")


Writer = Callable[["ExpressionWriter", Call, list[Value], str | None], Value]
WRITERS: Mapping[str, Writer] = {
    "split": _split,
    "element_at": _element_at,
    "list_contains": _list_contains,
    "list_position": _list_position,
    **dict.fromkeys(("list_min", "list_max"), _list_extreme),
    **dict.fromkeys(("map_value", "map_subscript"), _map_value),
    "list_subscript": _list_subscript,
    "list_count": _list_count,
    **dict.fromkeys(("list_distinct", "list_sort", "list_slice", "list_intersect", "list_except", "flatten"), _made),
    "list_concat": _list_concat,
    "list_join": _list_join,
    "list_zip": _list_zip,
    **dict.fromkeys(("list_of", "struct_of"), _parts),
    **dict.fromkeys(("map_keys", "map_values"), _map_part),
    "map_of": _map_of,
}
