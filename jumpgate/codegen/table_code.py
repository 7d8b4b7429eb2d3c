"""State rows of a table for templates: how to compare, merge, order and finish them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jumpgate.codegen.cpp import TEXT_BYTES, compare, cpp_type, equal, is_word, ordered_words
from jumpgate.codegen.measures import state_of
from jumpgate.codegen.program import SortField, Table
from jumpgate.codegen.row_layout import Layout
from jumpgate.codegen.runs import Scope, condition, fold
from jumpgate.codegen.window_code import keeps_hash, windows_code
from jumpgate.dataflow.types import DataType

#: the most keys of a join whose values are noted, JG_KEYS in jg/kernel.h
INTEGER_KEYS_MAX = 4
#: the most words of a row to sort by; wider orders then compare rows
SORT_WORDS = 16


def table_code(layout: Layout, scope: Scope, memo_words: list[int], is_set: bool) -> dict[str, Any]:
    """Return the template's values for a table; `memo_words` of each sink that adds to its groups."""
    table = layout.table
    keys = []
    for i in range(table.keys):
        same = equal(f"a->f{i}", f"b->f{i}", table.fields[i])
        keys.append(f"a->n{i} == b->n{i} && (a->n{i} || {same})" if table.fields[i].nullable else same)
    equal_runs, equal_rest = condition(keys, scope)
    merge_runs, merge = fold(([state_of(h.function).merge_rows(h)] for h in table.measures), scope)
    return {
        "id": table.id,
        "kind": table.kind,
        "tracks": table.tracks_matches,
        "order": _order(table.order, table.fields),
        "dealt": table.partition > 0,
        "hash": keeps_hash(table),
        "sort_words": _sort_words(table),
        "on_disk": table.on_disk,
        "texts": [i for i, t in enumerate(table.fields) if t.is_text],
        "layout": layout,
        "equal": equal_rest,
        "equal_runs": equal_runs,
        "merge": merge,
        "merge_runs": merge_runs,
        "lists": [_list(table, i) for i in range(len(table.lists))],
        "integer_keys": integer_keys(table),
        "key": integer_key(table) is not None,
        "memo_words": max(memo_words, default=0),
        "is_set": is_set,
        "skyline": table.is_skyline,
        "windows": None if table.windows is None else windows_code(table, table.windows),
    }


def _order(keys: Sequence[SortField], types: Sequence[DataType]) -> list[dict[str, Any]]:
    """Return how rows a and b compare by each key."""
    order = []
    for s in keys:
        c = compare(f"a->f{s.field}", f"b->f{s.field}", types[s.field])
        order.append(
            {
                "compare": f"-({c})" if s.descending else c,
                "field": s.field,
                "nullable": types[s.field].nullable,
                "null_first": -1 if s.nulls_first else 1,
            }
        )
    return order


def _sort_words(table: Table) -> dict[str, Any]:
    """Return words that order rows as their keys do, as many as fit; how many keys they cover, and where they are
    inexact."""
    words: list[str] = []
    cuts: list[dict[str, Any]] = []
    order = table.order
    if keeps_hash(table):
        words, order = ["a->hash"], order[table.partition :]
    wanted = len(words)
    for s in order:
        type, null = table.fields[s.field], f"a->n{s.field}"
        numbers = [f"~{w}" if s.descending else w for w in ordered_words(f"a->f{s.field}", type)]
        if type.nullable:
            numbers = [f"{'!' if s.nulls_first else ''}{null}", *(f"{null} ? 0 : {n}" for n in numbers)]
        wanted += len(numbers)
        if wanted > SORT_WORDS:
            continue
        words += numbers
        if type.is_text:
            long = f"a->f{s.field}.size > {TEXT_BYTES}"
            cuts.append({"long": f"!{null} && {long}" if type.nullable else long, "words": len(words) - 1})
    return {"words": words, "cuts": cuts, "wanted": wanted}


def _list(table: Table, number: int) -> dict[str, Any]:
    """Return the elements of a list of values, and how a complete group uses them."""
    values = table.lists[number]
    measures = [h for h in table.measures if h.list == number]
    return {
        "id": number,
        "entry": values.entry(table.id, number),
        "fields": [{"id": i, "cpp": cpp_type(t), "nullable": t.nullable} for i, t in enumerate(values.types)],
        "rows": values.kind == "rows",
        "order": _order(values.order, values.types),
        "results": [" ".join(["{", *state_of(h.function).finish(h), "}"]) for h in measures],
    }


def integer_keys(table: Table) -> dict[int, int]:
    """Return the keys of a join, by number, that are integers, the first few, and their fields."""
    if table.kind != "join":
        return {}
    found = {i: f for i, f in enumerate(table.key_fields) if is_word(table.fields[f])}
    return dict(list(found.items())[:INTEGER_KEYS_MAX])


def note_ranges(integers: Sequence[str], null: str | None) -> list[str]:
    """Return statements that note the values of a row's keys in low0, high0 …; null: the condition for a row without
    keys."""
    noted = [f"if ({k} < low{i}) low{i} = {k}; if ({k} > high{i}) high{i} = {k};" for i, k in enumerate(integers)]
    return [f"if (!({null})) {{ {' '.join(noted)} }}"] if null and noted else noted


def integer_key(table: Table) -> int | None:
    """Return the field of a join's only key if that is an integer: rows may then be found without hashing."""
    if table.kind != "join" or len(table.key_fields) != 1:
        return None
    return table.key_fields[0] if is_word(table.fields[table.key_fields[0]]) else None
