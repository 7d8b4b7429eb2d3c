"""Commands besides queries: SHOW TABLES, DESCRIBE, EXPLAIN. Each is answered by a query over constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.errors import InvalidSql, located
from jumpgate.client.sql.tokens import Token, parts_of, place, quoted, unquoted

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

_QUERIES = frozenset({"SELECT", "WITH", "FROM", "VALUES", "("})
_WRITES = frozenset(
    {
        "CREATE", "DROP", "ALTER", "INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "EXPORT", "IMPORT", "TRUNCATE",
        "ATTACH", "DETACH", "INSTALL", "LOAD", "VACUUM", "COMMENT", "GRANT", "REVOKE", "REPLACE", "MSCK", "CACHE",
    }
)  # fmt: skip
_SETTINGS = frozenset(
    {
        "SET", "RESET", "PRAGMA", "USE", "BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "PREPARE", "EXECUTE",
        "DEALLOCATE", "CALL", "DECLARE", "FETCH", "LOCK",
    }
)  # fmt: skip
_READ_ONLY = "is not possible: a query only reads; Connection.register makes tables of files"
_NO_SETTINGS = "is not possible: settings are arguments of jumpgate.connect, and there are no transactions"
_KNOWN = "SHOW TABLES and SHOW COLUMNS FROM table are known, other SHOW is not"


def answer(
    text: str, connection: Connection, parameters: Sequence[Any] | Mapping[str, Any] = (), offload: str | None = None
) -> str | None:
    """The query whose result answers the command in `text`; None if that is not a command but a query.

    EXPLAIN ANALYZE runs its query at once. Raises InvalidSql for what is neither, and what planning and running raise.
    """
    parts, words = parts_of(text)
    ends = len(parts)
    while ends and words[ends - 1] == ";":
        ends -= 1
    parts = parts[:ends]
    match words[: min(ends, 4)]:
        case ["SHOW", "TABLES"]:
            rows = [(table.name, _source(table)) for table in sorted(connection.tables, key=lambda t: t.name)]
            return _constants(("name", "source"), rows)
        case ["SHOW", "COLUMNS", "FROM" | "IN", _] if len(parts) == 4:
            return _columns(connection.tables[unquoted(parts[3])])
        case ["DESCRIBE" | "DESC", "TABLE", _] if len(parts) == 3:
            return _columns(connection.tables[unquoted(parts[2])])
        case ["DESCRIBE" | "DESC", first, *_] if first in _QUERIES:
            with connection.sql(_rest(text, parts, 1), parameters, offload=offload) as query:
                return _described((f.name, str(f.type), f.nullable) for f in query.schema)
        case ["DESCRIBE" | "DESC", _] if parts[1].kind in ("word", "name"):
            return _columns(connection.tables[unquoted(parts[1])])
        case ["EXPLAIN", *_]:
            return _explained(text, parts, connection, parameters, offload)
        case ["SHOW" | "DESCRIBE" | "DESC", *_]:
            raise _refused(text, parts[0], f": {_KNOWN}")
        case [first, *_] if first in _WRITES:
            raise _refused(text, parts[0], f" {_READ_ONLY}")
        case [first, *_] if first in _SETTINGS:
            raise _refused(text, parts[0], f" {_NO_SETTINGS}")
    return None


def _columns(table: Table) -> str:
    if table.read is None:
        return _described((f.name, str(f.type), f.nullable) for f in table.schema)
    return _described((f.name, f.type.name, f.type.nullable) for f in table.read.schema)


def _described(columns: Iterable[tuple[str, str, bool]]) -> str:
    rows = [(name, type, "YES" if nullable else "NO") for name, type, nullable in columns]
    return _constants(("column_name", "column_type", "null"), rows)


def _explained(
    text: str,
    parts: Sequence[Token],
    connection: Connection,
    parameters: Sequence[Any] | Mapping[str, Any],
    offload: str | None,
) -> str:
    """Lines of the plan, one a row."""
    first, analyze = 1, False
    while first < len(parts) and parts[first].keyword in ("ANALYZE", "VERBOSE"):
        analyze |= parts[first].keyword == "ANALYZE"
        first += 1
    if first == len(parts) or (parts[first].keyword or parts[first].text) not in _QUERIES:
        raise _refused(text, parts[min(first, len(parts) - 1)], ": EXPLAIN and EXPLAIN ANALYZE take a query")
    with connection.sql(_rest(text, parts, first), parameters, offload=offload) as query:
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


def _refused(text: str, token: Token, why: str) -> InvalidSql:
    line, column = place(text, token.start)
    return InvalidSql(f"{token.text.upper()}{why}\n{located(text, line, column)}", line=line, column=column)
