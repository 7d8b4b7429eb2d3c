"""Names in a text, by the tree of DuckDB's parser: which tables it names, and which columns it may read."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

Tree = dict[str, Any]

TEXTS_MAX = 256
_lock = threading.Lock()
_parser = duckdb.connect()


@dataclass(frozen=True)
class Named:
    """Names in a text. `tables`: those in FROM, common table expressions among them; `columns`: what it may name
    columns by, in small letters, and parts of that. `every`: it may read columns that it does not name, by *, by place,
    or as a whole row. `plain`: it reads nothing but what `tables` name."""

    tables: frozenset[str]
    columns: frozenset[str]
    every: bool
    plain: bool
    _common: frozenset[str]

    def reads_only(self, tables: set[str]) -> bool:
        """Return whether the text reads nothing but these tables, which are named in small letters."""
        return self.plain and all(name.lower() in tables or name.lower() in self._common for name in self.tables)


@functools.lru_cache(TEXTS_MAX)
def named(text: str) -> Named | None:
    """Return the names in a query; None for a text that DuckDB does not parse as one SELECT."""
    tree = _parsed(text)
    if tree is None:
        return None
    found = list(_nodes(tree))
    sources = [node for node in found if node.get("type") == "BASE_TABLE"]
    return Named(
        frozenset(node["table_name"] for node in sources),
        frozenset(name.lower() for node in found for name in _column_names(node)),
        _may_read_all(found, sources),
        not any(node.get("type") == "TABLE_FUNCTION" for node in found)
        and not any(node.get("schema_name") for node in sources),
        frozenset(item["key"].lower() for node in found for item in node.get("cte_map", {}).get("map", ())),
    )


def _parsed(text: str) -> Tree | None:
    literal = "'" + text.replace("'", "''") + "'"  # with a parameter DuckDB would load pandas
    try:
        with _lock:
            asked = _parser.execute(f"SELECT json_serialize_sql({literal}, skip_null := true, skip_default := true)")
            found: Tree = json.loads(asked.fetchall()[0][0])
    except (duckdb.Error, RecursionError, UnicodeError):
        return None
    return None if found["error"] else found


def _nodes(tree: Any) -> Iterator[Tree]:
    """Yield all objects of a tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def _column_names(node: Tree) -> Sequence[str]:
    names: Sequence[str] = node["column_names"] if node.get("class") == "COLUMN_REF" else node.get("using_columns", ())
    return names


def _may_read_all(found: Sequence[Tree], sources: Sequence[Tree]) -> bool:
    relations = {node["table_name"].lower() for node in sources}
    relations |= {node["alias"].lower() for node in found if node.get("alias") and "class" not in node}
    return any(
        node.get("class") in ("STAR", "POSITIONAL_REFERENCE")
        or node.get("ref_type") == "NATURAL"
        or bool(node.get("column_name_alias"))
        or (node.get("class") == "COLUMN_REF" and node["column_names"][-1].lower() in relations)
        for node in found
    )
