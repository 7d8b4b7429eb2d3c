"""Commands that Jumpgate answers, not DuckDB: SHOW TABLES and EXPLAIN of a query. Each is a query over constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.tokens import Token, parts_of, quoted

if TYPE_CHECKING:
    from jumpgate.client.sql.query import Query
    from jumpgate.client.sql.workspace import Workspace

_QUERIES = frozenset({"SELECT", "WITH", "FROM", "VALUES", "("})
_OWN = (
    "SELECT table_name, 'table of the database' FROM duckdb_tables() WHERE NOT internal UNION ALL "
    "SELECT view_name, 'view of the database' FROM duckdb_views() WHERE NOT internal"
)


def answer(text: str, workspace: Workspace, sql: Callable[[str], Query]) -> str | None:
    """The query whose result answers the command in `text`; None if it is none of Jumpgate's. sql: plans a query.

    EXPLAIN ANALYZE runs its query at once. Raises what planning and running raise.
    """
    parts, words = parts_of(text)
    ends = len(parts)
    while ends and words[ends - 1] == ";":
        ends -= 1
    match words[:ends]:
        case ["SHOW", "TABLES"]:
            rows = [(table.name, _source(table)) for table in workspace.tables] + workspace.database.rows(_OWN)
            return _constants(("name", "source"), sorted(rows))
        case ["EXPLAIN", "ANALYZE", first, *_] if first in _QUERIES:
            return _explained(sql(_rest(text, parts, 2)), True)
        case ["EXPLAIN", first, *_] if first in _QUERIES and "FORMAT" not in words[2:3]:
            return _explained(sql(_rest(text, parts, 1)), False)
    return None


def _explained(query: Query, analyze: bool) -> str:
    """Lines of the plan, one a row."""
    with query:
        lines = query.explain(analyze=analyze).splitlines()
    return _constants(("plan",), [(line,) for line in lines])


def _rest(text: str, parts: Sequence[Token], index: int) -> str:
    """The text from a token on, where it stands: places in it stay those of the whole."""
    start = parts[index].start
    return "".join(c if c == "\n" else " " for c in text[:start]) + text[start:]


def _source(table: Table) -> str:
    return str(table).removeprefix(f"{table.name}: ")


def _constants(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A query whose result is these rows of strings."""
    values = ", ".join("(" + ", ".join(map(_literal, row)) + ")" for row in rows or [[""] * len(names)])
    return f"SELECT * FROM (VALUES {values}) AS answer({', '.join(map(quoted, names))})" + (
        "" if rows else " WHERE false"
    )


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
