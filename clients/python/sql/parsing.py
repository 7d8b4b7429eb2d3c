"""Names in a text, by the tree of DuckDB's parser: which tables it names, and which columns it may read."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from jumpgate.client.sql.errors import typed
from jumpgate.client.sql.tokens import tokens

Tree = dict[str, Any]

TEXTS_MAX = 256
#: what DuckDB's parser makes of one PIVOT, without a text: types first
_PIVOTED = "PIVOTED"
_OF_PIVOT = {"CREATE": _PIVOTED, "SELECT": "SELECT"}
#: functions of what a database and its sessions are
_STATES = frozenset((
    "current_setting", "current_database", "current_catalog", "current_schema", "current_schemas", "current_user",
    "current_role", "current_query", "current_connection_id", "getvariable", "nextval", "currval", "txid_current",
    "in_search_path", "version", "user", "session_user",
))  # fmt: skip
_lock = threading.Lock()
_parser = duckdb.connect()


@dataclass(frozen=True)
class Named:
    """Names in a text. `tables`: those in FROM, common table expressions among them; `columns`: what it may name
    columns by, in small letters, and parts of that. `every`: it may read columns that it does not name, by *, by place,
    or as a whole row. `plain`: it reads nothing but what `tables` name, and no state of the database or of a session.
    `catalog`: it may list tables. `files`: it may read files that it names."""

    tables: frozenset[str]
    columns: frozenset[str]
    every: bool
    plain: bool
    catalog: bool
    files: bool
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
        not any(map(_reads_more, found)) and not any(node.get("schema_name") for node in sources),
        any(map(_lists_tables, found)),
        any(map(_names_files, found)),
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


@functools.lru_cache(TEXTS_MAX)
def kinds_of(text: str) -> list[str]:
    """Return the kinds of a text's statements, as DuckDB calls them. Raises InvalidSql for one that it does not
    parse."""
    try:
        with _lock:
            found = _parser.extract_statements(text)
            return [statement.type.name if statement.query else _OF_PIVOT[statement.type.name] for statement in found]
    except duckdb.Error as error:
        raise typed(error) from error


def is_query(kinds: list[str]) -> bool:
    """Return whether statements of these kinds are one query; a PIVOT makes types first."""
    return kinds[-1] == "SELECT" and set(kinds[:-1]) <= {_PIVOTED}


def statements_of(text: str) -> list[str]:
    """Return the statements of a text one by one."""
    found, start = [], 0
    for token in tokens(text):
        if token.text == ";":
            found.append(text[start : token.start])
            start = token.end
    return [piece for piece in (*found, text[start:]) if kinds_of(piece)]


def _reads_more(node: Tree) -> bool:
    return node.get("type") in ("TABLE_FUNCTION", "SHOW_REF") or node.get("function_name", "").lower() in _STATES


def _lists_tables(node: Tree) -> bool:
    return (
        node.get("schema_name", "").lower() in ("information_schema", "pg_catalog")
        or node.get("table_name", "").lower().startswith(("duckdb_", "pg_", "sqlite_"))
        or node.get("function_name", "").lower().startswith(("duckdb_", "pragma_"))
        or (node.get("type") == "SHOW_REF" and bool(node.get("table_name")))
    )


def _names_files(node: Tree) -> bool:
    return node.get("type") == "TABLE_FUNCTION" or (
        node.get("type") == "BASE_TABLE" and bool({".", "/"} & set(node["table_name"]))
    )


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
