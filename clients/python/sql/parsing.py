"""The tree of DuckDB's parser for a text: which tables it names, and which columns it may read."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from typing import Any

import duckdb

from jumpgate.client.sql.errors import typed
from jumpgate.client.sql.tokens import tokens

Tree = dict[str, Any]

TREES_MAX = 256
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


@functools.lru_cache(TREES_MAX)
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
    """Return whether the text reads nothing but these tables, which are named in small letters: no state of the
    database or of a session."""
    found = list(nodes(tree))
    named = {item["key"].lower() for node in found for item in node.get("cte_map", {}).get("map", ())}
    return all(
        node.get("type") not in ("TABLE_FUNCTION", "SHOW_REF")
        and node.get("function_name", "").lower() not in _STATES
        and (
            node.get("type") != "BASE_TABLE"
            or (not node.get("schema_name") and node["table_name"].lower() in tables | named)
        )
        for node in found
    )


def reads_catalog(tree: Tree) -> bool:
    """Return whether the text may list tables."""
    return any(
        node.get("schema_name", "").lower() in ("information_schema", "pg_catalog")
        or node.get("table_name", "").lower().startswith(("duckdb_", "pg_", "sqlite_"))
        or node.get("function_name", "").lower().startswith(("duckdb_", "pragma_"))
        or (node.get("type") == "SHOW_REF" and bool(node.get("table_name")))
        for node in nodes(tree)
    )


def reads_files(tree: Tree) -> bool:
    """Return whether the text may read files that it names."""
    return any(
        node.get("type") == "TABLE_FUNCTION"
        or (node.get("type") == "BASE_TABLE" and bool({".", "/"} & set(node["table_name"])))
        for node in nodes(tree)
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
