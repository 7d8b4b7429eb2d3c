"""Window functions over a sort buffer's rows → C++, of rows `a`, `b` and the current one, `cur`."""

from __future__ import annotations

from typing import Any

from jumpgate.codegen.cpp import Value, equal, hash_group, is_word
from jumpgate.codegen.measures import STATES
from jumpgate.codegen.program import Look, Table, Windows


def keeps_hash(table: Table) -> bool:
    """Whether rows that are dealt out keep the hash, and are in its order: their partitions' keys would take too many
    words."""
    types = [table.fields[k.field] for k in table.order[: table.partition]]
    return len(types) > 2 or not all(is_word(t) for t in types)


def windows_code(table: Table, windows: Windows) -> dict[str, Any]:
    """What the template needs to compute window functions over rows in order; a and b are rows, cur the current one."""
    split = windows.partition
    ties = table.order[split : split + windows.peers]
    updates = []
    for held, argument in windows.states:
        null = f"cur->n{argument}" if argument >= 0 and table.fields[argument].nullable else None
        values = [Value(f"cur->f{argument}", null)] if argument >= 0 else []
        updates.append("{ " + " ".join(STATES[held.function].update(held, values, table.id)) + " }")
    set_at_once = {f for _, f, _ in windows.ranks} | {look.field for look in windows.looks}
    states = sorted(set(range(len(table.fields))) - set_at_once)
    first_state = min((held.first for held, _ in windows.states), default=len(table.fields))
    # rows that nothing tells apart need no order
    is_whole = 0 < split == len(table.order) and windows.seen == "whole" and not windows.ranks and not windows.looks
    ties_count = windows.seen == "range" or any(f in ("rank", "dense_rank") for f, _, _ in windows.ranks)
    return {
        "partition": _same_fields(table, [s.field for s in table.order[:split]]),
        "peers": _same_fields(table, [s.field for s in ties]) if ties_count else "true",
        "seen": windows.seen,
        "updates": updates,
        "states": [f for f in states if f >= first_state],
        "ranks": [(field, RANKS[function].format(count)) for function, field, count in windows.ranks],
        "looks": [_look(table, look, windows.seen) for look in windows.looks],
        "whole": _partition_hash(table) if is_whole else None,
    }


def _partition_hash(table: Table) -> str:
    """The hash of what partitions row cur."""
    if keeps_hash(table):
        return "jg_mix(cur->hash)"
    fields = [k.field for k in table.order[: table.partition]]
    types = [table.fields[f] for f in fields]
    keys = [Value(f"cur->f{f}", f"cur->n{f}" if t.nullable else None) for f, t in zip(fields, types, strict=True)]
    return hash_group(keys, types)


#: row i, of the rows from first on that tie, of a partition from begin to end
RANKS = {
    "row_number": "i - begin + 1",
    "rank": "first - begin + 1",
    "dense_rank": "group",
    "ntile": "jg_ntile(i - begin, end - begin, t->params[{}].i)",
}


def _look(table: Table, look: Look, seen: str) -> dict[str, Any]:
    """The row that a value comes from; whether there is one; what stands for it otherwise."""
    offset = f"t->params[{look.offset}].i"
    last = {"whole": "end - 1", "rows": "i", "range": "last - 1"}[seen]
    at, found = {
        "lag": (f"i - {offset}", f"i - begin >= {offset}"),
        "lead": (f"i + {offset}", f"end - 1 - i >= {offset}"),
        "first_value": ("begin", "true"),
        "last_value": (last, "true"),
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
    """Whether rows a and b have equal values there; NULL equals NULL."""
    terms = []
    for i in fields:
        same = equal(f"a->f{i}", f"b->f{i}", table.fields[i])
        terms.append(f"(a->n{i} == b->n{i} && (a->n{i} || {same}))" if table.fields[i].nullable else f"({same})")
    return " && ".join(terms) or "true"
