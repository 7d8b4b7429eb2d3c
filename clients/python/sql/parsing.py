"""The tree of DuckDB's parser for a text: which tables it names, and which columns it may read."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from typing import Any

import duckdb

Tree = dict[str, Any]

TREES_MAX = 256
_lock = threading.Lock()
_parser = duckdb.connect()


@functools.lru_cache(TREES_MAX)
def parsed(text: str) -> Tree | None:
    """Return the tree of a query; None for a text that DuckDB does not parse as one SELECT."""
    call = "SELECT json_serialize_sql($1, skip_null := true, skip_default := true)"
    try:
        with _lock:
            found: Tree = json.loads(_parser.execute(call, [text]).fetchall()[0][0])
    except (duckdb.Error, RecursionError, UnicodeError):
        return None
    return None if found["error"] else found


def nodes(tree: Any) -> Iterator[Tree]:
    """Yield all objects of a tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def table_names(tree: Tree) -> set[str]:
    """Return the names in FROM, those of common table expressions among them."""
    return {node["table_name"] for node in nodes(tree) if node.get("type") == "BASE_TABLE"}


def column_names(tree: Tree) -> set[str]:
    """Return what the text may name columns by, in small letters: names, and parts of them."""
    found = {name for node in nodes(tree) for name in node.get("using_columns", ())}
    found |= {part for node in nodes(tree) if node.get("class") == "COLUMN_REF" for part in node["column_names"]}
    return {name.lower() for name in found}


def reads_only(tree: Tree, tables: set[str]) -> bool:
    """Return whether the text reads nothing but these tables, which are named in small letters."""
    found = list(nodes(tree))
    named = {item["key"].lower() for node in found for item in node.get("cte_map", {}).get("map", ())}
    return all(
        node.get("type") != "TABLE_FUNCTION"
        and (
            node.get("type") != "BASE_TABLE"
            or (not node.get("schema_name") and node["table_name"].lower() in tables | named)
        )
        for node in found
    )


def may_read_all(tree: Tree) -> bool:
    """Return whether the text may read columns that it does not name: by *, by place, or as a whole row."""
    found = list(nodes(tree))
    relations = {name.lower() for name in table_names(tree)}
    relations |= {node["alias"].lower() for node in found if node.get("alias") and "class" not in node}
    return any(
        node.get("class") in ("STAR", "POSITIONAL_REFERENCE")
        or node.get("ref_type") == "NATURAL"
        or bool(node.get("column_name_alias"))
        or (node.get("class") == "COLUMN_REF" and node["column_names"][-1].lower() in relations)
        for node in found
    )
