"""Names without quotes, found in whatever case tables and columns have: SQL's are not case-sensitive.

DataFusion reads a name without quotes in small letters, and then finds only what is spelled so. Here every name of a
text that differs from a table's or column's only in case is spelled as that is. Aliases of the same letters are
spelled so, too: what was one name for SQL stays one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.rewriting import Change
from jumpgate.client.sql.tokens import Token, quoted, unquoted

#: words of the language that may name a column, too: those are columns only after a table's name and a point
_WORDS = frozenset(
    {
    "ALL", "AND", "ANTI", "ANY", "ARRAY", "AS", "ASC", "AT", "BETWEEN", "BIGINT", "BINARY", "BOOLEAN", "BOTH", "BY",
        "CASE", "CAST", "CENTURY", "CHAR", "CHARACTER", "COLLATE", "CROSS", "CUBE", "CURRENT", "CURRENT_DATE",
    "CURRENT_TIME", "CURRENT_TIMESTAMP", "DATE", "DAY", "DAYS", "DECADE", "DECIMAL", "DESC", "DISTINCT", "DOUBLE",
    "DOW",
    "DOY", "ELSE", "END", "EPOCH", "ESCAPE", "EXCEPT", "EXCLUDE", "EXISTS", "FALSE", "FETCH", "FILTER", "FIRST",
    "FLOAT",
    "FOLLOWING", "FOR", "FROM", "FULL", "GROUP", "GROUPING", "GROUPS", "HAVING", "HOUR", "HOURS", "IGNORE", "ILIKE",
        "IN", "INNER", "INT", "INTEGER", "INTERSECT", "INTERVAL", "INTO", "IS", "ISODOW", "ISOYEAR", "JOIN", "LAST",
        "LATERAL", "LEADING", "LEFT", "LIKE", "LIMIT", "MATERIALIZED", "MICROSECOND", "MICROSECONDS", "MILLENNIUM",
        "MILLISECOND", "MILLISECONDS", "MINUTE", "MINUTES", "MONTH", "MONTHS", "NANOSECOND", "NATURAL", "NOT", "NULL",
    "NULLS", "NUMERIC", "OFFSET", "ON", "OR", "ORDER", "OUTER", "OVER", "OVERLAY", "PARTITION", "PLACING",
    "PRECEDING",
    "PRECISION", "QUALIFY", "QUARTER", "RANGE", "REAL", "RECURSIVE", "REPLACE", "RESPECT", "RIGHT", "ROLLUP", "ROW",
    "ROWS",
    "SECOND", "SECONDS", "SELECT", "SEMI", "SETS", "SIMILAR", "SMALLINT", "SOME", "STRING", "TEXT", "THEN", "TIME",
    "TIMESTAMP", "TIMESTAMPTZ", "TINYINT", "TO", "TRAILING", "TRUE", "UNBOUNDED", "UNION", "UNKNOWN", "UNNEST",
    "UNSIGNED",
    "USING", "VALUES", "VARCHAR", "VARYING", "WEEK", "WEEKS", "WHEN", "WHERE", "WINDOW", "WITH", "WITHIN", "WITHOUT",
    "XOR",
        "YEAR", "YEARS", "ZONE",
    }
)  # fmt: skip


def changes(parts: Sequence[Token], tables: Sequence[Table]) -> list[Change]:
    """The names of the text that are to be spelled otherwise. parts: without white space and comments.

    A name that two tables of the text, or two columns of one, spell differently stays as it is.
    """
    spellings = _spellings(parts, tables) if tables else {}
    if not spellings:
        return []
    found: list[Change] = []
    for index, token in enumerate(parts):
        spelled = spellings.get(unquoted(token).lower()) if token.kind in ("word", "name") else None
        if spelled is None or spelled == read_as(token):
            continue
        after_point = index > 0 and parts[index - 1].text == "."
        is_call = index + 1 < len(parts) and parts[index + 1].text == "("
        if token.kind == "name" or after_point or not (is_call or token.keyword in _WORDS):
            found.append((token.start, token.end, quoted(spelled)))
    return found


def read_as(token: Token) -> str:
    """The name as DataFusion reads it: without quotes, ASCII letters are small ones."""
    if token.kind == "name":
        return unquoted(token)
    return "".join(c.lower() if c.isascii() else c for c in token.text)


def _spellings(parts: Sequence[Token], tables: Iterable[Table]) -> dict[str, str]:
    """Name in small letters → how it is spelled, of the tables in the text and of their columns."""
    said = {unquoted(token).lower() for token in parts if token.kind in ("word", "name")}
    spellings: dict[str, set[str]] = {}
    for table in tables:
        if table.name.lower() in said:
            for name in (table.name, *table.schema.names):
                spellings.setdefault(name.lower(), set()).add(name)
    return {name: next(iter(spelled)) for name, spelled in spellings.items() if len(spelled) == 1}
