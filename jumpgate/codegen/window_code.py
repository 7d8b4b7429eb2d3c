"""Window functions over a sort buffer's rows → C++, with rows `a`, `b` and the current one, `cur`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jumpgate.codegen.cpp import Value, equal, hash_group, is_word
from jumpgate.codegen.measures import state_of
from jumpgate.codegen.program import PEERS, Look, SortField, Table, View, Windows


def keeps_hash(table: Table) -> bool:
    """Return whether partitioned rows keep the hash and sort by it: their partitions' keys would take too many
    words."""
    types = [table.fields[k.field] for k in table.order[: table.partition]]
    return len(types) > 2 or not all(is_word(t) for t in types)


def windows_code(table: Table, windows: Windows) -> dict[str, Any]:
    """Return the template's values to compute window functions over sorted rows; a and b are rows, cur the current
    one."""
    split = windows.partition
    ties = table.order[split : split + windows.peers]
    updates = []
    for held, argument in windows.states:
        null = f"cur->n{argument}" if argument >= 0 and table.fields[argument].nullable else None
        values = [Value(f"cur->f{argument}", null)] if argument >= 0 else []
        updates.append("{ " + " ".join(state_of(held.function).update(held, values, table.id)) + " }")
    view = windows.view
    set_at_once = {f for _, f, _ in windows.ranks} | {look.field for look in windows.looks} | {f for _, f in view.later}
    states = sorted(set(range(len(table.fields))) - set_at_once)
    first_state = min((held.first for held, _ in windows.states), default=len(table.fields))
    # indistinguishable rows need no order
    is_whole = 0 < split == len(table.order) and view.seen == "whole" and not windows.ranks and not windows.looks
    ties_count = (
        view.seen == "range"
        or view.unit in ("range", "groups")
        or any(f in ("rank", "dense_rank", "percent_rank", "cume_dist") for f, _, _ in windows.ranks)
    )
    return {
        "partition": _same_fields(table, [s.field for s in table.order[:split]]),
        "peers": _same_fields(table, [s.field for s in ties]) if ties_count else "true",
        "seen": view.seen,
        "frame": _frame(table, ties, view) if view.seen == "frame" else None,
        "updates": updates,
        "merges": [state_of(held.function).merge_rows(held) for held, _ in windows.states] if view.later else [],
        "later": view.later,
        "states": [f for f in states if f >= first_state],
        "ranks": [(field, RANKS[function].format(count)) for function, field, count in windows.ranks],
        "looks": [_look(table, look, view.seen) for look in windows.looks],
        "whole": _partition_hash(table) if is_whole else None,
    }


def _frame(table: Table, ties: Sequence[SortField], view: View) -> dict[str, Any]:
    """Return the template's values to find a frame's first row, `low`, and the row after its last one, `high`: the
    value of rows' frames by offset, or the conditions under which a bound moves past row b for row cur."""
    start, end = (
        None if bound is None else "0" if bound == PEERS else f"t->params[{bound}].i"
        for bound in (view.start, view.end)
    )
    found: dict[str, Any] = {"unit": view.unit, "start": start, "end": end, "null": None}
    found |= {"start_of_peers": view.start == PEERS, "end_of_peers": view.end == PEERS}
    if view.unit == "range":
        key = ties[0]
        field, sign = f"f{key.field}", "-" if key.descending else ""
        distance = f"{sign}((jg_i128)b->{field} - (jg_i128)cur->{field})"
        null = f"b->n{key.field}" if table.fields[key.field].nullable else None
        found["null"] = f"cur->n{key.field}" if null else None
        found["before"], found["within"] = (
            distance + bound if null is None else f"({null} ? {int(key.nulls_first)} : {distance + bound})"
            for bound in (f" < {start}", f" <= {end}")
        )
    return found


def _partition_hash(table: Table) -> str:
    """Return the hash of the columns that partition row cur."""
    if keeps_hash(table):
        return "jg_mix(cur->hash)"
    fields = [k.field for k in table.order[: table.partition]]
    types = [table.fields[f] for f in fields]
    keys = [Value(f"cur->f{f}", f"cur->n{f}" if t.nullable else None) for f, t in zip(fields, types, strict=True)]
    return hash_group(keys, types)


#: row i; first: start of its ties; begin, end: those of its partition
RANKS = {
    "row_number": "i - begin + 1",
    "rank": "first - begin + 1",
    "dense_rank": "group",
    "percent_rank": "end - begin > 1 ? (double)(first - begin) / (double)(end - begin - 1) : 0",
    "cume_dist": "(double)(last - begin) / (double)(end - begin)",
    "ntile": "jg_ntile(i - begin, end - begin, t->params[{}].i)",
}


def _look(table: Table, look: Look, seen: str) -> dict[str, Any]:
    """Return the row that a value comes from, the condition that it exists, and the default."""
    offset = f"t->params[{look.offset}].i"
    low = "low" if seen == "frame" else "begin"
    high = {"whole": "end", "rows": "i + 1", "range": "last", "frame": "high"}[seen]
    at, found = {
        "lag": (f"i - {offset}", f"i - begin >= {offset}"),
        "lead": (f"i + {offset}", f"end - 1 - i >= {offset}"),
        "first_value": (low, f"{low} < {high}"),
        "last_value": (f"{high} - 1", f"{low} < {high}"),
        "nth_value": (f"{low} + {offset} - 1", f"{high} - {low} >= {offset}"),
    }[look.function]
    return {
        "to": look.field,
        "from": look.argument,
        "nullable": table.fields[look.argument].nullable,
        "at": at,
        "found": found,
        "default": None if look.default < 0 else look.default,
        "default_nullable": look.default >= 0 and table.fields[look.default].nullable,
    }


def _same_fields(table: Table, fields: list[int]) -> str:
    """Return the condition that rows a and b have equal values there; NULL equals NULL."""
    terms = []
    for i in fields:
        same = equal(f"a->f{i}", f"b->f{i}", table.fields[i])
        terms.append(f"(a->n{i} == b->n{i} && (a->n{i} || {same}))" if table.fields[i].nullable else f"({same})")
    return " && ".join(terms) or "true"
